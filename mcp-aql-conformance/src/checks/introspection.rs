//! What `introspect` answers.

use super::{Body, Check, Keyword};
use crate::cases::{Cases, Finding};
use crate::run::Run;

pub(super) const CHECKS: &[Check] = &[Check {
    id: "introspection.introspect_listed",
    title: "The list of operations includes `introspect`",
    requirements: &["REQ-INT-24"],
    keyword: Keyword::Should,
    level: 1,
    body: Body::Learned(introspect_listed),
}];

fn introspect_listed(run: &Run, cases: &Cases) {
    cases.expect(run.adapter.operation("introspect").is_some(), || {
        Finding::shown(
            "introspect operations",
            run.adapter
                .operations
                .iter()
                .map(|operation| operation.name.as_str())
                .collect::<Vec<_>>(),
            "an entry for `introspect`",
            "list `introspect` as what it is: a READ operation like any other",
        )
    });
}
