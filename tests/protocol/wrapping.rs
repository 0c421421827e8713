//! The place of results in `data`.

use mcp_aql::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};

use crate::support::{call, data};

macro_rules! shapes {
    ($($(#[$attr:meta])* $name:ident: $type:ty = $value:expr;)*) => {
        $(
            /// Return a value.
            #[operation(category = "READ")]
            fn $name() -> $type {
                $value
            }
        )*
        fn adapter() -> Adapter {
            Adapter::builder("shapes")$(.operation($name {}))*.without_config().build().unwrap()
        }
        const NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}

/// A part.
#[derive(Serialize, JsonSchema, Clone)]
struct Part {
    n: u32,
}
/// Generic.
#[derive(Serialize, JsonSchema)]
struct Pair<T> {
    left: T,
}
/// Recursive.
#[derive(Serialize, JsonSchema)]
struct Tree {
    child: Option<Box<Tree>>,
}
/// Newtype.
#[derive(Serialize, JsonSchema)]
struct Outer(Part);
/// Transparent.
#[derive(Serialize, JsonSchema)]
#[serde(transparent)]
struct Clear {
    part: Part,
}
/// Newtype list.
#[derive(Serialize, JsonSchema)]
struct Parts(Vec<Part>);
/// Tuple.
#[derive(Serialize, JsonSchema)]
struct Both(u32, Part);
/// Unit.
#[derive(Serialize, JsonSchema)]
struct Unit;
/// Empty.
#[derive(Serialize, JsonSchema)]
struct Empty {}
/// Flat.
#[derive(Serialize, JsonSchema)]
struct Flat {
    a: u32,
    #[serde(flatten)]
    part: Part,
}
/// Only flat.
#[derive(Serialize, JsonSchema)]
struct OnlyFlat {
    #[serde(flatten)]
    part: Part,
}
/// Two flat.
#[derive(Serialize, JsonSchema)]
struct Two {
    #[serde(flatten)]
    part: Part,
    #[serde(flatten)]
    tree: Tree,
}
/// Flat enum.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "kind")]
enum Shape {
    Square { side: u32 },
    Round { radius: u32 },
}
/// Flat enum struct.
#[derive(Serialize, JsonSchema)]
struct FlatEnum {
    a: u32,
    #[serde(flatten)]
    shape: Shape,
}
/// Only flat enum.
#[derive(Serialize, JsonSchema)]
struct OnlyFlatEnum {
    #[serde(flatten)]
    shape: Shape,
}
/// Flat page.
#[derive(Serialize, JsonSchema)]
struct FlatPage {
    a: u32,
    #[serde(flatten)]
    page: Page<Part>,
}
/// Newtype page.
#[derive(Serialize, JsonSchema)]
struct MyPage(Page<Part>);
/// Map.
#[derive(Serialize, JsonSchema)]
struct FlatMap {
    #[serde(flatten)]
    all: std::collections::BTreeMap<String, u32>,
}
/// Inline.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct Inlined {
    n: u32,
}
/// Untagged.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Any {
    Part(Part),
    Text(String),
}
/// One variant.
#[derive(Serialize, JsonSchema)]
enum OneVariant {
    Part(Part),
}
/// One variant tagged.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "t")]
enum OneTagged {
    Part(Part),
}
/// Text.
#[derive(Serialize, JsonSchema)]
struct Name(String);
/// Value struct.
#[derive(Serialize, JsonSchema)]
struct AnyValue(Value);
#[derive(Serialize, JsonSchema)]
#[schemars(transform = strip)]
struct Opaque {
    n: u32,
}
fn strip(schema: &mut schemars::Schema) {
    let _ = schema;
}

const P: Part = Part { n: 1 };
shapes! {
    get_part: Part = P;
    get_option: Option<Part> = Some(P);
    get_none: Option<Part> = None;
    get_pair: Pair<Part> = Pair { left: P };
    get_tree: Tree = Tree { child: None };
    get_outer: Outer = Outer(P);
    get_clear: Clear = Clear { part: P };
    get_parts: Parts = Parts(vec![P]);
    get_option_list: Option<Vec<Part>> = Some(vec![P]);
    get_both: Both = Both(1, P);
    get_unit: Unit = Unit;
    get_empty: Empty = Empty {};
    get_flat: Flat = Flat { a: 1, part: P };
    get_only_flat: OnlyFlat = OnlyFlat { part: P };
    get_two: Two = Two { part: P, tree: Tree { child: None } };
    get_shape: Shape = Shape::Square { side: 1 };
    get_flat_enum: FlatEnum = FlatEnum { a: 1, shape: Shape::Round { radius: 1 } };
    get_only_flat_enum: OnlyFlatEnum = OnlyFlatEnum { shape: Shape::Round { radius: 1 } };
    get_flat_page: FlatPage = FlatPage { a: 1, page: Page::new(vec![P], PageInfo::new(false, false)) };
    get_my_page: MyPage = MyPage(Page::new(vec![P], PageInfo::new(false, false)));
    get_flat_map: FlatMap = FlatMap { all: Default::default() };
    get_inlined: Inlined = Inlined { n: 1 };
    get_any: Any = Any::Part(P);
    get_one: OneVariant = OneVariant::Part(P);
    get_one_tagged: OneTagged = OneTagged::Part(P);
    get_name: Name = Name("a".into());
    get_value: AnyValue = AnyValue(json!({"a": 1}));
    get_tuple: (Part, u32) = (P, 1);
    get_map: std::collections::BTreeMap<String, Part> = Default::default();
}

#[test]
fn experiment() {
    let adapter = adapter();
    for name in NAMES {
        let asked = json!({ "query": "operations", "name": name });
        let returns = data(call(&adapter, "introspect", asked))["operation"]["returns"].clone();
        println!("{name}: {} {returns}", data(call(&adapter, name, json!({}))));
    }
}
