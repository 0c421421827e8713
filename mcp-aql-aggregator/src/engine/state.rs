//! How a server does, for those who watch.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, Utc};
use mcp_aql::prelude::*;
use serde::Serialize;

use super::Entry;
use crate::upstream::{Latency, UpstreamState};

/// A server that is searched: its state, and what was counted of it.
#[derive(Debug, Clone, Serialize, JsonSchema, Resource)]
#[resource(presets(minimal = [name, state]))]
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
    /// When it came into this state.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[resource(filter, sort)]
    pub since: Option<DateTime<Utc>>,
    /// The tools that are asked.
    #[resource(filter)]
    pub tools: Vec<String>,
    /// Calls of its tools.
    #[resource(filter, sort, numeric)]
    pub calls: u64,
    /// Calls that failed.
    #[resource(filter, sort, numeric)]
    pub failures: u64,
    /// Calls that failed, by their kind.
    pub failures_by_kind: BTreeMap<String, u64>,
    /// Calls that run now.
    #[resource(filter, sort, numeric)]
    pub in_flight: u64,
    /// Calls that were given up by whoever asked.
    #[resource(filter, sort, numeric)]
    pub cancelled: u64,
    /// Answers that came when nobody waited for them any more.
    #[resource(filter, sort, numeric)]
    pub late: u64,
    /// Half of its answers took no longer, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[resource(filter, sort, numeric)]
    pub latency_p50_ms: Option<f64>,
    /// 95 % of its answers took no longer, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[resource(filter, sort, numeric)]
    pub latency_p95_ms: Option<f64>,
    /// 99 % of its answers took no longer, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[resource(filter, sort, numeric)]
    pub latency_p99_ms: Option<f64>,
    /// The circuit breaker: `closed` lets calls through, `open` none, `halfOpen` one to see.
    #[resource(filter, sort, group)]
    pub breaker: String,
    /// How often it was started.
    #[resource(filter, sort, numeric)]
    pub starts: u64,
    /// Bytes that it sent.
    #[resource(filter, sort, numeric)]
    pub bytes_in: u64,
    /// Bytes that it was sent.
    #[resource(filter, sort, numeric)]
    pub bytes_out: u64,
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
    /// It could not be started, or ended; it is tried again.
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
                since: None,
                tools: Vec::new(),
                calls: 0,
                failures: 0,
                failures_by_kind: BTreeMap::new(),
                in_flight: 0,
                cancelled: 0,
                late: 0,
                latency_p50_ms: None,
                latency_p95_ms: None,
                latency_p99_ms: None,
                breaker: "closed".to_owned(),
                starts: 0,
                bytes_in: 0,
                bytes_out: 0,
            },
        }
    }

    fn told(state: UpstreamState) -> Self {
        let millis = |time: fn(&Latency) -> Duration| {
            state.latency.as_ref().map(|latency| time(latency).as_secs_f64() * 1000.0)
        };
        let tools = state.plan.iter().flat_map(|plan| plan.told()).map(|told| told.tool);
        Self {
            state: match state.status {
                "ready" => ServerStatus::Ready,
                "idle" => ServerStatus::Idle,
                "starting" => ServerStatus::Starting,
                "unmapped" => ServerStatus::Unmapped,
                "closed" => ServerStatus::Closed,
                _ => ServerStatus::Failed,
            },
            reason: state.failure.map(|failure| failure.to_string()),
            since: Some(state.since),
            tools: tools.collect(),
            calls: state.calls,
            failures: state.failures.values().sum(),
            latency_p50_ms: millis(|latency| latency.p50),
            latency_p95_ms: millis(|latency| latency.p95),
            latency_p99_ms: millis(|latency| latency.p99),
            failures_by_kind: state
                .failures
                .into_iter()
                .map(|(kind, count)| (kind.to_owned(), count))
                .collect(),
            in_flight: state.in_flight as u64,
            cancelled: state.cancelled,
            late: state.late,
            breaker: state.breaker.as_str().to_owned(),
            starts: state.starts,
            bytes_in: state.bytes_in,
            bytes_out: state.bytes_out,
            name: state.name,
        }
    }
}
