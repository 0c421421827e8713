//! The trait of relationship sources.

use std::future::Future;
use std::sync::Arc;

use mcp_aql_core::OperationError;

use super::element::{Edge, EdgeDirection, ElementRef};

/// A source of relationships.
///
/// The walk queries it level by level, so you can answer each level with a single statement of a database.
///
/// ```
/// use mcp_aql::query::{Edge, EdgeRequest, EdgeDirection};
/// use mcp_aql::query::RelationshipSource;
/// use mcp_aql::OperationError;
///
/// struct Links(Vec<Edge>);
///
/// impl RelationshipSource for Links {
///     type Error = OperationError;
///
///     async fn edges(&self, at: EdgeRequest<'_>) -> Result<Vec<Edge>, OperationError> {
///         let here = |edge: &&Edge| match at.direction {
///             EdgeDirection::Outgoing => at.nodes.contains(&edge.source),
///             EdgeDirection::Incoming => at.nodes.contains(&edge.target),
///         };
///         let wanted = |edge: &&Edge| at.relationship.is_none_or(|kind| edge.relationship == kind);
///         Ok(self.0.iter().filter(here).filter(wanted).take(at.limit).cloned().collect())
///     }
/// }
/// ```
///
/// `[Edge]` and `Vec<Edge>` implement it.
///
/// Source: features/relationship-queries §5 (REQ-REL-06).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a source of relationships",
    label = "not a source of relationships",
    note = "implement `RelationshipSource` for it, or pass a `Vec<Edge>`"
)]
pub trait RelationshipSource: Sync {
    /// Error of the source.
    type Error: Into<OperationError> + Send;

    /// Returns the relationships of these elements.
    ///
    /// The walk sorts the relationships and removes duplicates, so you can return them in any order. If there
    /// are more than [`limit`](EdgeRequest::limit), return the first ones by the requested element, then by
    /// kind, then by the other end. Pages are only consistent if you return the same ones each time.
    fn edges(
        &self,
        at: EdgeRequest<'_>,
    ) -> impl Future<Output = Result<Vec<Edge>, Self::Error>> + Send;

    /// Checks that a walk may start at this element. By default, every element is valid. Return
    /// `NOT_FOUND_RESOURCE` for a missing one.
    fn check_root(
        &self,
        root: &ElementRef,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send {
        let _ = root;
        std::future::ready(Ok(()))
    }
}

/// The relationships requested by a walk.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct EdgeRequest<'a> {
    /// The elements, sorted and without duplicates. There are at least one and at most
    /// [`MAX_NODES`](Self::MAX_NODES) of them.
    pub nodes: &'a [ElementRef],
    /// If outgoing, the source of the relationships is one of `nodes`. If incoming, the target is.
    pub direction: EdgeDirection,
    /// The only kind to return, or `None` for all kinds.
    pub relationship: Option<&'a str>,
    /// The maximum number of relationships needed.
    pub limit: usize,
}

impl<'a> EdgeRequest<'a> {
    /// Maximum number of elements per request. A statement with two variables per element stays within the
    /// limits of common databases.
    pub const MAX_NODES: usize = 1_000;

    pub(super) fn new(
        nodes: &'a [ElementRef],
        direction: EdgeDirection,
        relationship: Option<&'a str>,
        limit: usize,
    ) -> Self {
        Self { nodes, direction, relationship, limit }
    }

    /// Returns `true` if this relationship was requested.
    pub fn matches(&self, edge: &Edge) -> bool {
        let near = match self.direction {
            EdgeDirection::Outgoing => &edge.source,
            EdgeDirection::Incoming => &edge.target,
        };
        self.relationship.is_none_or(|kind| edge.relationship == kind)
            && self.nodes.binary_search(near).is_ok()
    }
}

impl RelationshipSource for [Edge] {
    type Error = OperationError;

    async fn edges(&self, at: EdgeRequest<'_>) -> Result<Vec<Edge>, OperationError> {
        let mut edges: Vec<&Edge> = self.iter().filter(|edge| at.matches(edge)).collect();
        match at.direction {
            EdgeDirection::Outgoing => edges.sort_unstable(),
            EdgeDirection::Incoming => {
                edges.sort_unstable_by_key(|edge| (&edge.target, &edge.relationship, &edge.source))
            }
        }
        edges.dedup();
        Ok(edges.into_iter().take(at.limit).cloned().collect())
    }
}

impl RelationshipSource for Vec<Edge> {
    type Error = OperationError;

    async fn edges(&self, at: EdgeRequest<'_>) -> Result<Vec<Edge>, OperationError> {
        self.as_slice().edges(at).await
    }
}

impl<S: RelationshipSource + Send + ?Sized> RelationshipSource for Arc<S> {
    type Error = S::Error;

    async fn edges(&self, at: EdgeRequest<'_>) -> Result<Vec<Edge>, Self::Error> {
        (**self).edges(at).await
    }

    async fn check_root(&self, root: &ElementRef) -> Result<(), Self::Error> {
        (**self).check_root(root).await
    }
}

impl<S: RelationshipSource + ?Sized> RelationshipSource for &S {
    type Error = S::Error;

    async fn edges(&self, at: EdgeRequest<'_>) -> Result<Vec<Edge>, Self::Error> {
        (**self).edges(at).await
    }

    async fn check_root(&self, root: &ElementRef) -> Result<(), Self::Error> {
        (**self).check_root(root).await
    }
}
