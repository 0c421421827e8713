//! Valid calls of the board that the other protocol tests use.

use serde_json::{Value, json};

use super::mistakes::Features;

pub(crate) fn features() -> Features {
    Features {
        maps: &["counts", "extra", "anything"],
        tags: &["figure.kind"],
        enums: &["colour", "status"],
        limits: vec![
            ("small", vec![json!(-6), json!(6)]),
            ("ratio", vec![json!(0.25)]),
            ("word", vec![json!("Bread"), json!("abcdefghi")]),
            ("words", vec![json!([]), json!(["a", "b", "c", "d"])]),
            ("day", vec![json!("yesterday"), json!("2031-5-6")]),
            ("instant", vec![json!("2031-05-06")]),
            ("email", vec![json!("ada")]),
            ("uri", vec![json!("example")]),
            ("uuid", vec![json!("1234")]),
            ("title", vec![json!(""), json!("x".repeat(41))]),
            ("priority", vec![json!(0), json!(6), json!(-1), json!(1000)]),
            ("tags", vec![json!(["a", "b", "c", "d"])]),
            ("metadata.author", vec![json!("x".repeat(11))]),
            ("input.password", vec![json!("short")]),
            ("steps", vec![json!(101)]),
        ],
        ..Features::default()
    }
}

pub(crate) fn samples() -> Vec<(&'static str, Value)> {
    vec![
        (
            "echo_values",
            json!({
                "text": "a", "small": -3, "large": 9_000_000_000_u64, "ratio": 0.75, "flag": true,
                "word": "bread", "colour": "green", "status": "doing", "words": ["a", "b"],
                "counts": { "apples": 3 }, "pair": ["a", 7],
                "figure": { "kind": "square", "side": 4 }, "key": 7,
                "place": { "x": 1, "y": 2, "label": "home" }, "day": "2031-05-06",
                "instant": "2031-05-06T07:08:09Z", "email": "ada@example.org",
                "uri": "https://example.org/", "uuid": "7f2c1a34-0c0e-4a5e-9a53-0d6f2f6f1a11",
                "big": "18446744073709551616",
            }),
        ),
        (
            "echo_values",
            json!({ "text": "b", "figure": { "kind": "circle", "radius": 1.5 }, "key": "b" }),
        ),
        (
            "create_task",
            json!({
                "title": "Milk", "status": "done", "priority": 2, "tags": ["a"],
                "due_date": "2031-05-06",
                "metadata": { "author": "ada", "note": "n", "origin": { "system": "s", "number": 5 } },
            }),
        ),
        (
            "update_account",
            json!({ "account_id": "a-1", "input": { "name": "Ada", "password": "long-enough" } }),
        ),
        ("run_report", json!({ "steps": 3 })),
        ("repeat_text", json!({ "length": 3, "times": 2 })),
        ("find_by_number", json!({ "number": 3 })),
    ]
}
