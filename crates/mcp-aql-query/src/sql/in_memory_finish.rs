//! Processes rows in memory, if the database cannot process them completely.

use std::sync::Arc;

use mcp_aql_core::Page;
use mcp_aql_core::internal::schema::{DisplayedRow, Projected, Selection};
use mcp_aql_core::internal::vocab::plain_value;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::SqlError;
use super::record::SqlRecord;
use crate::collection::view_of;
use crate::memory;
use crate::model::ResourceSchema;
use crate::odd_values::{OddFields, Outcome};
use crate::plan::{Plan, SortBy};
use crate::resource::Resource;

/// The members of a whole row.
pub(super) type RowMembers = Map<String, Value>;

type PageResult<T> = Result<Page<SqlRecord<T>>, SqlError>;

/// The in-memory processing of rows, for types that support it.
#[derive(Debug)]
pub(super) struct InMemoryFinish<T: 'static> {
    /// Displays a row.
    pub(super) show: fn(RowMembers, &Arc<Selection>) -> Result<SqlRecord<T>, SqlError>,
    /// Executes the whole plan in memory. The last argument is `true` if all rows satisfy the plan's filter.
    pub(super) answer: fn(&Plan, Vec<RowMembers>, bool) -> PageResult<T>,
}

impl<T: 'static> Clone for InMemoryFinish<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: 'static> Copy for InMemoryFinish<T> {}

impl<T: Resource + Serialize + DeserializeOwned> InMemoryFinish<T> {
    pub(super) const NEW: Self = Self { show: show::<T>, answer: answer::<T> };
}

fn read<T: DeserializeOwned>(row: &Value) -> Result<T, SqlError> {
    T::deserialize(row).map_err(SqlError::Row)
}

fn shown<T: Resource>(row: &impl Serialize) -> Result<SqlRecord<T>, SqlError> {
    serde_json::value::to_raw_value(row).map(SqlRecord::shown).map_err(SqlError::Row)
}

fn show<T: Resource + Serialize + DeserializeOwned>(
    members: RowMembers,
    selection: &Arc<Selection>,
) -> Result<SqlRecord<T>, SqlError> {
    let row = Value::Object(members);
    match read::<T>(&row) {
        Ok(row) => shown(&DisplayedRow { row: &row, view: Some(&view_of(Arc::clone(selection))) }),
        // Computed fields need the whole row, so a row with a value of another type has none.
        Err(_) => {
            shown(&Projected { value: &row, projection: &selection.projection, computed: None })
        }
    }
}

fn answer<T: Resource + Serialize + DeserializeOwned>(
    plan: &Plan,
    rows: Vec<RowMembers>,
    filters: bool,
) -> PageResult<T> {
    let rows = rows.into_iter().map(Value::Object).filter_map(|row| {
        let read = read::<T>(&row).ok();
        // Do not warn about rows that do not satisfy the filter, because they may not exist for the caller.
        if read.is_none() && filters {
            omit(plan, T::model().schema(), &row);
        }
        read
    });
    let found = memory::run::<T, T>(plan, T::model(), rows)?;
    let view = view_of(Arc::clone(&plan.selection));
    let rows = found.rows.into_iter();
    let rows = rows
        .map(|(row, values)| Ok((shown(&DisplayedRow { row: &row, view: Some(&view) })?, values)));
    let rows = rows.collect::<Result<Vec<_>, SqlError>>()?;
    Ok(plan.build_page(
        rows,
        plan.include_total_count.then_some(found.total),
        found.aggregations,
        None,
    ))
}

/// Reports that a row cannot be part of the reply.
fn omit(plan: &Plan, schema: &ResourceSchema, row: &Value) {
    let SortBy::Field(id) = plan.sort.last().map_or(SortBy::Score, |key| key.by) else { return };
    let id = schema.field(id).and_then(|field| row.get(&field.path));
    let id = id.map(plain_value);
    let mut fields = OddFields::default();
    fields.add("*", Outcome::RowOmitted);
    plan.odd.add(&id.unwrap_or_default(), fields);
}
