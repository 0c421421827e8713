//! Checks of UPDATE operations: their input, their changes and unchanged fields.

mod input;
mod merge;
mod nulls;
mod objects;
mod repair;
mod rules;

use serde_json::{Value, json};

use super::{Check, checks};
use crate::adapter::Operation;
use crate::call::Exchange;
use crate::cases::Cases;
use crate::items::CreatedItem;
use crate::resources::Role;
use crate::run::Run;

pub(super) const CHECKS: &[Check] = checks![
    Should 2 "updates.input_documented" => Learned(input::input_documented), ["REQ-UPD-12"],
        "UPDATE operations document `input` as a required object",
        expected: "a required parameter `input` of type object, in addition to the identifier",
        fix: "accept all changed fields inside `input`, and document that in the details";
    Must 2 "updates.input_required" => Changes(input::input_required), ["REQ-UPD-02"],
        "An UPDATE without `input` is rejected with VALIDATION_MISSING_PARAM",
        expected: "a failure VALIDATION_MISSING_PARAM with `details.param_name` \"input\"",
        fix: "require `input` in every UPDATE operation";
    Must 2 "updates.input_type" => Changes(input::input_type), ["REQ-UPD-03"],
        "An `input` that is not an object is rejected",
        expected: "a failure VALIDATION_INVALID_TYPE that names `input`, which must be an object",
        fix: "check the type of `input` before its members";
    Must 2 "updates.flat_refused" => Changes(input::flat_refused), ["REQ-UPD-01"],
        "Fields are changed only inside `input`",
        fix: "accept all changed fields inside `input`, and the identifier next to it";
    Must 2 "updates.identifier_inside" => Changes(input::identifier_inside), ["REQ-UPD-06"],
        "An identifier inside `input` is rejected",
        fix: "reject the identifier inside `input`: it cannot be changed";
    Should 2 "updates.unknown_field" => Changes(input::unknown_field), ["REQ-UPD-05"],
        "An unknown field inside `input` is rejected with VALIDATION_UNKNOWN_FIELD",
        fix: "reject unknown fields at every depth instead of ignoring them";
    Must 2 "updates.values_checked" => Changes(input::values_checked), ["REQ-UPD-04"],
        "Values inside `input` are validated like those of parameters",
        fix: "validate values inside `input` by the type of the field";
    Should 2 "updates.flat_explained" => Changes(repair::flat_explained),
        ["REQ-ERR-05", "REQ-UPD-01", "REQ-UPD-02"],
        "The failure of an UPDATE with fields outside `input` names `input`",
        fix: "say that changed fields belong inside `input`: models often send them next to the identifier";
    Should 2 "updates.field_explained" => Changes(repair::field_explained),
        ["REQ-ERR-05", "REQ-UPD-04", "REQ-UPD-05"],
        "The failure of a wrong field inside `input` names the field and what is expected",
        fix: "list the valid fields in the details, or suggest the most similar one in the message";
    Must 2 "updates.nothing_on_failure" => Changes(input::nothing_on_failure),
        ["REQ-UPD-04", "REQ-RQ-06"],
        "A rejected UPDATE changes nothing",
        fix: "validate the whole `input` before changing the first field";
    Must 1 "updates.overwrites" => Changes(merge::overwrites), ["REQ-UPD-07", "REQ-CNF-04"],
        "A value in `input` replaces the stored one",
        fix: "store the values in `input` unchanged; if the adapter is meant to trim a string or to change its case \
         or its spaces, say so in the description of the field";
    Should 2 "updates.result_matches" => Changes(merge::result_matches),
        ["REQ-UPD-07", "REQ-CNF-04"],
        "The result of an UPDATE operation equals the item as read afterwards",
        fix: "return the item as it is stored after the change";
    Must 1 "updates.preserves" => Changes(merge::preserves), ["REQ-UPD-11", "REQ-CNF-04"],
        "Fields that are not in `input` do not change",
        fix: "change only the fields in `input`";
    Must 2 "updates.deep_merge" => Changes(objects::deep_merge), ["REQ-UPD-08"],
        "Objects in `input` merge at every depth",
        fix: "merge objects key by key, at every depth; replace other values";
    Must 2 "updates.arrays_whole" => Changes(objects::arrays_whole), ["REQ-UPD-09"],
        "Lists in `input` replace the stored ones as a whole",
        fix: "replace the old list; do not append or merge its items";
    Must 2 "updates.null_removes" => Changes(nulls::null_removes), ["REQ-UPD-10"],
        "A null in `input` removes the field",
        fix: "distinguish null from omitted fields, and remove the field and no other";
    Must 2 "updates.read_only" => Changes(rules::read_only), ["REQ-CNF-13", "REQ-UPD-04"],
        "UPDATE operations do not change read-only fields",
        expected: "an unchanged field, because it is read-only",
        fix: "reject read-only fields inside `input`";
    Should 2 "updates.read_only_refused" => Changes(rules::read_only_refused),
        ["REQ-CNF-13", "REQ-UPD-05"],
        "Read-only fields are rejected inside `input`",
        expected: "a failure VALIDATION_READ_ONLY_FIELD or VALIDATION_UNKNOWN_FIELD",
        fix: "reject read-only fields instead of ignoring them";
    Should 2 "updates.append_only" => Changes(rules::append_only), ["REQ-CNF-13"],
        "Append-only lists lose no entries, and such an UPDATE is rejected",
        expected: "a failure VALIDATION_APPEND_ONLY and an unchanged list, because it may only grow",
        fix: "reject lists that lack stored entries";
    Should 2 "updates.if_match" => Changes(rules::if_match), ["REQ-CON-03"],
        "An UPDATE with an outdated `if_match` fails with CONFLICT_VERSION_MISMATCH",
        fix: "compare `if_match` with the stored version and write in one atomic step";
    Should 2 "updates.if_match_null" => Changes(rules::if_match_null), ["REQ-CON-03", "REQ-ENC-15"],
        "An `if_match` of null is not treated as an absent condition",
        expected: "a VALIDATION failure, and no change, because the caller sent no version",
        fix: "reject null, or treat it as a version that never matches: a caller who sends `if_match` wants a \
         condition";
    Should 2 "updates.version_shown" => Changes(rules::version_shown), ["REQ-CON-02"],
        "Changeable items have a version that changes with them",
        fix: "return the version: clients need it for `if_match`";
];

/// An item created to be changed, with the operation that changes it.
struct Subject<'a> {
    run: &'a Run,
    cases: &'a Cases,
    thing: CreatedItem<'a>,
    update: &'a Operation,
}

/// Creates one item of each resource with an UPDATE operation.
async fn subjects<'r>(run: &'r Run, cases: &'r Cases) -> Vec<Subject<'r>> {
    let mut subjects = Vec::new();
    for kind in run.kinds(Role::Update, cases) {
        let Some(update) = kind.operation(&run.adapter, Role::Update) else { continue };
        let Some(()) = run.permits(update, cases) else { continue };
        if let Some(thing) = run.make(kind, cases).await {
            subjects.push(Subject { run, cases, thing, update });
        }
    }
    subjects
}

impl<'a> Subject<'a> {
    /// Returns a field to change, another valid value for it, and the current item.
    ///
    /// Skips the case if no changeable field is known.
    async fn change(&self) -> Option<(&'a str, Value, Value)> {
        let now = self.stored().await?;
        let found = self.thing.resource.changeable(self.run).into_iter().find_map(|field| {
            Some((field.name, field.other(self.run, now.get(field.name).unwrap_or(&Value::Null))?))
        });
        if found.is_none() {
            self.cases.skip_without(format!(
                "a field that `{}` changes: document the fields in a type that `input` names",
                self.update.name
            ));
        }
        found.map(|(name, value)| (name, value, now))
    }

    /// Calls the operation with the identifier of the item and `more` parameters.
    async fn call(&self, more: impl IntoIterator<Item = (&str, Value)>) -> Option<Exchange> {
        let on = self.run.on(self.update, self.thing.resource, &self.thing.id);
        let mut params = self.cases.ok_or_skip(on)?;
        params.extend(more.into_iter().map(|(name, value)| (name.to_owned(), value)));
        self.run.act(self.update, params, self.cases).await
    }

    /// Calls the operation with this `input`.
    async fn send(&self, input: Value) -> Option<Exchange> {
        self.call([("input", input)]).await
    }

    /// Reads the item.
    async fn stored(&self) -> Option<Value> {
        self.run.stored(&self.thing, self.cases).await
    }

    /// Changes the item and reads it afterwards. Skips the case if the adapter rejects the change.
    async fn changed(&self, input: Value) -> Option<(Exchange, Value)> {
        let names: Vec<_> =
            input.as_object().into_iter().flat_map(serde_json::Map::keys).cloned().collect();
        let exchange = self.send(input).await?;
        if !exchange.succeeded() {
            // Read the item first, because it may have been removed together with another one.
            self.stored().await?;
            self.cases.skip_without(format!(
                "a value of `{}` that `{}` accepts; it returned {}: name fields that no update may \
                     change in `read_only` under [resources.{}]",
                names.join("`, `"),
                self.update.name,
                exchange.summary(),
                self.thing.resource.name,
            ));
            return None;
        }
        Some((exchange, self.stored().await?))
    }

    /// Returns the subject of a finding: a field of the operation.
    fn field(&self, name: &str) -> String {
        format!("{}, field `{name}`", self.update.name)
    }
}

/// Returns an `input` with one field.
fn only(name: &str, value: Value) -> Value {
    json!({ name: value })
}
