//! Tests of walks, sections and pages.

use std::ops::ControlFlow;
use std::sync::Mutex;

use futures_util::FutureExt as _;
use mcp_aql_core::OperationError;
use mcp_aql_core::internal::paging::CursorKey;
use mcp_aql_protocol::ErrorCode;
use serde_json::{Value, json};

use super::super::{
    Edge, EdgeDirection, EdgeRequest, ElementRef, RelationshipQuery, RelationshipSource,
};
use super::{Bed, PARAMETERS, ask, bed, edge, edges, from_a, nodes, read, records, run};
use crate::entry::{QueryArgument as _, QueryParams};
use crate::options::QueryOptions;

#[test]
fn a_walk_comes_as_the_protocol_shows_it() {
    // REQ-REL-01, REQ-REL-02, REQ-REL-04, REQ-PAG-04, REQ-PAG-05
    let edges = [Edge::new(bed("bed_1"), "uses", ElementRef::new("valve", "v7"))];
    let mut reply = ask(
        &edges,
        json!({
            "root": { "element_type": "bed", "element_name": "bed_1" },
            "direction": "outgoing",
            "relationship": "uses",
            "depth": 2,
            "first": 10,
        }),
    );
    let page = reply.as_object_mut().unwrap().remove("pageInfo").unwrap();
    assert_eq!(
        reply,
        json!({
            "root": { "element_type": "bed", "element_name": "bed_1" },
            "relationships": [{
                "type": "uses",
                "direction": "outgoing",
                "target": { "element_type": "valve", "element_name": "v7" },
                "depth": 1,
            }],
            "graph": {
                "nodes": [
                    { "id": "bed:bed_1", "element_type": "bed", "element_name": "bed_1" },
                    { "id": "valve:v7", "element_type": "valve", "element_name": "v7" },
                ],
                "edges": [{ "source": "bed:bed_1", "target": "valve:v7", "type": "uses" }],
            },
        })
    );
    assert_eq!(page["hasNextPage"], false);
    assert_eq!(page["hasPreviousPage"], false);
    assert_eq!(page["startCursor"], page["endCursor"]);
    assert!(page["endCursor"].is_string());
}

#[test]
fn a_walk_goes_in_the_direction_asked_for() {
    // REQ-REL-01, REQ-REL-02
    let edges = edges(["a uses b", "b uses c", "z shades a", "y uses z", "a shades q"]);
    for (direction, more, expected) in [
        ("outgoing", json!({}), &["1 shades > q", "1 uses > b"][..]),
        ("outgoing", json!({ "depth": 2 }), &["1 shades > q", "1 uses > b", "2 uses > c"]),
        ("outgoing", json!({ "depth": 2, "relationship": "shades" }), &["1 shades > q"]),
        ("incoming", json!({ "depth": 5 }), &["1 shades < z", "2 uses < y"]),
        ("incoming", json!({ "depth": 5, "relationship": "uses" }), &[]),
        ("both", json!({}), &["1 shades > q", "1 uses > b", "1 shades < z"]),
        (
            "both",
            json!({ "depth": 2, "relationship": null }),
            &["1 shades > q", "1 uses > b", "1 shades < z", "2 uses > c", "2 uses < y"],
        ),
    ] {
        let reply = ask(&edges, from_a(direction, more.clone()));
        assert_eq!(records(&reply), expected, "{direction} {more}");
    }
}

#[test]
fn only_the_sections_asked_for_are_written() {
    // REQ-REL-03
    let edges = edges(["a uses b"]);
    for (include, members, graph) in [
        (json!(null), &["graph", "pageInfo", "relationships", "root"][..], &["edges", "nodes"][..]),
        (json!(["root"]), &["root"], &[]),
        (json!(["relationships"]), &["pageInfo", "relationships", "root"], &[]),
        (json!(["graph.nodes"]), &["graph", "pageInfo", "root"], &["nodes"]),
        (json!(["graph.edges", "root"]), &["graph", "pageInfo", "root"], &["edges"]),
        (
            json!(["graph.edges", "graph.nodes", "relationships"]),
            &["graph", "pageInfo", "relationships", "root"],
            &["edges", "nodes"],
        ),
    ] {
        let reply = ask(&edges, from_a("outgoing", json!({ "include": include })));
        let names = |value: &Value| {
            let mut names: Vec<_> =
                value.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
            names.sort();
            names
        };
        assert_eq!(names(&reply), members, "{include}");
        assert_eq!(names(&reply["graph"]), graph, "{include}");
    }
}

#[test]
fn the_root_alone_needs_no_walk() {
    // REQ-REL-03
    let reply = ask(&[], from_a("both", json!({ "include": ["root"], "first": 5 })));
    assert_eq!(reply, json!({ "root": { "element_type": "bed", "element_name": "a" } }));
    let source = Counting { edges: edges(["a uses b"]), asked: Mutex::default() };
    let query = read(&QueryOptions::new(), from_a("both", json!({ "include": ["root"] }))).unwrap();
    run(query, &source).unwrap();
    assert!(source.asked.lock().unwrap().is_empty());
}

#[test]
fn a_cycle_ends_where_it_closes() {
    // REQ-REL-06
    let edges = edges(["a uses b", "b uses c", "c uses a", "c uses b", "c shades c"]);
    let all = json!({ "depth": 5 });
    let reply = ask(&edges, from_a("outgoing", all.clone()));
    assert_eq!(
        records(&reply),
        ["1 uses > b", "2 uses > c", "3 shades > c", "3 uses > a", "3 uses > b"]
    );
    assert_eq!(nodes(&reply), ["a", "b", "c"]);
    // In both directions each relationship is returned once, from the nearer end.
    let reply = ask(&edges, from_a("both", all));
    assert_eq!(
        records(&reply),
        ["1 uses > b", "1 uses < c", "2 uses > c", "2 uses < c", "2 shades > c"]
    );
    assert_eq!(nodes(&reply), ["a", "b", "c"]);
}

#[test]
fn a_relationship_with_itself_comes_once() {
    // REQ-REL-06
    let edges = edges(["a uses a"]);
    for (direction, expected) in
        [("outgoing", "1 uses > a"), ("incoming", "1 uses < a"), ("both", "1 uses > a")]
    {
        let reply = ask(&edges, from_a(direction, json!({ "depth": 5 })));
        assert_eq!(records(&reply), [expected], "{direction}");
        assert_eq!(nodes(&reply), ["a"], "{direction}");
    }
}

#[test]
fn an_element_behind_two_others_is_one_node() {
    // REQ-REL-04, REQ-REL-06
    let edges = edges(["a uses b", "a uses c", "b uses d", "c uses d"]);
    let reply = ask(&edges, from_a("outgoing", json!({ "depth": 3 })));
    assert_eq!(records(&reply), ["1 uses > b", "1 uses > c", "2 uses > d", "2 uses > d"]);
    assert_eq!(nodes(&reply), ["a", "b", "c", "d"]);
    // The edges are the same relationships, with both ends.
    let ends = |edge: &Value| format!("{} {}", edge["source"], edge["target"]).replace('"', "");
    let shown: Vec<_> = reply["graph"]["edges"].as_array().unwrap().iter().map(ends).collect();
    assert_eq!(shown, ["bed:a bed:b", "bed:a bed:c", "bed:b bed:d", "bed:c bed:d"]);
}

/// Returns all its relationships for every request.
struct Sloppy(Vec<Edge>);

impl RelationshipSource for Sloppy {
    type Error = OperationError;

    async fn edges(&self, _: EdgeRequest<'_>) -> Result<Vec<Edge>, OperationError> {
        Ok(self.0.clone())
    }
}

#[test]
fn ignores_relationships_that_were_not_requested() {
    // REQ-REL-06
    let source = Sloppy(edges([
        "b uses c",
        "a uses b",
        "z uses a",
        "a uses b",
        "a shades b",
        "a uses b",
        "x uses y",
    ]));
    for (direction, more, expected) in [
        ("outgoing", json!({}), &["1 shades > b", "1 uses > b"][..]),
        ("incoming", json!({}), &["1 uses < z"]),
        ("outgoing", json!({ "relationship": "uses", "depth": 3 }), &["1 uses > b", "2 uses > c"]),
    ] {
        let query = read(&QueryOptions::new(), from_a(direction, more)).unwrap();
        let (graph, _) = run(query, &source).unwrap();
        assert_eq!(records(&serde_json::to_value(graph).unwrap()), expected, "{direction}");
    }
}

/// Records the requests. It only knows beds with relationships.
struct Counting {
    edges: Vec<Edge>,
    asked: Mutex<Vec<(Vec<ElementRef>, EdgeDirection)>>,
}

impl RelationshipSource for Counting {
    type Error = OperationError;

    async fn edges(&self, at: EdgeRequest<'_>) -> Result<Vec<Edge>, OperationError> {
        self.asked.lock().unwrap().push((at.nodes.to_vec(), at.direction));
        self.edges.edges(at).await
    }

    async fn check_root(&self, root: &ElementRef) -> Result<(), OperationError> {
        let known = self.edges.iter().any(|edge| edge.source == *root || edge.target == *root);
        known.then_some(()).ok_or_else(|| OperationError::not_found("bed", &root.element_name))
    }
}

#[test]
fn an_unknown_root_is_the_sources_to_refuse() {
    // REQ-REL-01
    let source = Counting { edges: edges(["b uses c"]), asked: Mutex::default() };
    let query = read(&QueryOptions::new(), from_a("both", json!({}))).unwrap();
    let error = run(query, &source).unwrap_err();
    assert_eq!(error.code(), ErrorCode::NotFoundResource);
    assert_eq!(error.details()["resource_id"], "a");
    assert!(source.asked.lock().unwrap().is_empty());
}

#[test]
fn each_level_is_one_question() {
    // REQ-REL-06
    let source = Counting {
        edges: edges(["a uses c", "a uses b", "b uses d", "c uses d", "d uses e", "e uses f"]),
        asked: Mutex::default(),
    };
    let query = read(&QueryOptions::new(), from_a("outgoing", json!({ "depth": 3 }))).unwrap();
    run(query, &source).unwrap();
    let levels = [vec![bed("a")], vec![bed("b"), bed("c")], vec![bed("d")]];
    assert_eq!(*source.asked.lock().unwrap(), levels.map(|level| (level, EdgeDirection::Outgoing)));
    // A full page requests no more than it returns.
    source.asked.lock().unwrap().clear();
    let params = from_a("outgoing", json!({ "depth": 3, "first": 1 }));
    run(read(&QueryOptions::new(), params).unwrap(), &source).unwrap();
    assert_eq!(source.asked.lock().unwrap().len(), 1);
}

#[test]
fn large_levels_are_asked_for_in_parts() {
    // REQ-REL-06
    let leaves: Vec<_> = (0..2_500).map(|number| format!("n{number:04}")).collect();
    let mut edges: Vec<_> =
        leaves.iter().map(|leaf| Edge::new(bed("a"), "uses", bed(leaf))).collect();
    edges.extend(leaves.iter().map(|leaf| Edge::new(bed(leaf), "uses", bed("end"))));
    let source = Counting { edges, asked: Mutex::default() };
    let params = from_a("outgoing", json!({ "depth": 2, "first": 1_000 }));
    let options = QueryOptions::new().max_page_size(1_000);
    let mut after = Value::Null;
    let mut found = 0;
    loop {
        let mut params = params.clone();
        params["after"] = after;
        let (graph, _) = run(read(&options, params).unwrap(), &source).unwrap();
        found += graph.relationships.unwrap().len();
        assert!(found <= 5_000, "pages without end");
        let page = graph.page_info.unwrap();
        if !page.has_next_page {
            break;
        }
        after = page.end_cursor.unwrap().into();
    }
    assert_eq!(found, 5_000);
    let sizes: Vec<_> =
        source.asked.lock().unwrap().iter().rev().take(4).map(|(nodes, _)| nodes.len()).collect();
    assert_eq!(sizes, [500, 1_000, 1_000, 1]);
}

#[test]
fn a_walk_that_is_cut_off_says_so() {
    // REQ-REL-06, REQ-WRN-08
    let edges = edges(["a uses b", "a uses c", "a uses d", "b uses e", "b uses f"]);
    for (bound, depth, records_left, details) in [
        (2, 1, &["1 uses > b"][..], Some((4, 2))),
        (3, 1, &["1 uses > b", "1 uses > c"], Some((4, 3))),
        (4, 1, &["1 uses > b", "1 uses > c", "1 uses > d"], None),
        (4, 2, &["1 uses > b", "1 uses > c", "1 uses > d"], Some((6, 4))),
        (6, 2, &["1 uses > b", "1 uses > c", "1 uses > d", "2 uses > e", "2 uses > f"], None),
    ] {
        let query = read(&QueryOptions::new(), from_a("outgoing", json!({ "depth": depth })))
            .unwrap()
            .visit_at_most(bound);
        let (graph, warnings) = run(query, &edges).unwrap();
        let reply = serde_json::to_value(graph).unwrap();
        assert_eq!(records(&reply), records_left, "{bound} {depth}");
        assert_eq!(reply["pageInfo"]["hasNextPage"], false);
        let found: Vec<_> = warnings
            .iter()
            .map(|warning| (warning.code(), Value::Object(warning.details().clone())))
            .collect();
        let expected = details.map(|(found, kept)| {
            let details = json!({
                "field": "graph.nodes", "original_count": found, "truncated_count": kept,
                "limit": kept,
            });
            ("VALIDATION_TRUNCATED_WARNING", details)
        });
        assert_eq!(found, expected.into_iter().collect::<Vec<_>>(), "{bound} {depth}");
    }
}

#[test]
fn too_many_relationships_cut_a_walk_off_as_well() {
    // REQ-REL-06, REQ-WRN-08
    let kinds = (0..30).map(|number| Edge::new(bed("a"), format!("kind{number:02}"), bed("b")));
    let source = Sloppy(kinds.collect());
    for direction in ["outgoing", "both"] {
        let params = from_a(direction, json!({ "first": 100 }));
        let query = read(&QueryOptions::new(), params).unwrap().visit_at_most(2);
        let (graph, warnings) = run(query, &source).unwrap();
        assert_eq!(graph.relationships.unwrap().len(), 20);
        let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
        assert_eq!(warning.details()["field"], "relationships");
        assert_eq!(warning.details()["truncated_count"], 20);
        assert_eq!(warning.details()["limit"], 20);
        assert_eq!(warning.details()["original_count"], 30);
    }
    // A source that repeats itself up to the limit is also cut off, because there may be more relationships.
    let source = Sloppy(vec![edge("a uses b"); 21]);
    let query = read(&QueryOptions::new(), from_a("outgoing", json!({}))).unwrap().visit_at_most(2);
    let (graph, warnings) = run(query, &source).unwrap();
    assert_eq!(graph.relationships.unwrap().len(), 1);
    assert_eq!(warnings[0].details()["truncated_count"], 1);
    assert_eq!(warnings[0].details()["original_count"], 2);
}

#[test]
fn doubles_in_memory_are_not_counted() {
    // REQ-REL-06
    let source = vec![edge("a uses b"); 21];
    for direction in ["outgoing", "both"] {
        let query = read(&QueryOptions::new(), from_a(direction, json!({}))).unwrap();
        let (graph, warnings) = run(query.visit_at_most(2), &source).unwrap();
        assert_eq!(graph.relationships.unwrap().len(), 1);
        assert_eq!(warnings, []);
    }
}

#[test]
fn the_bound_can_only_be_lowered() {
    // REQ-REL-06
    let far = (0..10_050).map(|number| Edge::new(bed("a"), "uses", bed(&format!("{number:05}"))));
    let far: Vec<_> = far.collect();
    for (bound, kept) in [(0, 1), (usize::MAX, 10_000)] {
        let params = from_a("outgoing", json!({ "first": 1 }));
        let query = read(&QueryOptions::new(), params).unwrap().visit_at_most(bound);
        let mut steps = 0;
        let walk = query.walk();
        let end = walk.run(&far, |_| {
            steps += 1;
            ControlFlow::Continue(())
        });
        let cut = end.now_or_never().unwrap().unwrap().unwrap();
        assert_eq!((steps, cut.kept), (kept - 1, kept), "{bound}");
    }
}

#[test]
fn page_controls_that_do_not_fit_are_refused() {
    // REQ-PAG-02, REQ-PAG-03
    let refused = |params: Value| {
        let error = read(&QueryOptions::new(), from_a("both", params)).unwrap_err();
        assert!(
            !mcp_aql_core::internal::text::leaks_internals(error.message()),
            "{}",
            error.message()
        );
        (error.code(), error.details().clone())
    };
    let (code, details) = refused(json!({ "first": 2, "after": "abc" }));
    assert_eq!(code, ErrorCode::ValidationInvalidValue);
    assert_eq!(details["param_name"], "after");
    let cursor =
        ask(&edges(["a uses b"]), from_a("both", json!({})))["pageInfo"]["endCursor"].clone();
    let (code, details) = refused(json!({ "after": cursor }));
    assert_eq!(code, ErrorCode::ValidationInvalidType);
    assert_eq!(details["param_name"], "pagination");
    assert_eq!(details["provided"], json!(["after"]));
    for name in ["expected_type", "actual_type", "hint"] {
        assert!(details.contains_key(name), "{name}");
    }
}

#[test]
fn pages_are_cut_from_the_relationships() {
    // REQ-REL-02, REQ-REL-04, REQ-PAG-04, REQ-PAG-05
    let edges = edges(["a uses b", "a uses c", "b uses d", "c uses b", "d uses a"]);
    let first = ask(&edges, from_a("outgoing", json!({ "depth": 3, "first": 2 })));
    assert_eq!(records(&first), ["1 uses > b", "1 uses > c"]);
    assert_eq!(nodes(&first), ["a", "b", "c"]);
    assert_eq!(first["pageInfo"]["hasNextPage"], true);
    assert_eq!(first["pageInfo"]["hasPreviousPage"], false);
    let after =
        |reply: &Value| json!({ "depth": 3, "first": 2, "after": reply["pageInfo"]["endCursor"] });
    let second = ask(&edges, from_a("outgoing", after(&first)));
    assert_eq!(records(&second), ["2 uses > d", "2 uses > b"]);
    // The page has both ends of each relationship, and the root, so that no edge leads to a missing node.
    assert_eq!(nodes(&second), ["a", "b", "d", "c"]);
    assert_eq!(second["pageInfo"]["hasNextPage"], true);
    assert_eq!(second["pageInfo"]["hasPreviousPage"], true);
    let third = ask(&edges, from_a("outgoing", after(&second)));
    assert_eq!(records(&third), ["3 uses > a"]);
    assert_eq!(third["pageInfo"]["hasNextPage"], false);
    let end = ask(&edges, from_a("outgoing", after(&third)));
    assert_eq!(records(&end), [""; 0]);
    assert_eq!(nodes(&end), ["a"]);
    assert_eq!(end["pageInfo"], json!({ "hasNextPage": false, "hasPreviousPage": true }));
}

#[test]
fn a_cursor_belongs_to_one_query() {
    // REQ-REL-02, REQ-PAG-09, REQ-PAG-10
    let edges = edges(["a uses b", "a uses c"]);
    let reply = ask(&edges, from_a("outgoing", json!({ "depth": 2, "first": 1 })));
    let after = reply["pageInfo"]["endCursor"].clone();
    for (params, fits) in [
        (from_a("outgoing", json!({ "depth": 2 })), true),
        (from_a("outgoing", json!({ "depth": 2, "include": ["graph.edges"] })), true),
        (from_a("outgoing", json!({ "depth": 1 })), false),
        (from_a("both", json!({ "depth": 2 })), false),
        (from_a("outgoing", json!({ "depth": 2, "relationship": "uses" })), false),
        (
            from_a(
                "outgoing",
                json!({ "depth": 2, "root":
                { "element_type": "bed", "element_name": "b" } }),
            ),
            false,
        ),
    ] {
        let mut params = params;
        params["first"] = 5.into();
        params["after"] = after.clone();
        assert_eq!(read(&QueryOptions::new(), params.clone()).is_ok(), fits, "{params}");
    }
    let text = after.as_str().unwrap();
    assert!(text.bytes().all(|each| each.is_ascii_alphanumeric() || b"-_".contains(&each)));
    assert!(text.len() < 64, "{text}");
}

#[test]
fn a_page_has_a_largest_size() {
    // REQ-REL-02, REQ-PAG-08
    let edges: Vec<_> =
        (0..60).map(|number| Edge::new(bed("a"), "uses", bed(&number.to_string()))).collect();
    let page = |options: &QueryOptions, first: Value| {
        let Value::Object(mut params) = from_a("outgoing", json!({})) else { unreachable!() };
        params.insert("first".to_owned(), first);
        let named = |(name, value)| {
            let known = PARAMETERS.into_iter().find(|known| *known == name).unwrap();
            (known, value)
        };
        let key = CursorKey::random();
        let values = params.into_iter().map(named).collect();
        let capabilities = crate::Capabilities::all();
        let mut given = QueryParams {
            values,
            key: &key,
            capabilities: &capabilities,
            warnings: Vec::new(),
            late_warnings: Vec::new(),
        };
        let query = RelationshipQuery::<Bed>::read(options, &mut given).unwrap();
        let (graph, warnings) = run(query, &edges).unwrap();
        assert_eq!(warnings, []);
        let (rows, page) = (graph.relationships.unwrap().len(), graph.page_info.unwrap());
        assert_eq!(page.end_cursor.is_some(), rows > 0);
        (rows, page.has_next_page, given.warnings)
    };
    let options = QueryOptions::new().page_size(7).max_page_size(30);
    for (first, size) in [(json!(null), 7), (json!(30), 30), (json!(1), 1), (json!(0), 0)] {
        assert_eq!(page(&options, first), (size, true, Vec::new()));
    }
    for (first, most, size) in [(json!(31), 30, 30), (json!(u64::MAX), 9_999, 60)] {
        let (rows, _, warnings) = page(&options.max_page_size(most), first.clone());
        assert_eq!(rows, size);
        let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
        assert_eq!(warning.code(), "VALIDATION_PAGE_SIZE_WARNING");
        assert_eq!(warning.details()["limit"], most.min(mcp_aql_protocol::MAX_PAGE_SIZE));
    }
}

#[test]
fn sources_can_be_shared() {
    fn is_send<T: Send>(value: T) -> T {
        value
    }
    let context = mcp_aql_core::Context::new(mcp_aql_core::transport::CallScope::default());
    let source: std::sync::Arc<[Edge]> = edges(["a uses b"]).into();
    let query = || read(&QueryOptions::new(), from_a("both", json!({}))).unwrap();
    for future in [
        is_send(Box::pin(query().run(&source, &context)) as mcp_aql_core::BoxFuture<'_, _>),
        Box::pin(query().run(&&source[..], &context)),
    ] {
        let graph = future.now_or_never().unwrap().unwrap();
        assert_eq!(graph.relationships.unwrap().len(), 1);
    }
}
