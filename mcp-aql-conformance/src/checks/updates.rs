//! Checks of UPDATE operations: their input, changes and unchanged fields.

mod input;
mod merge;
mod rules;

use serde_json::{Value, json};

use super::{Body, Check, Keyword, later};
use crate::adapter::Operation;
use crate::call::Exchange;
use crate::cases::{Cases, Skip};
use crate::items::CreatedItem;
use crate::resources::Role;
use crate::run::Run;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "updates.input_documented",
        title: "UPDATE operations document `input` as a required object",
        requirements: &["REQ-UPD-12"],
        keyword: Keyword::Should,
        level: 2,
        body: Body::Learned(input::input_documented),
    },
    Check {
        id: "updates.input_required",
        title: "An UPDATE without `input` is rejected with VALIDATION_MISSING_PARAM",
        requirements: &["REQ-UPD-02"],
        keyword: Keyword::Must,
        level: 2,
        body: Body::Changes(later!(input::input_required)),
    },
    Check {
        id: "updates.input_type",
        title: "An `input` that is not an object is rejected",
        requirements: &["REQ-UPD-03"],
        keyword: Keyword::Must,
        level: 2,
        body: Body::Changes(later!(input::input_type)),
    },
    Check {
        id: "updates.flat_refused",
        title: "Fields are changed only inside `input`",
        requirements: &["REQ-UPD-01"],
        keyword: Keyword::Must,
        level: 2,
        body: Body::Changes(later!(input::flat_refused)),
    },
    Check {
        id: "updates.identifier_inside",
        title: "An identifier inside `input` is rejected",
        requirements: &["REQ-UPD-06"],
        keyword: Keyword::Must,
        level: 2,
        body: Body::Changes(later!(input::identifier_inside)),
    },
    Check {
        id: "updates.unknown_field",
        title: "An unknown field inside `input` is rejected with VALIDATION_UNKNOWN_FIELD",
        requirements: &["REQ-UPD-05"],
        keyword: Keyword::Should,
        level: 2,
        body: Body::Changes(later!(input::unknown_field)),
    },
    Check {
        id: "updates.values_checked",
        title: "Values inside `input` are validated like those of parameters",
        requirements: &["REQ-UPD-04"],
        keyword: Keyword::Must,
        level: 2,
        body: Body::Changes(later!(input::values_checked)),
    },
    Check {
        id: "updates.nothing_on_failure",
        title: "A rejected UPDATE changes nothing",
        requirements: &["REQ-UPD-04", "REQ-RQ-06"],
        keyword: Keyword::Must,
        level: 2,
        body: Body::Changes(later!(input::nothing_on_failure)),
    },
    Check {
        id: "updates.overwrites",
        title: "A value in `input` replaces the stored one",
        requirements: &["REQ-UPD-07"],
        keyword: Keyword::Must,
        level: 2,
        body: Body::Changes(later!(merge::overwrites)),
    },
    Check {
        id: "updates.result_matches",
        title: "The result of an UPDATE operation equals the item as read afterwards",
        requirements: &["REQ-UPD-07", "REQ-CNF-04"],
        keyword: Keyword::Should,
        level: 2,
        body: Body::Changes(later!(merge::result_matches)),
    },
    Check {
        id: "updates.preserves",
        title: "Fields that are not in `input` do not change",
        requirements: &["REQ-UPD-11", "REQ-CNF-04"],
        keyword: Keyword::Must,
        level: 2,
        body: Body::Changes(later!(merge::preserves)),
    },
    Check {
        id: "updates.deep_merge",
        title: "Objects in `input` merge at every depth",
        requirements: &["REQ-UPD-08"],
        keyword: Keyword::Must,
        level: 2,
        body: Body::Changes(later!(merge::deep_merge)),
    },
    Check {
        id: "updates.arrays_whole",
        title: "Lists in `input` replace the stored ones as a whole",
        requirements: &["REQ-UPD-09"],
        keyword: Keyword::Must,
        level: 2,
        body: Body::Changes(later!(merge::arrays_whole)),
    },
    Check {
        id: "updates.null_removes",
        title: "A null in `input` removes the field",
        requirements: &["REQ-UPD-10"],
        keyword: Keyword::Must,
        level: 2,
        body: Body::Changes(later!(merge::null_removes)),
    },
    Check {
        id: "updates.read_only",
        title: "UPDATE operations do not change read-only fields",
        requirements: &["REQ-CNF-13", "REQ-UPD-04"],
        keyword: Keyword::Must,
        level: 2,
        body: Body::Changes(later!(rules::read_only)),
    },
    Check {
        id: "updates.read_only_refused",
        title: "Read-only fields are rejected inside `input`",
        requirements: &["REQ-CNF-13", "REQ-UPD-05"],
        keyword: Keyword::Should,
        level: 2,
        body: Body::Changes(later!(rules::read_only_refused)),
    },
    Check {
        id: "updates.append_only",
        title: "Append-only lists lose no entries, and such an UPDATE is rejected",
        requirements: &["REQ-CNF-13"],
        keyword: Keyword::Should,
        level: 2,
        body: Body::Changes(later!(rules::append_only)),
    },
    Check {
        id: "updates.if_match",
        title: "An UPDATE with an outdated `if_match` fails with CONFLICT_VERSION_MISMATCH",
        requirements: &["REQ-CON-03"],
        keyword: Keyword::Should,
        level: 2,
        body: Body::Changes(later!(rules::if_match)),
    },
    Check {
        id: "updates.if_match_null",
        title: "An `if_match` of null is not treated as an absent condition",
        requirements: &["REQ-CON-03", "REQ-ENC-15"],
        keyword: Keyword::Should,
        level: 2,
        body: Body::Changes(later!(rules::if_match_null)),
    },
    Check {
        id: "updates.version_shown",
        title: "Changeable items have a version that changes with them",
        requirements: &["REQ-CON-02"],
        keyword: Keyword::Should,
        level: 2,
        body: Body::Changes(later!(rules::version_shown)),
    },
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
