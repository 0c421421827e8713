//! Types for values that JSON cannot represent safely: integers beyond 2^53, and bytes.
//!
//! ```json
//! { "balance": "12345678901234567890", "thumbnail": "SGVsbG8=" }
//! ```
//!
//! Source: MCP-AQL §4.7.3, §4.7.4 (REQ-ENC-05, REQ-ENC-06).

use std::borrow::Cow;
use std::fmt::Display;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An integer serialized as a string. Use it for integers beyond ±9,007,199,254,740,991, because JSON parsers may round
/// such numbers. As a parameter it accepts only strings, and introspection describes it as a string.
///
/// ```
/// use mcp_aql::encoding::BigInteger;
///
/// let balance = BigInteger(12_345_678_901_234_567_890_u128);
/// assert_eq!(serde_json::to_string(&balance)?, r#""12345678901234567890""#);
/// assert!(serde_json::from_str::<BigInteger<u64>>("7").is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct BigInteger<T>(pub T);

impl<T: Display> Serialize for BigInteger<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de, T: FromStr> Deserialize<'de> for BigInteger<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        text.parse().map(Self).map_err(|_| D::Error::custom("expected a string with an integer"))
    }
}

impl<T> JsonSchema for BigInteger<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "BigInteger".into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^-?[0-9]+$",
            "description": "Integer as a string, exact beyond 2^53.",
        })
    }
}

/// Bytes serialized as padded base64.
///
/// ```
/// use mcp_aql::encoding::Base64;
///
/// let bytes = Base64(b"Hello".to_vec());
/// assert_eq!(serde_json::to_string(&bytes)?, r#""SGVsbG8=""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Base64(pub Vec<u8>);

impl Serialize for Base64 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Base64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        STANDARD
            .decode(text.as_bytes())
            .map(Self)
            .map_err(|_| D::Error::custom("expected padded base64"))
    }
}

impl JsonSchema for Base64 {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Base64".into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "format": "byte",
            "description": "Bytes as padded base64.",
        })
    }
}

/// Bytes with their encoding and type: `content`, `content_encoding` and `content_mime_type`.
/// Flatten it into a result, or accept it as a parameter.
///
/// ```
/// use mcp_aql::encoding::Binary;
///
/// let file = serde_json::to_value(Binary::new(b"Hello".to_vec(), "text/plain"))?;
/// assert_eq!(file["content_encoding"], "base64");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Binary {
    /// The bytes.
    pub content: Base64,
    /// The encoding of the bytes.
    pub content_encoding: BinaryEncoding,
    /// The MIME type of the bytes, such as `image/png`.
    pub content_mime_type: String,
}

/// The encoding of bytes as a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
#[non_exhaustive]
pub enum BinaryEncoding {
    /// Padded base64 (RFC 4648).
    Base64,
}

impl Binary {
    /// Wraps bytes of this MIME type.
    pub fn new(bytes: Vec<u8>, mime_type: impl Into<String>) -> Self {
        Self {
            content: Base64(bytes),
            content_encoding: BinaryEncoding::Base64,
            content_mime_type: mime_type.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn big_integers_come_back_exactly() {
        // REQ-ENC-05
        let number = BigInteger(u64::MAX);
        let text = serde_json::to_value(number).unwrap();
        assert_eq!(text, json!("18446744073709551615"));
        assert_eq!(serde_json::from_value::<BigInteger<u64>>(text).unwrap(), number);
        assert!(serde_json::from_value::<BigInteger<u64>>(json!(1)).is_err());
    }

    #[test]
    fn bytes_travel_as_padded_base64_with_metadata() {
        // REQ-ENC-06
        let file = Binary::new(vec![0, 255, 1, 2], "application/octet-stream");
        let json = serde_json::to_value(&file).unwrap();
        assert_eq!(
            json,
            json!({
                "content": "AP8BAg==",
                "content_encoding": "base64",
                "content_mime_type": "application/octet-stream",
            })
        );
        assert_eq!(serde_json::from_value::<Binary>(json).unwrap(), file);
        assert!(serde_json::from_value::<Base64>(json!("AP8BAg")).is_err());
    }
}
