//! The command `serve` without the feature `http`: standard input and output, and an error for
//! `--http`.

use mcp_aql_core::adapter::Adapter;
use mcp_aql_core::main_error::{Error, Result};
use mcp_aql_server::ServeStdio as _;

use super::Exit;

/// Stands in for the HTTP options while the feature `http` is off.
#[derive(Debug, Clone, clap::Args)]
#[non_exhaustive]
pub struct HttpArgs {
    /// Collects `--http` and the flags after it, to report them.
    #[arg(long, hide = true, num_args = 0.., allow_hyphen_values = true)]
    http: Option<Vec<String>>,
}

impl HttpArgs {
    pub(super) async fn serve(self, adapter: &Adapter) -> Result<Exit> {
        if self.http.is_some() {
            return Err(Error::Usage(format!(
                "`--http` needs the feature `http` of `mcp-aql`, with which this program was not built: \
                 write `mcp-aql = {{ version = \"{}\", features = [\"http\"] }}` in its Cargo.toml and \
                 build it again",
                env!("CARGO_PKG_VERSION")
            )));
        }
        adapter.serve_stdio().await.map(|()| Exit::Success)
    }
}
