use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

/// Logs go to standard error: standard output belongs to MCP, or to the result.
///
/// `MCP_AQL_LOG`, or else `RUST_LOG`, says how much; warnings by default, of rmcp
/// errors only: it warns of each request that it refuses. A subscriber that the
/// author has set stays.
pub(super) fn to_stderr() {
    let filter = ["MCP_AQL_LOG", "RUST_LOG"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
        .unwrap_or_else(|| "warn,rmcp=error".to_owned());
    let subscriber = tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none())
        .with_env_filter(EnvFilter::new(filter))
        .finish();
    // Fails when there is a subscriber already, which is then the author's.
    let _ = tracing::subscriber::set_global_default(subscriber);
}
