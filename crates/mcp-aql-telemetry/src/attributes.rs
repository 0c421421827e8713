//! Names and fixed values of span and metric attributes. mcp-aql defines the names that start with `mcp_aql`; the
//! semantic conventions of OpenTelemetry define the others. If you add an attribute to a metric, its values must be
//! bounded.

use mcp_aql_core::internal::caller::TransportKind;
use opentelemetry::KeyValue;

pub(crate) const METHOD: &str = "mcp.method.name";
pub(crate) const SESSION_ID: &str = "mcp.session.id";
pub(crate) const PROTOCOL_VERSION: &str = "mcp.protocol.version";
pub(crate) const REQUEST_ID: &str = "jsonrpc.request.id";
pub(crate) const OPERATION_NAME: &str = "gen_ai.operation.name";
pub(crate) const TOOL_NAME: &str = "gen_ai.tool.name";
pub(crate) const ERROR_TYPE: &str = "error.type";
const TRANSPORT: &str = "network.transport";
const PROTOCOL: &str = "network.protocol.name";

pub(crate) const ENDPOINT: &str = "mcp_aql.endpoint";
pub(crate) const CATEGORY: &str = "mcp_aql.category";
pub(crate) const OUTCOME: &str = "mcp_aql.outcome";
pub(crate) const EXECUTION_ID: &str = "mcp_aql.execution.id";
pub(crate) const REQUEST_SIZE: &str = "mcp_aql.request.size";
pub(crate) const REPLY_SIZE: &str = "mcp_aql.reply.size";
pub(crate) const CONFIRMATION_RESULT: &str = "mcp_aql.confirmation.result";
pub(crate) const CONFIRMED_BY: &str = "mcp_aql.confirmation.by";

/// MCP method for calling operations.
pub(crate) const TOOLS_CALL: &str = "tools/call";
/// Name for tool calls in the conventions for generative AI.
pub(crate) const EXECUTE_TOOL: &str = "execute_tool";
/// Replaces the names of unknown operations, because callers choose these names.
pub(crate) const OTHER: &str = "_OTHER";

/// Returns the attributes of a transport.
pub(crate) fn transport(kind: TransportKind) -> Vec<KeyValue> {
    match kind {
        TransportKind::Pipe => vec![KeyValue::new(TRANSPORT, "pipe")],
        TransportKind::Http => {
            vec![KeyValue::new(TRANSPORT, "tcp"), KeyValue::new(PROTOCOL, "http")]
        }
        _ => Vec::new(),
    }
}
