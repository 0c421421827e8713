//! Each server by itself: what it is asked, and what is made of its answer.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::Value;
use tokio::time::Instant;

use super::{Aggregator, Entry, ServerState, ServerStatus};
use crate::ask::{NoPlan, Why};
use crate::items::{Split, is_failure, split};
use crate::upstream::CallAnswer;

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
    /// What it was asked.
    pub arguments: Value,
    /// What it answered, call by call, where a template makes several.
    pub answers: Vec<CheckedAnswer>,
}

/// What was found of one answer.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CheckedAnswer {
    /// How long it took.
    pub latency: Duration,
    /// How long it is, as it came.
    pub bytes: usize,
    /// What it was cut into.
    pub items: Vec<String>,
    /// What was left out of it: no text, or too much.
    pub left_out: usize,
    /// It says that the call failed.
    pub is_failure: bool,
}

impl Aggregator {
    /// Asks each server by itself, once it has started, and tells what it was asked and what was made of
    /// its answer: for whoever writes the configuration.
    pub async fn check(&self, query: &str) -> Vec<Checked> {
        self.settled().await;
        join_all(self.inner.servers.iter().map(|entry| self.check_one(entry, query))).await
    }

    async fn check_one(&self, entry: &Entry, query: &str) -> Checked {
        let mut checked = Checked {
            state: ServerState::of(entry),
            is_well: true,
            notes: Vec::new(),
            calls: Vec::new(),
            last_words: Vec::new(),
        };
        let Some(upstream) = entry.server.as_ref().and_then(|server| server.upstream()) else {
            return checked;
        };
        let settings = self.settings();
        let until = Instant::now() + settings.deadline;
        let asked = upstream.ask(query, until, self.route()).await;
        let state = upstream.state();
        checked.state = ServerState::of(entry);
        checked.last_words.clone_from(&state.last_words);
        if let Some(why) = &state.no_plan {
            checked.notes.push(why.to_string());
            checked.is_well = !matches!(why, NoPlan::Configured(_));
        }
        let Some(plan) = &state.plan else {
            checked.is_well &= checked.state.state == ServerStatus::Unmapped;
            return checked;
        };
        let problems: Vec<_> = plan.problems().iter().map(ToString::to_string).collect();
        checked.is_well &= problems.is_empty();
        checked.notes.extend(problems);
        let mut answers = match asked {
            Ok(answers) => by_tool(answers, settings.max_items_per_server, settings.max_item_chars),
            Err(failure) => {
                checked.is_well = false;
                checked.notes.push(failure.to_string());
                BTreeMap::new()
            }
        };
        let samples = plan.sample(query, settings.max_items_per_server);
        for told in plan.told() {
            let sample = samples.iter().find(|sample| sample.tool == told.tool);
            let given = answers.remove(&told.tool).unwrap_or_default();
            checked.is_well &= given.iter().any(|answer| !answer.is_failure);
            checked.calls.push(CheckedCall {
                why: match told.why {
                    Why::Configured => "configured",
                    Why::Annotated => "searches, and says that it only reads",
                    Why::Named => "is called like a search",
                    Why::Operation => "an operation of an MCP-AQL adapter",
                },
                template: told.arguments,
                arguments: sample.map_or(Value::Null, |sample| sample.arguments.clone().into()),
                answers: given,
                tool: told.tool,
            });
        }
        checked
    }
}

fn by_tool(
    answers: Vec<CallAnswer>,
    most_items: usize,
    most_chars: usize,
) -> BTreeMap<String, Vec<CheckedAnswer>> {
    let mut tools = BTreeMap::<_, Vec<_>>::new();
    for answer in answers {
        let is_failure = is_failure(&answer.result);
        let parts = if is_failure {
            Split::default()
        } else {
            split(&answer.result, answer.items.as_deref(), most_items, most_chars)
        };
        tools.entry(answer.tool).or_default().push(CheckedAnswer {
            latency: answer.latency,
            bytes: answer.bytes,
            items: parts.items.into_iter().map(|item| item.content).collect(),
            left_out: parts.left_out,
            is_failure,
        });
    }
    tools
}
