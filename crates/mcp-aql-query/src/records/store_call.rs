//! Information about a call for a store.

use std::sync::Arc;

use mcp_aql_core::internal::operation::DocumentEdit;
use mcp_aql_core::update::{InputSpec, Merge};
use mcp_aql_core::{Context, OperationError};
use serde::Serialize;
use serde_json::{Map, Value};

use super::reference::ids_in;
use super::references::{ReferenceCheck, ReferenceTargets};
use super::{Record, RowFilter};
use crate::resource::Resource;

/// Information about a call for a store: its context, the rows that exist for its caller, and the fields that
/// it sets.
///
/// You only need to create one if you use a store outside of its ready operations:
///
/// ```
/// use mcp_aql::prelude::*;
/// use mcp_aql::resource::{Record, ResourceStore, StoreCall};
///
/// /// Returns `true` if a record exists for a caller.
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
    given: Option<GivenInput<'a>>,
    targets: ReferenceTargets,
    has_rules: bool,
    can_set: fn(&str) -> bool,
}

/// The `input` of an update: its fields, and the rules for merging them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GivenInput<'a> {
    pub(crate) fields: &'a Map<String, Value>,
    pub(crate) table: &'static InputSpec,
}

impl GivenInput<'_> {
    /// Returns `true` if the input sets the value at a path such as `team.settings`, or a part of it.
    pub(crate) fn sets(self, path: &str) -> bool {
        self.edit(path).is_some()
    }

    /// Returns the change of the value at a path such as `team.settings`.
    pub(crate) fn edit(self, path: &str) -> Option<DocumentEdit> {
        let mut names = path.split('.');
        let first = names.next()?;
        let mut value = self.fields.get(first)?;
        let mut merge = self.table.field(first)?.merge;
        for name in names {
            let replaces = value.is_null() || !matches!(merge, Merge::Fields(_));
            merge = match merge {
                Merge::Fields(table) => table().field(name)?.merge,
                _ => Merge::Replace,
            };
            value = match value.get(name) {
                Some(value) => value,
                None if replaces => return Some(DocumentEdit::Remove),
                None => return None,
            };
        }
        Some(DocumentEdit::of_input(merge, value))
    }
}

impl<'a, R: Resource> StoreCall<'a, R> {
    /// Creates a call for which all rows exist, unless the store has rules.
    pub fn new(context: &'a Context) -> Self {
        let (rows, targets) = (RowFilter::all(), ReferenceTargets::default());
        Self { context, rows, given: None, targets, has_rules: false, can_set: |_| true }
    }

    /// Returns the same call, restricted to the rows that satisfy a condition.
    #[must_use]
    pub fn restricted(&self, rows: RowFilter<R>) -> Self {
        Self {
            context: self.context,
            rows: self.rows.clone().and(rows),
            given: self.given,
            targets: self.targets.clone(),
            has_rules: self.has_rules,
            can_set: self.can_set,
        }
    }

    /// Returns the same call, marked as subject to the author's rules.
    pub(super) fn ruled(mut self) -> Self {
        self.has_rules = true;
        self
    }

    /// Sets the `input` of the update.
    pub(super) fn setting(
        mut self,
        fields: &'a Map<String, Value>,
        table: &'static InputSpec,
    ) -> Self {
        self.given = Some(GivenInput { fields, table });
        self
    }

    /// Sets the function that determines which fields callers of the operation can set.
    pub(super) fn with_settable(mut self, can_set: fn(&str) -> bool) -> Self {
        self.can_set = can_set;
        self
    }

    /// Sets the stores to which fields of the records refer.
    pub(super) fn with_targets(mut self, targets: ReferenceTargets) -> Self {
        self.targets = targets;
        self
    }

    /// Returns the context of the call.
    pub const fn context(&self) -> &'a Context {
        self.context
    }

    /// Returns the rows that exist for the caller. Treat all others as missing.
    pub const fn rows(&self) -> &RowFilter<R> {
        &self.rows
    }

    /// Returns the JSON value that an update sets for a field. A store needs it to correct a field whose
    /// stored value it cannot read.
    pub fn given(&self, field: &str) -> Option<&'a Value> {
        self.all_given()?.fields.get(field)
    }

    /// Returns `true` if the author's rules check this change. A store must then fail instead of passing
    /// them placeholders for stored values that it cannot read.
    pub const fn has_rules(&self) -> bool {
        self.has_rules
    }

    /// Returns a function that returns `true` for fields that the caller can set.
    ///
    /// Other fields are written by the adapter or the database only. An error of a store must not ask the
    /// caller for another value of such a field.
    pub const fn can_set(&self) -> fn(&str) -> bool {
        self.can_set
    }

    pub(crate) const fn all_given(&self) -> Option<GivenInput<'a>> {
        self.given
    }
}

impl<R: Record> StoreCall<'_, R> {
    /// Returns `true` if a record exists for the caller.
    ///
    /// # Errors
    ///
    /// Returns `INTERNAL_ERROR` if the condition on the rows is invalid.
    pub fn sees(&self, record: &R) -> Result<bool, OperationError> {
        self.rows.matches(record)
    }

    /// Rejects a new or changed record that its own caller could not see.
    ///
    /// # Errors
    ///
    /// Returns `PERMISSION_DENIED` if the caller could not see the record.
    pub fn check_stays(&self, record: &R) -> Result<(), OperationError> {
        if self.sees(record)? { Ok(()) } else { Err(Self::would_leave()) }
    }

    pub(crate) fn would_leave() -> OperationError {
        let singular = R::NAMES.singular;
        let message = format!("the {singular} would belong to another caller");
        OperationError::permission_denied(message)
    }

    /// Returns the references to check: those to resources of which the caller sees only some rows.
    ///
    /// References are skipped if the earlier record `old` contains the same ones. Fields in `unknown` count
    /// as changed.
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
            let value = |state: &Value| state.get(reference.field).cloned().unwrap_or_default();
            let is_known = unknown.iter().all(|field| field != reference.field);
            let (before, after) = (value(before), value(after));
            let known = ids_in(&before).filter(|_| is_known).unwrap_or_default();
            let field = format!("{place}{}", reference.field);
            let ids = ids_in(&after).or_else(|| (is_known && before == after).then(Vec::new));
            let ids = ids.ok_or_else(|| {
                let singular = target.element_type();
                let expected =
                    format!("must be an identifier of an existing {singular}, or a list of them");
                OperationError::invalid_value(&field, expected)
            })?;
            for id in ids {
                if !known.contains(&id) {
                    let (field, target) = (field.clone(), Arc::clone(&target));
                    checks.push(ReferenceCheck { field, target, id });
                }
            }
        }
        Ok(checks)
    }

    /// Rejects a record with a reference to a record that does not exist for the caller. Only references to
    /// resources with restricted rows are checked.
    ///
    /// Call it before you write, if your transactions do not include other stores. The check may read from
    /// the same store, so do not hold a lock for which [`get`](super::ResourceStore::get) waits.
    ///
    /// # Errors
    ///
    /// Returns `VALIDATION_INVALID_VALUE` for the field, and the errors of the other stores.
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
