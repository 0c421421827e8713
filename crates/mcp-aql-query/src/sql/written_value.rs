//! Converts values of fields into the values of their columns.

use mcp_aql_core::OperationError;
use mcp_aql_protocol::ErrorCode;
use sea_query::{Alias, Expr, ExprTrait as _};
use serde_json::Value;

use super::SqlError;
use super::context::Context;
use super::dialect::{Dialect, Form, Operand};
use crate::columns::instant_of;
use crate::field_info::FieldInfo;
use crate::value::{Scalar, instant_text};

/// Returns a value in the form in which its column stores it.
pub(super) fn stored(
    context: &Context<'_>,
    info: &FieldInfo,
    value: &Value,
) -> Result<Expr, SqlError> {
    let dialect = context.dialect();
    let form = context.form(info);
    let wrong = |expected: &'static str| SqlError::Column {
        path: info.path.clone(),
        expected,
        found: "another value in the record",
    };
    let text = || value.as_str().ok_or_else(|| wrong("text"));
    Ok(match form {
        Form::Boolean => Expr::val(value.as_bool().ok_or_else(|| wrong("a boolean"))?),
        Form::Integer => Expr::val(value.as_i64().ok_or_else(|| {
            let expected = format!("must be {} or less", i64::MAX);
            SqlError::Request(OperationError::invalid_value(&info.path, expected))
        })?),
        Form::Number => {
            let number = value.as_f64().ok_or_else(|| wrong("a number"))?;
            #[expect(clippy::cast_possible_truncation, reason = "the field has 32 bits")]
            exact_number(dialect, if info.single { f64::from(number as f32) } else { number })
        }
        Form::InstantText => {
            let instant = instant_of(text()?).ok_or_else(|| wrong("an instant"))?;
            Expr::val(instant_text(&instant))
        }
        Form::Text | Form::Choice | Form::DateText => {
            let text = text()?;
            if !dialect.holds(text) {
                return Err(SqlError::Request(OperationError::new(
                    ErrorCode::ValidationInvalidValue,
                    format!(
                        "'{}' contains the character U+0000. The database cannot store it: leave it out",
                        info.path
                    ),
                )));
            }
            Expr::val(text)
        }
        Form::DateNative => {
            let date = text()?.parse().map_err(|_| wrong("a date"))?;
            written_operand(dialect.operand(&Scalar::Date(date), form))
                .ok_or_else(|| wrong("a date in the range of the database"))?
        }
        Form::InstantNative | Form::Unix(_) => {
            let instant = instant_of(text()?).ok_or_else(|| wrong("an instant"))?;
            written_operand(dialect.operand(&Scalar::Instant(instant), form))
                .ok_or_else(|| wrong("an instant in the range of the database"))?
        }
        Form::Json => json(dialect, value.to_string()),
    })
}

/// Returns a JSON document. PostgreSQL would change the spelling of numbers in a `jsonb`, so the type of the column
/// decides.
pub(super) fn json(dialect: Dialect, document: String) -> Expr {
    match dialect {
        Dialect::Sqlite => Expr::val(document),
        Dialect::Postgres => Expr::val(document).cast_as(Alias::new("json")),
    }
}

/// Returns a number for a column of any numeric type.
///
/// PostgreSQL rounds a `double precision` to 15 digits when it writes it into a `numeric`. A `numeric` is
/// converted exactly, but has no negative zero.
fn exact_number(dialect: Dialect, number: f64) -> Expr {
    if dialect == Dialect::Sqlite || number == 0.0 {
        return Expr::val(number);
    }
    Expr::val(format!("{number:e}")).cast_as(Alias::new("numeric"))
}

/// Returns the value that a column stores: the operand, or the largest value below it.
fn written_operand(operand: Operand) -> Option<Expr> {
    match operand {
        Operand::Exact(value) | Operand::Above(value) => Some(value),
        Operand::Smallest | Operand::Largest => None,
    }
}
