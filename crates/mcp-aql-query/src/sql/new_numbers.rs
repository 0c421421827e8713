//! Statements for the identifiers of new records.

use sea_query::{Alias, Expr, ExprTrait as _, Query};

use super::column_type::ColumnType;
use super::dialect::{Dialect, function};
use super::record_statements::{column_name, identifier, quoted};
use super::value::{SqlValue, Statement};
use super::{SqlError, SqlTable};
use crate::records::Record;
use crate::value::ValueKind;

/// The table in which SQLite keeps the highest number of each column with `AUTOINCREMENT`.
const SEQUENCES: &str = "sqlite_sequence";

impl<R: Record> SqlTable<R> {
    /// Whether records are identified by UUIDs.
    pub(super) fn has_uuids(&self) -> bool {
        matches!(self.mapping.types.get(R::ID.name), Some(ColumnType::Uuid))
    }

    /// The statement that counts the tables with the highest numbers of deleted records, which SQLite keeps for
    /// columns with `AUTOINCREMENT`.
    pub(super) fn count_of_sequences(&self) -> Result<Option<Statement>, SqlError> {
        let context = self.context(chrono::Utc::now());
        if context.dialect() != Dialect::Sqlite {
            return Ok(None);
        }
        let mut select = Query::select();
        select.expr(Expr::cust("count(*)")).from(Alias::new("sqlite_master"));
        select.and_where(Expr::col(Alias::new("name")).eq(SEQUENCES));
        Statement::of(context.dialect(), &select).map(Some)
    }

    /// The statement for the number of a new record, or `None` if records are identified by texts. In SQLite, it
    /// reads the numbers of deleted records if `has_sequences`.
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
                let mut highest = Expr::col(Alias::new(column)).max().if_null(0_i64);
                if has_sequences {
                    let mut kept = Query::select();
                    kept.expr(Expr::col(Alias::new("seq"))).from(Alias::new(SEQUENCES));
                    let table = context.mapping.table.as_str();
                    kept.and_where(Expr::col(Alias::new("name")).eq(table));
                    let kept = Expr::SubQuery(None, Box::new(kept.into())).if_null(0_i64);
                    highest = Expr::from(function("max").arg(highest).arg(kept));
                }
                select.expr(highest.add(1_i64)).from(context.from());
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

/// The number in a statement's only row.
pub(super) fn first_number(rows: &[Vec<SqlValue>]) -> Option<u64> {
    match rows.first()?.first()? {
        SqlValue::Int(number) => u64::try_from(*number).ok(),
        _ => None,
    }
}
