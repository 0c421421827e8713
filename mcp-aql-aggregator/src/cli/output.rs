//! Where output and logs go.

use std::io::{IsTerminal as _, Write as _};

use mcp_aql::__private::QUOTING_TARGETS;
use mcp_aql_text::{visible_json, visible_lines};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;

/// Warnings by default, of rmcp errors only: it warns of each request that it refuses.
const DEFAULT: &str = "warn,rmcp=error";
/// The module whose lines beyond `info` have queries in them, word by word.
const QUERIES: &str = "mcp_aql::adapter";
/// The narrowest and the widest that a table is made.
const WIDTHS: std::ops::RangeInclusive<usize> = 60..=240;

/// Writes a text to standard output, with the numbers of characters that are not displayed.
pub(crate) fn write(text: &str) -> Result<(), String> {
    write_as_is(&visible_lines(text))
}

/// Writes JSON to standard output: as it is for a program, and with escapes for characters that a terminal
/// does not display.
pub(crate) fn write_json(json: &str) -> Result<(), String> {
    if std::io::stdout().is_terminal() {
        write_as_is(&visible_json(json))
    } else {
        write_as_is(json)
    }
}

fn write_as_is(text: &str) -> Result<(), String> {
    let mut stdout = std::io::stdout().lock();
    match writeln!(stdout, "{}", text.trim_end()).and_then(|()| stdout.flush()) {
        // Whoever has read enough may close the pipe.
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(format!("cannot write to standard output: {error}"))
        }
        _ => Ok(()),
    }
}

/// Tells whoever started the command. Nobody listens when this fails.
pub(crate) fn tell(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", visible_lines(text));
}

/// How many columns there are.
pub(crate) fn width() -> usize {
    let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let usual = if std::io::stdout().is_terminal() { 100 } else { 120 };
    told.unwrap_or(usual).clamp(*WIDTHS.start(), *WIDTHS.end())
}

/// Logs go to standard error: standard output belongs to MCP, or to the result.
pub(crate) fn log_to_stderr() {
    let wanted = ["MCP_AQL_LOG", "RUST_LOG"].into_iter().find_map(|name| {
        let value = std::env::var(name).ok().filter(|value| !value.is_empty())?;
        Some((name, value))
    });
    let filter = wanted.and_then(|(name, value)| {
        let filter = value.parse::<Targets>().ok();
        if filter.is_none() {
            tell(&format!(
                "{name} is not understood: write a level, as in `info`, or levels by module, as in \
                 `warn,mcp_aql_aggregator=debug`"
            ));
        }
        filter
    });
    let filter = filter.or_else(|| DEFAULT.parse().ok()).unwrap_or_default();
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    let quiet = Targets::new()
        .with_default(LevelFilter::TRACE)
        .with_target(QUERIES, LevelFilter::INFO)
        .with_targets(QUOTING_TARGETS.map(|target| (target, LevelFilter::WARN)));
    let subscriber = tracing_subscriber::registry().with(lines).with(filter).with(quiet);
    // There is none yet.
    let _ = tracing::subscriber::set_global_default(subscriber);
}
