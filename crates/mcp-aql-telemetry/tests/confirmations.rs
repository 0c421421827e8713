//! The confirmations of people, and the executions that are cancelled, as metrics of a program's own provider.
#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::BTreeMap;
use std::time::Duration;

use mcp_aql::operator::MemoryChannel;
use mcp_aql::prelude::*;
use mcp_aql::safety_loop::SafetyLoop;
use mcp_aql::store::MemoryStore;
use opentelemetry::global;
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, MetricData};
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, SdkMeterProvider};
use serde_json::json;

/// Delete an account.
#[operation(category = "DELETE", danger(requires_reauth))]
fn delete_account(
    /// Number of the account.
    #[param(maximum = 1000)]
    account_id: u32,
) -> u32 {
    account_id
}

/// Wait.
#[operation(category = "EXECUTE", danger(level = "reversible"), lifecycle(cancel))]
async fn run_wait() -> u32 {
    tokio::time::sleep(Duration::from_secs(3600)).await;
    0
}

/// Returns the counts of a metric by the values of their attributes.
fn counts(exporter: &InMemoryMetricExporter, name: &str) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for exported in exporter.get_finished_metrics().unwrap() {
        let metrics = exported.scope_metrics().flat_map(|scope| scope.metrics());
        for metric in metrics.filter(|metric| metric.name() == name) {
            let AggregatedMetrics::U64(MetricData::Sum(sum)) = metric.data() else { continue };
            counts.extend(sum.data_points().map(|point| {
                let mut values: Vec<_> =
                    point.attributes().map(|each| each.value.to_string()).collect();
                values.sort();
                (values.join(" "), point.value())
            }));
        }
    }
    counts
}

#[tokio::test]
async fn decisions_of_people_and_cancelled_executions_are_counted() {
    let exporter = InMemoryMetricExporter::default();
    let provider = SdkMeterProvider::builder().with_periodic_exporter(exporter.clone()).build();
    global::set_meter_provider(provider.clone());
    let adapter = Adapter::builder("accounts")
        .operation(delete_account {})
        .operation(run_wait {})
        .safety_loop(SafetyLoop::new().channel(MemoryChannel::default()))
        .store(MemoryStore::default())
        .without_config()
        .opentelemetry()
        .build()
        .unwrap();
    let operator = adapter.operator().unwrap();
    for (account, approves) in [(1, true), (2, false)] {
        let params = json!({ "account_id": account });
        let asked = adapter.call("delete_account", params.clone()).await;
        let id = asked.error().unwrap().details["request_id"].as_str().unwrap();
        match approves {
            true => operator.approve(id, "Ada").await.unwrap(),
            false => operator.deny(id, "Ada").await.unwrap(),
        }
        if approves {
            assert_eq!(adapter.call("delete_account", params).await.data(), account);
        }
    }
    adapter.call("run_wait", json!({})).await;
    adapter.end_sessions().await;

    provider.force_flush().unwrap();
    let confirmations = counts(&exporter, "mcp_aql.confirmations");
    let expected = [("approved person", 1), ("asked person", 2), ("person refused", 1)];
    assert_eq!(confirmations, expected.map(|(key, count)| (key.to_owned(), count)).into());
    let ended = counts(&exporter, "mcp_aql.executions.ended");
    assert_eq!(ended, [("cancelled run_wait".to_owned(), 1)].into());
}
