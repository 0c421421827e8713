//! Checks of the records, nodes and edges in results.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{MAX_RECORDS, OPERATION, Traversal, furthest, list, records};
use crate::call::Exchange;
use crate::cases::{Cases, Finding};
use crate::checks::calls::is_refused;
use crate::pages;
use crate::run::Run;

fn is_text(value: &Value, path: &str) -> bool {
    value.pointer(path).is_some_and(Value::is_string)
}

/// Returns `true` if the graph has an edge that matches the type, the target and the direction of a record.
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

pub(super) async fn form(run: &Run, cases: &Cases) {
    let Some((_, exchange)) = Traversal::start(run, cases).await else { return };
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
        cases.expect(holds, || Finding::of(&exchange, OPERATION).expected(what));
    }
}

/// Returns the records of one direction as comparable strings.
async fn seen(traversal: &Traversal<'_>, direction: &str) -> Option<(BTreeSet<String>, Exchange)> {
    let exchange = traversal.follow(direction, json!({ "first": MAX_RECORDS })).await?;
    let seen = records(&exchange).into_iter().map(Value::to_string).collect();
    Some((seen, exchange))
}

pub(super) async fn directions(run: &Run, cases: &Cases) {
    let Some((traversal, _)) = Traversal::start(run, cases).await else { return };
    let Some((both, of_both)) = seen(&traversal, "both").await else { return };
    let mut union = BTreeSet::new();
    for direction in ["incoming", "outgoing"] {
        let Some((found, exchange)) = seen(&traversal, direction).await else { return };
        let is_one_way = records(&exchange)
            .iter()
            .all(|record| record.get("direction").is_some_and(|reported| reported == direction));
        cases.expect_success(&exchange, is_one_way, || {
            Finding::of(&exchange, OPERATION)
                .expected(format!("records whose `direction` is `{direction}`"))
        });
        union.extend(found);
    }
    cases.expect(union == both, || {
        Finding::of(&of_both, OPERATION)
            .expected(format!("the {} records of both directions together", union.len()))
            .fix("return the records of `incoming` and `outgoing` for `both`")
    });
}

pub(super) async fn depth(run: &Run, cases: &Cases) {
    let Some((traversal, _)) = Traversal::start(run, cases).await else { return };
    if !traversal.has("depth") {
        return;
    }
    let mut before = 0;
    for depth in 1..=furthest(traversal.operation).min(3) {
        let more = json!({ "depth": depth, "first": MAX_RECORDS });
        let Some(exchange) = traversal.follow("both", more).await else { return };
        let records = records(&exchange);
        let is_near = records.iter().all(|record| {
            record
                .get("depth")
                .is_none_or(|reported| reported.as_u64().is_some_and(|reported| reported <= depth))
        });
        cases.expect(is_near && records.len() >= before && !records.is_empty(), || {
            Finding::of(&exchange, format!("{OPERATION}: depth {depth}"))
                .expected(format!("at least {before} records within the depth {depth}"))
        });
        before = records.len();
    }
}

pub(super) async fn include(run: &Run, cases: &Cases) {
    let Some((traversal, _)) = Traversal::start(run, cases).await else { return };
    if !traversal.has("include") {
        return;
    }
    const SECTIONS: [&str; 3] = ["relationships", "graph.nodes", "graph.edges"];
    for section in SECTIONS {
        // The section `root` is always returned, and some forms of the graph require it.
        let more = json!({ "include": ["root", section] });
        let Some(exchange) = traversal.follow("both", more).await else { return };
        let is_there = |section: &str| {
            let path = format!("/{}", section.replace('.', "/"));
            exchange.data().is_some_and(|data| data.pointer(&path).is_some())
        };
        let holds = SECTIONS.iter().all(|other| is_there(other) == (*other == section));
        cases.expect(holds, || {
            Finding::of(&exchange, format!("{OPERATION}: include"))
                .expected(format!("only the section `{section}`"))
        });
    }
}

pub(super) async fn cycle_end(run: &Run, cases: &Cases) {
    let Some((_, exchange)) = Traversal::start(run, cases).await else { return };
    let ids: Vec<_> = list(&exchange, "/graph/nodes")
        .into_iter()
        .filter_map(|node| node.get("id")?.as_str())
        .collect();
    let unique: BTreeSet<_> = ids.iter().collect();
    let edges: Vec<_> = list(&exchange, "/graph/edges").into_iter().map(Value::to_string).collect();
    let unique_edges: BTreeSet<_> = edges.iter().collect();
    cases.expect(unique.len() == ids.len() && unique_edges.len() == edges.len(), || {
        Finding::of(&exchange, OPERATION)
    });
}

pub(super) async fn in_pages(run: &Run, cases: &Cases) {
    let Some((traversal, all)) = Traversal::start(run, cases).await else { return };
    if !pages::is_paged(traversal.operation) {
        return cases.not_applicable("`query_relationships` does not document pages");
    }
    let whole: Vec<_> = records(&all).into_iter().cloned().collect();
    if whole.len() < 2 || whole.len() >= MAX_RECORDS {
        return cases.skip_without("an element with enough relationships for two pages");
    }
    let mut found = Vec::new();
    let mut after = None;
    loop {
        let mut more = json!({ "depth": furthest(traversal.operation), "first": 1 });
        if let (Some(after), Some(more)) = (after.take(), more.as_object_mut()) {
            more.insert("after".to_owned(), after);
        }
        let Some(exchange) = traversal.follow("both", more).await else { return };
        found.extend(records(&exchange).into_iter().cloned());
        let data = exchange.data();
        let has_more = data.is_some_and(|data| pages::has(data, "hasNextPage"));
        after = data.and_then(|data| pages::cursor(data, "endCursor")).map(|cursor| json!(cursor));
        if !has_more || after.is_none() || found.len() > MAX_RECORDS {
            cases.expect(found == whole, || {
                Finding::of(&exchange, format!("{OPERATION}: first")).expected(format!(
                    "{} records on all pages together, not {}",
                    whole.len(),
                    found.len()
                ))
            });
            return;
        }
    }
}

pub(super) async fn missing(run: &Run, cases: &Cases) {
    let Some((mut traversal, _)) = Traversal::start(run, cases).await else { return };
    if let Some(name) = traversal.root.get_mut("element_name") {
        *name = json!("conformance-nobody");
    }
    let Some(exchange) = traversal.follow("both", json!({})).await else { return };
    let is_reported =
        exchange.code().is_some_and(|code| code.starts_with("NOT_FOUND_")) || is_refused(&exchange);
    let is_empty = exchange.succeeded() && records(&exchange).is_empty();
    cases.expect(is_reported || is_empty, || Finding::of(&exchange, OPERATION));
}
