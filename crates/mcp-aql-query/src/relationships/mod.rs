//! Relationship queries: the argument, the source and the reply of an operation like `query_relationships`.
//!
//! A query starts at a root element and follows relationships breadth-first, up to a depth:
//!
//! ```text
//! relationships: a uses b, b uses c
//! root a, outgoing, depth 2 → a uses b (depth 1), b uses c (depth 2)
//! ```
//!
//! | part | purpose |
//! |---|---|
//! | [`RelationshipQuery`] | the argument of the operation |
//! | [`RelationshipKinds`] | the kinds of relationships that a query can follow |
//! | [`RelationshipSource`], [`EdgeRequest`] | the origin of the relationships, and one request to it |
//! | [`ElementRef`], [`Edge`] | an element, and a relationship between two elements |
//! | [`RelationshipGraph`] | the reply |

mod element;
mod graph;
mod query;
mod source;
mod table;
mod walk;

pub use element::{Edge, EdgeDirection, ElementRef, TraversalDirection};
pub use graph::{GraphEdge, GraphNode, GraphSections, RelationshipGraph, RelationshipRecord};
pub use query::{RelationshipKinds, RelationshipQuery};
pub use source::{EdgeRequest, RelationshipSource};

#[cfg(test)]
mod tests;
