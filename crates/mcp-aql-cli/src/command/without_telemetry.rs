//! Stand-in for the traces in the log if the feature `opentelemetry` is off.

use mcp_aql_core::Adapter;
use tracing_subscriber::{Layer, Registry};

/// A layer for the log's subscriber.
pub(super) type BoxedLayer = Box<dyn Layer<Registry> + Send + Sync>;

/// Returns no layer.
pub(super) fn trace_layer(_adapter: &Adapter) -> Option<BoxedLayer> {
    None
}

/// Returns no ids.
pub(super) fn trace_ids() -> Option<(String, String)> {
    None
}
