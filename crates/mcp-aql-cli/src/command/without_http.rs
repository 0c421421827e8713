//! The command `serve` without the feature `http`. It serves on standard input and output, and rejects `--http` and a
//! configured address.

use std::net::SocketAddr;

use mcp_aql_core::{Adapter, BuildError, Error, Result};

use super::Exit;
use super::setting_flags::SettingFlags;
use super::stdio::serve_stdio;

/// The HTTP options while the feature `http` is off.
#[derive(Debug, Clone, Default, clap::Args)]
#[non_exhaustive]
pub struct HttpArgs {
    /// Collects `--http` and the flags after it, to report them.
    #[arg(long, hide = true, num_args = 0.., allow_hyphen_values = true)]
    http: Option<Vec<String>>,
    /// Serve on standard input and output, although an address is configured
    #[arg(long, conflicts_with = "http")]
    pub stdio: bool,
}

impl HttpArgs {
    pub(super) async fn serve(self, adapter: &Adapter, flags: &SettingFlags) -> Result<Exit> {
        self.check(adapter, flags)?;
        serve_stdio(adapter).await
    }

    /// Checks that neither the command line nor the configuration requires HTTP. Always returns `None` as the address.
    pub(super) fn check(
        &self,
        adapter: &Adapter,
        _flags: &SettingFlags,
    ) -> Result<Option<SocketAddr>> {
        let problem = |what: &str| {
            format!(
                "{what} needs the feature `http` of `mcp-aql`, but this program was built without it: add \
                 \"http\" to the `features` of `mcp-aql` in its Cargo.toml, and build it again"
            )
        };
        let is_configured = adapter.settings().http.address.is_some() && !self.stdio;
        match &self.http {
            Some(_) => Err(Error::Usage(problem("`--http`"))),
            None if is_configured => Err(BuildError::of(problem("`http.address`")).into()),
            None => Ok(None),
        }
    }
}
