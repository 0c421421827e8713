//! The command `serve`.

use std::net::SocketAddr;
use std::time::Duration;

use clap::builder::RangedI64ValueParser;
use mcp_aql_core::{Adapter, Result};

use super::http::HttpArgs;
use super::metrics::MetricsArgs;
use super::{Exit, hangup};

/// The options of the command `serve`.
#[derive(Debug, Clone, Default, clap::Args)]
#[non_exhaustive]
pub struct ServeArgs {
    /// Wait at most this long at the end for running calls; the configuration sets the default
    #[arg(
        long,
        value_name = "SECONDS",
        allow_negative_numbers = true,
        value_parser = RangedI64ValueParser::<u64>::new().range(0..=3_600),
    )]
    pub drain_timeout: Option<u64>,
    /// The flags of serving over HTTP
    #[command(flatten)]
    pub http: HttpArgs,
    /// The flags of serving metrics
    #[command(flatten)]
    pub metrics: MetricsArgs,
}

impl ServeArgs {
    pub(super) async fn run(self, adapter: &Adapter) -> Result<Exit> {
        let Self { drain_timeout, http, metrics } = self;
        let own = drain_timeout.map(Duration::from_secs);
        let adapter = own.map_or_else(|| adapter.clone(), |own| adapter.with_drain_timeout(own));
        let served = metrics.beside(&adapter, http.serve(&adapter));
        hangup::reopening_audit_log(&adapter, served).await
    }

    /// Checks the configuration and the options for serving. Returns the address.
    pub(super) fn check(&self, adapter: &Adapter) -> Result<Option<SocketAddr>> {
        self.metrics.check()?;
        self.http.check(adapter)
    }
}
