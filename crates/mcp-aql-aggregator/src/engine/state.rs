//! The state of a server, for monitoring.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, Utc};
use mcp_aql::prelude::*;
use mcp_aql_client::secrets::is_secret_name;
use serde::Serialize;
use serde_json::Value;

use super::Entry;
use crate::ask::{CallDescription, NoPlan};
use crate::upstream::{BreakerState, Latency, Phase, UpstreamState};

/// A searched server with its state and call statistics.
#[derive(Debug, Clone, Serialize, JsonSchema, Resource)]
#[resource(presets(
    minimal = [name, state],
    standard = [name, state, reason, notes, since, tools, transport, metrics],
))]
#[non_exhaustive]
pub struct ServerState {
    /// The server's name in the configuration.
    #[resource(id, search, filter)]
    pub name: String,
    /// Whether the server can be queried.
    #[resource(filter, sort, group)]
    pub state: ServerStatus,
    /// The reason why the server cannot be queried, in a fixed wording.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Problems with the server's configuration, one sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The time at which the server entered this state.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[resource(filter, sort)]
    pub since: Option<DateTime<Utc>>,
    /// The tools that are called.
    #[resource(filter)]
    pub tools: Vec<String>,
    /// The calls of these tools.
    pub asks: Vec<ServerCall>,
    /// The transport: `command` or `http`; absent for a disabled server.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[resource(filter, sort, group)]
    pub transport: Option<&'static str>,
    /// Statistics since the aggregator started.
    pub metrics: ServerMetrics,
}

/// A call of a server's tool, for any query.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct ServerCall {
    /// The tool's name.
    pub tool: String,
    /// The arguments, as a configuration would contain them; `{query}` stands for the query. Values
    /// under names of secrets are hidden.
    pub arguments: Value,
}

/// Statistics of a server since the aggregator started.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct ServerMetrics {
    /// The number of tool calls.
    pub calls: u64,
    /// The number of failures: calls that failed, and queries that could not be sent.
    pub failures: u64,
    /// The number of failures by kind.
    pub failures_by_kind: BTreeMap<&'static str, u64>,
    /// The number of calls in progress.
    pub in_flight: usize,
    /// The number of calls that the caller canceled.
    pub cancelled: u64,
    /// The number of answers that arrived after the call had been abandoned.
    pub late: u64,
    /// The latency of recent answers; absent before the first answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<Percentiles>,
    /// The circuit breaker: `closed` lets calls through, `open` none, `halfOpen` one probe.
    pub breaker: &'static str,
    /// The number of times the server was started.
    pub starts: u64,
    /// The number of bytes received from the server.
    pub bytes_in: u64,
    /// The number of bytes sent to the server.
    pub bytes_out: u64,
}

/// Percentiles of latency, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Percentiles {
    /// The median.
    pub p50: f64,
    /// The 95th percentile.
    pub p95: f64,
    /// The 99th percentile.
    pub p99: f64,
}

/// The availability of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ServerStatus {
    /// The server answers queries.
    Ready,
    /// The server has not been started yet, because no query needed it.
    Idle,
    /// The server is starting.
    Starting,
    /// The server failed to start, or exited. It is restarted if that may help.
    Failed,
    /// The server has no search tool.
    Unmapped,
    /// The server is disabled by the configuration.
    Disabled,
    /// The server was ended with the aggregator.
    Closed,
}

impl ServerState {
    pub(super) fn of(entry: &Entry) -> Self {
        let upstream = entry.server.as_ref().and_then(|server| server.upstream());
        match upstream {
            Some(upstream) => Self::from_upstream(upstream.state()),
            None => Self {
                name: entry.name.clone(),
                state: ServerStatus::Disabled,
                reason: None,
                notes: Vec::new(),
                since: None,
                tools: Vec::new(),
                asks: Vec::new(),
                transport: None,
                metrics: ServerMetrics {
                    breaker: BreakerState::Closed.as_str(),
                    ..ServerMetrics::default()
                },
            },
        }
    }

    fn from_upstream(state: UpstreamState) -> Self {
        let notes = match (&state.no_plan, &state.plan) {
            (Some(NoPlan::Configured(problems)), _) => problems.as_slice(),
            (_, Some(plan)) => plan.problems(),
            (_, None) => &[],
        };
        let told = state.plan.iter().flat_map(|plan| plan.describe());
        let asks: Vec<_> = told.map(ServerCall::of).collect();
        let mut tools: Vec<_> = asks.iter().map(|call| call.tool.clone()).collect();
        // An adapter's operations all go through one tool.
        tools.dedup();
        Self {
            state: match state.phase {
                Phase::Ready => ServerStatus::Ready,
                Phase::Idle => ServerStatus::Idle,
                Phase::Starting => ServerStatus::Starting,
                Phase::Unmapped => ServerStatus::Unmapped,
                Phase::Closed => ServerStatus::Closed,
                Phase::Failed => ServerStatus::Failed,
            },
            reason: state.failure.map(|failure| failure.to_string()),
            notes: notes.iter().map(ToString::to_string).collect(),
            since: Some(state.since),
            tools,
            asks,
            transport: Some(state.transport),
            metrics: ServerMetrics {
                calls: state.calls,
                failures: state.failures.values().sum(),
                failures_by_kind: state.failures,
                in_flight: state.in_flight,
                cancelled: state.cancelled,
                late: state.late,
                latency_ms: state.latency.as_ref().map(Percentiles::of),
                breaker: state.breaker.as_str(),
                starts: state.starts,
                bytes_in: state.bytes_in,
                bytes_out: state.bytes_out,
            },
            name: state.name,
        }
    }
}

impl ServerCall {
    fn of(told: CallDescription) -> Self {
        let mut arguments = told.arguments;
        hide_secrets(&mut arguments);
        Self { tool: told.tool, arguments }
    }
}

/// Hides the values of members with names of secrets. Environment variables are never expanded
/// here, but a secret may also be written literally.
fn hide_secrets(arguments: &mut Value) {
    match arguments {
        Value::Object(members) => {
            for (name, value) in members {
                if is_secret_name(name) {
                    *value = "…".into();
                } else {
                    hide_secrets(value);
                }
            }
        }
        Value::Array(entries) => entries.iter_mut().for_each(hide_secrets),
        _ => {}
    }
}

impl Percentiles {
    fn of(latency: &Latency) -> Self {
        let millis = |time: Duration| time.as_micros() as f64 / 1000.0;
        Self { p50: millis(latency.p50), p95: millis(latency.p95), p99: millis(latency.p99) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_under_secret_names_are_hidden() {
        let mut arguments = json!({
            "operation": "search_notes", "keywords": "{keywords}", "API-Key": "k",
            "params": [{ "access_token": "t", "query": "{query}" }], "authorization": { "basic": "b" },
        });
        hide_secrets(&mut arguments);
        assert_eq!(
            arguments,
            json!({
                "operation": "search_notes", "keywords": "{keywords}", "API-Key": "…",
                "params": [{ "access_token": "…", "query": "{query}" }], "authorization": "…",
            })
        );
    }
}
