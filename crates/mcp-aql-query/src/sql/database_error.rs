//! The errors of databases, and what callers see of them.

use std::error::Error;
use std::fmt;

use mcp_aql_core::error::OperationError;
use mcp_aql_protocol::ErrorCode;

/// An error of a database. Every error and every message converts into `Other` with `?`, so that this type itself is not
/// a [`std::error::Error`].
#[derive(Debug)]
#[non_exhaustive]
pub enum DatabaseError {
    /// A unique column has the value already.
    Unique(Violation),
    /// A foreign key refers to no row, or a row to be deleted is still referred to.
    Reference(Violation),
    /// A value violates a CHECK constraint or NOT NULL, or its column cannot contain it.
    Value(Violation),
    /// Other calls or programs hold a lock or all connections. Nothing has changed, and a later attempt may succeed.
    Busy(Box<dyn Error + Send + Sync>),
    /// The answer to a COMMIT is missing, so that the changes may have happened or not.
    Unknown(Box<dyn Error + Send + Sync>),
    /// Any other error, which callers see as `INTERNAL_ERROR`.
    Other(Box<dyn Error + Send + Sync>),
}

/// The rule of a database that a value violates.
#[derive(Debug)]
pub struct Violation {
    pub(super) columns: Vec<String>,
    pub(super) constraint: Option<String>,
    /// The message of PostgreSQL, which names the type that does not have a value.
    pub(super) message: String,
    /// If `true`, a text is not the form of any value of its type.
    pub(super) is_malformed: bool,
    cause: Box<dyn Error + Send + Sync>,
}

impl Violation {
    /// A rule that the database does not name.
    pub fn new(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        let (columns, constraint, message) = (Vec::new(), None, String::new());
        Self { columns, constraint, message, is_malformed: false, cause: cause.into() }
    }

    pub(super) fn into_cause(self) -> Box<dyn Error + Send + Sync> {
        self.cause
    }
}

/// The message of the database, for a log.
impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(formatter)
    }
}

/// The report of PostgreSQL on a violation.
#[derive(Debug, Clone, Copy, Default)]
pub struct PostgresReport<'a> {
    /// The code, `SQLSTATE`.
    pub code: &'a str,
    /// The message: `invalid input syntax for type inet: "x"`
    pub message: &'a str,
    /// The name of the constraint.
    pub constraint: Option<&'a str>,
    /// The name of the column.
    pub column: Option<&'a str>,
    /// The detail: `Key (email)=(ada@example.org) already exists.`
    pub detail: Option<&'a str>,
}

impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for DatabaseError {
    fn from(error: E) -> Self {
        Self::Other(error.into())
    }
}

impl From<DatabaseError> for OperationError {
    fn from(error: DatabaseError) -> Self {
        match error {
            DatabaseError::Busy(cause) => busy(cause),
            DatabaseError::Unknown(cause) => unknown(cause),
            error => Self::internal(error.into_cause()),
        }
    }
}

/// The error for a call that has waited for others until its time was over.
fn busy(cause: Box<dyn Error + Send + Sync>) -> OperationError {
    let message = "The database is busy, because other changes take a long time. This call has changed nothing: make \
                   it again in a few seconds";
    OperationError::new(ErrorCode::InternalError, message)
        .with_detail("retry_after_seconds", RETRY_AFTER_SECONDS)
        .with_detail("operation_ran", false)
        .with_cause(cause)
}

/// The error for a call whose changes may have happened.
fn unknown(cause: Box<dyn Error + Send + Sync>) -> OperationError {
    let message = "The database has not confirmed the change, which may have happened nevertheless: read the record \
                   before you make the call again";
    OperationError::new(ErrorCode::InternalError, message)
        .with_detail("operation_ran", true)
        .with_cause(cause)
}

const RETRY_AFTER_SECONDS: u64 = 5;

impl DatabaseError {
    /// Classifies an error of SQLite by its extended code and its message.
    pub fn of_sqlite(
        code: i32,
        message: &str,
        cause: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        let (rule, subject) = message.split_once(" constraint failed: ").unwrap_or((message, ""));
        let mut violation = Violation::new(cause);
        if matches!(rule, "UNIQUE" | "NOT NULL") {
            let names = subject.split(", ").filter_map(|name| name.rsplit('.').next());
            violation.columns = names.map(str::to_owned).collect();
        } else if rule == "CHECK" {
            violation.constraint = Some(subject.to_owned());
        }
        match code {
            sqlite::UNIQUE | sqlite::PRIMARY_KEY | sqlite::ROW_ID => Self::Unique(violation),
            sqlite::FOREIGN_KEY => Self::Reference(violation),
            // `ON DELETE RESTRICT` is a trigger.
            sqlite::TRIGGER if message.starts_with("FOREIGN KEY") => Self::Reference(violation),
            sqlite::CHECK
            | sqlite::NOT_NULL
            | sqlite::TRIGGER
            | sqlite::DATA_TYPE
            | sqlite::TOO_LARGE
            | sqlite::MISMATCH => Self::Value(violation),
            code if matches!(code & 0xff, sqlite::BUSY | sqlite::LOCKED | sqlite::INTERRUPT) => {
                Self::Busy(violation.cause)
            }
            _ => Self::Other(violation.cause),
        }
    }

    /// Classifies an error of PostgreSQL.
    pub fn of_postgres(
        report: PostgresReport<'_>,
        cause: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        let mut violation = Violation::new(cause);
        violation.constraint = report.constraint.map(str::to_owned);
        report.message.clone_into(&mut violation.message);
        violation.is_malformed =
            matches!(report.code, "22000" | "22003" | "22007" | "22008" | "22015" | "22P02");
        violation.columns = match (report.column, report.detail) {
            (Some(column), _) => vec![column.to_owned()],
            (None, Some(detail)) => columns_of_key(detail),
            (None, None) => Vec::new(),
        };
        match report.code {
            "23505" | "23P01" => Self::Unique(violation),
            "23503" | "23001" => Self::Reference(violation),
            "23502" | "23514" | "P0001" => Self::Value(violation),
            // The class of values that their column cannot contain.
            code if code.starts_with("22") => Self::Value(violation),
            // A lock, a time limit, a conflict between transactions, too many connections.
            "55P03" | "57014" | "40001" | "40P01" | "53300" => Self::Busy(violation.cause),
            _ => Self::Other(violation.cause),
        }
    }

    pub(super) fn into_cause(self) -> Box<dyn Error + Send + Sync> {
        match self {
            Self::Unique(violation) | Self::Reference(violation) | Self::Value(violation) => {
                violation.cause
            }
            Self::Busy(cause) | Self::Unknown(cause) | Self::Other(cause) => cause,
        }
    }
}

/// The columns in a detail of PostgreSQL, in any language: `Key (a, b)=(1, 2) already exists.`
fn columns_of_key(detail: &str) -> Vec<String> {
    let names = detail.split_once('(').and_then(|(_, rest)| rest.split_once(")=("));
    let Some((names, _)) = names else { return Vec::new() };
    names.split(", ").map(|name| name.trim_matches('"').to_owned()).collect()
}

/// The codes of SQLite.
mod sqlite {
    pub(super) const BUSY: i32 = 5;
    pub(super) const LOCKED: i32 = 6;
    pub(super) const INTERRUPT: i32 = 9;
    pub(super) const TOO_LARGE: i32 = 18;
    pub(super) const MISMATCH: i32 = 20;
    pub(super) const CHECK: i32 = 275;
    pub(super) const FOREIGN_KEY: i32 = 787;
    pub(super) const NOT_NULL: i32 = 1_299;
    pub(super) const PRIMARY_KEY: i32 = 1_555;
    pub(super) const TRIGGER: i32 = 1_811;
    pub(super) const UNIQUE: i32 = 2_067;
    pub(super) const ROW_ID: i32 = 2_579;
    pub(super) const DATA_TYPE: i32 = 3_091;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn violations_of_sqlite_name_their_columns() {
        for (code, message, columns, constraint) in [
            (2_067, "UNIQUE constraint failed: t.a, t.b", &["a", "b"][..], None),
            (1_299, "NOT NULL constraint failed: t.a", &["a"], None),
            (275, "CHECK constraint failed: length(a) = 2", &[], Some("length(a) = 2")),
            (787, "FOREIGN KEY constraint failed", &[], None),
        ] {
            let (DatabaseError::Unique(found)
            | DatabaseError::Reference(found)
            | DatabaseError::Value(found)) = DatabaseError::of_sqlite(code, message, message)
            else {
                panic!("{message}");
            };
            assert_eq!(
                (found.columns.as_slice(), found.constraint.as_deref()),
                (
                    columns.iter().map(|&name| name.to_owned()).collect::<Vec<_>>().as_slice(),
                    constraint
                )
            );
        }
        let restrict = DatabaseError::of_sqlite(1_811, "FOREIGN KEY constraint failed", "");
        assert!(matches!(restrict, DatabaseError::Reference(_)));
        assert!(matches!(DatabaseError::of_sqlite(1_811, "no", ""), DatabaseError::Value(_)));
        assert!(matches!(DatabaseError::of_sqlite(517, "locked", ""), DatabaseError::Busy(_)));
        assert!(matches!(DatabaseError::of_sqlite(11, "corrupt", ""), DatabaseError::Other(_)));
    }

    #[test]
    fn the_columns_of_a_key_are_found_in_any_language() {
        for (detail, columns) in [
            ("Key (email)=(a) already exists.", &["email"][..]),
            ("Schlüssel »(a, \"b c\")=(1, (2))« existiert bereits.", &["a", "b c"]),
            ("Failing row contains (1).", &[]),
        ] {
            assert_eq!(columns_of_key(detail), columns, "{detail}");
        }
    }
}
