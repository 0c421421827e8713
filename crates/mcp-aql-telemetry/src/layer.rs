//! Exports `tracing` spans to the traces, and returns trace ids for log lines.

use opentelemetry::trace::TraceContextExt as _;
use opentelemetry::{Context, global};
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;

use mcp_aql_core::internal::observe::QUOTING_TARGETS;

/// Returns a layer that adds your own `tracing` spans to the traces, as children of the span of their call.
///
/// The layer ignores events, the spans of mcp-aql itself (replaced by the spans of calls), and spans of libraries that
/// quote requests including their secrets. Set the global provider before you create the layer.
///
/// ```
/// use tracing_subscriber::layer::SubscriberExt as _;
///
/// let subscriber = tracing_subscriber::registry().with(mcp_aql_telemetry::trace_layer());
/// # let _ = subscriber;
/// ```
pub fn trace_layer<S>() -> impl Layer<S> + Send + Sync
where
    S: Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
{
    let is_wanted = |target: &str| {
        let has_prefix = |prefix: &str| target.starts_with(prefix);
        let is_own = target == "mcp_aql" || target.starts_with("mcp_aql::");
        !is_own && !has_prefix("opentelemetry") && !QUOTING_TARGETS.into_iter().any(has_prefix)
    };
    tracing_opentelemetry::layer().with_tracer(global::tracer("tracing")).with_filter(
        filter_fn(move |metadata| {
            metadata.is_span()
                && *metadata.level() <= tracing::Level::INFO
                && is_wanted(metadata.target())
        })
        .with_max_level_hint(tracing::Level::INFO),
    )
}

/// The ids of a trace and of a span, in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceIds {
    /// The id of the trace.
    pub trace: String,
    /// The id of the span.
    pub span: String,
}

/// Returns the ids of the active span. Add them to a log line to find the trace that it belongs to.
///
/// ```
/// assert_eq!(mcp_aql_telemetry::trace_ids(), None);
/// ```
pub fn trace_ids() -> Option<TraceIds> {
    Context::map_current(|context| {
        let span = context.has_active_span().then(|| context.span())?;
        let ids = span.span_context();
        ids.is_valid().then(|| TraceIds {
            trace: ids.trace_id().to_string(),
            span: ids.span_id().to_string(),
        })
    })
}
