//! Tests of relationship queries.

mod adapter;
mod model;
mod queries;
mod tables;

use futures_util::FutureExt as _;
use mcp_aql_core::internal::operation::CallScope;
use mcp_aql_core::internal::paging::CursorKey;
use mcp_aql_core::{Context, OperationError, Warning};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Edge, ElementRef, RelationshipGraph, RelationshipQuery, RelationshipSource};
use crate::Resource;
use crate::options::QueryOptions;

/// A bed of a garden.
#[derive(Serialize, JsonSchema, Resource)]
#[resource(relationships(
    uses = "Takes its water from it.",
    shades = "Keeps the sun off it in the afternoon"
))]
struct Bed {
    /// The name on its sign.
    #[resource(id)]
    name: String,
}

/// All parameters, so that a test with a misspelled one fails.
const PARAMETERS: [&str; 7] =
    ["root", "direction", "relationship", "depth", "include", "first", "after"];

const KEY: [u8; 16] = [7; 16];

/// Parses a query with parameters of the right types.
fn read(options: &QueryOptions, params: Value) -> Result<RelationshipQuery<Bed>, OperationError> {
    let Value::Object(params) = params else { panic!("params are an object") };
    RelationshipQuery::parse(options, params, &CursorKey::new(KEY))
}

/// Runs a query and returns its result and warnings. The future of a source in memory is ready at once.
fn run<S: RelationshipSource + ?Sized>(
    query: RelationshipQuery<Bed>,
    source: &S,
) -> Result<(RelationshipGraph, Vec<Warning>), S::Error> {
    let context = Context::new(CallScope::default());
    let graph = query.run(source, &context).now_or_never().expect("nothing to wait for")?;
    Ok((graph, context.take_warnings().into_vec()))
}

/// Returns the reply to these parameters, without warnings.
fn ask(edges: &[Edge], params: Value) -> Value {
    let query = read(&QueryOptions::new(), params).unwrap();
    let (graph, warnings) = run(query, edges).unwrap();
    assert_eq!(warnings, []);
    serde_json::to_value(graph).unwrap()
}

/// Returns parameters that start at the bed `a` in this direction.
fn from_a(direction: &str, more: Value) -> Value {
    let mut params =
        json!({ "root": { "element_type": "bed", "element_name": "a" }, "direction": direction });
    let Value::Object(more) = more else { panic!("more params are an object") };
    params.as_object_mut().unwrap().extend(more);
    params
}

fn bed(name: &str) -> ElementRef {
    ElementRef::new("bed", name)
}

/// Parses a relationship between beds, such as `a uses b`.
fn edge(text: &str) -> Edge {
    let words: Vec<_> = text.split(' ').collect();
    let [source, relationship, target] = words[..] else { panic!("three words: {text}") };
    Edge::new(bed(source), relationship, bed(target))
}

fn edges<const N: usize>(texts: [&str; N]) -> Vec<Edge> {
    texts.map(edge).to_vec()
}

/// Returns the records in the form `1 uses > b`, with `<` for incoming ones.
fn records(reply: &Value) -> Vec<String> {
    let record = |record: &Value| {
        let sign = match record["direction"].as_str() {
            Some("outgoing") => '>',
            Some("incoming") => '<',
            other => panic!("{other:?}"),
        };
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let target = text(&record["target"]["element_name"]);
        format!("{} {} {sign} {target}", record["depth"], text(&record["type"]))
    };
    reply["relationships"].as_array().unwrap().iter().map(record).collect()
}

/// Returns the names of the nodes.
fn nodes(reply: &Value) -> Vec<String> {
    let nodes = reply["graph"]["nodes"].as_array().unwrap();
    nodes.iter().map(|node| node["element_name"].as_str().unwrap().to_owned()).collect()
}
