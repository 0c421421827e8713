//! The differences between SQLite and PostgreSQL.

use chrono::{DateTime, Datelike as _, NaiveDate, Timelike as _, Utc};
use sea_query::{
    Alias, BinOper, CaseStatement, Expr, ExprTrait as _, Func, FunctionCall, Value as Bound,
};

use crate::value::{Scalar, ValueKind, instant_text};

/// The SQL dialect of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// SQLite, 3.38 or later.
    Sqlite,
    /// PostgreSQL, 14 or later.
    Postgres,
}

/// The storage format of dates and instants in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Storage {
    /// As a string: a date as `2031-05-06`, an instant in UTC in the format of `DateTime<Utc>`,
    /// `2031-05-06T07:00:00Z` with zero, three, six or nine fractional digits. This is the default for
    /// SQLite.
    ///
    /// Instants are compared without the `Z` and trailing zeros, so that all numbers of digits are equal. For
    /// an index on instants, use the expression `rtrim(created_at, 'Z0.')`.
    Text,
    /// As the types `date` and `timestamptz` of the database, with microsecond precision. Only PostgreSQL has
    /// these types. They are its default.
    Native,
    /// An instant in seconds since 1970, as an integer.
    UnixSeconds,
    /// An instant in milliseconds since 1970, as an integer.
    UnixMillis,
    /// An instant in microseconds since 1970, as an integer.
    UnixMicros,
}

/// The storage form of a field's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Boolean,
    Integer,
    Number,
    Text,
    Choice,
    DateText,
    /// A `date`.
    DateNative,
    InstantText,
    /// A `timestamptz`.
    InstantNative,
    /// Integers in units of this many nanoseconds since 1970.
    Unix(i128),
    /// Lists and objects.
    Json,
}

const NANOSECONDS: i128 = 1_000_000_000;

/// The first date of PostgreSQL, `4714-11-24 BC`, in days since 1970. It is day 0 of the Julian calendar.
const POSTGRES_FIRST_DAY: i64 = -2_440_588;
const SECONDS_PER_DAY: i64 = 86_400;

impl Form {
    /// Returns the form of values of this kind and storage format.
    pub(super) const fn of(kind: ValueKind, list: bool, storage: Storage) -> Self {
        match (kind, storage) {
            _ if list => Self::Json,
            (ValueKind::Boolean, _) => Self::Boolean,
            (ValueKind::Integer, _) => Self::Integer,
            (ValueKind::Number, _) => Self::Number,
            (ValueKind::Text, _) => Self::Text,
            (ValueKind::Choice, _) => Self::Choice,
            (ValueKind::Date, Storage::Native) => Self::DateNative,
            (ValueKind::Date, _) => Self::DateText,
            (ValueKind::Instant, Storage::Text) => Self::InstantText,
            (ValueKind::Instant, Storage::Native) => Self::InstantNative,
            (ValueKind::Instant, Storage::UnixSeconds) => Self::Unix(NANOSECONDS),
            (ValueKind::Instant, Storage::UnixMillis) => Self::Unix(NANOSECONDS / 1_000),
            (ValueKind::Instant, Storage::UnixMicros) => Self::Unix(NANOSECONDS / 1_000_000),
            (ValueKind::Json, _) => Self::Json,
        }
    }

    /// Returns the form inside a JSON document.
    pub(super) const fn in_json(kind: ValueKind) -> Self {
        Self::of(kind, false, Storage::Text)
    }
}

/// The operand of a comparison, as close as the column can represent it.
#[derive(Debug, Clone)]
pub(super) enum Operand {
    /// The value itself.
    Exact(Expr),
    /// The largest value below the operand. The column cannot represent the operand itself.
    Above(Expr),
    /// Smaller than all values that the column can represent.
    Smallest,
    /// Larger than all values that the column can represent.
    Largest,
}

/// Returns `TRUE` or `FALSE`.
pub(super) fn truth(holds: bool) -> Expr {
    Expr::Constant(Bound::Bool(Some(holds)))
}

/// Returns a string literal of the statement. It must never come from a request.
pub(super) fn literal(text: &str) -> Expr {
    Expr::Constant(Bound::String(Some(text.to_owned())))
}

/// Returns an integer literal of the statement.
pub(super) fn number(number: i64) -> Expr {
    Expr::Constant(Bound::BigInt(Some(number)))
}

pub(super) fn function(name: &'static str) -> FunctionCall {
    Func::cust(Alias::new(name))
}

impl Dialect {
    /// Returns the maximum number of parameters of a statement.
    pub(super) const fn max_parameters(self) -> usize {
        match self {
            Self::Sqlite => 32_766,
            Self::Postgres => 65_535,
        }
    }

    pub(super) const fn storage(self) -> Storage {
        match self {
            Self::Sqlite => Storage::Text,
            Self::Postgres => Storage::Native,
        }
    }

    /// Adds a collation for comparisons by bytes to a string expression.
    fn by_bytes(self, text: Expr) -> Expr {
        let collation = match self {
            Self::Sqlite => "BINARY",
            Self::Postgres => "C",
        };
        text.binary(BinOper::Custom("COLLATE"), Expr::col(Alias::new(collation)))
    }

    /// Returns the expression that orders rows by a column. A choice is ordered by its rank elsewhere.
    pub(super) fn ordered(self, column: Expr, form: Form) -> Expr {
        match form {
            Form::InstantText => {
                let end: String = INSTANT_END.iter().collect();
                let text = Expr::from(function("rtrim").arg(column).arg(literal(&end)));
                self.by_bytes(text)
            }
            Form::Text | Form::DateText => self.by_bytes(column),
            _ => column,
        }
    }

    /// Returns the expression that compares a column for equality.
    ///
    /// PostgreSQL compares by bytes unless the collation is nondeterministic. No collation is specified for
    /// it, because PostgreSQL would not use its indexes otherwise.
    pub(super) fn same(self, column: Expr, form: Form) -> Expr {
        match (self, form) {
            (Self::Postgres, Form::Text | Form::Choice | Form::DateText) => column,
            (Self::Sqlite, Form::Choice) => self.by_bytes(column),
            _ => self.ordered(column, form),
        }
    }

    /// Returns the expression that selects a column.
    ///
    /// PostgreSQL converts the column to a string. This conversion never fails and loses nothing: PostgreSQL's
    /// numbers may be larger and more precise than those of the field, and its dates may be infinite.
    pub(super) fn shown(self, column: Expr, form: Form) -> Expr {
        let as_text = |value: Expr| value.cast_as(Alias::new("text"));
        // Numbers do not depend on the session's date format. Dates outside of the field's calendar keep
        // their string form.
        let number_or_text = |column: Expr, count: Expr| {
            let is_finite = Expr::from(function("isfinite").arg(column.clone()));
            let is_number = is_finite.and(column.clone().lt(literal("262000-01-01")));
            let count = CaseStatement::new().case(is_number, as_text(count));
            Expr::Case(Box::new(count.finally(as_text(column))))
        };
        match (self, form) {
            (Self::Sqlite, _) | (_, Form::Boolean) => column,
            (Self::Postgres, Form::DateNative) => {
                let epoch = literal("1970-01-01").cast_as(Alias::new("date"));
                number_or_text(column.clone(), column.sub(epoch))
            }
            (Self::Postgres, Form::InstantNative) => {
                let seconds = Expr::cust_with_expr("EXTRACT(EPOCH FROM $1)", column.clone());
                let micros = seconds.mul(number(1_000_000)).cast_as(Alias::new("bigint"));
                number_or_text(column, micros)
            }
            (Self::Postgres, _) => as_text(column),
        }
    }

    /// Converts a value to the operand of a comparison with a column.
    pub(super) fn operand(self, value: &Scalar, form: Form) -> Operand {
        match (value, form) {
            (Scalar::Bool(value), _) => Operand::Exact(Expr::val(*value)),
            (Scalar::Int(value), Form::Number) => {
                #[expect(clippy::cast_precision_loss, reason = "so the field compares it")]
                let value = *value as f64;
                Operand::Exact(Expr::val(value))
            }
            (Scalar::Int(value), _) => match i64::try_from(*value) {
                Ok(value) => Operand::Exact(Expr::val(value)),
                Err(_) if *value < 0 => Operand::Smallest,
                Err(_) => Operand::Largest,
            },
            (Scalar::Float(value), _) => Operand::Exact(Expr::val(*value)),
            (Scalar::Text(text), _) => match (self, text.split_once('\0')) {
                // Strings of PostgreSQL cannot contain this character. It sorts before all others.
                (Self::Postgres, Some((before, _))) => Operand::Above(Expr::val(before)),
                _ => Operand::Exact(Expr::val(text.as_ref())),
            },
            (Scalar::Date(date), Form::DateNative) => self.native_date(*date),
            (Scalar::Date(date), _) => match date.year() {
                ..0 => Operand::Smallest,
                0..10_000 => Operand::Exact(Expr::val(date.to_string())),
                _ => Operand::Largest,
            },
            (Scalar::Instant(instant), Form::Unix(unit)) => {
                let all = nanoseconds(instant);
                match i64::try_from(all.div_euclid(unit)) {
                    Ok(whole) if all.rem_euclid(unit) == 0 => Operand::Exact(Expr::val(whole)),
                    Ok(whole) => Operand::Above(Expr::val(whole)),
                    Err(_) if all < 0 => Operand::Smallest,
                    Err(_) => Operand::Largest,
                }
            }
            (Scalar::Instant(instant), Form::InstantNative) => self.native_instant(instant),
            (Scalar::Instant(instant), _) => match instant.year() {
                ..0 => Operand::Smallest,
                0..10_000 => Operand::Exact(Expr::val(ordered_instant_text(instant))),
                _ => Operand::Largest,
            },
            (Scalar::Bytes(_) | Scalar::RawText(_), _) => {
                Operand::Exact(self.stored_operand(value, form))
            }
            (Scalar::Stored(value), _) => Operand::Exact(self.stored_operand(value, form)),
            (Scalar::Null, _) => Operand::Smallest,
        }
    }

    /// Converts a date.
    fn native_date(self, date: NaiveDate) -> Operand {
        let days = date.signed_duration_since(NaiveDate::default()).num_days();
        if days < POSTGRES_FIRST_DAY {
            return Operand::Smallest;
        }
        let days = Expr::val(days).cast_as(Alias::new("integer"));
        Operand::Exact(literal("1970-01-01").cast_as(Alias::new("date")).add(days))
    }

    /// Converts an instant. PostgreSQL stores microseconds, and has its own notation for years before 1.
    fn native_instant(self, instant: &DateTime<Utc>) -> Operand {
        let all = nanoseconds(instant);
        let micros = i64::try_from(all.div_euclid(1_000)).ok();
        let Some(whole) = micros.and_then(DateTime::<Utc>::from_timestamp_micros) else {
            return if all < 0 { Operand::Smallest } else { Operand::Largest };
        };
        if whole.timestamp() < POSTGRES_FIRST_DAY * SECONDS_PER_DAY {
            return Operand::Smallest;
        }
        let (year, era) =
            if whole.year() > 0 { (whole.year(), "") } else { (1 - whole.year(), " BC") };
        let (month, day, time) = (whole.month(), whole.day(), whole.time());
        let (hour, minute, second) = (time.hour(), time.minute(), time.second());
        let micros = time.nanosecond() / 1_000;
        let text = format!(
            "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{micros:06}+00{era}"
        );
        let value = Expr::val(text).cast_as(Alias::new("timestamptz"));
        if all.rem_euclid(1_000) == 0 { Operand::Exact(value) } else { Operand::Above(value) }
    }

    /// Returns the value at a path inside a JSON document.
    ///
    /// ```sql
    /// json_extract("metadata", '$.owner')  -- SQLite
    /// "metadata" #>> '{owner}'             -- PostgreSQL
    /// ```
    pub(super) fn in_json(self, document: Expr, path: &[&str], form: Form) -> Expr {
        match self {
            Self::Sqlite => {
                let path = path.iter().fold("$".to_owned(), |mut all, name| {
                    all.push('.');
                    all.push_str(&sqlite_label(name));
                    all
                });
                let document = self.document(document);
                Expr::from(function("json_extract").arg(document).arg(literal(&path)))
            }
            Self::Postgres => {
                let names: Vec<_> = path.iter().map(|name| postgres_label(name)).collect();
                let path = literal(&format!("{{{}}}", names.join(",")));
                let part = document.clone().binary(BinOper::Custom("#>"), path.clone());
                let expected = match form {
                    Form::Json => return part,
                    Form::Boolean => Some("boolean"),
                    Form::Integer | Form::Number => Some("number"),
                    _ => None,
                };
                let text = document.binary(BinOper::Custom("#>>"), path);
                let Some(expected) = expected else { return text };
                // A document may contain values of any type.
                let kind = Expr::from(function("jsonb_typeof").arg(part));
                let value = self.read_text(text, form);
                Expr::Case(Box::new(CaseStatement::new().case(kind.eq(literal(expected)), value)))
            }
        }
    }

    /// Converts a value of a JSON document. PostgreSQL returns it as a string.
    pub(super) fn read_text(self, text: Expr, form: Form) -> Expr {
        let name = match (self, form) {
            (Self::Postgres, Form::Boolean) => "boolean",
            // The number may exceed the range of the field, or have a fraction.
            (Self::Postgres, Form::Integer | Form::Number) => "numeric",
            _ => return text,
        };
        text.cast_as(Alias::new(name))
    }

    /// Returns the condition that a column contains a string. Both databases return the position of the
    /// string, starting with 1.
    pub(super) fn has(self, text: Expr, part: &str) -> Expr {
        self.place_of(text, part).gt(number(0))
    }

    fn place_of(self, text: Expr, part: &str) -> Expr {
        let name = match self {
            Self::Sqlite => "instr",
            Self::Postgres => "strpos",
        };
        // PostgreSQL cannot search for a substring with a nondeterministic collation.
        let text = if self == Self::Postgres { self.by_bytes(text) } else { text };
        Expr::from(function(name).arg(text).arg(Expr::val(part)))
    }

    /// Returns `true` if the database can store this string.
    pub(super) fn holds(self, text: &str) -> bool {
        self == Self::Sqlite || !text.contains('\0')
    }
}

fn nanoseconds(instant: &DateTime<Utc>) -> i128 {
    i128::from(instant.timestamp()) * NANOSECONDS + i128::from(instant.timestamp_subsec_nanos())
}

/// Returns a member's name in SQLite's JSON paths.
fn sqlite_label(name: &str) -> String {
    let plain = |each: char| each.is_ascii_alphanumeric() || each == '_';
    if name.chars().all(plain) && !name.is_empty() {
        name.to_owned()
    } else {
        format!("\"{name}\"")
    }
}

/// Returns a member's name in PostgreSQL's JSON paths. These paths are arrays of strings.
fn postgres_label(name: &str) -> String {
    let plain = |each: char| each.is_ascii_alphanumeric() || each == '_';
    if name.chars().all(plain) && !name.is_empty() && !name.eq_ignore_ascii_case("null") {
        name.to_owned()
    } else {
        format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
    }
}

/// Formats an instant for comparisons with stored strings. The result is the same for every number of
/// fractional digits, and sorts by time.
pub(super) fn ordered_instant_text(instant: &DateTime<Utc>) -> String {
    let text = instant_text(instant);
    text.trim_end_matches(INSTANT_END).to_owned()
}

/// The characters at the end of a stored instant without influence on its order: `Z`, trailing zeros and the
/// decimal point.
pub(super) const INSTANT_END: [char; 3] = ['Z', '0', '.'];
