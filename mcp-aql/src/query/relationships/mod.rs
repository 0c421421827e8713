//! Relationships between resources: `query_relationships` walks along them, from wherever they are
//! kept.

mod element;
mod graph;
mod place;
mod query;
mod source;
mod table;
mod walk;

#[cfg(test)]
mod tests;

pub use element::{Direction, Edge, Element, Side};
pub use graph::{GraphEdge, GraphNode, GraphSections, RelationshipGraph, RelationshipRecord};
pub use query::RelationshipQuery;
pub use source::{EdgesAt, RelationshipSource};
