//! Checks of filters, sorting and search.

mod combined;
mod filter;
mod operators;
mod search;
mod sort;

use serde_json::json;

use super::{Check, checks};
use crate::adapter::Operation;
use crate::cases::Cases;
use crate::checks::planned::{CallReply, PlannedCall, invalid_calls, rejected};
use crate::run::Run;

pub(super) const CHECKS: &[Check] = checks![
    Should 2 "collections.filter_unknown" => Reads { calls: filter::unknown_key, rule: rejected }, ["REQ-COL-04"],
        "A filter with an unknown key is rejected",
        expected: "a VALIDATION failure that names the key `conformance_probe`",
        fix: "reject unknown keys of a filter: ignoring them returns wrong items";
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
    Should 2 "collections.sort_unknown" => Reads { calls: sort::unknown_orders, rule: rejected }, ["REQ-COL-05"],
        "Sorting by an unknown field, or in an unknown order, is rejected",
        expected: "a VALIDATION failure that names the unknown field or order",
        fix: "reject unknown fields, and orders other than asc and desc";
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
    Should 2 "collections.styles_mixed" => Reads { calls: mixed_styles, rule: is_one_rejected }, ["REQ-COL-07"],
        "Paging by cursor and by number in one request is rejected",
        expected: "a VALIDATION failure: `first` and `{numbered}` exclude each other",
        fix: "accept one way of paging per request, and reject both together";
];

/// Returns `true` if a name may belong to a plain field, usable in filters and as a sort field.
fn is_field(name: &str) -> bool {
    crate::forms::is_snake_case(name)
}

/// Plans calls for a page by cursor and by number.
fn mixed_styles<'r>(run: &'r Run, cases: &Cases) -> Vec<PlannedCall<'r>> {
    const NUMBERED: [&str; 4] = ["limit", "offset", "page", "page_size"];
    let numbered = |operation: &Operation| {
        NUMBERED.into_iter().find(|name| operation.parameter(name).is_some())
    };
    let paged = run.adapter.reads().filter(|operation| {
        operation.parameter("first").is_some() || numbered(operation).is_some()
    });
    let paged = cases.some_or_not_applicable(paged, "no operation documents pages");
    let calls = paged.into_iter().flat_map(|operation| {
        let numbered = numbered(operation).unwrap_or("page");
        let both = json!({ "first": 1, numbered: 1 });
        let calls = invalid_calls(run, vec![operation], "", &[both], cases).into_iter();
        calls.map(move |call| call.word("numbered", numbered))
    });
    calls.collect()
}

fn is_one_rejected(it: &CallReply<'_>) -> Option<bool> {
    let name = &it.call.operation.name;
    if it.call.operation.parameter("first").is_some() {
        return rejected(it);
    }
    // If the operation has no cursors, `first` is an unknown parameter.
    if it.reply.succeeded() {
        let why = format!("`{name}` does not document `first` and ignores it");
        it.cases.block("parameters.undocumented", why);
        return None;
    }
    Some(true)
}
