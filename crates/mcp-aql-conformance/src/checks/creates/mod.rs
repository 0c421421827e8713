//! Checks that created items can be read as they were submitted.

mod effects;
mod listed;
mod stored;

use super::{Check, checks};
use crate::adapter::Operation;
use crate::cases::{Cases, Finding};
use crate::checks::calls::valid;
use crate::resources::{Resource, Role};
use crate::run::Run;

pub(super) use self::stored::agrees;

/// Suggestion of the checks that compare stored values with submitted ones.
const STORED_FIX: &str = "store the submitted value, and return it under the name of the parameter; if the adapter is \
     meant to trim a string, to change its case or its spaces, or to store a list as a set, \
     say so in the description of the parameter";

pub(super) const CHECKS: &[Check] = checks![
    Should 2 "creates.form" => Changes(form), ["REQ-RSP-11"],
        "The result of a CREATE operation identifies the created item",
        fix: "return the new item under its own name, including its identifier: clients need it to read, change or \
         remove the item";
    Must 1 "creates.read_back" => Changes(stored::read_back), ["REQ-CNF-04", "REQ-CNF-13"],
        "A created item has every submitted value when it is read",
        fix: STORED_FIX;
    Must 1 "creates.values_kept" => Changes(stored::values_kept), ["REQ-CNF-04", "REQ-CNF-13"],
        "Strings keep their case and spaces, and lists keep their order, unless the description says \
         otherwise",
        fix: STORED_FIX;
    Must 2 "creates.listed" => Alone(listed::listed), ["REQ-CNF-13", "REQ-COL-10"],
        "A list of a resource has all its items, including the created ones, with the fields of a single item",
        fix: "return every stored item, or document how to get the next page (`first` and `after`)";
    Should 2 "creates.result_matches" => Changes(stored::result_matches),
        ["REQ-CNF-13", "REQ-RQ-09"],
        "The result of a CREATE operation equals the item as read afterwards",
        fix: "return the item as it is stored after the change";
    Should 2 "creates.created_once" => Changes(effects::created_once), ["REQ-CNF-13"],
        "One call of a CREATE operation creates only the items that its result names",
        fix: "create one item per call, or name every created item in the result";
    Must 2 "creates.defaults_shown" => Changes(stored::defaults_shown), ["REQ-RQ-09"],
        "Omitted parameters have their documented defaults",
        fix: "apply the documented default if the parameter is omitted";
    Must 2 "creates.rejected_whole" => Alone(effects::rejected_whole), ["REQ-RQ-08", "REQ-RQ-06"],
        "A rejected CREATE call creates nothing",
        fix: "check all parameters before the item is stored, or roll back";
];

/// Returns the resources with a CREATE operation, each with this operation.
fn creatable<'r>(
    run: &'r Run,
    cases: &Cases,
) -> impl Iterator<Item = (&'r Resource, &'r Operation)> {
    let kinds = run.kinds(Role::Create, cases).into_iter();
    kinds.filter_map(|kind| Some((kind, kind.operation(&run.adapter, Role::Create)?)))
}

async fn form(run: &Run, cases: &Cases) {
    for (kind, create) in creatable(run, cases) {
        let Some(params) = valid(run, create, cases) else { continue };
        let Some(made) = run.create(kind, params, cases).await else { continue };
        if !made.succeeded() {
            cases.skip_without(format!(
                "`{name}` created nothing and returned {}: add parameters under [params.{name}]",
                made.summary(),
                name = create.name,
            ));
            continue;
        }
        let id = made.data().and_then(|data| kind.identity(kind.object(data)?));
        cases.expect(id.is_some(), || {
            Finding::of(&made, &create.name).expected(format!(
                "`data.{}` with the `{}` of the created item",
                kind.name, kind.id
            ))
        });
    }
}
