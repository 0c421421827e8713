//! The subcommand `serve`: serves clients until they disconnect or a signal arrives, then ends the
//! servers.

use mcp_aql_aggregator::{Aggregator, adapter, plain};

use super::Outcome;
use super::arguments::Face;
#[cfg(feature = "http")]
use super::arguments::HttpArgs;

/// Serves the chosen interface on standard input and output, or over HTTP.
#[cfg(feature = "http")]
pub(super) async fn serve(
    aggregator: &Aggregator,
    face: Face,
    http: HttpArgs,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<Outcome, String> {
    let served = match http.http {
        Some(address) => over_http(aggregator, face, address, http.options(), stop).await,
        None => over_stdio(aggregator, face, stop).await,
    };
    aggregator.close().await;
    served.map(|()| Outcome::Well)
}

/// Serves the chosen interface on standard input and output.
#[cfg(not(feature = "http"))]
pub(super) async fn serve(
    aggregator: &Aggregator,
    face: Face,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<Outcome, String> {
    let served = over_stdio(aggregator, face, stop).await;
    aggregator.close().await;
    served.map(|()| Outcome::Well)
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

#[cfg(feature = "http")]
async fn over_http(
    aggregator: &Aggregator,
    face: Face,
    address: std::net::SocketAddr,
    options: mcp_aql::HttpOptions,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<(), String> {
    options.check(address.ip()).map_err(|error| error.to_string())?;
    let wrong = |error: std::io::Error| format!("cannot listen on {address}: {error}");
    let listener = tokio::net::TcpListener::bind(address).await.map_err(wrong)?;
    // The system has now chosen the port if the address left it open.
    let address = listener.local_addr().map_err(wrong)?;
    let served = match face {
        Face::Plain => {
            let serving = plain::serve_listener(aggregator, listener, options, stop);
            print_address(address);
            serving.await
        }
        Face::McpAql => {
            let adapter = adapter(aggregator.clone()).map_err(|error| error.to_string())?;
            print_address(address);
            adapter.serve_listener(listener, options, stop).await
        }
    };
    served.map_err(|error| error.to_string())
}

#[cfg(feature = "http")]
fn print_address(address: std::net::SocketAddr) {
    super::output::print_message(&format!("MCP on http://{address}/mcp, Ctrl-C to stop"));
}
