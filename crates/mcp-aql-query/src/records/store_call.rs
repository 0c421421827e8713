//! The call that uses a store.

use std::sync::Arc;

use mcp_aql_core::{Context, OperationError};
use serde::Serialize;
use serde_json::{Map, Value};

use super::references::{ReferenceCheck, ReferenceTargets};
use super::{Record, RowFilter};
use crate::resource::Resource;

/// The call that uses a store: its context, the rows that exist for its caller, and the fields that it
/// sets.
///
/// ```
/// use mcp_aql::prelude::*;
/// use mcp_aql::resource::{Record, ResourceStore, StoreCall};
///
/// /// Returns whether a record exists for a caller.
/// async fn exists<S: ResourceStore>(
///     store: &S,
///     context: &Context,
///     id: &<S::Resource as Record>::Id,
/// ) -> Result<bool, OperationError> {
///     store.exists(&StoreCall::new(context), id).await
/// }
/// ```
#[derive(Debug)]
pub struct StoreCall<'a, R> {
    context: &'a Context,
    rows: RowFilter<R>,
    given: Option<&'a Map<String, Value>>,
    targets: ReferenceTargets,
    is_ruled: bool,
    can_set: fn(&str) -> bool,
}

impl<'a, R: Resource> StoreCall<'a, R> {
    /// A call for which all rows exist, unless the store has rules.
    pub fn new(context: &'a Context) -> Self {
        let (rows, targets) = (RowFilter::all(), ReferenceTargets::default());
        Self { context, rows, given: None, targets, is_ruled: false, can_set: |_| true }
    }

    /// The same call, for which only those of its rows exist that satisfy a condition.
    #[must_use]
    pub fn restricted(&self, rows: RowFilter<R>) -> Self {
        Self {
            context: self.context,
            rows: self.rows.clone().and(rows),
            given: self.given,
            targets: self.targets.clone(),
            is_ruled: self.is_ruled,
            can_set: self.can_set,
        }
    }

    /// The same call, whose changes the rules of the author allow or refuse.
    pub(super) fn ruled(mut self) -> Self {
        self.is_ruled = true;
        self
    }

    /// Sets the fields that the call sets, in JSON.
    pub(super) fn setting(mut self, given: &'a Map<String, Value>) -> Self {
        self.given = Some(given);
        self
    }

    /// Sets which fields callers of the operation can set.
    pub(super) fn with_settable(mut self, can_set: fn(&str) -> bool) -> Self {
        self.can_set = can_set;
        self
    }

    /// Sets the stores whose records the fields refer to.
    pub(super) fn with_targets(mut self, targets: ReferenceTargets) -> Self {
        self.targets = targets;
        self
    }

    /// The context of the call.
    pub const fn context(&self) -> &'a Context {
        self.context
    }

    /// The rows that exist for the caller. A store treats all others as missing.
    pub const fn rows(&self) -> &RowFilter<R> {
        &self.rows
    }

    /// The value that an update sets for a field, in JSON. With it, a field is corrected whose stored value cannot be
    /// read.
    pub fn given(&self, field: &str) -> Option<&'a Value> {
        self.all_given()?.get(field)
    }

    /// Returns `true` if rules of the author decide on the changes of the call. A store must then not pass them values that
    /// only stand for others, which it cannot read.
    pub const fn is_ruled(&self) -> bool {
        self.is_ruled
    }

    /// Returns a function that returns `true` for a field which the caller can set. The error of a store must not ask for
    /// another value of a field that only the adapter or the database writes.
    pub const fn can_set(&self) -> fn(&str) -> bool {
        self.can_set
    }

    pub(crate) const fn all_given(&self) -> Option<&'a Map<String, Value>> {
        self.given
    }
}

impl<R: Record> StoreCall<'_, R> {
    /// Returns whether a record exists for the caller.
    ///
    /// # Errors
    /// `INTERNAL_ERROR` if the condition on the rows has a fault.
    pub fn sees(&self, record: &R) -> Result<bool, OperationError> {
        self.rows.matches(record)
    }

    /// Refuses a new or changed record that its own caller could not see.
    ///
    /// # Errors
    /// `PERMISSION_DENIED`.
    pub fn check_stays(&self, record: &R) -> Result<(), OperationError> {
        if self.sees(record)? { Ok(()) } else { Err(Self::would_leave()) }
    }

    pub(crate) fn would_leave() -> OperationError {
        let singular = R::NAMES.singular;
        let message = format!("the {singular} would belong to another caller");
        OperationError::permission_denied(message)
    }

    /// The references of a record whose targets must exist for the caller: those that differ from an earlier state, to
    /// resources of which not all rows exist for everyone. Fields whose earlier values are `unknown` differ.
    pub(crate) fn changed_references(
        &self,
        old: Option<&R>,
        unknown: &[String],
        new: &R,
    ) -> Result<Vec<ReferenceCheck>, OperationError>
    where
        R: Serialize,
    {
        let mut checks = Vec::new();
        let mut states = None;
        let place = if old.is_some() { "input." } else { "" };
        for reference in R::REFERENCES {
            let Some(target) = self.targets.find(reference.target, self.context) else { continue };
            let (before, after) = match &states {
                Some(states) => states,
                None => states.insert((json(old)?, json(Some(new))?)),
            };
            let ids = |state: &Value| state.get(reference.field).map(super::reference::ids_in);
            let is_known = unknown.iter().all(|field| field != reference.field);
            let known = ids(before).filter(|_| is_known).unwrap_or_default();
            for id in ids(after).unwrap_or_default() {
                if !known.contains(&id) {
                    let field = format!("{place}{}", reference.field);
                    let target = Arc::clone(&target);
                    checks.push(ReferenceCheck { field, target, id });
                }
            }
        }
        Ok(checks)
    }

    /// Refuses a record that refers to one which does not exist for the caller, of a resource of which not all rows exist
    /// for everyone. A store whose transactions do not include other stores calls it before it writes. The check may read
    /// from the same store: hold no lock for which [`get`](super::ResourceStore::get) waits.
    ///
    /// # Errors
    /// `VALIDATION_INVALID_VALUE` for the field, and the errors of the other stores.
    pub async fn check_references(&self, old: Option<&R>, new: &R) -> Result<(), OperationError>
    where
        R: Serialize,
    {
        for check in self.changed_references(old, &[], new)? {
            check.run(self.context).await?;
        }
        Ok(())
    }
}

fn json<R: Serialize>(record: Option<&R>) -> Result<Value, OperationError> {
    serde_json::to_value(record).map_err(OperationError::internal)
}
