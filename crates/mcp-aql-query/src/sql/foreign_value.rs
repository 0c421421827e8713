//! Comparisons with stored values that the field's type does not allow.
//!
//! Other programs can store such values. A query treats them as missing, as in memory: no filter finds them
//! by their order, and no aggregate counts them.

use sea_query::{Alias, CaseStatement, Expr, ExprTrait as _};

use super::context::Source;
use super::dialect::{Dialect, Form, literal};
use crate::value::Scalar;

/// The condition that a number of PostgreSQL is in the range of `f64`.
const IN_RANGE: &str = "($1 BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308)";

/// The condition that a number of PostgreSQL is in the range of `f32` after rounding.
const IN_SINGLE_RANGE: &str = "($1 > -3.4028235677973366e38 AND $1 < 3.4028235677973366e38)";

/// A number of PostgreSQL in the range of `f64`, or `NULL`.
///
/// The conversion of a `numeric` to `double precision` fails for numbers that are too large, and for numbers that would
/// become zero.
const CONVERTIBLE: &str = "(CASE WHEN $1 BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 \
    THEN CASE WHEN $1 > -2.5e-324 AND $1 < 2.5e-324 THEN 0 ELSE $1 END END)";

impl Source {
    /// Replaces the result of an expression by `NULL` if the field's type does not allow the stored value.
    pub(super) fn if_allowed(&self, dialect: Dialect, expression: Expr) -> Expr {
        match self.is_allowed(dialect) {
            Some(is_allowed) => {
                Expr::Case(Box::new(CaseStatement::new().case(is_allowed, expression)))
            }
            None => expression,
        }
    }

    /// Returns the condition that the field's type allows the stored value, or `None` if the column can only
    /// contain allowed values.
    pub(super) fn is_allowed(&self, dialect: Dialect) -> Option<Expr> {
        match dialect {
            Dialect::Sqlite => self.is_allowed_in_sqlite(),
            // A `numeric` column may contain larger numbers than the field, and PostgreSQL treats `NaN` as
            // larger than all numbers.
            Dialect::Postgres => {
                let may_be_infinite = self.form == Form::Number && self.typed.is_none();
                let range = if self.info.single { IN_SINGLE_RANGE } else { IN_RANGE };
                may_be_infinite.then(|| self.with_column(range, 1))
            }
        }
    }

    /// Returns the number in the column as a float, or `NULL` if the field does not allow the value.
    ///
    /// PostgreSQL's own sums of numbers depend on the type of the column. In SQLite, the sum of integers
    /// stored by another program fails if it exceeds 64 bits.
    pub(super) fn as_double(&self, dialect: Dialect) -> Expr {
        let column = self.column.clone();
        match dialect {
            Dialect::Sqlite => self.if_allowed(dialect, column.cast_as(Alias::new("real"))),
            Dialect::Postgres => {
                let number = match self.typed {
                    Some(_) => column,
                    None => self.with_column(CONVERTIBLE, 1),
                };
                number.cast_as(Alias::new("double precision"))
            }
        }
    }

    /// A column of SQLite can contain values of every type.
    fn is_allowed_in_sqlite(&self) -> Option<Expr> {
        Some(match self.form {
            Form::Boolean | Form::Unix(_) => self.with_column("(typeof(?) = 'integer')", 1),
            // From 2⁵³ on, a floating-point number may stand for another whole number.
            Form::Integer => self.with_column(
                "(typeof(?) = 'integer' OR (typeof(?) = 'real' AND ? = CAST(? AS INTEGER) \
                 AND ? BETWEEN -9007199254740991 AND 9007199254740991))",
                5,
            ),
            // `abs` fails for the smallest integer.
            Form::Number if self.info.single => self.with_column(
                "(typeof(?) IN ('integer', 'real') AND ? > -3.4028235677973366e38 AND ? < 3.4028235677973366e38)",
                3,
            ),
            Form::Number => self
                .with_column("(typeof(?) IN ('integer', 'real') AND ? > -9e999 AND ? < 9e999)", 3),
            Form::Text | Form::Choice => self.with_column("(typeof(?) = 'text')", 1),
            // A string with a year before 0 does not sort by time.
            Form::DateText => self.with_column("(? = date(?) AND substr(?, 1, 1) <> '-')", 3),
            // An instant with an offset is not allowed, because the comparison of strings would sort it
            // incorrectly. SQLite changes a day or an hour that does not exist, such as February 30.
            Form::InstantText => self.with_column(
                "(? GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9]*' \
                 AND substr(?, 20) NOT GLOB '*[^.0-9Z]*' AND datetime(?) IS NOT NULL \
                 AND datetime(substr(?, 1, 19)) = replace(substr(?, 1, 19), 'T', ' '))",
                5,
            ),
            Form::DateNative | Form::InstantNative | Form::Json => return None,
        })
    }

    /// Returns SQL with the column at each placeholder.
    fn with_column(&self, sql: &'static str, places: usize) -> Expr {
        Expr::cust_with_exprs(sql, vec![self.column.clone(); places])
    }
}

impl Dialect {
    /// Returns a value of a cursor, exactly as the column contains it.
    pub(super) fn stored_operand(self, value: &Scalar, form: Form) -> Expr {
        match (self, value, form) {
            // PostgreSQL converts a literal to the type of the column, for every type of numbers and times.
            // The strings of such values contain no character that could end the literal.
            (
                Self::Postgres,
                Scalar::Text(text),
                Form::Number
                | Form::Integer
                | Form::Unix(_)
                | Form::DateNative
                | Form::InstantNative,
            ) if !text.contains(['\'', '\\', '\0']) => literal(text),
            (_, Scalar::Int(value), _) => Expr::val(i64::try_from(*value).unwrap_or(i64::MAX)),
            (_, Scalar::Float(value), _) => Expr::val(*value),
            (_, Scalar::Bytes(bytes), _) => Expr::val(bytes.clone()),
            (_, Scalar::RawText(bytes), _) => Expr::val(bytes.clone()).cast_as(Alias::new("text")),
            (_, Scalar::Text(text), _) => Expr::val(text.as_ref()),
            _ => Expr::null(),
        }
    }
}
