//! Tests with arbitrary arguments: the result must always conform to the protocol, without panics or hangs.
//!
//! `support::ask` checks the form of every reply.

use std::sync::LazyLock;

use mcp_aql::transport::{CallScope, Endpoint};
use mcp_aql::{Adapter, SizeLimits};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::board::builder;
use crate::shape;
use crate::support::{ask, block_on, call, code};

/// Generates names of existing and of unknown members.
fn name() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "operation",
        "operations",
        "params",
        "_meta",
        "text",
        "small",
        "large",
        "ratio",
        "flag",
        "word",
        "colour",
        "status",
        "words",
        "counts",
        "pair",
        "figure",
        "key",
        "place",
        "day",
        "instant",
        "bytes",
        "picture",
        "big",
        "anything",
        "task_id",
        "input",
        "if_match",
        "title",
        "metadata",
        "extra",
        "origin",
        "query",
        "name",
        "first",
        "after",
        "prefix",
        "category",
        "kind",
        "radius",
        "side",
        "x",
        "y",
        "password",
        "taskId",
        "_version",
    ]);
    prop_oneof![6 => known.prop_map(str::to_owned), 1 => any::<String>(), 1 => "[a-z_]{0,8}"]
}

fn operation() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "introspect",
        "create_task",
        "get_task",
        "list_tasks",
        "list_titles",
        "update_task",
        "delete_task",
        "run_report",
        "fail",
        "warn",
        "update_account",
        "open_door",
        "echo_values",
        "find_by_number",
        "count_calls",
    ]);
    prop_oneof![20 => known.prop_map(str::to_owned), 1 => any::<String>()]
}

fn scalar() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![
        "t-1",
        "operations",
        "types",
        "get_task",
        "Task",
        "red",
        "todo",
        "circle",
        "2031-05-06",
        "2031-05-06T07:08:09Z",
        "AP8BAg==",
        "12345678901234567890",
        "READ",
        "panic",
        "",
    ]);
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-10_i64..10).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        words.prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ]
}

fn json_value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(6, 40, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            btree_map(name(), inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn object() -> impl Strategy<Value = Value> {
    btree_map(name(), json_value(), 0..8)
        .prop_map(|members| Value::Object(members.into_iter().collect()))
}

/// Generates a request with a well-formed operation name. All other members are arbitrary.
fn request() -> impl Strategy<Value = Value> {
    (operation(), object(), object()).prop_map(|(operation, params, mut around)| {
        around["operation"] = operation.into();
        around["params"] = params;
        if let Some(members) = around.as_object_mut() {
            members.remove("operations");
        }
        around
    })
}

/// The adapter of most cases. It is built only once, because cases cannot affect each other.
static BOARD: LazyLock<Adapter> = LazyLock::new(adapter);

/// An adapter whose tasks are never deleted, for cases that read their task again.
static KEPT: LazyLock<Adapter> = LazyLock::new(adapter);

fn adapter() -> Adapter {
    let limits =
        SizeLimits { max_nesting_depth: 8, max_array_elements: 100, ..SizeLimits::default() };
    builder().limits(limits).build().expect("the board is sound")
}

/// Generates valid parameters of `echo_values`.
fn valid_params() -> impl Strategy<Value = Map<String, Value>> {
    let optional = |name: &'static str, values: BoxedStrategy<Value>| {
        prop::option::of(values).prop_map(move |value| value.map(|value| (name, value)))
    };
    let text = || "[a-zA-Z0-9 äöü]{0,20}".prop_map(Value::from).boxed();
    let figure = prop_oneof![
        (-1e6..1e6_f64).prop_map(|radius| json!({ "kind": "circle", "radius": radius })),
        any::<u32>().prop_map(|side| json!({ "kind": "square", "side": side })),
    ];
    let key = prop_oneof![any::<u32>().prop_map(Value::from), text()];
    let place = (any::<i32>(), any::<i32>(), prop::option::of("[a-z]{0,5}"))
        .prop_map(|(x, y, label)| json!({ "x": x, "y": y, "label": label }));
    let day = (2000..2100_u32, 1..=12_u32, 1..=28_u32)
        .prop_map(|(year, month, day)| Value::from(format!("{year}-{month:02}-{day:02}")));
    let first = (
        text(),
        optional("small", (-5..=5_i32).prop_map(Value::from).boxed()),
        optional("large", any::<u64>().prop_map(Value::from).boxed()),
        optional("ratio", (0.5..1e9_f64).prop_map(Value::from).boxed()),
        optional("flag", any::<bool>().prop_map(Value::from).boxed()),
        optional("word", "[a-z]{1,8}".prop_map(Value::from).boxed()),
        optional(
            "colour",
            prop::sample::select(vec!["red", "green", "blue"]).prop_map(Value::from).boxed(),
        ),
        optional(
            "status",
            prop::sample::select(vec!["todo", "doing", "done"]).prop_map(Value::from).boxed(),
        ),
    );
    let second = (
        optional("words", vec("[a-z]{0,5}", 1..=3).prop_map(Value::from).boxed()),
        optional(
            "counts",
            btree_map("[a-z]{0,5}", any::<u32>(), 0..4).prop_map(|all| json!(all)).boxed(),
        ),
        optional("pair", ("[a-z]{0,5}", any::<i64>()).prop_map(|pair| json!(pair)).boxed()),
        optional("figure", figure.boxed()),
        optional("key", key.boxed()),
        optional("place", place.boxed()),
        optional("day", day.boxed()),
        optional("big", any::<u128>().prop_map(|big| Value::from(big.to_string())).boxed()),
        optional(
            "anything",
            scalar()
                .prop_filter("no U+0000", |value| !value.to_string().contains("\\u0000"))
                .boxed(),
        ),
    );
    (first, second).prop_map(|((text, a, b, c, d, e, f, g), (h, i, j, k, l, m, n, o, p))| {
        let mut params = Map::new();
        params.insert("text".to_owned(), text);
        for (name, value) in [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p].into_iter().flatten()
        {
            params.insert(name.to_owned(), value);
        }
        params
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_object_gets_a_result(arguments in object()) {
        // REQ-RQ-08, REQ-RSP-01 to REQ-RSP-07, REQ-ERR-01
        ask(&BOARD, arguments);
    }

    #[test]
    fn any_bytes_get_a_result(
        arguments in request(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        alone in vec(any::<u8>(), 0..60),
    ) {
        // REQ-ENC-01, REQ-RQ-08, REQ-RSP-01
        let mut bytes = arguments.to_string().into_bytes();
        let place = at.index(bytes.len());
        bytes[place] = byte;
        for bytes in [bytes, alone] {
            let asked = Value::from(String::from_utf8_lossy(&bytes).into_owned());
            let reply = block_on(BOARD.handle(Endpoint::Unified, &bytes, CallScope::default()));
            let reply = shape::checked(&asked, &reply);
            if std::str::from_utf8(&bytes).is_err() {
                prop_assert_eq!(code(&reply), Some("VALIDATION_INVALID_ENCODING"));
            }
        }
    }

    #[test]
    fn any_request_gets_a_result(arguments in request()) {
        // REQ-RQ-08, REQ-RSP-01 to REQ-RSP-07, REQ-ERR-01
        ask(&BOARD, arguments);
    }

    #[test]
    fn any_batch_gets_a_result_for_every_item(items in vec(prop_oneof![request(), json_value()], 1..6)) {
        // REQ-BAT-02 to REQ-BAT-05, REQ-RQ-08
        let count = items.len();
        let reply = ask(&BOARD, json!({ "operations": items }));
        if reply["success"] == true {
            prop_assert_eq!(reply["results"].as_array().map(Vec::len), Some(count));
        } else {
            // The request as a whole was rejected.
            let code = code(&reply);
            let whole = ["VALIDATION_INVALID_ENCODING", "VALIDATION_PAYLOAD_TOO_LARGE"];
            prop_assert!(code.is_some_and(|code| whole.contains(&code)), "{reply}");
        }
    }

    #[test]
    fn valid_calls_succeed(params in valid_params()) {
        // REQ-INT-20, REQ-RQ-07
        let reply = call(&BOARD, "echo_values", params.clone().into());
        prop_assert_eq!(code(&reply), None, "{}", reply);
        for (name, value) in params {
            // Null for an optional parameter counts as absent, and numbers may be formatted differently.
            let echoed = &reply["data"][&name];
            let same = value.is_null() || *echoed == value || value.is_number() || !value["radius"].is_null();
            prop_assert!(same, "{name}: {value} became {echoed}");
        }
    }

    #[test]
    fn rejects_missing_parameter(mut params in valid_params()) {
        // REQ-RQ-07, REQ-UPD-02
        params.remove("text");
        let reply = call(&BOARD, "echo_values", params.into());
        prop_assert_eq!(code(&reply), Some("VALIDATION_MISSING_PARAM"));
    }

    #[test]
    fn rejects_wrong_type(mut params in valid_params(), at in any::<prop::sample::Index>()) {
        // REQ-RQ-07
        params.remove("anything");
        let names: Vec<String> = params.keys().cloned().collect();
        let name = at.get(&names).clone();
        let wrong = if name == "flag" { json!(7) } else { json!(true) };
        params.insert(name, wrong);
        let reply = call(&BOARD, "echo_values", params.into());
        prop_assert_eq!(code(&reply), Some("VALIDATION_INVALID_TYPE"), "{}", reply);
    }

    #[test]
    fn rejects_unknown_parameter(mut params in valid_params(), unknown in "[a-z]{1,3}_[a-z]{1,3}", top in any::<bool>()) {
        // REQ-UNK-01, REQ-UNK-04
        let mut arguments = json!({ "operation": "echo_values" });
        if top {
            arguments[unknown] = json!(1);
        } else {
            params.insert(unknown, json!(1));
        }
        arguments["params"] = params.into();
        let reply = ask(&BOARD, arguments);
        prop_assert_eq!(code(&reply), Some("VALIDATION_UNKNOWN_PARAM"), "{}", reply);
    }

    #[test]
    fn rejects_violated_constraint(mut params in valid_params(), which in 0..8_usize) {
        // REQ-RQ-07
        let broken = [
            ("small", json!(6)), ("ratio", json!(0.4)), ("word", json!("ABC")),
            ("colour", json!("pink")), ("status", json!("later")), ("words", json!([])),
            ("day", json!("2031-13-01")), ("big", json!("a")),
        ];
        let (name, value) = &broken[which];
        params.insert((*name).to_owned(), value.clone());
        let reply = call(&BOARD, "echo_values", params.into());
        prop_assert_eq!(code(&reply), Some("VALIDATION_INVALID_VALUE"), "{}", reply);
    }

    #[test]
    fn an_update_changes_named_fields_only(input in object()) {
        // REQ-UPD-08, REQ-UPD-10, REQ-UPD-11
        let made = call(&KEPT, "create_task", json!({ "title": "Milk" }));
        let task_id = made["data"]["task"]["task_id"].clone();
        let read = || call(&KEPT, "get_task", json!({ "task_id": task_id }))["data"]["task"].clone();
        let before = read();
        let reply = call(&KEPT, "update_task", json!({ "task_id": task_id, "input": input }));
        let after = read();
        if reply["success"] == true {
            for (name, value) in before.as_object().into_iter().flatten() {
                if input.get(name).is_none() && name != "_version" {
                    prop_assert_eq!(&after[name], value);
                }
            }
        } else {
            prop_assert_eq!(after, before);
        }
    }
}
