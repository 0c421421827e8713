//! Making things, looking at them, changing and removing them.

use serde_json::{Map, Value, json};

use super::{RESERVED, Resource, Role, fields};
use crate::call::{Exchange, Reply};
use crate::cases::{Cases, Skip};
use crate::learn::Operation;
use crate::pages;
use crate::run::{Run, arguments};
use crate::values;

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
        let params = cases.ok_or_skip(fields::to_create(self, operation))?;
        self.make_with(kind, params, cases).await
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
        let params = cases.ok_or_skip(self.on(read, thing.resource, &thing.id))?;
        self.call(read, params, cases).await
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
        let params = cases.ok_or_skip(self.valid(list))?;
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
        let mut params = cases.ok_or_skip(self.on(operation, thing.resource, &thing.id))?;
        params.insert("input".to_owned(), input);
        self.act(operation, params, cases).await
    }

    /// Removes a thing.
    pub(crate) async fn remove(&self, thing: &Thing<'_>, cases: &Cases) -> Option<Exchange> {
        let operation = thing.resource.operation(self, Role::Delete)?;
        let params = cases.ok_or_skip(self.on(operation, thing.resource, &thing.id))?;
        self.act(operation, params, cases).await
    }

    /// Parameters for an operation that is run, on things that are made for it where it takes any.
    pub(crate) async fn to_run(
        &self,
        operation: &Operation,
        cases: &Cases,
    ) -> Option<Map<String, Value>> {
        let mut params = cases.ok_or_skip(self.valid(operation))?;
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
}
