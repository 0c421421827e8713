//! Checks of relationships between elements.

mod documentation;
mod records;

use serde_json::{Map, Value, json};

use super::{Body, Check, later, should_of_level_2 as check};
use crate::adapter::Operation;
use crate::call::Exchange;
use crate::cases::{Cases, Skip};
use crate::run::Run;
use crate::values;

/// The operation that follows relationships.
pub(super) const OPERATION: &str = "query_relationships";

/// The maximum number of elements that are searched for one with relationships.
const MAX_ROOTS: usize = 24;

/// The maximum number of records that are read one by one.
const MAX_RECORDS: usize = 100;

pub(super) const CHECKS: &[Check] = &[
    check(
        "relationships.parameters",
        "`query_relationships` requires `root` and `direction`, and supports the protocol's options",
        &["REQ-REL-01", "REQ-REL-02"],
        Body::Learned(documentation::parameters),
    ),
    check(
        "relationships.capabilities",
        "Directions, types and the maximum depth are documented, and results agree with them",
        &["REQ-REL-05", "REQ-REL-07"],
        Body::Reads(later!(documentation::capabilities)),
    ),
    check(
        "relationships.form",
        "Records, nodes and edges have the protocol's members",
        &["REQ-REL-04"],
        Body::Reads(later!(records::form)),
    ),
    check(
        "relationships.directions",
        "The direction `both` combines `incoming` and `outgoing`",
        &["REQ-REL-01"],
        Body::Reads(later!(records::directions)),
    ),
    check(
        "relationships.depth",
        "Records are within `depth`, and a larger depth returns no fewer records",
        &["REQ-REL-02"],
        Body::Reads(later!(records::depth)),
    ),
    check(
        "relationships.max_depth",
        "Walks reach `max_depth` and no further",
        &["REQ-REL-07"],
        Body::Reads(later!(documentation::max_depth)),
    ),
    check(
        "relationships.narrowed",
        "Every listed type is accepted as `relationship` and selects records of that type",
        &["REQ-REL-02", "REQ-REL-05", "REQ-REL-07"],
        Body::Reads(later!(documentation::narrowed)),
    ),
    check(
        "relationships.include",
        "`include` selects the sections of the result",
        &["REQ-REL-03"],
        Body::Reads(later!(records::include)),
    ),
    check(
        "relationships.cycle_end",
        "Walks end at cycles and return every node once",
        &["REQ-REL-06"],
        Body::Reads(later!(records::cycle_end)),
    ),
    check(
        "relationships.pages",
        "The pages of records together have all records",
        &["REQ-REL-02"],
        Body::Reads(later!(records::in_pages)),
    ),
    check(
        "relationships.missing",
        "A missing element has no relationships",
        &["REQ-REL-01", "REQ-ERR-07"],
        Body::Reads(later!(records::missing)),
    ),
];

fn operation<'a>(run: &'a Run, cases: &Cases) -> Option<&'a Operation> {
    let found = run.adapter.reads().find(|operation| operation.name == OPERATION);
    if found.is_none() {
        cases.not_applicable(format!("the adapter has no READ operation `{OPERATION}`"));
    }
    found
}

fn documented_support(operation: &Operation) -> &Value {
    operation.details().get("relationship_capabilities").unwrap_or(&Value::Null)
}

/// The maximum depth of a walk.
fn furthest(operation: &Operation) -> u64 {
    let reported = documented_support(operation).get("max_depth").and_then(Value::as_u64);
    let maximum = operation.parameter("depth").and_then(|depth| depth.member("maximum")?.as_u64());
    reported.or(maximum).unwrap_or(2).clamp(1, 10)
}

fn records(exchange: &Exchange) -> Vec<&Value> {
    list(exchange, "/relationships")
}

fn list<'a>(exchange: &'a Exchange, path: &str) -> Vec<&'a Value> {
    let list = exchange.data().and_then(|data| data.pointer(path)?.as_array());
    list.into_iter().flatten().collect()
}

async fn ask(
    run: &Run,
    operation: &Operation,
    (root, direction): (&Value, &str),
    more: Value,
    cases: &Cases,
) -> Option<Exchange> {
    let mut params = Map::from_iter([
        ("root".to_owned(), root.clone()),
        ("direction".to_owned(), json!(direction)),
    ]);
    let mut more = more.as_object().cloned().unwrap_or_default();
    // Operations reject undocumented parameters.
    more.retain(|name, _| operation.parameter(name).is_some());
    params.extend(more);
    run.call(operation, params, cases).await
}

/// Returns an element with relationships, and all of them up to the maximum depth. Skips the case if there
/// is none.
async fn root<'a>(run: &'a Run, cases: &Cases) -> Option<(&'a Operation, Value, Exchange)> {
    let operation = operation(run, cases)?;
    let parameter = operation.parameter("root")?;
    let mut tried: Vec<Value> = Vec::new();
    for turn in 0..MAX_ROOTS {
        let Some(root) = values::of(run, operation, parameter, turn) else { continue };
        if tried.contains(&root) {
            continue;
        }
        let more = json!({ "depth": furthest(operation), "first": MAX_RECORDS });
        let exchange = ask(run, operation, (&root, "both"), more, cases).await?;
        if !records(&exchange).is_empty() {
            return Some((operation, root, exchange));
        }
        tried.push(root);
    }
    cases.skip(Skip::NoFixture(format!(
        "an element with relationships: add `root` under [params.{OPERATION}]"
    )));
    None
}
