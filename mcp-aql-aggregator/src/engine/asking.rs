//! All servers at once, each for its time.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use tracing::Instrument as _;

use super::{Asked, Inner, Server};
use crate::ask::told_name;
use crate::items::{Item, split_aside};
use crate::upstream::{Answers, Failure, Route};

/// A server keeps to its time itself, and tells its breaker. This much later it is given up all the same.
const GRACE: Duration = Duration::from_millis(250);

/// Told of a server whose answer has nothing where the configuration says.
const ITEMS_AMISS: &str = "`items` leads nowhere in the answer";

/// How asking one server went.
pub(super) struct Outcome {
    /// Its place in the configuration.
    pub(super) server: usize,
    pub(super) latency: Duration,
    pub(super) given: Result<Given, Failure>,
}

/// What a server gave.
#[derive(Default)]
pub(super) struct Given {
    pub(super) items: Vec<Found>,
    pub(super) left_out: usize,
    pub(super) bytes: usize,
    /// Why calls failed beside those that were answered, each reason once.
    pub(super) failed: Vec<String>,
}

/// One item, and where it comes from.
pub(super) struct Found {
    pub(super) call: usize,
    pub(super) position: usize,
    pub(super) tool: Arc<str>,
    pub(super) at: DateTime<Utc>,
    pub(super) item: Item,
}

/// What items are cut by.
#[derive(Clone, Copy)]
struct Bounds {
    items: usize,
    chars: usize,
}

impl Inner {
    /// Asks these servers, and gives what became of each, in their order.
    pub(super) async fn ask(&self, asked: &Asked, deadline: Instant, route: Route) -> Vec<Outcome> {
        let begun = Instant::now();
        let (chosen, words) = (&asked.servers, Arc::<str>::from(asked.words.as_str()));
        let route = Arc::new(route);
        let settings = &self.config.settings;
        let bounds =
            Bounds { items: settings.max_items_per_server, chars: settings.max_item_chars };
        let mut outcomes: Vec<Option<Outcome>> = Vec::new();
        // Whoever drops the query drops the set, and with it every call.
        let mut tasks = JoinSet::new();
        for (index, place) in chosen.iter().enumerate() {
            outcomes.push(None);
            let Some(entry) = self.servers.get(*place) else { continue };
            let Some(server) = entry.server.clone() else { continue };
            let (words, route, place) = (Arc::clone(&words), Arc::clone(&route), *place);
            let span =
                tracing::info_span!("server", name = %entry.name, status = tracing::field::Empty);
            tasks.spawn(
                async move {
                    let given = one(&*server, &words, deadline, &route, bounds).await;
                    let given = given.unwrap_or_else(|| Err(Failure::Timeout(begun.elapsed())));
                    let outcome = Outcome { server: place, latency: begun.elapsed(), given };
                    outcome.note();
                    (index, outcome)
                }
                .instrument(span),
            );
        }
        // A server's own code may fail; the others' answers do not depend on it.
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
    /// For whoever watches: no word of the query, or of the server.
    fn note(&self) {
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

/// One server's answer, cut into items. None: it did not even keep to its time.
async fn one(
    server: &dyn Server,
    words: &str,
    until: Instant,
    route: &Route,
    bounds: Bounds,
) -> Option<Result<Given, Failure>> {
    let asked = async {
        let asked = server.ask(words, until, route).await?;
        Ok(given(asked, bounds).await)
    };
    timeout_at(until + GRACE, asked).await.ok()
}

async fn given(asked: Answers, bounds: Bounds) -> Given {
    let mut given = Given::default();
    for answer in asked.answers {
        given.bytes += answer.bytes;
        let room = bounds.items.saturating_sub(given.items.len());
        let parts =
            split_aside(answer.result, answer.bytes, answer.items, room, bounds.chars).await;
        given.left_out += parts.left_out;
        if parts.is_path_amiss && !given.failed.iter().any(|it| it == ITEMS_AMISS) {
            given.failed.push(ITEMS_AMISS.to_owned());
        }
        let tool = Arc::<str>::from(told_name(&answer.tool));
        given.items.extend(parts.items.into_iter().enumerate().map(|(position, item)| Found {
            call: answer.call,
            position,
            tool: Arc::clone(&tool),
            at: answer.at,
            item,
        }));
    }
    // In whatever order calls came back.
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
    use crate::items::Places;
    use crate::upstream::CallAnswer;

    fn answers(items: Option<&str>, texts: Vec<String>) -> Answers {
        let answer = CallAnswer {
            call: 0,
            tool: "search".to_owned(),
            items: Places { path: items.map(str::to_owned), between: None },
            result: CallToolResult::structured(json!({ "hits": texts })),
            bytes: 10,
            latency: Duration::ZERO,
            at: DateTime::UNIX_EPOCH,
        };
        Answers { answers: vec![answer.clone(), answer], failed: Vec::new() }
    }

    #[tokio::test]
    async fn items_that_are_not_where_they_should_be_are_told() {
        let bounds = Bounds { items: 10, chars: 100 };
        for (items, told) in
            [(None, vec![]), (Some("hits"), vec![]), (Some("results"), vec![ITEMS_AMISS])]
        {
            let given = given(answers(items, vec!["a".to_owned()]), bounds).await;
            assert_eq!(given.failed, told, "{items:?}");
        }
    }

    #[tokio::test]
    async fn long_answers_are_cut_as_short_ones_are() {
        let texts: Vec<_> =
            (0..20).map(|number| format!("{number} {}", "word ".repeat(5000))).collect();
        let given = given(answers(None, texts), Bounds { items: 30, chars: 100 }).await;
        assert_eq!((given.items.len(), given.left_out), (30, 10));
        assert!(given.items.iter().all(|found| found.item.truncated));
    }
}
