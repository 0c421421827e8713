//! The database URL, the request for an adapter, and the errors.

use std::fmt;

/// The maximum number of tables in one adapter.
pub(crate) const MAX_TABLES: usize = 16;

/// A database, given by its URL. Parse it from a string:
///
/// ```text
/// "sqlite:shop.db" → Database::Sqlite("shop.db")
/// ```
#[derive(Clone, PartialEq, Eq)]
pub enum Database {
    /// PostgreSQL: `postgres://user:password@host/database`.
    Postgres(String),
    /// SQLite: `sqlite:shop.db`, with the path of a file.
    Sqlite(String),
}

impl fmt::Debug for Database {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The output omits the URL, because it may contain a password.
        formatter.write_str(match self {
            Self::Postgres(_) => "Postgres",
            Self::Sqlite(_) => "Sqlite",
        })
    }
}

impl std::str::FromStr for Database {
    type Err = Error;

    fn from_str(url: &str) -> Result<Self, Error> {
        if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            return Ok(Self::Postgres(url.to_owned()));
        }
        let path = url.strip_prefix("sqlite:").map(|rest| rest.strip_prefix("//").unwrap_or(rest));
        match path {
            Some(path) if !path.is_empty() => Ok(Self::Sqlite(path.to_owned())),
            _ => Err(Error::Url),
        }
    }
}

/// A request for the source of an adapter.
#[derive(Debug, Clone)]
pub struct Request {
    /// The database.
    pub database: Database,
    /// The schema of the tables in PostgreSQL. `None` means `public`.
    pub schema: Option<String>,
    /// The tables. An empty list means all tables of the schema.
    pub tables: Vec<String>,
    /// The name of the adapter.
    pub name: String,
}

/// An error of generating an adapter.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The URL is not one of PostgreSQL or SQLite.
    #[error("the database is a URL: write postgres://user@host/database or sqlite:file.db")]
    Url,
    /// PostgreSQL returned an error.
    #[error("PostgreSQL: {}", with_causes(.0))]
    Postgres(#[from] tokio_postgres::Error),
    /// SQLite returned an error.
    #[error("SQLite: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// A requested table does not exist.
    #[error("there is no table '{table}': the tables are {}", .known.join(", "))]
    NoTable {
        /// The requested name.
        table: String,
        /// The existing tables.
        known: Vec<String>,
    },
    /// The schema has no tables.
    #[error("there are no tables")]
    NoTables,
    /// The database has more tables than one adapter can have.
    #[error("there are {0} tables, and an adapter has at most {MAX_TABLES}: choose with --tables")]
    TooMany(usize),
    /// None of the requested tables can be a resource. The strings are the reasons.
    #[error("no table can be a resource:\n{}", .0.join("\n"))]
    NoResource(Vec<String>),
    /// Two tables would have the same name in Rust.
    #[error("'{0}' and '{1}' would have the same name in Rust: choose one of them with --tables")]
    SameName(String, String),
}

fn with_causes(error: &tokio_postgres::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

/// Selects the requested tables. Returns an error if one of them does not exist.
pub(crate) fn selected(known: Vec<String>, wanted: &[String]) -> Result<Vec<String>, Error> {
    if known.is_empty() {
        return Err(Error::NoTables);
    }
    if wanted.is_empty() {
        return Ok(known);
    }
    let mut chosen: Vec<String> = Vec::new();
    for table in wanted.iter().map(|table| table.trim()) {
        if !known.iter().any(|name| name == table) {
            return Err(Error::NoTable { table: table.to_owned(), known });
        }
        if !chosen.iter().any(|name| name == table) {
            chosen.push(table.to_owned());
        }
    }
    Ok(chosen)
}
