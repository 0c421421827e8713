//! Columns whose type is not the one that the field's type suggests.

use std::sync::Arc;

use sea_query::{Alias, Expr, ExprTrait as _};

use super::dialect::{Dialect, Form, Operand};
use crate::field_info::FieldInfo;
use crate::value::Scalar;

/// The type of a column, as [`SqlTable::column_type`](super::SqlTable::column_type) names it.
#[derive(Debug, Clone)]
pub(super) enum ColumnType {
    /// An identifier with an index that only its own type uses.
    Uuid,
    /// An instant without a time zone, in UTC, in PostgreSQL.
    Timestamp,
    /// An instant in UTC as the text that SQLite's functions write: `2031-05-06 07:00:00`.
    Datetime,
    /// An array with this type.
    Array(Arc<str>),
    /// A type with this name whose values are converted to text and back.
    Text(Arc<str>),
}

impl ColumnType {
    pub(super) fn of(name: &str) -> Self {
        match name {
            "uuid" => Self::Uuid,
            "timestamp" | "timestamp without time zone" => Self::Timestamp,
            "datetime" => Self::Datetime,
            name if name.ends_with("[]") => Self::Array(name.into()),
            name => Self::Text(name.into()),
        }
    }

    /// Converts the column to the type that the field's type suggests.
    pub(super) fn read(&self, column: Expr) -> Expr {
        match self {
            // Its seconds since 1970 are those of UTC.
            Self::Timestamp => column,
            Self::Datetime => {
                Expr::cust_with_expr("(rtrim(replace(?, ' ', 'T'), 'Z') || 'Z')", column)
            }
            Self::Array(_) => Expr::cust_with_expr("to_jsonb($1)", column),
            Self::Uuid | Self::Text(_) => column.cast_as(Alias::new("text")),
        }
    }

    /// Converts a value to the type of the column.
    pub(super) fn write(&self, value: Expr) -> Expr {
        match self {
            Self::Timestamp => in_utc(value),
            Self::Datetime => Expr::cust_with_expr("rtrim(replace(?, 'T', ' '), 'Z')", value),
            Self::Array(name) => {
                Expr::cust_with_expr("ARRAY(SELECT jsonb_array_elements_text($1))", value)
                    .cast_as(Alias::new(name.as_ref()))
            }
            Self::Uuid => value.cast_as(Alias::new("uuid")),
            Self::Text(name) => value.cast_as(Alias::new(name.as_ref())),
        }
    }

    /// Converts an operand of a comparison with the [read](Self::read) column.
    pub(super) fn operand(&self, operand: Operand) -> Operand {
        match (self, operand) {
            (Self::Timestamp, Operand::Exact(value)) => Operand::Exact(in_utc(value)),
            (Self::Timestamp, Operand::Above(value)) => Operand::Above(in_utc(value)),
            (_, operand) => operand,
        }
    }

    /// Whether a database has columns of the type.
    pub(super) fn is_of(&self, dialect: Dialect) -> bool {
        (dialect == Dialect::Sqlite) == matches!(self, Self::Datetime)
    }

    /// Whether the column itself is compared for equality, so that its indexes serve.
    pub(super) fn is_compared(&self, form: Form) -> bool {
        match self {
            Self::Uuid => form == Form::Text,
            Self::Text(_) => form == Form::Choice,
            Self::Timestamp | Self::Datetime | Self::Array(_) => false,
        }
    }

    /// Returns the operand of a comparison with the column itself, or `None` if the column cannot contain the value.
    pub(super) fn equal(&self, value: &Scalar, info: &FieldInfo) -> Option<Expr> {
        let Scalar::Text(text) = value else { return None };
        if matches!(self, Self::Uuid) {
            // PostgreSQL converts capitals.
            let text = text.to_ascii_lowercase();
            return is_uuid(&text).then(|| self.write(Expr::val(text)));
        }
        let fits = info.choices.iter().any(|name| name.as_str() == text);
        fits.then(|| self.write(Expr::val(text.as_ref())))
    }
}

fn in_utc(value: Expr) -> Expr {
    Expr::cust_with_expr("($1 AT TIME ZONE 'UTC')", value)
}

/// Whether this is the text into which PostgreSQL converts a UUID.
fn is_uuid(text: &str) -> bool {
    let hyphens = [8, 13, 18, 23];
    text.len() == 36
        && text.bytes().enumerate().all(|(place, byte)| {
            if hyphens.contains(&place) {
                byte == b'-'
            } else {
                byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)
            }
        })
}

#[cfg(test)]
mod tests {
    use super::is_uuid;

    #[test]
    fn a_uuid_has_one_spelling() {
        assert!(is_uuid("0b8a5f0c-1d2e-4f3a-9b4c-5d6e7f8091a2"));
        for text in [
            "",
            "0b8a5f0c1d2e4f3a9b4c5d6e7f8091a2",
            "0B8A5F0C-1D2E-4F3A-9B4C-5D6E7F8091A2",
            "0b8a5f0c-1d2e-4f3a-9b4c-5d6e7f8091a",
            "0b8a5f0c-1d2e-4f3a-9b4c-5d6e7f8091ag",
            "0b8a5f0c-1d2e-4f3a-9b4c_5d6e7f8091a2",
        ] {
            assert!(!is_uuid(text), "{text}");
        }
    }
}
