//! The origins of calls over HTTP. Only adapters that trace or log their calls need them.

use std::net::SocketAddr;

use axum::extract::{ConnectInfo, Request};
use mcp_aql_core::Adapter;
use mcp_aql_core::internal::caller::{CallOrigin, TraceContext, TransportKind};
use mcp_aql_core::transport::Extensions;

use crate::mcp::admission::{describe_call, known_version};
use crate::mcp::service::ToolService;

/// Returns the origin of the calls in an HTTP request. Returns `None` if calls are neither traced nor logged.
pub(super) fn of_request(service: &dyn ToolService, request: &Request) -> Option<CallOrigin> {
    if !service.records_origins() {
        return None;
    }
    let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
    let mut origin = CallOrigin::default();
    let client = request.extensions().get::<ConnectInfo<SocketAddr>>();
    origin.client = client.map(|ConnectInfo(address)| *address);
    origin.transport = Some(TransportKind::Http);
    origin.protocol_version = header("mcp-protocol-version").and_then(known_version);
    origin.headers = TraceContext::read(header);
    let tracer = service.adapter().and_then(Adapter::tracer);
    origin.active = tracer.and_then(|tracer| tracer.active());
    Some(origin)
}

/// Adds the id and the tool of a call to the origin in these extensions, if there is one.
pub(super) fn add_call(
    service: &dyn ToolService,
    extensions: &mut Extensions,
    id: &str,
    tool: &str,
) {
    if service.records_origins()
        && let Some(origin) = extensions.get_mut()
    {
        describe_call(origin, id, tool);
    }
}
