//! Removes the items that the run created.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use serde_json::{Map, Value};

use super::{confirmed, token_of};
use crate::adapter::Operation;
use crate::budget::MAX_CALL_WAIT;
use crate::call::Exchange;
use crate::cases::shorten_message;
use crate::resources::{LedgerEntry, Role};
use crate::run::{Run, arguments};
use crate::wire::Connection;

/// Maximum number of removals per session. Adapters limit the confirmations of a session.
const REMOVALS_PER_SESSION: usize = 100;
/// Minimum time reserved for removals after the time limit of the run.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(20);

/// Interval between attempts to remove an item from an adapter with a rate limit.
const REMOVAL_INTERVAL: Duration = Duration::from_secs(1);

/// Names of the remaining items, by resource and reason.
type RemainingItems = BTreeMap<(String, String), Vec<String>>;

impl Run {
    /// Removes the items of the run if allowed. Returns descriptions of the remaining ones with the reasons.
    pub(crate) async fn clear_up(&self) -> Vec<String> {
        self.prolong(REMOVAL_TIMEOUT.max(self.removal_time() * 2));
        let mut made = self.resources().left();
        // Later items may depend on earlier ones, so remove them first.
        made.reverse();
        let mut left = RemainingItems::new();
        for part in made.chunks(REMOVALS_PER_SESSION) {
            // Collect the futures: an iterator with closures would make this future not `Send`.
            let going: Vec<_> = part
                .iter()
                .map(|made| async move { (made, self.clear(made, None).await) })
                .collect();
            let gone: Vec<_> = stream::iter(going).buffer_unordered(self.at_once()).collect().await;
            let (held, rest): (Vec<_>, Vec<_>) =
                gone.into_iter().partition(|(_, gone)| is_limited(gone));
            let again = self.clear_elsewhere(held).await;
            for (made, gone) in rest.into_iter().chain(again) {
                let Err(mut why) = gone else { continue };
                shorten_message(&mut why, self.secrets());
                left.entry((made.resource.clone(), why)).or_default().push(made.name());
            }
        }
        self.left_with(left)
    }

    /// Describes the items that remain because no time was left to remove them.
    pub(crate) fn left_in_haste(&self) -> Vec<String> {
        let mut left = RemainingItems::new();
        for made in self.resources().left() {
            let why = "there was no time to remove it".to_owned();
            left.entry((made.resource.clone(), why)).or_default().push(made.name());
        }
        self.left_with(left)
    }

    /// Describes the remaining items, and items possibly left in addition.
    fn left_with(&self, left: RemainingItems) -> Vec<String> {
        let others = self.resources().made_otherwise().into_iter().map(|(operation, calls)| {
            format!("items that `{operation}` created in {calls} calls, unless they were removed with others")
        });
        let unanswered = self.resources().unanswered().into_iter().map(|(operation, calls)| {
            format!("items that `{operation}` may have created in {calls} calls without a reply")
        });
        left.into_iter()
            .map(|((resource, why), ids)| format!("{resource} {}: {why}", shortened(&ids)))
            .chain(others)
            .chain(unanswered)
            .collect()
    }

    /// Removes the held-back items in another session, because some limits apply per session.
    ///
    /// While the adapter limits the rate of calls, waits and retries until waiting stops helping.
    async fn clear_elsewhere<'m>(
        &self,
        held: Vec<(&'m LedgerEntry, Result<(), String>)>,
    ) -> Vec<(&'m LedgerEntry, Result<(), String>)> {
        if held.is_empty() {
            return held;
        }
        let Ok(connection) = self.open().await else { return held };
        let mut again = Vec::new();
        let mut waited = Duration::ZERO;
        for (made, _) in held {
            let mut gone = self.clear(made, Some(&connection)).await;
            while is_limited(&gone) && waited < MAX_CALL_WAIT && !self.is_over() {
                tokio::time::sleep(REMOVAL_INTERVAL).await;
                waited += REMOVAL_INTERVAL;
                gone = self.clear(made, Some(&connection)).await;
            }
            if gone.is_ok() {
                waited = Duration::ZERO;
            }
            again.push((made, gone));
        }
        connection.close().await;
        again
    }

    /// Sends a permitted call, in the given session or else in the session of the run.
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

    /// Removes an item, or returns the reason why it remains.
    async fn clear(
        &self,
        made: &LedgerEntry,
        elsewhere: Option<&Connection>,
    ) -> Result<(), String> {
        let kind = self.resources().named(&made.resource);
        let Some((kind, operation)) =
            kind.and_then(|kind| Some((kind, kind.operation(&self.adapter, Role::Delete)?)))
        else {
            return Err("no DELETE operation for it is known".to_owned());
        };
        let Some(id) = &made.id else {
            return Err("its identifier is unknown".to_owned());
        };
        if !self.resources().is_new(made) {
            return Err(format!("it may have existed before the call of `{}`", kind.create));
        }
        if let Some(why) = self.forbids(operation) {
            return Err(why.reason());
        }
        // Do not guess a further required parameter: its value might select another item.
        let named = self.settings.file.params.get(&operation.name);
        let is_reported =
            |name: &str| name == kind.id || named.is_some_and(|named| named.contains_key(name));
        if let Some(more) = operation.required().find(|parameter| !is_reported(&parameter.name)) {
            return Err(format!(
                "`{}` also requires `{}`: add one under [params.{0}]",
                operation.name, more.name
            ));
        }
        let params = self.on(operation, kind, id).map_err(|why| why.reason())?;
        if let Some(why) =
            self.ownership_skip_reason(operation, &arguments(&operation.name, params.clone()))
        {
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
            _ => Err(exchange.summary()),
        }
    }
}

/// Returns `true` if a rate limit prevented a removal.
fn is_limited(gone: &Result<(), String>) -> bool {
    matches!(gone, Err(why) if why.starts_with("RATE_LIMIT_"))
}

impl LedgerEntry {
    /// Returns the identifier of the item for messages.
    fn name(&self) -> String {
        match &self.id {
            None => "of unknown identifier".to_owned(),
            Some(Value::String(id)) => id.clone(),
            Some(id) => id.to_string(),
        }
    }
}

/// Joins the first names and adds the number of the others: `a, b, c, d, e and 7 more`.
fn shortened(names: &[String]) -> String {
    const MAX_NAMES: usize = 5;
    let shown = names.iter().take(MAX_NAMES).cloned().collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(MAX_NAMES) {
        Some(more @ 1..) => format!("{shown} and {more} more"),
        _ => shown,
    }
}
