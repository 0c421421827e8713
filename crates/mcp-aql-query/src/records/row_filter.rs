//! Conditions on the rows that exist for a caller.

use std::fmt;
use std::marker::PhantomData;

use mcp_aql_core::OperationError;
use serde_json::Value;

use crate::capabilities::Capabilities;
use crate::collection::CollectionQuery;
use crate::memory;
use crate::options::QueryOptions;
use crate::plan::Filter;
use crate::read::{QuerySurface, read_condition};
use crate::resource::Resource;

/// A condition on the rows that exist for a caller. No call can read, change, count or aggregate other rows.
///
/// Return it from [`ResourceRules::visible`](super::ResourceRules::visible), for example to separate tenants.
///
/// ```
/// use mcp_aql::prelude::*;
/// use mcp_aql::resource::RowFilter;
/// # use serde::Serialize;
/// use serde_json::json;
///
/// /// A note.
/// #[derive(Serialize, JsonSchema, Resource)]
/// struct Note {
///     /// Number of the note.
///     #[resource(id)]
///     note_id: u32,
///     /// Name of the owner.
///     owner: String,
/// }
///
/// let own = RowFilter::<Note>::new(json!({ "owner": "ada" }));
/// assert!(own.matches(&Note { note_id: 1, owner: "ada".into() })?);
/// assert!(!own.matches(&Note { note_id: 2, owner: "eve".into() })?);
/// # Ok::<(), OperationError>(())
/// ```
pub struct RowFilter<R> {
    /// The condition, or the error in the author's JSON.
    condition: Result<Option<Filter>, String>,
    resource: PhantomData<fn() -> R>,
}

impl<R: Resource> RowFilter<R> {
    /// All rows exist.
    pub const fn all() -> Self {
        Self { condition: Ok(None), resource: PhantomData }
    }

    /// No row exists.
    pub const fn none() -> Self {
        Self { condition: Ok(Some(Filter::Any(Vec::new()))), resource: PhantomData }
    }

    /// Only the rows that satisfy a condition exist. Write the condition in the language of `filter`. It may
    /// also name fields that callers cannot filter by.
    ///
    /// If the condition is invalid, every call fails with `INTERNAL_ERROR`.
    pub fn new(condition: impl Into<Value>) -> Self {
        let (options, capabilities) = (QueryOptions::new(), Capabilities::all());
        let surface = QuerySurface::of_author(R::model().schema(), &options, &capabilities);
        let condition = read_condition(&surface, &condition.into());
        Self {
            condition: condition.map_err(|error| error.message().to_owned()),
            resource: PhantomData,
        }
    }

    /// Returns `true` if all rows exist.
    pub(crate) const fn is_all(&self) -> bool {
        matches!(self.condition, Ok(None))
    }

    /// Only the rows that satisfy both conditions exist.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let condition = self.condition.and_then(|first| {
            let second = other.condition?;
            Ok(match (first, second) {
                (Some(first), Some(second)) => Some(Filter::All(vec![first, second])),
                (first, second) => first.or(second),
            })
        });
        Self { condition, resource: PhantomData }
    }

    /// Returns `true` if a row exists for the caller.
    ///
    /// # Errors
    ///
    /// Returns `INTERNAL_ERROR` if the condition is invalid.
    pub fn matches(&self, row: &R) -> Result<bool, OperationError> {
        Ok(self.filter()?.is_none_or(|filter| memory::matches(filter, R::model(), row)))
    }

    pub(crate) fn filter(&self) -> Result<Option<&Filter>, OperationError> {
        let fault = |fault: &String| OperationError::internal(format!("a row filter: {fault}"));
        self.condition.as_ref().map(Option::as_ref).map_err(fault)
    }
}

impl<R> Clone for RowFilter<R> {
    fn clone(&self) -> Self {
        Self { condition: self.condition.clone(), resource: PhantomData }
    }
}

impl<R> fmt::Debug for RowFilter<R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("RowFilter").field(&self.condition).finish()
    }
}

impl<R: Resource> CollectionQuery<R> {
    /// Restricts the query to the rows that exist for its caller.
    ///
    /// # Errors
    ///
    /// Returns `INTERNAL_ERROR` if the condition is invalid.
    pub fn restricted(&self, rows: &RowFilter<R>) -> Result<Self, OperationError> {
        let mut restricted = self.clone();
        if let Some(filter) = rows.filter()? {
            restricted.add_condition(filter.clone());
        }
        Ok(restricted)
    }
}
