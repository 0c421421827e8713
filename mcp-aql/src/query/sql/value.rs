//! Statements and values: all that passes between this crate and a database's driver.

use std::fmt::{self, Write};

use sea_query::{
    PostgresQueryBuilder, QueryBuilder, SelectStatement, SqlWriter, SqliteQueryBuilder,
    Value as Bound,
};

use super::SqlError;
use super::dialect::Dialect;

/// A query for a database, with the values of its parameters.
///
/// The text has a placeholder for each value, in their order: `?` in SQLite, `$1`, `$2` … in
/// PostgreSQL. It depends on the form of a request and not on its values, so statements are worth
/// keeping prepared.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// The text.
    pub sql: String,
    /// The values of its parameters.
    pub values: Vec<SqlValue>,
}

/// A value on its way to a database, or back.
///
/// | | SQLite | PostgreSQL, as a parameter | PostgreSQL, in a row |
/// |---|---|---|---|
/// | `Null` | `NULL` | `text` | `NULL` |
/// | `Bool` | 0 or 1 | `boolean` | `boolean` |
/// | `Int` | `INTEGER` | `bigint` | `bigint` |
/// | `Float` | `REAL` | `double precision` | `double precision` |
/// | `Text` | `TEXT` | `text` | `text` |
///
/// A driver for PostgreSQL meets no other types: statements say the type of each parameter, and turn
/// all that they give into one of these.
#[derive(Debug, Clone, PartialEq)]
pub enum SqlValue {
    /// No value.
    Null,
    /// A boolean. SQLite has none: a row may give `Int` instead.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// Text.
    Text(String),
}

impl SqlValue {
    /// What it is, for an error; not the value, which is nobody's business.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Null => "NULL",
            Self::Bool(_) => "a boolean",
            Self::Int(_) => "a whole number",
            Self::Float(_) => "a number",
            Self::Text(_) => "text",
        }
    }

    /// A value as the SQL builder holds it.
    fn of(value: Bound) -> Result<Self, SqlError> {
        let int = |value: Option<i64>| value.map_or(Self::Null, Self::Int);
        Ok(match value {
            Bound::Bool(value) => value.map_or(Self::Null, Self::Bool),
            Bound::TinyInt(value) => int(value.map(Into::into)),
            Bound::SmallInt(value) => int(value.map(Into::into)),
            Bound::Int(value) => int(value.map(Into::into)),
            Bound::BigInt(value) => int(value),
            Bound::TinyUnsigned(value) => int(value.map(Into::into)),
            Bound::SmallUnsigned(value) => int(value.map(Into::into)),
            Bound::Unsigned(value) => int(value.map(Into::into)),
            Bound::BigUnsigned(value) => match value.map(i64::try_from) {
                None => Self::Null,
                Some(Ok(value)) => Self::Int(value),
                Some(Err(_)) => return Err(SqlError::Value { kind: "a number beyond 64 bits" }),
            },
            Bound::Float(value) => value.map_or(Self::Null, |value| Self::Float(value.into())),
            Bound::Double(value) => value.map_or(Self::Null, Self::Float),
            Bound::String(value) => value.map_or(Self::Null, Self::Text),
            Bound::Char(value) => value.map_or(Self::Null, |value| Self::Text(value.into())),
            _ => return Err(SqlError::Value { kind: "of a type that no statement has" }),
        })
    }
}

impl Statement {
    /// Writes a statement down.
    pub(super) fn of(dialect: Dialect, select: &SelectStatement) -> Result<Self, SqlError> {
        let mut writer = Writer { dialect, sql: String::with_capacity(256), values: Vec::new() };
        match dialect {
            Dialect::Sqlite => select.build_collect_any_into(&SqliteQueryBuilder, &mut writer),
            Dialect::Postgres => select.build_collect_any_into(&PostgresQueryBuilder, &mut writer),
        }
        let limit = dialect.most_values();
        if writer.values.len() > limit {
            return Err(SqlError::TooManyValues { limit });
        }
        let values = writer.values.into_iter().collect::<Result<_, _>>()?;
        Ok(Self { sql: writer.sql, values })
    }
}

/// Takes a statement from its builder, and tells PostgreSQL the type of each parameter, which it would
/// else guess from what stands around it.
struct Writer {
    dialect: Dialect,
    sql: String,
    values: Vec<Result<SqlValue, SqlError>>,
}

impl SqlWriter for Writer {
    fn push_param<B: QueryBuilder>(&mut self, value: Bound, _: &B) {
        let value = SqlValue::of(value);
        let number = self.values.len() + 1;
        // Nothing fails to be written into a text.
        let _ = match (self.dialect, &value) {
            (Dialect::Sqlite, _) => self.write_str("?"),
            (Dialect::Postgres, Ok(SqlValue::Bool(_))) => {
                write!(self, "CAST(${number} AS boolean)")
            }
            (Dialect::Postgres, Ok(SqlValue::Int(_))) => write!(self, "CAST(${number} AS bigint)"),
            (Dialect::Postgres, Ok(SqlValue::Float(_))) => {
                write!(self, "CAST(${number} AS double precision)")
            }
            (Dialect::Postgres, Ok(SqlValue::Null | SqlValue::Text(_)) | Err(_)) => {
                write!(self, "CAST(${number} AS text)")
            }
        };
        self.values.push(value);
    }

    fn as_writer(&mut self) -> &mut dyn Write {
        self
    }
}

impl Write for Writer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.sql.push_str(text);
        Ok(())
    }
}

impl fmt::Display for Writer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.sql)
    }
}
