//! Tests the selection of rows with `filter` and `query`.

use mcp_aql::Adapter;
use serde_json::{Value, json};

use super::garden::{GARDEN, adapter_of, found, ids, list, plant};
use crate::support::{call, code, data, message};

/// Checks which plants each filter finds.
#[track_caller]
fn finds(cases: &[(Value, &[u64])]) {
    for (filter, wanted) in cases {
        assert_eq!(found(filter.clone()), *wanted, "{filter}");
    }
}

#[test]
fn a_value_a_list_and_an_object_of_operators() {
    // REQ-COL-04
    finds(&[
        (json!({}), &[1, 2, 3, 4, 5, 6, 7]),
        (json!({ "name": "Yew" }), &[5]),
        (json!({ "name": "yew" }), &[]),
        (json!({ "kind": "tree" }), &[1, 5]),
        (json!({ "kind": ["tree", "shrub"] }), &[1, 2, 5, 6]),
        (json!({ "kind": { "ne": "herb" } }), &[1, 2, 5, 6]),
        (json!({ "kind": { "nin": ["tree", "herb"] } }), &[2, 6]),
        (json!({ "rank": { "gte": 2, "lt": 3 } }), &[2, 6]),
        (json!({ "rank": 3.0 }), &[1, 3]),
        (json!({ "height": 1.25 }), &[2, 6]),
        (json!({ "height": 12 }), &[5]),
        (json!({ "height": 0 }), &[4]),
        (json!({ "height": { "gt": 0, "lte": 0.5 } }), &[3, 7]),
        (json!({ "rare": true }), &[1, 5]),
        (json!({ "rare": { "ne": true } }), &[2, 3, 4, 6, 7]),
        (json!({ "name": { "starts_with": "Apple" } }), &[3, 7]),
        (json!({ "name": { "contains": "err" } }), &[6]),
        (json!({ "name": { "in": [] } }), &[]),
        (json!({ "name": { "nin": [] }, "rank": 2 }), &[2, 6]),
    ]);
}

#[test]
fn missing_values_match_only_negations() {
    // REQ-COL-04
    finds(&[
        (json!({ "change": { "exists": true } }), &[1, 2, 3, 6]),
        (json!({ "change": { "exists": false } }), &[4, 5, 7]),
        (json!({ "change": null }), &[4, 5, 7]),
        (json!({ "change": { "ne": null } }), &[1, 2, 3, 6]),
        (json!({ "change": { "lt": 100 } }), &[1, 2, 3, 6]),
        (json!({ "change": { "ne": 15 } }), &[1, 3, 4, 5, 7]),
        (json!({ "change": { "nin": [15, 0] } }), &[1, 4, 5, 7]),
        (json!({ "change": [15, null] }), &[2, 4, 5, 6, 7]),
        (json!({ "change": { "nin": [15, null] } }), &[1, 3]),
        (json!({ "health": null }), &[2 + 1, 5, 6]),
        // NaN counts as missing, because JSON writes it as null.
        (json!({ "mass": { "exists": true } }), &[1, 3]),
        (json!({ "mass": null }), &[2, 4, 5, 6, 7]),
    ]);
}

#[test]
fn a_list_matches_if_one_entry_does() {
    // REQ-COL-04
    finds(&[
        (json!({ "tags": "fruit" }), &[1, 3]),
        (json!({ "tags": { "contains": "old" } }), &[1]),
        (json!({ "tags": ["old", "berry"] }), &[1, 2]),
        (json!({ "tags": { "nin": ["fruit"] } }), &[2, 4, 5, 6, 7]),
        (json!({ "tags": { "exists": false } }), &[4, 5, 6, 7]),
        (json!({ "fruits": 120 }), &[1]),
        (json!({ "fruits": { "in": [300, -1] } }), &[2, 6]),
    ]);
}

#[test]
fn dates_are_days_and_instants_are_points_in_time() {
    // REQ-COL-04
    finds(&[
        (json!({ "planted": "2029-10-12" }), &[2, 6]),
        (json!({ "planted": { "gt": "2029-10-12" } }), &[3]),
        (json!({ "planted": { "lte": "2029-10-12" } }), &[1, 2, 6]),
        // Equal points in time match, even with another offset.
        (json!({ "seen_at": "2031-05-06T09:00:00+02:00" }), &[1]),
        (json!({ "seen_at": "2031-05-06T07:00:00.000Z" }), &[1]),
        (json!({ "seen_at": { "gt": "2031-05-06T06:30:00Z" } }), &[1, 2]),
        (json!({ "seen_at": { "gt": "2031-05-06T06:30:00.25Z" } }), &[1]),
    ]);
}

/// Returns a garden. Its plants were seen at these points in time, one each.
fn seen_at(instants: &[&str]) -> Adapter {
    let plants = instants.iter().zip(1..).map(|(instant, number)| {
        let mut plant = plant(number, "Yew");
        plant.seen_at = instant.parse().unwrap();
        plant
    });
    adapter_of(plants.collect()).0
}

#[test]
fn a_date_is_the_whole_day_of_an_instant() {
    // REQ-COL-04, REQ-ENC-03, REQ-ENC-04
    let adapter = seen_at(&[
        "2031-05-05T23:59:59.999999999Z",
        "2031-05-06T00:00:00Z",
        "2031-05-06T12:00:00.5Z",
        "2031-05-06T23:59:59.999999999Z",
        "2031-05-07T00:00:00Z",
        "9999-12-31T23:59:59Z",
    ]);
    for (condition, wanted) in [
        (json!("2031-05-06"), &[2, 3, 4][..]),
        (json!({ "eq": "2031-05-06" }), &[2, 3, 4]),
        (json!({ "ne": "2031-05-06" }), &[1, 5, 6]),
        (json!({ "gt": "2031-05-06" }), &[5, 6]),
        (json!({ "gte": "2031-05-06" }), &[2, 3, 4, 5, 6]),
        (json!({ "lt": "2031-05-06" }), &[1]),
        (json!({ "lte": "2031-05-06" }), &[1, 2, 3, 4]),
        (json!({ "gte": "2031-05-06", "lte": "2031-05-06" }), &[2, 3, 4]),
        (json!(["2031-05-06"]), &[2, 3, 4]),
        (json!(["2031-05-07", "2031-05-06", "2031-05-06"]), &[2, 3, 4, 5]),
        (json!(["2031-05-05", "2031-05-06T12:00:00.5Z"]), &[1, 3]),
        (json!({ "nin": ["2031-05-06", null] }), &[1, 5, 6]),
        (json!({ "nin": ["2031-05-06", "2031-05-07T00:00:00Z"] }), &[1, 6]),
        (json!("9999-12-31"), &[6]),
        (json!({ "gt": "9999-12-31" }), &[]),
        // A date-time is a single point in time, even at midnight.
        (json!("2031-05-06T00:00:00Z"), &[2]),
        (json!({ "gt": "2031-05-06T00:00:00Z" }), &[3, 4, 5, 6]),
    ] {
        let params = json!({ "filter": { "seen_at": condition }, "sort": { "field": "plant_id" } });
        let reply = call(&adapter, "list_plants", params);
        assert_eq!(ids(&reply), wanted, "{condition}");
        // The reply contains the filter as the caller wrote it.
        assert_eq!(reply["data"]["applied"]["filter"]["seen_at"], condition);
    }
}

#[test]
fn a_filter_has_no_path_through_a_plain_value_a_list_or_a_map() {
    // REQ-COL-04, REQ-FLD-09
    for path in ["name.first", "tags.first", "visits.by", "extra.lamp", "extra.lamp.watts"] {
        let reply = list(json!({ "filter": { path: 1 } }));
        assert_eq!(code(&reply), Some("VALIDATION_INVALID_VALUE"), "{path}");
        assert!(message(&reply).contains(&format!("'{path}'")), "{}", message(&reply));
        let reply = list(json!({ "sort": { "field": path } }));
        assert_eq!(code(&reply), Some("VALIDATION_INVALID_VALUE"), "{path}");
        assert!(message(&reply).contains(&format!("'{path}'")), "{}", message(&reply));
    }
}

#[test]
fn paths_lead_into_what_is_nested() {
    // REQ-COL-04
    finds(&[
        (json!({ "bed.zone": "north" }), &[1, 3]),
        (json!({ "bed.zone": { "ne": "north" } }), &[2, 4, 5, 6, 7]),
        (json!({ "bed.zone": { "exists": false } }), &[4, 5, 7]),
        (json!({ "bed.moisture": { "lt": 30 } }), &[3, 6]),
        (json!({ "bed.moisture": null }), &[2, 4, 5, 7]),
        (json!({ "bed.soil.acidity": { "gte": 6 } }), &[1, 3]),
    ]);
}

#[test]
fn groups_combine_conditions() {
    // REQ-COL-04
    finds(&[
        (json!({ "and": [{ "rank": 3 }, { "rare": true }] }), &[1]),
        (json!({ "or": [{ "rank": 2 }, { "rare": true }] }), &[1, 2, 5, 6]),
        (json!({ "not": { "rank": 1 } }), &[1, 2, 3, 6]),
        (json!({ "rare": false, "or": [{ "kind": "shrub" }, { "rank": 3 }] }), &[2, 3, 6]),
        (json!({ "not": { "or": [{ "rank": 1 }, { "bed.zone": "north" }] } }), &[2, 6]),
        (
            json!({ "or": [{ "kind": "tree", "height": { "gt": 10 } }, { "name": "Apple" }] }),
            &[5, 7],
        ),
        (json!({ "or": [{}] }), &[1, 2, 3, 4, 5, 6, 7]),
        (json!({ "not": {} }), &[]),
    ]);
}

#[test]
fn filters_up_to_the_limit_are_accepted() {
    // REQ-COL-04
    let mut deep = json!({ "rank": 2 });
    for _ in 0..8 {
        deep = json!({ "not": deep });
    }
    assert_eq!(found(deep), [2, 6]);
    let mut deep = json!({ "rank": 2 });
    for level in 0..8 {
        deep = json!({ if level % 2 == 0 { "and" } else { "or" }: [deep] });
    }
    assert_eq!(found(deep), [2, 6]);
    let conditions: Vec<_> = (0..100).map(|rank| json!({ "rank": rank })).collect();
    assert_eq!(found(json!({ "or": conditions })), [1, 2, 3, 4, 5, 6, 7]);
    let values: Vec<_> = (2..1_002).collect();
    assert_eq!(found(json!({ "plant_id": values })), [2, 3, 4, 5, 6, 7]);
}

/// Returns the plants that a search finds, best first.
#[track_caller]
fn best(query: &str) -> Vec<u64> {
    ids(&call(&GARDEN, "search_plants", json!({ "query": query })))
}

#[test]
fn any_matching_word_suffices_and_the_best_match_is_first() {
    // REQ-COL-02, REQ-COL-09
    // A word that only begins another word counts half. Note, name and tags count equally. The identifier breaks ties.
    assert_eq!(best("apple"), [1, 3, 4, 7]);
    assert_eq!(best("Apple TREE"), [1, 3, 4, 7]);
    assert_eq!(best("apple mint"), [3, 1, 4, 7]);
    assert_eq!(best("yew rosemary"), [4, 5]);
    assert_eq!(best("barb"), [6]);
    assert_eq!(best("erry"), [] as [u64; 0]);
    assert_eq!(best("nothing here"), [] as [u64; 0]);
    // A search includes fields of nested resources and entries of lists.
    assert_eq!(best("south"), [2]);
    assert_eq!(best("kitchen"), [3]);
}

#[test]
fn words_match_without_case_and_accents() {
    // REQ-COL-09
    for query in ["cafe", "CAFÉ", "Cafe\u{301}", "ｃａｆｅ"] {
        assert_eq!(best(query), [2], "{query}");
    }
}

#[test]
fn quotes_make_a_phrase() {
    // REQ-COL-09
    assert_eq!(best("\"apple tree\""), [1]);
    assert_eq!(best("\"apple of the\" \"café currant\""), [4, 2]);
    assert_eq!(best("\"tree apple\""), [] as [u64; 0]);
    // A phrase must be within one field or one entry of a list.
    assert_eq!(best("\"fruit old\""), [] as [u64; 0]);
    // An unpaired quotation mark is ignored.
    assert_eq!(best("\"apple tree"), [1, 3, 4, 7]);
}

#[test]
fn every_family_accepts_the_same_controls() {
    // REQ-COL-01, REQ-COL-02, REQ-COL-10
    let controls = json!({
        "filter": { "rank": { "lt": 3 } }, "sort": { "field": "height", "order": "desc" },
        "fields": ["plant_id", "height"], "first": 2,
    });
    let page = |operation: &str, query: Value| {
        let mut params = controls.clone();
        if !query.is_null() {
            params["query"] = query;
        }
        let data = data(call(&GARDEN, operation, params));
        assert_eq!(data["applied"]["first"], 2, "{data}");
        assert_eq!(data["applied"]["fields"], json!(["plant_id", "height"]));
        data["items"].clone()
    };
    let of = |rows: &[(u64, f64)]| {
        let rows = rows.iter().map(|(id, height)| json!({ "plant_id": id, "height": height }));
        Value::from(rows.collect::<Vec<_>>())
    };
    assert_eq!(page("list_plants", Value::Null), of(&[(5, 12.0), (2, 1.25)]));
    assert_eq!(page("list_slowly", Value::Null), of(&[(5, 12.0), (2, 1.25)]));
    assert_eq!(page("list_slowly", json!("apple")), of(&[(7, 0.5), (4, 0.0)]));
    assert_eq!(page("search_plants", json!("apple")), of(&[(7, 0.5), (4, 0.0)]));
    assert_eq!(page("query_plants", json!({ "zone": "south" })), of(&[(2, 1.25)]));
    // Without a search, the list has its default order.
    let data = data(list(json!({})));
    assert_eq!(data["items"].as_array().map(Vec::len), Some(7));
}

#[test]
fn a_structured_query_is_described_and_checked() {
    // REQ-COL-03
    let introspect = |params: Value| data(call(&GARDEN, "introspect", params));
    let details = introspect(json!({ "query": "operations", "name": "query_plants" }));
    let details = &details["operation"];
    let description = details["description"].as_str().unwrap();
    for word in ["`zone`", "`not_zone`", "Both are combined"] {
        assert!(description.contains(word), "{description}");
    }
    let query = &details["parameters"][0];
    assert_eq!((&query["name"], &query["type"]), (&json!("query"), &json!("Selector")));
    let told = introspect(json!({ "query": "types", "name": "Selector" }));
    assert_eq!(told["type"]["fields"][1]["name"], "zone");
    let params = details["examples"][0]["request"]["params"].clone();
    assert!(params["query"].is_object() && params["sort"].is_object(), "{params}");
    assert_eq!(data(call(&GARDEN, "query_plants", params))["items"].as_array().unwrap().len(), 5);
    let reply = call(&GARDEN, "query_plants", json!({ "query": { "zones": "north" } }));
    assert_eq!(reply["success"], false);
}

#[test]
fn a_name_with_a_long_tail_is_still_found() {
    // REQ-COL-09
    let (adapter, garden) = adapter_of(Vec::new());
    garden.with(|plants| {
        plants.extend((0..2_000).map(|number| plant(number, &format!("seedling {number}"))));
        plants.push(plant(9_999, &format!("{} oak", "x".repeat(10_000))));
    });
    let reply = call(&adapter, "search_plants", json!({ "query": "oak 1999" }));
    assert_eq!(ids(&reply), [1_999, 9_999]);
    assert_eq!(reply["data"]["pageInfo"]["totalCount"], 2);
}
