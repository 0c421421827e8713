//! The options of the command `serve` for the page of metrics.

use std::net::SocketAddr;

use mcp_aql_core::{Adapter, Error, Result};
use mcp_aql_metrics::Metrics;
use mcp_aql_server::bind;

use super::Exit;
use super::process_report::announce;

/// The options for the page of metrics.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Metrics")]
#[non_exhaustive]
pub struct MetricsArgs {
    /// Serve metrics for Prometheus at this address and the path /metrics, such as 127.0.0.1:9464
    #[arg(long, value_name = "ADDRESS")]
    pub metrics: Option<SocketAddr>,
    /// Allow an address for metrics that other machines can reach; the page is not authenticated
    #[arg(long, requires = "metrics")]
    pub allow_remote_metrics: bool,
}

impl MetricsArgs {
    /// Serves the page of metrics for as long as the adapter is served.
    pub(super) async fn beside(
        self,
        adapter: &Adapter,
        serving: impl Future<Output = Result<Exit>>,
    ) -> Result<Exit> {
        self.check()?;
        let Some(address) = self.metrics else { return serving.await };
        let listener = bind(address).await?;
        let address = listener.local_addr()?;
        let metrics = Metrics::of(adapter)?;
        announce(&format!("Metrics on http://{address}/metrics"));
        tokio::select! {
            exit = serving => exit,
            Err(error) = metrics.serve(listener, std::future::pending()) => Err(error),
        }
    }

    /// Rejects an address that other machines can reach, unless this is allowed.
    pub(super) fn check(&self) -> Result {
        let Some(address) = self.metrics else { return Ok(()) };
        if !address.ip().is_loopback() && !self.allow_remote_metrics {
            return Err(Error::Usage(format!(
                "`--metrics {address}` can be reached from other machines, and the page is not authenticated: allow \
                 that with `--allow-remote-metrics`"
            )));
        }
        Ok(())
    }
}
