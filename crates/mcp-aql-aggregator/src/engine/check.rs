//! Checks each server on its own: its calls, and the items of its answers.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::Value;
use tokio::time::Instant;

use super::{Aggregator, Entry, QueryError, ServerState, ServerStatus, check_query};
use crate::ask::{NoPlan, Plan, Why};
use crate::config::Settings;
use crate::items::split;
use crate::upstream::{Answers, CallAnswer, Failure};
use mcp_aql_rank::texts::clean;

/// The findings about one server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServerCheck {
    /// The server's state.
    pub state: ServerState,
    /// If `true`, the server works as configured: it answers, or it has no search tool.
    pub is_well: bool,
    /// Problems and remarks, one sentence each.
    pub notes: Vec<String>,
    /// The calls of the server's tools.
    pub calls: Vec<CallCheck>,
    /// The causes of failures as reported by the system or the server, without the secrets passed
    /// to it.
    pub causes: Vec<String>,
    /// The last lines of the server's standard error, without the secrets passed to it.
    pub stderr_tail: Vec<String>,
}

/// The findings about one tool of a server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CallCheck {
    /// Name of the tool.
    pub tool: String,
    /// The reason why the tool is called.
    pub why: &'static str,
    /// The arguments, as a configuration would contain them.
    pub template: Value,
    /// The arguments of the first call.
    pub arguments: Value,
    /// The answers, one per call. A template may make several calls. If all of them find nothing,
    /// the query's words are searched one by one.
    pub answers: Vec<AnswerCheck>,
}

/// The findings about one answer.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AnswerCheck {
    /// The arguments of the call, with environment variables unexpanded.
    pub arguments: Value,
    /// Time until the answer arrived.
    pub latency: Duration,
    /// Size of the answer as received, in bytes.
    pub bytes: usize,
    /// The items found in the answer.
    pub items: Vec<String>,
    /// Number of omitted items: images, errors among the results, and items beyond the limits.
    pub left_out: usize,
    /// If `true`, the configured `items` does not match the answer.
    pub is_mismatch: bool,
}

impl Aggregator {
    /// Queries each server on its own after it has started, and reports its calls and the parsed
    /// answers. Use this while you write a configuration.
    ///
    /// # Errors
    ///
    /// Returns [`QueryError::Invalid`] immediately for a query that [`query`](Self::query) would
    /// reject.
    pub async fn check(&self, query: &str) -> Result<Vec<ServerCheck>, QueryError> {
        check_query(query)?;
        self.settled().await;
        let query = clean(query);
        let checks = self.inner.servers.iter().map(|entry| self.check_one(entry, &query));
        Ok(join_all(checks).await)
    }

    async fn check_one(&self, entry: &Entry, query: &str) -> ServerCheck {
        let mut checked = ServerCheck {
            state: ServerState::of(entry),
            is_well: true,
            notes: Vec::new(),
            calls: Vec::new(),
            causes: Vec::new(),
            stderr_tail: Vec::new(),
        };
        let Some(upstream) = entry.server.as_ref().and_then(|server| server.upstream()) else {
            return checked;
        };
        let settings = self.settings();
        let until = Instant::now() + settings.deadline;
        let (starts, before) = (upstream.starts(), upstream.state().plan);
        let asked = upstream.ask(query, until, self.route()).await;
        if matches!(asked, Err(Failure::Exited)) {
            upstream.has_ended(starts).await;
        }
        let state = upstream.state();
        checked.state = ServerState::of(entry);
        // A server that exited during the call is being restarted. Report the failure, not the
        // restart.
        if let (Err(failure), None) = (&asked, &checked.state.reason) {
            checked.state.reason = Some(failure.to_string());
        }
        checked.stderr_tail.clone_from(&state.stderr_tail);
        checked.causes.clone_from(&state.causes);
        if let Some(why) = &state.no_plan {
            checked.notes.push(why.to_string());
            checked.is_well = !matches!(why, NoPlan::Configured(_));
        }
        // The previous plan is still reported while the server restarts.
        let before = before.filter(|_| asked.is_err() && state.no_plan.is_none());
        let Some(plan) = state.plan.or(before) else {
            checked.is_well &= checked.state.state == ServerStatus::Unmapped;
            return checked;
        };
        let problems: Vec<_> = plan.problems().iter().map(ToString::to_string).collect();
        checked.is_well &= problems.is_empty();
        checked.notes.extend(problems);
        let asked = asked.unwrap_or_else(|failure| {
            checked.is_well = false;
            checked.notes.push(failure.to_string());
            Answers::default()
        });
        for call in &asked.failed {
            checked.is_well = false;
            checked.notes.push(format!("{}: {}", call.tool, call.failure));
        }
        for call in call_checks(&plan, &asked, query, settings) {
            checked.is_well &=
                !call.answers.is_empty() && !call.answers.iter().any(|answer| answer.is_mismatch);
            checked.calls.push(call);
        }
        checked
    }
}

/// Returns the findings about each tool of a plan.
fn call_checks(plan: &Plan, asked: &Answers, query: &str, settings: &Settings) -> Vec<CallCheck> {
    let samples = plan.sample(query, settings.max_items_per_server);
    let mut checks = Vec::new();
    for (place, call) in plan.describe().into_iter().enumerate() {
        let mut answers = Vec::new();
        for answer in &asked.answers {
            if let Some((tool, sample)) = samples.get(answer.call)
                && *tool == place
            {
                let arguments = sample.arguments.clone().into();
                answers.push(AnswerCheck::of(answer, arguments, settings));
            }
        }
        let sample = samples.iter().find(|(tool, _)| *tool == place);
        let arguments = sample.map_or(Value::Null, |(_, call)| call.arguments.clone().into());
        checks.push(CallCheck {
            why: match call.why {
                Why::Configured => "configured",
                Why::Annotated => "a search tool annotated as read-only",
                Why::Named => "has the name of a search tool",
                Why::Operation => "an operation of an MCP-AQL adapter",
            },
            template: call.arguments,
            arguments,
            answers,
            tool: call.tool,
        });
    }
    checks
}

impl AnswerCheck {
    fn of(answer: &CallAnswer, arguments: Value, settings: &Settings) -> Self {
        let (most_items, most_chars) = (settings.max_items_per_server, settings.max_item_chars);
        let parts = split(&answer.result, &answer.items, most_items, most_chars);
        Self {
            arguments,
            latency: answer.latency,
            bytes: answer.bytes,
            items: parts.items.into_iter().map(|item| item.content).collect(),
            left_out: parts.left_out,
            is_mismatch: parts.is_path_mismatch,
        }
    }
}
