//! All servers at once, each for its time.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use tracing::Instrument as _;

use super::{Inner, Server};
use crate::items::{Item, is_failure, split};
use crate::upstream::{CallAnswer, Failure, Route};

/// A server keeps to its time itself, and tells its breaker. This much later it is given up all the same.
const GRACE: Duration = Duration::from_millis(250);

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
    pub(super) async fn ask(
        &self,
        chosen: &[usize],
        query: &str,
        deadline: Instant,
        route: Route,
    ) -> Vec<Outcome> {
        let begun = Instant::now();
        let words: Arc<str> = crate::text::clean(query).into();
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
    match timeout_at(until + GRACE, server.ask(words, until, route)).await {
        Ok(Ok(answers)) => Some(given(answers, bounds)),
        Ok(Err(failure)) => Some(Err(failure)),
        Err(_) => None,
    }
}

fn given(answers: Vec<CallAnswer>, bounds: Bounds) -> Result<Given, Failure> {
    let mut given = Given::default();
    let mut succeeded = answers.is_empty();
    for answer in answers {
        given.bytes += answer.bytes;
        if is_failure(&answer.result) {
            continue;
        }
        succeeded = true;
        let room = bounds.items.saturating_sub(given.items.len());
        let parts = split(&answer.result, answer.items.as_deref(), room, bounds.chars);
        given.left_out += parts.left_out;
        let (at, tool) = (Utc::now(), Arc::<str>::from(answer.tool));
        given.items.extend(parts.items.into_iter().enumerate().map(|(position, item)| Found {
            call: answer.call,
            position,
            tool: Arc::clone(&tool),
            at,
            item,
        }));
    }
    // In whatever order calls came back.
    given.items.sort_by_key(|found| (found.call, found.position));
    if succeeded { Ok(given) } else { Err(Failure::Tool) }
}
