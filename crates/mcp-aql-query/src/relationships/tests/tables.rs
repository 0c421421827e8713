//! Tests of the parameters of a relationship query: their description, example and validation.

use mcp_aql_core::internal::schema::shape::{Faults, Path, Shapes, describe};
use serde_json::{Value, json};

use super::super::RelationshipQuery;
use super::{Bed, PARAMETERS, read};
use crate::entry::{QueryArgument as _, QueryTable};
use crate::options::QueryOptions;
use crate::relationships::table;

fn bed_table() -> QueryTable {
    RelationshipQuery::<Bed>::table(&QueryOptions::new().max_depth(3))
}

fn json_of(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}

#[test]
fn details_list_the_relationships() {
    // REQ-REL-07, REQ-INT-10
    let table = bed_table();
    assert_eq!(table.problems, [""; 0]);
    assert!(table.capabilities.contains(&"relationship_queries"));
    assert_eq!(
        json_of(&table.details),
        json!({ "relationship_capabilities": {
            "supported": true,
            "directions": ["incoming", "outgoing", "both"],
            "relationship_types": ["uses", "shades"],
            "max_depth": 3,
        } })
    );
}

#[test]
fn parameters_are_described() {
    // REQ-REL-01, REQ-REL-02, REQ-REL-03, REQ-REL-05, REQ-REL-07
    let table = bed_table();
    let described: Vec<_> = table
        .parameters
        .iter()
        .map(|parameter| {
            let mut members = mcp_aql_core::internal::schema::shape::Members::new();
            describe(&parameter.shape, &Shapes::new(), &mut members);
            assert!(!parameter.description.is_empty());
            (parameter.name, parameter.required, json_of(&members))
        })
        .collect();
    let sections = json!(["root", "relationships", "graph.nodes", "graph.edges"]);
    assert_eq!(
        described,
        [
            ("root", true, json!({ "type": "object" })),
            (
                "direction",
                true,
                json!({ "type": "string", "enum": ["incoming", "outgoing", "both"] })
            ),
            ("relationship", false, json!({ "type": "string", "enum": ["uses", "shades"] })),
            ("depth", false, json!({ "type": "integer", "minimum": 1, "maximum": 3 })),
            (
                "include",
                false,
                json!({ "type": "array", "items": { "type": "string", "enum": sections } })
            ),
            ("first", false, json!({ "type": "integer", "minimum": 0 })),
            ("after", false, json!({ "type": "string" })),
        ]
    );
    assert_eq!(described.iter().map(|(name, ..)| *name).collect::<Vec<_>>(), PARAMETERS);
    let parameter = |name| table.parameters.iter().find(|each| each.name == name).unwrap();
    assert_eq!(parameter("depth").default, Some(json!(1)));
    // The description covers a predefined kind, `uses`, and a kind of the author's own, `shades`. It ends each
    // meaning with exactly one period.
    assert_eq!(
        parameter("relationship").description,
        "Follow only relationships of this kind. `uses`: Takes its water from it. \
         `shades`: Keeps the sun off it in the afternoon."
    );
    let type_name = parameter("root").type_name.clone().unwrap();
    let [(name, details)] = table.types.as_slice() else { panic!("one type") };
    assert_eq!((name, details.text("name")), (&type_name, Some(type_name.as_str())));
}

#[test]
fn the_example_is_valid() {
    // REQ-REL-01
    for options in [QueryOptions::new(), QueryOptions::new().max_depth(1).page_size(3)] {
        let table = RelationshipQuery::<Bed>::table(&options);
        let params: Value = serde_json::from_str(table.example.as_deref().unwrap()).unwrap();
        for (name, value) in params.as_object().unwrap() {
            let parameter = table.parameters.iter().find(|each| each.name == *name).unwrap();
            let mut faults = Faults::default();
            parameter.shape.check(value, Path::Root(name), &Shapes::new(), &mut faults);
            assert_eq!(faults.into_vec(), []);
        }
        read(&options, params).unwrap();
    }
}

#[test]
fn shapes_reject_meaningless_values() {
    // REQ-REL-01, REQ-REL-02, REQ-REL-07
    let table = bed_table();
    for (name, value) in [
        ("root", json!({ "element_type": "bed" })),
        ("root", json!({ "element_type": "bed", "element_name": "a", "id": 1 })),
        ("direction", json!("sideways")),
        ("relationship", json!("eats")),
        ("depth", json!(0)),
        ("depth", json!(4)),
        ("include", json!([])),
        ("include", json!(["graph"])),
        ("first", json!(-1)),
    ] {
        let parameter = table.parameters.iter().find(|each| each.name == name).unwrap();
        let mut faults = Faults::default();
        parameter.shape.check(&value, Path::Root(name), &Shapes::new(), &mut faults);
        assert!(!faults.is_empty(), "{name}: {value}");
    }
}

#[test]
fn reports_problems_at_build() {
    let problems =
        table::of(("Bed".to_owned(), "bed-1".to_owned()), &[], &QueryOptions::new().max_depth(0))
            .problems;
    assert_eq!(problems.len(), 2);
    assert!(problems[0].contains("`Bed` has no kinds of relationships"));
}
