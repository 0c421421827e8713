//! Serving over HTTP.

use std::net::SocketAddr;

use clap::Args;
use mcp_aql::HttpOptions;
use mcp_aql::transport::{ServeHttp as _, Shutdown};
use mcp_aql_aggregator::{Aggregator, adapter, plain};

use super::Face;
use super::output;
use super::signals::shutdown_signal;

/// Options for serving over HTTP.
#[derive(Debug, Args)]
pub(crate) struct HttpArgs {
    /// Serve over HTTP on this address, for example 127.0.0.1:8787; the endpoint is /mcp
    #[arg(long, value_name = "ADDRESS")]
    http: Option<SocketAddr>,
    /// Also accept requests to this host
    #[arg(long, value_name = "HOST", requires = "http")]
    allow_host: Vec<String>,
    /// Also accept requests from pages of this origin: scheme, host and port
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    allow_origin: Vec<String>,
    /// Allow an address that other machines can reach
    #[arg(long, requires = "http")]
    allow_remote: bool,
    /// Accept queries without authentication from everyone who can reach the address
    #[arg(long, requires = "http")]
    insecure_anonymous: bool,
}

impl HttpArgs {
    /// Returns `true` if the command line asks for HTTP.
    pub(super) const fn is_requested(&self) -> bool {
        self.http.is_some()
    }

    /// Serves the chosen interface over HTTP. After `stop`, running calls finish, unless another
    /// signal arrives.
    pub(super) async fn serve(
        self,
        aggregator: &Aggregator,
        face: Face,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), String> {
        let Some(address) = self.http else { return Ok(()) };
        let options = self.options();
        options.check(address.ip()).map_err(|error| error.to_string())?;
        let wrong = |error: std::io::Error| format!("cannot listen on {address}: {error}");
        let listener = tokio::net::TcpListener::bind(address).await.map_err(wrong)?;
        // If the port was 0, the system has now chosen one.
        let address = listener.local_addr().map_err(wrong)?;
        // The handler is installed late, because an earlier one would also receive the first
        // signal.
        let stop = Shutdown::when(stop).at_once_when(async { shutdown_signal().await });
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

    fn options(self) -> HttpOptions {
        let options = HttpOptions::new()
            .allow_remote(self.allow_remote)
            .insecure_anonymous(self.insecure_anonymous);
        let options = self.allow_host.into_iter().fold(options, HttpOptions::allow_host);
        self.allow_origin.into_iter().fold(options, HttpOptions::allow_origin)
    }
}

fn print_address(address: SocketAddr) {
    output::print_message(&format!("MCP on http://{address}/mcp, Ctrl-C to stop"));
}
