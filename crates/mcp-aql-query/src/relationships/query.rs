//! The argument type of `query_relationships`.

use std::fmt;
use std::marker::PhantomData;
use std::ops::ControlFlow;

use mcp_aql_core::internal::paging::{Contradiction, CursorKey, PageInfo, clamped};
use mcp_aql_core::{Context, OperationError, Warning};
use mcp_aql_protocol::ErrorCode;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::element::{ElementRef, TraversalDirection};
use super::graph::{RelationshipGraph, Section};
use super::source::RelationshipSource;
use super::table;
use super::walk::{Step, Walk, WalkLimit};
use crate::entry::{QueryArgument, QueryParams, QueryTable};
use crate::options::QueryOptions;
use crate::read::{QueryFaults, read_map};
use crate::resource::Resource;
use crate::resource_spec::RelationshipType;

/// A type that declares kinds of relationships: each resource, and tuples of stores.
pub trait RelationshipKinds: 'static {
    /// Returns the kinds.
    fn relationship_kinds() -> Vec<RelationshipType>;

    /// Returns the kind and the name of the element in an example.
    fn example_element() -> (String, String);
}

impl<T: Resource> RelationshipKinds for T {
    fn relationship_kinds() -> Vec<RelationshipType> {
        T::model().schema().relationships.to_vec()
    }

    fn example_element() -> (String, String) {
        let kind = T::model().schema().name.clone();
        let name = format!("{}-1", kind.to_lowercase());
        (kind, name)
    }
}

/// A query for the elements related to a root element.
///
/// Declare it as an argument of a READ operation. The operation then has the parameters `root`, `direction`,
/// `relationship`, `depth`, `include`, `first` and `after`. `T` declares the kinds of relationships. The
/// protocol predefines `uses`, `extends`, `references`, `triggers` and `composes`.
///
/// Answer the query with [`run`](Self::run) from any source of relationships:
///
/// ```
/// use mcp_aql::prelude::*;
/// use mcp_aql::query::{Edge, ElementRef};
/// # use serde::Serialize;
/// # use serde_json::json;
///
/// /// A book on the shelf.
/// #[derive(Serialize, JsonSchema, Resource)]
/// #[resource(relationships(references = "Quotes another book."))]
/// struct Book {
///     /// Title.
///     #[resource(id)]
///     title: String,
/// }
///
/// struct Shelf(Vec<Edge>);
///
/// #[operations]
/// impl Shelf {
///     /// Follow which book quotes which.
///     #[operation(category = "READ")]
///     async fn query_relationships(
///         &self,
///         query: RelationshipQuery<Book>,
///         context: Context,
///     ) -> Result<RelationshipGraph, OperationError> {
///         query.run(&self.0, &context).await
///     }
/// }
/// # fn main() -> mcp_aql::Result<()> {
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
///
/// let book = |title| ElementRef::new("book", title);
/// let quotes = vec![Edge::new(book("Ulysses"), "references", book("Odyssey"))];
/// let adapter = Adapter::builder("shelf").operations(Shelf(quotes)).build()?;
/// let result = adapter
///     .call("query_relationships", json!({
///         "root": { "element_type": "book", "element_name": "Odyssey" },
///         "direction": "incoming",
///     }))
///     .await;
/// assert_eq!(result.data()["relationships"][0]["target"]["element_name"], "Ulysses");
/// # Ok(()) }) }
/// ```
///
/// Source: features/relationship-queries (REQ-REL-01 to REQ-REL-07).
pub struct RelationshipQuery<T> {
    root: ElementRef,
    direction: TraversalDirection,
    relationship: Option<String>,
    depth: usize,
    sections: Vec<Section>,
    page_size: usize,
    after: Option<Step>,
    max_nodes: usize,
    key: CursorKey,
    resource: PhantomData<fn() -> T>,
}

impl<T> RelationshipQuery<T> {
    /// Maximum number of elements that a walk visits, including the root.
    pub const MAX_NODES: usize = 10_000;

    /// Number of relationships that a walk follows per element that it may visit.
    const EDGES_PER_NODE: usize = 10;

    /// Returns the element where the walk starts.
    pub fn root(&self) -> &ElementRef {
        &self.root
    }

    /// Returns the query with another spelling of the element at which it starts.
    pub(crate) fn with_root(mut self, root: ElementRef) -> Self {
        self.root = root;
        self
    }

    /// Returns the direction in which the walk follows relationships.
    pub fn direction(&self) -> TraversalDirection {
        self.direction
    }

    /// Returns the only kind of relationship that the walk follows, or `None` for all kinds.
    pub fn relationship(&self) -> Option<&str> {
        self.relationship.as_deref()
    }

    /// Returns the maximum distance from the root, in steps.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Lowers the maximum number of elements that the walk visits, including the root. The default is
    /// [`MAX_NODES`](Self::MAX_NODES).
    ///
    /// The walk follows up to ten times as many relationships. If the limit ends the walk, the reply contains
    /// a `VALIDATION_TRUNCATED_WARNING`.
    #[must_use]
    pub fn visit_at_most(mut self, nodes: usize) -> Self {
        self.max_nodes = nodes.clamp(1, Self::MAX_NODES);
        self
    }

    /// Walks breadth-first and returns the requested page.
    ///
    /// Every relationship is returned once. This includes relationships that close a cycle, where the walk
    /// does not continue. They are sorted:
    ///
    /// 1. by depth,
    /// 2. by the element at which the walk encountered the relationship,
    /// 3. outgoing before incoming,
    /// 4. by kind, then by the other end.
    ///
    /// Strings are compared by bytes. A page starts after the last relationship of the previous page, even if
    /// relationships were added or removed in between.
    ///
    /// The walk ends when the page is full. The cost of a page therefore depends on the part of the walk
    /// before it, and `totalCount` is not available.
    ///
    /// # Errors
    ///
    /// Returns the errors of `source`.
    pub async fn run<S: RelationshipSource + ?Sized>(
        &self,
        source: &S,
        context: &Context,
    ) -> Result<RelationshipGraph, S::Error> {
        source.check_root(&self.root).await?;
        if self.sections.iter().all(|section| *section == Section::Root) {
            return Ok(RelationshipGraph::of(self.root.clone(), &[], &self.sections, None));
        }
        let mut page = Vec::new();
        let mut info = PageInfo::default();
        let cut = self
            .walk()
            .run(source, |step| {
                if self.after.as_ref().is_some_and(|after| step <= *after) {
                    info.has_previous_page = true;
                } else if page.len() < self.page_size {
                    page.push(step);
                } else {
                    info.has_next_page = true;
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            })
            .await?;
        if let Some(WalkLimit { field, found, kept, limit }) = cut {
            context.warn(Warning::truncated(field, found, kept, limit));
        }
        if let [first, .., last] | [first @ last] = page.as_slice() {
            info = info.cursors(self.cursor(first), self.cursor(last));
        }
        Ok(RelationshipGraph::of(self.root.clone(), &page, &self.sections, Some(info)))
    }

    pub(super) fn walk(&self) -> Walk<'_> {
        Walk {
            root: &self.root,
            direction: self.direction,
            relationship: self.relationship.as_deref(),
            depth: self.depth,
            max_nodes: self.max_nodes,
            max_edges: self.max_nodes.saturating_mul(Self::EDGES_PER_NODE),
        }
    }
}

impl<T: RelationshipKinds> RelationshipQuery<T> {
    /// Parses a query outside of an operation, for example in a test.
    ///
    /// # Errors
    ///
    /// Returns the error that a client would receive for the same parameters.
    pub fn parse(
        options: &QueryOptions,
        params: Map<String, Value>,
        key: &CursorKey,
    ) -> Result<Self, OperationError> {
        read_map::<Self>(options, params, key)
    }
}

impl<T: RelationshipKinds> QueryArgument for RelationshipQuery<T> {
    fn table(options: &QueryOptions) -> QueryTable {
        table::of(T::example_element(), &T::relationship_kinds(), options)
    }

    fn read(options: &QueryOptions, given: &mut QueryParams<'_>) -> Result<Self, OperationError> {
        let mut query = Self {
            root: required(given, "root")?,
            direction: required(given, "direction")?,
            relationship: take(given, "relationship")?,
            depth: take(given, "depth")?.unwrap_or(1),
            sections: take(given, "include")?.unwrap_or_else(|| Section::ALL.to_vec()),
            page_size: options.usual_page(),
            after: None,
            max_nodes: Self::MAX_NODES,
            key: given.key.clone(),
            resource: PhantomData,
        };
        let mut faults = QueryFaults::default();
        let after: Option<String> = take(given, "after")?;
        match take::<u64>(given, "first")? {
            Some(first) => {
                let asked = usize::try_from(first).unwrap_or(usize::MAX);
                let most = options.largest_page();
                query.page_size = clamped("first", asked, most, &mut given.warnings);
            }
            None => {
                if let Some(contradiction) = after.as_ref().and(Contradiction::find(&["after"])) {
                    faults.paging(contradiction);
                }
            }
        }
        if let Some(text) = after {
            query.after = query.open(&text);
            if query.after.is_none() {
                faults.refuse("after", INVALID_CURSOR, "'endCursor' of an earlier page");
            }
        }
        faults.into_error().map_or(Ok(query), Err)
    }
}

const INVALID_CURSOR: &str = "is not a cursor of this query: send 'endCursor' of one of its pages unchanged, \
                         with the same 'root', 'direction', 'relationship' and 'depth'";

impl<T> RelationshipQuery<T> {
    /// Returns the purpose to which cursors are bound.
    fn purpose(&self) -> String {
        let Self { root, direction, relationship, depth, .. } = self;
        serde_json::json!(["relationships", root, direction.as_str(), relationship, depth])
            .to_string()
    }

    /// Decodes a cursor. Returns `None` if it does not belong to this query.
    fn open(&self, text: &str) -> Option<Step> {
        Step::from_bytes(&self.key.open(&self.purpose(), text)?)
    }

    fn cursor(&self, step: &Step) -> String {
        self.key.seal(&self.purpose(), &step.to_bytes())
    }
}

/// Removes and parses a parameter of a call. `null` counts as missing.
fn take<V: DeserializeOwned>(
    given: &mut QueryParams<'_>,
    name: &str,
) -> Result<Option<V>, OperationError> {
    given
        .take(name)
        .filter(|value| !value.is_null())
        .map(serde_json::from_value)
        .transpose()
        .map_err(|cause| OperationError::refused_by_type(name, &cause))
}

fn required<V: DeserializeOwned>(
    given: &mut QueryParams<'_>,
    name: &str,
) -> Result<V, OperationError> {
    take(given, name)?.ok_or_else(|| {
        OperationError::new(
            ErrorCode::ValidationMissingParam,
            format!("Missing required parameter '{name}'"),
        )
        .with_detail("param_name", name)
    })
}

impl<T> fmt::Debug for RelationshipQuery<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RelationshipQuery")
            .field("root", &self.root)
            .field("direction", &self.direction)
            .field("relationship", &self.relationship)
            .field("depth", &self.depth)
            .finish_non_exhaustive()
    }
}
