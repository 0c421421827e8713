use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;

use super::render::problem;
use crate::log_targets::QUOTING_TARGETS;

/// Warnings by default, of rmcp errors only: it warns of each request that it refuses.
const DEFAULT: &str = "warn,rmcp=error";

/// Logs go to standard error: standard output belongs to MCP, or to the result.
///
/// `MCP_AQL_LOG`, or else `RUST_LOG`, says how much, except that [`QUOTING_TARGETS`] never log more than
/// warnings. A subscriber that the author has set stays, and is not limited.
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
    let filter = filter.or_else(|| DEFAULT.parse().ok()).unwrap_or_default();
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    let quoting = Targets::new()
        .with_default(LevelFilter::TRACE)
        .with_targets(QUOTING_TARGETS.map(|target| (target, LevelFilter::WARN)));
    let subscriber = tracing_subscriber::registry().with(lines).with(filter).with(quoting);
    // Fails when there is a subscriber already, which is then the author's.
    let _ = tracing::subscriber::set_global_default(subscriber);
}
