//! `serve` without the feature `http`: standard input and output, and a clear answer to `--http`.

use super::Ended;
use crate::adapter::Adapter;
use crate::main_error::{Error, Result};

/// How `serve` serves MCP over HTTP: the feature `http` is off, so it cannot.
#[derive(Debug, Clone, clap::Args)]
#[non_exhaustive]
pub struct Http {
    /// Everything behind `--http`, with the flags that go with it.
    #[arg(long, hide = true, num_args = 0.., allow_hyphen_values = true)]
    http: Option<Vec<String>>,
}

impl Http {
    pub(super) async fn serve(self, adapter: &Adapter) -> Result<Ended> {
        if self.http.is_some() {
            return Err(Error::Usage(format!(
                "`--http` needs the feature `http` of `mcp-aql`, with which this program was not built: \
                 write `mcp-aql = {{ version = \"{}\", features = [\"http\"] }}` in its Cargo.toml and \
                 build it again",
                env!("CARGO_PKG_VERSION")
            )));
        }
        adapter.serve_stdio().await.map(|()| Ended::Well)
    }
}
