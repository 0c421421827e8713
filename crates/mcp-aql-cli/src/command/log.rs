//! Sets up logging for the command line of an adapter.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use mcp_aql_core::Adapter;
use mcp_aql_core::internal::adapter::flag_keys;
use mcp_aql_core::internal::config::Key;
use mcp_aql_core::internal::observe::{CALLS, LogFormat, QUOTING_TARGETS};
use mcp_aql_text::VisibleLines;
use serde_json::Value;
use tracing::subscriber::set_global_default;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;

use super::json_log::JsonLines;
use super::process_report::{PROCESS, use_json_lines};
use super::render::problem;
use super::telemetry::{BoxedLayer, trace_layer};

/// The default filter: warnings, but only errors of rmcp, because rmcp warns about each request that it rejects.
const DEFAULT_FILTER: &str = "warn,rmcp=error";

/// Writes logs to standard error. Standard output is reserved for MCP or for the result of the command.
///
/// If the calls of the adapter are traced, the author's spans become part of the traces, regardless of the log level.
///
/// The settings of the adapter select the format. The variable `MCP_AQL_LOG` sets
/// the level, or else `RUST_LOG`. [`QUOTING_TARGETS`] never log below warnings, because their lines quote requests. If
/// the author has set a subscriber, it is kept, and this limit does not apply.
pub(super) fn to_stderr(adapter: &Adapter) {
    set_up(adapter.settings().log_format, trace_layer(adapter));
}

/// Returns the value of the option `--log-format` for the settings.
pub(super) fn flag(option: Option<LogFormat>) -> Option<(&'static Key, Value)> {
    let key = flag_keys().find(|key| key.path == "log_format")?;
    Some((key, option?.as_str().into()))
}

/// Writes logs to standard error for an adapter that could not be built. Its settings are unknown.
pub(super) fn to_stderr_without_adapter(option: Option<LogFormat>) {
    let variable = || std::env::var("MCP_AQL_LOG_FORMAT").ok()?.parse().ok();
    set_up(option.or_else(variable).unwrap_or_default(), None);
}

fn set_up(format: LogFormat, traces: Option<BoxedLayer>) {
    let mut problems = Vec::new();
    let (filter, quoting) = (filter(format, &mut problems), quoting());
    let lines = lines(format);
    let registry = tracing_subscriber::registry();
    let set = match traces {
        Some(traces) => {
            let lines = lines.with_filter(filter).with_filter(quoting).boxed();
            set_global_default(registry.with(vec![lines, traces]))
        }
        None => set_global_default(registry.with(lines).with(filter).with(quoting)),
    };
    // If the author has set a subscriber, `set` is an error, and that subscriber is kept.
    if set.is_ok() && format == LogFormat::Json {
        use_json_lines();
    }
    problems.iter().for_each(|text| problem(text));
}

/// Returns the parser of the option `--log-format`.
pub(super) fn format_parser() -> impl TypedValueParser<Value = LogFormat> {
    PossibleValuesParser::new(LogFormat::NAMES).try_map(|name| name.parse::<LogFormat>())
}

/// Returns the layer that formats log lines.
fn lines(format: LogFormat) -> BoxedLayer {
    let stderr = || VisibleLines(std::io::stderr());
    let lines = tracing_subscriber::fmt::layer().with_writer(stderr).with_ansi(false);
    match format {
        LogFormat::Json => lines.fmt_fields(JsonLines).event_format(JsonLines).boxed(),
        _ => lines.boxed(),
    }
}

/// Returns the filter for an environment without one: [`DEFAULT_FILTER`]. A JSON log also has a line for each call,
/// because programs read it.
fn default_filter(format: LogFormat) -> Targets {
    let filter: Targets = DEFAULT_FILTER.parse().unwrap_or_default();
    match format {
        LogFormat::Json => filter.with_target(CALLS, LevelFilter::INFO),
        _ => filter,
    }
}

/// Returns the filter that the environment variables select. Their errors are added to `problems`.
fn filter(format: LogFormat, problems: &mut Vec<String>) -> Targets {
    let wanted = ["MCP_AQL_LOG", "RUST_LOG"].into_iter().find_map(|name| {
        let value = std::env::var(name).ok().filter(|value| !value.is_empty())?;
        Some((name, value))
    });
    let filter = wanted.and_then(|(name, value)| match value.parse::<Targets>() {
        Ok(filter) => {
            let quotes = |target: &str| QUOTING_TARGETS.iter().any(|one| target.starts_with(one));
            for (target, level) in filter.iter() {
                if quotes(target) && level > LevelFilter::WARN {
                    problems.push(format!(
                        "{name}: {target} logs warnings only, because its other lines quote requests, \
                         including their secrets"
                    ));
                }
            }
            Some(filter)
        }
        Err(_) => {
            problems.push(format!(
                "{name} is not a log filter: write a level such as `info`, or levels by module such as \
                 `warn,mcp_aql=debug`"
            ));
            None
        }
    });
    let filter = filter.unwrap_or_else(|| default_filter(format));
    match format {
        // In the format `text`, these lines bypass the filter. In JSON they are log lines, so the filter must admit
        // them.
        LogFormat::Json => filter.with_target(PROCESS, LevelFilter::INFO),
        _ => filter,
    }
}

/// Returns a filter with all lines except those that quote requests.
fn quoting() -> Targets {
    Targets::new()
        .with_default(LevelFilter::TRACE)
        .with_targets(QUOTING_TARGETS.map(|target| (target, LevelFilter::WARN)))
}
