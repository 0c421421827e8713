//! Compares walks on random graphs with a model.
//!
//! The model works differently: it computes all distances first, then each relationship independently.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use futures_util::FutureExt as _;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::walk::{Step, Walk, WalkLimit};
use super::super::{Edge, EdgeDirection, TraversalDirection};
use super::{bed, from_a, read, run};
use crate::options::QueryOptions;

const NAMES: [&str; 7] = ["a", "b", "c", "d", "e", "f", "g"];
const KINDS: [&str; 2] = ["shades", "uses"];

/// A relationship by numbers: source, kind, target.
type Numbered = (usize, usize, usize);

fn edge_of((source, kind, target): Numbered) -> Edge {
    Edge::new(bed(NAMES[source]), KINDS[kind], bed(NAMES[target]))
}

/// A query by numbers.
#[derive(Debug, Clone)]
struct Question {
    direction: TraversalDirection,
    kind: Option<usize>,
    depth: usize,
}

fn graphs() -> impl Strategy<Value = Vec<Numbered>> {
    prop::collection::vec((0..NAMES.len(), 0..KINDS.len(), 0..NAMES.len()), 0..16)
}

fn questions() -> impl Strategy<Value = Question> {
    let direction = prop_oneof![
        Just(TraversalDirection::Incoming),
        Just(TraversalDirection::Outgoing),
        Just(TraversalDirection::Both)
    ];
    let kind = prop::option::of(0..KINDS.len());
    (direction, kind, 1..6_usize).prop_map(|(direction, kind, depth)| Question {
        direction,
        kind,
        depth,
    })
}

impl Question {
    fn follows(&self, side: EdgeDirection) -> bool {
        self.direction.edge_directions().contains(&side)
    }

    /// Returns the distance between any two elements, computed with the Floyd–Warshall algorithm.
    fn distances(&self, edges: &BTreeSet<Numbered>) -> Vec<Vec<usize>> {
        const FAR: usize = 1_000;
        let count = NAMES.len();
        let mut distances = vec![vec![FAR; count]; count];
        for (place, row) in distances.iter_mut().enumerate() {
            row[place] = 0;
        }
        for (source, _, target) in edges.iter().filter(|edge| self.wants(edge)) {
            if source != target && self.follows(EdgeDirection::Outgoing) {
                distances[*source][*target] = 1;
            }
            if source != target && self.follows(EdgeDirection::Incoming) {
                distances[*target][*source] = 1;
            }
        }
        for middle in 0..count {
            for from in 0..count {
                for to in 0..count {
                    let detour = distances[from][middle] + distances[middle][to];
                    distances[from][to] = distances[from][to].min(detour);
                }
            }
        }
        distances
    }

    fn wants(&self, (_, kind, _): &Numbered) -> bool {
        self.kind.is_none_or(|wanted| wanted == *kind)
    }

    /// Returns every step from `a`, in order: each relationship at its first encounter.
    fn steps(&self, edges: &[Numbered]) -> Vec<Step> {
        let edges: BTreeSet<_> = edges.iter().copied().collect();
        let distances = self.distances(&edges);
        let mut steps: Vec<_> = edges
            .iter()
            .filter(|edge| self.wants(edge))
            .filter_map(|&(source, kind, target)| {
                let seen = [
                    (EdgeDirection::Outgoing, source, target),
                    (EdgeDirection::Incoming, target, source),
                ];
                seen.into_iter()
                    .filter(|(side, near, _)| {
                        self.follows(*side) && distances[0][*near] < self.depth
                    })
                    .map(|(side, near, far)| (distances[0][near] + 1, near, side, kind, far))
                    .min()
            })
            .collect();
        steps.sort();
        steps
            .into_iter()
            .map(|(depth, near, side, kind, far)| Step {
                depth,
                near: bed(NAMES[near]),
                side,
                relationship: KINDS[kind].to_owned(),
                far: bed(NAMES[far]),
            })
            .collect()
    }

    /// Returns the result of the walk within these limits.
    fn walked(
        &self,
        edges: &[Numbered],
        max_nodes: usize,
        max_edges: usize,
    ) -> (Vec<Step>, Option<WalkLimit>) {
        let root = bed("a");
        let edges: Vec<_> = edges.iter().copied().map(edge_of).collect();
        let walk = Walk {
            root: &root,
            direction: self.direction,
            relationship: self.kind.map(|kind| KINDS[kind]),
            depth: self.depth,
            max_nodes,
            max_edges,
        };
        let mut steps = Vec::new();
        let end = walk.run(&edges, |step| {
            steps.push(step);
            ControlFlow::Continue(())
        });
        let cut = end.now_or_never().expect("nothing to wait for").expect("memory does not fail");
        (steps, cut)
    }

    fn params(&self, first: usize, after: Option<&str>) -> Value {
        from_a(
            self.direction.as_str(),
            json!({
                "relationship": self.kind.map(|kind| KINDS[kind]),
                "depth": self.depth,
                "first": first,
                "after": after,
            }),
        )
    }

    /// Returns one page, and the cursor of the next page.
    fn page(
        &self,
        edges: &[Numbered],
        first: usize,
        after: Option<&str>,
    ) -> (Vec<Row>, Option<String>) {
        let edges: Vec<_> = edges.iter().copied().map(edge_of).collect();
        let query = read(&QueryOptions::new(), self.params(first, after)).unwrap();
        let (graph, warnings) = run(query, &edges).unwrap();
        assert_eq!(warnings, []);
        let records = graph.relationships.unwrap();
        let shown = graph.graph.unwrap().edges.unwrap();
        assert_eq!(records.len(), shown.len());
        let rows = shown.into_iter().zip(records).map(|(edge, record)| {
            (edge.source, edge.relationship, edge.target, record.direction, record.depth)
        });
        let page = graph.page_info.unwrap();
        (rows.collect(), page.end_cursor.filter(|_| page.has_next_page))
    }
}

/// A step in the form of a reply: source, kind, target, side and depth.
type Row = (String, String, String, EdgeDirection, usize);

fn row(step: &Step) -> Row {
    let (source, target) = step.ends();
    (source.id(), step.relationship.clone(), target.id(), step.side, step.depth)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn a_walk_finds_what_the_model_finds(edges in graphs(), question in questions()) {
        // REQ-REL-06
        let (steps, cut) = question.walked(&edges, 1_000, 10_000);
        prop_assert_eq!(steps, question.steps(&edges));
        prop_assert_eq!(cut, None);
    }

    #[test]
    fn a_bound_leaves_the_beginning(
        edges in graphs(),
        question in questions(),
        max_nodes in 1..9_usize,
        max_edges in 0..18_usize,
    ) {
        // REQ-REL-06
        let all = question.steps(&edges);
        let (steps, cut) = question.walked(&edges, max_nodes, max_edges);
        prop_assert_eq!(&steps[..], &all[..steps.len()]);
        let visited: BTreeSet<_> =
            steps.iter().map(|step| &step.far).chain([&bed("a")]).cloned().collect();
        prop_assert!(visited.len() <= max_nodes);
        prop_assert!(steps.len() <= max_edges);
        // The walk is cut off if and only if the next step would exceed a limit.
        match (all.get(steps.len()), cut) {
            (None, None) => {}
            (Some(next), Some(cut)) if cut.field == "graph.nodes" => {
                prop_assert!(!visited.contains(&next.far));
                prop_assert_eq!((visited.len(), cut.kept, cut.limit), (max_nodes, max_nodes, max_nodes));
                prop_assert!(cut.found > cut.kept);
                let all: BTreeSet<_> = all.iter().map(|step| &step.far).collect();
                prop_assert!(cut.found <= all.len() + 1);
            }
            (Some(_), Some(cut)) => {
                prop_assert_eq!((steps.len(), cut.kept, cut.limit), (max_edges, max_edges, max_edges));
                prop_assert!(cut.found > cut.kept && cut.found <= all.len());
            }
            (next, cut) => prop_assert!(false, "{:?} after {:?}", cut, next),
        }
    }

    #[test]
    fn pages_together_are_the_whole(
        edges in graphs(),
        question in questions(),
        sizes in prop::collection::vec(1..5_usize, 1..4),
    ) {
        // REQ-REL-02, REQ-PAG-09
        let mut found = Vec::new();
        let mut after = None;
        for size in sizes.iter().cycle() {
            let (rows, next) = question.page(&edges, *size, after.as_deref());
            prop_assert!(rows.len() == *size || next.is_none());
            found.extend(rows);
            prop_assert!(found.len() <= edges.len());
            after = next;
            if after.is_none() {
                break;
            }
        }
        let all: Vec<_> = question.steps(&edges).iter().map(row).collect();
        prop_assert_eq!(found, all);
    }

    /// An unchanged relationship is returned exactly once, even if others change between two pages.
    #[test]
    fn pages_stay_in_step_while_others_write(
        versions in prop::collection::vec(graphs(), 1..5),
        kept in graphs(),
        question in questions(),
        size in 1..4_usize,
    ) {
        // REQ-PAG-09
        let versions: Vec<Vec<_>> = versions
            .into_iter()
            .map(|version| kept.iter().copied().chain(version).collect())
            .collect();
        let mut found = Vec::new();
        let mut after = None;
        let mut shown = Vec::new();
        // The last version is final.
        let last = versions.last().cloned().unwrap_or_default();
        for version in versions.into_iter().chain(std::iter::repeat(last)) {
            let (rows, next) = question.page(&version, size, after.as_deref());
            shown.push(question.steps(&version));
            found.extend(rows);
            prop_assert!(found.len() <= 200, "pages without end");
            after = next;
            if after.is_none() {
                break;
            }
        }
        let first: Vec<_> = shown.first().cloned().unwrap_or_default();
        for step in first.iter().filter(|step| shown.iter().all(|steps| steps.contains(step))) {
            let times = found.iter().filter(|found| **found == row(step)).count();
            prop_assert_eq!(times, 1, "{:?}", step);
        }
        // A relationship may be repeated only if it is now encountered elsewhere.
        let each: BTreeSet<_> = found.iter().collect();
        prop_assert_eq!(each.len(), found.len());
    }
}

#[test]
fn a_source_in_memory_returns_the_first_relationships() {
    // REQ-REL-06
    // `b` and `c` lead to `a`. The elements that lead to `c` have smaller names.
    let edges: Vec<Numbered> = [(1, 0, 0), (2, 0, 0)]
        .into_iter()
        .chain([(0, 0, 2), (0, 1, 2), (3, 0, 2), (3, 1, 2), (5, 0, 1), (6, 0, 1)])
        .collect();
    for direction in [TraversalDirection::Incoming, TraversalDirection::Both] {
        let question = Question { direction, kind: None, depth: 2 };
        let all = question.steps(&edges);
        for most in 0..all.len() {
            let (steps, cut) = question.walked(&edges, 100, most);
            assert_eq!(steps, all[..most], "{direction:?} {most}");
            assert_eq!(cut.map(|cut| cut.kept), Some(most), "{direction:?} {most}");
        }
    }
}
