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

/// A condition on the rows that exist for a caller. No call can read, change, count or aggregate
/// other rows.
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
    /// The condition, or the fault of the author's JSON.
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

    /// The rows that satisfy a condition exist. It is written in the language of `filter`, and may also name fields
    /// by which callers cannot filter.
    ///
    /// A condition with a fault makes every call fail with `INTERNAL_ERROR`.
    pub fn new(condition: impl Into<Value>) -> Self {
        let (options, capabilities) = (QueryOptions::new(), Capabilities::all());
        let surface = QuerySurface::of_author(R::model().schema(), &options, &capabilities);
        let condition = read_condition(&surface, &condition.into());
        Self {
            condition: condition.map_err(|error| error.message().to_owned()),
            resource: PhantomData,
        }
    }

    /// Whether all rows exist.
    pub(crate) const fn is_all(&self) -> bool {
        matches!(self.condition, Ok(None))
    }

    /// The rows that satisfy both conditions exist.
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

    /// Returns whether a row exists.
    ///
    /// # Errors
    /// `INTERNAL_ERROR` if the condition has a fault.
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
    /// `INTERNAL_ERROR` if the condition has a fault.
    pub fn restricted(&self, rows: &RowFilter<R>) -> Result<Self, OperationError> {
        let mut restricted = self.clone();
        if let Some(filter) = rows.filter()? {
            restricted.add_condition(filter.clone());
        }
        Ok(restricted)
    }
}
