//! Tests the order of rows, and the applied controls in the reply.

use serde_json::{Value, json};

use super::garden::{GARDEN, ids, list};
use crate::support::{call, data};

#[track_caller]
fn sorted(sort: Value) -> Vec<u64> {
    ids(&list(json!({ "sort": sort })))
}

#[test]
fn a_field_and_a_direction() {
    // REQ-COL-05
    for (sort, wanted) in [
        (json!({ "field": "name" }), [7, 3, 6, 1, 2, 5, 4]),
        (json!({ "field": "name", "order": "asc" }), [7, 3, 6, 1, 2, 5, 4]),
        (json!({ "field": "name", "order": "desc" }), [4, 5, 2, 1, 6, 3, 7]),
        // Choices are sorted in the order of declaration.
        (json!({ "field": "kind" }), [1, 5, 2, 6, 3, 4, 7]),
        (json!({ "field": "kind", "order": "desc" }), [3, 4, 7, 2, 6, 1, 5]),
        (json!({ "field": "seen_at", "order": "desc" }), [1, 2, 3, 4, 5, 6, 7]),
        (json!({ "field": "height" }), [4, 3, 7, 2, 6, 1, 5]),
        (json!({ "field": "plant_id", "order": "desc" }), [7, 6, 5, 4, 3, 2, 1]),
    ] {
        assert_eq!(sorted(sort.clone()), wanted, "{sort}");
    }
}

#[test]
fn missing_values_are_last_in_both_directions() {
    // REQ-COL-05
    for (sort, wanted) in [
        (json!({ "field": "planted" }), [1, 2, 6, 3, 4, 5, 7]),
        (json!({ "field": "planted", "order": "desc" }), [3, 2, 6, 1, 4, 5, 7]),
        (json!({ "field": "mass" }), [3, 1, 2, 4, 5, 6, 7]),
        (json!({ "field": "mass", "order": "desc" }), [1, 3, 2, 4, 5, 6, 7]),
        (json!({ "field": "health" }), [2, 4, 7, 1, 3, 5, 6]),
        (json!({ "field": "health", "order": "desc" }), [1, 4, 7, 2, 3, 5, 6]),
        (json!({ "field": "bed.zone" }), [1, 3, 6, 2, 4, 5, 7]),
        (json!({ "field": "bed.soil.acidity", "order": "desc" }), [3, 1, 2, 6, 4, 5, 7]),
    ] {
        assert_eq!(sorted(sort.clone()), wanted, "{sort}");
    }
}

#[test]
fn several_keys_and_a_shortcut() {
    // REQ-COL-05, REQ-COL-06
    let keys =
        json!([{ "field": "change", "order": "desc" }, { "field": "name", "order": "desc" }]);
    assert_eq!(sorted(keys), [2, 6, 3, 1, 4, 5, 7]);
    let eight = ["kind", "rank", "change", "height", "mass", "planted", "seen_at", "name"];
    let eight: Vec<_> = eight.iter().map(|field| json!({ "field": field })).collect();
    assert_eq!(sorted(json!(eight)), [5, 1, 6, 2, 4, 7, 3]);
    let short = |params| ids(&list(params));
    assert_eq!(short(json!({ "sort": "name" })), [7, 3, 6, 1, 2, 5, 4]);
    assert_eq!(short(json!({ "sort": "name", "order": "desc" })), [4, 5, 2, 1, 6, 3, 7]);
    // The short form exists only for operations that enable it.
    let reply = call(&GARDEN, "search_plants", json!({ "query": "apple", "sort": "name" }));
    assert_eq!(reply["error"]["code"], "VALIDATION_INVALID_TYPE");
    let reply = call(&GARDEN, "list_slowly", json!({ "order": "desc" }));
    assert_eq!(reply["error"]["code"], "VALIDATION_UNKNOWN_PARAM");
}

#[test]
fn the_default_is_the_resources_or_relevance() {
    // REQ-COL-05, REQ-COL-10
    assert_eq!(ids(&list(json!({}))), [3, 1, 6, 2, 7, 5, 4]);
    let applied =
        |operation: &str, params| data(call(&GARDEN, operation, params))["applied"].clone();
    assert_eq!(
        applied("list_plants", json!({}))["sort"],
        json!([{ "field": "rank", "order": "desc" }, { "field": "name", "order": "asc" }])
    );
    assert_eq!(
        applied("search_plants", json!({ "query": "apple" }))["sort"],
        json!([{ "field": "relevance", "order": "desc" }])
    );
    let sort = json!({ "field": "name" });
    assert_eq!(
        applied("search_plants", json!({ "query": "apple", "sort": sort }))["sort"],
        json!([{ "field": "name", "order": "asc" }])
    );
}

#[test]
fn the_reply_reports_the_applied_controls() {
    // REQ-COL-10
    let applied = |params| data(list(params))["applied"].clone();
    assert_eq!(
        applied(json!({})),
        json!({
            "sort": [{ "field": "rank", "order": "desc" }, { "field": "name", "order": "asc" }],
            "fields": "standard",
            "first": 20,
        })
    );
    assert_eq!(
        applied(json!({
            "filter": { "rank": { "gt": 1 } }, "sort": [{ "field": "height" }],
            "fields": ["name", "bed.zone"], "last": 3,
        })),
        json!({
            "filter": { "rank": { "gt": 1 } },
            "sort": [{ "field": "height", "order": "asc" }],
            "fields": ["name", "bed.zone"],
            "last": 3,
        })
    );
    assert_eq!(applied(json!({ "limit": 2, "offset": 1 }))["limit"], 2);
    assert_eq!(applied(json!({ "page": 2, "page_size": 3 }))["page_size"], 3);
    assert_eq!(
        applied(json!({ "preset": "brief", "fields": ["rare"] }))["fields"],
        json!(["brief", "rare"])
    );
    // Aggregates without rows have no order, fields or page.
    assert_eq!(
        applied(json!({ "aggregate": { "all": { "count": true } }, "filter": { "rank": 1 } })),
        json!({ "filter": { "rank": 1 } })
    );
    let searched =
        data(call(&GARDEN, "search_plants", json!({ "query": "Café \"Apple TREE\" cafe" })));
    assert_eq!(searched["applied"]["query"], json!(["cafe", "\"apple tree\""]));
}

#[test]
fn all_controls_work_in_one_request() {
    // REQ-COL-01, REQ-COL-10, REQ-AGG-04, REQ-FLD-07, REQ-PAG-04
    let params = |after: Option<&Value>| {
        let mut params = json!({
            "query": "apple", "filter": { "kind": ["herb", "tree"] },
            "sort": { "field": "height", "order": "desc" },
            "fields": ["plant_id", "_computed.is_tall"],
            "aggregate": { "by_kind": { "group_by": "kind", "count": true } },
            "include_items": true, "first": 2,
        });
        if let Some(cursor) = after {
            params["after"] = cursor.clone();
        }
        params
    };
    let first = data(call(&GARDEN, "search_plants", params(None)));
    assert_eq!(first["aggregations"], json!({ "by_kind": { "tree": 1, "herb": 3 } }));
    assert_eq!(
        first["items"],
        json!([
            { "plant_id": 1, "_computed": { "is_tall": true } },
            { "plant_id": 7, "_computed": { "is_tall": false } },
        ])
    );
    assert_eq!(first["pageInfo"]["hasNextPage"], true);
    let second =
        data(call(&GARDEN, "search_plants", params(Some(&first["pageInfo"]["endCursor"]))));
    assert_eq!(second["aggregations"], first["aggregations"]);
    assert_eq!(second["items"][0]["plant_id"], 3);
    assert_eq!(second["items"][1]["plant_id"], 4);
    assert_eq!(second["pageInfo"]["hasNextPage"], false);
    assert_eq!(second["pageInfo"]["hasPreviousPage"], true);
}
