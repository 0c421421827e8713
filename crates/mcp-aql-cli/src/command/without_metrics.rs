//! Stand-in for the options of the metrics page if the feature `metrics` is off.

use mcp_aql_core::{Adapter, Error, Result};

use super::Exit;

/// Stands in for the options of the page of metrics while the feature `metrics` is off.
#[derive(Debug, Clone, Default, clap::Args)]
#[non_exhaustive]
pub struct MetricsArgs {
    /// Collects `--metrics` and the flags after it, to report them.
    #[arg(long, hide = true, num_args = 0.., allow_hyphen_values = true)]
    metrics: Option<Vec<String>>,
}

impl MetricsArgs {
    /// Only serves the adapter.
    pub(super) async fn beside(
        self,
        _: &Adapter,
        serving: impl Future<Output = Result<Exit>>,
    ) -> Result<Exit> {
        self.check()?;
        serving.await
    }

    /// Reports that the flag needs a feature.
    pub(super) fn check(&self) -> Result {
        if self.metrics.is_some() {
            let problem = "`--metrics` needs the feature `metrics` of `mcp-aql`, but this program was built without \
                           it: add \"metrics\" to the `features` of `mcp-aql` in its Cargo.toml, and build it again";
            return Err(Error::Usage(problem.to_owned()));
        }
        Ok(())
    }
}
