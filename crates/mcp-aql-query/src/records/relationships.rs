//! Answers `query_relationships` from the references between records.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use mcp_aql_core::internal::operation::{OperationEntry, OperationSpec, ParameterEntry};
use mcp_aql_core::internal::paging::CursorKey;
use mcp_aql_core::internal::schema::ReturnsSpec;
use mcp_aql_core::{BoxFuture, Context, OperationError};
use mcp_aql_protocol::SemanticCategory;
use serde_json::Value;

use super::ready::Ready;
use super::reference::{Reference, id_of, ids_in, operand, query_for};
use super::references::{Lookup, ReferenceTarget, Spellings};
use super::spelling::SpellingSource;
use super::{Record, ResourceStore, StoreCall};
use crate::entry::QueryEntry;
use crate::options::QueryOptions;
use crate::plan::{Filter, Test};
use crate::relationships::{
    Edge, EdgeDirection, EdgeRequest, ElementRef, RelationshipGraph, RelationshipKinds,
    RelationshipQuery, RelationshipSource,
};
use crate::resource::Resource as _;
use crate::resource_spec::RelationshipType;

/// The records of one store, as elements with relationships.
pub trait StoredRecords: ReferenceTarget {
    /// Returns the relationships declared by reference fields in records of the store.
    fn edges<'a>(
        &'a self,
        at: EdgeRequest<'a>,
        spellings: SpellingSource<'a>,
    ) -> BoxFuture<'a, Result<Vec<Edge>, OperationError>>;
}

impl<S: ResourceStore> ReferenceTarget for Ready<S> {
    fn element_type(&self) -> &'static str {
        S::Resource::NAMES.singular
    }

    fn contains<'a>(
        &'a self,
        context: &'a Context,
        name: &'a str,
    ) -> BoxFuture<'a, Result<bool, OperationError>> {
        Box::pin(async move {
            let Some(id) = id_of::<S::Resource>(name) else { return Ok(false) };
            self.store.exists(&StoreCall::new(context), &id).await
        })
    }

    fn spellings<'a>(
        &'a self,
        context: &'a Context,
        names: Vec<String>,
    ) -> BoxFuture<'a, Result<Spellings, OperationError>> {
        Box::pin(async move { self.other_spellings(context, &names).await })
    }

    fn is_restricted(&self, context: &Context) -> bool {
        !self.store.rows(context).is_all()
    }

    fn lookup(&self, context: &Context, name: &str) -> Result<Option<Lookup>, OperationError> {
        let Some(id) = id_of::<S::Resource>(name) else { return Ok(None) };
        self.store.lookup(&StoreCall::new(context), &id)
    }
}

impl<S: ResourceStore> StoredRecords for Ready<S> {
    fn edges<'a>(
        &'a self,
        at: EdgeRequest<'a>,
        spellings: SpellingSource<'a>,
    ) -> BoxFuture<'a, Result<Vec<Edge>, OperationError>> {
        Box::pin(async move {
            let own = self.element_type();
            let mut edges = Vec::new();
            let names = |kind: &'static str| {
                let nodes = at.nodes.iter().filter(move |node| node.element_type == kind);
                nodes.map(|node| node.element_name.as_str())
            };
            match at.direction {
                EdgeDirection::Outgoing => {
                    let found = names(own);
                    self.read(S::Resource::ID.name, found, &at, spellings, &mut edges).await?;
                }
                EdgeDirection::Incoming => {
                    for reference in S::Resource::REFERENCES {
                        let found = names(reference.target);
                        self.read(reference.field, found, &at, spellings, &mut edges).await?;
                    }
                }
            }
            Ok(edges)
        })
    }
}

impl<S: ResourceStore> Ready<S> {
    /// Adds the requested relationships of the records in which a field contains one of these identifiers.
    async fn read(
        &self,
        field: &str,
        names: impl Iterator<Item = &str> + Send,
        at: &EdgeRequest<'_>,
        spellings: SpellingSource<'_>,
        edges: &mut Vec<Edge>,
    ) -> Result<(), OperationError> {
        let model = S::Resource::model().schema();
        let operands: Vec<_> =
            names.filter_map(|name| operand::<S::Resource>(field, name)).collect();
        let Some(place) = model.index_of(field).filter(|_| !operands.is_empty()) else {
            return Ok(());
        };
        let condition = Filter::Field(place, Test::AnyOf(operands));
        let (mut after, first_edge) = (None, edges.len());
        let key = CursorKey::random();
        loop {
            let fields = S::Resource::REFERENCES.iter().map(|reference| reference.field);
            let fields: Vec<_> = std::iter::once(S::Resource::ID.name).chain(fields).collect();
            let mut query = query_for::<S::Resource>(&fields, after, &key)?;
            query.add_condition(condition.clone());
            let page = self.store.select(&StoreCall::new(spellings.context), &query).await?;
            let has_more = page.page_info.has_next_page;
            let page = serde_json::to_value(&page).map_err(OperationError::internal)?;
            let rows = page.get("items").and_then(Value::as_array);
            let found = rows.into_iter().flatten().flat_map(edges_of::<S::Resource>);
            let is_asked = |edge: &Edge| at.relationship.is_none_or(|it| edge.relationship == it);
            let mut found: Vec<_> = found.filter(is_asked).collect();
            spellings.correct(&mut found).await?;
            edges.extend(found.into_iter().filter(|edge| at.matches(edge)));
            if !has_more || edges.len() - first_edge >= at.limit {
                return Ok(());
            }
            let cursor = page.pointer("/pageInfo/endCursor").and_then(Value::as_str);
            after = cursor.map(str::to_owned);
            if after.is_none() {
                return Err(OperationError::internal("a page of a store has no cursor"));
            }
        }
    }
}

/// Returns the relationships of a record in JSON. For example, an order with a reference to a customer has
/// this one:
///
/// ```text
/// { "order_id": 7, "customer_id": 1 } → order:7 --customer--> customer:1
/// ```
fn edges_of<R: Record>(row: &Value) -> impl Iterator<Item = Edge> {
    let ids = |field: &str| row.get(field).and_then(ids_in).unwrap_or_default();
    let source = ids(R::ID.name).pop();
    R::REFERENCES.iter().flat_map(move |reference| {
        let source = source.clone();
        ids(reference.field).into_iter().filter_map(move |target| {
            Some(Edge::new(
                ElementRef::new(R::NAMES.singular, source.clone()?),
                reference.relationship.name,
                ElementRef::new(reference.target, target),
            ))
        })
    })
}

/// The types of several stores, as the kinds of relationships between their records.
pub(super) struct RecordKinds<T>(PhantomData<fn() -> T>);

impl<T> fmt::Debug for RecordKinds<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("RecordKinds")
    }
}

/// Types of stores with known references.
pub trait StoreTypes: 'static {
    /// Returns the references in records of the stores.
    fn references() -> Vec<Reference>;

    /// Returns the kind and the name of an example element. It could be in the first store.
    fn example_element() -> (String, String);
}

impl<T: StoreTypes> RelationshipKinds for RecordKinds<T> {
    fn relationship_kinds() -> Vec<RelationshipType> {
        let mut kinds: Vec<RelationshipType> = Vec::new();
        for Reference { relationship, .. } in T::references() {
            if kinds.iter().all(|known| known.name != relationship.name) {
                kinds.push(relationship);
            }
        }
        kinds
    }

    fn example_element() -> (String, String) {
        T::example_element()
    }
}

/// Several stores with the operation `query_relationships`.
pub(super) struct RecordGraph<T> {
    pub(super) stores: Vec<Arc<dyn StoredRecords>>,
    pub(super) types: PhantomData<fn() -> T>,
}

impl<T: StoreTypes> RecordGraph<T> {
    pub(super) const OPERATIONS: &'static [OperationEntry<Self>] = &[OperationEntry::new(
        OperationSpec::new(
            "query_relationships",
            SemanticCategory::Read,
            "Follow the references between records.",
        )
        .parameters(&[ParameterEntry::Composite(&QueryEntry::of::<
            RelationshipQuery<RecordKinds<T>>,
        >(QueryOptions::new()))])
        .returns(ReturnsSpec::of::<RelationshipGraph, _>()),
        |graph, mut call| {
            Box::pin(async move {
                let query = call.composite::<RelationshipQuery<RecordKinds<T>>>()?;
                let context = call.context();
                let targets: Vec<_> =
                    graph.stores.iter().map(|store| &**store as &dyn ReferenceTarget).collect();
                let spellings = SpellingSource { stores: &targets, context: &context };
                let source = VisibleGraph { stores: &graph.stores, spellings };
                let root = spellings.element(query.root()).await?;
                let query = query.with_root(root);
                call.reply(query.run(&source, &context).await)
            })
        },
    )];
}

/// The relationships that exist for a caller.
struct VisibleGraph<'a> {
    stores: &'a [Arc<dyn StoredRecords>],
    spellings: SpellingSource<'a>,
}

impl RelationshipSource for VisibleGraph<'_> {
    type Error = OperationError;

    async fn edges(&self, at: EdgeRequest<'_>) -> Result<Vec<Edge>, OperationError> {
        let mut edges = Vec::new();
        for store in self.stores {
            edges.extend(store.edges(at, self.spellings).await?);
        }
        Ok(edges)
    }

    async fn check_root(&self, root: &ElementRef) -> Result<(), OperationError> {
        let mut stores = self.stores.iter();
        let Some(store) = stores.find(|store| store.element_type() == root.element_type) else {
            let known = self.stores.iter().map(|store| format!("'{}'", store.element_type()));
            let known = known.collect::<Vec<_>>().join(" or ");
            let expected = format!("needs the 'element_type' {known}");
            return Err(OperationError::invalid_value("root", expected));
        };
        if store.contains(self.spellings.context, &root.element_name).await? {
            return Ok(());
        }
        Err(OperationError::not_found(store.element_type(), &root.element_name))
    }
}
