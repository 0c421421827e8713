//! Checks of relationships between elements.

mod documentation;
mod records;

use serde_json::{Map, Value, json};

use super::{Check, checks};
use crate::adapter::Operation;
use crate::call::Exchange;
use crate::cases::Cases;
use crate::run::Run;
use crate::values;

/// The operation that follows relationships.
pub(super) const OPERATION: &str = "query_relationships";

/// Maximum number of elements searched for one with relationships.
const MAX_ROOTS: usize = 24;

/// Maximum number of records to read one by one.
const MAX_RECORDS: usize = 100;

pub(super) const CHECKS: &[Check] = checks![
    Should 2 "relationships.parameters" => Learned(documentation::parameters),
        ["REQ-REL-01", "REQ-REL-02"],
        "`query_relationships` requires `root` and `direction`, and supports the protocol's options",
        fix: "document the protocol's parameters of this operation";
    Should 2 "relationships.capabilities" => Reads(documentation::capabilities),
        ["REQ-REL-05", "REQ-REL-07"],
        "Directions, types and the maximum depth are documented, and results agree with them",
        fix: "document relationships and the maximum depth in the details";
    Should 2 "relationships.form" => Reads(records::form), ["REQ-REL-04"],
        "Records, nodes and edges have the protocol's members",
        fix: "return the protocol's members";
    Should 2 "relationships.directions" => Reads(records::directions), ["REQ-REL-01"],
        "The direction `both` combines `incoming` and `outgoing`",
        fix: "follow relationships in the requested direction only";
    Should 2 "relationships.depth" => Reads(records::depth), ["REQ-REL-02"],
        "Records are within `depth`, and a larger depth returns no fewer records",
        fix: "stop at the requested depth";
    Should 2 "relationships.max_depth" => Reads(documentation::max_depth), ["REQ-REL-07"],
        "Traversals reach `max_depth` and no further",
        fix: "state the real maximum depth";
    Should 2 "relationships.narrowed" => Reads(documentation::narrowed),
        ["REQ-REL-02", "REQ-REL-05", "REQ-REL-07"],
        "Every listed type is accepted as `relationship` and selects records of that type",
        fix: "follow only relationships of the requested type, and list the types that exist";
    Should 2 "relationships.include" => Reads(records::include), ["REQ-REL-03"],
        "`include` selects the sections of the result",
        fix: "omit sections that were not requested";
    Should 2 "relationships.cycle_end" => Reads(records::cycle_end), ["REQ-REL-06"],
        "Traversals end at cycles and return every node once",
        expected: "every node and every edge once",
        fix: "skip visited nodes";
    Should 2 "relationships.pages" => Reads(records::in_pages), ["REQ-REL-02"],
        "The pages of records together have all records",
        fix: "return the records in a stable order";
    Should 2 "relationships.missing" => Reads(records::missing), ["REQ-REL-01", "REQ-ERR-07"],
        "A missing element has no relationships",
        expected: "NOT_FOUND_RESOURCE, or no records",
        fix: "look the element up before following its relationships";
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

/// Returns the maximum depth of a traversal.
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

/// An element with relationships, and the operation that follows them.
struct Traversal<'r> {
    run: &'r Run,
    cases: &'r Cases,
    operation: &'r Operation,
    root: Value,
}

impl<'r> Traversal<'r> {
    /// Finds an element with relationships. Returns all of them up to the maximum depth as well.
    ///
    /// Skips the case if no element has some.
    async fn start(run: &'r Run, cases: &'r Cases) -> Option<(Self, Exchange)> {
        let operation = operation(run, cases)?;
        let parameter = operation.parameter("root")?;
        let mut tried: Vec<Value> = Vec::new();
        for turn in 0..MAX_ROOTS {
            let Some(root) = values::of(run, operation, parameter, turn) else { continue };
            if tried.contains(&root) {
                continue;
            }
            let traversal = Self { run, cases, operation, root };
            let more = json!({ "depth": furthest(operation), "first": MAX_RECORDS });
            let exchange = traversal.follow("both", more).await?;
            if !records(&exchange).is_empty() {
                return Some((traversal, exchange));
            }
            tried.push(traversal.root);
        }
        cases.skip_without(format!(
            "an element with relationships: add `root` under [params.{OPERATION}]"
        ));
        None
    }

    /// Follows the relationships in this direction, with `more` parameters.
    async fn follow(&self, direction: &str, more: Value) -> Option<Exchange> {
        let mut params = Map::from_iter([
            ("root".to_owned(), self.root.clone()),
            ("direction".to_owned(), json!(direction)),
        ]);
        let mut more = more.as_object().cloned().unwrap_or_default();
        // Operations reject undocumented parameters.
        more.retain(|name, _| self.operation.parameter(name).is_some());
        params.extend(more);
        self.run.call(self.operation, params, self.cases).await
    }

    /// Returns `true` if the operation has this parameter. Otherwise marks the check as not applicable.
    fn has(&self, parameter: &str) -> bool {
        let has = self.operation.parameter(parameter).is_some();
        if !has {
            let why = format!("`query_relationships` does not document `{parameter}`");
            self.cases.not_applicable(why);
        }
        has
    }
}
