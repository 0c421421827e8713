//! Making things, looking at them, changing and removing them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use serde_json::{Map, Value, json};

use super::{EXECUTION, Proof, RESERVED, Resource, Resources, Role, fields};
use crate::call::{Exchange, Reply};
use crate::cases::{Cases, Skip, brief};
use crate::learn::{Category, Operation, Parameter};
use crate::pages;
use crate::run::{Run, arguments};
use crate::values;
use crate::wire::Connection;

/// So many things are removed at once in the end.
const AT_ONCE: usize = 8;
/// So many are removed in one session, lest it ask for more confirmations than one may.
const IN_ONE_SESSION: usize = 100;

/// So long things may be removed where the time of the run is over.
const TO_CLEAR_UP: Duration = Duration::from_secs(20);

/// Identifiers that results have shown take about so many bytes.
const MOST_MET: usize = 8 << 20;
/// What a call may have beside what the configuration names: nothing of it says what is acted on.
const BESIDE: [&str; 4] = ["input", "confirmation_token", "dry_run", "if_match"];

/// A thing that the run has made.
#[derive(Debug, Clone)]
pub(super) struct Made {
    resource: String,
    id: Option<Value>,
    /// The names of what it was made with.
    with: BTreeSet<String>,
    /// When, in calls.
    born: u64,
    /// When what creates last answered with it.
    told: u64,
    /// A check has it for itself.
    kept: bool,
    /// It was removed.
    gone: bool,
}

/// A thing that a check has made for itself.
pub(crate) struct Thing<'a> {
    pub(crate) resource: &'a Resource,
    pub(crate) id: Value,
    /// What it was made with.
    pub(crate) sent: Map<String, Value>,
    /// The call that made it.
    pub(crate) made: Exchange,
}

/// The token of a call that is to be confirmed.
pub(crate) fn token_of(asked: &Exchange) -> Option<&str> {
    let failure = asked.failure().filter(|failure| failure.code == "CONFIRMATION_REQUIRED")?;
    failure.details.get("confirmation_token")?.as_str()
}

/// Parameters with the token that confirms them.
pub(crate) fn confirmed(
    operation: &Operation,
    mut params: Map<String, Value>,
    token: &str,
) -> Map<String, Value> {
    let documented = operation.parameter("confirmation_token").is_some();
    let name = if documented { "confirmation_token" } else { "_confirmation" };
    params.insert(name.to_owned(), token.into());
    params
}

impl Run {
    /// Calls an operation, if that is allowed, and confirms the call where it has to be.
    pub(crate) async fn act(
        &self,
        operation: &Operation,
        params: Map<String, Value>,
        cases: &Cases,
    ) -> Option<Exchange> {
        let asked = self.call(operation, params.clone(), cases).await?;
        match token_of(&asked) {
            Some(token) => self.call(operation, confirmed(operation, params, token), cases).await,
            None => Some(asked),
        }
    }

    /// The kinds of things on which there is an operation of this role. Where there is none the check does
    /// not apply, or the case is skipped and says what the configuration could tell.
    pub(crate) fn kinds(&self, role: Role, cases: &Cases) -> Vec<&Resource> {
        let resources = self.resources();
        for wrong in resources.wrong() {
            cases.skip(Skip::NoFixture(wrong.clone()));
        }
        let kinds: Vec<_> =
            resources.kinds().iter().filter(|kind| kind.operation(self, role).is_some()).collect();
        if kinds.is_empty() {
            let category = role.category();
            let mut operations = self.adapter.of(category).map(|operation| operation.name.as_str());
            match operations.find(|name| !RESERVED.contains(name)) {
                None => cases.not_applicable(format!("there is no {category} operation on things")),
                Some(operation) => cases.skip(Skip::NoFixture(format!(
                    "things that the run can create, and `{operation}` is about: say under \
                     [resources.NAME] which operations create and change or remove one"
                ))),
            }
        }
        kinds
    }

    /// Makes a thing, with as much as can be said of it. Skips the case where that cannot be.
    pub(crate) async fn make<'r>(&self, kind: &'r Resource, cases: &Cases) -> Option<Thing<'r>> {
        let operation = kind.operation(self, Role::Create)?;
        if let Some(why) = self.forbids(operation) {
            cases.skip(why);
            return None;
        }
        match fields::to_create(self, operation) {
            Ok(params) => self.make_with(kind, params, cases).await,
            Err(why) => {
                cases.skip(why);
                None
            }
        }
    }

    /// Makes a thing beside this one. Some adapters find what is there when they are asked for the same.
    pub(crate) async fn make_another<'r>(
        &self,
        first: &Thing<'r>,
        cases: &Cases,
    ) -> Option<Thing<'r>> {
        let kind = first.resource;
        let made = self.make(kind, cases).await?;
        if made.id != first.id {
            return Some(made);
        }
        let params = fields::varied(self, kind.operation(self, Role::Create)?, &first.sent, 1);
        let made = self.make_with(kind, params, cases).await?;
        if made.id != first.id {
            return Some(made);
        }
        cases.skip(Skip::NoFixture(format!(
            "two things: `{}` gives the {} `{}` again and again",
            made.made.operation(),
            kind.name,
            made.id
        )));
        None
    }

    /// Calls the operation that makes a thing; the thing is this check's own.
    pub(crate) async fn create(
        &self,
        kind: &Resource,
        params: Map<String, Value>,
        cases: &Cases,
    ) -> Option<Exchange> {
        let (_, made) = self.create_somehow(kind, params, cases).await?;
        Some(made)
    }

    async fn create_somehow(
        &self,
        kind: &Resource,
        params: Map<String, Value>,
        cases: &Cases,
    ) -> Option<(Map<String, Value>, Exchange)> {
        let operation = kind.operation(self, Role::Create)?;
        let mut sent = params;
        for turn in 1..5 {
            let since = self.resources().now();
            let made = self.act(operation, sent.clone(), cases).await?;
            let id = made.data().and_then(|data| kind.identity(kind.object(data)?));
            let is_old = id.is_some_and(|id| !self.resources().keep(&kind.name, &id, since));
            let others = match made.code() {
                Some(code) if code.starts_with("CONFLICT_") => {
                    fields::varied(self, operation, &sent, turn)
                }
                Some(code) if turn == 1 && code.starts_with("VALIDATION_") => {
                    self.valid(operation).unwrap_or_default()
                }
                None if is_old => fields::varied(self, operation, &sent, turn),
                _ => return Some((sent, made)),
            };
            if turn < 4 && others != sent {
                sent = others;
            } else if is_old {
                break;
            } else {
                return Some((sent, made));
            }
        }
        cases.skip(Skip::NoFixture(format!(
            "`{name}` answers with what is there already: give other parameters under [params.{name}]",
            name = operation.name
        )));
        None
    }

    /// The same with these parameters. Where they are taken already, others like them; where they are
    /// refused, those alone that are required.
    pub(crate) async fn make_with<'r>(
        &self,
        kind: &'r Resource,
        params: Map<String, Value>,
        cases: &Cases,
    ) -> Option<Thing<'r>> {
        let operation = kind.operation(self, Role::Create)?;
        let (sent, made) = self.create_somehow(kind, params, cases).await?;
        let id = made.data().and_then(|data| kind.identity(kind.object(data)?));
        match id {
            Some(id) => Some(Thing { resource: kind, id, sent, made }),
            None => {
                cases.skip(Skip::NoFixture(if made.succeeded() {
                    format!(
                        "`{}` does not tell the `{id}` of what it creates: answer with an object that \
                         has it as `{id}` or `id`, and not with the bare identifier",
                        operation.name,
                        id = kind.id,
                    )
                } else {
                    format!(
                        "`{name}` creates nothing for us, it answers {}: give parameters under [params.{name}]",
                        made.told(),
                        name = operation.name,
                    )
                }));
                None
            }
        }
    }

    /// The parameters of an operation on one thing, beside what it does to it.
    pub(crate) fn on(
        &self,
        operation: &Operation,
        kind: &Resource,
        id: &Value,
    ) -> Result<Map<String, Value>, Skip> {
        let mut params =
            self.settings.file.params.get(&operation.name).cloned().unwrap_or_default();
        for parameter in operation.required() {
            if parameter.name == kind.id
                || parameter.name == "input"
                || params.contains_key(&parameter.name)
            {
                continue;
            }
            let value = values::of(self, operation, parameter, 0).ok_or_else(|| {
                Skip::NoFixture(format!(
                    "a value for `{}`: give one under [params.{}]",
                    parameter.name, operation.name
                ))
            })?;
            params.insert(parameter.name.clone(), value);
        }
        params.remove("input");
        params.insert(kind.id.clone(), id.clone());
        Ok(params)
    }

    /// Reads a thing.
    pub(crate) async fn look(&self, thing: &Thing<'_>, cases: &Cases) -> Option<Exchange> {
        let Some(read) = thing.resource.operation(self, Role::Read) else {
            if let Some(list) = thing.resource.operation(self, Role::List) {
                return self.look_up(thing, list, cases).await;
            }
            cases.skip(Skip::NoFixture(format!(
                "no READ operation for one {name}: name it under [resources.{name}]",
                name = thing.resource.name
            )));
            return None;
        };
        let params = self.on(read, thing.resource, &thing.id);
        self.call(read, params.map_err(|why| cases.skip(why)).ok()?, cases).await
    }

    /// Reads a thing where it is listed, for nothing reads it by itself. What comes back is as if it had
    /// been read, or all that is listed where it is not.
    async fn look_up(
        &self,
        thing: &Thing<'_>,
        list: &Operation,
        cases: &Cases,
    ) -> Option<Exchange> {
        const PARTS: [&str; 5] = ["limit", "offset", "page", "page_size", "first"];
        let params = self.valid(list).map_err(|why| cases.skip(why)).ok()?;
        let items = pages::all(self, list, params.clone(), cases).await?;
        let kind = thing.resource;
        let found = items.iter().find(|item| kind.identity(item).as_ref() == Some(&thing.id));
        let is_part = !pages::is_paged(list) && PARTS.iter().any(|it| list.parameter(it).is_some());
        if found.is_none() && is_part {
            cases.skip(Skip::NoFixture(format!(
                "`{}` may show a part of what there is: name a READ operation for one under \
                 [resources.{}]",
                list.name, kind.name
            )));
            return None;
        }
        let data = found.cloned().unwrap_or_else(|| json!({ "items": &*items }));
        let body = json!({ "success": true, "data": data });
        let reply = Reply::Result { raw: body.clone(), body: Some(body) };
        let arguments = arguments(&list.name, params);
        Some(Exchange { tool: list.tool.clone(), arguments, reply })
    }

    /// What there is of a thing. That it can be read at all is for `creates.read_back` to say.
    pub(crate) async fn stored(&self, thing: &Thing<'_>, cases: &Cases) -> Option<Value> {
        let looked = self.look(thing, cases).await?;
        self.shown(thing, &looked, cases)
    }

    /// The thing in what came back when it was looked at.
    pub(crate) fn shown(
        &self,
        thing: &Thing<'_>,
        looked: &Exchange,
        cases: &Cases,
    ) -> Option<Value> {
        let object = looked.data().and_then(|data| thing.resource.object(data));
        if object.is_none() {
            cases.skip(Skip::NoFixture(format!(
                "`{}` does not show the {} that was created: {}",
                looked.operation(),
                thing.resource.name,
                looked.told()
            )));
        }
        object.cloned()
    }

    /// Calls the operation that changes a thing with this `input` and more.
    pub(crate) async fn update(
        &self,
        thing: &Thing<'_>,
        input: Value,
        cases: &Cases,
    ) -> Option<Exchange> {
        let operation = thing.resource.operation(self, Role::Update)?;
        let mut params =
            self.on(operation, thing.resource, &thing.id).map_err(|why| cases.skip(why)).ok()?;
        params.insert("input".to_owned(), input);
        self.act(operation, params, cases).await
    }

    /// Removes a thing.
    pub(crate) async fn remove(&self, thing: &Thing<'_>, cases: &Cases) -> Option<Exchange> {
        let operation = thing.resource.operation(self, Role::Delete)?;
        let params = self.on(operation, thing.resource, &thing.id);
        self.act(operation, params.map_err(|why| cases.skip(why)).ok()?, cases).await
    }

    /// Why an operation that would run with these arguments is not called: it changes or removes what the
    /// run has not made and the configuration does not name, or nothing says what it would act on.
    pub(crate) fn spares(&self, operation: &Operation, arguments: &Value) -> Option<Skip> {
        if let Some(items) = arguments.get("operations").and_then(Value::as_array) {
            return items.iter().find_map(|item| {
                let name = item.get("operation").and_then(Value::as_str).unwrap_or_default();
                self.spares_one(self.adapter.operation(name)?, item)
            });
        }
        self.spares_one(operation, arguments)
    }

    fn spares_one(&self, operation: &Operation, arguments: &Value) -> Option<Skip> {
        if operation.is_read() || operation.category == Some(Category::Create) {
            return None;
        }
        // What is unlike what it says of itself is taken for the worst.
        let is_execute = operation.category == Some(Category::Execute);
        let named = self.settings.file.params.get(&operation.name);
        let is_named = |name: &str, value: &Value| {
            named.is_some_and(|named| named.get(name).is_some_and(|named| named == value))
        };
        let mut which = operation.required().filter(|which| {
            values::is_identifier(&which.name)
                || self.resources().meant(&operation.name, &which.name).next().is_some()
        });
        let mut is_aimed = false;
        let are_ours = which.all(|which| {
            is_aimed = true;
            let Some(value) = parameter(arguments, &which.name) else { return true };
            is_named(&which.name, value)
                || self.resources().is_ours(&operation.name, &which.name, value)
                || (is_execute && self.is_made_up(operation, which, value))
                || self.is_nobody(operation, &which.name, value)
        });
        // It is for running that EXECUTE was allowed; all else has to be aimed at something, or else be
        // called just as the configuration says.
        is_aimed |= is_execute && (operation.required().next().is_some() || named.is_some());
        is_aimed |= self.is_named_whole(operation)
            && named.is_some_and(|named| {
                // What else it takes could make it act on more.
                let mut others = operation.parameters.iter().filter(|other| {
                    !named.contains_key(&other.name)
                        && !BESIDE.contains(&other.name.as_str())
                        && parameter(arguments, &other.name).is_some()
                });
                others.next().is_none()
                    && named.iter().all(|(name, value)| parameter(arguments, name) == Some(value))
            });
        if is_aimed && are_ours {
            None
        } else if self.is_named_whole(operation) {
            Some(Skip::Unsafe(operation.name.clone()))
        } else {
            Some(Skip::NotOurs(operation.name.clone()))
        }
    }

    /// Whether the configuration says all that it takes to call an operation that changes, removes or runs
    /// something, and nothing in whose parameters is known to say what.
    pub(crate) fn is_named_whole(&self, operation: &Operation) -> bool {
        let acts = !operation.is_read() && operation.category != Some(Category::Create);
        let is_aim = |which: &Parameter| {
            values::is_identifier(&which.name)
                || self.resources().meant(&operation.name, &which.name).next().is_some()
        };
        let named = self.settings.file.params.get(&operation.name).filter(|_| acts);
        named.is_some_and(|named| {
            operation.required().all(|required| {
                !is_aim(required)
                    && (required.name == "input" || named.contains_key(&required.name))
            })
        })
    }

    /// Whether nobody but the run has this identifier of something to be run. From then on it is the run's,
    /// to be run. That no result has shown it yet is not enough: lists show the first of many.
    fn is_made_up(&self, operation: &Operation, which: &Parameter, value: &Value) -> bool {
        if self.resources().has_begun(&which.name, value) {
            return true;
        }
        let is_own = value.as_str().is_some_and(|text| text.contains("conformance"))
            || self.nobodies(&operation.name, &which.name).contains(value);
        let is_theirs = self.harvested(&which.name).contains(value)
            || values::in_examples(operation, &which.name).any(|shown| shown == value)
            || self.settings.file.values.get(&which.name) == Some(value)
            || which.member("default") == Some(value);
        if is_own && !is_theirs {
            self.resources().begin(&which.name, value);
        }
        is_own && !is_theirs
    }

    /// Parameters for an operation that is run, on things that are made for it where it takes any.
    pub(crate) async fn to_run(
        &self,
        operation: &Operation,
        cases: &Cases,
    ) -> Option<Map<String, Value>> {
        let mut params = self.valid(operation).map_err(|why| cases.skip(why)).ok()?;
        let named = self.settings.file.params.get(&operation.name);
        for which in operation.required() {
            if named.is_some_and(|named| named.contains_key(&which.name)) {
                continue;
            }
            let Some(kind) = self.resources().meant(&operation.name, &which.name).next() else {
                continue;
            };
            params.insert(which.name.clone(), self.make(kind, cases).await?.id);
        }
        Some(params)
    }

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

impl Resources {
    /// The time, in calls.
    pub(crate) fn now(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::Relaxed)
    }

    /// Takes down what a call has made or removed, whoever made it, and when it was sent.
    pub(crate) fn note(&self, exchange: &Exchange, sent: u64) {
        let asked = exchange.arguments.get("operations").and_then(Value::as_array);
        if exchange.lost().is_some() {
            let each = asked.map_or(std::slice::from_ref(&exchange.arguments), Vec::as_slice);
            return each.iter().for_each(|arguments| self.note_unanswered(arguments));
        }
        let Some(body) = exchange.body() else { return };
        let Some(asked) = asked else { return self.note_one(&exchange.arguments, body, sent) };
        for item in body.get("results").and_then(Value::as_array).into_iter().flatten() {
            let index = item.get("index").and_then(Value::as_u64);
            let arguments = index.and_then(|index| asked.get(usize::try_from(index).ok()?));
            if let Some((arguments, body)) = arguments.zip(item.get("result")) {
                self.note_one(arguments, body, sent);
            }
        }
    }

    fn note_unanswered(&self, arguments: &Value) {
        let operation = arguments.get("operation").and_then(Value::as_str).unwrap_or_default();
        let others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        let creates = others.contains_key(operation)
            || self.kinds.iter().any(|kind| kind.create == operation);
        drop(others);
        if creates && !is_dry(arguments) {
            let mut unanswered = self.unanswered.lock().unwrap_or_else(PoisonError::into_inner);
            *unanswered.entry(operation.to_owned()).or_default() += 1;
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

    /// Takes down what came of a call.
    fn note_effect(&self, operation: &str, arguments: &Value, data: &Value, sent: u64) {
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = others.get_mut(operation) {
            *count += 1;
        }
        drop(others);
        if self.starts.contains(operation)
            && let Some(id) = data.get(EXECUTION)
            && !self.was_met(EXECUTION, id, sent)
        {
            let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
            started.entry(started_with(operation, arguments)).or_default().insert(id.to_string());
        }
        for kind in &self.kinds {
            if kind.create == operation {
                let id = kind.object(data).and_then(|object| kind.identity(object));
                let mut all = self.lock();
                match all.iter_mut().find(|made| made.is(&kind.name, id.as_ref())) {
                    // Identifiers of what is gone are given again.
                    Some(made) if made.gone => {
                        let now = self.now();
                        (made.gone, made.kept, made.born, made.told) = (false, false, now, now);
                    }
                    Some(made) => made.told = self.now(),
                    // It was there before: what was asked to create it has found it.
                    None if id.as_ref().is_some_and(|id| self.was_met(&kind.name, id, sent)) => {}
                    None => {
                        let now = self.now();
                        all.push(Made {
                            resource: kind.name.clone(),
                            id,
                            with: names_of(arguments),
                            born: now,
                            told: now,
                            kept: false,
                            gone: false,
                        });
                    }
                }
            } else if kind.delete.as_deref() == Some(operation) {
                let id = parameter(arguments, &kind.id);
                let mut all = self.lock();
                all.iter_mut()
                    // One that came after this was sent has the identifier of the one that it removed.
                    .filter(|made| made.is(&kind.name, id) && made.told < sent)
                    .for_each(|made| made.gone = true);
            }
        }
    }

    /// Takes down the identifiers of all that a result shows.
    fn meet(&self, operation: &str, data: &Value) {
        let now = self.now();
        let mut met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// Takes down one of them, as long as there is room.
    fn meet_one(&self, known: &mut BTreeMap<String, u64>, id: &Value, now: u64) {
        let id = id.to_string();
        if !known.contains_key(&id)
            && self.met_bytes.fetch_add(id.len() + 64, Ordering::Relaxed) <= MOST_MET
        {
            known.insert(id, now);
        }
    }

    /// Whether a result had shown this one when that call was sent.
    fn was_met(&self, kind: &str, id: &Value, sent: u64) -> bool {
        // Where there is no more room, anything may have been.
        if self.met_bytes.load(Ordering::Relaxed) > MOST_MET {
            return true;
        }
        let met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        met.get(kind).and_then(|known| known.get(&id.to_string())).is_some_and(|at| *at < sent)
    }

    /// Whether this one has been run under an identifier of the run's own.
    fn has_begun(&self, parameter: &str, value: &Value) -> bool {
        let begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.contains(&(parameter.to_owned(), value.to_string()))
    }

    /// Whether this execution is the run's own. What answers the same call with the same execution twice may
    /// have answered with that of somebody else.
    pub(crate) fn has_started(&self, id: &Value) -> bool {
        let id = id.to_string();
        let started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        started.values().any(|ids| ids.len() > 1 && ids.contains(&id))
    }

    /// Says what shows that things of this kind are new.
    pub(crate) fn prove(&self, kind: &str, proof: Proof) {
        let mut proofs = self.proofs.lock().unwrap_or_else(PoisonError::into_inner);
        proofs.insert(kind.to_owned(), proof);
    }

    /// Whether anything shows that things of this kind are new.
    pub(crate) fn is_proved(&self, kind: &str) -> bool {
        self.proofs.lock().unwrap_or_else(PoisonError::into_inner).contains_key(kind)
    }

    /// Whether it is certain that this was not there before.
    fn is_new(&self, made: &Made) -> bool {
        let proofs = self.proofs.lock().unwrap_or_else(PoisonError::into_inner);
        match proofs.get(&made.resource) {
            Some(Proof::Listed) => true,
            Some(Proof::Anew(names)) => made.with.is_subset(names),
            None => false,
        }
    }

    /// An identifier of something to be run is the run's own.
    fn begin(&self, parameter: &str, value: &Value) {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.insert((parameter.to_owned(), value.to_string()));
    }

    /// The kinds that this parameter of an operation may be about.
    fn meant<'r>(
        &'r self,
        operation: &'r str,
        parameter: &'r str,
    ) -> impl Iterator<Item = &'r Resource> {
        self.kinds.iter().filter(move |kind| kind.is_meant(operation, parameter))
    }

    /// One check has it for itself from now on, if it came of a call that was made since, and no other
    /// check has it: an operation that creates may answer with what is there.
    fn keep(&self, resource: &str, id: &Value, since: u64) -> bool {
        let mut all = self.lock();
        let made = all.iter_mut().find(|made| made.is(resource, Some(id)));
        let Some(made) = made.filter(|made| made.born >= since && !made.kept) else { return false };
        made.kept = true;
        true
    }

    /// Identifiers of what the run has made and keeps for no check alone, by the name of their parameter.
    pub(crate) fn shared(&self, parameter: &str) -> Vec<Value> {
        let all = self.lock();
        let ours = all.iter().filter(|made| {
            let kind = self.named(&made.resource);
            !made.kept && !made.gone && kind.is_some_and(|kind| kind.id == parameter)
        });
        ours.filter_map(|made| made.id.clone()).collect()
    }

    /// Whether there is one of this kind that the run has made and keeps for no check alone.
    pub(crate) fn has_one(&self, kind: &str) -> bool {
        self.lock().iter().any(|made| made.resource == kind && !made.kept && !made.gone)
    }

    /// Whether a check has this one for itself.
    pub(crate) fn is_kept(&self, parameter: &str, id: &Value) -> bool {
        self.lock().iter().any(|made| {
            let kind = self.named(&made.resource);
            (made.kept || made.gone)
                && made.id.as_ref() == Some(id)
                && kind.is_some_and(|kind| kind.id == parameter)
        })
    }

    /// Whether the run has made what this parameter of an operation says, whether it is still there or not.
    fn is_ours(&self, operation: &str, parameter: &str, id: &Value) -> bool {
        if parameter == EXECUTION && self.has_started(id) {
            return true;
        }
        let all = self.lock();
        self.meant(operation, parameter)
            .any(|kind| all.iter().any(|made| made.is(&kind.name, Some(id)) && self.is_new(made)))
    }

    /// Operations that create and did not answer, and how often.
    fn unanswered(&self) -> Vec<(String, usize)> {
        let unanswered = self.unanswered.lock().unwrap_or_else(PoisonError::into_inner);
        unanswered.iter().map(|(operation, calls)| (operation.clone(), *calls)).collect()
    }

    /// Operations that have made what is of no known kind, and how often.
    fn made_otherwise(&self) -> Vec<(String, usize)> {
        let others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        let made = others.iter().filter(|(_, calls)| **calls > 0);
        made.map(|(operation, calls)| (operation.clone(), *calls)).collect()
    }

    fn left(&self) -> Vec<Made> {
        self.lock().iter().filter(|made| !made.gone).cloned().collect()
    }

    /// A number that no other was given.
    pub(crate) fn next_number(&self) -> usize {
        // Beyond what identifiers that others count up have.
        self.numbers.fetch_add(1, Ordering::Relaxed) + 1001
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Made>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Made {
    fn is(&self, resource: &str, id: Option<&Value>) -> bool {
        self.resource == resource && id.is_some() && self.id.as_ref() == id
    }
}

impl Resource {
    /// The identifiers of such things in what a result shows. `id` counts where it is about them.
    fn shown<'v>(&self, data: &'v Value, is_about: bool, ids: &mut Vec<&'v Value>) {
        /// Where a result has what it is about.
        const THERE: [&str; 4] = ["items", "edges", "node", "results"];
        match data {
            Value::Object(members) => {
                let own = format!("{}_id", self.name);
                for (name, value) in members {
                    let is_id = *name == own
                        || (*name == self.id && (is_about || self.has_own_identifier()))
                        || (name == "id" && is_about);
                    if is_id && (value.is_string() || value.is_number()) {
                        ids.push(value);
                    }
                    let is_it = *name == self.name || super::singular(name) == self.name;
                    let goes_on = is_it
                        || (is_about
                            && (THERE.contains(&name.as_str()) || self.shown_as.contains(name)));
                    self.shown(value, goes_on, ids);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.shown(item, is_about, ids)),
            _ => {}
        }
    }
}

/// The executions that a result shows.
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

/// Whether a call only tries what it would do.
fn is_dry(arguments: &Value) -> bool {
    parameter(arguments, "dry_run") == Some(&Value::Bool(true))
        || arguments.pointer("/_meta/dry_run") == Some(&Value::Bool(true))
}

/// A parameter of a call, wherever it is.
fn parameter<'v>(arguments: &'v Value, name: &str) -> Option<&'v Value> {
    arguments.get("params").and_then(|params| params.get(name)).or_else(|| arguments.get(name))
}

/// What a call says beside how it is made: the names.
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

/// An operation that begins something, and what it was called with.
fn started_with(operation: &str, arguments: &Value) -> String {
    let said: Vec<_> = names_of(arguments)
        .into_iter()
        .map(|name| (parameter(arguments, &name).cloned(), name))
        .map(|(value, name)| format!("{name}={}", value.unwrap_or_default()))
        .collect();
    format!("{operation} {}", said.join(" "))
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
