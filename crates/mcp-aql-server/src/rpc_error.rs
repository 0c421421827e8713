//! An error of JSON-RPC.

use std::borrow::Cow;

use serde_json::Value;

/// JSON-RPC's error.
#[derive(Debug, Clone)]
pub struct RpcError {
    /// The code.
    pub code: i32,
    /// The message.
    pub message: Cow<'static, str>,
    /// Additional data, in a form defined by the server.
    pub data: Option<Value>,
}

impl RpcError {
    /// Creates an error without data.
    pub fn new(code: i32, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Adds data.
    #[must_use]
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }
}
