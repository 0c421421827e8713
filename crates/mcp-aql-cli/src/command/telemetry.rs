//! OpenTelemetry for the log, with the feature `opentelemetry`.

use mcp_aql_core::Adapter;
use tracing_subscriber::{Layer, Registry};

/// A layer for the log's subscriber.
pub(super) type BoxedLayer = Box<dyn Layer<Registry> + Send + Sync>;

/// Returns the layer that adds the author's spans to the traces of an adapter.
pub(super) fn trace_layer(adapter: &Adapter) -> Option<BoxedLayer> {
    adapter.tracer().map(|_| mcp_aql_telemetry::trace_layer().boxed())
}

/// Returns the ids of the current trace and the current span.
pub(super) fn trace_ids() -> Option<(String, String)> {
    mcp_aql_telemetry::trace_ids().map(|ids| (ids.trace, ids.span))
}
