//! Finds the spelling of identifiers that a database compares by rules of its own.
//!
//! In a column with `COLLATE NOCASE`, or of the type `citext`, the reference `red` refers to the record `Red`.

use std::collections::BTreeSet;

use mcp_aql_core::internal::paging::CursorKey;
use mcp_aql_core::{Context, OperationError};
use serde_json::Value;

use super::ready::Ready;
use super::reference::{ids_in, operand, query_for};
use super::references::{ReferenceTarget, Spellings};
use super::{Record, ResourceStore, StoreCall};
use crate::plan::{Filter, Test};
use crate::relationships::{Edge, EdgeRequest, ElementRef};
use crate::resource::Resource as _;
use crate::value::{Scalar, ValueKind};

/// Stores that determine the spelling of their identifiers.
#[derive(Clone, Copy)]
pub struct SpellingSource<'a> {
    pub(super) stores: &'a [&'a dyn ReferenceTarget],
    pub(super) context: &'a Context,
}

impl SpellingSource<'_> {
    /// Gives the targets of relationships the spelling of their identifiers.
    pub(super) async fn correct(self, edges: &mut [Edge]) -> Result<(), OperationError> {
        for store in self.stores {
            let kind = store.element_type();
            let names = edges.iter().map(|edge| &edge.target);
            let names = names.filter(|target| target.element_type == kind);
            let names: BTreeSet<_> = names.map(|target| target.element_name.clone()).collect();
            let spellings = store.spellings(self.context, names.into_iter().collect()).await?;
            for edge in edges.iter_mut().filter(|edge| edge.target.element_type == kind) {
                if let Some(name) = spellings.get(&edge.target.element_name) {
                    edge.target.element_name.clone_from(name);
                }
            }
        }
        Ok(())
    }

    /// Returns an element with the spelling of its identifier.
    pub(super) async fn element(self, element: &ElementRef) -> Result<ElementRef, OperationError> {
        let ElementRef { element_type, element_name } = element;
        let mut stores = self.stores.iter();
        let store = stores.find(|store| store.element_type() == element_type);
        let Some(store) = store else { return Ok(element.clone()) };
        let mut spellings = store.spellings(self.context, vec![element_name.clone()]).await?;
        let name = spellings.remove(element_name).unwrap_or_else(|| element_name.clone());
        Ok(ElementRef::new(element_type, name))
    }
}

impl<S: ResourceStore> Ready<S> {
    /// Returns the identifiers with another spelling than these names.
    pub(super) async fn other_spellings(
        &self,
        context: &Context,
        names: &[String],
    ) -> Result<Spellings, OperationError> {
        let mut spellings = Spellings::new();
        let schema = S::Resource::model().schema();
        let id = schema.index_of(S::Resource::ID.name).and_then(|place| schema.field(place));
        if id.is_none_or(|id| id.kind != ValueKind::Text) {
            return Ok(spellings);
        }
        for names in names.chunks(EdgeRequest::MAX_NODES) {
            let found = self.identifiers(context, names).await?;
            let folded = |name: &str| name.trim_end().to_lowercase();
            let similar: BTreeSet<_> = found.iter().map(|id| folded(id)).collect();
            let others = names.iter().filter(|name| !found.contains(*name));
            // Only the database knows whether it takes both for the same identifier.
            for name in others.filter(|name| similar.contains(&folded(name))) {
                let mut found = self.identifiers(context, std::slice::from_ref(name)).await?;
                if let Some(id) = found.pop_first() {
                    spellings.insert(name.clone(), id);
                }
            }
        }
        Ok(spellings)
    }

    /// Returns the identifiers of the records that have one of these names.
    async fn identifiers(
        &self,
        context: &Context,
        names: &[String],
    ) -> Result<BTreeSet<String>, OperationError> {
        let field = S::Resource::ID.name;
        let operands = names.iter().filter_map(|name| operand::<S::Resource>(field, name));
        let operands: Vec<Scalar> = operands.collect();
        let place = S::Resource::model().schema().index_of(field);
        let Some(place) = place.filter(|_| !operands.is_empty()) else {
            return Ok(BTreeSet::new());
        };
        let mut query = query_for::<S::Resource>(&[field], None, &CursorKey::random())?;
        query.add_condition(Filter::Field(place, Test::AnyOf(operands)));
        let page = self.store.select(&StoreCall::new(context), &query).await?;
        let page = serde_json::to_value(&page).map_err(OperationError::internal)?;
        let rows = page.get("items").and_then(Value::as_array);
        let ids = rows.into_iter().flatten().filter_map(|row| ids_in(row.get(field)?)?.pop());
        Ok(ids.collect())
    }
}
