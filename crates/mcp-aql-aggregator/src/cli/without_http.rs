//! Stand-in for serving over HTTP if the feature `http` is off.

use clap::Args;
use mcp_aql_aggregator::Aggregator;

use super::Face;

/// The options of HTTP. Empty without the feature `http`.
#[derive(Debug, Args)]
pub(crate) struct HttpArgs {}

impl HttpArgs {
    /// Returns `false`, because there is no option for HTTP.
    pub(super) const fn is_requested(&self) -> bool {
        false
    }

    /// Does nothing.
    pub(super) async fn serve(
        self,
        _: &Aggregator,
        _: Face,
        _: impl Future<Output = ()>,
    ) -> Result<(), String> {
        Ok(())
    }
}
