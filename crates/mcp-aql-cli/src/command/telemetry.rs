//! OpenTelemetry for the log, with the feature `opentelemetry`.

use tracing_subscriber::{Layer, Registry};

pub(super) use self::traces::{trace_ids, trace_layer};

/// A layer for the log's subscriber.
pub(super) type BoxedLayer = Box<dyn Layer<Registry> + Send + Sync>;

#[cfg(feature = "opentelemetry")]
mod traces {
    use mcp_aql_core::Adapter;
    use tracing_subscriber::Layer as _;

    use super::BoxedLayer;

    /// Returns the layer that adds the author's spans to the traces of an adapter.
    pub(in crate::command) fn trace_layer(adapter: &Adapter) -> Option<BoxedLayer> {
        adapter.tracer().map(|_| mcp_aql_telemetry::trace_layer().boxed())
    }

    /// Returns the ids of the current trace and the current span.
    pub(in crate::command) fn trace_ids() -> Option<(String, String)> {
        mcp_aql_telemetry::trace_ids().map(|ids| (ids.trace, ids.span))
    }
}

#[cfg(not(feature = "opentelemetry"))]
mod traces {
    use mcp_aql_core::Adapter;

    use super::BoxedLayer;

    /// Returns `None`, because traces need the feature `opentelemetry`.
    pub(in crate::command) fn trace_layer(_: &Adapter) -> Option<BoxedLayer> {
        None
    }

    /// Returns `None`, because traces need the feature `opentelemetry`.
    pub(in crate::command) fn trace_ids() -> Option<(String, String)> {
        None
    }
}
