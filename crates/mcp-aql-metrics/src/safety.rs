//! Gauges of the safety loop: open requests to operators and blocked agents. Requires the feature `safety`.

use mcp_aql_core::Adapter;
use mcp_aql_safety::operator::{Operator, OperatorAccess as _};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// The gauges of the safety loop. Empty if the adapter has none.
pub(crate) struct SafetyGauges(Option<Shown>);

struct Shown {
    operator: Operator,
    requests: Gauge,
    blocks: Gauge,
}

impl SafetyGauges {
    /// Registers the gauges if the adapter has a safety loop.
    pub(crate) fn register(adapter: &Adapter, registry: &mut Registry) -> Self {
        let Some(operator) = adapter.operator() else { return Self(None) };
        let (requests, blocks) = (Gauge::default(), Gauge::default());
        registry.register(
            "open_requests",
            "Requests that wait for an operator, of all processes",
            requests.clone(),
        );
        registry.register(
            "blocked_agents",
            "Agents that are blocked, of all processes",
            blocks.clone(),
        );
        Self(Some(Shown { operator, requests, blocks }))
    }

    /// Reads the values from the store. On an error, the gauges keep their last values.
    pub(crate) async fn update(&self) {
        let Some(Shown { operator, requests, blocks }) = &self.0 else { return };
        match operator.overview().await {
            Ok(overview) => {
                requests.set(i64::try_from(overview.requests.len()).unwrap_or(i64::MAX));
                blocks.set(i64::try_from(overview.blocks.len()).unwrap_or(i64::MAX));
            }
            Err(error) => {
                tracing::warn!(code = error.code().as_str(), "the open requests cannot be counted");
            }
        }
    }
}
