//! The result of a relationship query.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::element::{EdgeDirection, ElementRef};
use super::walk::Step;
use crate::PageInfo;

/// The result of a walk along relationships: `data` of `query_relationships`.
///
/// `root` is always present, the other members if `include` names them. Pages are cut from the
/// relationships; `graph` contains the root and the part of the graph on the page: its `edges` are
/// the same relationships in the same order, and its `nodes` their ends without duplicates.
///
/// Source: features/relationship-queries §3 (REQ-REL-03, REQ-REL-04, choice C-61).
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(
    description = "What a walk along relationships found.",
    // `DATA_MARK`, which an attribute cannot name.
    extend("x-mcp-aql-data" = "RelationshipGraph"),
)]
#[non_exhaustive]
pub struct RelationshipGraph {
    /// The element where the walk started.
    pub root: ElementRef,
    /// The relationships of this page, the nearest first. Two relationships to the same element may
    /// look equal here; `graph.edges` shows both ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relationships: Option<Vec<RelationshipRecord>>,
    /// The same relationships as a graph.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub graph: Option<GraphSections>,
    /// The place of this page among the relationships. Missing if only `root` is requested.
    #[serde(rename = "pageInfo", skip_serializing_if = "Option::is_none")]
    pub page_info: Option<PageInfo>,
}

/// A relationship, seen from the element at which the walk encountered it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct RelationshipRecord {
    /// The kind.
    #[serde(rename = "type")]
    pub relationship: String,
    /// `outgoing`: the relationship leads to `target`. `incoming`: it starts there.
    pub direction: EdgeDirection,
    /// The element at the other end.
    pub target: ElementRef,
    /// The distance from the root in steps: 1 for a relationship of the root itself.
    pub depth: usize,
}

/// The part of the graph on a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "RelationshipGraphSections")]
#[non_exhaustive]
pub struct GraphSections {
    /// The root, and the ends of the page's relationships.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Vec<GraphNode>>,
    /// The page's relationships, from source to target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edges: Option<Vec<GraphEdge>>,
}

/// An element of the graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "RelationshipGraphNode")]
#[non_exhaustive]
pub struct GraphNode {
    /// The name that edges use: `element_type:element_name`.
    pub id: String,
    /// The kind.
    pub element_type: String,
    /// The name, unique within its kind.
    pub element_name: String,
}

/// A relationship of the graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "RelationshipGraphEdge")]
#[non_exhaustive]
pub struct GraphEdge {
    /// The id of the source node.
    pub source: String,
    /// The id of the target node.
    pub target: String,
    /// The kind.
    #[serde(rename = "type")]
    pub relationship: String,
}

/// A section of the result. Callers select sections with `include`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) enum Section {
    #[serde(rename = "root")]
    Root,
    #[serde(rename = "relationships")]
    Relationships,
    #[serde(rename = "graph.nodes")]
    Nodes,
    #[serde(rename = "graph.edges")]
    Edges,
}

impl Section {
    pub(super) const ALL: [Self; 4] = [Self::Root, Self::Relationships, Self::Nodes, Self::Edges];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Relationships => "relationships",
            Self::Nodes => "graph.nodes",
            Self::Edges => "graph.edges",
        }
    }
}

impl RelationshipGraph {
    /// Builds the requested sections from the relationships of a page.
    pub(super) fn of(
        root: ElementRef,
        steps: &[Step],
        sections: &[Section],
        page_info: Option<PageInfo>,
    ) -> Self {
        let wants = |section| sections.contains(&section);
        let nodes = wants(Section::Nodes).then(|| nodes(&root, steps));
        let edges = wants(Section::Edges).then(|| steps.iter().map(GraphEdge::of).collect());
        let graph = (nodes.is_some() || edges.is_some()).then_some(GraphSections { nodes, edges });
        let relationships = wants(Section::Relationships)
            .then(|| steps.iter().map(RelationshipRecord::of).collect());
        Self { root, relationships, graph, page_info }
    }
}

/// Returns the root and the ends of these relationships, without duplicates, in the order of the walk.
fn nodes(root: &ElementRef, steps: &[Step]) -> Vec<GraphNode> {
    let ends = steps.iter().flat_map(|step| [&step.near, &step.far]);
    let mut known = HashSet::new();
    std::iter::once(root)
        .chain(ends)
        .filter(|element| known.insert(*element))
        .map(|element| GraphNode {
            id: element.id(),
            element_type: element.element_type.clone(),
            element_name: element.element_name.clone(),
        })
        .collect()
}

impl RelationshipRecord {
    fn of(step: &Step) -> Self {
        Self {
            relationship: step.relationship.clone(),
            direction: step.side,
            target: step.far.clone(),
            depth: step.depth,
        }
    }
}

impl GraphEdge {
    fn of(step: &Step) -> Self {
        let (source, target) = step.ends();
        Self { source: source.id(), target: target.id(), relationship: step.relationship.clone() }
    }
}
