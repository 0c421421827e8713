//! Checks of UPDATE operations: their input, changes and unchanged fields.

mod input;
mod merge;
mod nulls;
mod objects;
mod rules;

use serde_json::{Value, json};

use super::{Body, Check, later, of_level_2 as check, should};
use crate::adapter::Operation;
use crate::call::Exchange;
use crate::cases::{Cases, Skip};
use crate::items::CreatedItem;
use crate::resources::Role;
use crate::run::Run;

pub(super) const CHECKS: &[Check] = &[
    should(check(
        "updates.input_documented",
        "UPDATE operations document `input` as a required object",
        &["REQ-UPD-12"],
        Body::Learned(input::input_documented),
    )),
    check(
        "updates.input_required",
        "An UPDATE without `input` is rejected with VALIDATION_MISSING_PARAM",
        &["REQ-UPD-02"],
        Body::Changes(later!(input::input_required)),
    ),
    check(
        "updates.input_type",
        "An `input` that is not an object is rejected",
        &["REQ-UPD-03"],
        Body::Changes(later!(input::input_type)),
    ),
    check(
        "updates.flat_refused",
        "Fields are changed only inside `input`",
        &["REQ-UPD-01"],
        Body::Changes(later!(input::flat_refused)),
    ),
    check(
        "updates.identifier_inside",
        "An identifier inside `input` is rejected",
        &["REQ-UPD-06"],
        Body::Changes(later!(input::identifier_inside)),
    ),
    should(check(
        "updates.unknown_field",
        "An unknown field inside `input` is rejected with VALIDATION_UNKNOWN_FIELD",
        &["REQ-UPD-05"],
        Body::Changes(later!(input::unknown_field)),
    )),
    check(
        "updates.values_checked",
        "Values inside `input` are validated like those of parameters",
        &["REQ-UPD-04"],
        Body::Changes(later!(input::values_checked)),
    ),
    check(
        "updates.nothing_on_failure",
        "A rejected UPDATE changes nothing",
        &["REQ-UPD-04", "REQ-RQ-06"],
        Body::Changes(later!(input::nothing_on_failure)),
    ),
    check(
        "updates.overwrites",
        "A value in `input` replaces the stored one",
        &["REQ-UPD-07"],
        Body::Changes(later!(merge::overwrites)),
    ),
    should(check(
        "updates.result_matches",
        "The result of an UPDATE operation equals the item as read afterwards",
        &["REQ-UPD-07", "REQ-CNF-04"],
        Body::Changes(later!(merge::result_matches)),
    )),
    check(
        "updates.preserves",
        "Fields that are not in `input` do not change",
        &["REQ-UPD-11", "REQ-CNF-04"],
        Body::Changes(later!(merge::preserves)),
    ),
    check(
        "updates.deep_merge",
        "Objects in `input` merge at every depth",
        &["REQ-UPD-08"],
        Body::Changes(later!(objects::deep_merge)),
    ),
    check(
        "updates.arrays_whole",
        "Lists in `input` replace the stored ones as a whole",
        &["REQ-UPD-09"],
        Body::Changes(later!(objects::arrays_whole)),
    ),
    check(
        "updates.null_removes",
        "A null in `input` removes the field",
        &["REQ-UPD-10"],
        Body::Changes(later!(nulls::null_removes)),
    ),
    check(
        "updates.read_only",
        "UPDATE operations do not change read-only fields",
        &["REQ-CNF-13", "REQ-UPD-04"],
        Body::Changes(later!(rules::read_only)),
    ),
    should(check(
        "updates.read_only_refused",
        "Read-only fields are rejected inside `input`",
        &["REQ-CNF-13", "REQ-UPD-05"],
        Body::Changes(later!(rules::read_only_refused)),
    )),
    should(check(
        "updates.append_only",
        "Append-only lists lose no entries, and such an UPDATE is rejected",
        &["REQ-CNF-13"],
        Body::Changes(later!(rules::append_only)),
    )),
    should(check(
        "updates.if_match",
        "An UPDATE with an outdated `if_match` fails with CONFLICT_VERSION_MISMATCH",
        &["REQ-CON-03"],
        Body::Changes(later!(rules::if_match)),
    )),
    should(check(
        "updates.if_match_null",
        "An `if_match` of null is not treated as an absent condition",
        &["REQ-CON-03", "REQ-ENC-15"],
        Body::Changes(later!(rules::if_match_null)),
    )),
    should(check(
        "updates.version_shown",
        "Changeable items have a version that changes with them",
        &["REQ-CON-02"],
        Body::Changes(later!(rules::version_shown)),
    )),
];

/// An item that was created to be changed.
struct Subject<'a> {
    thing: CreatedItem<'a>,
    update: &'a Operation,
}

/// Creates one item of each resource that has an UPDATE operation.
async fn subjects<'r>(run: &'r Run, cases: &Cases) -> Vec<Subject<'r>> {
    let mut subjects = Vec::new();
    for kind in run.kinds(Role::Update, cases) {
        let Some(update) = kind.operation(&run.adapter, Role::Update) else { continue };
        if let Some(why) = run.forbids(update) {
            cases.skip(why);
            continue;
        }
        if let Some(thing) = run.make(kind, cases).await {
            subjects.push(Subject { thing, update });
        }
    }
    subjects
}

impl<'a> Subject<'a> {
    /// A field, its current value, and another valid value of it.
    async fn change(&self, run: &'a Run, cases: &Cases) -> Option<(&'a str, Value, Value)> {
        let now = run.stored(&self.thing, cases).await?;
        let found = self.thing.resource.changeable(run).into_iter().find_map(|field| {
            Some((field.name, field.other(now.get(field.name).unwrap_or(&Value::Null))?))
        });
        if found.is_none() {
            cases.skip(Skip::NoFixture(format!(
                "a field that `{}` changes: document the fields in a type that `input` names",
                self.update.name
            )));
        }
        found.map(|(name, value)| (name, value, now))
    }

    /// Calls the operation with these parameters and the item's identifier.
    async fn call(
        &self,
        run: &Run,
        more: impl IntoIterator<Item = (&str, Value)>,
        cases: &Cases,
    ) -> Option<Exchange> {
        let on = run.on(self.update, self.thing.resource, &self.thing.id);
        let mut params = cases.ok_or_skip(on)?;
        for (name, value) in more {
            params.insert(name.to_owned(), value);
        }
        run.act(self.update, params, cases).await
    }

    /// Changes the item and reads it. Skips the case if the change is rejected.
    async fn changed(&self, run: &Run, input: Value, cases: &Cases) -> Option<(Exchange, Value)> {
        let names: Vec<_> =
            input.as_object().into_iter().flat_map(serde_json::Map::keys).cloned().collect();
        let exchange = self.call(run, [("input", input)], cases).await?;
        if !exchange.succeeded() {
            cases.skip(Skip::NoFixture(format!(
                "a value of `{}` that `{}` accepts; it returned {}: name fields that no update may \
                     change in `read_only` under [resources.{}]",
                names.join("`, `"),
                self.update.name,
                exchange.summary(),
                self.thing.resource.name,
            )));
            return None;
        }
        Some((exchange, run.stored(&self.thing, cases).await?))
    }

    /// The subject of a finding: a field of the operation.
    fn field(&self, name: &str) -> String {
        format!("{}, field `{name}`", self.update.name)
    }
}

/// An `input` with one field.
fn only(name: &str, value: Value) -> Value {
    json!({ name: value })
}
