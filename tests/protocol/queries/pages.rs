//! Tests pages of a collection and their cursors.

use mcp_aql::prelude::*;
use serde_json::{Value, json};

use super::garden::{GARDEN, Plant, adapter_of, ids, list, plant};
use crate::support::{call, code, data, details, entry_names, message, names};

fn page(params: Value) -> Value {
    data(list(params))
}

/// Returns the ids on a page sorted by id.
#[track_caller]
fn numbers(mut params: Value) -> Vec<u64> {
    params["sort"] = json!({ "field": "plant_id" });
    ids(&list(params))
}

fn cursor(end: &str, params: Value) -> Value {
    let cursor = page(params)["pageInfo"][end].clone();
    assert!(cursor.is_string());
    cursor
}

#[test]
fn forwards_and_backwards() {
    // REQ-PAG-01, REQ-PAG-04, REQ-PAG-10
    let sort = json!({ "field": "plant_id" });
    let second = cursor("endCursor", json!({ "sort": sort, "first": 2 }));
    let sixth = cursor("startCursor", json!({ "sort": sort, "last": 2 }));
    for (params, wanted, next, previous) in [
        (json!({}), vec![1, 2, 3, 4, 5, 6, 7], false, false),
        (json!({ "first": 2 }), vec![1, 2], true, false),
        (json!({ "first": 7 }), vec![1, 2, 3, 4, 5, 6, 7], false, false),
        (json!({ "first": 3, "after": second }), vec![3, 4, 5], true, true),
        (json!({ "first": 5, "after": second }), vec![3, 4, 5, 6, 7], false, true),
        (json!({ "last": 2 }), vec![6, 7], false, true),
        (json!({ "last": 7 }), vec![1, 2, 3, 4, 5, 6, 7], false, false),
        (json!({ "last": 3, "before": sixth }), vec![3, 4, 5], true, true),
        (json!({ "last": 5, "before": sixth }), vec![1, 2, 3, 4, 5], true, false),
        (json!({ "first": 0 }), vec![], true, false),
        (json!({ "last": 0 }), vec![], false, true),
    ] {
        let mut params = params;
        params["sort"] = sort.clone();
        let reply = list(params.clone());
        assert_eq!(ids(&reply), wanted, "{params}");
        let info = &reply["data"]["pageInfo"];
        assert_eq!(info["hasNextPage"], next, "{params}");
        assert_eq!(info["hasPreviousPage"], previous, "{params}");
        assert_eq!(info["totalCount"], 7, "{params}");
    }
}

/// Water the garden.
#[operation(category = "EXECUTE", lifecycle(cancel))]
async fn execute_watering() -> u32 {
    7
}

#[test]
fn every_list_pages_by_the_same_rules() {
    // REQ-PAG-01, REQ-PAG-02, REQ-PAG-04, REQ-PAG-08, REQ-PAG-10
    let garden = super::garden::Garden::new(super::garden::plants());
    let adapter = super::garden::builder(garden).operation(execute_watering {}).build().unwrap();
    let mut lists = Vec::new();
    for operation in adapter.operations() {
        let details = json!({ "query": "operations", "name": operation.name });
        let details = data(call(&adapter, "introspect", details))["operation"].take();
        let parameters = entry_names(&details["parameters"]).into_iter();
        let controls: Vec<_> =
            parameters.filter(|name| ["first", "after", "last", "before"].contains(name)).collect();
        if controls.is_empty() {
            continue;
        }
        lists.push(operation.name);
        assert_eq!(controls.len(), 4, "{}: {controls:?}", operation.name);
        let base = match operation.name {
            "introspect" => json!({ "query": "operations" }),
            "search_plants" => json!({ "query": "a" }),
            "query_plants" => json!({ "query": {} }),
            _ => json!({}),
        };
        let ask = |controls: Value| {
            let mut params = base.clone();
            params.as_object_mut().unwrap().extend(controls.as_object().unwrap().clone());
            call(&adapter, operation.name, params)
        };
        for controls in [
            json!({ "first": 0 }),
            json!({ "last": 0 }),
            json!({ "first": 101 }),
            json!({ "last": 101 }),
            json!({ "first": 1_000_000 }),
            json!({ "first": 1, "after": null }),
        ] {
            let reply = data(ask(controls.clone()));
            let info = &reply.get("_protocol").unwrap_or(&reply)["pageInfo"];
            assert!(info["hasNextPage"].is_boolean(), "{}: {controls}", operation.name);
            assert!(info["hasPreviousPage"].is_boolean(), "{}: {controls}", operation.name);
        }
        for (controls, wanted) in [
            (json!({ "first": 1, "after": "forged" }), "VALIDATION_INVALID_VALUE"),
            (json!({ "first": 1, "after": "introspect" }), "VALIDATION_INVALID_VALUE"),
            (json!({ "last": 1, "before": "forged" }), "VALIDATION_INVALID_VALUE"),
            (json!({ "first": -1 }), "VALIDATION_INVALID_VALUE"),
            (json!({ "after": "forged" }), "VALIDATION_INVALID_TYPE"),
            (json!({ "before": "forged" }), "VALIDATION_INVALID_TYPE"),
            (json!({ "first": 1, "last": 1 }), "VALIDATION_INVALID_TYPE"),
            (json!({ "first": 1, "before": "forged" }), "VALIDATION_INVALID_TYPE"),
            (json!({ "last": 1, "after": "forged" }), "VALIDATION_INVALID_TYPE"),
        ] {
            let reply = ask(controls.clone());
            assert_eq!(code(&reply), Some(wanted), "{}: {controls}", operation.name);
        }
    }
    assert_eq!(
        lists.join(" "),
        "introspect list_plants search_plants query_plants list_slowly list_executions"
    );
}

#[test]
fn rejects_contradictory_controls_with_a_hint() {
    // REQ-PAG-02, REQ-PAG-03, REQ-COL-07
    let c = "aQE";
    for (params, expected, provided, hint) in [
        (
            json!({ "first": 1, "last": 1 }),
            "'first' or 'last'",
            json!(["first", "last"]),
            "not both",
        ),
        (json!({ "after": c }), "'first' with 'after'", json!(["after"]), "add 'first'"),
        (json!({ "before": c }), "'last' with 'before'", json!(["before"]), "add 'last'"),
        (
            json!({ "first": 1, "before": c }),
            "'first' with 'after'",
            json!(["first", "before"]),
            "'before' goes with 'last'",
        ),
        (
            json!({ "last": 1, "after": c }),
            "'last' with 'before'",
            json!(["after", "last"]),
            "'after' goes with 'first'",
        ),
        (
            json!({ "first": 1, "after": c, "last": 1, "before": c }),
            "'first' or 'last'",
            json!(["first", "after", "last", "before"]),
            "not both",
        ),
        (
            json!({ "after": c, "before": c }),
            "'first' with 'after'",
            json!(["after", "before"]),
            "add 'first'",
        ),
        (
            json!({ "first": 1, "limit": 1 }),
            "one style of paging",
            json!(["first", "limit"]),
            "one style",
        ),
        (
            json!({ "after": c, "offset": 1 }),
            "one style of paging",
            json!(["after", "offset"]),
            "one style",
        ),
        (
            json!({ "last": 1, "page": 1 }),
            "one style of paging",
            json!(["last", "page"]),
            "one style",
        ),
        (
            json!({ "limit": 1, "page": 1 }),
            "one style of paging",
            json!(["limit", "page"]),
            "one style",
        ),
        (
            json!({ "offset": 1, "page_size": 1 }),
            "one style of paging",
            json!(["offset", "page_size"]),
            "one style",
        ),
        (
            json!({ "first": 1, "limit": 1, "page": 1 }),
            "one style of paging",
            json!(["first", "limit", "page"]),
            "one style",
        ),
    ] {
        let reply = list(params.clone());
        assert_eq!(code(&reply), Some("VALIDATION_INVALID_TYPE"), "{params}");
        let details = details(&reply);
        assert_eq!(details["param_name"], "pagination", "{params}");
        assert_eq!(details["expected_type"], expected, "{params}");
        assert_eq!(details["provided"], provided, "{params}");
        let given: Vec<_> =
            provided.as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
        assert_eq!(details["actual_type"], given.join("+"), "{params}");
        assert!(details["hint"].as_str().unwrap().contains(hint), "{params}: {details}");
        assert!(message(&reply).contains(hint), "{params}: {}", message(&reply));
    }
}

#[test]
fn a_page_reports_its_position() {
    // REQ-PAG-04, REQ-PAG-05, REQ-PAG-06, REQ-PAG-07
    let data = page(json!({ "first": 1, "fields": "minimal" }));
    assert_eq!(names(&data), ["applied", "items", "pageInfo"]);
    let info = &data["pageInfo"];
    assert_eq!(
        names(info),
        ["endCursor", "hasNextPage", "hasPreviousPage", "startCursor", "totalCount"]
    );
    assert_eq!(info["startCursor"], info["endCursor"]);
    let data = page(json!({ "first": 3 }));
    assert_ne!(data["pageInfo"]["startCursor"], data["pageInfo"]["endCursor"]);
    // An empty page has no cursors.
    let none = page(json!({ "filter": { "name": "" } }));
    assert_eq!(none["items"], json!([]));
    assert_eq!(
        none["pageInfo"],
        json!({ "hasNextPage": false, "hasPreviousPage": false, "totalCount": 0 })
    );
    // The count includes all matching rows, not only those on the page.
    assert_eq!(page(json!({ "filter": { "rank": 1 }, "first": 1 }))["pageInfo"]["totalCount"], 3);
    // If the operation disables the count, it is absent.
    let slow = crate::support::data(call(&GARDEN, "list_slowly", json!({})));
    assert_eq!(
        names(&slow["pageInfo"]),
        ["endCursor", "hasNextPage", "hasPreviousPage", "startCursor"]
    );
}

#[test]
fn a_page_has_a_default_and_a_maximum_size() {
    // REQ-PAG-08, choices C-42, C-43, G-12
    let rows: Vec<_> = (1..=1_100).map(|number| plant(number, "x")).collect();
    let (adapter, _) = adapter_of(rows);
    let ask = |operation: &str, params: Value| {
        let reply = call(&adapter, operation, params);
        (ids(&reply).len(), reply)
    };
    assert_eq!(ask("list_plants", json!({})).0, 20);
    assert_eq!(ask("list_plants", json!({ "first": 100 })).0, 100);
    assert_eq!(ask("list_slowly", json!({})).0, 2);
    for (operation, name, asked, most) in [
        ("list_plants", "first", 101, 100),
        ("list_plants", "last", 5_000, 100),
        ("list_plants", "limit", u64::MAX, 100),
        ("list_plants", "page_size", 101, 100),
        ("list_slowly", "first", 4, 3),
    ] {
        let (count, reply) = ask(operation, json!({ name: asked }));
        assert_eq!(count, most, "{name}");
        let warning = &reply["warnings"][0];
        assert_eq!(warning["code"], "VALIDATION_PAGE_SIZE_WARNING", "{name}: {reply}");
        assert_eq!(warning["details"], json!({ name: asked, "limit": most }));
        assert!(
            !mcp_aql::testing::leaks_internals(warning["message"].as_str().unwrap()),
            "{warning}"
        );
        assert_eq!(reply["warnings"].as_array().map(Vec::len), Some(1));
        assert_eq!(reply["data"]["applied"][name], most);
    }
    for (_, reply) in [ask("list_plants", json!({ "first": 100 })), ask("list_plants", json!({}))] {
        assert_eq!(reply["warnings"], Value::Null);
    }
}

#[test]
fn a_size_is_a_whole_number() {
    // REQ-PAG-08, choice G-12
    for name in ["first", "last", "limit", "offset", "page", "page_size"] {
        for (value, wanted) in [
            (json!(-1), ["VALIDATION_INVALID_VALUE", "VALIDATION_INVALID_TYPE"]),
            (json!(1.5), ["VALIDATION_INVALID_TYPE", "VALIDATION_INVALID_TYPE"]),
            (json!("2"), ["VALIDATION_INVALID_TYPE", "VALIDATION_INVALID_TYPE"]),
            (json!(true), ["VALIDATION_INVALID_TYPE", "VALIDATION_INVALID_TYPE"]),
        ] {
            let reply = list(json!({ name: value }));
            assert!(
                code(&reply).is_some_and(|code| wanted.contains(&code)),
                "{name} {value} {reply}"
            );
            assert_eq!(details(&reply)["param_name"], name);
        }
        // A page without rows is valid, but its number would have no meaning.
        let zero = list(json!({ name: 0 }));
        let wanted = name.starts_with("page").then_some("VALIDATION_INVALID_VALUE");
        assert_eq!(code(&zero), wanted, "{name}");
        assert_eq!(code(&list(json!({ name: null }))), None, "{name}");
    }
}

#[test]
fn cursors_are_opaque_and_hold() {
    // REQ-PAG-09, REQ-PAG-10
    let sort = json!([{ "field": "bed.zone" }, { "field": "planted", "order": "desc" }]);
    let ask = || json!({ "sort": sort, "first": 3, "fields": ["plant_id"] });
    let cursor = cursor("endCursor", ask());
    let text = cursor.as_str().unwrap();
    assert!(
        text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)),
        "{text}"
    );
    assert!(text.len() < 60 && !text.contains("north"), "{text}");
    // The same page has the same cursors. A cursor is also valid for another page size or filter.
    assert_eq!(self::cursor("endCursor", ask()), cursor);
    for (first, filter, wanted) in [
        (1, json!({}), vec![2]),
        (10, json!({}), vec![2, 4, 5, 7]),
        (10, json!({ "rank": 1 }), vec![4, 5, 7]),
    ] {
        let params = json!({ "sort": sort, "first": first, "after": cursor, "filter": filter });
        assert_eq!(ids(&list(params)), wanted);
    }
    let before = json!({ "sort": sort, "last": 10, "before": cursor });
    assert_eq!(ids(&list(before)), [3, 1]);
}

#[test]
fn a_cursor_of_something_else_is_refused() {
    // REQ-PAG-09, REQ-PAG-10
    let sort = json!({ "field": "name" });
    let cursor = cursor("endCursor", json!({ "sort": sort, "first": 3 }));
    let good = cursor.as_str().unwrap();
    let refused = |params: Value, why: &str| {
        let reply = list(params.clone());
        assert_eq!(code(&reply), Some("VALIDATION_INVALID_VALUE"), "{why}: {reply}");
        let name = if params.get("after").is_some() { "after" } else { "before" };
        assert_eq!(details(&reply)["param_name"], name, "{why}");
        assert!(message(&reply).contains("this query has no such cursor"), "{}", message(&reply));
    };
    let flipped = |place: usize| {
        let mut bytes = good.as_bytes().to_vec();
        bytes[place] = if bytes[place] == b'A' { b'B' } else { b'A' };
        String::from_utf8(bytes).unwrap()
    };
    for text in [
        String::new(),
        "x".to_owned(),
        "!".to_owned(),
        good.chars().skip(1).collect(),
        format!("{good}A"),
        format!("{good}="),
        flipped(0),
        flipped(good.len() / 2),
        flipped(good.len() - 3),
        "Ää".to_owned(),
    ] {
        refused(json!({ "sort": sort, "first": 1, "after": text }), &format!("changed: {text}"));
        refused(json!({ "sort": sort, "last": 1, "before": text }), &format!("changed: {text}"));
    }
    for other in [
        json!({ "field": "name", "order": "desc" }),
        json!([{ "field": "name" }, { "field": "rank" }]),
        json!({ "field": "height" }),
    ] {
        refused(json!({ "sort": other, "first": 1, "after": good }), "another order");
    }
    refused(json!({ "first": 1, "after": good }), "the default order");
    // Another process has another key.
    let (other, _) = adapter_of(super::garden::plants());
    let params = json!({ "sort": sort, "first": 1, "after": good });
    assert_eq!(code(&call(&other, "list_plants", params)), Some("VALIDATION_INVALID_VALUE"));
    let reply = list(json!({ "first": 1, "after": 7 }));
    assert_eq!(code(&reply), Some("VALIDATION_INVALID_TYPE"));
}

#[test]
fn a_search_goes_on_with_its_own_words() {
    // REQ-PAG-09
    let ask = |query: &str, after: Option<&Value>| {
        let mut params = json!({ "query": query, "first": 2 });
        if let Some(after) = after {
            params["after"] = after.clone();
        }
        call(&GARDEN, "search_plants", params)
    };
    let first = ask("apple tree", None);
    assert_eq!(ids(&first), [1, 3]);
    let end = &first["data"]["pageInfo"]["endCursor"];
    assert_eq!(ids(&ask("apple tree", Some(end))), [4, 7]);
    // Case does not matter in a search, so the cursor stays valid.
    assert_eq!(ids(&ask("Apple TREE", Some(end))), [4, 7]);
    assert_eq!(code(&ask("apple", Some(end))), Some("VALIDATION_INVALID_VALUE"));
    assert_eq!(code(&ask("appletree", Some(end))), Some("VALIDATION_INVALID_VALUE"));
}

#[test]
fn a_key_of_the_authors_outlives_the_process() {
    // REQ-PAG-09
    let adapter = || {
        let garden = super::garden::Garden::new(super::garden::plants());
        let key = mcp_aql::query::CursorKey::new([7; 16]);
        super::garden::builder(garden).cursor_key(key).build().unwrap()
    };
    let first = call(&adapter(), "list_plants", json!({ "first": 3 }));
    let after = &first["data"]["pageInfo"]["endCursor"];
    let second = call(&adapter(), "list_plants", json!({ "first": 2, "after": after }));
    assert_eq!(ids(&second), [2, 7]);
}

#[test]
fn pages_stay_where_they_are_while_rows_come_and_go() {
    // REQ-PAG-09
    let (adapter, garden) = adapter_of((1..=9).map(|number| plant(number * 10, "x")).collect());
    let ask = |after: Option<&Value>| {
        let mut params = json!({ "sort": { "field": "plant_id" }, "first": 3 });
        if let Some(after) = after {
            params["after"] = after.clone();
        }
        call(&adapter, "list_plants", params)
    };
    let first = ask(None);
    assert_eq!(ids(&first), [10, 20, 30]);
    garden.with(|plants| {
        // Delete the row of the cursor, too.
        plants.retain(|plant| plant.plant_id != 30 && plant.plant_id != 50);
        plants.insert(0, plant(5, "x"));
        plants.insert(0, Plant { rank: 9, ..plant(35, "x") });
    });
    let second = ask(Some(&first["data"]["pageInfo"]["endCursor"]));
    assert_eq!(ids(&second), [35, 40, 60]);
    let third = ask(Some(&second["data"]["pageInfo"]["endCursor"]));
    assert_eq!(ids(&third), [70, 80, 90]);
    assert_eq!(third["data"]["pageInfo"]["hasNextPage"], false);
}

#[test]
fn pages_by_number_answer_in_their_own_form() {
    // REQ-PAG-11
    let sort = json!({ "field": "plant_id" });
    let ask = |params: Value| {
        let mut params = params;
        params["sort"] = sort.clone();
        page(params)["pagination"].clone()
    };
    assert_eq!(numbers(json!({ "limit": 3, "offset": 2 })), [3, 4, 5]);
    assert_eq!(numbers(json!({ "offset": 5 })), [6, 7]);
    assert_eq!(numbers(json!({ "limit": 2 })), [1, 2]);
    assert_eq!(numbers(json!({ "offset": 100_000 })), [] as [u64; 0]);
    assert_eq!(
        ask(json!({ "limit": 3, "offset": 2 })),
        json!({ "limit": 3, "offset": 2, "returned": 3, "total_items": 7, "has_more": true })
    );
    assert_eq!(
        ask(json!({ "limit": 3, "offset": 6 })),
        json!({ "limit": 3, "offset": 6, "returned": 1, "total_items": 7, "has_more": false })
    );
    assert_eq!(numbers(json!({ "page": 2, "page_size": 3 })), [4, 5, 6]);
    assert_eq!(numbers(json!({ "page_size": 2 })), [1, 2]);
    assert_eq!(numbers(json!({ "page": 1_000, "page_size": 100 })), [] as [u64; 0]);
    assert_eq!(
        ask(json!({ "page": 3, "page_size": 3 })),
        json!({ "page": 3, "page_size": 3, "total_items": 7, "total_pages": 3, "has_more": false })
    );
    assert_eq!(
        ask(json!({ "page": 1 })),
        json!({ "page": 1, "page_size": 20, "total_items": 7, "total_pages": 1, "has_more": false })
    );
    // A request may use only one form of pagination.
    let data = page(json!({ "limit": 3 }));
    assert_eq!(names(&data), ["applied", "items", "pagination"]);
    // Page numbers exist only for operations that enable them.
    for name in ["limit", "offset", "page", "page_size"] {
        let reply = call(&GARDEN, "list_slowly", json!({ name: 1 }));
        assert_eq!(code(&reply), Some("VALIDATION_UNKNOWN_PARAM"), "{name}");
    }
}

#[test]
fn the_identifier_breaks_ties() {
    // REQ-PAG-09, REQ-COL-05
    // Use more rows than the executor processes at once. The best rows come first or last.
    for descending in [false, true] {
        let mut rows: Vec<_> = (1..=1_300)
            .map(|number| Plant {
                change: Some(3),
                bed: super::garden::bed("north", Some(2.0), 4),
                ..plant(number, "oak")
            })
            .collect();
        if descending {
            rows.reverse();
        }
        let (adapter, _) = adapter_of(rows);
        for field in [
            "name",
            "kind",
            "health",
            "rank",
            "change",
            "height",
            "mass",
            "planted",
            "seen_at",
            "bed.zone",
            "bed.moisture",
            "_computed.age_days",
        ] {
            for order in ["asc", "desc"] {
                for (operation, query) in [("list_plants", None), ("search_plants", Some("oak"))] {
                    let mut params = json!({ "sort": { "field": field, "order": order } });
                    if let Some(query) = query {
                        params["query"] = json!(query);
                    }
                    let mut last = params.clone();
                    params["first"] = json!(3);
                    let page = call(&adapter, operation, params.clone());
                    assert_eq!(ids(&page), [1, 2, 3], "{params}");
                    params["after"] = page["data"]["pageInfo"]["endCursor"].clone();
                    assert_eq!(
                        ids(&call(&adapter, operation, params.clone())),
                        [4, 5, 6],
                        "{params}"
                    );
                    last["last"] = json!(2);
                    let page = call(&adapter, operation, last.clone());
                    assert_eq!(ids(&page), [1_299, 1_300], "{last}");
                    last["before"] = page["data"]["pageInfo"]["startCursor"].clone();
                    assert_eq!(
                        ids(&call(&adapter, operation, last.clone())),
                        [1_297, 1_298],
                        "{last}"
                    );
                }
            }
        }
    }
}
