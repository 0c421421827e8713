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

    /// Converts a value to the type of the column, which refuses it as it refuses the literal of a plain INSERT: an
    /// explicit cast would shorten or pad the value to the length of the type.
    pub(super) fn write(&self, value: Expr) -> Expr {
        match self {
            Self::Timestamp => in_utc(value),
            Self::Datetime => Expr::cust_with_expr("rtrim(replace(?, 'T', ' '), 'Z')", value),
            Self::Uuid => value.cast_as(Alias::new("uuid")),
            Self::Array(name) | Self::Text(name) => Expr::cust_with_expr(
                format!(
                    "(SELECT one.value FROM jsonb_to_record(jsonb_build_object('value', $1)) AS one(value {name}))"
                ),
                value,
            ),
        }
    }

    /// Converts an operand of a comparison with the [read](Self::read) column.
    pub(super) fn operand(&self, operand: Operand, form: Form) -> Operand {
        let convert = |value: Expr| match self {
            Self::Timestamp => in_utc(value),
            _ if self.is_ordered(form) => self.compared(value),
            _ => value,
        };
        match operand {
            Operand::Exact(value) => Operand::Exact(convert(value)),
            Operand::Above(value) => Operand::Above(convert(value)),
            other => other,
        }
    }

    /// Whether a database has columns of the type.
    pub(super) fn is_of(&self, dialect: Dialect) -> bool {
        (dialect == Dialect::Sqlite) == matches!(self, Self::Datetime)
    }

    /// Whether the column itself is compared for equality, so that its indexes serve and all forms of a value are equal.
    pub(super) fn is_compared(&self, form: Form) -> bool {
        match self {
            Self::Uuid => form == Form::Text,
            Self::Text(_) => form == Form::Choice || (form == Form::Text && self.own().is_some()),
            Self::Timestamp | Self::Datetime | Self::Array(_) => false,
        }
    }

    /// Whether the column itself is compared for its order.
    pub(super) fn is_ordered(&self, form: Form) -> bool {
        form == Form::Text && self.own().is_some_and(|(_, order)| order == Order::Own)
    }

    /// The name of the type without its length, if PostgreSQL compares its values in a way of its own.
    fn own(&self) -> Option<(String, Order)> {
        let Self::Text(name) = self else { return None };
        let name = name.to_ascii_lowercase();
        let (before, after) = name.split_once('(').unwrap_or((&name, ""));
        let after = after.split_once(')').map_or("", |(_, after)| after);
        let name = format!("{}{after}", before.trim_end());
        let plain = name.rsplit('.').next().unwrap_or_default();
        let order = |names: &[&str], order| names.contains(&plain).then_some(order);
        let order =
            order(&OWN_ORDER, Order::Own).or_else(|| order(&ORDERED_BY_TEXT, Order::Text))?;
        Some((name, order))
    }

    /// Converts a text to the type of the column for a comparison.
    pub(super) fn compared(&self, value: Expr) -> Expr {
        match self.own() {
            Some((name, _)) => value.cast_as(Alias::new(name)),
            None => value,
        }
    }

    /// The name of the type, if it does not have a value for each text.
    pub(super) fn name_to_callers(&self) -> Option<&str> {
        match self {
            Self::Uuid => Some("uuid"),
            Self::Array(name) | Self::Text(name) => Some(name),
            Self::Timestamp | Self::Datetime => None,
        }
    }

    /// Returns the operand of a comparison with the column itself, or `None` if the column cannot contain the value.
    pub(super) fn equal(&self, value: &Scalar, info: &FieldInfo, form: Form) -> Option<Expr> {
        let Scalar::Text(text) = value else { return None };
        if matches!(self, Self::Uuid) {
            // PostgreSQL converts capitals.
            let text = text.to_ascii_lowercase();
            return is_uuid(&text).then(|| self.write(Expr::val(text)));
        }
        if form == Form::Text {
            return (!text.contains('\0')).then(|| self.compared(Expr::val(text.as_ref())));
        }
        let Self::Text(name) = self else { return None };
        let fits = info.choices.iter().any(|name| name.as_str() == text);
        fits.then(|| Expr::val(text.as_ref()).cast_as(Alias::new(name.as_ref())))
    }
}

/// How values of a type are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Own,
    /// As their texts, because the type has no smallest value of several.
    Text,
}

/// The types of PostgreSQL whose values have an order and an equality of their own.
const OWN_ORDER: [&str; 26] = [
    "inet",
    "cidr",
    "time",
    "time without time zone",
    "timetz",
    "time with time zone",
    "interval",
    "money",
    "oid",
    "numeric",
    "decimal",
    "citext",
    "pg_lsn",
    "date",
    "timestamptz",
    "timestamp with time zone",
    "smallint",
    "int2",
    "integer",
    "int4",
    "bigint",
    "int8",
    "real",
    "float4",
    "double precision",
    "float8",
];

/// The types whose values have several texts, and no smallest one.
const ORDERED_BY_TEXT: [&str; 9] = [
    "macaddr",
    "macaddr8",
    "int4range",
    "int8range",
    "numrange",
    "tsrange",
    "tstzrange",
    "daterange",
    "bytea",
];

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
    use super::{ColumnType, is_uuid};

    #[test]
    fn types_are_compared_without_their_length() {
        for (name, own) in [
            ("inet", Some("inet")),
            ("numeric(30, 10)", Some("numeric")),
            ("time(3) without time zone", Some("time without time zone")),
            ("public.citext", Some("public.citext")),
            ("CHAR(2)", None),
            ("mood", None),
        ] {
            assert_eq!(ColumnType::of(name).own().map(|(name, _)| name).as_deref(), own, "{name}");
        }
    }

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
