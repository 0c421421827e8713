#[cfg(feature = "http")]
use std::{io::Write as _, net::SocketAddr, time::Duration};

#[cfg(feature = "http")]
use clap::builder::RangedI64ValueParser;
#[cfg(feature = "http")]
use tokio::net::TcpListener;

use super::Ended;
#[cfg(feature = "http")]
use crate::HttpOptions;
use crate::adapter::Adapter;
use crate::main_error::Result;

/// How to serve MCP: on standard input and output, or over HTTP.
#[derive(Debug, Clone, clap::Args)]
#[non_exhaustive]
pub struct Serve {
    /// Listen here, for example on 127.0.0.1:8787; the endpoint is /mcp
    #[cfg(feature = "http")]
    #[arg(long, value_name = "ADDRESS")]
    pub http: Option<SocketAddr>,
    /// Also answer requests to this host
    #[cfg(feature = "http")]
    #[arg(long, value_name = "HOST", requires = "http")]
    pub allow_host: Vec<String>,
    /// Also answer pages of this origin: scheme, host and port
    #[cfg(feature = "http")]
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    pub allow_origin: Vec<String>,
    /// Listen on an address that other machines reach
    #[cfg(feature = "http")]
    #[arg(long, requires = "http")]
    pub allow_remote: bool,
    /// Keep no sessions
    #[cfg(feature = "http")]
    #[arg(long, requires = "http")]
    pub stateless: bool,
    /// Keep so many sessions at a time; further clients get 503
    #[cfg(feature = "http")]
    #[arg(
        long,
        value_name = "N",
        requires = "http",
        conflicts_with = "stateless",
        default_value_t = HttpOptions::MAX_SESSIONS,
        allow_negative_numbers = true,
        value_parser = RangedI64ValueParser::<usize>::new().range(1..=1_000_000),
    )]
    pub max_sessions: usize,
    /// Give up a client that sends or reads nothing for so long
    #[cfg(feature = "http")]
    #[arg(
        long,
        value_name = "SECONDS",
        requires = "http",
        default_value_t = HttpOptions::CLIENT_SECONDS,
        allow_negative_numbers = true,
        value_parser = RangedI64ValueParser::<u64>::new().range(1..=86_400),
    )]
    pub client_timeout: u64,
}

impl Serve {
    pub(super) async fn run(self, adapter: &Adapter) -> Result<Ended> {
        #[cfg(feature = "http")]
        if let Some(address) = self.http {
            return serve_http(adapter, address, self.http_options()).await;
        }
        adapter.serve_stdio().await.map(|()| Ended::Well)
    }

    #[cfg(feature = "http")]
    fn http_options(self) -> HttpOptions {
        let options = HttpOptions::new()
            .allow_remote(self.allow_remote)
            .sessions(!self.stateless)
            .max_sessions(self.max_sessions)
            .client_timeout(Duration::from_secs(self.client_timeout));
        let options = self.allow_host.into_iter().fold(options, HttpOptions::allow_host);
        self.allow_origin.into_iter().fold(options, HttpOptions::allow_origin)
    }
}

#[cfg(feature = "http")]
async fn serve_http(adapter: &Adapter, address: SocketAddr, options: HttpOptions) -> Result<Ended> {
    options.check(address.ip())?;
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    // Only now is it known where the adapter listens, if the port was left to the system.
    let _ = writeln!(std::io::stderr(), "MCP on http://{address}/mcp, Ctrl-C to stop");
    adapter.serve_listener(listener, options, crate::stop::told_to_stop()).await?;
    Ok(Ended::Well)
}
