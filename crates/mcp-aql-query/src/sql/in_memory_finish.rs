//! The in-memory processing of rows that the database cannot process completely.

use std::sync::Arc;

use mcp_aql_core::paging::Page;
use mcp_aql_core::projection::{DisplayedRow, Selection, View};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::SqlError;
use super::record::SqlRecord;
use crate::collection::view_of;
use crate::memory;
use crate::plan::Plan;
use crate::resource::Resource;

/// The members of a whole row.
pub(super) type Members = Map<String, Value>;

type PageResult<T> = Result<Page<SqlRecord<T>>, SqlError>;

/// The in-memory processing of rows, for types that support it.
#[derive(Debug)]
pub(super) struct InMemoryFinish<T: 'static> {
    /// Displays a row.
    pub(super) show: fn(Members, &Arc<Selection>) -> Result<SqlRecord<T>, SqlError>,
    /// Executes the whole plan in memory.
    pub(super) answer: fn(&Plan, Vec<Members>) -> PageResult<T>,
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

fn read<T: DeserializeOwned>(members: Members) -> Result<T, SqlError> {
    serde_json::from_value(Value::Object(members)).map_err(SqlError::Row)
}

fn shown<T: Resource + Serialize>(row: &T, view: &View<T>) -> Result<SqlRecord<T>, SqlError> {
    let json = serde_json::value::to_raw_value(&DisplayedRow { row, view: Some(view) })
        .map_err(SqlError::Row)?;
    Ok(SqlRecord::shown(json))
}

fn show<T: Resource + Serialize + DeserializeOwned>(
    members: Members,
    selection: &Arc<Selection>,
) -> Result<SqlRecord<T>, SqlError> {
    shown(&read::<T>(members)?, &view_of(Arc::clone(selection)))
}

fn answer<T: Resource + Serialize + DeserializeOwned>(
    plan: &Plan,
    rows: Vec<Members>,
) -> PageResult<T> {
    let rows = rows.into_iter().map(read::<T>).collect::<Result<Vec<_>, _>>()?;
    let found = memory::run::<T, T>(plan, T::model(), rows)?;
    let view = view_of(Arc::clone(&plan.selection));
    let rows = found.rows.into_iter().map(|(row, values)| Ok((shown(&row, &view)?, values)));
    let rows = rows.collect::<Result<Vec<_>, SqlError>>()?;
    Ok(plan.build_page(
        rows,
        plan.include_total_count.then_some(found.total),
        found.aggregations,
        None,
    ))
}
