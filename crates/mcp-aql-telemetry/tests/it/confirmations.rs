//! Metrics of confirmations by people and of canceled executions, with the program's own provider.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mcp_aql::BoxFuture;
use mcp_aql::operator::MemoryChannel;
use mcp_aql::prelude::*;
use mcp_aql::safety_loop::SafetyLoop;
use mcp_aql::store::MemoryState;
use mcp_aql::transport::{
    AskUser, CallScope, Elicitation, Endpoint, RepeatedCall, Reply, UserAnswer,
};
use opentelemetry::global;
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, MetricData};
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, SdkMeterProvider};
use serde_json::{Value, json};

use crate::own_process::runs_alone;

/// Delete an account.
#[operation(category = "DELETE", danger(requires_reauth))]
fn delete_account(
    /// Number of the account.
    #[param(maximum = 1000)]
    account_id: u32,
) -> u32 {
    account_id
}

/// Delete a note.
#[operation(category = "DELETE")]
fn delete_note(
    /// Number of the note.
    #[param(maximum = 1000)]
    note_id: u32,
) -> u32 {
    note_id
}

/// A user who always gives this answer.
struct User(UserAnswer);

impl AskUser for User {
    fn ask(&self, _question: String) -> BoxFuture<'_, Option<UserAnswer>> {
        Box::pin(async { Some(self.0) })
    }
}

/// Calls an operation for a client whose user can be asked.
async fn call_of_user(adapter: &Adapter, params: &Value, elicitation: Elicitation) -> Reply {
    let scope = CallScope { elicitation: Some(elicitation), ..CallScope::default() };
    let call = json!({ "operation": "delete_note", "params": params });
    adapter.handle(Endpoint::Unified, call.as_object().cloned().unwrap(), scope).await
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

/// Deletes two notes in both ways to ask the user: while the call waits, and with a repeated call. The user accepts for
/// the first note and declines for the second.
async fn ask_user(adapter: &Adapter) {
    for (note, answer) in [(1, UserAnswer::Accepted), (2, UserAnswer::Declined)] {
        let params = json!({ "note_id": note });
        let waiting = Elicitation::Waiting(Arc::new(User(answer)));
        let reply = call_of_user(adapter, &params, waiting).await;
        assert_eq!(reply.code.is_none(), answer == UserAnswer::Accepted, "{}", reply.text);
        let first = Elicitation::Repeating(Arc::new(RepeatedCall::new(None)));
        let question = call_of_user(adapter, &params, first).await.question.unwrap();
        let answered = RepeatedCall::new(Some((question.state, answer)));
        let reply =
            call_of_user(adapter, &params, Elicitation::Repeating(Arc::new(answered))).await;
        assert_eq!(reply.code.is_none(), answer == UserAnswer::Accepted, "{}", reply.text);
    }
}

#[tokio::test]
async fn decisions_of_people_and_cancelled_executions_are_counted() {
    // The provider is global, so the test needs its own process.
    if !runs_alone("confirmations::decisions_of_people_and_cancelled_executions_are_counted") {
        return;
    }
    let exporter = InMemoryMetricExporter::default();
    let provider = SdkMeterProvider::builder().with_periodic_exporter(exporter.clone()).build();
    global::set_meter_provider(provider.clone());
    let adapter = Adapter::builder("accounts")
        .operation(delete_account {})
        .operation(delete_note {})
        .operation(run_wait {})
        .safety_loop(SafetyLoop::new().channel(MemoryChannel::default()))
        .store(MemoryState::default())
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
    ask_user(&adapter).await;
    adapter.call("run_wait", json!({})).await;
    adapter.end_sessions().await;

    provider.force_flush().unwrap();
    let confirmations = counts(&exporter, "mcp_aql.confirmations");
    let expected = [
        ("approved person", 1),
        ("approved user", 2),
        ("asked person", 2),
        ("asked user", 4),
        ("person refused", 1),
        ("refused user", 2),
    ];
    assert_eq!(confirmations, expected.map(|(key, count)| (key.to_owned(), count)).into());
    let ended = counts(&exporter, "mcp_aql.executions.ended");
    assert_eq!(ended, [("cancelled run_wait".to_owned(), 1)].into());
}
