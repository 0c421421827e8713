//! Statements and values: the interface to database drivers.

use std::fmt::{self, Write};

use sea_query::{
    PostgresQueryBuilder, QueryBuilder, QueryStatementBuilder, SqlWriter, SqliteQueryBuilder,
    Value as Bound,
};

use super::SqlError;
use super::dialect::Dialect;

/// A parameterized database query.
///
/// The SQL contains a placeholder for each value, in order: `?` in SQLite, and `$1`, `$2` … in PostgreSQL.
///
/// You can cache prepared statements, because the SQL depends on the structure of a request and not on its
/// values. Limit the size of the cache, because there is one exception in PostgreSQL. A cursor with a number
/// or time that the field's type cannot hold exactly becomes a literal, to be compared in the type of its
/// column.
///
/// ```
/// use mcp_aql::query::sql::{SqlValue, Statement};
///
/// let statement = Statement {
///     sql: "SELECT title FROM task WHERE priority = ?".to_owned(),
///     values: vec![SqlValue::Int(1)],
/// };
/// # let _ = statement;
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// The SQL with placeholders.
    pub sql: String,
    /// The values of the parameters.
    pub values: Vec<SqlValue>,
}

/// A value sent to a database, or returned by it.
///
/// | | SQLite | PostgreSQL, as a parameter | PostgreSQL, in a row |
/// |---|---|---|---|
/// | `Null` | `NULL` | `text` | `NULL` |
/// | `Bool` | 0 or 1 | `boolean` | `boolean` |
/// | `Int` | `INTEGER` | `bigint` | `bigint` |
/// | `Float` | `REAL` | `double precision` | `double precision` |
/// | `Text` | `TEXT` | `text` | `text` |
/// | `Bytes` | `BLOB` | – | – |
/// | `RawText` | `TEXT` | – | – |
///
/// A driver for PostgreSQL needs no other types. Statements declare the type of each parameter, and convert
/// all results into one of these types.
#[derive(Debug, Clone, PartialEq)]
pub enum SqlValue {
    /// No value.
    Null,
    /// A boolean. In SQLite, a row may contain `Int` instead.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A floating-point number.
    Float(f64),
    /// A string.
    Text(String),
    /// Bytes. SQLite can store them in a column of any type.
    Bytes(Vec<u8>),
    /// The bytes of a string with invalid UTF-8, in a row of SQLite. It is never a parameter.
    RawText(Vec<u8>),
}

impl SqlValue {
    /// Returns the kind of the value for an error message. The message must not contain the value itself,
    /// because it may be confidential.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Null => "NULL",
            Self::Bool(_) => "a boolean",
            Self::Int(_) => "a whole number",
            Self::Float(_) => "a number",
            Self::Text(_) => "text",
            Self::Bytes(_) => "bytes",
            Self::RawText(_) => "a string that is not valid UTF-8",
        }
    }

    /// Converts a value of the SQL builder.
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
                Some(Err(_)) => {
                    return Err(SqlError::Value { kind: "a number of more than 64 bits" });
                }
            },
            Bound::Float(value) => value.map_or(Self::Null, |value| Self::Float(value.into())),
            Bound::Double(value) => value.map_or(Self::Null, Self::Float),
            Bound::String(value) => value.map_or(Self::Null, Self::Text),
            Bound::Bytes(value) => value.map_or(Self::Null, Self::Bytes),
            Bound::Char(value) => value.map_or(Self::Null, |value| Self::Text(value.into())),
            _ => return Err(SqlError::Value { kind: "a value of an unsupported type" }),
        })
    }
}

impl Statement {
    /// Renders a statement.
    pub(super) fn of(
        dialect: Dialect,
        statement: &impl QueryStatementBuilder,
    ) -> Result<Self, SqlError> {
        let mut writer = Writer { dialect, sql: String::with_capacity(256), values: Vec::new() };
        match dialect {
            Dialect::Sqlite => statement.build_collect_any_into(&SqliteQueryBuilder, &mut writer),
            Dialect::Postgres => {
                statement.build_collect_any_into(&PostgresQueryBuilder, &mut writer)
            }
        }
        let limit = dialect.max_parameters();
        if writer.values.len() > limit {
            return Err(SqlError::TooManyValues { limit });
        }
        let values = writer.values.into_iter().collect::<Result<_, _>>()?;
        Ok(Self { sql: writer.sql, values })
    }
}

/// Collects a statement from its builder.
///
/// For PostgreSQL, it declares the type of each parameter, because PostgreSQL would otherwise infer another
/// type from the context:
///
/// ```sql
/// WHERE "size" > CAST($1 AS bigint)
/// ```
struct Writer {
    dialect: Dialect,
    sql: String,
    values: Vec<Result<SqlValue, SqlError>>,
}

impl SqlWriter for Writer {
    fn push_param<B: QueryBuilder>(&mut self, value: Bound, _: &B) {
        let value = SqlValue::of(value);
        let number = self.values.len() + 1;
        // Writing to a `String` cannot fail.
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
            (Dialect::Postgres, Ok(SqlValue::Bytes(_) | SqlValue::RawText(_))) => {
                write!(self, "CAST(${number} AS bytea)")
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
