//! What serde writes for a type, an operation accepts and returns: each type in the places in which types occur.

use std::collections::BTreeMap;

use mcp_aql::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A circle.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
struct Circle {
    /// The radius.
    radius: f64,
}

/// A square with what all forms have.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
struct Square {
    /// The side.
    side: f64,
    #[serde(flatten)]
    common: Common,
}

/// What all forms have.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
struct Common {
    /// The colour.
    colour: Option<String>,
}

/// A form, whose tag is beside a reference.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Form {
    Circle(Circle),
    /// A square on the heap.
    Square(Box<Square>),
    Point,
    Line {
        /// The length.
        length: u32,
    },
}

/// Two variants of the same type.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Twice {
    Inner(Circle),
    Outer(Circle),
}

/// Variants that are enums of each form.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "group", rename_all = "snake_case")]
enum Nested {
    Tagged(Form),
    Adjacent(Adjacent),
    Untagged(Untagged),
}

/// A tag beside its content.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", content = "content", rename_all = "snake_case")]
enum Adjacent {
    Circle(Circle),
    Empty,
}

/// No tag.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Untagged {
    Circle(Circle),
    Named {
        /// The name.
        name: String,
    },
}

/// The tag is the only member.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum External {
    Circle(Circle),
    Form(Form),
    Both(Circle, u8),
    Nothing,
}

/// A record with a form in each place.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
struct Places {
    /// A field.
    field: Form,
    /// An optional field.
    optional: Option<Form>,
    /// A list.
    list: Vec<Twice>,
    /// A map.
    map: BTreeMap<String, Nested>,
    /// A pair.
    pair: (Form, External),
}

fn circle() -> Circle {
    Circle { radius: 1.5 }
}

fn square() -> Box<Square> {
    Box::new(Square { side: 2.0, common: Common { colour: Some("red".to_owned()) } })
}

trait Samples: Sized {
    fn samples() -> Vec<Self>;
}

impl Samples for Form {
    fn samples() -> Vec<Self> {
        vec![Self::Circle(circle()), Self::Square(square()), Self::Point, Self::Line { length: 3 }]
    }
}

impl Samples for Twice {
    fn samples() -> Vec<Self> {
        vec![Self::Inner(circle()), Self::Outer(circle())]
    }
}

impl Samples for Adjacent {
    fn samples() -> Vec<Self> {
        vec![Self::Circle(circle()), Self::Empty]
    }
}

impl Samples for Untagged {
    fn samples() -> Vec<Self> {
        vec![Self::Circle(circle()), Self::Named { name: "a".to_owned() }]
    }
}

impl Samples for Nested {
    fn samples() -> Vec<Self> {
        let forms = Form::samples().into_iter().map(Self::Tagged);
        let adjacent = Adjacent::samples().into_iter().map(Self::Adjacent);
        forms.chain(adjacent).chain(Untagged::samples().into_iter().map(Self::Untagged)).collect()
    }
}

impl Samples for External {
    fn samples() -> Vec<Self> {
        let forms = Form::samples().into_iter().map(Self::Form);
        let others = [Self::Circle(circle()), Self::Both(circle(), 7), Self::Nothing];
        forms.chain(others).collect()
    }
}

impl Samples for Places {
    fn samples() -> Vec<Self> {
        let map = Nested::samples().into_iter().enumerate();
        vec![Self {
            field: Form::Circle(circle()),
            optional: None,
            list: Twice::samples(),
            map: map.map(|(place, form)| (format!("key_{place}"), form)).collect(),
            pair: (Form::Point, External::Form(Form::Square(square()))),
        }]
    }
}

/// Operations that return each value of a type as they received it: alone, in a list, in a map, and optional.
macro_rules! echoes {
    ($($type:ty: $alone:ident $list:ident $map:ident $optional:ident),+ $(,)?) => {
        $(
            /// Return a value.
            #[operation(category = "READ", wrap = "value")]
            fn $alone(
                /// The value.
                value: $type,
            ) -> $type {
                value
            }

            /// Return values.
            #[operation(category = "READ", wrap = "value")]
            fn $list(
                /// The values.
                value: Vec<$type>,
            ) -> Vec<$type> {
                value
            }

            /// Return values by name.
            #[operation(category = "READ", wrap = "value")]
            fn $map(
                /// The values.
                value: BTreeMap<String, $type>,
            ) -> BTreeMap<String, $type> {
                value
            }

            /// Return a value, or none.
            #[operation(category = "READ", wrap = "value")]
            fn $optional(
                /// The value.
                value: Option<$type>,
            ) -> Option<$type> {
                value
            }
        )+

        fn adapter() -> Adapter {
            let builder = Adapter::builder("shapes").without_config();
            $(
                let builder = builder
                    .operation($alone {})
                    .operation($list {})
                    .operation($map {})
                    .operation($optional {});
            )+
            builder.build().unwrap()
        }

        /// The calls of all operations with what serde writes.
        fn calls() -> Vec<(&'static str, Value)> {
            let mut calls = Vec::new();
            $(
                let samples = || <$type>::samples();
                for value in samples() {
                    calls.push((stringify!($alone), json!(value)));
                    calls.push((stringify!($list), json!([value])));
                    calls.push((stringify!($optional), json!(value)));
                }
                calls.push((stringify!($list), json!(samples())));
                let named = samples().into_iter().enumerate();
                let named = named.map(|(place, value)| (format!("k{place}"), value));
                calls.push((stringify!($map), json!(named.collect::<BTreeMap<_, _>>())));
            )+
            calls
        }
    };
}

echoes! {
    Form: form forms form_map form_option,
    Twice: twice twices twice_map twice_option,
    Nested: nested nesteds nested_map nested_option,
    Adjacent: adjacent adjacents adjacent_map adjacent_option,
    Untagged: untagged untaggeds untagged_map untagged_option,
    External: external externals external_map external_option,
    Places: places placess places_map places_option,
}

#[tokio::test]
async fn what_serde_writes_is_accepted_and_returned() {
    // REQ-INT-20, REQ-RQ-10
    let adapter = adapter();
    let calls = calls();
    assert!(calls.len() > 80, "{}", calls.len());
    for (operation, value) in calls {
        let result = adapter.call(operation, json!({ "value": value })).await;
        assert!(result.error().is_none(), "{operation} {value}: {:?}", result.error());
        assert_eq!(result.data()["value"], value, "{operation}");
    }
}

#[tokio::test]
async fn a_member_that_no_variant_has_is_refused() {
    // REQ-UNK-01
    let adapter = adapter();
    for (operation, value) in [
        ("form", json!({ "type": "circle", "radius": 1.0, "radios": 2 })),
        ("form", json!({ "type": "circle", "side": 1.0 })),
        ("form", json!({ "type": "hexagon", "radius": 1.0 })),
        ("form", json!({ "radius": 1.0 })),
        ("twice", json!({ "kind": "inner" })),
        ("nested", json!({ "group": "tagged", "type": "circle" })),
        ("nested", json!({ "group": "adjacent", "type": "circle", "radius": 1.0 })),
    ] {
        let result = adapter.call(operation, json!({ "value": value })).await;
        let error = result.error().unwrap_or_else(|| panic!("{operation} {value}"));
        assert!(error.code.starts_with("VALIDATION_"), "{operation} {value}: {error:?}");
    }
}
