//! Builds the statements that assign identifiers to new records.

use sea_query::{Alias, Expr, ExprTrait as _, Query};

use super::column_type::SqlType;
use super::context::Context;
use super::dialect::{Dialect, function};
use super::record_statements::{column_name, identifier, quoted};
use super::value::{SqlValue, Statement};
use super::{SqlError, SqlTable};
use crate::records::Record;
use crate::value::ValueKind;

/// The table in which SQLite keeps the highest number of each column with `AUTOINCREMENT`.
const SEQUENCES: &str = "sqlite_sequence";

/// The table in which SQLite describes all other tables.
const MASTER: &str = "sqlite_master";

impl<R: Record> SqlTable<R> {
    /// Returns `true` if records are identified by UUIDs.
    pub(super) fn has_uuids(&self) -> bool {
        matches!(self.mapping.types.get(R::ID.name), Some(SqlType::Uuid))
    }

    /// Returns the statement that checks whether the database has the table `sqlite_sequence`. SQLite only
    /// creates this table for columns with `AUTOINCREMENT`.
    pub(super) fn count_of_sequences(&self) -> Result<Option<Statement>, SqlError> {
        let context = self.context(chrono::Utc::now());
        if context.dialect() != Dialect::Sqlite {
            return Ok(None);
        }
        let mut select = Query::select();
        select.expr(Expr::cust("count(*)"));
        match &context.mapping.schema {
            Some(schema) => select.from((Alias::new(schema), Alias::new(MASTER))),
            None => select.from(Alias::new(MASTER)),
        };
        select.and_where(Expr::col(Alias::new("name")).eq(SEQUENCES));
        Statement::of(context.dialect(), &select).map(Some)
    }

    /// Returns the statement for the number of a new record, or `None` if records are identified by strings.
    ///
    /// In SQLite, the numbers of deleted records are excluded if `has_sequences` is `true`.
    pub(super) fn next_number(&self, has_sequences: bool) -> Result<Option<Statement>, SqlError> {
        let context = self.context(chrono::Utc::now());
        let info = identifier::<R>(&context)?;
        if info.kind != ValueKind::Integer {
            return Ok(None);
        }
        let column = column_name(&context, &info.path);
        let mut select = Query::select();
        match context.dialect() {
            Dialect::Sqlite => {
                let highest = Expr::cust(highest_of_sqlite(&context, column, has_sequences));
                select.expr(highest.add(1_i64));
            }
            Dialect::Postgres => {
                let table = match &context.mapping.schema {
                    Some(schema) => {
                        format!("{}.{}", quoted(schema), quoted(&context.mapping.table))
                    }
                    None => quoted(&context.mapping.table),
                };
                let sequence =
                    function("pg_get_serial_sequence").arg(Expr::val(table)).arg(Expr::val(column));
                let next = function("nextval").arg(Expr::from(sequence));
                select.expr(next);
            }
        }
        Statement::of(context.dialect(), &select).map(Some)
    }
}

/// Returns the expression for the highest number of SQLite whose successor is free.
///
/// The expression also works in a table with the largest possible number, with strings, or with negative
/// numbers only.
fn highest_of_sqlite(context: &Context<'_>, column: &str, has_sequences: bool) -> String {
    let (column, table) = (quoted(column), quoted(&context.mapping.table));
    let schema = context.mapping.schema.as_deref().map(|schema| quoted(schema) + ".");
    let schema = schema.unwrap_or_default();
    let below = format!("< {}", i64::MAX);
    let stored = format!(
        "SELECT max(stored.{column}) FROM {schema}{table} AS stored WHERE stored.{column} {below} AND NOT EXISTS \
         (SELECT 1 FROM {schema}{table} AS next WHERE next.{column} = stored.{column} + 1)"
    );
    let kept = match has_sequences {
        true => {
            let name = format!("'{}'", context.mapping.table.replace('\'', "''"));
            format!("SELECT max(seq) FROM {schema}{SEQUENCES} WHERE name = {name} AND seq {below}")
        }
        false => "0".to_owned(),
    };
    // SQLite finds the largest value in the index. It only searches for a free number if the largest value
    // has no successor.
    let highest = format!(
        "SELECT CASE WHEN typeof(highest) = 'integer' AND highest {below} THEN highest ELSE ({stored}) END FROM \
         (SELECT max({column}) AS highest FROM {schema}{table})"
    );
    format!("max(CAST(ifnull(({highest}), 0) AS INTEGER), ifnull(({kept}), 0), 0)")
}

/// Returns the number in a statement's only row.
pub(super) fn first_number(rows: &[Vec<SqlValue>]) -> Option<u64> {
    match rows.first()?.first()? {
        SqlValue::Int(number) => u64::try_from(*number).ok(),
        _ => None,
    }
}
