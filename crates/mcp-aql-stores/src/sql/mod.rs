//! The SQL statements of both databases, as data. The drivers only execute them.

mod layout;

use chrono::{DateTime, Utc};
use sea_query::{
    Alias, Expr, ExprTrait as _, Func, OnConflict, Order, PostgresQueryBuilder, Query,
    QueryStatementWriter, SelectStatement, SqliteQueryBuilder, TableRef, Value as Bound,
};

use super::{Change, Expected, NewRecord, StateRecord, StoreError};

pub(super) use layout::Upgrade;

const RECORD: &str = "record";
/// The last assigned version: a table in SQLite, a sequence in PostgreSQL.
const VERSION: &str = "record_version";
const NUMBER: &str = "number";
/// The columns of a record's row, in this order. If you add one, extend [`record`], too.
const COLUMNS: [&str; 5] = ["key", "value", "version", "group_key", "expires_at"];
/// The number of records purged by one statement. It is limited so that other calls do not wait for long.
pub(super) const PURGE_BATCH_SIZE: u64 = 1_000;

/// The SQL dialect of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Sqlite,
    Postgres,
}

/// A value sent to a database or read from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Null,
    Text(String),
    Int(i64),
    /// A value of a type that no version of the store writes.
    Unknown,
}

impl Value {
    /// Converts a value of the SQL builder.
    fn of(bound: Bound) -> Result<Self, StoreError> {
        Ok(match bound {
            Bound::String(Some(text)) => Self::Text(text),
            Bound::BigInt(Some(number)) => Self::Int(number),
            Bound::BigUnsigned(Some(number)) => {
                Self::Int(i64::try_from(number).map_err(StoreError::failed)?)
            }
            Bound::String(None) | Bound::BigInt(None) => Self::Null,
            other => {
                return Err(StoreError::failed(format!("no statement has a value like {other:?}")));
            }
        })
    }
}

/// A statement with the values of its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Statement {
    pub(super) sql: String,
    pub(super) values: Vec<Value>,
}

/// One statement of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TransactionStep {
    pub(super) statement: Statement,
    /// If `true`, the transaction is rolled back unless this statement changes exactly one row.
    pub(super) decides: bool,
}

/// The tables of a store.
#[derive(Debug, Clone)]
pub(super) struct Tables {
    pub(super) dialect: Dialect,
    /// The schema of the tables, in PostgreSQL.
    pub(super) schema: Option<String>,
}

impl Tables {
    fn table(&self, name: &'static str) -> TableRef {
        match &self.schema {
            Some(schema) => (Alias::new(schema), name).into(),
            None => name.into(),
        }
    }

    fn written(&self, statement: &impl QueryStatementWriter) -> Result<Statement, StoreError> {
        let (sql, values) = match self.dialect {
            Dialect::Sqlite => statement.build(SqliteQueryBuilder),
            Dialect::Postgres => statement.build(PostgresQueryBuilder),
        };
        let values = values.into_iter().map(Value::of).collect::<Result<_, _>>()?;
        Ok(Statement { sql, values })
    }

    fn records(&self) -> SelectStatement {
        Query::select().columns(COLUMNS).from(self.table(RECORD)).to_owned()
    }

    /// Returns a query for the record of a key. In SQLite:
    ///
    /// ```sql
    /// SELECT "key", "value", "version", "group_key", "expires_at" FROM "record"
    /// WHERE "collection" = ? AND "key" = ?
    /// ```
    pub(super) fn get(&self, collection: &str, key: &str) -> Result<Statement, StoreError> {
        self.written(self.records().and_where(is_named(collection, key)))
    }

    /// Returns a query for records after a key, in the order of their keys. In SQLite, with all conditions:
    ///
    /// ```sql
    /// SELECT "key", "value", "version", "group_key", "expires_at" FROM "record"
    /// WHERE "collection" = ? AND "group_key" = ? AND "key" > ? ORDER BY "key" ASC LIMIT ?
    /// ```
    pub(super) fn list(
        &self,
        collection: &str,
        group: Option<&str>,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Statement, StoreError> {
        let mut select = self.records();
        select.and_where(Expr::col("collection").eq(escape(collection)));
        if let Some(group) = group {
            select.and_where(Expr::col("group_key").eq(escape(group)));
        }
        if let Some(after) = after {
            select.and_where(Expr::col("key").gt(escape(after)));
        }
        let limit = i64::try_from(limit).unwrap_or(i64::MAX).unsigned_abs();
        self.written(select.order_by("key", Order::Asc).limit(limit))
    }

    /// Returns the steps of a transaction that makes the changes.
    ///
    /// Each expectation is a condition of the statement that changes the row. The row therefore stays locked
    /// from its check to the commit.
    pub(super) fn write(
        &self,
        mut changes: Vec<Change>,
    ) -> Result<Vec<TransactionStep>, StoreError> {
        // All writers lock rows in the same order to prevent deadlocks.
        changes.sort_by(|left, right| {
            (&left.collection, &left.key).cmp(&(&right.collection, &right.key))
        });
        let mut steps = Vec::with_capacity(changes.len());
        for change in &changes {
            match &change.record {
                Some(record) => self.put(change, record, &mut steps)?,
                None => self.remove(change, &mut steps)?,
            }
        }
        Ok(steps)
    }

    fn put(
        &self,
        change: &Change,
        record: &NewRecord,
        steps: &mut Vec<TransactionStep>,
    ) -> Result<(), StoreError> {
        let version = self.next_version(steps)?;
        let statement = match change.expected {
            Expected::Version(expected) => {
                let update = Query::update()
                    .table(self.table(RECORD))
                    .values([
                        ("value", Expr::val(escape(&record.value))),
                        ("version", version),
                        ("group_key", Expr::val(record.group.as_deref().map(escape))),
                        ("expires_at", Expr::val(record.expires_at.map(micros))),
                    ])
                    .and_where(is_named(&change.collection, &change.key))
                    .and_where(is_version(expected))
                    .to_owned();
                self.written(&update)?
            }
            Expected::Absent => self.insert(change, record, version, true)?,
            Expected::Any => self.insert(change, record, version, false)?,
        };
        steps.push(TransactionStep { statement, decides: true });
        Ok(())
    }

    fn insert(
        &self,
        change: &Change,
        record: &NewRecord,
        version: Expr,
        absent: bool,
    ) -> Result<Statement, StoreError> {
        let mut conflict = OnConflict::columns(["collection", "key"]);
        if absent {
            conflict.do_nothing();
        } else {
            conflict.update_columns(["value", "version", "group_key", "expires_at"]);
        }
        let mut insert = Query::insert();
        insert
            .into_table(self.table(RECORD))
            .columns(["collection", "key", "value", "version", "group_key", "expires_at"])
            .values([
                Expr::val(escape(&change.collection)),
                Expr::val(escape(&change.key)),
                Expr::val(escape(&record.value)),
                version,
                Expr::val(record.group.as_deref().map(escape)),
                Expr::val(record.expires_at.map(micros)),
            ])
            .map_err(StoreError::failed)?
            .on_conflict(conflict);
        self.written(&insert)
    }

    fn remove(&self, change: &Change, steps: &mut Vec<TransactionStep>) -> Result<(), StoreError> {
        if change.expected == Expected::Absent {
            // Insert a row and delete it again, so that other writers of this key have to wait, as for all
            // other expectations. A query alone would not lock anything.
            let place = NewRecord::new("null");
            self.put(change, &place, steps)?;
        }
        let mut delete = Query::delete();
        delete.from_table(self.table(RECORD)).and_where(is_named(&change.collection, &change.key));
        if let Expected::Version(expected) = change.expected {
            delete.and_where(is_version(expected));
        }
        let decides = change.expected != Expected::Any;
        steps.push(TransactionStep { statement: self.written(&delete)?, decides });
        Ok(())
    }

    /// Returns an expression for the next version. It is different from all versions of all records.
    fn next_version(&self, steps: &mut Vec<TransactionStep>) -> Result<Expr, StoreError> {
        Ok(match self.dialect {
            Dialect::Sqlite => {
                let update = Query::update()
                    .table(self.table(VERSION))
                    .value(NUMBER, Expr::col(NUMBER).add(1_i64))
                    .to_owned();
                steps.push(TransactionStep { statement: self.written(&update)?, decides: true });
                let select = Query::select().column(NUMBER).from(self.table(VERSION)).to_owned();
                Expr::SubQuery(None, Box::new(select.into()))
            }
            // A sequence is not part of the transaction: a rolled-back number is not reused, and writers do
            // not wait for each other.
            Dialect::Postgres => {
                let name = self.quoted(VERSION);
                let name = Expr::Constant(Bound::String(Some(name)));
                Func::cust("nextval").arg(name).into()
            }
        })
    }

    /// Returns a statement that deletes [some](PURGE_BATCH_SIZE) of the expired records.
    pub(super) fn purge(&self, now: DateTime<Utc>) -> Result<TransactionStep, StoreError> {
        let expired = || Expr::col("expires_at").lt(micros(now));
        let some = Query::select()
            .columns(["collection", "key"])
            .from(self.table(RECORD))
            .and_where(expired())
            .order_by("expires_at", Order::Asc)
            .limit(PURGE_BATCH_SIZE)
            .to_owned();
        let delete = Query::delete()
            .from_table(self.table(RECORD))
            .and_where(Expr::tuple([Expr::col("collection"), Expr::col("key")]).in_subquery(some))
            // The condition is repeated for a record whose expiry was extended in the meantime.
            .and_where(expired())
            .to_owned();
        Ok(TransactionStep { statement: self.written(&delete)?, decides: false })
    }

    /// Returns a name in the schema, quoted for SQL.
    fn quoted(&self, name: &str) -> String {
        let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        match &self.schema {
            Some(schema) => format!("{}.{}", quoted(schema), quoted(name)),
            None => quoted(name),
        }
    }
}

fn is_named(collection: &str, key: &str) -> Expr {
    let collection = Expr::col("collection").eq(escape(collection));
    collection.and(Expr::col("key").eq(escape(key)))
}

fn is_version(version: u64) -> Expr {
    // Versions are never negative, so a version outside of the database's range matches no record.
    Expr::col("version").eq(i64::try_from(version).unwrap_or(-1))
}

fn micros(at: DateTime<Utc>) -> i64 {
    at.timestamp_micros()
}

/// Converts a row of a list as [`record`] does.
///
/// An unreadable record must not hide the others. It is returned with its key and an invalid JSON value, so
/// that its reader reports it.
pub(super) fn listed(row: Vec<Value>) -> Result<StateRecord, StoreError> {
    let key = match row.first() {
        Some(Value::Text(kept)) => unescape(kept.clone()),
        _ => None,
    };
    record(row).or_else(|error| {
        let key = key.ok_or(error)?;
        Ok(StateRecord { key, value: String::new(), version: 0, group: None, expires_at: None })
    })
}

/// Converts a row with these [columns](COLUMNS) to a record.
pub(super) fn record(row: Vec<Value>) -> Result<StateRecord, StoreError> {
    let unknown_format =
        || StoreError::Unreadable("a record has columns of an unknown format".to_owned());
    let [key, value, version, group, expires_at] =
        <[Value; 5]>::try_from(row).map_err(|_| unknown_format())?;
    let text = |kept| match kept {
        Value::Text(kept) => unescape(kept).ok_or_else(unknown_format),
        _ => Err(unknown_format()),
    };
    let number = |kept| match kept {
        Value::Int(number) => Ok(number),
        _ => Err(unknown_format()),
    };
    let there = |kept| (kept != Value::Null).then_some(kept);
    let instant = |at| DateTime::from_timestamp_micros(number(at)?).ok_or_else(unknown_format);
    Ok(StateRecord {
        key: text(key)?,
        value: text(value)?,
        version: u64::try_from(number(version)?).map_err(|_| unknown_format())?,
        group: there(group).map(text).transpose()?,
        expires_at: there(expires_at).map(instant).transpose()?,
    })
}

/// Escapes U+0000 in a string, because PostgreSQL rejects it and tools of SQLite truncate strings there. The order of
/// strings stays the same:
///
/// ```text
/// U+0000 → U+0001 U+0001
/// U+0001 → U+0001 U+0002
/// ```
fn escape(text: &str) -> String {
    if !text.contains(['\0', '\u{1}']) {
        return text.to_owned();
    }
    text.replace('\u{1}', "\u{1}\u{2}").replace('\0', "\u{1}\u{1}")
}

/// Reverses [`escape`]. Returns `None` if the string is not a result of it.
fn unescape(kept: String) -> Option<String> {
    if !kept.contains('\u{1}') {
        return Some(kept);
    }
    let mut text = String::with_capacity(kept.len());
    let mut rest = kept.chars();
    while let Some(next) = rest.next() {
        text.push(match next {
            '\u{1}' => match rest.next()? {
                '\u{1}' => '\0',
                '\u{2}' => '\u{1}',
                _ => return None,
            },
            other => other,
        });
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{escape, unescape};

    proptest! {
        #[test]
        fn every_text_comes_back_and_keeps_its_place(
            one in "[\0\u{1}\u{2}aé]{0,5}", other in "[\0\u{1}\u{2}aé]{0,5}"
        ) {
            prop_assert!(!escape(&one).contains('\0'));
            prop_assert_eq!(escape(&one).cmp(&escape(&other)), one.cmp(&other));
            prop_assert_eq!(unescape(escape(&one)), Some(one));
        }
    }

    #[test]
    fn what_was_not_kept_is_not_read() {
        assert_eq!(unescape("a\u{1}".to_owned()), None);
        assert_eq!(unescape("a\u{1}b".to_owned()), None);
    }
}
