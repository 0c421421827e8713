//! Runs queries of the collection in the database.

use std::sync::LazyLock;

use mcp_aql::Page;
use mcp_aql::query::sql::sea_query::{Expr, ExprTrait as _};
use mcp_aql::query::sql::{Dialect, SqlRecord, SqlTable, SqlValue, Statement, Storage};
use mcp_aql::query::{Capabilities, CollectionQuery};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql, params_from_iter};

use crate::error::TaskError;
use crate::model::Task;

/// The length of a day in microseconds, the unit of stored instants.
const MICROS_PER_DAY: i64 = 24 * 60 * 60 * 1_000_000;

/// The SQL expressions of a task's fields.
static TASKS: LazyLock<SqlTable<Task>> = LazyLock::new(|| {
    SqlTable::new(Dialect::Sqlite, "task")
        .column("_version", "version")
        .stored_as("created_at", Storage::UnixMicros)
        .stored_as("updated_at", Storage::UnixMicros)
        .search_column("title", "title_words")
        .search_column("description", "description_words")
        .search_column("tags", "tags_words")
        .expression("_computed.age_days", |now| {
            Expr::val(now.instant().timestamp_micros())
                .sub(Expr::col("created_at"))
                .div(MICROS_PER_DAY)
        })
        .expression("_computed.is_overdue", |now| {
            let today = now.instant().date_naive().to_string();
            let late = Expr::col("due_date").lt(today).and(Expr::col("status").ne("done"));
            Expr::col("due_date").is_not_null().and(late)
        })
});

/// Returns the query capabilities of the database.
pub(crate) fn capabilities() -> Capabilities {
    TASKS.capabilities()
}

/// Answers a query from one snapshot: the caller's transaction.
pub(super) fn run(
    connection: &Connection,
    query: &CollectionQuery<Task>,
) -> Result<Page<SqlRecord<Task>>, TaskError> {
    TASKS.run(query, |statement| Ok(execute(connection, statement)?))
}

/// Runs a statement.
fn execute(
    connection: &Connection,
    statement: &Statement,
) -> Result<Vec<Vec<SqlValue>>, rusqlite::Error> {
    let mut prepared = connection.prepare_cached(&statement.sql)?;
    let columns = prepared.column_count();
    let values = statement.values.iter().map(Parameter);
    let rows = prepared.query_map(params_from_iter(values), |row| {
        (0..columns).map(|column| cell(row.get_ref(column)?, column)).collect()
    })?;
    rows.collect()
}

/// A value that is bound to a statement.
struct Parameter<'a>(&'a SqlValue);

impl ToSql for Parameter<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self.0 {
            SqlValue::Null => rusqlite::types::Null.to_sql()?,
            SqlValue::Bool(value) => (*value).into(),
            SqlValue::Int(value) => (*value).into(),
            SqlValue::Float(value) => (*value).into(),
            SqlValue::Text(text) => text.as_str().into(),
        })
    }
}

/// Converts a value of a result row.
fn cell(value: ValueRef<'_>, column: usize) -> rusqlite::Result<SqlValue> {
    Ok(match value {
        ValueRef::Null => SqlValue::Null,
        ValueRef::Integer(value) => SqlValue::Int(value),
        ValueRef::Real(value) => SqlValue::Float(value),
        ValueRef::Text(_) => SqlValue::Text(value.as_str()?.to_owned()),
        ValueRef::Blob(_) => {
            return Err(rusqlite::Error::InvalidColumnType(
                column,
                String::new(),
                rusqlite::types::Type::Blob,
            ));
        }
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_table_fits_the_task() {
        super::TASKS.check().unwrap();
    }
}
