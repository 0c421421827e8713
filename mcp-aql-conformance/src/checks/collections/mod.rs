//! Checks of filters, sorting and search.

mod filter;
mod search;
mod sort;

mod operators;
use serde_json::{Value, json};

use super::{Body, Check, later, of_level_2, should_of_level_2 as check};
use crate::cases::Cases;
use crate::checks::calls::{expect_refused, having};
use crate::run::{Run, do_all};

pub(super) const CHECKS: &[Check] = &[
    check(
        "collections.filter_unknown",
        "A filter with an unknown key is rejected",
        &["REQ-COL-04"],
        Body::Reads(later!(filter::filter_unknown)),
    ),
    check(
        "collections.filter_applied",
        "A filter selects the matching items and no others",
        &["REQ-COL-04", "REQ-COL-10"],
        Body::Reads(later!(filter::filter_applied)),
    ),
    check(
        "collections.filter_operators",
        "The operators of a filter that its type names select the items that their names promise",
        &["REQ-COL-10", "REQ-COL-11"],
        Body::Reads(later!(operators::filter_operators)),
    ),
    check(
        "collections.applied_controls",
        "A page states the field and the order by which its items were sorted",
        &["REQ-COL-10"],
        Body::Reads(later!(sort::applied_controls)),
    ),
    check(
        "collections.sort_unknown",
        "Sorting by an unknown field, or in an unknown order, is rejected",
        &["REQ-COL-05"],
        Body::Reads(later!(sort::sort_unknown)),
    ),
    check(
        "collections.sort_applied",
        "Sorting orders items in both directions",
        &["REQ-COL-05", "REQ-COL-10"],
        Body::Reads(later!(sort::sort_applied)),
    ),
    check(
        "collections.filter_keys",
        "The keys that the type of `filter` lists are accepted, and other fields are rejected",
        &["REQ-COL-11", "REQ-COL-04"],
        Body::Reads(later!(filter::filter_keys)),
    ),
    check(
        "collections.sort_fields",
        "The fields that the description of `sort` lists are accepted, and other fields are rejected",
        &["REQ-COL-11", "REQ-COL-05"],
        Body::Reads(later!(sort::sort_fields)),
    ),
    check(
        "collections.search_words",
        "A search for several words finds the items of each word, unless the description documents another rule",
        &["REQ-COL-09"],
        Body::Changes(later!(search::search_words)),
    ),
    check(
        "collections.search_query",
        "Search operations have a parameter `query`, and list operations do not require it",
        &["REQ-COL-02"],
        Body::Learned(search::search_query),
    ),
    of_level_2(
        "collections.query_shape",
        "A structured `query` has a type that introspection shows, and a description",
        &["REQ-COL-03"],
        Body::Learned(search::query_shape),
    ),
    check(
        "collections.styles_mixed",
        "Paging by cursor and by number in one request is rejected",
        &["REQ-COL-07"],
        Body::Reads(later!(styles_mixed)),
    ),
];

async fn refused_each(
    run: &Run,
    cases: &Cases,
    parameter: &'static str,
    values: &[Value],
    (expected, mend): (&'static str, &'static str),
) {
    let operations = having(run, parameter, cases);
    let jobs = operations.into_iter().flat_map(|operation| {
        values.iter().map(move |value| async move {
            let more = [(parameter, value.clone())];
            let finding = (format!("{}: {parameter}", operation.name), expected, mend);
            expect_refused(run, operation, more, finding, cases).await;
        })
    });
    do_all(jobs).await;
}

/// Whether a name is one of a plain field that could be filtered or sorted by.
fn is_field(name: &str) -> bool {
    crate::forms::is_snake_case(name)
}

async fn styles_mixed(run: &Run, cases: &Cases) {
    const NUMBERED: [&str; 4] = ["limit", "offset", "page", "page_size"];
    let paged = run.adapter.reads().filter(|operation| {
        let has = |name: &&str| operation.parameter(name).is_some();
        operation.parameter("first").is_some() || NUMBERED.iter().any(has)
    });
    let paged = cases.some_or_not_applicable(paged, "no operation documents pages");
    let jobs = paged.into_iter().map(|operation| async move {
        let documented = NUMBERED.iter().find(|name| operation.parameter(name).is_some());
        let numbered = documented.copied().unwrap_or("page");
        let more = [("first", json!(1)), (numbered, json!(1))];
        let finding = (
            &operation.name,
            format!("a VALIDATION failure: `first` and `{numbered}` exclude each other"),
            "accept one way of paging per request, and reject both together",
        );
        expect_refused(run, operation, more, finding, cases).await;
    });
    do_all(jobs).await;
}
