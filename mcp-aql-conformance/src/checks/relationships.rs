//! Checks of relationships between elements.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::calls::is_refused;
use super::{Body, Check, later, should_of_level_2 as check};
use crate::adapter::Operation;
use crate::call::Exchange;
use crate::cases::{Cases, Finding, Skip};
use crate::pages;
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
        Body::Learned(parameters),
    ),
    check(
        "relationships.capabilities",
        "Directions, types and the maximum depth are documented, and results agree with them",
        &["REQ-REL-05", "REQ-REL-07"],
        Body::Reads(later!(capabilities)),
    ),
    check(
        "relationships.form",
        "Records, nodes and edges have the protocol's members",
        &["REQ-REL-04"],
        Body::Reads(later!(form)),
    ),
    check(
        "relationships.directions",
        "The direction `both` combines `incoming` and `outgoing`",
        &["REQ-REL-01"],
        Body::Reads(later!(directions)),
    ),
    check(
        "relationships.depth",
        "Records are within `depth`, and a larger depth returns no fewer records",
        &["REQ-REL-02"],
        Body::Reads(later!(depth)),
    ),
    check(
        "relationships.max_depth",
        "Walks reach `max_depth` and no further",
        &["REQ-REL-07"],
        Body::Reads(later!(max_depth)),
    ),
    check(
        "relationships.narrowed",
        "Every listed type is accepted as `relationship` and selects records of that type",
        &["REQ-REL-02", "REQ-REL-05", "REQ-REL-07"],
        Body::Reads(later!(narrowed)),
    ),
    check(
        "relationships.include",
        "`include` selects the sections of the result",
        &["REQ-REL-03"],
        Body::Reads(later!(include)),
    ),
    check(
        "relationships.cycle_end",
        "Walks end at cycles and return every node once",
        &["REQ-REL-06"],
        Body::Reads(later!(cycle_end)),
    ),
    check(
        "relationships.pages",
        "The pages of records together have all records",
        &["REQ-REL-02"],
        Body::Reads(later!(in_pages)),
    ),
    check(
        "relationships.missing",
        "A missing element has no relationships",
        &["REQ-REL-01", "REQ-ERR-07"],
        Body::Reads(later!(missing)),
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

fn parameters(run: &Run, cases: &Cases) {
    let Some(operation) = operation(run, cases) else { return };
    for (name, is_required) in
        [("root", true), ("direction", true), ("depth", false), ("relationship", false)]
    {
        let parameter = operation.parameter(name);
        // Options need not be supported.
        let holds = parameter.map_or(!is_required, |parameter| parameter.required == is_required);
        cases.expect(holds, || {
            Finding::shown(
                format!("{OPERATION}: {name}"),
                parameter.map(|parameter| Value::Object(parameter.raw.clone())).unwrap_or_default(),
                if is_required { "a required parameter" } else { "an optional parameter" },
                "document the protocol's parameters of this operation",
            )
        });
    }
}

async fn capabilities(run: &Run, cases: &Cases) {
    let Some(operation) = operation(run, cases) else { return };
    let reported = documented_support(operation);
    let is_list = |name: &str| reported.get(name).is_some_and(Value::is_array);
    let holds = reported.get("supported") == Some(&Value::Bool(true))
        && is_list("directions")
        && is_list("relationship_types")
        && reported.get("max_depth").and_then(Value::as_u64).is_some_and(|depth| depth >= 1);
    cases.expect(holds, || {
        Finding::shown(
            OPERATION,
            reported.clone(),
            "`relationship_capabilities` with `supported: true`, `directions`, `relationship_types` \
             and `max_depth`",
            "document relationships and the maximum depth in the details",
        )
    });
    let types = reported.get("relationship_types").and_then(Value::as_array);
    let Some(types) = types else { return };
    let Some((_, _, exchange)) = root(run, cases).await else { return };
    for record in records(&exchange) {
        cases.expect(record.get("type").is_some_and(|kind| types.contains(kind)), || {
            Finding::of(
                &exchange,
                OPERATION,
                format!("records of the types {}", json!(types)),
                "list every type of relationship in `relationship_types`",
            )
        });
    }
}

fn is_text(value: &Value, path: &str) -> bool {
    value.pointer(path).is_some_and(Value::is_string)
}

/// Whether the graph has an edge of the record's type to or from its target, according to its direction.
fn has_edge(record: &Value, nodes: &[&Value], edges: &[&Value]) -> bool {
    let target = record.get("target").unwrap_or(&Value::Null);
    let names = ["element_type", "element_name"];
    let node = nodes.iter().find(|node| names.iter().all(|it| node.get(it) == target.get(it)));
    let Some(id) = node.and_then(|node| node.get("id")) else { return false };
    let end = if record.get("direction").is_some_and(|reported| reported == "incoming") {
        "source"
    } else {
        "target"
    };
    edges.iter().any(|edge| edge.get("type") == record.get("type") && edge.get(end) == Some(id))
}

async fn form(run: &Run, cases: &Cases) {
    let Some((_, _, exchange)) = root(run, cases).await else { return };
    let (nodes, edges) = (list(&exchange, "/graph/nodes"), list(&exchange, "/graph/edges"));
    let is_record = |record: &&Value| {
        ["/type", "/direction", "/target/element_type", "/target/element_name"]
            .iter()
            .all(|path| is_text(record, path))
    };
    let is_node = |node: &&Value| {
        ["/id", "/element_type", "/element_name"].iter().all(|path| is_text(node, path))
    };
    let is_edge =
        |edge: &&Value| ["/source", "/target", "/type"].iter().all(|path| is_text(edge, path));
    let ids: BTreeSet<_> = nodes.iter().filter_map(|node| node.get("id")?.as_str()).collect();
    let is_closed = edges.iter().all(|edge| {
        ["source", "target"]
            .iter()
            .all(|end| edge.get(end).and_then(Value::as_str).is_some_and(|id| ids.contains(id)))
    });
    let root_is_there = exchange.data().is_some_and(|data| is_text(data, "/root/element_name"));
    for (holds, what) in [
        (root_is_there, "`root` with `element_type` and `element_name`"),
        (
            records(&exchange).iter().all(is_record),
            "records with `type`, `direction`, and `target` of `element_type` and `element_name`",
        ),
        (nodes.iter().all(is_node), "nodes with `id`, `element_type` and `element_name`"),
        (edges.iter().all(is_edge), "edges with `source`, `target` and `type`"),
        (is_closed, "edges between existing nodes"),
        (
            nodes.is_empty() || records(&exchange).iter().all(|it| has_edge(it, &nodes, &edges)),
            "an edge for each record",
        ),
    ] {
        cases.expect(holds, || {
            Finding::of(&exchange, OPERATION, what, "return the protocol's members")
        });
    }
}

/// The records of one direction as comparable text.
async fn seen(
    run: &Run,
    operation: &Operation,
    root: (&Value, &str),
    cases: &Cases,
) -> Option<(BTreeSet<String>, Exchange)> {
    let exchange = ask(run, operation, root, json!({ "first": MAX_RECORDS }), cases).await?;
    let seen = records(&exchange).into_iter().map(Value::to_string).collect();
    Some((seen, exchange))
}

async fn directions(run: &Run, cases: &Cases) {
    let Some((operation, root, _)) = root(run, cases).await else { return };
    let Some((both, of_both)) = seen(run, operation, (&root, "both"), cases).await else { return };
    let mut union = BTreeSet::new();
    for direction in ["incoming", "outgoing"] {
        let found = seen(run, operation, (&root, direction), cases).await;
        let Some((found, exchange)) = found else { return };
        let is_one_way = records(&exchange)
            .iter()
            .all(|record| record.get("direction").is_some_and(|reported| reported == direction));
        cases.expect(exchange.succeeded() && is_one_way, || {
            Finding::of(
                &exchange,
                OPERATION,
                format!("records whose `direction` is `{direction}`"),
                "follow relationships in the requested direction only",
            )
        });
        union.extend(found);
    }
    cases.expect(union == both, || {
        Finding::of(
            &of_both,
            OPERATION,
            format!("the {} records of both directions together", union.len()),
            "return the records of `incoming` and `outgoing` for `both`",
        )
    });
}

async fn depth(run: &Run, cases: &Cases) {
    let Some((operation, root, _)) = root(run, cases).await else { return };
    if operation.parameter("depth").is_none() {
        return cases.not_applicable("`query_relationships` does not document `depth`");
    }
    let mut before = 0;
    for depth in 1..=furthest(operation).min(3) {
        let more = json!({ "depth": depth, "first": MAX_RECORDS });
        let asked = ask(run, operation, (&root, "both"), more, cases).await;
        let Some(exchange) = asked else { return };
        let records = records(&exchange);
        let is_near = records.iter().all(|record| {
            record
                .get("depth")
                .is_none_or(|reported| reported.as_u64().is_some_and(|reported| reported <= depth))
        });
        cases.expect(is_near && records.len() >= before && !records.is_empty(), || {
            Finding::of(
                &exchange,
                format!("{OPERATION}: depth {depth}"),
                format!("at least {before} records within the depth {depth}"),
                "stop at the requested depth",
            )
        });
        before = records.len();
    }
}

async fn max_depth(run: &Run, cases: &Cases) {
    let Some(operation) = operation(run, cases) else { return };
    let Some(most) = documented_support(operation).get("max_depth").and_then(Value::as_u64) else {
        return cases.not_applicable("`relationship_capabilities` does not state `max_depth`");
    };
    let Some(depth) = operation.parameter("depth") else {
        return cases.not_applicable("`query_relationships` does not document `depth`");
    };
    let maximum = depth.member("maximum").and_then(Value::as_u64);
    cases.expect(maximum.is_none_or(|maximum| maximum == most), || {
        Finding::shown(
            format!("{OPERATION}: depth"),
            Value::Object(depth.raw.clone()),
            format!("`maximum` {most}, as `relationship_capabilities.max_depth` says"),
            "state the maximum depth once, and derive the other statement from it",
        )
    });
    let Some((_, root, _)) = root(run, cases).await else { return };
    let asked = ask(run, operation, (&root, "both"), json!({ "depth": most }), cases).await;
    let Some(exchange) = asked else { return };
    cases.expect(exchange.succeeded(), || {
        Finding::of(
            &exchange,
            format!("{OPERATION}: depth {most}"),
            "a success, because introspection states this maximum depth",
            "state the real maximum depth",
        )
    });
    let more = json!({ "depth": most.saturating_add(1), "first": MAX_RECORDS });
    let Some(exchange) = ask(run, operation, (&root, "both"), more, cases).await else { return };
    let is_within = records(&exchange).iter().all(|record| {
        record.get("depth").and_then(Value::as_u64).is_none_or(|depth| depth <= most)
    });
    cases.expect(exchange.failure().is_some() || is_within, || {
        Finding::of(
            &exchange,
            format!("{OPERATION}: depth {}", most.saturating_add(1)),
            format!("a failure, or records within the depth {most}"),
            "state the real maximum depth",
        )
    });
}

async fn narrowed(run: &Run, cases: &Cases) {
    let Some((operation, root, _)) = root(run, cases).await else { return };
    let types = documented_support(operation).get("relationship_types").and_then(Value::as_array);
    let Some(types) = types.filter(|_| operation.parameter("relationship").is_some()) else {
        return cases.not_applicable("`query_relationships` does not document `relationship`");
    };
    for kind in types {
        let more = json!({
            "depth": furthest(operation), "first": MAX_RECORDS, "relationship": kind,
        });
        let asked = ask(run, operation, (&root, "both"), more, cases).await;
        let Some(exchange) = asked else { return };
        let is_narrow = records(&exchange).iter().all(|record| record.get("type") == Some(kind));
        cases.expect(exchange.succeeded() && is_narrow, || {
            Finding::of(
                &exchange,
                format!("{OPERATION}: relationship {kind}"),
                format!("only records of the type {kind}, because `relationship_types` lists it"),
                "follow only relationships of the requested type, and list the types that exist",
            )
        });
    }
}

async fn include(run: &Run, cases: &Cases) {
    let Some((operation, root, _)) = root(run, cases).await else { return };
    if operation.parameter("include").is_none() {
        return cases.not_applicable("`query_relationships` does not document `include`");
    }
    const SECTIONS: [&str; 3] = ["relationships", "graph.nodes", "graph.edges"];
    for section in SECTIONS {
        // The section `root` is always returned, and some graph forms require it.
        let more = json!({ "include": ["root", section] });
        let asked = ask(run, operation, (&root, "both"), more, cases).await;
        let Some(exchange) = asked else { return };
        let is_there = |section: &str| {
            let path = format!("/{}", section.replace('.', "/"));
            exchange.data().is_some_and(|data| data.pointer(&path).is_some())
        };
        let holds = SECTIONS.iter().all(|other| is_there(other) == (*other == section));
        cases.expect(holds, || {
            Finding::of(
                &exchange,
                format!("{OPERATION}: include"),
                format!("only the section `{section}`"),
                "omit sections that were not requested",
            )
        });
    }
}

async fn cycle_end(run: &Run, cases: &Cases) {
    let Some((_, _, exchange)) = root(run, cases).await else { return };
    let ids: Vec<_> = list(&exchange, "/graph/nodes")
        .into_iter()
        .filter_map(|node| node.get("id")?.as_str())
        .collect();
    let unique: BTreeSet<_> = ids.iter().collect();
    let edges: Vec<_> = list(&exchange, "/graph/edges").into_iter().map(Value::to_string).collect();
    let unique_edges: BTreeSet<_> = edges.iter().collect();
    cases.expect(unique.len() == ids.len() && unique_edges.len() == edges.len(), || {
        Finding::of(&exchange, OPERATION, "every node and every edge once", "skip visited nodes")
    });
}

async fn in_pages(run: &Run, cases: &Cases) {
    let Some((operation, root, all)) = root(run, cases).await else { return };
    if !pages::is_paged(operation) {
        return cases.not_applicable("`query_relationships` does not document pages");
    }
    let whole: Vec<_> = records(&all).into_iter().cloned().collect();
    if whole.len() < 2 || whole.len() >= MAX_RECORDS {
        return cases.skip(Skip::NoFixture(
            "an element with enough relationships for two pages".to_owned(),
        ));
    }
    let mut found = Vec::new();
    let mut after = None;
    loop {
        let mut more = json!({ "depth": furthest(operation), "first": 1 });
        if let (Some(after), Some(more)) = (after.take(), more.as_object_mut()) {
            more.insert("after".to_owned(), after);
        }
        let asked = ask(run, operation, (&root, "both"), more, cases).await;
        let Some(exchange) = asked else { return };
        found.extend(records(&exchange).into_iter().cloned());
        let data = exchange.data();
        let has_more = data.is_some_and(|data| pages::has(data, "hasNextPage"));
        after = data.and_then(|data| pages::cursor(data, "endCursor")).map(|cursor| json!(cursor));
        if !has_more || after.is_none() || found.len() > MAX_RECORDS {
            cases.expect(found == whole, || {
                Finding::of(
                    &exchange,
                    format!("{OPERATION}: first"),
                    format!("{} records on all pages together, not {}", whole.len(), found.len()),
                    "return the records in a stable order",
                )
            });
            return;
        }
    }
}

async fn missing(run: &Run, cases: &Cases) {
    let Some((operation, root, _)) = root(run, cases).await else { return };
    let mut nobody = root;
    if let Some(name) = nobody.get_mut("element_name") {
        *name = json!("conformance-nobody");
    }
    let asked = ask(run, operation, (&nobody, "both"), json!({}), cases).await;
    let Some(exchange) = asked else { return };
    let is_reported =
        exchange.code().is_some_and(|code| code.starts_with("NOT_FOUND_")) || is_refused(&exchange);
    let is_empty = exchange.succeeded() && records(&exchange).is_empty();
    cases.expect(is_reported || is_empty, || {
        Finding::of(
            &exchange,
            OPERATION,
            "NOT_FOUND_RESOURCE, or no records",
            "look the element up before following its relationships",
        )
    });
}
