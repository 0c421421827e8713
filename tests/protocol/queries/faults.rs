//! Tests invalid queries: the code, the position and the correction of all errors at once.

use mcp_aql::testing::leaks_internals;
use serde_json::{Value, json};

use super::garden::{GARDEN, list};
use crate::support::{call, code, details, message, names};

#[track_caller]
fn refused(params: &Value, wanted: &str, param: &str, parts: &[&str]) -> Value {
    let reply = list(params.clone());
    assert_eq!(code(&reply), Some(wanted), "{params}: {reply}");
    assert_eq!(details(&reply)["param_name"], param, "{params}: {reply}");
    assert_eq!(details(&reply)["operation"], "list_plants", "{params}");
    // The fallback for a suppressed message contains these words.
    assert!(!message(&reply).contains("see the details"), "{params}: {}", message(&reply));
    for part in parts {
        assert!(message(&reply).contains(part), "{params}: {}", message(&reply));
    }
    reply
}

const VALUE: &str = "VALIDATION_INVALID_VALUE";
const TYPE: &str = "VALIDATION_INVALID_TYPE";

#[test]
fn keys_operators_and_values_of_a_filter_are_checked() {
    // REQ-COL-04
    for (filter, wanted, param, parts) in [
        (
            json!({ "nmae": "x" }),
            VALUE,
            "filter",
            &["unknown key 'nmae'", "Did you mean 'name'?", "and, or, not"] as &[_],
        ),
        (json!({ "bed.zoen": "x" }), VALUE, "filter", &["Did you mean 'bed.zone'?"]),
        (
            json!({ "bed": { "zone": "north" } }),
            VALUE,
            "filter.bed",
            &["use a field inside of it, such as 'bed.zone'"],
        ),
        (
            json!({ "bed.soil": { "acidity": 1 } }),
            VALUE,
            "filter.bed.soil",
            &["such as 'bed.soil.acidity'"],
        ),
        (json!({ "extra": "x" }), VALUE, "filter", &["'extra', which cannot be filtered by"]),
        (
            json!({ "visits.by": "ann" }),
            VALUE,
            "filter",
            &["'visits.by', which cannot be filtered by"],
        ),
        (json!({ "rank__gt": 1 }), VALUE, "filter", &["Send 'rank__gt' as { rank: { gt } }"]),
        (
            json!({ "bed.zone__contains": "n" }),
            VALUE,
            "filter",
            &["Send 'bed.zone__contains' as { 'bed.zone': { contains } }"],
        ),
        (json!({ "rank": ">= 1" }), TYPE, "filter.rank", &["Send { gte: integer }"]),
        (json!({ "AND": [] }), VALUE, "filter", &["unknown key 'AND'"]),
        (
            json!({ "rank": { "gtt": 1 } }),
            VALUE,
            "filter.rank",
            &[
                "unknown operator 'gtt'",
                "eq, ne, gt, gte, lt, lte, in, nin, exists",
                "Did you mean 'gt'?",
            ],
        ),
        (
            json!({ "name": { "gt": "x" } }),
            VALUE,
            "filter.name",
            &["eq, ne, in, nin, contains, starts_with, exists"],
        ),
        (
            json!({ "kind": { "contains": "t" } }),
            VALUE,
            "filter.kind",
            &["eq, ne, in, nin, exists"],
        ),
        (json!({ "rare": { "in": [true] } }), VALUE, "filter.rare", &["eq, ne, exists"]),
        (json!({ "tags": { "eq": "old" } }), VALUE, "filter.tags", &["contains, in, nin, exists"]),
        (json!({ "rank": {} }), VALUE, "filter.rank", &["has no operator"]),
        (
            json!({ "kind": "treee" }),
            VALUE,
            "filter.kind",
            &["one of: tree, shrub, herb", "Did you mean 'tree'?"],
        ),
        (json!({ "kind": ["tree", "bush"] }), VALUE, "filter.kind[1]", &["unknown value 'bush'"]),
        (
            json!({ "health": { "in": ["fine", "Fine"] } }),
            VALUE,
            "filter.health.in[1]",
            &["not_well, fine, at_its_best"],
        ),
        (json!({ "rank": "3" }), TYPE, "filter.rank", &["expected 'integer', got 'string'"]),
        (json!({ "rank": 1.5 }), TYPE, "filter.rank", &["expected 'integer', got 'number'"]),
        (
            json!({ "rank": { "gt": null } }),
            TYPE,
            "filter.rank.gt",
            &["expected 'integer', got 'null'"],
        ),
        (json!({ "height": true }), TYPE, "filter.height", &["expected 'number', got 'boolean'"]),
        (json!({ "name": 7 }), TYPE, "filter.name", &["expected 'string', got 'number'"]),
        (
            json!({ "name": { "contains": 7 } }),
            TYPE,
            "filter.name.contains",
            &["expected 'string'"],
        ),
        (
            json!({ "name": { "starts_with": null } }),
            TYPE,
            "filter.name.starts_with",
            &["expected 'string'"],
        ),
        (
            json!({ "name": { "eq": ["a"] } }),
            TYPE,
            "filter.name.eq",
            &["expected 'string', got 'array'"],
        ),
        (json!({ "rare": "true" }), TYPE, "filter.rare", &["expected 'boolean'"]),
        (
            json!({ "rank": { "exists": "yes" } }),
            TYPE,
            "filter.rank.exists",
            &["expected 'boolean'"],
        ),
        (json!({ "rank": { "in": 3 } }), TYPE, "filter.rank.in", &["expected 'array'"]),
        (json!({ "rank": [1, "2"] }), TYPE, "filter.rank[1]", &["expected 'integer'"]),
        (json!({ "tags": 3 }), TYPE, "filter.tags", &["expected 'string'"]),
        (json!({ "planted": 3 }), TYPE, "filter.planted", &["date such as '2031-05-06'"]),
        (
            json!({ "planted": "yesterday" }),
            VALUE,
            "filter.planted",
            &["must be a date such as '2031-05-06'"],
        ),
        (json!({ "planted": "2031-13-01" }), VALUE, "filter.planted", &["must be a date"]),
        (
            json!({ "seen_at": { "gt": "7 o'clock" } }),
            VALUE,
            "filter.seen_at.gt",
            &["must be a date-time such as '2031-05-06T07:00:00Z'"],
        ),
        (json!({ "and": { "rank": 1 } }), TYPE, "filter.and", &["array of filters"]),
        (json!({ "or": [] }), VALUE, "filter.or", &["is empty"]),
        (json!({ "or": [{ "rank": 1 }, 7] }), TYPE, "filter.or[1]", &["expected 'object'"]),
        (json!({ "not": [] }), TYPE, "filter.not", &["expected 'object'"]),
        (json!({ "and": [{ "not": { "rnak": 1 } }] }), VALUE, "filter", &["Did you mean 'rank'?"]),
    ] {
        refused(&json!({ "filter": filter }), wanted, param, parts);
    }
    for filter in [json!([]), json!("rank"), json!(7)] {
        refused(&json!({ "filter": filter }), TYPE, "filter", &[]);
    }
}

#[test]
fn an_error_states_what_is_valid() {
    // REQ-COL-04, REQ-COL-05
    let reply = refused(&json!({ "sort": { "field": "nam" } }), VALUE, "sort.field", &[]);
    let sortable = json!([
        "plant_id",
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
        "bed.soil.acidity",
        "_computed.age_days",
    ]);
    assert_eq!(details(&reply)["valid_values"], sortable);
    let reply = refused(&json!({ "filter": { "rank": "x" } }), TYPE, "filter.rank", &[]);
    assert_eq!(details(&reply)["expected_type"], "integer");
    assert_eq!(details(&reply)["actual_type"], "string");
    let reply = refused(&json!({ "filter": { "kind": "x" } }), VALUE, "filter.kind", &[]);
    assert_eq!(details(&reply)["valid_values"], json!(["tree", "shrub", "herb"]));
    assert!(message(&reply).contains("one of: tree, shrub, herb"));
}

#[test]
fn orders_are_checked() {
    // REQ-COL-05, REQ-COL-06
    let nine: Vec<_> = (0..9).map(|_| json!({ "field": "name" })).collect();
    for (params, wanted, param, part) in [
        (
            json!({ "sort": { "field": "tags" } }),
            VALUE,
            "sort.field",
            "'tags', which cannot be sorted by",
        ),
        (
            json!({ "sort": { "field": "note" } }),
            VALUE,
            "sort.field",
            "'note', which cannot be sorted by",
        ),
        (json!({ "sort": { "field": "heigth" } }), VALUE, "sort.field", "Did you mean 'height'?"),
        (
            json!({ "sort": { "field": "relevance" } }),
            VALUE,
            "sort.field",
            "unknown field 'relevance'",
        ),
        (
            json!({ "sort": { "field": "name", "order": "down" } }),
            VALUE,
            "sort.order",
            "one of: asc, desc",
        ),
        (
            json!({ "sort": { "field": "name", "order": "dsc" } }),
            VALUE,
            "sort.order",
            "Did you mean 'desc'?",
        ),
        (
            json!({ "sort": { "field": "name", "order": 1 } }),
            TYPE,
            "sort.order",
            "expected 'string'",
        ),
        (json!({ "sort": { "order": "desc" } }), VALUE, "sort", "has no 'field'"),
        (json!({ "sort": {} }), VALUE, "sort", "has no 'field'"),
        (
            json!({ "sort": { "field": "name", "nulls": "first" } }),
            VALUE,
            "sort",
            "unknown member 'nulls'",
        ),
        (json!({ "sort": { "field": 7 } }), TYPE, "sort.field", "expected 'string'"),
        (json!({ "sort": [] }), VALUE, "sort", "1 to 8 keys"),
        (json!({ "sort": nine }), VALUE, "sort", "1 to 8 keys"),
        (
            json!({ "sort": [{ "field": "name" }, { "field": "name", "order": "desc" }] }),
            VALUE,
            "sort",
            "names 'name' twice",
        ),
        (json!({ "sort": "nmae" }), VALUE, "sort", "Did you mean 'name'?"),
        (json!({ "order": "desc" }), VALUE, "order", "send both"),
        (
            json!({ "sort": { "field": "name" }, "order": "desc" }),
            VALUE,
            "order",
            "put 'order' into the object of 'sort'",
        ),
        (json!({ "sort": "name", "order": "up" }), VALUE, "order", "asc"),
    ] {
        refused(&params, wanted, param, &[part]);
    }
    for sort in [json!(7), json!(true), json!(["name"])] {
        let reply = list(json!({ "sort": sort }));
        assert_eq!(code(&reply), Some(TYPE), "{sort}");
    }
}

#[test]
fn rejects_oversized_text() {
    // REQ-COL-04
    let mut deep = json!({ "rank": 2 });
    for _ in 0..9 {
        deep = json!({ "not": deep });
    }
    let reply = list(json!({ "filter": deep }));
    assert_eq!(code(&reply), Some(VALUE));
    assert!(
        message(&reply).contains("has groups nested more than 8 deep: nest fewer groups"),
        "{reply}"
    );
    let conditions: Vec<_> = (0..101).map(|rank| json!({ "rank": rank })).collect();
    refused(
        &json!({ "filter": { "or": conditions } }),
        VALUE,
        "filter",
        &["more than 100 conditions"],
    );
    let values: Vec<_> = (0..1_001).collect();
    refused(
        &json!({ "filter": { "rank": values } }),
        VALUE,
        "filter.rank",
        &["more than 1000 values"],
    );
    refused(
        &json!({ "filter": { "rank": { "nin": values } } }),
        VALUE,
        "filter.rank.nin",
        &["more than 1000 values"],
    );
    let words =
        |count: usize| (0..count).map(|each| format!("w{each}")).collect::<Vec<_>>().join(" ");
    let search = |query: String| call(&GARDEN, "search_plants", json!({ "query": query }));
    assert_eq!(code(&search(words(32))), None);
    let reply = search(words(33));
    assert_eq!(code(&reply), Some(VALUE));
    assert!(message(&reply).contains("more than 32 different words"), "{reply}");
    // Repeated words count only once.
    assert_eq!(code(&search(vec!["apple"; 60].join(" "))), None);
    let reply = search("x".repeat(501));
    assert_eq!(code(&reply), Some(VALUE));
    let mut labels = json!({});
    for number in 0..21 {
        labels[number.to_string()] = json!({ "count": true });
    }
    refused(&json!({ "aggregate": labels }), VALUE, "aggregate", &["1 to 20 labels"]);
}

#[test]
fn a_search_needs_a_word() {
    // REQ-COL-02
    let search = |params: Value| call(&GARDEN, "search_plants", params);
    assert_eq!(code(&search(json!({}))), Some("VALIDATION_MISSING_PARAM"));
    assert_eq!(code(&search(json!({ "query": "" }))), Some(VALUE));
    assert_eq!(code(&search(json!({ "query": 7 }))), Some(TYPE));
    for query in [" ", "?!", "\"\"", "\" \"", "…"] {
        let reply = search(json!({ "query": query }));
        assert_eq!(code(&reply), Some(VALUE), "{query}");
        assert_eq!(details(&reply)["param_name"], "query");
        assert!(message(&reply).contains("has no word to search for"), "{reply}");
    }
    // If an operation does not support searches, `query` is rejected, not ignored.
    assert_eq!(code(&list(json!({ "query": "apple" }))), Some("VALIDATION_UNKNOWN_PARAM"));
}

#[test]
fn all_faults_are_told_at_once() {
    // REQ-COL-04, REQ-COL-05, REQ-AGG-08, REQ-FLD-09
    let reply = list(json!({
        "filter": { "rank": "high", "kind": "bush", "statu": 1 },
        "sort": { "field": "nam" },
        "fields": ["nam"],
        "aggregate": { "a": { "sum": "name" }, "b": { "group_by": "kind" } },
        "first": 1, "last": 1,
    }));
    assert_eq!(code(&reply), Some(VALUE), "{reply}");
    assert_eq!(
        details(&reply)["invalid_params"],
        json!([
            "aggregate.a.sum",
            "aggregate.b",
            "fields[0]",
            "filter",
            "filter.kind",
            "filter.rank",
            "pagination",
            "sort.field",
        ])
    );
    for part in ["'bush'", "'statu'", "'nam'", "'name'", "computes nothing", "'first' and 'last'"] {
        assert!(message(&reply).contains(part), "{part}: {}", message(&reply));
    }
    // A very long list of errors is truncated.
    let many: serde_json::Map<String, Value> =
        (0..90).map(|each| (format!("x{each}"), json!(1))).collect();
    let reply = list(json!({ "filter": many }));
    assert!(message(&reply).len() < 10_000, "{}", message(&reply).len());
    assert_eq!(message(&reply).matches("unknown key").count(), 20);
}

/// Collects the strings of a reply that belong to its message.
fn texts<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(all) => all.iter().for_each(|each| texts(each, found)),
        Value::Object(all) => all.values().for_each(|each| texts(each, found)),
        _ => {}
    }
}

#[test]
fn no_message_looks_like_a_leak() {
    // REQ-ERR-04, REQ-COL-04, REQ-FLD-09
    for nasty in [
        "at x",
        "look at /src/main.rs:12",
        "TypeError",
        "a/node_modules/b",
        "/src/",
        "x.ts:12",
        "format x",
        "line\nat\nz",
        "\u{1b}[31m",
        "at\u{a0}x",
        "' at y",
        "{}",
        "%s",
        "\u{202e}at x",
        "漢字 at 字",
    ] {
        for params in [
            json!({ "filter": { nasty: 1 } }),
            json!({ "filter": { "rank": { nasty: 1 } } }),
            json!({ "filter": { "kind": nasty } }),
            json!({ "filter": { "planted": nasty } }),
            json!({ "filter": { "or": [{ nasty: 1 }] } }),
            json!({ "filter": { "bed": { nasty: nasty } } }),
            json!({ "sort": { "field": nasty } }),
            json!({ "sort": { "field": "name", "order": nasty } }),
            json!({ "sort": { nasty: 1 } }),
            json!({ "sort": nasty }),
            json!({ "sort": "name", "order": nasty }),
            json!({ "fields": nasty }),
            json!({ "fields": [nasty] }),
            json!({ "preset": nasty }),
            json!({ "aggregate": { nasty: {} } }),
            json!({ "aggregate": { "x": { nasty: true } } }),
            json!({ "aggregate": { nasty: { "sum": nasty } } }),
            json!({ "first": 1, "after": nasty }),
            json!({ "last": 1, "before": nasty }),
        ] {
            let reply = list(params.clone());
            assert_eq!(reply["success"], false, "{params}");
            let said = message(&reply);
            assert!(!leaks_internals(said), "{params}: {said}");
            assert!(!said.chars().any(char::is_control), "{params}: {said:?}");
            let mut all = Vec::new();
            texts(details(&reply), &mut all);
            for text in all {
                assert!(!text.chars().any(char::is_control), "{params}: {text:?}");
            }
        }
    }
}

#[test]
fn faults_have_the_details_of_their_code() {
    // REQ-ERR-03, REQ-COL-04
    for (params, may) in [
        (
            json!({ "filter": { "rank": "x" } }),
            ["actual_type", "expected_type", "operation", "param_name"].as_slice(),
        ),
        (
            json!({ "filter": { "rnk": "x" } }),
            &["expected", "operation", "param_name", "valid_values"],
        ),
        (json!({ "filter": { "planted": "x" } }), &["expected", "operation", "param_name"]),
        (
            json!({ "first": 1, "last": 1 }),
            &["actual_type", "expected_type", "hint", "operation", "param_name", "provided"],
        ),
    ] {
        assert_eq!(names(details(&list(params.clone()))), *may, "{params}");
    }
}
