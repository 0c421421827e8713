//! Errors of JSON-RPC.

use std::borrow::Cow;

use serde_json::Value;

/// A JSON-RPC error.
#[derive(Debug, Clone)]
pub struct RpcError {
    /// The error code, for example `-32602`.
    pub code: i32,
    /// The error message.
    pub message: Cow<'static, str>,
    /// Additional data in a format defined by the server.
    pub data: Option<Value>,
}

impl RpcError {
    /// Creates an error without data.
    pub fn new(code: i32, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Adds data to the error. The client receives it, so you must not add secrets.
    #[must_use]
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }
}
