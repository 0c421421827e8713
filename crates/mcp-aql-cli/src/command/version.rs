//! The version that `--version` prints.

#[cfg(test)]
#[path = "../../build/commit.rs"]
mod commit;

/// The commit of the runtime's source, if the build knows it.
const COMMIT: Option<&str> = option_env!("MCP_AQL_COMMIT");

/// Returns the version of an adapter, and in a second line that of mcp-aql, with its commit in release builds.
/// `--version` prints it for adapters without a parser of their own. For others, it is the `long_version`:
///
/// ```
/// use mcp_aql::cli::clap::{self, Parser};
///
/// /// Keeps tasks in a file.
/// #[derive(Parser)]
/// #[command(name = "tasks", version, long_version = mcp_aql::cli::long_version(env!("CARGO_PKG_VERSION")))]
/// struct Args {
///     #[command(flatten)]
///     mcp: mcp_aql::cli::Options,
/// }
/// ```
pub fn long_version(adapter: &str) -> String {
    let commit = COMMIT.map(|commit| format!(" (commit {commit})")).unwrap_or_default();
    format!("{adapter}\nmcp-aql {}{commit}", env!("CARGO_PKG_VERSION"))
}
