//! The walk along relationships: breadth first, each relationship once, each element entered once,
//! so that a cycle ends where it closes.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use super::element::{Direction, Edge, Element, Side};
use super::source::{EdgesAt, RelationshipSource};

/// What a walk does.
#[derive(Debug, Clone, Copy)]
pub(super) struct Walk<'a> {
    pub(super) root: &'a Element,
    pub(super) direction: Direction,
    pub(super) relationship: Option<&'a str>,
    /// How many steps away from the root it goes.
    pub(super) depth: usize,
    /// How many elements it visits, the root among them.
    pub(super) most_nodes: usize,
    /// How many relationships it follows.
    pub(super) most_edges: usize,
}

/// One relationship as the walk met it.
///
/// The order of the fields is the order of the walk: nearest to the root first, then by the element
/// that it was met at, its side, its kind and the element behind it, texts byte by byte. It depends on
/// the relationships alone, so it is the same for every page.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Step {
    /// 1 for a relationship of the root.
    pub(super) depth: usize,
    /// The element that it was met at.
    pub(super) near: Element,
    pub(super) side: Side,
    pub(super) relationship: String,
    /// The element behind it.
    pub(super) far: Element,
}

/// A walk ended because of a bound: it came to the first thing beyond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cut {
    /// What there is too much of, as `include` names it.
    pub(super) field: &'static str,
    /// How many it knows of: there may be more.
    pub(super) found: usize,
    /// How many it gave.
    pub(super) kept: usize,
    /// The bound.
    pub(super) limit: usize,
}

impl Walk<'_> {
    /// Hands every step to `take`, in their order, until that breaks off. What a bound leaves is the
    /// beginning of what would have come without it, as far as the source knows what comes first.
    pub(super) async fn run<S: RelationshipSource + ?Sized>(
        &self,
        source: &S,
        mut take: impl FnMut(Step) -> ControlFlow<()> + Send,
    ) -> Result<Option<Cut>, S::Error> {
        let mut visited = HashMap::from([(self.root.clone(), 0)]);
        let mut followed = 0;
        let mut level = vec![self.root.clone()];
        for depth in 1..=self.depth {
            let mut next = Vec::new();
            for nodes in level.chunks(EdgesAt::BATCH) {
                let (steps, more) = self.steps(source, nodes, depth, &visited).await?;
                let mut steps = steps.into_iter();
                while let Some(step) = steps.next() {
                    let is_new = !visited.contains_key(&step.far);
                    if is_new && visited.len() >= self.most_nodes {
                        return Ok(Some(self.too_many_nodes(&visited, step, steps)));
                    }
                    if followed >= self.most_edges {
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
                if more {
                    return Ok(Some(self.too_many_edges(followed, 1)));
                }
            }
            if next.is_empty() {
                break;
            }
            next.sort_unstable();
            level = next;
        }
        Ok(None)
    }

    /// The steps from these elements, sorted; and whether the source has more of them.
    async fn steps<S: RelationshipSource + ?Sized>(
        &self,
        source: &S,
        nodes: &[Element],
        depth: usize,
        visited: &HashMap<Element, usize>,
    ) -> Result<(Vec<Step>, bool), S::Error> {
        // One more than are followed, so that there being more shows. It is not what is left of the
        // bound: in both directions a source repeats what was followed from the other end.
        let limit = self.most_edges.saturating_add(1);
        let mut steps = Vec::new();
        let mut more = false;
        for side in self.direction.sides() {
            let at = EdgesAt::new(nodes, *side, self.relationship, limit);
            let edges = source.edges(at).await?;
            more |= edges.len() >= limit;
            // A source that gives more than it was asked for does no harm.
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

    /// In both directions every relationship shows at both of its ends: it is followed from the one
    /// that comes first.
    fn was_met(&self, step: &Step, visited: &HashMap<Element, usize>) -> bool {
        if self.direction != Direction::Both {
            return false;
        }
        if step.near == step.far {
            return step.side == Side::Incoming;
        }
        // The elements of a level have the depth of their relationships less one.
        visited
            .get(&step.far)
            .is_some_and(|depth| (depth + 1, &step.far) < (step.depth, &step.near))
    }

    fn too_many_nodes(
        &self,
        visited: &HashMap<Element, usize>,
        first: Step,
        rest: impl Iterator<Item = Step>,
    ) -> Cut {
        let unknown: HashSet<Element> = std::iter::once(first)
            .chain(rest)
            .map(|step| step.far)
            .filter(|far| !visited.contains_key(far))
            .collect();
        Cut {
            field: "graph.nodes",
            found: self.most_nodes.saturating_add(unknown.len()),
            kept: self.most_nodes,
            limit: self.most_nodes,
        }
    }

    fn too_many_edges(&self, kept: usize, beyond: usize) -> Cut {
        Cut {
            field: "relationships",
            found: kept.saturating_add(beyond),
            kept,
            limit: self.most_edges,
        }
    }
}

impl Step {
    fn new(edge: Edge, side: Side, depth: usize) -> Self {
        let (near, far) = match side {
            Side::Outgoing => (edge.source, edge.target),
            Side::Incoming => (edge.target, edge.source),
        };
        Self { depth, near, side, relationship: edge.relationship, far }
    }

    /// Where the relationship starts, and where it ends.
    pub(super) fn ends(&self) -> (&Element, &Element) {
        match self.side {
            Side::Outgoing => (&self.near, &self.far),
            Side::Incoming => (&self.far, &self.near),
        }
    }
}
