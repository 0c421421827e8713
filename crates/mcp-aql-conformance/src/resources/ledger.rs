//! Keeps a ledger of items: the ones that the run created, and the ones that existed before.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard};

use serde_json::{Map, Value};

use super::{EXECUTION, Proof, Resource, Resources};
use crate::call::{Exchange, batch_items, calls_in};
use crate::sync::lock;

/// Maximum memory for identifiers in results, in bytes.
const MAX_KNOWN_BYTES: usize = 8 << 20;

/// An item that the run created.
#[derive(Debug, Clone)]
pub(crate) struct LedgerEntry {
    pub(crate) resource: String,
    pub(crate) id: Option<Value>,
    /// Names of the parameters of its CREATE call.
    with: BTreeSet<String>,
    /// Clock value of the call that created the item.
    born: u64,
    /// Clock value of the last CREATE call that returned the item.
    reported: u64,
    /// If `true`, a check uses the item exclusively.
    kept: bool,
    /// If `true`, the item was removed.
    gone: bool,
}

/// A call that waits for its reply. If you drop it before the reply arrives, the call may have created items.
pub(crate) struct ExpectedReply<'r> {
    unanswered: &'r Mutex<BTreeMap<String, usize>>,
    /// The CREATE operations of the call, one entry for each item.
    creating: Vec<String>,
}

impl ExpectedReply<'_> {
    /// Marks the reply as arrived.
    pub(crate) fn arrived(mut self) {
        self.creating.clear();
    }
}

impl Drop for ExpectedReply<'_> {
    fn drop(&mut self) {
        let mut unanswered = lock(self.unanswered);
        for operation in self.creating.drain(..) {
            *unanswered.entry(operation).or_default() += 1;
        }
    }
}

impl Resources {
    /// Expects the reply to a call. Without a reply, the call may nevertheless have created items.
    pub(crate) fn expect_reply(&self, arguments: &Value) -> ExpectedReply<'_> {
        let others = lock(&self.others);
        let creates = |operation: &str| {
            others.contains_key(operation) || self.kinds.iter().any(|kind| kind.create == operation)
        };
        let creating = calls_in(arguments)
            .iter()
            .filter(|arguments| !is_dry(arguments))
            .filter_map(|arguments| arguments.get("operation")?.as_str())
            .filter(|operation| creates(operation))
            .map(str::to_owned)
            .collect();
        ExpectedReply { unanswered: &self.unanswered, creating }
    }

    /// Returns the CREATE operations that did not reply, with the number of calls.
    pub(crate) fn unanswered(&self) -> BTreeMap<String, usize> {
        lock(&self.unanswered).clone()
    }

    /// Advances the clock by one call and returns its value before.
    pub(crate) fn now(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::Relaxed)
    }

    /// Records the items created or removed by a call. `sent` is the clock value when the call was sent.
    pub(crate) fn note(&self, exchange: &Exchange, sent: u64) {
        let Some(body) = exchange.body() else { return };
        let Some(asked) = batch_items(&exchange.arguments) else {
            return self.note_one(&exchange.arguments, body, sent);
        };
        for item in body.get("results").and_then(Value::as_array).into_iter().flatten() {
            let index = item.get("index").and_then(Value::as_u64);
            let arguments = index.and_then(|index| asked.get(usize::try_from(index).ok()?));
            if let Some((arguments, body)) = arguments.zip(item.get("result")) {
                self.note_one(arguments, body, sent);
            }
        }
    }

    fn note_one(&self, arguments: &Value, body: &Value, sent: u64) {
        if body.get("success") != Some(&Value::Bool(true)) {
            return;
        }
        let Some(operation) = arguments.get("operation").and_then(Value::as_str) else { return };
        let data = body.get("data").unwrap_or(&Value::Null);
        let says_dry = body.pointer("/_meta/dry_run") == Some(&Value::Bool(true));
        if !is_dry(arguments) && !says_dry {
            self.note_effect(operation, arguments, data, sent);
        }
        self.meet(operation, data);
    }

    /// Records the effect of a successful call.
    fn note_effect(&self, operation: &str, arguments: &Value, data: &Value, sent: u64) {
        *lock(&self.effects).entry(operation.to_owned()).or_default() += 1;
        let mut others = lock(&self.others);
        if let Some(count) = others.get_mut(operation) {
            *count += 1;
        }
        drop(others);
        if self.starts.contains(operation)
            && let Some(id) = data.get(EXECUTION)
            && !self.was_met(EXECUTION, id, sent)
        {
            lock(&self.started)
                .entry(started_with(operation, arguments))
                .or_default()
                .insert(id.to_string());
        }
        for kind in &self.kinds {
            if kind.create == operation {
                let id = kind.object(data).and_then(|object| kind.identity(object));
                let mut all = self.lock();
                match all.iter_mut().find(|made| made.is(&kind.name, id.as_ref())) {
                    // Adapters may reuse identifiers of removed items.
                    Some(made) if made.gone => {
                        let now = self.now();
                        (made.gone, made.kept, made.born, made.reported) = (false, false, now, now);
                    }
                    Some(made) => made.reported = self.now(),
                    // The item existed before, so the CREATE operation returned an existing item.
                    None if id.as_ref().is_some_and(|id| self.was_met(&kind.name, id, sent)) => {}
                    None => {
                        let now = self.now();
                        all.push(LedgerEntry {
                            resource: kind.name.clone(),
                            id,
                            with: names_of(arguments),
                            born: now,
                            reported: now,
                            kept: false,
                            gone: false,
                        });
                    }
                }
            } else if kind.delete.as_deref() == Some(operation) {
                let id = parameter(arguments, &kind.id);
                let mut all = self.lock();
                all.iter_mut()
                    // An item created after this call was sent has reused the identifier, so it still exists.
                    .filter(|made| made.is(&kind.name, id) && made.reported < sent)
                    .for_each(|made| made.gone = true);
            }
        }
    }

    /// Records the identifiers in a result.
    fn meet(&self, operation: &str, data: &Value) {
        let now = self.now();
        let mut met = lock(&self.met);
        let mut ids = Vec::new();
        for kind in &self.kinds {
            let is_about = super::is_about(operation, &kind.name)
                || [Some(&kind.create), kind.read.as_ref(), kind.list.as_ref()]
                    .into_iter()
                    .flatten()
                    .any(|own| own == operation);
            kind.shown(data, is_about, &mut ids);
            if !ids.is_empty() {
                let known = met.entry(kind.name.clone()).or_default();
                for id in ids.drain(..) {
                    self.meet_one(known, id, now);
                }
            }
        }
        executions(data, &mut ids);
        let known = met.entry(EXECUTION.to_owned()).or_default();
        for id in ids {
            self.meet_one(known, id, now);
        }
    }

    /// Records an identifier, unless the memory limit is reached.
    fn meet_one(&self, known: &mut BTreeMap<String, u64>, id: &Value, now: u64) {
        let id = id.to_string();
        if !known.contains_key(&id)
            && self.met_bytes.fetch_add(id.len() + 64, Ordering::Relaxed) <= MAX_KNOWN_BYTES
        {
            known.insert(id, now);
        }
    }

    /// Returns `true` if a result contained this identifier before the call at `sent`.
    fn was_met(&self, kind: &str, id: &Value, sent: u64) -> bool {
        // Beyond the memory limit, any identifier may have existed.
        if self.met_bytes.load(Ordering::Relaxed) > MAX_KNOWN_BYTES {
            return true;
        }
        lock(&self.met)
            .get(kind)
            .and_then(|known| known.get(&id.to_string()))
            .is_some_and(|at| *at < sent)
    }

    /// Returns `true` if the run executed this identifier as its own.
    pub(crate) fn has_begun(&self, parameter: &str, value: &Value) -> bool {
        lock(&self.begun).contains(&(parameter.to_owned(), value.to_string()))
    }

    /// Returns `true` if an execution certainly belongs to the run.
    ///
    /// If equal calls returned the same execution, another client may have started it.
    pub(crate) fn has_started(&self, id: &Value) -> bool {
        let id = id.to_string();
        lock(&self.started).values().any(|ids| ids.len() > 1 && ids.contains(&id))
    }

    /// Records evidence that created items of this resource are new.
    pub(crate) fn prove(&self, kind: &str, proof: Proof) {
        lock(&self.proofs).insert(kind.to_owned(), proof);
    }

    /// Returns `true` if there is evidence that created items of this resource are new.
    pub(crate) fn is_proved(&self, kind: &str) -> bool {
        lock(&self.proofs).contains_key(kind)
    }

    /// Returns `true` if the item certainly did not exist before the run.
    pub(crate) fn is_new(&self, made: &LedgerEntry) -> bool {
        let proofs = lock(&self.proofs);
        match proofs.get(&made.resource) {
            Some(Proof::Listed) => true,
            Some(Proof::Anew(names)) => made.with.is_subset(names),
            None => false,
        }
    }

    /// Records that the run owns an identifier that it will execute.
    pub(crate) fn begin(&self, parameter: &str, value: &Value) {
        lock(&self.begun).insert((parameter.to_owned(), value.to_string()));
    }

    /// Returns the resources that a parameter of an operation may identify.
    pub(crate) fn meant<'r>(
        &'r self,
        operation: &'r str,
        parameter: &'r str,
    ) -> impl Iterator<Item = &'r Resource> {
        self.kinds.iter().filter(move |kind| kind.is_meant(operation, parameter))
    }

    /// Reserves an item for one check. Returns `false` if it was created before `since` or another check reserved it.
    ///
    /// The clock is compared because CREATE operations may return existing items.
    pub(crate) fn keep(&self, resource: &str, id: &Value, since: u64) -> bool {
        let mut all = self.lock();
        let made = all.iter_mut().find(|made| made.is(resource, Some(id)));
        let Some(made) = made.filter(|made| made.born >= since && !made.kept) else { return false };
        made.kept = true;
        true
    }

    /// Returns the identifiers of the run's unreserved items, by the name of their parameter.
    pub(crate) fn shared(&self, parameter: &str) -> Vec<Value> {
        let all = self.lock();
        let ours = all.iter().filter(|made| {
            let kind = self.named(&made.resource);
            !made.kept && !made.gone && kind.is_some_and(|kind| kind.id == parameter)
        });
        ours.filter_map(|made| made.id.clone()).collect()
    }

    /// Returns `true` if the run has an unreserved item of this resource.
    pub(crate) fn has_one(&self, kind: &str) -> bool {
        self.lock().iter().any(|made| made.resource == kind && !made.kept && !made.gone)
    }

    /// Returns `true` if a check has reserved this item or the item was removed.
    pub(crate) fn is_kept(&self, parameter: &str, id: &Value) -> bool {
        self.lock().iter().any(|made| {
            let kind = self.named(&made.resource);
            (made.kept || made.gone)
                && made.id.as_ref() == Some(id)
                && kind.is_some_and(|kind| kind.id == parameter)
        })
    }

    /// Returns `true` if the run created the item identified by this parameter. Removed items count, too.
    pub(crate) fn is_ours(&self, operation: &str, parameter: &str, id: &Value) -> bool {
        if parameter == EXECUTION && self.has_started(id) {
            return true;
        }
        let all = self.lock();
        self.meant(operation, parameter)
            .any(|kind| all.iter().any(|made| made.is(&kind.name, Some(id)) && self.is_new(made)))
    }

    /// Returns the CREATE operations of unknown resources, with the number of created items.
    pub(crate) fn made_otherwise(&self) -> Vec<(String, usize)> {
        let others = lock(&self.others);
        let made = others.iter().filter(|(_, calls)| **calls > 0);
        made.map(|(operation, calls)| (operation.clone(), *calls)).collect()
    }

    /// Returns the number of successful calls of an operation.
    pub(crate) fn effects_of(&self, operation: &str) -> usize {
        lock(&self.effects).get(operation).copied().unwrap_or_default()
    }

    /// Returns the number of the run's items that still exist.
    pub(crate) fn left_count(&self) -> usize {
        self.lock().iter().filter(|made| !made.gone).count()
    }

    /// Returns the number of the run's items of this resource that still exist.
    pub(crate) fn left_of(&self, resource: &str) -> usize {
        self.lock().iter().filter(|made| !made.gone && made.resource == resource).count()
    }

    pub(crate) fn left(&self) -> Vec<LedgerEntry> {
        self.lock().iter().filter(|made| !made.gone).cloned().collect()
    }

    /// Returns a unique number.
    pub(crate) fn next_number(&self) -> usize {
        // Start above 1000, so the numbers differ from usual counters of an adapter.
        self.numbers.fetch_add(1, Ordering::Relaxed) + 1001
    }

    fn lock(&self) -> MutexGuard<'_, Vec<LedgerEntry>> {
        lock(&self.made)
    }
}

impl LedgerEntry {
    fn is(&self, resource: &str, id: Option<&Value>) -> bool {
        self.resource == resource && id.is_some() && self.id.as_ref() == id
    }
}

/// Collects the execution identifiers in a result.
fn executions<'v>(data: &'v Value, ids: &mut Vec<&'v Value>) {
    match data {
        Value::Object(members) => {
            ids.extend(members.get(EXECUTION));
            members.values().for_each(|member| executions(member, ids));
        }
        Value::Array(items) => items.iter().for_each(|item| executions(item, ids)),
        _ => {}
    }
}

/// Returns `true` if a call is a dry run.
fn is_dry(arguments: &Value) -> bool {
    parameter(arguments, "dry_run") == Some(&Value::Bool(true))
        || arguments.pointer("/_meta/dry_run") == Some(&Value::Bool(true))
}

/// Returns a parameter of a call, from `params` or from the top level of the arguments.
pub(crate) fn parameter<'v>(arguments: &'v Value, name: &str) -> Option<&'v Value> {
    arguments.get("params").and_then(|params| params.get(name)).or_else(|| arguments.get(name))
}

/// Returns the names of the parameters of a call, except control parameters.
fn names_of(arguments: &Value) -> BTreeSet<String> {
    let nested = arguments.get("params").and_then(Value::as_object);
    let beside = arguments.as_object();
    let names = nested.into_iter().chain(beside).flat_map(Map::keys);
    names
        .filter(|name| !["operation", "params"].contains(&name.as_str()))
        .filter(|name| !super::is_control(name))
        .cloned()
        .collect()
}

/// Builds a key from an operation and its arguments.
fn started_with(operation: &str, arguments: &Value) -> String {
    let said: Vec<_> = names_of(arguments)
        .into_iter()
        .map(|name| (parameter(arguments, &name).cloned(), name))
        .map(|(value, name)| format!("{name}={}", value.unwrap_or_default()))
        .collect();
    format!("{operation} {}", said.join(" "))
}
