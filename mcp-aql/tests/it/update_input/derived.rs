//! Tests of the table that `#[derive(UpdateInput)]` generates.

use std::marker::PhantomData;

use mcp_aql::constraint::{Bound, Constraint, Format};
use mcp_aql::table::{InputFieldSpec, Merge};
use mcp_aql::{Update, UpdateInput};
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};

use super::resource::{Metadata, Task};

const fn table() -> mcp_aql::table::InputSpec {
    Task::INPUT
}

static TABLE: mcp_aql::table::InputSpec = table();

fn field(name: &str) -> &'static InputFieldSpec {
    TABLE.field(name).unwrap_or_else(|| panic!("no field `{name}`"))
}

fn schema(field: &InputFieldSpec) -> Value {
    (field.parameter.schema)(&mut SchemaGenerator::default()).to_value()
}

#[test]
fn the_table_lists_what_may_change_and_what_may_not() {
    // REQ-UPD-04, REQ-UPD-06
    let names: Vec<_> = TABLE.names().collect();
    assert_eq!(
        names,
        [
            "title", "status", "priority", "due_date", "tags", "metadata", "review", "counts",
            "people", "rooms", "extra", "settings", "place", "kind", "secret"
        ]
    );
    assert_eq!(TABLE.identifiers, ["task_id"]);
    assert_eq!(TABLE.read_only, ["created_at", "_version"]);
    let schema = (TABLE.schema)(&mut SchemaGenerator::default());
    assert_eq!(schema.as_value(), &json!({"$ref": "#/$defs/Task"}));
}

#[test]
fn a_field_describes_its_values() {
    // REQ-RQ-11, REQ-UPD-12
    let title = field("title");
    assert_eq!(title.parameter.description, "Short title.");
    assert_eq!(title.parameter.constraints, [Constraint::MinLength(1), Constraint::MaxLength(200)]);
    assert_eq!(
        field("priority").parameter.constraints,
        [Constraint::Minimum(Bound::Int(1)), Constraint::Maximum(Bound::Int(5))]
    );
    let due_date = field("due_date");
    assert_eq!(due_date.parameter.constraints, [Constraint::Format(Format::Date)]);
    let notice = due_date.parameter.deprecated.expect("deprecated");
    assert_eq!((notice.replacement, notice.removal_date), (Some("schedule"), Some("2031-05-06")));
    assert!(field("secret").parameter.sensitive && !title.parameter.sensitive);
}

#[test]
fn schemas_are_those_of_the_types_without_option() {
    assert_eq!(schema(field("due_date")), json!({"type": "string"}));
    assert_eq!(schema(field("secret")), json!({"type": "string"}));
    assert_eq!(schema(field("review")), json!({"$ref": "#/$defs/Metadata"}));
    assert_eq!(schema(field("metadata")), json!({"$ref": "#/$defs/Metadata"}));
}

#[test]
fn the_rule_follows_from_the_type() {
    // REQ-UPD-07 to REQ-UPD-10
    for (name, removable, merge) in [
        ("title", false, "Replace"),
        ("status", false, "Replace"),
        ("tags", false, "Replace"),
        ("kind", false, "Replace"),
        ("place", false, "Replace"),
        ("due_date", true, "Replace"),
        ("secret", true, "Replace"),
        ("metadata", false, "Fields"),
        ("review", true, "Fields"),
        ("counts", false, "Keys(Replace)"),
        ("people", false, "Keys(Fields)"),
        ("rooms", true, "Keys(Keys(Replace))"),
        ("extra", true, "Json"),
        ("settings", false, "Keys(Json)"),
    ] {
        let field = field(name);
        assert_eq!(
            (field.removable, merge_name(field.merge).as_str()),
            (removable, merge),
            "{name}"
        );
        assert_eq!(field.allow_replace, name == "place", "{name}");
    }
    let Merge::Fields(nested) = field("review").merge else { panic!("fields") };
    assert_eq!(nested().read_only, ["score"]);
}

fn merge_name(merge: Merge) -> String {
    match merge {
        Merge::Replace => "Replace".into(),
        Merge::Fields(_) => "Fields".into(),
        Merge::Json => "Json".into(),
        Merge::Keys(element) => format!("Keys({})", merge_name(element.merge)),
        _ => "another".into(),
    }
}

type Maybe<T> = Option<T>;
type Labels = std::collections::BTreeMap<String, u32>;

/// Aliases, renames and generics.
#[derive(Debug, PartialEq, serde::Deserialize, JsonSchema, UpdateInput)]
#[serde(rename_all = "snake_case")]
#[update_input(crate = mcp_aql)]
struct Odd<T, const N: usize>
where
    T: Clone,
{
    /// An alias of an option.
    maybe: Maybe<u32>,
    /// An alias of a map.
    labels: Labels,
    /// Of an unknown type.
    value: T,
    /// An optional list of it.
    values: Option<Vec<T>>,
    /// A number.
    #[param(enum = [1, 2, 3], minimum = -0.5)]
    float: f64,
    /// A choice.
    #[param(enum = ["a", "b"])]
    r#type: String,
    #[serde(skip)]
    here: PhantomData<[(); N]>,
}

#[test]
fn aliases_and_generics_work() {
    let mut odd = Odd::<Metadata, 3> {
        maybe: Some(1),
        labels: Labels::from([("a".into(), 1)]),
        value: Metadata::default(),
        values: None,
        float: 1.0,
        r#type: "a".into(),
        here: PhantomData,
    };
    let input = json!({
        "maybe": null, "labels": {"a": null, "b": 2}, "values": [], "type": "b",
        "value": {"author": "x", "origin": {"system": "y"}}
    });
    Update::from_json(input).unwrap().merge_into(&mut odd);
    assert_eq!((odd.maybe, odd.labels), (None, Labels::from([("b".into(), 2)])));
    assert_eq!((odd.values.as_deref(), odd.r#type.as_str()), (Some([].as_slice()), "b"));
    assert_eq!(odd.value.author, "x");
}

/// Every text format of a field.
#[derive(serde::Deserialize, JsonSchema, UpdateInput)]
#[allow(dead_code)]
struct Forms {
    /// Base64.
    #[param(format = "byte")]
    byte: String,
    /// A day.
    #[param(format = "date")]
    date: String,
    /// An instant.
    #[param(format = "date-time")]
    date_time: String,
    /// An address.
    #[param(format = "email")]
    email: String,
    /// An address.
    #[param(format = "ipv4")]
    ipv4: String,
    /// An address.
    #[param(format = "ipv6")]
    ipv6: String,
    /// A time of day.
    #[param(format = "time")]
    time: String,
    /// A link.
    #[param(format = "uri")]
    uri: String,
    /// An identifier.
    #[param(format = "uuid")]
    uuid: String,
}

#[test]
fn the_macro_knows_every_format_of_the_runtime() {
    // REQ-INT-13
    let formats = Forms::INPUT.fields.iter().map(|field| field.parameter.constraints);
    let expected: Vec<_> = Format::ALL.iter().copied().map(Constraint::Format).collect();
    assert!(formats.eq(expected.iter().map(std::slice::from_ref)));
}
