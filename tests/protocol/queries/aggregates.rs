//! Tests aggregates over all matching rows.

use mcp_aql::transport::Endpoint;
use serde_json::{Value, json};

use super::garden::{GARDEN, Plant, adapter_of, list, plant};
use crate::support::{block_on, call, code, data, details, message, names};

fn reply(aggregate: Value) -> Value {
    list(json!({ "aggregate": aggregate }))
}

#[track_caller]
fn of(expression: Value) -> Value {
    data(reply(json!({ "it": expression })))["aggregations"]["it"].clone()
}

#[test]
fn labels_are_the_callers() {
    // REQ-AGG-01, REQ-AGG-04
    let data = data(reply(json!({
        "total": { "count": true },
        "How many by kind?": { "group_by": "kind", "count": true },
        "höhe": { "avg": "rank" },
    })));
    assert_eq!(names(&data), ["aggregations", "applied"]);
    assert_eq!(
        data["aggregations"],
        json!({
            "total": 7,
            "How many by kind?": { "tree": 2, "shrub": 2, "herb": 3 },
            "höhe": 13.0 / 7.0,
        })
    );
}

#[test]
fn each_aggregate_function_computes_its_result() {
    // REQ-AGG-02, REQ-AGG-04
    for (expression, wanted) in [
        (json!({ "count": true }), json!(7)),
        (json!({ "sum": "rank" }), json!(13)),
        (json!({ "sum": "change" }), json!(-10)),
        (json!({ "avg": "change" }), json!(-2.5)),
        (json!({ "min": "change" }), json!(-40)),
        (json!({ "max": "change" }), json!(15)),
        (json!({ "sum": "height" }), json!(19.8)),
        (json!({ "min": "height" }), json!(0.0)),
        (json!({ "max": "height" }), json!(12.0)),
        (json!({ "sum": "mass" }), json!(120.75)),
        (json!({ "avg": "mass" }), json!(60.375)),
        (json!({ "min": "planted" }), json!("2001-03-01")),
        (json!({ "max": "planted" }), json!("2030-04-02")),
        (json!({ "min": "seen_at" }), json!("2031-05-01T12:00:00Z")),
        (json!({ "max": "seen_at" }), json!("2031-05-06T07:00:00Z")),
        (json!({ "sum": "bed.soil.acidity" }), json!(23)),
        (json!({ "min": "bed.moisture" }), json!(0.0)),
        (json!({ "max": "_computed.age_days" }), json!(11_023)),
    ] {
        assert_eq!(of(expression.clone()), wanted, "{expression}");
    }
}

#[test]
fn groups_are_keyed_by_their_value() {
    // REQ-AGG-03, REQ-AGG-04
    for (expression, wanted) in [
        (json!({ "group_by": "rare", "count": true }), json!({ "false": 5, "true": 2 })),
        (json!({ "group_by": "rank", "sum": "change" }), json!({ "1": 0, "2": 30, "3": -40 })),
        (
            json!({ "group_by": "kind", "avg": "change" }),
            json!({ "tree": -40.0, "shrub": 15.0, "herb": 0.0 }),
        ),
        (
            json!({ "group_by": "health", "count": true }),
            json!({ "not_well": 1, "fine": 2, "at_its_best": 1, "null": 3 }),
        ),
        // The string `null` must differ from a missing value.
        (
            json!({ "group_by": "bed.zone", "count": true }),
            json!({ "north": 2, "south": 1, "\"null\"": 1, "null": 3 }),
        ),
        (
            json!({ "group_by": "planted", "count": true }),
            json!({ "2001-03-01": 1, "2029-10-12": 2, "2030-04-02": 1, "null": 3 }),
        ),
        (
            json!({ "group_by": "_computed.is_tall", "max": "height" }),
            json!({ "true": 12.0, "false": 1.25 }),
        ),
        // In these groups, no row has a value.
        (
            json!({ "group_by": "rank", "avg": "mass" }),
            json!({ "1": null, "2": null, "3": 60.375 }),
        ),
    ] {
        assert_eq!(of(expression.clone()), wanted, "{expression}");
    }
    // Groups of choices are in the order of declaration. All others are in ascending order, with missing values last.
    let text = |expression: Value| {
        let arguments =
            json!({ "operation": "list_plants", "params": { "aggregate": { "it": expression } } });
        let Value::Object(arguments) = arguments else { unreachable!() };
        block_on(GARDEN.handle(
            Endpoint::Unified,
            arguments,
            mcp_aql::transport::CallScope::default(),
        ))
        .text
    };
    let groups = text(json!({ "group_by": "kind", "count": true }));
    assert!(groups.contains(r#"{"tree":2,"shrub":2,"herb":3}"#), "{groups}");
    let groups = text(json!({ "group_by": "health", "count": true }));
    assert!(groups.contains(r#"{"not_well":1,"fine":2,"at_its_best":1,"null":3}"#), "{groups}");
    let groups = text(json!({ "group_by": "rank", "count": true }));
    assert!(groups.contains(r#"{"1":3,"2":2,"3":2}"#), "{groups}");
}

#[test]
fn several_functions_make_an_object() {
    // REQ-AGG-03, REQ-AGG-04, choice G-06
    assert_eq!(
        of(
            json!({ "count": true, "sum": "rank", "avg": "change", "min": "planted", "max": "height" })
        ),
        json!({ "count": 7, "sum": 13, "avg": -2.5, "min": "2001-03-01", "max": 12.0 })
    );
    assert_eq!(
        of(json!({ "group_by": "rare", "count": true, "max": "rank" })),
        json!({ "false": { "count": 5, "max": 3 }, "true": { "count": 2, "max": 3 } })
    );
    // `false` disables a function, so its result is absent.
    assert_eq!(of(json!({ "count": false, "sum": "rank" })), 13);
}

#[test]
fn aggregates_without_rows_are_empty() {
    // REQ-AGG-04
    let nothing = |expression: Value| {
        let params = json!({ "filter": { "name": "" }, "aggregate": { "it": expression } });
        data(list(params))["aggregations"]["it"].clone()
    };
    assert_eq!(nothing(json!({ "count": true, "sum": "rank" })), json!({ "count": 0, "sum": 0 }));
    assert_eq!(
        nothing(json!({ "avg": "rank", "min": "rank", "max": "planted" })),
        json!({ "avg": null, "min": null, "max": null })
    );
    assert_eq!(nothing(json!({ "group_by": "kind", "count": true })), json!({}));
}

#[test]
fn rows_are_returned_only_on_request() {
    // REQ-AGG-05, REQ-AGG-07
    let ask = |include: Option<bool>| {
        let mut params = json!({
            "filter": { "rank": 2 }, "fields": ["name"],
            "aggregate": { "heights": { "sum": "height" } },
        });
        if let Some(include) = include {
            params["include_items"] = include.into();
        }
        let reply = list(params);
        (data(reply.clone()), reply["warnings"].clone())
    };
    for include in [None, Some(false)] {
        let (data, warnings) = ask(include);
        assert_eq!(names(&data), ["aggregations", "applied"], "{include:?}");
        // Without rows, `fields` has no effect. The caller gets a warning.
        assert_eq!(warnings[0]["code"], "QUERY_CONTROL_UNUSED_WARNING");
        assert_eq!(warnings[0]["details"]["controls"], json!(["fields"]));
    }
    let (data, warnings) = ask(Some(true));
    assert_eq!(names(&data), ["aggregations", "applied", "items", "pageInfo"]);
    assert_eq!(data["aggregations"], json!({ "heights": 2.5 }));
    assert_eq!(data["items"], json!([{ "name": "Barberry" }, { "name": "Café currant" }]));
    assert_eq!(warnings, Value::Null);
}

#[test]
fn a_summary_warns_about_unused_controls() {
    // REQ-AGG-05, REQ-COL-10
    for (controls, told) in [
        (json!({ "sort": { "field": "name" } }), json!(["sort"])),
        (json!({ "first": 2 }), json!(["first"])),
        (json!({ "limit": 2 }), json!(["limit"])),
        (json!({ "fields": "full", "sort": "name", "page": 1 }), json!(["page", "sort", "fields"])),
    ] {
        let mut params = controls.clone();
        params["aggregate"] = json!({ "all": { "count": true } });
        let reply = list(params.clone());
        assert_eq!(reply["data"]["aggregations"]["all"], 7, "{controls}");
        assert_eq!(reply["warnings"][0]["code"], "QUERY_CONTROL_UNUSED_WARNING", "{controls}");
        assert_eq!(reply["warnings"][0]["details"]["controls"], told, "{controls}");
        params["include_items"] = json!(true);
        assert_eq!(list(params)["warnings"], Value::Null, "{controls}");
    }
}

#[test]
fn rows_that_do_not_match_do_not_count() {
    // REQ-AGG-06
    let counted = |operation: &str, params: Value| {
        let mut params = params;
        params["aggregate"] = json!({ "all": { "count": true }, "ranks": { "sum": "rank" } });
        data(call(&GARDEN, operation, params))["aggregations"].clone()
    };
    assert_eq!(
        counted("list_plants", json!({ "filter": { "kind": "shrub" } })),
        json!({ "all": 2, "ranks": 4 })
    );
    assert_eq!(
        counted("search_plants", json!({ "query": "apple" })),
        json!({ "all": 4, "ranks": 8 })
    );
    assert_eq!(
        counted("search_plants", json!({ "query": "apple", "filter": { "rank": { "lt": 3 } } })),
        json!({ "all": 2, "ranks": 2 })
    );
    // Rows hidden from the caller are not aggregated, either.
    assert_eq!(
        counted("query_plants", json!({ "query": { "zone": "north" } })),
        json!({ "all": 2, "ranks": 6 })
    );
    // All matching rows count, not only those on the page.
    assert_eq!(
        counted("list_plants", json!({ "include_items": true, "first": 1 })),
        json!({ "all": 7, "ranks": 13 })
    );
}

#[test]
fn fields_and_labels_have_nothing_to_do_with_each_other() {
    // REQ-AGG-07
    for fields in [json!("minimal"), json!(["rare"]), json!(["_computed.sign"])] {
        let data = data(list(json!({
            "fields": fields, "include_items": true, "first": 1,
            "aggregate": { "name": { "max": "height" }, "rank": { "min": "planted" } },
        })));
        assert_eq!(data["aggregations"], json!({ "name": 12.0, "rank": "2001-03-01" }), "{fields}");
    }
}

#[test]
fn rejects_impossible_aggregates() {
    // REQ-AGG-02, REQ-AGG-03, REQ-AGG-08
    for (expression, wanted, param, part) in [
        (
            json!({ "median": "rank" }),
            "VALIDATION_INVALID_VALUE",
            "aggregate.it",
            "count, group_by, sum, avg, min, max",
        ),
        (
            json!({ "cuont": true }),
            "VALIDATION_INVALID_VALUE",
            "aggregate.it",
            "Did you mean 'count'?",
        ),
        (
            json!({ "sum": "name" }),
            "VALIDATION_INVALID_VALUE",
            "aggregate.it.sum",
            "'name', which cannot be added; these can: rank, change, height, mass",
        ),
        (
            json!({ "avg": "heigth" }),
            "VALIDATION_INVALID_VALUE",
            "aggregate.it.avg",
            "Did you mean 'height'?",
        ),
        (
            json!({ "min": "kind" }),
            "VALIDATION_INVALID_VALUE",
            "aggregate.it.min",
            "'kind', which cannot be compared",
        ),
        (
            json!({ "max": "fruits" }),
            "VALIDATION_INVALID_VALUE",
            "aggregate.it.max",
            "'fruits', which cannot be compared",
        ),
        (
            json!({ "group_by": "name", "count": true }),
            "VALIDATION_INVALID_VALUE",
            "aggregate.it.group_by",
            "'name', which cannot be grouped by; these can: kind, health, rank, rare",
        ),
        (
            json!({ "group_by": "kind" }),
            "VALIDATION_INVALID_VALUE",
            "aggregate.it",
            "computes nothing",
        ),
        (json!({ "count": false }), "VALIDATION_INVALID_VALUE", "aggregate.it", "computes nothing"),
        (json!({}), "VALIDATION_INVALID_VALUE", "aggregate.it", "computes nothing"),
        (
            json!({ "count": "name" }),
            "VALIDATION_INVALID_TYPE",
            "aggregate.it.count",
            "expected 'boolean', got 'string'",
        ),
        (json!({ "sum": 3 }), "VALIDATION_INVALID_TYPE", "aggregate.it.sum", "expected 'string'"),
        (
            json!({ "group_by": null, "count": true }),
            "VALIDATION_INVALID_TYPE",
            "aggregate.it.group_by",
            "expected 'string'",
        ),
        (
            json!("count"),
            "VALIDATION_INVALID_TYPE",
            "aggregate.it",
            "expected 'object', got 'string'",
        ),
    ] {
        let reply = reply(json!({ "it": expression }));
        assert_eq!(code(&reply), Some(wanted), "{expression} {reply}");
        assert_eq!(details(&reply)["param_name"], param, "{expression}");
        assert!(message(&reply).contains(part), "{expression}: {}", message(&reply));
    }
    let long = "x".repeat(65);
    for (aggregate, part) in [
        (json!({}), "1 to 20 labels"),
        (
            Value::Object(
                (0..21).map(|number| (number.to_string(), json!({ "count": true }))).collect(),
            ),
            "1 to 20 labels",
        ),
        (json!({ "": { "count": true } }), "1 to 64 characters"),
        (json!({ " ": { "count": true } }), "1 to 64 characters"),
        (json!({ long: { "count": true } }), "1 to 64 characters"),
    ] {
        let reply = reply(aggregate);
        assert_eq!(code(&reply), Some("VALIDATION_INVALID_VALUE"), "{part}");
        assert!(message(&reply).contains(part), "{}", message(&reply));
    }
    let twenty = (0..20).map(|number| ("x".repeat(45 + number), json!({ "count": true })));
    assert_eq!(code(&reply(Value::Object(twenty.collect()))), None);
    let alone = list(json!({ "include_items": true }));
    assert_eq!(code(&alone), Some("VALIDATION_INVALID_VALUE"));
    assert_eq!(details(&alone)["param_name"], "include_items");
    assert_eq!(code(&list(json!({ "include_items": false }))), None);
}

#[test]
fn whole_numbers_are_added_exactly() {
    // REQ-AGG-04
    let rows = [i64::MAX, i64::MAX - 1, i64::MIN, 7];
    let rows = rows
        .iter()
        .zip(1..)
        .map(|(change, number)| Plant { change: Some(*change), ..plant(number, "x") });
    let (adapter, _) = adapter_of(rows.collect());
    let ask = |expression: Value| {
        let params = json!({ "aggregate": { "it": expression } });
        data(call(&adapter, "list_plants", params))["aggregations"]["it"].clone()
    };
    assert_eq!(ask(json!({ "sum": "change" })), json!(9_223_372_036_854_775_812_u64));
    assert_eq!(ask(json!({ "min": "change" })), json!(i64::MIN));
    assert_eq!(ask(json!({ "max": "change" })), json!(i64::MAX));
    let params = json!({ "filter": { "change": i64::MAX - 1 }, "fields": ["plant_id"] });
    assert_eq!(data(call(&adapter, "list_plants", params))["items"], json!([{ "plant_id": 2 }]));
}

#[test]
fn too_many_groups_are_refused() {
    // REQ-AGG-08
    let rows = |count: i64| {
        (0..count).map(|number| Plant {
            planted: chrono::NaiveDate::from_ymd_opt(2000, 1, 1)
                .map(|day| day + chrono::Duration::days(number)),
            ..plant(1, "x")
        })
    };
    let params = || json!({ "aggregate": { "days": { "group_by": "planted", "count": true } } });
    let (adapter, _) = adapter_of(rows(10_000).collect());
    let reply = call(&adapter, "list_plants", params());
    assert_eq!(
        reply["data"]["aggregations"]["days"].as_object().map(serde_json::Map::len),
        Some(10_000)
    );
    let (adapter, _) = adapter_of(rows(10_001).collect());
    let reply = call(&adapter, "list_plants", params());
    assert_eq!(code(&reply), Some("VALIDATION_INVALID_VALUE"));
    assert_eq!(details(&reply)["param_name"], "aggregate.days");
    assert_eq!(details(&reply)["limit"], 10_000);
}

#[test]
fn functions_at_the_wrong_level_are_shown_under_a_label() {
    // REQ-AGG-02, REQ-ERR-05
    for (params, said) in [
        (
            json!({ "aggregate": { "sum": "rank", "group_by": "kind" } }),
            "Send { result: { group_by: 'kind', sum: 'rank' } }",
        ),
        (
            json!({ "aggregate": { "group_by": "kind" } }),
            "Send { result: { group_by: 'kind', count: true } }",
        ),
        (
            json!({ "count": true, "group_by": "kind" }),
            "belong inside 'aggregate.total': { aggregate: { total: { count, group_by } } }",
        ),
        // A number for `count` is the size of a page in other APIs.
        (json!({ "count": 3 }), "operation 'list_plants': 'count'. Valid parameters: "),
    ] {
        let reply = list(params.clone());
        let message = message(&reply);
        assert!(message.contains(said), "{params}: {message}");
    }
}
