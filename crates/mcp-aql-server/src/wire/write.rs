//! Writes JSON-RPC answers.

use mcp_aql_core::response::Reply;

use super::super::rpc_error::RpcError;

/// Writes a response with the request's original id.
pub(crate) fn respond_with(line: &mut Vec<u8>, id: &str, write: impl FnOnce(&mut Vec<u8>)) {
    line.extend(br#"{"jsonrpc":"2.0","id":"#);
    line.extend(id.bytes());
    line.extend(br#","result":"#);
    write(line);
    line.push(b'}');
}

/// Writes a JSON-RPC error.
pub(crate) fn fail_with(line: &mut Vec<u8>, id: Option<&str>, code: i32, message: &str) {
    write_error(line, id, &RpcError::new(code, message.to_owned()));
}

/// Writes a JSON-RPC error with its data.
pub(crate) fn write_error(line: &mut Vec<u8>, id: Option<&str>, error: &RpcError) {
    line.extend(br#"{"jsonrpc":"2.0","#);
    if let Some(id) = id {
        line.extend(br#""id":"#);
        line.extend(id.bytes());
        line.push(b',');
    }
    line.extend(format!(r#""error":{{"code":{},"message":"#, error.code).bytes());
    quote(line, &error.message);
    if let Some(data) = &error.data {
        line.extend(br#","data":"#);
        line.extend(data.to_string().bytes());
    }
    line.extend(b"}}");
}

/// Writes a tool's result: one text, and `isError` only for errors that no other call can fix
/// (REQ-MCP-09, REQ-MCP-10).
pub(crate) fn tool_result(line: &mut Vec<u8>, reply: &Reply, modern: bool, structured: bool) {
    line.extend(b"{");
    if modern {
        line.extend(br#""resultType":"complete","#);
    }
    line.extend(br#""content":[{"type":"text","text":"#);
    quote(line, &reply.text);
    line.extend(b"}],");
    if structured {
        line.extend(br#""structuredContent":"#);
        // JSON from an author may have several lines, but a message is a single line.
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

fn quote(line: &mut Vec<u8>, text: &str) {
    // Strings always serialize, and writing to a `Vec` cannot fail.
    let _ = serde_json::to_writer(line, text);
}
