//! The statements of both databases, as data: what a driver adds is how to execute them.

mod layout;
mod text;

use chrono::{DateTime, Utc};
use sea_query::{
    Alias, Expr, ExprTrait as _, Func, OnConflict, Order, PostgresQueryBuilder, Query,
    QueryStatementWriter, SelectStatement, SqliteQueryBuilder, TableRef, Value as Bound,
};

use super::{Change, Expected, NewRecord, Record, StoreError};

pub(super) use layout::Upgrade;

const RECORD: &str = "record";
/// The last version that was given: a table in SQLite, a sequence in PostgreSQL.
const VERSION: &str = "record_version";
const NUMBER: &str = "number";
/// What a row of a record has, in this order.
const COLUMNS: [&str; 5] = ["key", "value", "version", "group_key", "expires_at"];
/// As many records are purged at a time, so that no one waits for long.
pub(super) const PURGED_AT_ONCE: u64 = 1_000;

/// A database's kind of SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    #[cfg_attr(not(feature = "sqlite"), expect(dead_code, reason = "built without SQLite"))]
    Sqlite,
    #[cfg_attr(
        not(feature = "postgres"),
        allow(dead_code, reason = "built without PostgreSQL, it is only compared with")
    )]
    Postgres,
}

/// A value on its way to a database, or back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Null,
    Text(String),
    Int(i64),
    /// Read, and of a kind that no version writes.
    #[cfg_attr(
        not(feature = "sqlite"),
        allow(dead_code, reason = "PostgreSQL holds columns to their types")
    )]
    Strange,
}

impl Value {
    /// A value as the SQL builder holds it.
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

/// A statement, with the values of its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Statement {
    pub(super) sql: String,
    pub(super) values: Vec<Value>,
}

/// A statement of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) statement: Statement,
    /// Whether the transaction is given up unless this changes one row.
    pub(super) decides: bool,
}

/// The tables of a store.
#[derive(Debug, Clone)]
pub(super) struct Tables {
    pub(super) dialect: Dialect,
    /// Where they are, in PostgreSQL.
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

    /// The record of a key.
    pub(super) fn get(&self, collection: &str, key: &str) -> Result<Statement, StoreError> {
        self.written(self.records().and_where(is_named(collection, key)))
    }

    /// Records in the order of their keys, behind one.
    pub(super) fn list(
        &self,
        collection: &str,
        group: Option<&str>,
        after: Option<&str>,
        most: usize,
    ) -> Result<Statement, StoreError> {
        let mut select = self.records();
        select.and_where(Expr::col("collection").eq(text::kept(collection)));
        if let Some(group) = group {
            select.and_where(Expr::col("group_key").eq(text::kept(group)));
        }
        if let Some(after) = after {
            select.and_where(Expr::col("key").gt(text::kept(after)));
        }
        let most = i64::try_from(most).unwrap_or(i64::MAX).unsigned_abs();
        self.written(select.order_by("key", Order::Asc).limit(most))
    }

    /// What makes the changes: a transaction in which each expectation is a condition of the
    /// statement itself, on a row that is locked from then on.
    pub(super) fn write(&self, mut changes: Vec<Change>) -> Result<Vec<Step>, StoreError> {
        // All writers lock in the same order, so that no two wait for each other.
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
        steps: &mut Vec<Step>,
    ) -> Result<(), StoreError> {
        let version = self.next_version(steps)?;
        let statement = match change.expected {
            Expected::Version(expected) => {
                let update = Query::update()
                    .table(self.table(RECORD))
                    .values([
                        ("value", Expr::val(text::kept(&record.value))),
                        ("version", version),
                        ("group_key", Expr::val(record.group.as_deref().map(text::kept))),
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
        steps.push(Step { statement, decides: true });
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
                Expr::val(text::kept(&change.collection)),
                Expr::val(text::kept(&change.key)),
                Expr::val(text::kept(&record.value)),
                version,
                Expr::val(record.group.as_deref().map(text::kept)),
                Expr::val(record.expires_at.map(micros)),
            ])
            .map_err(StoreError::failed)?
            .on_conflict(conflict);
        self.written(&insert)
    }

    fn remove(&self, change: &Change, steps: &mut Vec<Step>) -> Result<(), StoreError> {
        if change.expected == Expected::Absent {
            // Taking the place of the record and leaving it again: whoever writes it meanwhile has to
            // wait, as with any other expectation. A question alone would lock nothing.
            let place = NewRecord::new("null");
            self.put(change, &place, steps)?;
        }
        let mut delete = Query::delete();
        delete.from_table(self.table(RECORD)).and_where(is_named(&change.collection, &change.key));
        if let Expected::Version(expected) = change.expected {
            delete.and_where(is_version(expected));
        }
        let decides = change.expected != Expected::Any;
        steps.push(Step { statement: self.written(&delete)?, decides });
        Ok(())
    }

    /// The next version, which no record ever had.
    fn next_version(&self, steps: &mut Vec<Step>) -> Result<Expr, StoreError> {
        Ok(match self.dialect {
            Dialect::Sqlite => {
                let update = Query::update()
                    .table(self.table(VERSION))
                    .value(NUMBER, Expr::col(NUMBER).add(1_i64))
                    .to_owned();
                steps.push(Step { statement: self.written(&update)?, decides: true });
                let select = Query::select().column(NUMBER).from(self.table(VERSION)).to_owned();
                Expr::SubQuery(None, Box::new(select.into()))
            }
            // Outside of the transaction: a number that is given up is not given again, and nobody
            // waits for another's.
            Dialect::Postgres => {
                let name = self.quoted(VERSION);
                let name = Expr::Constant(Bound::String(Some(name)));
                Func::cust("nextval").arg(name).into()
            }
        })
    }

    /// Forgets [some](PURGED_AT_ONCE) of what expired.
    pub(super) fn purge(&self, now: DateTime<Utc>) -> Result<Step, StoreError> {
        let expired = || Expr::col("expires_at").lt(micros(now));
        let some = Query::select()
            .columns(["collection", "key"])
            .from(self.table(RECORD))
            .and_where(expired())
            .order_by("expires_at", Order::Asc)
            .limit(PURGED_AT_ONCE)
            .to_owned();
        let delete = Query::delete()
            .from_table(self.table(RECORD))
            .and_where(Expr::tuple([Expr::col("collection"), Expr::col("key")]).in_subquery(some))
            // Once more, for a record that was given more time meanwhile.
            .and_where(expired())
            .to_owned();
        Ok(Step { statement: self.written(&delete)?, decides: false })
    }

    /// A name of the schema as SQL writes it.
    fn quoted(&self, name: &str) -> String {
        let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        match &self.schema {
            Some(schema) => format!("{}.{}", quoted(schema), quoted(name)),
            None => quoted(name),
        }
    }
}

fn is_named(collection: &str, key: &str) -> Expr {
    let collection = Expr::col("collection").eq(text::kept(collection));
    collection.and(Expr::col("key").eq(text::kept(key)))
}

fn is_version(version: u64) -> Expr {
    // None is below zero, so what no database can hold is the version of no record.
    Expr::col("version").eq(i64::try_from(version).unwrap_or(-1))
}

fn micros(at: DateTime<Utc>) -> i64 {
    at.timestamp_micros()
}

/// As [`record`], among others: one that cannot be read hides none of them. It is there by its name, and
/// its value is no JSON, so that whoever reads it is told.
pub(super) fn listed(row: Vec<Value>) -> Result<Record, StoreError> {
    let key = match row.first() {
        Some(Value::Text(kept)) => text::read(kept.clone()),
        _ => None,
    };
    record(row).or_else(|error| {
        let key = key.ok_or(error)?;
        Ok(Record { key, value: String::new(), version: 0, group: None, expires_at: None })
    })
}

/// The record of a row with these [columns](COLUMNS).
pub(super) fn record(row: Vec<Value>) -> Result<Record, StoreError> {
    let strange =
        || StoreError::Unreadable("a record has columns that no version wrote".to_owned());
    let [key, value, version, group, expires_at] =
        <[Value; 5]>::try_from(row).map_err(|_| strange())?;
    let text = |kept| match kept {
        Value::Text(kept) => text::read(kept).ok_or_else(strange),
        _ => Err(strange()),
    };
    let number = |kept| match kept {
        Value::Int(number) => Ok(number),
        _ => Err(strange()),
    };
    let there = |kept| (kept != Value::Null).then_some(kept);
    let instant = |at| DateTime::from_timestamp_micros(number(at)?).ok_or_else(strange);
    Ok(Record {
        key: text(key)?,
        value: text(value)?,
        version: u64::try_from(number(version)?).map_err(|_| strange())?,
        group: there(group).map(text).transpose()?,
        expires_at: there(expires_at).map(instant).transpose()?,
    })
}
