//! Serializes a result as JSON within the limits of a reply.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CharEscape, CompactFormatter, Formatter, Serializer};

use crate::error::OperationError;
use crate::request::{depth_of, too_large};
use crate::vocab::{ReplyForm, ReplyLimits, quote};

/// Appends data as compact JSON to `text`, in the form of a reply and within its limits (REQ-ENC-09). `depth` is the
/// number of already open objects and arrays.
pub(crate) fn write_json<T: Serialize + ?Sized>(
    text: &mut Vec<u8>,
    data: &T,
    depth: usize,
    limits: ReplyLimits,
) -> Result<(), OperationError> {
    let most = limits.bytes;
    let mut writer = BoundedWriter { text, most, over: false };
    let quoted = limits.form == ReplyForm::Quoted;
    let mut formatter = BoundedFormatter { depth, limit: limits.depth, quoted, over: false };
    let written = data.serialize(&mut Serializer::with_formatter(&mut writer, &mut formatter));
    if formatter.over {
        // Deeper values are not counted, so the reported depth is only one above the limit.
        return Err(too_large("nesting_depth", limits.depth, limits.depth + 1, "levels"));
    }
    if writer.over || text.len() > most {
        return Err(too_large("response_size", most, most.saturating_add(1), "bytes"));
    }
    written.map_err(OperationError::internal)
}

/// A writer that fails when it would exceed the size limit of the reply. Endless data is therefore cut off early.
struct BoundedWriter<'a> {
    text: &'a mut Vec<u8>,
    most: usize,
    over: bool,
}

impl BoundedWriter<'_> {
    #[cold]
    fn grow(&mut self, more: usize) -> io::Result<()> {
        if more > self.most.saturating_sub(self.text.len()) {
            self.over = true;
            return Err(stop());
        }
        self.text.reserve(more);
        Ok(())
    }
}

impl Write for BoundedWriter<'_> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.len() > self.text.capacity() - self.text.len() {
            self.grow(bytes.len())?;
        }
        self.text.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A formatter for compact JSON that counts the nesting depth.
struct BoundedFormatter {
    /// Number of open objects and arrays.
    depth: usize,
    limit: usize,
    /// If `true`, the JSON is written as the content of a JSON string. This is a field and not a type parameter, so
    /// that the serialization of each type is compiled only once.
    quoted: bool,
    over: bool,
}

impl BoundedFormatter {
    #[inline]
    fn open(&mut self) -> io::Result<()> {
        self.depth += 1;
        if self.depth > self.limit {
            self.over = true;
            return Err(stop());
        }
        Ok(())
    }

    #[inline]
    fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }
}

/// Returns the error that stops the serializer. The actual reason is in the field `over`.
#[cold]
fn stop() -> io::Error {
    io::ErrorKind::FileTooLarge.into()
}

impl Formatter for &mut BoundedFormatter {
    #[inline]
    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open()?;
        writer.write_all(b"[")
    }

    #[inline]
    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close();
        writer.write_all(b"]")
    }

    #[inline]
    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open()?;
        writer.write_all(b"{")
    }

    #[inline]
    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close();
        writer.write_all(b"}")
    }

    #[inline]
    fn begin_string<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(if self.quoted { b"\\\"" } else { b"\"" })
    }

    #[inline]
    fn end_string<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(if self.quoted { b"\\\"" } else { b"\"" })
    }

    fn write_char_escape<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        escape: CharEscape,
    ) -> io::Result<()> {
        if !self.quoted {
            return CompactFormatter.write_char_escape(writer, escape);
        }
        let mut plain = Vec::new();
        CompactFormatter.write_char_escape(&mut plain, escape)?;
        write_quoted(writer, &plain)
    }

    /// Writes JSON contained in the data, for example a `RawValue`.
    fn write_raw_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        if self.depth + depth_of(fragment) > self.limit {
            self.over = true;
            return Err(stop());
        }
        match self.quoted {
            true => write_quoted(writer, fragment.as_bytes()),
            false => writer.write_all(fragment.as_bytes()),
        }
    }
}

fn write_quoted<W: ?Sized + Write>(writer: &mut W, json: &[u8]) -> io::Result<()> {
    let mut quoted = Vec::new();
    quote(&mut quoted, json);
    writer.write_all(&quoted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_aql_protocol::ErrorCode;
    use proptest::prelude::*;
    use serde_json::{json, value::RawValue};
    use std::collections::BTreeMap;

    const LIMITS: ReplyLimits = ReplyLimits::of_part(400, 4);

    fn limit_type(data: &impl Serialize, depth: usize) -> Option<String> {
        let mut text = Vec::new();
        let error = write_json(&mut text, data, depth, LIMITS).err()?;
        assert_eq!(error.code(), ErrorCode::ValidationPayloadTooLarge);
        error.details()["limit_type"].as_str().map(str::to_owned)
    }

    #[test]
    fn size_and_depth_of_a_reply_are_limited_and_nothing_else() {
        // REQ-ENC-09
        for (data, expected) in [
            (json!({"a": {"b": {"c": {}}}}), None),
            (json!({"a": {"b": {"c": {"d": {}}}}}), Some("nesting_depth")),
            (json!([[[[[]]]]]), Some("nesting_depth")),
            (json!([{"[[[[[[": "{{{{{{\"[["}, [], [], []]), None),
            (json!("x".repeat(398)), None),
            (json!("x".repeat(399)), Some("response_size")),
            (json!(vec![1; 199]), None),
            (json!(vec![1; 200]), Some("response_size")),
        ] {
            assert_eq!(limit_type(&data, 0).as_deref(), expected, "{data}");
            let raw = RawValue::from_string(data.to_string()).unwrap();
            assert_eq!(limit_type(&raw, 0).as_deref(), expected, "{data}");
        }
        assert_eq!(limit_type(&json!([[]]), 2), None);
        assert_eq!(limit_type(&json!([[]]), 3).as_deref(), Some("nesting_depth"));
        let mut text = b"x".to_vec();
        write_json(&mut text, &json!({"a": [1, "\n"]}), 1, LIMITS).unwrap();
        assert_eq!(text, br#"x{"a":[1,"\n"]}"#);
    }

    proptest! {
        #[test]
        fn the_quoted_form_is_the_plain_form_as_a_string(
            text in "[\u{0}-\u{30}\"\\\\a-cé😀]{0,12}", number in any::<f64>(), key in "[\u{0}-\u{30}\"\\\\a]{0,4}"
        ) {
            let raw = RawValue::from_string(json!({ &text: [&key, number] }).to_string()).unwrap();
            let data = BTreeMap::from([(key, (text, number, Some(raw), 'x', true, ()))]);
            let limits = ReplyLimits::of_part(4_000, 9);
            let (mut plain, mut quoted) = (Vec::new(), b"\"".to_vec());
            write_json(&mut plain, &data, 0, limits).unwrap();
            write_json(&mut quoted, &data, 0, limits.in_form(ReplyForm::Quoted)).unwrap();
            quoted.push(b'"');
            let plain = String::from_utf8(plain).unwrap();
            prop_assert_eq!(quoted, serde_json::to_vec(&plain).unwrap());
        }
    }

    #[test]
    fn data_without_end_is_cut_off() {
        // REQ-ENC-09
        struct Endless;
        impl Serialize for Endless {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap as _;
                let mut map = serializer.serialize_map(None)?;
                loop {
                    map.serialize_entry("k", "v")?;
                }
            }
        }
        let mut text = Vec::new();
        let error = write_json(&mut text, &Endless, 1, LIMITS).unwrap_err();
        assert_eq!(error.code(), ErrorCode::ValidationPayloadTooLarge);
        assert_eq!(error.details()["limit_type"], "response_size");
        assert!(text.capacity() <= 2 * 400);
    }
}
