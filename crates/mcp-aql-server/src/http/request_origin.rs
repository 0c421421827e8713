//! The origins of calls in HTTP requests, for adapters that trace their calls.

use axum::http::HeaderMap;
use mcp_aql_core::call_origin::{CallOrigin, TraceContext, TransportKind};
use mcp_aql_core::transport::Extensions;

use crate::origin::{describe_call, known_version};
use crate::service::ToolService;

/// Returns the origin of the calls in an HTTP request, if calls are traced.
pub(super) fn of_request(service: &dyn ToolService, headers: &HeaderMap) -> Option<CallOrigin> {
    let tracer = service.tracer()?;
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let mut origin = CallOrigin::default();
    origin.transport = Some(TransportKind::Http);
    origin.protocol_version = header("mcp-protocol-version").and_then(known_version);
    origin.headers = TraceContext::read(header);
    origin.active = tracer.active();
    Some(origin)
}

/// Describes a call by its request's origin among these extensions, if calls are traced.
pub(super) fn describe_traced(
    service: &dyn ToolService,
    extensions: &mut Extensions,
    id: &str,
    tool: &str,
) {
    if service.tracer().is_some()
        && let Some(origin) = extensions.get_mut()
    {
        describe_call(origin, id, tool);
    }
}
