//! The errors of JSON-RPC, and answers as JSON.

use std::borrow::Cow;

use mcp_aql_core::internal::response::Reply;
use mcp_aql_core::internal::vocab::quote;
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

/// Writes a response. `id` is the JSON of the request's id, in its original spelling.
pub(crate) fn respond_with(line: &mut Vec<u8>, id: &str, write: impl FnOnce(&mut Vec<u8>)) {
    line.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    line.extend_from_slice(id.as_bytes());
    line.extend_from_slice(br#","result":"#);
    write(line);
    line.push(b'}');
}

/// Writes a JSON-RPC error.
pub(crate) fn fail_with(line: &mut Vec<u8>, id: Option<&str>, code: i32, message: &str) {
    write_error(line, id, &RpcError::new(code, message.to_owned()));
}

/// Writes a JSON-RPC error with its data.
pub(crate) fn write_error(line: &mut Vec<u8>, id: Option<&str>, error: &RpcError) {
    line.extend_from_slice(br#"{"jsonrpc":"2.0","#);
    if let Some(id) = id {
        line.extend_from_slice(br#""id":"#);
        line.extend_from_slice(id.as_bytes());
        line.push(b',');
    }
    line.extend(format!(r#""error":{{"code":{},"message":"#, error.code).bytes());
    quote_text(line, &error.message);
    if let Some(data) = &error.data {
        line.extend_from_slice(br#","data":"#);
        line.extend(data.to_string().bytes());
    }
    line.extend_from_slice(b"}}");
}

/// Writes a tool's result. `isError` is only `true` for errors that no other call can fix (REQ-MCP-09, REQ-MCP-10).
///
/// ```json
/// { "content": [{ "type": "text", "text": "{\"success\":true,\"data\":7}" }], "isError": false }
/// ```
pub(crate) fn tool_result(line: &mut Vec<u8>, reply: &Reply, modern: bool, structured: bool) {
    line.extend_from_slice(b"{");
    if modern {
        line.extend_from_slice(br#""resultType":"complete","#);
    }
    line.extend_from_slice(br#""content":[{"type":"text","text":"#);
    match reply.is_quoted {
        true => line.extend_from_slice(reply.text.as_bytes()),
        false => quote_text(line, &reply.text),
    }
    line.extend_from_slice(b"}],");
    if structured {
        line.extend_from_slice(br#""structuredContent":"#);
        // JSON from an author may contain line breaks, but a message is a single line.
        line.extend(reply.text.bytes().map(|byte| match byte {
            b'\n' | b'\r' => b' ',
            other => other,
        }));
        line.push(b',');
    }
    line.extend_from_slice(match reply.is_error() {
        true => br#""isError":true}"#,
        false => br#""isError":false}"#,
    });
}

fn quote_text(line: &mut Vec<u8>, text: &str) {
    line.push(b'"');
    quote(line, text.as_bytes());
    line.push(b'"');
}
