//! Translates queries over all tasks to SQL and runs them.

use std::sync::LazyLock;

use mcp_aql::Page;
use mcp_aql::query::sql::sea_query::{Expr, ExprTrait as _};
use mcp_aql::query::sql::{Dialect, SqlRecord, SqlTable, Storage};
use mcp_aql::query::{Capabilities, CollectionQuery};
use rusqlite::Connection;

use crate::error::TaskError;
use crate::model::Task;

/// Length of a day in microseconds, the unit in which the file stores points in time.
const MICROS_PER_DAY: i64 = 24 * 60 * 60 * 1_000_000;

/// Maps the fields of a task to SQL columns and expressions.
static TASKS: LazyLock<SqlTable<Task>> = LazyLock::new(|| {
    SqlTable::new(Dialect::Sqlite, "task")
        .column("_version", "version")
        .stored_as("created_at", Storage::UnixMicros)
        .stored_as("updated_at", Storage::UnixMicros)
        .search_column("title", "title_words")
        .search_column("description", "description_words")
        .search_column("tags", "tags_words")
        // A query runs in the database, so a computed field needs an SQL expression equal to its Rust function.
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

/// Returns the query capabilities of the database. Pass them to `#[query(backend = …)]`, so that an operation only
/// offers what SQLite can answer.
pub(crate) fn capabilities() -> Capabilities {
    TASKS.capabilities()
}

/// Runs a query in the caller's transaction, so all of its statements see the same snapshot.
pub(super) fn run(
    connection: &Connection,
    query: &CollectionQuery<Task>,
) -> Result<Page<SqlRecord<Task>>, TaskError> {
    TASKS.run(query, |statement| Ok(statement.run_on(connection)?))
}
