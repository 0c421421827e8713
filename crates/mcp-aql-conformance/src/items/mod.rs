//! Creates, reads, updates and removes items for checks.

mod cleanup;
mod fields;

use serde_json::{Map, Value, json};

use crate::adapter::{Operation, Parameter};
use crate::call::{Exchange, Reply};
use crate::cases::{Cases, Skip};
use crate::category::Category;
use crate::pages;
use crate::resources::{RESERVED, Resource, Role};
use crate::run::{Run, arguments};
use crate::values;

pub(crate) use fields::{Field, fields_of, other, same, to_create, varied};

/// An item that a check created for itself.
pub(crate) struct CreatedItem<'a> {
    pub(crate) resource: &'a Resource,
    pub(crate) id: Value,
    /// Parameters of the CREATE call.
    pub(crate) sent: Map<String, Value>,
    /// The call that created the item.
    pub(crate) made: Exchange,
}

/// Returns the confirmation token in a reply, if the reply requires a confirmation.
pub(crate) fn token_of(asked: &Exchange) -> Option<&str> {
    let failure = asked.failure().filter(|failure| failure.code == "CONFIRMATION_REQUIRED")?;
    failure.details.get("confirmation_token")?.as_str()
}

/// Adds the confirmation token to the parameters of a call.
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
    /// Calls an operation if it is allowed, and confirms the call if required.
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

    /// Returns the resources with an operation of this role.
    ///
    /// If there are none, marks the check as not applicable, or skips the case and names the missing configuration.
    pub(crate) fn kinds(&self, role: Role, cases: &Cases) -> Vec<&Resource> {
        let resources = self.resources();
        for wrong in resources.wrong() {
            cases.skip_without(wrong.clone());
        }
        let kinds: Vec<_> = resources
            .kinds()
            .iter()
            .filter(|kind| kind.operation(&self.adapter, role).is_some())
            .collect();
        if kinds.is_empty() {
            let category = role.category();
            let mut operations = self.adapter.of(category).map(|operation| operation.name.as_str());
            match operations.find(|name| !RESERVED.contains(name)) {
                None => cases.not_applicable(format!("no {category} operation acts on items")),
                // Without a CREATE operation, the run never owns an item to test the operation on.
                Some(operation)
                    if !self
                        .adapter
                        .of(Category::Create)
                        .any(|it| !RESERVED.contains(&it.name.as_str())) =>
                {
                    cases.not_applicable(format!(
                        "no CREATE operation creates items that `{operation}` acts on"
                    ));
                }
                Some(operation) => cases.skip_without(format!(
                    "items that the run can create and `{operation}` acts on: name under \
                             [resources.NAME] the operations that create and change or remove one"
                )),
            }
        }
        kinds
    }

    /// Creates an item with as many parameters as possible. Skips the case if that fails.
    pub(crate) async fn make<'r>(
        &self,
        kind: &'r Resource,
        cases: &Cases,
    ) -> Option<CreatedItem<'r>> {
        let operation = kind.operation(&self.adapter, Role::Create)?;
        self.permits(operation, cases)?;
        let params = cases.ok_or_skip(fields::to_create(self, operation))?;
        self.make_with(kind, params, cases).await
    }

    /// Creates another item. Retries with varied parameters, because some adapters return an existing item for equal
    /// parameters.
    pub(crate) async fn make_another<'r>(
        &self,
        first: &CreatedItem<'r>,
        cases: &Cases,
    ) -> Option<CreatedItem<'r>> {
        let kind = first.resource;
        let made = self.make(kind, cases).await?;
        if made.id != first.id {
            return Some(made);
        }
        let params =
            fields::varied(self, kind.operation(&self.adapter, Role::Create)?, &first.sent, 1);
        let made = self.make_with(kind, params, cases).await?;
        if made.id != first.id {
            return Some(made);
        }
        cases.skip_without(format!(
            "two items: `{}` returns the {} `{}` repeatedly",
            made.made.operation(),
            kind.name,
            made.id
        ));
        None
    }

    /// Calls a CREATE operation and reserves the item for this check.
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
        let operation = kind.operation(&self.adapter, Role::Create)?;
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
        cases.skip_without(format!(
            "`{name}` returns an existing item: add other parameters under [params.{name}]",
            name = operation.name
        ));
        None
    }

    /// Creates an item with these parameters. Retries with varied parameters after a conflict, and with only the
    /// required ones after a rejection.
    pub(crate) async fn make_with<'r>(
        &self,
        kind: &'r Resource,
        params: Map<String, Value>,
        cases: &Cases,
    ) -> Option<CreatedItem<'r>> {
        let operation = kind.operation(&self.adapter, Role::Create)?;
        let (sent, made) = self.create_somehow(kind, params, cases).await?;
        let id = made.data().and_then(|data| kind.identity(kind.object(data)?));
        match id {
            Some(id) => Some(CreatedItem { resource: kind, id, sent, made }),
            None => {
                cases.skip_without(if made.succeeded() {
                    format!(
                    "`{}` does not return the `{id}` of the item that it creates: return an object with a \
                     member `{id}` or `id` instead of the bare identifier",
                        operation.name,
                        id = kind.id,
                    )
                } else {
                    format!(
                        "`{name}` created nothing and returned {}: add parameters under [params.{name}]",
                        made.summary(),
                        name = operation.name,
                    )
                });
                None
            }
        }
    }

    /// Returns the parameters of an operation on an item, without the `input` of an update.
    pub(crate) fn on(
        &self,
        operation: &Operation,
        kind: &Resource,
        id: &Value,
    ) -> Result<Map<String, Value>, Skip> {
        let mut params =
            self.settings.file.params.get(&operation.name).cloned().unwrap_or_default();
        params.insert(kind.id.clone(), id.clone());
        let value = |parameter: &Parameter| match parameter.name.as_str() {
            "input" => Some(Value::Null),
            _ => values::of(self, operation, parameter, 0),
        };
        let mut params = values::with_required(params, operation, "a value for", value)?;
        params.remove("input");
        Ok(params)
    }

    /// Reads an item.
    pub(crate) async fn look(&self, thing: &CreatedItem<'_>, cases: &Cases) -> Option<Exchange> {
        let Some(read) = thing.resource.operation(&self.adapter, Role::Read) else {
            if let Some(list) = thing.resource.operation(&self.adapter, Role::List) {
                return self.look_up(thing, list, cases).await;
            }
            cases.skip_without(format!(
                "a READ operation for a {name}: name it under [resources.{name}]",
                name = thing.resource.name
            ));
            return None;
        };
        let params = cases.ok_or_skip(self.on(read, thing.resource, &thing.id))?;
        self.call(read, params, cases).await
    }

    /// Finds an item in a list, for resources without a READ operation for one item.
    ///
    /// Returns a reply as if the item had been read. If the list lacks the item, returns the reply with the whole list.
    async fn look_up(
        &self,
        thing: &CreatedItem<'_>,
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
            cases.skip_without(format!(
                "`{}` may return a part of the items: name a READ operation for one under \
                 [resources.{}]",
                list.name, kind.name
            ));
            return None;
        }
        let data = found.cloned().unwrap_or_else(|| json!({ "items": &*items }));
        let body = json!({ "success": true, "data": data });
        let reply = Reply::Result { raw: body.clone(), body: Some(body) };
        let arguments = arguments(&list.name, params);
        Some(Exchange { tool: list.tool.clone(), arguments, reply })
    }

    /// Reads the stored item. The check `creates.read_back` reports items that cannot be read.
    pub(crate) async fn stored(&self, thing: &CreatedItem<'_>, cases: &Cases) -> Option<Value> {
        let looked = self.look(thing, cases).await?;
        self.shown(thing, &looked, cases)
    }

    /// Returns the item in the reply of a READ operation. Skips the case if the reply does not contain it.
    pub(crate) fn shown(
        &self,
        thing: &CreatedItem<'_>,
        looked: &Exchange,
        cases: &Cases,
    ) -> Option<Value> {
        let object = looked.data().and_then(|data| thing.resource.object(data));
        if object.is_none() {
            cases.skip_without(format!(
                "the created {}, which is gone or cannot be read: `{}` returned {}",
                thing.resource.name,
                looked.operation(),
                looked.summary()
            ));
        }
        object.cloned()
    }

    /// Updates an item with this `input` and the other required parameters.
    pub(crate) async fn update(
        &self,
        thing: &CreatedItem<'_>,
        input: Value,
        cases: &Cases,
    ) -> Option<Exchange> {
        let operation = thing.resource.operation(&self.adapter, Role::Update)?;
        let mut params = cases.ok_or_skip(self.on(operation, thing.resource, &thing.id))?;
        params.insert("input".to_owned(), input);
        self.act(operation, params, cases).await
    }

    /// Removes an item.
    pub(crate) async fn remove(&self, thing: &CreatedItem<'_>, cases: &Cases) -> Option<Exchange> {
        let operation = thing.resource.operation(&self.adapter, Role::Delete)?;
        let params = cases.ok_or_skip(self.on(operation, thing.resource, &thing.id))?;
        self.act(operation, params, cases).await
    }

    /// Returns parameters for an EXECUTE operation. Creates the items that it needs.
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
