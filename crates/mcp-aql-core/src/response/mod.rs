//! Replies: their JSON, and the decision whether a client should treat them as errors.

mod batch;
mod reply;

use serde::Deserialize;
use serde_json::{Map, Value};

pub(crate) use batch::BatchReply;
pub use reply::{PendingReply, Reply};

/// The result of an operation, as [`Adapter::call`](crate::Adapter::call) returns it. You rarely need to parse a
/// reply yourself:
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
        /// Payload of the operation.
        data: Value,
        /// The whole reply without `data`. It includes `warnings`, `results` and `summary` if present.
        reply: Map<String, Value>,
    },
    /// `{"success":false,"error":…}`
    Failure(ErrorDetail),
}

/// The member `error` of a failure.
///
/// ```json
/// {
///   "code": "NOT_FOUND_RESOURCE", "message": "Resource 'task' not found: 't-7'",
///   "details": { "resource_type": "task", "resource_id": "t-7" }
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ErrorDetail {
    /// Error code of the protocol.
    pub code: String,
    /// Error message.
    pub message: String,
    /// Structured details.
    #[serde(default)]
    pub details: Map<String, Value>,
}

/// Returned as the data of a failure.
static NO_DATA: Value = Value::Null;

impl OperationResult {
    /// Parses a reply. Any other string becomes a failure.
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

    /// Returns `true` if the operation succeeded.
    pub fn is_success(&self) -> bool {
        matches!(self, Self::Success { .. })
    }

    /// Returns the payload, or `null` for a failure, so that you can index it without a check.
    pub fn data(&self) -> &Value {
        match self {
            Self::Success { data, .. } => data,
            Self::Failure(_) => &NO_DATA,
        }
    }

    /// Returns the error of a failure.
    pub fn error(&self) -> Option<&ErrorDetail> {
        match self {
            Self::Success { .. } => None,
            Self::Failure(error) => Some(error),
        }
    }

    /// Returns the error code of a failure. Compare it, and not the message, if you handle certain errors.
    pub fn code(&self) -> Option<&str> {
        self.error().map(|error| error.code.as_str())
    }

    /// Returns the warnings of a success.
    pub fn warnings(&self) -> &[Value] {
        match self {
            Self::Success { reply, .. } => {
                reply.get("warnings").and_then(Value::as_array).map_or(&[], Vec::as_slice)
            }
            Self::Failure(_) => &[],
        }
    }

    /// Returns the results of a batch.
    pub fn results(&self) -> &[Value] {
        match self {
            Self::Success { reply, .. } => {
                reply.get("results").and_then(Value::as_array).map_or(&[], Vec::as_slice)
            }
            Self::Failure(_) => &[],
        }
    }
}
