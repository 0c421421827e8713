//! The metrics page of an adapter.

use std::sync::Arc;

use mcp_aql_core::{Adapter, Error, Result};
use prometheus_client::encoding::prometheus_text::encode;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::instruments::Instruments;
use crate::labels::{BuildLabels, StateLabels};
use crate::safety::SafetyGauges;

/// Collects the metrics of an adapter and renders them as a page in Prometheus' text format.
///
/// You need this type only if your program serves its adapter itself: the command line serves the page with
/// `serve --metrics ADDRESS`. Call [`page`](Self::page) to add the page to your own server, or [`serve`](Self::serve)
/// to run a separate one.
///
/// ```
/// use mcp_aql::observe::Metrics;
/// use mcp_aql::prelude::*;
/// use serde_json::json;
///
/// /// Return the count.
/// #[operation(category = "READ")]
/// fn get_count() -> u64 { 0 }
///
/// # fn main() -> mcp_aql::Result<()> {
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let adapter = Adapter::builder("counter").operation(get_count {}).build()?;
/// let metrics = Metrics::of(&adapter)?;
/// adapter.call("get_count", json!({})).await;
/// let page = metrics.page().await;
/// let line = r#"mcp_aql_calls_total{operation="get_count",category="READ",outcome="succeeded"} 1"#;
/// assert!(page.contains(line), "{page}");
/// # Ok(()) }) }
/// ```
pub struct Metrics {
    adapter: Adapter,
    instruments: Instruments,
    registry: Registry,
    safety: SafetyGauges,
}

impl Metrics {
    /// Starts to record the calls of this adapter and its clones.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Usage`] if the adapter already has metrics.
    pub fn of(adapter: &Adapter) -> Result<Self> {
        let instruments = Instruments::new();
        if !adapter.add_recorder(Arc::new(instruments.clone())) {
            return Err(Error::Usage("the adapter has metrics already".to_owned()));
        }
        let mut registry = Registry::with_prefix("mcp_aql");
        let build = BuildLabels {
            adapter: adapter.name().to_owned(),
            version: adapter.version().to_owned(),
            mcp_aql_version: env!("CARGO_PKG_VERSION"),
        };
        let info = Family::<BuildLabels, Gauge>::default();
        info.get_or_create(&build).set(1);
        registry.register("build_info", "The version of the adapter and of mcp-aql", info);
        instruments.register(&mut registry);
        let safety = SafetyGauges::register(adapter, &mut registry);
        Ok(Self { adapter: adapter.clone(), instruments, registry, safety })
    }

    /// Renders the page in Prometheus' text format, version 0.0.4.
    pub async fn page(&self) -> String {
        let (pending, running) = self.adapter.execution_table().count();
        for (state, count) in [("pending", pending), ("running", running)] {
            let gauge = self.instruments.executions.get_or_create_owned(&StateLabels { state });
            gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
        }
        self.safety.update().await;
        let mut page = String::new();
        if let Err(error) = encode(&mut page, &self.registry) {
            // Writing to a string does not fail.
            tracing::error!(%error, "the page of metrics cannot be written");
        }
        page
    }
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Metrics").field("adapter", &self.adapter).finish_non_exhaustive()
    }
}
