//! Sets up logging for the adapter's command line.

use mcp_aql_core::log_targets::QUOTING_TARGETS;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;

use super::render::problem;

/// The default filter: warnings, and only errors of rmcp, which warns of each request that it
/// rejects.
const DEFAULT_FILTER: &str = "warn,rmcp=error";

/// Writes logs to standard error. Standard output is reserved for MCP or for the result.
///
/// `MCP_AQL_LOG`, or else `RUST_LOG`, sets the level, but [`QUOTING_TARGETS`] never log below
/// warnings. A subscriber that the author has set is kept, without that limit.
pub(super) fn to_stderr() {
    let wanted = ["MCP_AQL_LOG", "RUST_LOG"].into_iter().find_map(|name| {
        let value = std::env::var(name).ok().filter(|value| !value.is_empty())?;
        Some((name, value))
    });
    let filter = wanted.and_then(|(name, value)| match value.parse::<Targets>() {
        Ok(filter) => {
            let quotes = |target: &str| QUOTING_TARGETS.iter().any(|one| target.starts_with(one));
            for (target, level) in filter.iter() {
                if quotes(target) && level > LevelFilter::WARN {
                    problem(&format!(
                        "{name}: {target} logs warnings only, since its other lines quote requests with their \
                         secrets"
                    ));
                }
            }
            Some(filter)
        }
        Err(_) => {
            problem(&format!(
                "{name} is not understood: write a level, as in `info`, or levels by \
                              module, as in `warn,mcp_aql=debug`"
            ));
            None
        }
    });
    let filter = filter.or_else(|| DEFAULT_FILTER.parse().ok()).unwrap_or_default();
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    let quoting = Targets::new()
        .with_default(LevelFilter::TRACE)
        .with_targets(QUOTING_TARGETS.map(|target| (target, LevelFilter::WARN)));
    let subscriber = tracing_subscriber::registry().with(lines).with(filter).with(quoting);
    // Fails if the author has set a subscriber, which is then kept.
    let _ = tracing::subscriber::set_global_default(subscriber);
}
