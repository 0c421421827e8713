//! Checks of filters, sorting and search.

mod combined;
mod filter;
mod operators;
mod search;
mod sort;

use serde_json::{Value, json};

use super::{Check, checks};
use crate::cases::Cases;
use crate::checks::calls::{expect_refused, having, refused_with};
use crate::run::{Run, do_all};

pub(super) const CHECKS: &[Check] = checks![
    Should 2 "collections.filter_unknown" => Reads(filter::filter_unknown), ["REQ-COL-04"],
        "A filter with an unknown key is rejected";
    Must 2 "collections.filter_applied" => Reads(filter::filter_applied),
        ["REQ-COL-04", "REQ-COL-10", "REQ-INT-20"],
        "A filter selects the matching items and no others",
        fix: "apply the filter to every item";
    Should 2 "collections.filter_operators" => Reads(operators::filter_operators),
        ["REQ-COL-10", "REQ-COL-11"],
        "The operators of a filter that its type names select the items that their names promise",
        fix: "implement every operator that the type names, and name only supported ones";
    Should 2 "collections.applied_controls" => Reads(sort::applied_controls), ["REQ-COL-10"],
        "A page states the field and the order by which its items were sorted",
        fix: "state the applied order next to the items, such as `\"applied\": { \"sort\": { \"field\": \"title\", \
         \"order\": \"asc\" } }`";
    Should 2 "collections.sort_unknown" => Reads(sort::sort_unknown), ["REQ-COL-05"],
        "Sorting by an unknown field, or in an unknown order, is rejected";
    Must 2 "collections.sort_applied" => Reads(sort::sort_applied), ["REQ-COL-05", "REQ-COL-10", "REQ-INT-20"],
        "Sorting orders items in both directions",
        fix: "sort before paging, in both orders";
    Must 2 "collections.combined_controls" => Alone(combined::combined_controls),
        ["REQ-COL-04", "REQ-COL-05", "REQ-COL-10", "REQ-INT-20"],
        "Conditions, order, pages and selected fields apply together",
        fix: "apply every condition of a filter: an item must meet all of them";
    Should 2 "collections.filter_keys" => Reads(filter::filter_keys), ["REQ-COL-11", "REQ-COL-04"],
        "The keys that the type of `filter` lists are accepted, and other fields are rejected",
        fix: "generate the filter's type from the keys that the filter supports";
    Should 2 "collections.sort_fields" => Reads(sort::sort_fields), ["REQ-COL-11", "REQ-COL-05"],
        "The fields that the description of `sort` lists are accepted, and other fields are rejected",
        fix: "generate the description of `sort` from the sortable fields";
    Should 2 "collections.search_words" => Changes(search::search_words), ["REQ-COL-09"],
        "A search for several words finds the items of each word, unless the description documents another rule",
        fix: "treat several words as alternatives, or document in the description of `query` how they are combined";
    Should 2 "collections.search_query" => Learned(search::search_query), ["REQ-COL-02"],
        "Search operations have a parameter `query`, and list operations do not require it",
        fix: "name the parameter for the search string `query`";
    Must 2 "collections.query_shape" => Learned(search::query_shape), ["REQ-COL-03"],
        "A structured `query` has a type that introspection shows, and a description",
        expected: "the name of a type that `introspect types` shows, and a description of its grammar",
        fix: "declare a type for the query, and describe what it can express";
    Should 2 "collections.styles_mixed" => Reads(styles_mixed), ["REQ-COL-07"],
        "Paging by cursor and by number in one request is rejected";
];

async fn refused_each(
    run: &Run,
    cases: &Cases,
    parameter: &'static str,
    values: &[Value],
    (expected, fix): (&'static str, &'static str),
) {
    let operations = having(run, parameter, cases);
    let jobs = operations.into_iter().flat_map(|operation| {
        values.iter().map(move |value| async move {
            let more = [(parameter, value.clone())];
            let finding = (format!("{}: {parameter}", operation.name), expected, fix);
            expect_refused(run, operation, more, finding, cases).await;
        })
    });
    do_all(jobs).await;
}

/// Returns `true` if a name may belong to a plain field, usable in filters and as a sort field.
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
        if operation.parameter("first").is_none() {
            // If the operation has no cursors, `first` is an unknown parameter.
            let Some(exchange) = refused_with(run, operation, more.clone(), cases).await else {
                return;
            };
            if exchange.succeeded() {
                let why = format!("`{}` does not document `first` and ignores it", operation.name);
                cases.block("parameters.undocumented", why);
            } else {
                cases.pass();
            }
            return;
        }
        let finding = (
            &operation.name,
            format!("a VALIDATION failure: `first` and `{numbered}` exclude each other"),
            "accept one way of paging per request, and reject both together",
        );
        expect_refused(run, operation, more, finding, cases).await;
    });
    do_all(jobs).await;
}
