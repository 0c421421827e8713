//! The version printed by `--version`.

#[cfg(test)]
#[path = "../../build/commit.rs"]
mod commit;

/// The commit of this crate's source. `None` if the build does not know it.
const COMMIT: Option<&str> = option_env!("MCP_AQL_COMMIT");

/// Returns the version of an adapter followed by the version of mcp-aql on a second line. In release builds, the second
/// line includes the commit of mcp-aql.
///
/// `--version` prints this if your adapter has no parser of its own. Otherwise set it as the `long_version` of your
/// parser:
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
