//! Chooses the servers of a query, and queries them concurrently, each within its time limit.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use tracing::Instrument as _;

use super::{Entry, Inner, Query, QueryError, QueryServer, ValidQuery};
use crate::ask::display_name;
use crate::items::{Item, split_in_background};
use crate::names::{join_names, quoted_input};
use crate::upstream::{Answers, Failure, Route};

/// Extra time after which a server is abandoned. A server normally enforces its own deadline and
/// reports the timeout to its circuit breaker, so it gets the chance to do so first.
const ABANDON_GRACE_PERIOD: Duration = Duration::from_millis(250);

/// Reported for a server whose answer does not contain the configured `items`.
const ITEMS_MISMATCH: &str = "`items` does not match the answer";

/// The outcome of querying one server.
pub(super) struct Outcome {
    /// Index of the server in the configuration.
    pub(super) server: usize,
    pub(super) latency: Duration,
    pub(super) given: Result<ServerItems, Failure>,
}

/// The items of a server's answers.
#[derive(Default)]
pub(super) struct ServerItems {
    pub(super) items: Vec<FoundItem>,
    pub(super) left_out: usize,
    pub(super) bytes: usize,
    /// The reasons why some calls failed while others were answered, without repetitions.
    pub(super) failed: Vec<String>,
}

/// An item and its origin.
pub(super) struct FoundItem {
    pub(super) call: usize,
    pub(super) position: usize,
    pub(super) tool: Arc<str>,
    pub(super) at: DateTime<Utc>,
    pub(super) item: Item,
}

/// The limits for splitting answers into items.
#[derive(Clone, Copy)]
struct ItemLimits {
    items: usize,
    chars: usize,
}

impl Inner {
    /// Returns the servers named in the query. If it names none, returns those of all matching
    /// rules, or all servers if no rule matches. Disabled servers are never chosen.
    pub(super) fn choose(&self, query: &Query, words: &str) -> Result<Vec<usize>, QueryError> {
        if !query.servers.is_empty() {
            let mut chosen =
                query.servers.iter().map(|name| self.find(name)).collect::<Result<Vec<_>, _>>()?;
            chosen.sort_unstable();
            return Ok(chosen);
        }
        Ok(self.config.chosen(words))
    }

    fn find(&self, name: &str) -> Result<usize, QueryError> {
        let found = self.servers.iter().enumerate().find(|(_, entry)| entry.name == name);
        if let Some((place, Entry { server: Some(_), .. })) = found {
            return Ok(place);
        }
        let wrong = if found.is_some() { "is disabled" } else { "is not configured" };
        let on = self.servers.iter().filter(|entry| entry.server.is_some());
        let names: Vec<_> = on.map(|entry| entry.name.as_str()).collect();
        let reason =
            format!("'{}' {wrong}; the servers are: {}", quoted_input(name), join_names(&names));
        Err(QueryError::UnknownServer { name: quoted_input(name), reason })
    }

    /// Queries the servers and returns the outcome of each, in their order.
    pub(super) async fn ask(
        &self,
        asked: &ValidQuery,
        deadline: Instant,
        route: Route,
    ) -> Vec<Outcome> {
        let begun = Instant::now();
        let (chosen, words) = (&asked.servers, Arc::<str>::from(asked.words.as_str()));
        let route = Arc::new(route);
        let settings = &self.config.settings;
        let bounds =
            ItemLimits { items: settings.max_items_per_server, chars: settings.max_item_chars };
        let mut outcomes: Vec<Option<Outcome>> = Vec::new();
        // Dropping the query drops the set, and this cancels every call.
        let mut tasks = JoinSet::new();
        for (index, place) in chosen.iter().enumerate() {
            outcomes.push(None);
            let Some(entry) = self.servers.get(*place) else { continue };
            let Some(server) = entry.server.clone() else { continue };
            let (words, route, place) = (Arc::clone(&words), Arc::clone(&route), *place);
            let span =
                tracing::info_span!("server", server = %entry.name, status = tracing::field::Empty);
            tasks.spawn(
                async move {
                    let given = query_server(&*server, &words, deadline, &route, bounds).await;
                    let given = given.unwrap_or_else(|| Err(Failure::Timeout(begun.elapsed())));
                    let outcome = Outcome { server: place, latency: begun.elapsed(), given };
                    outcome.log();
                    (index, outcome)
                }
                .instrument(span),
            );
        }
        // A panic in one task does not affect the other servers.
        while let Some(done) = tasks.join_next().await {
            if let Ok((index, outcome)) = done
                && let Some(place) = outcomes.get_mut(index)
            {
                *place = Some(outcome);
            }
        }
        let given = outcomes.into_iter().zip(chosen);
        given
            .map(|(outcome, place)| {
                outcome.unwrap_or_else(|| Outcome {
                    server: *place,
                    latency: begun.elapsed(),
                    given: Err(Failure::Protocol),
                })
            })
            .collect()
    }
}

impl Outcome {
    /// Logs the outcome without content of the query or the server.
    fn log(&self) {
        let latency_ms = self.latency.as_millis();
        match &self.given {
            Ok(given) => {
                tracing::Span::current().record("status", "ok");
                tracing::debug!(latency_ms, results = given.items.len(), "answered");
            }
            Err(failure) => {
                tracing::Span::current().record("status", tracing::field::display(failure));
                tracing::debug!(latency_ms, %failure, "did not answer");
            }
        }
    }
}

/// Returns one server's answer, split into items, or `None` if the server exceeded even the grace
/// period.
async fn query_server(
    server: &dyn QueryServer,
    words: &str,
    until: Instant,
    route: &Route,
    bounds: ItemLimits,
) -> Option<Result<ServerItems, Failure>> {
    let asked = async {
        let asked = server.ask(words, until, route).await?;
        Ok(split_answers(asked, bounds).await)
    };
    timeout_at(until + ABANDON_GRACE_PERIOD, asked).await.ok()
}

async fn split_answers(asked: Answers, bounds: ItemLimits) -> ServerItems {
    let mut given = ServerItems::default();
    for answer in asked.answers {
        given.bytes += answer.bytes;
        let room = bounds.items.saturating_sub(given.items.len());
        let parts =
            split_in_background(answer.result, answer.bytes, answer.items, room, bounds.chars)
                .await;
        given.left_out += parts.left_out;
        if parts.is_path_mismatch && !given.failed.iter().any(|it| it == ITEMS_MISMATCH) {
            given.failed.push(ITEMS_MISMATCH.to_owned());
        }
        let tool = Arc::<str>::from(display_name(&answer.tool));
        given.items.extend(parts.items.into_iter().enumerate().map(|(position, item)| FoundItem {
            call: answer.call,
            position,
            tool: Arc::clone(&tool),
            at: answer.at,
            item,
        }));
    }
    // Calls may be answered in any order.
    given.items.sort_by_key(|found| (found.call, found.position));
    for call in asked.failed {
        let why = call.failure.to_string();
        if !given.failed.contains(&why) {
            given.failed.push(why);
        }
    }
    given.failed.sort_unstable();
    given
}

#[cfg(test)]
mod tests {
    use rmcp::model::CallToolResult;
    use serde_json::json;

    use super::*;
    use crate::items::ItemLocation;
    use crate::upstream::CallAnswer;

    fn answers(items: Option<&str>, texts: Vec<String>) -> Answers {
        let answer = CallAnswer {
            call: 0,
            tool: "search".to_owned(),
            items: ItemLocation { path: items.map(str::to_owned), between: None },
            result: CallToolResult::structured(json!({ "hits": texts })),
            bytes: 10,
            latency: Duration::ZERO,
            at: DateTime::UNIX_EPOCH,
        };
        Answers { answers: vec![answer.clone(), answer], failed: Vec::new() }
    }

    #[tokio::test]
    async fn missing_items_are_reported() {
        let bounds = ItemLimits { items: 10, chars: 100 };
        for (items, told) in
            [(None, vec![]), (Some("hits"), vec![]), (Some("results"), vec![ITEMS_MISMATCH])]
        {
            let given = split_answers(answers(items, vec!["a".to_owned()]), bounds).await;
            assert_eq!(given.failed, told, "{items:?}");
        }
    }

    #[tokio::test]
    async fn long_answers_are_cut_as_short_ones_are() {
        let texts: Vec<_> =
            (0..20).map(|number| format!("{number} {}", "word ".repeat(5000))).collect();
        let given = split_answers(answers(None, texts), ItemLimits { items: 30, chars: 100 }).await;
        assert_eq!((given.items.len(), given.left_out), (30, 10));
        assert!(given.items.iter().all(|found| found.item.truncated));
    }
}
