//! The result of a call in the same process.

use serde::Deserialize;
use serde_json::{Map, Value};

/// The result of an operation for a caller in the same process.
///
/// ```
/// # use mcp_aql::OperationResult;
/// let result = OperationResult::from_json(r#"{"success":true,"data":{"n":1}}"#);
/// assert_eq!(result.data()["n"], 1);
/// ```
///
/// Source: MCP-AQL §5.1 (REQ-RSP-01).
#[derive(Debug, Clone, PartialEq)]
pub enum OperationResult {
    /// `{"success":true,"data":…}`
    Success {
        /// The operation's payload.
        data: Value,
        /// The whole reply, including `warnings`, `results` and `summary` if present.
        reply: Map<String, Value>,
    },
    /// `{"success":false,"error":…}`
    Failure(ErrorDetail),
}

/// The `error` of a failure.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ErrorDetail {
    /// The protocol's code.
    pub code: String,
    /// The message.
    pub message: String,
    /// The structured details.
    #[serde(default)]
    pub details: Map<String, Value>,
}

/// The data of a failure.
static NO_DATA: Value = Value::Null;

impl OperationResult {
    /// Parses a reply. Any other text becomes a failure.
    pub fn from_json(text: &str) -> Self {
        let mut reply: Map<String, Value> = serde_json::from_str(text).unwrap_or_default();
        if reply.get("success") == Some(&Value::Bool(true)) {
            let data = reply.remove("data").unwrap_or_default();
            return Self::Success { data, reply };
        }
        let error = reply.remove("error").unwrap_or_default();
        Self::Failure(serde_json::from_value(error).unwrap_or_else(|_| ErrorDetail {
            code: "INTERNAL_ERROR".to_owned(),
            message: "Internal error: 'the reply is not an operation result'".to_owned(),
            details: Map::new(),
        }))
    }

    /// Whether the operation succeeded.
    pub fn is_success(&self) -> bool {
        matches!(self, Self::Success { .. })
    }

    /// The payload; `null` for a failure.
    pub fn data(&self) -> &Value {
        match self {
            Self::Success { data, .. } => data,
            Self::Failure(_) => &NO_DATA,
        }
    }

    /// The failure's error.
    pub fn error(&self) -> Option<&ErrorDetail> {
        match self {
            Self::Success { .. } => None,
            Self::Failure(error) => Some(error),
        }
    }

    /// The failure's code.
    pub fn code(&self) -> Option<&str> {
        self.error().map(|error| error.code.as_str())
    }

    /// The warnings of a success.
    pub fn warnings(&self) -> &[Value] {
        match self {
            Self::Success { reply, .. } => {
                reply.get("warnings").and_then(Value::as_array).map_or(&[], Vec::as_slice)
            }
            Self::Failure(_) => &[],
        }
    }

    /// The results of a batch.
    pub fn results(&self) -> &[Value] {
        match self {
            Self::Success { reply, .. } => {
                reply.get("results").and_then(Value::as_array).map_or(&[], Vec::as_slice)
            }
            Self::Failure(_) => &[],
        }
    }
}
