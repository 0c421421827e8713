//! Describes the parameters of a relationship query for introspection.

use std::collections::BTreeMap;

use mcp_aql_core::constraint::Bound;
use mcp_aql_core::internal::schema::shape::{FieldShape, Kind, Members, ObjectShape, Shape};
use serde_json::{Value, json};

use super::element::TraversalDirection;
use super::graph::Section;
use crate::entry::{QueryParameter, QueryTable};
use crate::options::QueryOptions;
use crate::resource_spec::RelationshipType;

/// The type of `root` in introspection.
const ROOT: &str = "RelationshipRoot";

/// Returns the maximum depth of a walk.
pub(super) fn max_depth(options: &QueryOptions) -> usize {
    options.max_depth.max(1)
}

/// Returns the table of a relationship query, with this element in its example.
pub(super) fn of(
    element: (String, String),
    relationships: &[RelationshipType],
    options: &QueryOptions,
) -> QueryTable {
    let mut capabilities = Members::new();
    capabilities.put("supported", true);
    capabilities
        .put("directions", TraversalDirection::ALL.map(TraversalDirection::as_str).to_vec());
    capabilities.put("relationship_types", names(relationships));
    capabilities.put("max_depth", max_depth(options));
    QueryTable {
        parameters: parameters(relationships, options),
        types: vec![(ROOT.to_owned(), root_type())],
        details: BTreeMap::from([("relationship_capabilities", capabilities)]),
        note: Some(
            "Returns the relationships of `root`, nearest first, each once, even in a cycle."
                .to_owned(),
        ),
        example: Some(example(&element, relationships, options)),
        capabilities: vec!["relationship_queries", "pagination"],
        problems: problems(&element.0, relationships, options),
        ..QueryTable::default()
    }
}

fn names(relationships: &[RelationshipType]) -> Vec<&'static str> {
    relationships.iter().map(|each| each.name).collect()
}

fn parameters(relationships: &[RelationshipType], options: &QueryOptions) -> Vec<QueryParameter> {
    let (page, most) = (options.usual_page(), options.largest_page());
    vec![
        QueryParameter {
            type_name: Some(ROOT.to_owned()),
            ..required("root", "The element to start from.", root_shape())
        },
        required(
            "direction",
            "Follow relationships to this element (`incoming`), from it (`outgoing`), or both.",
            choice(TraversalDirection::ALL.map(TraversalDirection::as_str).to_vec()),
        ),
        optional("relationship", &kinds(relationships), choice(names(relationships))),
        QueryParameter {
            default: Some(json!(1)),
            ..optional(
                "depth",
                "The maximum distance from `root`, in steps.",
                whole(1, Some(max_depth(options))),
            )
        },
        optional(
            "include",
            "Sections of the reply; default: all. `root` is always included. `graph.nodes` and `graph.edges` are \
             the relationships of the page as a graph.",
            sections(),
        ),
        optional(
            "first",
            &format!("Relationships per page; default {page}, maximum {most}."),
            whole(0, None),
        ),
        optional(
            "after",
            "`pageInfo.endCursor` of the previous page; with `first`.",
            Shape::of(Kind::String),
        ),
    ]
}

/// Returns the description of `relationship`, with the meaning of each kind (REQ-REL-05).
fn kinds(relationships: &[RelationshipType]) -> String {
    let mut text = "Follow only relationships of this kind.".to_owned();
    for kind in relationships {
        let meaning = kind.description.trim().trim_end_matches('.');
        if !meaning.is_empty() {
            text.push_str(&format!(" `{}`: {meaning}.", kind.name));
        }
    }
    text
}

fn required(name: &'static str, description: &str, shape: Shape) -> QueryParameter {
    QueryParameter { required: true, ..optional(name, description, shape) }
}

fn optional(name: &'static str, description: &str, shape: Shape) -> QueryParameter {
    QueryParameter {
        name,
        required: false,
        description: description.to_owned(),
        shape,
        type_name: None,
        default: None,
    }
}

/// Returns the shape of one of these strings.
fn choice(names: Vec<&'static str>) -> Shape {
    let mut shape = Shape::of(Kind::String);
    shape.checks.allowed = names.into_iter().map(Value::from).collect();
    shape
}

/// Returns the shape of an integer in this range.
fn whole(least: usize, most: Option<usize>) -> Shape {
    let bound = |number| i128::try_from(number).ok().map(Bound::Int);
    let mut shape = Shape::of(Kind::Integer);
    shape.checks.minimum = bound(least);
    shape.checks.maximum = most.and_then(bound);
    shape
}

fn sections() -> Shape {
    let section = choice(Section::ALL.map(Section::as_str).to_vec());
    let mut shape = Shape::of(Kind::Array(Box::new(section)));
    shape.checks.min_items = Some(1);
    shape
}

/// The members of `root`, with their descriptions.
const ROOT_FIELDS: [(&str, &str); 2] = [
    ("element_type", "The kind of the element, as in `target` and nodes."),
    ("element_name", "The name, unique within its kind."),
];

fn root_shape() -> Shape {
    let mut object = ObjectShape::default();
    for (name, description) in ROOT_FIELDS {
        let mut shape = Shape::of(Kind::String);
        shape.description = Some(description.to_owned());
        object.order.push(name.to_owned());
        let field = FieldShape { shape, required: true, default: None };
        object.fields.insert(name.to_owned(), field);
    }
    Shape::of(Kind::Object(Box::new(object)))
}

fn root_type() -> Members {
    let field = |(name, description)| {
        let mut field = Members::new();
        field.put("name", name);
        field.put("type", "string");
        field.put("required", true);
        field.put("description", description);
        field
    };
    let mut details = Members::new();
    details.put("name", ROOT);
    details.put("kind", "object");
    details.put("description", "The element from which relationships are followed.");
    details.put_list("fields", ROOT_FIELDS.map(field).to_vec());
    details
}

/// Returns the parameters of an example call, for example:
///
/// ```json
/// { "root": { "element_type": "task", "element_name": "task-1" }, "direction": "both", "depth": 2 }
/// ```
fn example(
    (kind, name): &(String, String),
    relationships: &[RelationshipType],
    options: &QueryOptions,
) -> String {
    let mut params = Members::new();
    let mut root = Members::new();
    root.put("element_type", kind.to_lowercase());
    root.put("element_name", name.clone());
    params.put("root", root);
    params.put("direction", TraversalDirection::Both.as_str());
    params.put_some("relationship", relationships.first().map(|each| each.name));
    params.put("depth", max_depth(options).min(2));
    params.put("include", vec![Section::Relationships.as_str(), Section::Nodes.as_str()]);
    params.put("first", options.usual_page().min(10));
    params.to_json()
}

fn problems(
    resource: &str,
    relationships: &[RelationshipType],
    options: &QueryOptions,
) -> Vec<String> {
    let mut problems = Vec::new();
    if relationships.is_empty() {
        problems.push(format!(
            "`{resource}` has no kinds of relationships: write \
             `#[resource(relationships(references = \"Mentions another.\"))]` above it"
        ));
    }
    if options.max_depth == 0 {
        problems.push("the `max_depth` of a relationship query must be 1 or more".to_owned());
    }
    problems
}
