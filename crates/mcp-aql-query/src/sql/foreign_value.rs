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
            // The bounds are the largest numbers of the field. A `numeric` column may contain larger ones, and
            // PostgreSQL treats `NaN` as larger than all numbers.
            Dialect::Postgres => {
                let may_be_infinite =
                    self.form == Form::Number && !self.inside && self.typed.is_none();
                may_be_infinite.then(|| self.with_column(IN_RANGE, 1))
            }
        }
    }

    /// A column of SQLite can contain values of every type.
    fn is_allowed_in_sqlite(&self) -> Option<Expr> {
        Some(match self.form {
            Form::Boolean | Form::Unix(_) => self.with_column("(typeof(?) = 'integer')", 1),
            Form::Integer => self.with_column(
                "(typeof(?) = 'integer' OR (typeof(?) = 'real' AND ? = CAST(? AS INTEGER)))",
                4,
            ),
            Form::Number => {
                self.with_column("(typeof(?) IN ('integer', 'real') AND abs(?) < 9e999)", 2)
            }
            Form::Text | Form::Choice => self.with_column("(typeof(?) = 'text')", 1),
            Form::DateText => self.with_column("(? = date(?))", 2),
            // An instant with an offset is not allowed, because the comparison of strings would sort it
            // incorrectly.
            Form::InstantText => self.with_column(
                "(? GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9]*' \
                 AND substr(?, 20) NOT GLOB '*[^.0-9Z]*' AND datetime(?) IS NOT NULL)",
                3,
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
