//! Elements, and the relationships between them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The source or target of relationships, identified by its kind and name.
///
/// ```
/// use mcp_aql::query::ElementRef;
///
/// let task = ElementRef::new("task", "t-7");
/// assert_eq!(task.id(), "task:t-7");
/// ```
///
/// Source: features/relationship-queries §2 (REQ-REL-01, REQ-REL-04).
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "RelationshipElement")]
pub struct ElementRef {
    /// The kind, such as `task`.
    pub element_type: String,
    /// The name, unique within its kind.
    pub element_name: String,
}

/// A relationship from `source` to `target`.
///
/// ```
/// use mcp_aql::query::{Edge, ElementRef};
///
/// let edge = Edge::new(ElementRef::new("task", "t-7"), "references", ElementRef::new("task", "t-9"));
/// assert_eq!(edge.target.element_name, "t-9");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge {
    /// The source element.
    pub source: ElementRef,
    /// The kind, as declared by the resource.
    pub relationship: String,
    /// The target element.
    pub target: ElementRef,
}

/// The direction in which a relationship is followed.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "RelationshipSide")]
pub enum EdgeDirection {
    /// From its source to its target.
    Outgoing,
    /// From its target to its source.
    Incoming,
}

/// The direction in which a query follows relationships.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TraversalDirection {
    /// Relationships that end at the element.
    Incoming,
    /// Relationships that start at the element.
    Outgoing,
    /// Both directions.
    Both,
}

impl ElementRef {
    /// Creates an element.
    pub fn new(element_type: impl Into<String>, element_name: impl Into<String>) -> Self {
        Self { element_type: element_type.into(), element_name: element_name.into() }
    }

    /// Returns the node id in a graph, such as `task:t-7`. Ids are unambiguous, because kinds contain no
    /// colon.
    pub fn id(&self) -> String {
        format!("{}:{}", self.element_type, self.element_name)
    }
}

impl Edge {
    /// Creates a relationship.
    pub fn new(source: ElementRef, relationship: impl Into<String>, target: ElementRef) -> Self {
        Self { source, relationship: relationship.into(), target }
    }
}

impl TraversalDirection {
    /// Every direction, in the order of introspection.
    pub(super) const ALL: [Self; 3] = [Self::Incoming, Self::Outgoing, Self::Both];

    /// Returns the name in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Incoming => "incoming",
            Self::Outgoing => "outgoing",
            Self::Both => "both",
        }
    }

    /// Returns the sides to follow.
    pub const fn edge_directions(self) -> &'static [EdgeDirection] {
        match self {
            Self::Incoming => &[EdgeDirection::Incoming],
            Self::Outgoing => &[EdgeDirection::Outgoing],
            Self::Both => &[EdgeDirection::Outgoing, EdgeDirection::Incoming],
        }
    }
}
