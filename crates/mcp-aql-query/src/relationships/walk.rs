//! The walk along relationships.
//!
//! The walk is breadth-first. It follows each relationship once and enters each element once, so that it ends
//! even in cycles.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use super::element::{Edge, EdgeDirection, ElementRef, TraversalDirection};
use super::source::{EdgeRequest, RelationshipSource};
use crate::cursor;
use crate::value::Scalar;

/// The limits and filters of a walk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Walk<'a> {
    pub(super) root: &'a ElementRef,
    pub(super) direction: TraversalDirection,
    pub(super) relationship: Option<&'a str>,
    /// Maximum distance from the root, in steps.
    pub(super) depth: usize,
    /// Maximum number of elements visited, including the root.
    pub(super) max_nodes: usize,
    /// Maximum number of relationships followed.
    pub(super) max_edges: usize,
}

/// A relationship in the direction in which the walk encountered it.
///
/// The order of the fields is the order of the walk: by distance from the root, then by the near element, the
/// side, the kind and the far element. Strings are compared by bytes. The order depends only on the
/// relationships, so it is the same for every page.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Step {
    /// 1 for a relationship of the root.
    pub(super) depth: usize,
    /// The element at which the walk encountered the relationship.
    pub(super) near: ElementRef,
    pub(super) side: EdgeDirection,
    pub(super) relationship: String,
    /// The element at the other end.
    pub(super) far: ElementRef,
}

/// The limit that ended a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WalkLimit {
    /// The truncated section, by its name in `include`.
    pub(super) field: &'static str,
    /// The number of items found. There may be more.
    pub(super) found: usize,
    /// The number of items returned.
    pub(super) kept: usize,
    /// The bound.
    pub(super) limit: usize,
}

impl Walk<'_> {
    /// Calls `take` with every step in order until it breaks.
    ///
    /// A limit only removes steps at the end, if the source returns the first relationships.
    pub(super) async fn run<S: RelationshipSource + ?Sized>(
        &self,
        source: &S,
        mut take: impl FnMut(Step) -> ControlFlow<()> + Send,
    ) -> Result<Option<WalkLimit>, S::Error> {
        let mut visited = HashMap::from([(self.root.clone(), 0)]);
        let mut followed = 0;
        let mut level = vec![self.root.clone()];
        for depth in 1..=self.depth {
            let mut next = Vec::new();
            for nodes in level.chunks(EdgeRequest::MAX_NODES) {
                let (steps, more) = self.steps(source, nodes, depth, &visited).await?;
                let mut steps = steps.into_iter();
                while let Some(step) = steps.next() {
                    let is_new = !visited.contains_key(&step.far);
                    if is_new && visited.len() >= self.max_nodes {
                        return Ok(Some(self.too_many_nodes(&visited, step, steps)));
                    }
                    if followed >= self.max_edges {
                        return Ok(Some(self.too_many_edges(followed, 1 + steps.len())));
                    }
                    followed += 1;
                    if is_new {
                        visited.insert(step.far.clone(), depth);
                        next.push(step.far.clone());
                    }
                    if take(step).is_break() {
                        return Ok(None);
                    }
                }
                // The source has omitted relationships of these elements, so the following steps are unknown.
                if more {
                    return Ok(Some(self.too_many_edges(followed, 1)));
                }
            }
            if next.is_empty() {
                break;
            }
            // The steps of a level are in the order of their near elements.
            next.sort_unstable();
            level = next;
        }
        Ok(None)
    }

    /// Returns the sorted steps from these elements. The second value is `true` if the source has more of
    /// them.
    async fn steps<S: RelationshipSource + ?Sized>(
        &self,
        source: &S,
        nodes: &[ElementRef],
        depth: usize,
        visited: &HashMap<ElementRef, usize>,
    ) -> Result<(Vec<Step>, bool), S::Error> {
        // Request one more than the limit, to detect further relationships. The remaining number would be too
        // low: in both directions, a source repeats relationships that were followed from the other end.
        let limit = self.max_edges.saturating_add(1);
        let mut steps = Vec::new();
        let mut more = false;
        for side in self.direction.edge_directions() {
            let at = EdgeRequest::new(nodes, *side, self.relationship, limit);
            let edges = source.edges(at).await?;
            more |= edges.len() >= limit;
            // Ignore relationships outside of the request.
            let asked = edges.into_iter().filter(|edge| at.matches(edge));
            steps.extend(
                asked
                    .map(|edge| Step::new(edge, *side, depth))
                    .filter(|step| !self.was_met(step, visited)),
            );
        }
        steps.sort_unstable();
        steps.dedup();
        Ok((steps, more))
    }

    /// Returns `true` if the walk has followed this relationship from its other end.
    ///
    /// In both directions, every relationship is found at both of its ends. It is followed from the end that
    /// comes first in the walk.
    fn was_met(&self, step: &Step, visited: &HashMap<ElementRef, usize>) -> bool {
        if self.direction != TraversalDirection::Both {
            return false;
        }
        if step.near == step.far {
            return step.side == EdgeDirection::Incoming;
        }
        // The elements of a level are one step nearer than their relationships.
        visited
            .get(&step.far)
            .is_some_and(|depth| (depth + 1, &step.far) < (step.depth, &step.near))
    }

    fn too_many_nodes(
        &self,
        visited: &HashMap<ElementRef, usize>,
        first: Step,
        rest: impl Iterator<Item = Step>,
    ) -> WalkLimit {
        let unknown: HashSet<ElementRef> = std::iter::once(first)
            .chain(rest)
            .map(|step| step.far)
            .filter(|far| !visited.contains_key(far))
            .collect();
        WalkLimit {
            field: "graph.nodes",
            found: self.max_nodes.saturating_add(unknown.len()),
            kept: self.max_nodes,
            limit: self.max_nodes,
        }
    }

    fn too_many_edges(&self, kept: usize, beyond: usize) -> WalkLimit {
        WalkLimit {
            field: "relationships",
            found: kept.saturating_add(beyond),
            kept,
            limit: self.max_edges,
        }
    }
}

impl Step {
    fn new(edge: Edge, side: EdgeDirection, depth: usize) -> Self {
        let (near, far) = match side {
            EdgeDirection::Outgoing => (edge.source, edge.target),
            EdgeDirection::Incoming => (edge.target, edge.source),
        };
        Self { depth, near, side, relationship: edge.relationship, far }
    }

    /// Returns the source and the target of the relationship.
    pub(super) fn ends(&self) -> (&ElementRef, &ElementRef) {
        match self.side {
            EdgeDirection::Outgoing => (&self.near, &self.far),
            EdgeDirection::Incoming => (&self.far, &self.near),
        }
    }

    /// Encodes the position after this self.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let text = |text: &String| Scalar::from(text.clone());
        cursor::pack(&[
            Scalar::Int(i128::try_from(self.depth).unwrap_or(i128::MAX)),
            text(&self.near.element_type),
            text(&self.near.element_name),
            Scalar::Bool(self.side == EdgeDirection::Outgoing),
            text(&self.relationship),
            text(&self.far.element_type),
            text(&self.far.element_name),
        ])
    }

    /// Decodes a step encoded by [`to_bytes`](Self::to_bytes).
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let values: [Scalar; 7] = cursor::unpack(bytes)?.try_into().ok()?;
        let [depth, near_type, near_name, outgoing, relationship, far_type, far_name] = values;
        let (Scalar::Int(depth), Scalar::Bool(outgoing)) = (depth, outgoing) else { return None };
        let text = |value| match value {
            Scalar::Text(text) => Some(text.into_owned()),
            _ => None,
        };
        Some(Self {
            depth: usize::try_from(depth).ok()?,
            near: ElementRef { element_type: text(near_type)?, element_name: text(near_name)? },
            side: if outgoing { EdgeDirection::Outgoing } else { EdgeDirection::Incoming },
            relationship: text(relationship)?,
            far: ElementRef { element_type: text(far_type)?, element_name: text(far_name)? },
        })
    }
}
