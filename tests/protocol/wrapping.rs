//! Tests the member of `data` that contains the result, for every form of a type.

use std::collections::BTreeMap;

use mcp_aql::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::support::{block_on, call, data};

/// A part of something.
#[derive(Serialize, JsonSchema)]
struct Part {
    /// Its number.
    number: u32,
}

const PART: Part = Part { number: 1 };

/// A struct with a type parameter.
#[derive(Serialize, JsonSchema)]
struct Boxed<T> {
    /// What it contains.
    content: T,
}

/// A struct that refers to itself.
#[derive(Serialize, JsonSchema)]
struct Tree {
    /// The tree below it.
    child: Option<Box<Tree>>,
}

/// A struct around another one.
#[derive(Serialize, JsonSchema)]
struct Shell(Part);

/// A struct that is serialized like its field.
#[derive(Serialize, JsonSchema)]
#[serde(transparent)]
struct Glass {
    /// Its part.
    part: Part,
}

/// A struct without names of fields.
#[derive(Serialize, JsonSchema)]
struct Pair(u32, u32);

/// A struct without fields.
#[derive(Serialize, JsonSchema)]
struct Empty {}

/// A struct with the fields of another one.
#[derive(Serialize, JsonSchema)]
struct Labelled {
    /// The label.
    label: String,
    /// The part.
    #[serde(flatten)]
    part: Part,
}

/// A struct that has only the fields of others.
#[derive(Serialize, JsonSchema)]
struct Joined {
    /// The part.
    #[serde(flatten)]
    part: Part,
    /// The tree.
    #[serde(flatten)]
    tree: Tree,
}

/// An enum with fields.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Figure {
    /// A square.
    Square {
        /// The length of a side.
        side: u32,
    },
    /// A circle.
    Circle {
        /// The distance of its line from the centre.
        radius: u32,
    },
}

/// A struct with the fields of an enum.
#[derive(Serialize, JsonSchema)]
struct Drawing {
    /// The figure.
    #[serde(flatten)]
    figure: Figure,
}

/// A struct with the members of a map.
#[derive(Serialize, JsonSchema)]
struct Prices {
    /// The prices.
    #[serde(flatten)]
    all: BTreeMap<String, u32>,
}

/// A struct whose schema has no name.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct Nameless {
    /// Its number.
    number: u32,
}

/// A page with a further member.
#[derive(Serialize, JsonSchema)]
struct Report {
    /// The heading.
    heading: String,
    /// The page.
    #[serde(flatten)]
    page: Page<Part>,
}

/// A page as a type of its own.
#[derive(Serialize, JsonSchema)]
struct Parts(Page<Part>);

/// An amount, which requests write as a text.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
struct Amount {
    /// The number of cents.
    cents: u32,
}

impl TryFrom<String> for Amount {
    type Error = std::num::ParseIntError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse().map(|cents| Self { cents })
    }
}

fn page() -> Page<Part> {
    Page::new(vec![PART], PageInfo::new(false, false))
}

macro_rules! operations {
    ($($name:ident: $type:ty = $value:expr;)*) => {
        $(
            /// Return a value.
            #[operation(category = "READ")]
            fn $name() -> $type {
                $value
            }
        )*

        /// Builds an adapter with an operation for each value.
        fn adapter() -> Adapter {
            Adapter::builder("values")
                $(.operation($name {}))*
                .operation(get_double {})
                .operation(get_named {})
                .operation(get_bare {})
                .operation(list_named {})
                .operation(list_bare {})
                .operation(execute_order {})
                .without_config()
                .build()
                .unwrap()
        }
    };
}

operations! {
    get_part: Part = PART;
    get_option: Option<Part> = Some(PART);
    get_boxed: Boxed<Part> = Boxed { content: PART };
    get_tree: Tree = Tree { child: None };
    get_shell: Shell = Shell(PART);
    get_glass: Glass = Glass { part: PART };
    get_pair: Pair = Pair(1, 2);
    get_empty: Empty = Empty {};
    get_labelled: Labelled = Labelled { label: "a".to_owned(), part: PART };
    get_joined: Joined = Joined { part: PART, tree: Tree { child: None } };
    get_figure: Figure = Figure::Square { side: 1 };
    get_drawing: Drawing = Drawing { figure: Figure::Circle { radius: 1 } };
    get_prices: Prices = Prices { all: BTreeMap::new() };
    get_nameless: Nameless = Nameless { number: 1 };
    get_maybe_nameless: Option<Box<Nameless>> = Some(Box::new(Nameless { number: 1 }));
    get_report: Report = Report { heading: "a".to_owned(), page: page() };
    get_parts: Parts = Parts(page());
    get_page: Page<Part> = page();
    get_list: Vec<Part> = vec![PART];
    get_map: BTreeMap<String, Part> = BTreeMap::from([("a".to_owned(), PART)]);
    get_number: u32 = 7;
}

/// Double an amount.
#[operation(category = "READ", example = { "amount": "4" })]
fn get_double(
    /// The amount in cents.
    amount: Amount,
) -> Amount {
    Amount { cents: amount.cents * 2 }
}

/// Return a part under another key.
#[operation(category = "READ", wrap = "found")]
fn get_named() -> Nameless {
    Nameless { number: 1 }
}

/// Return a part as `data`.
#[operation(category = "READ", wrap = false)]
fn get_bare() -> Shell {
    Shell(PART)
}

/// Return a list under another key.
#[operation(category = "READ", wrap = "found")]
fn list_named() -> Vec<Part> {
    vec![PART]
}

/// Return a list as `data`.
#[operation(category = "READ", wrap = false)]
fn list_bare() -> Parts {
    Parts(page())
}

/// Return a part later.
#[operation(category = "EXECUTE", lifecycle)]
async fn execute_order() -> Part {
    PART
}

#[test]
fn every_struct_is_under_its_own_name() {
    // REQ-RSP-11
    let adapter = adapter();
    let page = json!({ "items": [{ "number": 1 }], "pageInfo": { "hasNextPage": false, "hasPreviousPage": false } });
    let mut report = page.clone();
    report["heading"] = json!("a");
    let part = json!({ "number": 1 });
    for (operation, expected) in [
        ("get_part", json!({ "part": part })),
        ("get_option", json!({ "part": part })),
        ("get_boxed", json!({ "boxed": { "content": part } })),
        ("get_tree", json!({ "tree": { "child": null } })),
        ("get_shell", json!({ "shell": part })),
        ("get_glass", json!({ "glass": part })),
        ("get_pair", json!({ "pair": [1, 2] })),
        ("get_empty", json!({ "empty": {} })),
        ("get_labelled", json!({ "labelled": { "label": "a", "number": 1 } })),
        ("get_joined", json!({ "joined": { "number": 1, "child": null } })),
        ("get_figure", json!({ "figure": { "kind": "square", "side": 1 } })),
        ("get_drawing", json!({ "drawing": { "kind": "circle", "radius": 1 } })),
        ("get_prices", json!({ "prices": {} })),
        ("get_nameless", json!({ "nameless": part })),
        ("get_maybe_nameless", json!({ "nameless": part })),
        ("get_report", json!({ "report": report })),
        ("get_parts", json!({ "parts": page })),
        ("get_page", page.clone()),
        ("get_list", json!({ "items": [part] })),
        ("get_map", json!({ "a": part })),
        ("get_number", json!(7)),
        ("get_named", json!({ "found": part })),
        ("get_bare", part.clone()),
        ("list_named", json!({ "found": [part] })),
        ("list_bare", page.clone()),
    ] {
        assert_eq!(data(call(&adapter, operation, json!({}))), expected, "{operation}");
        // If the name of the type does not determine the member, introspection states it.
        let asked = json!({ "query": "operations", "name": operation });
        let returns = &data(call(&adapter, "introspect", asked))["operation"]["returns"];
        let is_whole = ["get_page", "get_map", "get_number", "get_bare", "list_bare"];
        let place = match operation {
            _ if is_whole.contains(&operation) => json!("As data."),
            "get_named" | "list_named" => json!("In data.found."),
            // The type's name is not the name of the member.
            "get_nameless" | "get_maybe_nameless" => json!("In data.nameless."),
            "get_pair" => json!("In data.pair."),
            _ => Value::Null,
        };
        assert_eq!(returns["description"], place, "{operation}");
    }
}

#[test]
fn a_type_of_another_form_in_requests_keeps_its_place_in_replies() {
    // REQ-RSP-11
    let doubled = data(call(&adapter(), "get_double", json!({ "amount": "4" })));
    assert_eq!(doubled, json!({ "amount": { "cents": 8 } }));
}

#[test]
fn the_result_of_an_execution_has_the_same_place() {
    // REQ-RSP-11, REQ-LIF-04
    let adapter = adapter();
    block_on(async {
        let begun = adapter.call("execute_order", json!({})).await;
        let id = begun.data()["execution_id"].clone();
        let asked = json!({ "execution_id": id, "wait_seconds": 20 });
        let state = adapter.call("get_execution", asked).await;
        assert_eq!(state.data()["result"], json!({ "part": { "number": 1 } }));
    });
}
