//! Stand-in for the gauges of the safety loop if the feature `safety` is off.

use mcp_aql_core::Adapter;
use prometheus_client::registry::Registry;

/// The gauges of the safety loop: none without the feature `safety`.
pub(crate) struct SafetyGauges;

impl SafetyGauges {
    /// Does nothing: there are no gauges to register.
    pub(crate) fn register(_: &Adapter, _: &mut Registry) -> Self {
        Self
    }

    /// Does nothing: there are no gauges to update.
    pub(crate) async fn update(&self) {}
}
