use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that relationships lead from or to: a kind and a name, which together are never the
/// same twice.
///
/// ```
/// use mcp_aql::query::Element;
///
/// let task = Element::new("task", "t-7");
/// assert_eq!(task.id(), "task:t-7");
/// ```
///
/// Source: features/relationship-queries §2 (REQ-REL-01, REQ-REL-04).
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "RelationshipElement")]
pub struct Element {
    /// The kind, such as `task`.
    pub element_type: String,
    /// Which one of its kind.
    pub element_name: String,
}

/// A relationship as a source knows it: `source` has it to `target`.
///
/// ```
/// use mcp_aql::query::{Edge, Element};
///
/// let edge = Edge::new(Element::new("task", "t-7"), "references", Element::new("task", "t-9"));
/// assert_eq!(edge.target.element_name, "t-9");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge {
    /// Where it starts.
    pub source: Element,
    /// Its kind, one of those that the resource declares.
    pub relationship: String,
    /// Where it ends.
    pub target: Element,
}

/// One of the two ways along a relationship.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "RelationshipSide")]
pub enum Side {
    /// From its source to its target.
    Outgoing,
    /// From its target to its source.
    Incoming,
}

/// Which relationships a walk follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Those that end here.
    Incoming,
    /// Those that start here.
    Outgoing,
    /// All of them.
    Both,
}

impl Element {
    /// The element of this kind and name.
    pub fn new(element_type: impl Into<String>, element_name: impl Into<String>) -> Self {
        Self { element_type: element_type.into(), element_name: element_name.into() }
    }

    /// How a graph names it: `task:t-7`. Kinds without a colon keep this unmistakable.
    pub fn id(&self) -> String {
        format!("{}:{}", self.element_type, self.element_name)
    }
}

impl Edge {
    /// The relationship of this kind between these two.
    pub fn new(source: Element, relationship: impl Into<String>, target: Element) -> Self {
        Self { source, relationship: relationship.into(), target }
    }
}

impl Direction {
    /// Every direction, as introspection lists them.
    pub(super) const ALL: [Self; 3] = [Self::Incoming, Self::Outgoing, Self::Both];

    /// Its name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Incoming => "incoming",
            Self::Outgoing => "outgoing",
            Self::Both => "both",
        }
    }

    /// The sides that it follows.
    pub const fn sides(self) -> &'static [Side] {
        match self {
            Self::Incoming => &[Side::Incoming],
            Self::Outgoing => &[Side::Outgoing],
            Self::Both => &[Side::Outgoing, Side::Incoming],
        }
    }
}
