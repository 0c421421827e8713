//! Stands in for the gauges of the safety loop if the feature `safety` is off.

use mcp_aql_core::Adapter;
use prometheus_client::registry::Registry;

/// The gauges of a safety loop, none without the feature `safety`.
pub(crate) struct SafetyGauges;

impl SafetyGauges {
    /// Adds nothing.
    pub(crate) fn register(_: &Adapter, _: &mut Registry) -> Self {
        Self
    }

    /// Does nothing.
    pub(crate) async fn update(&self) {}
}
