//! Each server by itself: what it is asked, and what is made of its answer.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::Value;
use tokio::time::Instant;

use super::{Aggregator, Entry, QueryError, ServerState, ServerStatus};
use crate::ask::{NoPlan, Why};
use crate::config::Settings;
use crate::items::split;
use crate::plain::input::check_query;
use crate::text::clean;
use crate::upstream::{Answers, CallAnswer, Failure};

/// What was found of one server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Checked {
    /// How it does.
    pub state: ServerState,
    /// Whether it does as it was told to: it answers, or is there for other things than queries.
    pub is_well: bool,
    /// What is wrong, or what is only to be known, a sentence each.
    pub notes: Vec<String>,
    /// The tools that are asked.
    pub calls: Vec<CheckedCall>,
    /// Why it, or a call, failed, in the system's words or in its own, without the secrets that it was given.
    pub causes: Vec<String>,
    /// The last lines of its standard error, without the secrets that it was given.
    pub last_words: Vec<String>,
}

/// What was found of one tool of a server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CheckedCall {
    /// The tool's name.
    pub tool: String,
    /// Why it is asked.
    pub why: &'static str,
    /// What it is asked, as a configuration would say it.
    pub template: Value,
    /// What it was asked first.
    pub arguments: Value,
    /// What it answered, call by call: a template may make several, and where all of them found nothing, the
    /// words of the query are asked for one by one.
    pub answers: Vec<CheckedAnswer>,
}

/// What was found of one answer.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CheckedAnswer {
    /// What it was asked, with variables of the environment as the configuration has them.
    pub arguments: Value,
    /// How long it took.
    pub latency: Duration,
    /// How long it is, as it came.
    pub bytes: usize,
    /// What it was cut into.
    pub items: Vec<String>,
    /// What was left out of it: no text, errors among results, or too much.
    pub left_out: usize,
    /// Nothing in it is where `items` of the configuration says.
    pub is_amiss: bool,
}

impl Aggregator {
    /// Asks each server by itself, once it has started, and tells what it was asked and what was made of
    /// its answer: for whoever writes the configuration.
    ///
    /// # Errors
    /// [`QueryError::Invalid`], at once: what [`query`](Self::query) would refuse is no server's fault.
    pub async fn check(&self, query: &str) -> Result<Vec<Checked>, QueryError> {
        check_query(query)?;
        self.settled().await;
        let query = clean(query);
        let checks = self.inner.servers.iter().map(|entry| self.check_one(entry, &query));
        Ok(join_all(checks).await)
    }

    async fn check_one(&self, entry: &Entry, query: &str) -> Checked {
        let mut checked = Checked {
            state: ServerState::of(entry),
            is_well: true,
            notes: Vec::new(),
            calls: Vec::new(),
            causes: Vec::new(),
            last_words: Vec::new(),
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
        // One that ended when it was asked is being started again, which is not why.
        if let (Err(failure), None) = (&asked, &checked.state.reason) {
            checked.state.reason = Some(failure.to_string());
        }
        checked.last_words.clone_from(&state.last_words);
        checked.causes.clone_from(&state.causes);
        if let Some(why) = &state.no_plan {
            checked.notes.push(why.to_string());
            checked.is_well = !matches!(why, NoPlan::Configured(_));
        }
        // While it is being started again, what it was asked is still worth telling.
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
        let samples = plan.sample(query, settings.max_items_per_server);
        let told = plan.told();
        for (place, told) in told.into_iter().enumerate() {
            let mut given = Vec::new();
            for answer in &asked.answers {
                if let Some((tool, sample)) = samples.get(answer.call)
                    && *tool == place
                {
                    let arguments = sample.arguments.clone().into();
                    given.push(CheckedAnswer::of(answer, arguments, settings));
                }
            }
            checked.is_well &= !given.is_empty() && !given.iter().any(|answer| answer.is_amiss);
            let sample = samples.iter().find(|(tool, _)| *tool == place);
            let arguments = sample.map_or(Value::Null, |(_, call)| call.arguments.clone().into());
            checked.calls.push(CheckedCall {
                why: match told.why {
                    Why::Configured => "configured",
                    Why::Annotated => "searches, and says that it only reads",
                    Why::Named => "is called like a search",
                    Why::Operation => "an operation of an MCP-AQL adapter",
                },
                template: told.arguments,
                arguments,
                answers: given,
                tool: told.tool,
            });
        }
        checked
    }
}

impl CheckedAnswer {
    fn of(answer: &CallAnswer, arguments: Value, settings: &Settings) -> Self {
        let (most_items, most_chars) = (settings.max_items_per_server, settings.max_item_chars);
        let parts = split(&answer.result, &answer.items, most_items, most_chars);
        Self {
            arguments,
            latency: answer.latency,
            bytes: answer.bytes,
            items: parts.items.into_iter().map(|item| item.content).collect(),
            left_out: parts.left_out,
            is_amiss: parts.is_path_amiss,
        }
    }
}
