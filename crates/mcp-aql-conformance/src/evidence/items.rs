//! Evidence from items: created, read back, and changed.

use serde_json::{Map, Value, json};

use super::Collector;
use crate::call::Exchange;
use crate::cases::Cases;
use crate::items::{CreatedItem, same};
use crate::resources::{Resource, Role};

/// Evidence from the items created for the bundle.
#[derive(Default)]
pub(super) struct CreatedItems {
    /// Cases for `round_trip_tests`.
    pub(super) round_trips: Vec<Value>,
    /// Cases for `update_preservation_tests`.
    pub(super) preserved: Vec<Value>,
    /// Writes that the adapter had to reject, for `constraint_tests`.
    pub(super) refused: Vec<Value>,
    /// Defaults of created items, for `optional_defaults`.
    pub(super) defaults: Vec<Value>,
    /// Reasons why items are missing.
    pub(super) made: Cases,
    /// Reasons why changes are missing.
    pub(super) updated: Cases,
}

impl CreatedItems {
    /// Returns the reasons for missing changes. If there are none, returns the reasons for missing items.
    pub(super) fn unchanged(&self) -> &Cases {
        if self.updated.results().skipped.is_empty() { &self.made } else { &self.updated }
    }
}

/// An item read back from the adapter: the reply, the path of the item in it, and the item.
struct ReadReply {
    reply: Value,
    path: String,
    object: Map<String, Value>,
}

impl ReadReply {
    fn of(kind: &Resource, exchange: &Exchange) -> Option<Self> {
        let data = exchange.data()?;
        let object = kind.object(data)?;
        let members = data.as_object()?;
        let key =
            members.iter().find(|(_, value)| std::ptr::eq(*value, object)).map(|(key, _)| key);
        let path = key.map_or_else(|| "data".to_owned(), |key| format!("data.{key}"));
        let object = object.as_object()?.clone();
        Some(Self { reply: exchange.received(), path, object })
    }

    /// Returns the paths of these fields with their expected values.
    ///
    /// The protocol's runner compares the bundle literally. A value that equals the reply in another notation, such as
    /// an instant with another offset, is therefore written as in the reply.
    fn fields<'f>(
        &self,
        fields: impl Iterator<Item = (&'f String, &'f Value)>,
    ) -> Map<String, Value> {
        fields
            .filter(|(name, _)| !name.contains('.'))
            .map(|(name, given)| {
                let there = self.object.get(name).filter(|there| same(given, there));
                (format!("{}.{name}", self.path), there.unwrap_or(given).clone())
            })
            .collect()
    }
}

impl Collector<'_> {
    /// Collects the evidence for each resource.
    ///
    /// For each one, creates an item with all fields and one with the required fields only. Reads both, and then
    /// changes the first field by field.
    pub(super) async fn things(&mut self) -> CreatedItems {
        let mut things = CreatedItems::default();
        for kind in self.run.resources().kinds() {
            self.round_trip(kind, &mut things).await;
            self.defaults(kind, &mut things).await;
        }
        things
    }

    async fn look(&self, thing: &CreatedItem<'_>, cases: &Cases) -> Option<ReadReply> {
        let looked = self.run.look(thing, cases).await?;
        let found = ReadReply::of(thing.resource, &looked);
        if found.is_none() {
            let reported = format!(
                "`{}` does not return the created item: {}",
                looked.operation(),
                looked.summary()
            );
            cases.skip_without(reported);
        }
        found
    }

    async fn round_trip(&self, kind: &Resource, things: &mut CreatedItems) {
        let Some(thing) = self.run.make(kind, &things.made).await else { return };
        let Some(looked) = self.look(&thing, &things.made).await else { return };
        // Some parameters only control the CREATE operation and are missing in the item.
        let sent = thing
            .sent
            .iter()
            .filter(|(name, _)| looked.object.contains_key(*name) || self.is_field(kind, name));
        let expected = looked.fields(sent);
        things.round_trips.push(json!({
            "name": format!("{} is read as it was created", kind.name),
            "expected_fields": expected,
            "read_response": looked.reply,
        }));
        self.preserved(&thing, looked, things).await;
    }

    /// Returns `true` if the item has a documented field with this name.
    fn is_field(&self, kind: &Resource, name: &str) -> bool {
        kind.changeable(self.run).iter().any(|field| field.name == name)
    }

    /// Changes each field and compares the other fields. Then tries to change fields that updates must keep.
    async fn preserved(
        &self,
        thing: &CreatedItem<'_>,
        first: ReadReply,
        things: &mut CreatedItems,
    ) {
        let kind = thing.resource;
        let Some(update) = kind.operation(&self.run.adapter, Role::Update) else { return };
        if let Some(why) = self.run.forbids(update) {
            things.updated.skip(why);
            return;
        }
        let read_only = kind.unchangeable(self.run);
        let mut before = first;
        for field in kind.changeable(self.run) {
            let current = before.object.get(field.name).cloned().unwrap_or_default();
            let Some(other) = field.other(self.run, &current) else { continue };
            let input = Value::Object(Map::from_iter([(field.name.to_owned(), other)]));
            let Some(reply) = self.run.update(thing, input, &things.updated).await else {
                continue;
            };
            if !reply.succeeded() {
                things.updated.skip_without(format!(
                    "`{}` returned {}",
                    update.name,
                    reply.summary()
                ));
                continue;
            }
            let Some(after) = self.look(thing, &things.updated).await else { continue };
            let others = before.object.iter().filter(|(name, _)| {
                *name != field.name && !name.starts_with('_') && !read_only.contains(name)
            });
            things.preserved.push(json!({
                "name": format!("{} keeps the rest when {} changes", kind.name, field.name),
                "preserved_fields": after.fields(others),
                "read_response": after.reply,
            }));
            before = after;
        }
        self.unchangeable(thing, &before, things).await;
    }

    /// Tries to change read-only fields and to shorten append-only lists.
    async fn unchangeable(
        &self,
        thing: &CreatedItem<'_>,
        now: &ReadReply,
        things: &mut CreatedItems,
    ) {
        let kind = thing.resource;
        let read_only = kind.unchangeable(self.run).into_iter().map(|name| (name, "is read-only"));
        let append_only = kind.append_only.iter().map(|name| (name.clone(), "is append-only"));
        for (name, rule) in read_only.chain(append_only) {
            let Some(current) = now.object.get(&name) else { continue };
            let value = if rule == "is append-only" { json!([]) } else { current.clone() };
            let input = Value::Object(Map::from_iter([(name.clone(), value)]));
            let Some(reply) = self.run.update(thing, input, &things.updated).await else {
                continue;
            };
            things.refused.push(json!({
                "name": format!("{}.{name} {rule}", kind.name),
                "documented": self.is_documented(kind, &name),
                "response": reply.received(),
            }));
        }
    }

    /// Returns `true` if introspection documents that a field cannot be changed. Either the type of `input` lacks the
    /// field, or a description says so.
    fn is_documented(&self, kind: &Resource, name: &str) -> bool {
        let Some(update) = kind.operation(&self.run.adapter, Role::Update) else { return false };
        let names_fields = || {
            let input = update.parameter("input")?;
            let described = format!("{} {}", input.kind, input.member("description")?);
            let is_word = |word: &str| {
                described
                    .split(|each: char| !each.is_ascii_alphanumeric() && each != '_')
                    .any(|part| part == word)
            };
            let has_type = self.run.adapter.types.iter().any(|known| is_word(&known.name));
            Some(has_type || kind.changeable(self.run).iter().all(|field| is_word(field.name)))
        };
        let says_so = |text: &str| {
            let text = text.to_lowercase();
            ["read-only", "read only", "append-only", "append only"]
                .iter()
                .any(|words| text.contains(words))
                && text.contains(name)
        };
        names_fields().unwrap_or_default()
            || says_so(&update.details().to_string())
            || self.run.adapter.types.iter().any(|known| {
                let fields = known.details().get("fields").and_then(Value::as_array);
                fields.into_iter().flatten().any(|field| says_so(&field.to_string()))
            })
    }

    /// Creates an item with the required parameters only. The values of the other fields are their defaults.
    async fn defaults(&self, kind: &Resource, things: &mut CreatedItems) {
        let Some(create) = kind.operation(&self.run.adapter, Role::Create) else { return };
        if self.run.forbids(create).is_some() {
            return;
        }
        let Ok(required) = self.run.valid(create) else { return };
        let Some(thing) = self.run.make_with(kind, required, &things.made).await else { return };
        let Some(looked) = self.look(&thing, &things.made).await else { return };
        for parameter in &create.parameters {
            let default = parameter
                .member("default")
                .filter(|default| !default.is_array() && !default.is_object());
            let Some(default) = default else { continue };
            if !thing.sent.contains_key(&parameter.name)
                && looked.object.contains_key(&parameter.name)
            {
                things.defaults.push(json!({
                    "operation": create.name,
                    "parameter": parameter.name,
                    "expected_value_path": format!("{}.{}", looked.path, parameter.name),
                    "expected_value": default,
                    "response": looked.reply,
                }));
            }
        }
    }
}
