//! Standard output, standard error and logs of the command.

use std::io::{IsTerminal as _, Write as _};

use mcp_aql_core::internal::observe::{CALLS, QUOTING_TARGETS};
use mcp_aql_text::{VisibleLines, visible_json, visible_lines};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;

/// Default log filter. rmcp logs a warning for each rejected request, so only its errors are
/// logged.
const DEFAULT: &str = "warn,rmcp=error";
/// Minimum and maximum width of a table.
const WIDTHS: std::ops::RangeInclusive<usize> = 60..=240;

/// Writes to standard output. Characters that a terminal does not display appear as code points,
/// for example `<U+202E>`.
pub(crate) fn write(text: &str) -> Result<(), String> {
    write_as_is(&visible_lines(text))
}

/// Writes JSON to standard output. A program receives it unchanged. On a terminal, characters that
/// would not be displayed are escaped.
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
        // The reader may close the pipe after it has read enough.
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(format!("cannot write to standard output: {error}"))
        }
        _ => Ok(()),
    }
}

/// Writes a message to standard error. A failed write is ignored.
pub(crate) fn print_message(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", visible_lines(text));
}

/// Returns the width of the terminal in columns.
pub(crate) fn width() -> usize {
    let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let usual = if std::io::stdout().is_terminal() { 100 } else { 120 };
    told.unwrap_or(usual).clamp(*WIDTHS.start(), *WIDTHS.end())
}

/// Sends logs to standard error, because standard output carries MCP or the result.
pub(crate) fn log_to_stderr() {
    let wanted = ["MCP_AQL_LOG", "RUST_LOG"].into_iter().find_map(|name| {
        let value = std::env::var(name).ok().filter(|value| !value.is_empty())?;
        Some((name, value))
    });
    let filter = wanted.and_then(|(name, value)| {
        let filter = value.parse::<Targets>().ok();
        if filter.is_none() {
            print_message(&format!(
                "{name} is invalid: write a level such as `info`, or levels for modules such as \
                 `warn,mcp_aql_aggregator=debug`"
            ));
        }
        filter
    });
    let filter = filter.or_else(|| DEFAULT.parse().ok()).unwrap_or_default();
    let stderr = || VisibleLines(std::io::stderr());
    let lines = tracing_subscriber::fmt::layer().with_writer(stderr).with_ansi(false);
    let quiet = Targets::new()
        .with_default(LevelFilter::TRACE)
        // Below `INFO`, the log lines of calls quote queries.
        .with_target(CALLS, LevelFilter::INFO)
        .with_targets(QUOTING_TARGETS.map(|target| (target, LevelFilter::WARN)));
    let subscriber = tracing_subscriber::registry().with(lines).with(filter).with(quiet);
    // This fails only if a global subscriber was set before, and none was.
    let _ = tracing::subscriber::set_global_default(subscriber);
}
