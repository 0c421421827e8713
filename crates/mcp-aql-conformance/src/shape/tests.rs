//! Tests of shapes.

use serde_json::{Value, json};

use super::*;
use crate::adapter::Type;

fn types() -> Vec<Type> {
    [
        json!({ "name": "Status", "kind": "enum", "values": ["todo", "done"] }),
        json!({ "name": "Place", "kind": "object", "fields": [
            { "name": "shelf", "type": "string", "required": true, "pattern": "^[A-Z][0-9]$" },
            { "name": "floor", "type": "integer", "required": true, "minimum": 0 },
            { "name": "hint", "type": "string", "required": false },
        ]}),
        json!({ "name": "Either", "kind": "union", "members": ["Status", "Place"] }),
        json!({ "name": "Own", "kind": "object", "fields": [
            { "name": "own", "type": "Own", "required": true },
        ]}),
        json!({ "name": "Instant", "kind": "scalar" }),
    ]
    .into_iter()
    .map(|details| {
        let name = details["name"].as_str().unwrap().to_owned();
        Type::read(name, Value::Null, json!({ "data": { "type": details } }), "name")
    })
    .collect()
}

/// Runs a closure on the shape of a parameter.
fn with<T>(raw: Value, look: impl FnOnce(Shape<'_>) -> T) -> T {
    look(Shape::new(raw.as_object().unwrap(), &types()))
}

fn forms() -> Vec<Value> {
    vec![
        json!({ "type": "string" }),
        json!({ "type": "string", "minLength": 3, "maxLength": 5 }),
        json!({ "type": "string", "maxLength": 40, "pattern": "^p-[0-9]{1,9}$" }),
        json!({ "type": "string", "enum": ["a", "b"] }),
        json!({ "type": "string", "format": "date" }),
        json!({ "type": "string", "format": "date-time" }),
        json!({ "type": "string", "format": "email" }),
        json!({ "type": "string", "format": "uri" }),
        json!({ "type": "string", "format": "uuid" }),
        json!({ "type": "string", "format": "byte" }),
        json!({ "type": "integer" }),
        json!({ "type": "integer", "minimum": -3, "maximum": 5 }),
        json!({ "type": "integer", "maximum": -10 }),
        json!({ "type": "number", "minimum": 0.5, "maximum": 0.75 }),
        json!({ "type": "boolean" }),
        json!({ "type": "array", "items": { "type": "integer", "minimum": 4 } }),
        json!({ "type": "object" }),
        json!({ "type": "object or array" }),
        json!({ "type": "Status" }),
        json!({ "type": "Place" }),
        json!({ "type": "Either" }),
        json!({ "type": "array", "items": { "type": "Place" } }),
    ]
}

#[test]
fn accepts_generated_values_and_rejects_wrong_ones() {
    for raw in forms() {
        with(raw.clone(), |shape| {
            for turn in 0..40 {
                let made = shape.made(turn).filter(|made| shape.accepts(made));
                // No integer lies between 0.5 and 0.75.
                let is_narrow = raw.get("maximum") == Some(&json!(0.75));
                assert!(made.is_some() || is_narrow, "{raw}");
            }
            for edge in shape.edges() {
                assert!(shape.accepts(&edge), "{raw}: {edge}");
            }
            let wrong = shape.wrong();
            assert!(!wrong.is_empty(), "{raw}");
            for wrong in wrong {
                assert!(!shape.accepts(&wrong.value), "{raw}: {wrong:?}");
            }
        });
    }
}

#[test]
fn every_constraint_has_an_invalid_value() {
    let faults = |raw| {
        with(raw, |shape| {
            shape
                .wrong()
                .into_iter()
                .map(|wrong| (wrong.fault, wrong.value))
                .filter(|(fault, _)| *fault != Fault::Type)
                .collect::<Vec<_>>()
        })
    };
    assert_eq!(
        faults(json!({ "type": "integer", "minimum": 1, "maximum": 5 })),
        [(Fault::Below, json!(0)), (Fault::Above, json!(6))]
    );
    assert_eq!(
        faults(json!({ "type": "string", "minLength": 1, "maxLength": 2 })),
        [(Fault::Short, json!("")), (Fault::Long, json!("xxx"))]
    );
    assert_eq!(
        faults(json!({ "type": "string", "enum": ["a"] })),
        [(Fault::Word, json!("conformance_probe"))]
    );
    assert_eq!(faults(json!({ "type": "integer", "enum": [2, 4] })), [(Fault::Word, json!(5))]);
    assert_eq!(
        faults(json!({ "type": "string", "pattern": "^[0-9]{4,8}$" })),
        [(Fault::Pattern, json!("!"))]
    );
    assert_eq!(
        faults(json!({ "type": "string", "format": "date" })),
        [(Fault::Format, json!("no date")), (Fault::Format, json!("2031-02-30"))]
    );
    assert_eq!(
        faults(json!({ "type": "array", "items": { "type": "string", "enum": ["a"] } })).len(),
        6
    );
    let members = faults(json!({ "type": "Place" }));
    assert!(members.contains(&(Fault::Member, json!({ "floor": 1 }))), "{members:?}");
}

#[test]
fn values_of_other_types_are_invalid() {
    let types = |raw| {
        with(raw, |shape| {
            shape
                .wrong()
                .into_iter()
                .filter(|wrong| wrong.fault == Fault::Type)
                .map(|wrong| wrong.value)
                .collect::<Vec<_>>()
        })
    };
    let integer = types(json!({ "type": "integer" }));
    assert!(integer.contains(&json!(1.5)) && !integer.contains(&json!(7)), "{integer:?}");
    let word = types(json!({ "type": "string", "enum": ["a"] }));
    assert!(word.contains(&json!(7)) && !word.iter().any(Value::is_string), "{word:?}");
    let either = types(json!({ "type": "string or array" }));
    assert!(!either.iter().any(|value| value.is_array() || value.is_string()), "{either:?}");
    assert_eq!(types(json!({ "type": "any" })), [] as [Value; 0]);
    assert_eq!(types(json!({ "type": "Instant" })), [] as [Value; 0]);
}

#[test]
fn text_of_a_number_is_not_a_number() {
    let text = |raw, text: &str| {
        let wrong = InvalidValue { fault: Fault::Type, value: json!(text), path: String::new() };
        with(raw, |shape| shape.wrong().contains(&wrong))
    };
    assert!(text(json!({ "type": "integer", "minimum": 3 }), "4"));
    assert!(text(json!({ "type": "boolean" }), "false"));
    assert!(!text(json!({ "type": "integer or string" }), "2"));
}

#[test]
fn checks_values_of_maps() {
    with(json!({ "type": "object", "items": { "type": "integer" } }), |shape| {
        assert!(shape.accepts(&json!({ "a": 1 })) && !shape.accepts(&json!({ "a": "x" })));
        let wrong = InvalidValue {
            fault: Fault::Item,
            value: json!({ "conformance": true }),
            path: ".conformance".to_owned(),
        };
        assert!(shape.wrong().contains(&wrong), "{:?}", shape.wrong());
    });
}

#[test]
fn turns_give_different_values() {
    for raw in [
        json!({ "type": "string" }),
        json!({ "type": "string", "enum": ["a", "b", "c"] }),
        json!({ "type": "integer", "minimum": 1, "maximum": 5 }),
        json!({ "type": "string", "format": "date" }),
        json!({ "type": "string", "pattern": "^p-[0-9]{1,9}$" }),
    ] {
        let (first, second) =
            with(raw.clone(), |shape| (shape.made(0).unwrap(), shape.made(1).unwrap()));
        assert_ne!(first, second, "{raw}");
    }
}

#[test]
fn unsatisfiable_shapes_give_none() {
    assert_eq!(with(json!({ "type": "Own" }), |shape| shape.made(0)), None);
    assert_eq!(with(json!({ "type": "Missing" }), |shape| shape.made(0)), None);
    assert_eq!(with(json!({}), |shape| shape.made(0)), None);
    let impossible = json!({ "type": "string", "minLength": 9, "maxLength": 2 });
    assert_eq!(with(impossible, |shape| shape.made(0)), None);
    let odd = json!({ "type": "string", "pattern": "(", "minLength": -1, "maxLength": "x" });
    assert_eq!(with(odd, |shape| shape.made(0)), None);
    let huge = json!({ "type": "string", "minLength": 99_999_999_999_u64 });
    assert_eq!(with(huge, |shape| (shape.made(0), shape.edges())), (None, vec![]));
    // Recursive unions and objects must not exceed the limits.
    let names: Vec<_> = (0..30).map(|at| format!("T{at}")).collect();
    let unions = names.iter().map(|name| {
        json!({ "name": name, "kind": "union", "members":
        names.iter().cloned().chain((0..30).map(|at| format!("F{at}"))).collect::<Vec<_>>() })
    });
    let objects = (0..30).map(|at| {
        json!({ "name": format!("F{at}"), "kind": "object", "fields":
        [{ "name": "own", "type": "T0", "required": true }] })
    });
    let types: Vec<_> = unions
        .chain(objects)
        .map(|details| {
            let name = details["name"].as_str().unwrap().to_owned();
            Type::read(name, Value::Null, json!({ "data": { "type": details } }), "name")
        })
        .collect();
    let raw = json!({ "type": "T0" });
    let shape = Shape::new(raw.as_object().unwrap(), &types);
    let mut deep = json!(1);
    for _ in 0..20 {
        deep = json!({ "own": deep });
    }
    assert_eq!(
        (shape.made(0), shape.accepts(&json!(7)), shape.accepts(&deep)),
        (None, false, true)
    );
    // A list of a recursive type must not exceed them, either.
    with(json!({ "type": "Own" }), |shape| assert!(shape.wrong().len() < 20));
}

#[test]
fn recognizes_invalid_values_that_match_no_item() {
    for aimed in [json!(7), json!(1.5), json!(true), json!(null), json!(""), json!("0"), json!([])]
    {
        assert!(!hits_nothing(&aimed), "{aimed}");
    }
    for wide in [json!("conformance"), json!(["conformance"]), json!({ "conformance": 1 })] {
        assert!(hits_nothing(&wide), "{wide}");
    }
    assert!(!hits_nothing(&json!(["conformance", 7])));
}

#[test]
fn never_invents_true_for_flags_that_widen_an_effect() {
    for raw in [
        json!({ "name": "force", "type": "boolean" }),
        json!({ "name": "confirm_all", "type": "boolean", "enum": [true] }),
    ] {
        with(raw.clone(), |shape| {
            let made: Vec<_> = (0..4).filter_map(|turn| shape.made(turn)).collect();
            assert!(!made.contains(&json!(true)), "{raw}");
        });
    }
    let made = with(json!({ "name": "done", "type": "boolean" }), |shape| shape.made(0));
    assert_eq!(made, Some(json!(true)));
    let made = |field: Value| {
        let details = json!({ "name": "Options", "kind": "object", "fields": [field] });
        let reply = json!({ "data": { "type": details } });
        let types = [Type::read("Options".to_owned(), Value::Null, reply, "name")];
        let raw = json!({ "name": "options", "type": "Options" });
        Shape::new(raw.as_object().unwrap(), &types).made(0)
    };
    let field = json!({ "name": "overwrite", "type": "boolean", "required": true });
    assert_eq!(made(field), Some(json!({ "overwrite": false })));
    let only_true =
        json!({ "name": "overwrite", "type": "boolean", "required": true, "enum": [true] });
    assert_eq!(made(only_true), None);
}

#[test]
fn tries_out_a_sample_of_many_values() {
    let edges = |count: usize| {
        let words: Vec<_> = (0..count).map(|at| at.to_string()).collect();
        with(json!({ "type": "string", "enum": words }), |shape| shape.edges())
    };
    assert_eq!(edges(3), [json!("0"), json!("1"), json!("2")]);
    assert_eq!((edges(0), edges(1)), (vec![], vec![json!("0")]));
    assert_eq!(edges(32).len(), 32);
    let many = edges(20_000);
    assert_eq!(
        (many.len(), many.first(), many.last()),
        (32, Some(&json!("0")), Some(&json!("19999")))
    );
    assert!(many.is_sorted_by_key(|word| word.as_str().unwrap().parse::<usize>().unwrap()));
}
