//! Removing in the end what the run has made, and telling what is left.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use serde_json::{Map, Value};

use super::Role;
use super::made::Made;
use super::things::{confirmed, token_of};
use crate::call::Exchange;
use crate::cases::brief;
use crate::learn::Operation;
use crate::run::{Run, arguments};
use crate::wire::Connection;

/// So many things are removed at once.
const AT_ONCE: usize = 8;
/// So many are removed in one session, lest it ask for more confirmations than one may.
const IN_ONE_SESSION: usize = 100;
/// So long things may be removed where the time of the run is over.
const TO_CLEAR_UP: Duration = Duration::from_secs(20);

impl Run {
    /// Removes what the run has made, as far as that is allowed. Tells what is left, and why.
    pub(crate) async fn clear_up(&self) -> Vec<String> {
        self.prolong(TO_CLEAR_UP);
        let mut made = self.resources().left();
        // What was made last may hold on to what was made first.
        made.reverse();
        let mut left: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
        for part in made.chunks(IN_ONE_SESSION) {
            // A list, and no iterator with closures: so the compiler sees that a run may move between threads.
            let going: Vec<_> = part
                .iter()
                .map(|made| async move { (made, self.clear(made, None).await) })
                .collect();
            let gone: Vec<_> = stream::iter(going).buffer_unordered(AT_ONCE).collect().await;
            let (held, rest): (Vec<_>, Vec<_>) = gone.into_iter().partition(
                |(_, gone)| matches!(gone, Err(told) if told.starts_with("RATE_LIMIT_")),
            );
            let again = self.clear_elsewhere(held).await;
            for (made, gone) in rest.into_iter().chain(again) {
                let Err(mut why) = gone else { continue };
                brief(&mut why, self.secrets());
                let id =
                    made.id.as_ref().map_or_else(|| "of unknown identifier".to_owned(), name_of);
                left.entry((made.resource.clone(), why)).or_default().push(id);
            }
        }
        let others = self.resources().made_otherwise().into_iter().map(|(operation, calls)| {
            format!("what `{operation}` has created in {calls} calls, unless it is gone with something else")
        });
        let unanswered = self.resources().unanswered().into_iter().map(|(operation, calls)| {
            format!("what `{operation}` may have created in {calls} calls that it did not answer")
        });
        left.into_iter()
            .map(|((resource, why), ids)| format!("{resource} {}: {why}", shortened(&ids)))
            .chain(others)
            .chain(unanswered)
            .collect()
    }

    /// Has things removed in another session.
    async fn clear_elsewhere<'m>(
        &self,
        held: Vec<(&'m Made, Result<(), String>)>,
    ) -> Vec<(&'m Made, Result<(), String>)> {
        if held.is_empty() {
            return held;
        }
        let Ok(connection) = self.open().await else { return held };
        let mut again = Vec::new();
        for (made, _) in held {
            again.push((made, self.clear(made, Some(&connection)).await));
        }
        connection.close().await;
        again
    }

    /// Calls what is known to be allowed, here or in another session.
    async fn send_to(
        &self,
        elsewhere: Option<&Connection>,
        operation: &Operation,
        params: Map<String, Value>,
    ) -> Exchange {
        let arguments = arguments(&operation.name, params);
        match elsewhere {
            Some(connection) => self.send_on(connection, &operation.tool, arguments).await,
            None => self.send(&operation.tool, arguments, None).await,
        }
    }

    /// Removes one thing, or says why it is left.
    async fn clear(&self, made: &Made, elsewhere: Option<&Connection>) -> Result<(), String> {
        let kind = self.resources().named(&made.resource);
        let Some((kind, operation)) =
            kind.and_then(|kind| Some((kind, kind.operation(self, Role::Delete)?)))
        else {
            return Err("there is no DELETE operation for one".to_owned());
        };
        let Some(id) = &made.id else {
            return Err("nothing tells which one it is".to_owned());
        };
        if !self.resources().is_new(made) {
            return Err(format!(
                "nothing shows that `{}` has made it, and not found it there",
                kind.create
            ));
        }
        if let Some(why) = self.forbids(operation) {
            return Err(why.reason());
        }
        // What else it asks for could make it another thing.
        let named = self.settings.file.params.get(&operation.name);
        let is_told =
            |name: &str| name == kind.id || named.is_some_and(|named| named.contains_key(name));
        if let Some(more) = operation.required().find(|parameter| !is_told(&parameter.name)) {
            return Err(format!(
                "`{}` asks for `{}` too: give one under [params.{0}]",
                operation.name, more.name
            ));
        }
        let params = self.on(operation, kind, id).map_err(|why| why.reason())?;
        if let Some(why) = self.spares(operation, &arguments(&operation.name, params.clone())) {
            return Err(why.reason());
        }
        let mut exchange = self.send_to(elsewhere, operation, params.clone()).await;
        if let Some(token) = token_of(&exchange) {
            let params = confirmed(operation, params, token);
            exchange = self.send_to(elsewhere, operation, params).await;
        }
        match exchange.code() {
            None if exchange.succeeded() => Ok(()),
            Some(code) if code.starts_with("NOT_FOUND_") => Ok(()),
            _ => Err(exchange.told()),
        }
    }
}

fn name_of(id: &Value) -> String {
    id.as_str().map_or_else(|| id.to_string(), str::to_owned)
}

/// Some names, and how many there are beside them.
fn shortened(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(SHOWN) {
        Some(more @ 1..) => format!("{shown} and {more} more"),
        _ => shown,
    }
}
