//! Relationship queries: `query_relationships` walks along the relationships of a source.

mod element;
mod graph;
mod kinds;
mod query;
mod source;
mod step_cursor;
mod table;
mod walk;

#[cfg(test)]
mod tests;

pub use element::{Edge, EdgeDirection, ElementRef, TraversalDirection};
pub use graph::{GraphEdge, GraphNode, GraphSections, RelationshipGraph, RelationshipRecord};
pub use kinds::RelationshipKinds;
pub use query::RelationshipQuery;
pub use source::{EdgeRequest, RelationshipSource};
