//! The command `serve`.

use std::net::SocketAddr;

use mcp_aql_core::{Adapter, Result};

use super::http::HttpArgs;
use super::metrics::MetricsArgs;
use super::setting_flags::SettingFlags;
use super::{Exit, hangup};

/// The options of the command `serve`.
#[derive(Debug, Clone, Default, clap::Args)]
#[non_exhaustive]
pub struct ServeArgs {
    /// The flags that set keys of the configuration file
    #[command(flatten)]
    pub settings: SettingFlags,
    /// The flags of serving over HTTP
    #[command(flatten)]
    pub http: HttpArgs,
    /// The flags of serving metrics
    #[command(flatten)]
    pub metrics: MetricsArgs,
}

impl ServeArgs {
    pub(super) async fn run(self, adapter: &Adapter) -> Result<Exit> {
        let Self { settings, http, metrics } = self;
        let adapter = settings.apply(adapter)?;
        let served = metrics.beside(&adapter, http.serve(&adapter, &settings));
        hangup::reopening_audit_log(&adapter, served).await
    }

    /// Returns the adapter with the values of the flags.
    pub(super) fn configured(&self, adapter: &Adapter) -> Result<Adapter> {
        self.settings.apply(adapter)
    }

    /// Checks the configuration and the options for serving. Returns the address.
    pub(super) fn check(&self, adapter: &Adapter) -> Result<Option<SocketAddr>> {
        self.metrics.check()?;
        self.http.check(&self.configured(adapter)?, &self.settings)
    }
}
