//! The subcommand `serve`: serves clients until they disconnect or a signal arrives, then ends the
//! servers.

use mcp_aql::transport::ServeStdio as _;
use mcp_aql_aggregator::{Aggregator, adapter, plain};

use super::http::HttpArgs;
use super::{CommandOutcome, Face};

/// Serves the chosen interface on standard input and output, or over HTTP.
pub(super) async fn serve(
    aggregator: &Aggregator,
    face: Face,
    http: HttpArgs,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<CommandOutcome, String> {
    let served = if http.is_requested() {
        http.serve(aggregator, face, stop).await
    } else {
        over_stdio(aggregator, face, stop).await
    };
    aggregator.close().await;
    served.map(|()| CommandOutcome::Well)
}

async fn over_stdio(
    aggregator: &Aggregator,
    face: Face,
    stop: impl Future<Output = ()>,
) -> Result<(), String> {
    let serving = async {
        match face {
            Face::Plain => plain::serve_stdio(aggregator)
                .await
                .map_err(|error| format!("the MCP connection failed: {error}")),
            Face::McpAql => {
                let adapter = adapter(aggregator.clone()).map_err(|error| error.to_string())?;
                adapter.serve_stdio().await.map_err(|error| error.to_string())
            }
        }
    };
    tokio::select! {
        served = serving => served,
        () = stop => Ok(()),
    }
}
