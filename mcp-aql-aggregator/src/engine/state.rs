//! How a server does, for those who watch.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, Utc};
use mcp_aql::prelude::*;
use serde::Serialize;
use serde_json::Value;

use super::Entry;
use crate::ask::{NoPlan, Told};
use crate::secret::sounds_secret;
use crate::upstream::{BreakerState, Latency, Phase, UpstreamState};

/// A server that is searched: its state, and what was counted of it.
#[derive(Debug, Clone, Serialize, JsonSchema, Resource)]
#[resource(presets(
    minimal = [name, state],
    standard = [name, state, reason, notes, since, tools, transport, metrics],
))]
#[non_exhaustive]
pub struct ServerState {
    /// Its name in the configuration.
    #[resource(id, search, filter)]
    pub name: String,
    /// Whether it can be asked.
    #[resource(filter, sort, group)]
    pub state: ServerStatus,
    /// Why it cannot, in fixed words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What is wrong with what is configured of it, a sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// When it came into this state.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[resource(filter, sort)]
    pub since: Option<DateTime<Utc>>,
    /// The tools that are asked.
    #[resource(filter)]
    pub tools: Vec<String>,
    /// What they are asked, call by call.
    pub asks: Vec<ServerCall>,
    /// How it is reached: `command` or `http`; nothing of a server that is disabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[resource(filter, sort, group)]
    pub transport: Option<&'static str>,
    /// What was counted of it since the aggregator started.
    pub metrics: ServerMetrics,
}

/// A call of a server's tool, whatever the query.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct ServerCall {
    /// The tool.
    pub tool: String,
    /// The arguments, as the configuration writes them or would; `{query}` stands for what is looked for.
    /// What is called like a secret is not shown.
    pub arguments: Value,
}

/// What was counted of a server since the aggregator started.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct ServerMetrics {
    /// Calls of its tools.
    pub calls: u64,
    /// How often there was no answer: calls that failed, and queries that could not be put to it.
    pub failures: u64,
    /// The same, by their kind.
    pub failures_by_kind: BTreeMap<&'static str, u64>,
    /// Calls that run now.
    pub in_flight: usize,
    /// Calls that were given up by whoever asked.
    pub cancelled: u64,
    /// Answers that came when nobody waited for them any more.
    pub late: u64,
    /// How long its latest answers took; nothing before the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<Percentiles>,
    /// The circuit breaker: `closed` lets calls through, `open` none, `halfOpen` one to see.
    pub breaker: &'static str,
    /// How often it was started.
    pub starts: u64,
    /// Bytes that it sent.
    pub bytes_in: u64,
    /// Bytes that it was sent.
    pub bytes_out: u64,
}

/// Times, in milliseconds, than which so many in a hundred took no longer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Percentiles {
    /// Half of them.
    pub p50: f64,
    /// 95 in a hundred.
    pub p95: f64,
    /// 99 in a hundred.
    pub p99: f64,
}

/// Whether a server can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ServerStatus {
    /// It answers.
    Ready,
    /// Nobody has asked it yet.
    Idle,
    /// It is being started.
    Starting,
    /// It could not be started, or ended; it is tried again where that may help.
    Failed,
    /// It has no tool that can be asked.
    Unmapped,
    /// The configuration says not to ask it.
    Disabled,
    /// It was ended with the aggregator.
    Closed,
}

impl ServerState {
    pub(super) fn of(entry: &Entry) -> Self {
        let upstream = entry.server.as_ref().and_then(|server| server.upstream());
        match upstream {
            Some(upstream) => Self::told(upstream.state()),
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

    fn told(state: UpstreamState) -> Self {
        let notes = match (&state.no_plan, &state.plan) {
            (Some(NoPlan::Configured(problems)), _) => problems.as_slice(),
            (_, Some(plan)) => plan.problems(),
            (_, None) => &[],
        };
        let told = state.plan.iter().flat_map(|plan| plan.told());
        let asks: Vec<_> = told.map(ServerCall::of).collect();
        let mut tools: Vec<_> = asks.iter().map(|call| call.tool.clone()).collect();
        // An adapter is asked for each of its operations through the same one.
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
    fn of(told: Told) -> Self {
        let mut arguments = told.arguments;
        hide_secrets(&mut arguments);
        Self { tool: told.tool, arguments }
    }
}

/// Takes the values of members that are called like secrets. Variables of the environment are not expanded
/// here anyway; but not everybody uses them.
fn hide_secrets(arguments: &mut Value) {
    match arguments {
        Value::Object(members) => {
            for (name, value) in members {
                if sounds_secret(name) {
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
    fn what_is_called_like_a_secret_is_not_shown() {
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
