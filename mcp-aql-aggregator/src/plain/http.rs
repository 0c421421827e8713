//! The tool over streamable HTTP.

use std::sync::Arc;

use axum::extract::Request;
use mcp_aql::__private::resolve_wildcards;
use mcp_aql::HttpOptions;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::LONGEST_MESSAGE;
use super::handler::Handler;
use crate::engine::Aggregator;

/// Lets `Accept: */*` stand for the media types of MCP.
async fn resolve_accept(mut request: Request) -> Request {
    resolve_wildcards(request.headers_mut());
    request
}

/// Serves MCP clients over streamable HTTP at `/mcp`, until `stop` is done.
///
/// A query needs no session, so that there are none: a client that goes leaves nothing behind. Hosts and
/// origins are checked as `options` say, and slow clients given up.
///
/// # Errors
/// When others could reach the address and `options` does not allow that.
pub async fn serve_listener<S>(
    aggregator: &Aggregator,
    listener: TcpListener,
    options: HttpOptions,
    stop: S,
) -> mcp_aql::Result<()>
where
    S: Future<Output = ()> + Send + 'static,
{
    let ended = CancellationToken::new();
    // Whoever drops this future ends the queries as well.
    let _end = ended.clone().drop_guard();
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(options.hosts())
        .with_allowed_origins(options.origins())
        .enforce_origin_validation()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(LONGEST_MESSAGE)
        .with_cancellation_token(ended.clone());
    let handler = Handler::new(aggregator.clone());
    let sessions = Arc::new(NeverSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(handler.clone()), sessions, config);
    let router = axum::Router::new()
        .nest_service("/mcp", service)
        .layer(axum::middleware::map_request(resolve_accept));
    let stopped = async move {
        stop.await;
        ended.cancel();
    };
    options.serve_router(listener, router, stopped).await
}
