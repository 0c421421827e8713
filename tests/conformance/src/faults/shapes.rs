//! Broken adapters for the checks of the area `shapes`.

use serde_json::{Value, json};

use super::{Fault, Tamper, calls, fails_with, succeeds};

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "success-in-words",
        check: "shapes.union",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "get_house") && succeeds(body) {
                body["success"] = json!("yes");
            }
        }),
    },
    Fault {
        name: "success-without-data",
        check: "shapes.success",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "get_house") && body["success"] == true {
                *body = json!({ "success": true, "result": body["data"] });
            }
        }),
    },
    Fault {
        name: "field-that-the-type-lacks",
        check: "shapes.as_typed",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "create_bed") && succeeds(body) {
                body["data"]["bed"]["row_id"] = json!(7);
            }
        }),
    },
    Fault {
        name: "success-of-delete-is-null",
        check: "shapes.as_typed",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "delete_bed") && succeeds(body) {
                body["data"] = Value::Null;
            }
        }),
    },
    Fault {
        name: "failure-with-data",
        check: "shapes.failure",
        neighbours: &[],
        tamper: Tamper::Body(|_, body| {
            if fails_with(body, "NOT_FOUND_RESOURCE") {
                body["data"] = Value::Null;
            }
        }),
    },
    Fault {
        name: "failure-with-warnings",
        check: "shapes.failure",
        neighbours: &[],
        tamper: Tamper::Body(|_, body| {
            if fails_with(body, "NOT_FOUND_RESOURCE") {
                body["warnings"] = json!([]);
            }
        }),
    },
    Fault {
        name: "duration-in-words",
        check: "shapes.meta",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "get_house") && body["success"] == true {
                body["_meta"] = json!({ "duration_ms": "7 ms" });
            }
        }),
    },
    Fault {
        name: "warning-without-a-code",
        check: "shapes.warnings",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "get_house") && body["success"] == true {
                body["warnings"] = json!([{ "message": "It will rain" }]);
            }
        }),
    },
    Fault {
        name: "urgent-warnings-last",
        check: "shapes.warnings_order",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "get_house") && body["success"] == true {
                let warning = |severity: &str| {
                    let message = format!("This is {severity}");
                    json!({ "code": "VALIDATION_WEATHER_WARNING", "message": message, "severity": severity })
                };
                body["warnings"] = json!([warning("low"), warning("high")]);
            }
        }),
    },
    Fault {
        name: "list-under-its-own-name",
        check: "shapes.collection_items",
        neighbours: &[
            "lifecycle.listed",
            "pagination.items_or_edges",
            "pagination.clamp",
            "pagination.zero",
        ],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "list_executions")
                && let Some(Value::Object(data)) = body.get_mut("data")
                && let Some(items) = data.remove("items")
            {
                data.insert("executions".to_owned(), items);
            }
        }),
    },
    Fault {
        name: "thing-under-a-neutral-name",
        check: "shapes.single_wrapped",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "get_house") && body["success"] == true {
                body["data"] = json!({ "result": body["data"]["house"].take() });
            }
        }),
    },
    Fault {
        name: "seconds-since-1970",
        check: "shapes.dates",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "get_house") && body["success"] == true {
                body["data"]["house"]["updated_at"] = json!(1_935_817_200);
            }
        }),
    },
    Fault {
        name: "local-time",
        check: "shapes.instants",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "get_house") && body["success"] == true {
                body["data"]["house"]["updated_at"] = json!("2031-05-06T09:00:00+02:00");
            }
        }),
    },
    Fault {
        name: "number-nobody-can-read",
        check: "shapes.big_numbers",
        neighbours: &[],
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "get_house") && body["success"] == true {
                body["data"]["house"]["worms"] = json!(9_007_199_254_740_993_u64);
            }
        }),
    },
    Fault {
        name: "token-out-of-nowhere",
        check: "shapes.confirmation_mirror",
        neighbours: &[],
        tamper: Tamper::Body(|_, body| {
            if fails_with(body, "NOT_FOUND_RESOURCE") {
                body["confirmation"] = json!({
                    "token": "conf_x", "expires_at": "2031-05-06T07:13:00Z",
                });
            }
        }),
    },
];
