//! Classifies the errors of databases, and determines the part of them that callers see.

use std::error::Error;
use std::{fmt, io};

use mcp_aql_core::OperationError;
use mcp_aql_protocol::ErrorCode;

/// An error of a database.
///
/// Return errors of your driver with `?`: every error and every message converts into `Other`. For this
/// reason, the type does not implement [`std::error::Error`].
#[derive(Debug)]
#[non_exhaustive]
pub enum DatabaseError {
    /// A unique column already contains the value.
    Unique(Violation),
    /// A foreign key refers to a missing row, or a row to be deleted is still referenced.
    Reference(Violation),
    /// A value violates a CHECK constraint or NOT NULL, or its column cannot contain it.
    Value(Violation),
    /// The adapter lacks a permission: its user is not allowed to run the statement, or the database is
    /// read-only.
    Denied(Box<dyn Error + Send + Sync>),
    /// The database cannot be reached, or others hold a lock or all connections. Nothing has changed, and a
    /// later attempt may succeed.
    Busy(Box<dyn Error + Send + Sync>),
    /// The result of a COMMIT is unknown, so the changes may have happened or not.
    Unknown(Box<dyn Error + Send + Sync>),
    /// Any other error. Callers receive `INTERNAL_ERROR`.
    Other(Box<dyn Error + Send + Sync>),
}

/// The rule of a database that a value violates.
#[derive(Debug)]
pub struct Violation {
    pub(super) columns: Vec<String>,
    pub(super) constraint: Option<String>,
    pub(super) defect: Defect,
    /// The type of the only column, if the value is not valid for it.
    pub(super) type_name: Option<String>,
    cause: Box<dyn Error + Send + Sync>,
}

/// A defect of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Defect {
    /// The value violates a rule, or the database does not report the defect.
    Rule,
    /// The value is missing.
    Missing,
    /// The string is not valid for the type.
    Malformed,
    /// Either of two causes that PostgreSQL reports with the same code: the string is malformed for a type
    /// such as `ltree`, or a rule of the database failed by itself. An example of the latter is a policy that
    /// reads an unset setting.
    Unclear,
    /// The value is too large for a limit of the database.
    TooLarge,
    /// The encoding of the database lacks a character. The character is included if it is known.
    Character(Option<char>),
}

impl Violation {
    /// Creates the violation of a rule without a name.
    pub fn new(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            columns: Vec::new(),
            constraint: None,
            defect: Defect::Rule,
            type_name: None,
            cause: cause.into(),
        }
    }

    pub(super) fn into_cause(self) -> Box<dyn Error + Send + Sync> {
        self.cause
    }
}

/// Writes the message of the database, for a log.
impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(formatter)
    }
}

/// The parts of PostgreSQL's report on a violation.
#[derive(Debug, Clone, Copy, Default)]
pub struct PostgresReport<'a> {
    /// The code (`SQLSTATE`).
    pub code: &'a str,
    /// The message, for example `invalid input syntax for type inet: "x"`.
    pub message: &'a str,
    /// The name of the constraint.
    pub constraint: Option<&'a str>,
    /// The name of the column.
    pub column: Option<&'a str>,
    /// The detail, for example `Key (email)=(ada@example.org) already exists.`
    pub detail: Option<&'a str>,
    /// If `true`, the report has a position: the error is in the SQL of the statement, not in a value.
    pub has_position: bool,
}

impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for DatabaseError {
    fn from(error: E) -> Self {
        Self::Other(error.into())
    }
}

impl From<DatabaseError> for OperationError {
    fn from(error: DatabaseError) -> Self {
        match error {
            DatabaseError::Denied(cause) => denied(cause),
            DatabaseError::Busy(cause) => busy(cause),
            DatabaseError::Unknown(cause) => unknown(cause),
            error => Self::internal(error.into_cause()),
        }
    }
}

/// Returns the error for a statement that the adapter may not run.
fn denied(cause: Box<dyn Error + Send + Sync>) -> OperationError {
    let message = "The database denied the call: the database is read-only, or the adapter's user lacks a \
                   permission. Nothing was changed: send other values, or ask the administrators of the database";
    tracing::warn!(%cause, "the adapter's user may not execute a statement in the database");
    OperationError::new(ErrorCode::PermissionDenied, message)
}

/// Returns the error for a timeout, or for an unreachable database.
fn busy(cause: Box<dyn Error + Send + Sync>) -> OperationError {
    let message = "The database is busy or cannot be reached. Nothing was changed: try again in a few seconds";
    OperationError::new(ErrorCode::InternalError, message)
        .with_detail("retry_after_seconds", RETRY_AFTER_SECONDS)
        .with_detail("operation_ran", false)
        .with_cause(cause)
}

/// Returns the error for a change with an unknown outcome.
fn unknown(cause: Box<dyn Error + Send + Sync>) -> OperationError {
    let message = "The database did not confirm the change, so it is unknown if it was stored: read the record \
                   before you try again";
    OperationError::new(ErrorCode::InternalError, message)
        .with_detail("operation_ran", true)
        .with_cause(cause)
}

const RETRY_AFTER_SECONDS: u64 = 5;

impl DatabaseError {
    /// Returns `true` if an I/O error of a driver means that the connection is lost, or that the server cannot be
    /// reached. Drivers report values and messages that they cannot encode or decode as I/O errors as well.
    pub fn is_of_network(error: &io::Error) -> bool {
        !matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData)
    }

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
        } else if let (sqlite::DATA_TYPE, Some((_, column))) = (code, message.rsplit_once('.')) {
            // For example "cannot store TEXT value in INTEGER column t.size".
            violation.columns = vec![column.to_owned()];
        }
        violation.defect = match code {
            sqlite::NOT_NULL => Defect::Missing,
            sqlite::MISMATCH => Defect::Malformed,
            sqlite::TOO_LARGE => Defect::TooLarge,
            _ => Defect::Rule,
        };
        match (code, code & 0xff) {
            (sqlite::UNIQUE | sqlite::PRIMARY_KEY | sqlite::ROW_ID, _) => Self::Unique(violation),
            (sqlite::FOREIGN_KEY, _) => Self::Reference(violation),
            // SQLite implements `ON DELETE RESTRICT` as a trigger.
            (sqlite::TRIGGER, _) if message.starts_with("FOREIGN KEY") => {
                Self::Reference(violation)
            }
            (_, sqlite::CONSTRAINT | sqlite::TOO_LARGE | sqlite::MISMATCH) => {
                Self::Value(violation)
            }
            (_, sqlite::PERMISSION | sqlite::READ_ONLY | sqlite::AUTHORIZATION) => {
                Self::Denied(violation.cause)
            }
            (
                _,
                sqlite::BUSY
                | sqlite::LOCKED
                | sqlite::NO_MEMORY
                | sqlite::INTERRUPT
                | sqlite::PROTOCOL
                | sqlite::SCHEMA,
            ) => Self::Busy(violation.cause),
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
        violation.defect = defect(report);
        violation.columns = match (report.column, report.detail) {
            (Some(column), _) => vec![column.to_owned()],
            (None, Some(detail)) => columns_of_key(detail),
            (None, None) => Vec::new(),
        };
        match (report.code, report.code.get(..2).unwrap_or_default()) {
            ("23505" | "23P01", _) => Self::Unique(violation),
            ("23503" | "23001", _) => Self::Reference(violation),
            ("42501" | "25006", _) => Self::Denied(violation.cause),
            // The server does not know the outcome of the transaction.
            ("08007" | "40003", _) => Self::Unknown(violation.cause),
            // Values that their column cannot contain, rules of tables, views and triggers, and limits of the
            // program.
            ("40002" | "P0001", _) | (_, "22" | "23" | "44") => Self::Value(violation),
            _ if violation.defect != Defect::Rule => Self::Value(violation),
            ("08P01" | "57P04", _) => Self::Other(violation.cause),
            // Connections, conflicts between transactions, locks, timeouts, a server that stops or starts,
            // and a server without memory or free connections.
            (
                "25P03" | "25P04" | "53200" | "53300" | "55006" | "55P03" | "57014" | "57P01"
                | "57P02" | "57P03" | "57P05",
                _,
            )
            | (_, "08" | "40") => Self::Busy(violation.cause),
            _ => Self::Other(violation.cause),
        }
    }

    pub(super) fn into_cause(self) -> Box<dyn Error + Send + Sync> {
        match self {
            Self::Unique(violation) | Self::Reference(violation) | Self::Value(violation) => {
                violation.cause
            }
            Self::Denied(cause) | Self::Busy(cause) | Self::Unknown(cause) | Self::Other(cause) => {
                cause
            }
        }
    }
}

/// Returns the defect of a value according to PostgreSQL's report.
fn defect(report: PostgresReport<'_>) -> Defect {
    match report.code {
        "23502" => Defect::Missing,
        "22001" => Defect::TooLarge,
        "22021" | "22P05" => Defect::Character(character_in(report.message)),
        "22000" | "22003" | "22007" | "22008" | "22015" | "22P02" | "22P03" => Defect::Malformed,
        // Invalid XML.
        "2200L" | "2200M" | "2200N" | "2200S" | "2200T" => Defect::Malformed,
        "54000" => Defect::TooLarge,
        // A value of a type such as `hstore`, `ltree`, `jsonpath` or `regclass`. In the SQL of a statement,
        // the same errors have a position.
        "3F000" | "42601" | "42602" | "42622" | "42704" | "42725" | "42809" | "42883" | "42P01"
            if !report.has_position =>
        {
            Defect::Unclear
        }
        // PostgreSQL 15 and earlier, for an `hstore`.
        "XX000"
            if ["Syntax error near", "Unexpected end of string"]
                .iter()
                .any(|start| report.message.starts_with(start)) =>
        {
            Defect::Malformed
        }
        _ => Defect::Rule,
    }
}

/// Returns the character in a message of PostgreSQL. It works in any language, because it only reads the
/// bytes:
///
/// ```text
/// byte sequence 0xe2 0x82 0xac in encoding "UTF8" → €
/// ```
fn character_in(message: &str) -> Option<char> {
    let words = message.split(|letter: char| !letter.is_ascii_alphanumeric());
    let bytes: Option<Vec<_>> = words
        .filter_map(|word| word.strip_prefix("0x"))
        .map(|digits| u8::from_str_radix(digits, 16).ok())
        .collect();
    String::from_utf8(bytes?).ok()?.chars().next()
}

/// Returns the columns in a detail of PostgreSQL in any language, for example `Key (a, b)=(1, 2) already
/// exists.`
fn columns_of_key(detail: &str) -> Vec<String> {
    let names = detail.split_once('(').and_then(|(_, rest)| rest.split_once(")=("));
    let Some((names, _)) = names else { return Vec::new() };
    names.split(", ").map(|name| name.trim_matches('"').to_owned()).collect()
}

/// Result codes of SQLite.
mod sqlite {
    pub(super) const PERMISSION: i32 = 3;
    pub(super) const BUSY: i32 = 5;
    pub(super) const LOCKED: i32 = 6;
    pub(super) const NO_MEMORY: i32 = 7;
    pub(super) const READ_ONLY: i32 = 8;
    pub(super) const INTERRUPT: i32 = 9;
    pub(super) const PROTOCOL: i32 = 15;
    pub(super) const SCHEMA: i32 = 17;
    pub(super) const TOO_LARGE: i32 = 18;
    pub(super) const CONSTRAINT: i32 = 19;
    pub(super) const MISMATCH: i32 = 20;
    pub(super) const AUTHORIZATION: i32 = 23;
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
    }

    /// Returns the name of an error's kind, and the defect of the value.
    fn kind(error: &DatabaseError) -> (&'static str, Defect) {
        match error {
            DatabaseError::Unique(found) => ("unique", found.defect),
            DatabaseError::Reference(found) => ("reference", found.defect),
            DatabaseError::Value(found) => ("value", found.defect),
            DatabaseError::Denied(_) => ("denied", Defect::Rule),
            DatabaseError::Busy(_) => ("busy", Defect::Rule),
            DatabaseError::Unknown(_) => ("unknown", Defect::Rule),
            DatabaseError::Other(_) => ("other", Defect::Rule),
        }
    }

    #[test]
    fn result_codes_of_sqlite_have_a_kind() {
        for (codes, expected) in [
            // Constraints of every kind, and values without a column.
            (&[19, 275, 531, 1_043, 1_811, 2_323, 2_835, 3_091][..], ("value", Defect::Rule)),
            (&[1_299], ("value", Defect::Missing)),
            (&[18], ("value", Defect::TooLarge)),
            (&[20], ("value", Defect::Malformed)),
            (&[1_555, 2_067, 2_579], ("unique", Defect::Rule)),
            (&[787], ("reference", Defect::Rule)),
            // A read-only file, folder or connection.
            (&[3, 8, 264, 520, 776, 1_032, 1_288, 1_544, 23], ("denied", Defect::Rule)),
            (&[5, 261, 517, 773, 6, 262, 518, 7, 9, 15, 17], ("busy", Defect::Rule)),
            // A wrong statement, a full or failing disk, and a damaged file.
            (&[1, 2, 10, 266, 11, 12, 13, 14, 16, 21, 22, 24, 25, 26], ("other", Defect::Rule)),
        ] {
            for &code in codes {
                assert_eq!(kind(&DatabaseError::of_sqlite(code, "", "")), expected, "{code}");
            }
        }
    }

    #[test]
    fn states_of_postgres_have_a_kind() {
        let of = |code, has_position| {
            let report = PostgresReport { code, has_position, ..PostgresReport::default() };
            kind(&DatabaseError::of_postgres(report, ""))
        };
        for (codes, expected) in [
            ("23505 23P01", ("unique", Defect::Rule)),
            ("23503 23001", ("reference", Defect::Rule)),
            ("23000 23514 40002 44000 P0001 22012 22004", ("value", Defect::Rule)),
            ("23502", ("value", Defect::Missing)),
            ("22000 22003 22007 22008 22015 22P02 2200N", ("value", Defect::Malformed)),
            ("22001 54000", ("value", Defect::TooLarge)),
            ("22021 22P05", ("value", Defect::Character(None))),
            ("42501 25006", ("denied", Defect::Rule)),
            ("08000 08001 08003 08004 08006 40000 40001 40P01 25P03", ("busy", Defect::Rule)),
            ("53200 53300 55006 55P03 57014 57P01 57P02 57P03", ("busy", Defect::Rule)),
            ("08007 40003", ("unknown", Defect::Rule)),
            // These can only be corrected by the maintainers of the adapter or the database.
            ("08P01 0A000 21000 25000 25001 25P02 28000 28P01", ("other", Defect::Rule)),
            ("42703 42804 428C9 42P07 42P17 53000 53100 53400", ("other", Defect::Rule)),
            (
                "54001 54011 54023 55000 55P02 57000 57P04 58030 XX000 F0000 38001",
                ("other", Defect::Rule),
            ),
        ] {
            for code in codes.split(' ') {
                assert_eq!(of(code, false), expected, "{code}");
            }
        }
        for code in "42601 42602 42704 42883 42P01 3F000".split(' ') {
            assert_eq!(of(code, false), ("value", Defect::Unclear), "{code}");
            assert_eq!(of(code, true), ("other", Defect::Rule), "{code} in a statement");
        }
    }

    #[test]
    fn a_character_that_an_encoding_lacks_is_known() {
        for (message, expected) in [
            (
                r#"character with byte sequence 0xe2 0x82 0xac in encoding "UTF8" has no ..."#,
                Some('€'),
            ),
            (r#"Zeichen mit Byte-Folge 0xd0 0x96 in Kodierung »UTF8«"#, Some('Ж')),
            (r#"invalid byte sequence for encoding "UTF8": 0xff"#, None),
            ("nothing", None),
        ] {
            assert_eq!(character_in(message), expected, "{message}");
        }
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
