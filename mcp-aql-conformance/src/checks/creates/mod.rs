//! Checks that created items can be read as they were submitted.

mod effects;
mod stored;

use super::{Body, Check, later, of_level_2 as check, should};
use crate::adapter::Operation;
use crate::cases::{Cases, Finding, Skip};
use crate::checks::calls::valid;
use crate::resources::{Resource, Role};
use crate::run::Run;

pub(super) use self::stored::agrees;

pub(super) const CHECKS: &[Check] = &[
    should(check(
        "creates.form",
        "The result of a CREATE operation identifies the created item",
        &["REQ-RSP-11"],
        Body::Changes(later!(form)),
    )),
    check(
        "creates.read_back",
        "A created item is read with every field as submitted",
        &["REQ-CNF-04", "REQ-CNF-13"],
        Body::Changes(later!(stored::read_back)),
    ),
    should(check(
        "creates.values_kept",
        "Texts keep their case and inner spaces, and lists keep their order",
        &["REQ-CNF-13"],
        Body::Changes(later!(stored::values_kept)),
    )),
    should(check(
        "creates.result_matches",
        "The result of a CREATE operation equals the item as read afterwards",
        &["REQ-CNF-13", "REQ-RQ-09"],
        Body::Changes(later!(stored::result_matches)),
    )),
    should(check(
        "creates.created_once",
        "One call of a CREATE operation creates only the items that its result names",
        &["REQ-CNF-13"],
        Body::Changes(later!(effects::created_once)),
    )),
    check(
        "creates.defaults_shown",
        "Omitted parameters have their documented defaults",
        &["REQ-RQ-09"],
        Body::Changes(later!(stored::defaults_shown)),
    ),
    check(
        "creates.rejected_whole",
        "A rejected CREATE call creates nothing",
        &["REQ-RQ-08", "REQ-RQ-06"],
        Body::Alone(later!(effects::rejected_whole)),
    ),
];

/// The resources that can be created, each with its CREATE operation.
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
            cases.skip(Skip::NoFixture(format!(
                "`{name}` created nothing and returned {}: add parameters under [params.{name}]",
                made.summary(),
                name = create.name,
            )));
            continue;
        }
        let id = made.data().and_then(|data| kind.identity(kind.object(data)?));
        cases.expect(id.is_some(), || {
            Finding::of(
                &made,
                &create.name,
                format!("`data.{}` with the `{}` of the created item", kind.name, kind.id),
                    "return the new item under its own name, including its identifier: clients need it to \
                     read, change or remove the item",
            )
        });
    }
}
