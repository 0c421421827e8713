//! Columns whose type differs from the default for their field.

use std::sync::Arc;

use mcp_aql_core::OperationError;
use sea_query::extension::postgres::PgBinOper;
use sea_query::{Alias, Expr, ExprTrait as _};
use serde_json::Value;

use super::dialect::{Dialect, Form, Operand};
use crate::field_info::FieldInfo;
use crate::value::Scalar;

/// The type of a column, set with [`SqlTable::column_type`](super::SqlTable::column_type).
#[derive(Debug, Clone)]
pub(super) enum SqlType {
    /// `uuid`. It is compared as such, because a comparison of strings would not use its index.
    Uuid,
    /// A PostgreSQL timestamp without a time zone, in UTC.
    Timestamp,
    /// An instant in UTC in the format of SQLite's functions: `2031-05-06 07:00:00`.
    Datetime,
    /// An array of this type.
    Array(Arc<str>),
    /// Any other type. Its values are converted to strings and back.
    Text(Arc<str>),
}

impl SqlType {
    pub(super) fn of(name: &str) -> Self {
        match name {
            "uuid" => Self::Uuid,
            "timestamp" | "timestamp without time zone" => Self::Timestamp,
            "datetime" => Self::Datetime,
            name if name.ends_with("[]") => Self::Array(name.into()),
            name => Self::Text(name.into()),
        }
    }

    /// Converts the column to the default type for the field.
    pub(super) fn read(&self, column: Expr) -> Expr {
        match self {
            // Its seconds since 1970 are those of UTC, so no conversion is necessary.
            Self::Timestamp => column,
            Self::Datetime => {
                Expr::cust_with_expr("(rtrim(replace(?, ' ', 'T'), 'Z') || 'Z')", column)
            }
            Self::Array(_) => Expr::cust_with_expr("to_jsonb($1)", column),
            Self::Uuid | Self::Text(_) => column.cast_as(Alias::new("text")),
        }
    }

    /// Converts a value to the type of the column.
    ///
    /// The conversion goes through a JSON record, so that the database rejects the same values as in a plain
    /// INSERT. An explicit cast would shorten or pad the value to the length of the type.
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

    /// Returns the maximum number of bytes of a type that PostgreSQL shortens without an error.
    fn max_bytes(&self) -> Option<usize> {
        let (Self::Text(name) | Self::Array(name)) = self else { return None };
        let name = name.trim_end_matches("[]");
        match name.strip_prefix("pg_catalog.").unwrap_or(name) {
            "\"char\"" => Some(1),
            "name" => Some(63),
            _ => None,
        }
    }

    /// Returns `true` if the type can hold a string without shortening it.
    pub(super) fn holds(&self, text: &str) -> bool {
        self.max_bytes().is_none_or(|bytes| text.len() <= bytes)
    }

    /// Rejects a value that PostgreSQL would shorten.
    pub(super) fn check(&self, path: &str, value: &Value) -> Result<(), OperationError> {
        let entries = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        let is_held = |entry: &Value| entry.as_str().is_none_or(|text| self.holds(text));
        match self.max_bytes().filter(|_| !entries.iter().all(is_held)) {
            Some(bytes) => {
                let expected = format!("must have up to {bytes} bytes in UTF-8");
                Err(OperationError::invalid_value(path, expected))
            }
            None => Ok(()),
        }
    }

    /// Converts the value that the column, as converted by [`read`](Self::read), is compared with.
    pub(super) fn operand(&self, operand: Operand, form: Form) -> Operand {
        let convert = |value: Expr| match self {
            Self::Timestamp => in_utc(value),
            _ if self.is_ordered(form) => self.bound(value),
            _ => value,
        };
        match operand {
            Operand::Exact(value) => Operand::Exact(convert(value)),
            Operand::Above(value) => Operand::Above(convert(value)),
            other => other,
        }
    }

    /// Returns `true` if the dialect's databases have columns of this type.
    pub(super) fn is_of(&self, dialect: Dialect) -> bool {
        (dialect == Dialect::Sqlite) == matches!(self, Self::Datetime)
    }

    /// Returns `true` if the column itself is compared for equality. The comparison then uses its indexes,
    /// and all forms of a value are equal.
    pub(super) fn is_compared(&self, form: Form) -> bool {
        match self {
            Self::Uuid => form == Form::Text,
            Self::Text(_) => form == Form::Choice || (form == Form::Text && self.order().is_some()),
            Self::Timestamp | Self::Datetime | Self::Array(_) => false,
        }
    }

    /// Returns `true` if the column itself is compared for its order.
    pub(super) fn is_ordered(&self, form: Form) -> bool {
        form == Form::Text && self.order() == Some(TypeOrder::Own)
    }

    /// Returns the order of the values, if the type has an equality of its own.
    fn order(&self) -> Option<TypeOrder> {
        let Self::Text(name) = self else { return None };
        let name = without_length(name);
        let plain = name.rsplit('.').next().unwrap_or_default();
        let order = |names: &[&str], order| names.contains(&plain).then_some(order);
        order(&OWN_ORDER, TypeOrder::Own).or_else(|| order(&ORDERED_BY_TEXT, TypeOrder::Text))
    }

    /// Converts a bound to the type of the column without its length, because the length would round it.
    fn bound(&self, value: Expr) -> Expr {
        match self {
            Self::Text(name) => value.cast_as(Alias::new(without_length(name))),
            _ => value,
        }
    }

    /// Returns `true` if strings are converted to values of the type. The conversion may fail.
    pub(super) const fn is_converted(&self) -> bool {
        matches!(self, Self::Uuid | Self::Text(_))
    }

    /// Returns `true` if PostgreSQL reports a malformed value of the type with the same errors as a malformed
    /// statement.
    pub(super) fn is_parsed(&self) -> bool {
        const TYPES: [&str; 5] = ["hstore", "jsonpath", "lquery", "ltree", "ltxtquery"];
        matches!(self, Self::Text(name) if name.starts_with("reg") || TYPES.contains(&&**name))
    }

    /// Returns the canonical string of a value, as the [read](Self::read) column contains it.
    pub(super) fn canonical(&self, value: Expr) -> Expr {
        self.write(value).cast_as(Alias::new("text"))
    }

    /// Returns the condition that the array in a column has the entries of a JSON list.
    ///
    /// If the type of the entries has an equality of its own, the arrays are compared. Otherwise both are
    /// compared as JSON.
    pub(super) fn contains(&self, column: &Expr, list: Expr) -> Option<Expr> {
        let Self::Array(name) = self else { return None };
        let entries = Self::Text(name.trim_end_matches("[]").into());
        let array = self.write(list);
        Some(match entries.order() {
            Some(_) => column.clone().binary(PgBinOper::Contains, array),
            None => self.read(column.clone()).binary(PgBinOper::Contains, self.read(array)),
        })
    }

    /// Returns the name of the type for messages, if not every string is a value of the type.
    pub(super) fn name_to_callers(&self) -> Option<&str> {
        match self {
            Self::Uuid => Some("uuid"),
            Self::Array(name) | Self::Text(name) => Some(name),
            Self::Timestamp | Self::Datetime => None,
        }
    }

    /// Returns the operand of a comparison with the column itself, or `None` if the column cannot contain the
    /// value.
    pub(super) fn equal(&self, value: &Scalar, info: &FieldInfo, form: Form) -> Option<Expr> {
        let Scalar::Text(text) = value else { return None };
        if matches!(self, Self::Uuid) {
            return uuid(text).map(|text| self.write(Expr::val(text)));
        }
        if form == Form::Text {
            return (!text.contains('\0')).then(|| self.write(Expr::val(text.as_ref())));
        }
        let Self::Text(name) = self else { return None };
        let fits = info.choices.iter().any(|name| name.as_str() == text);
        fits.then(|| Expr::val(text.as_ref()).cast_as(Alias::new(name.as_ref())))
    }
}

/// The order of the values of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TypeOrder {
    Own,
    /// The order of their string forms, because PostgreSQL has no `min` for the type.
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

/// The types whose values have several string forms but no `min`.
const ORDERED_BY_TEXT: [&str; 15] = [
    "macaddr",
    "macaddr8",
    "int4range",
    "int8range",
    "numrange",
    "tsrange",
    "tstzrange",
    "daterange",
    "int4multirange",
    "int8multirange",
    "nummultirange",
    "tsmultirange",
    "tstzmultirange",
    "datemultirange",
    "bytea",
];

fn in_utc(value: Expr) -> Expr {
    Expr::cust_with_expr("($1 AT TIME ZONE 'UTC')", value)
}

/// Returns the name of a type without its length: `time without time zone` for `time(3) without time zone`.
fn without_length(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    let (before, after) = name.split_once('(').unwrap_or((&name, ""));
    let after = after.split_once(')').map_or("", |(_, after)| after);
    format!("{}{after}", before.trim_end())
}

/// Returns the digits of a UUID in any form that PostgreSQL accepts: with capitals, in braces, with hyphens elsewhere
/// or without hyphens.
fn uuid(text: &str) -> Option<String> {
    let inner = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let digits: String = inner.unwrap_or(text).chars().filter(|letter| *letter != '-').collect();
    let is_uuid = digits.len() == 32 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_uuid.then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::{SqlType, TypeOrder, uuid, without_length};

    #[test]
    fn bounds_have_no_length() {
        for (name, plain, order) in [
            ("inet", "inet", Some(TypeOrder::Own)),
            ("numeric(30, 10)", "numeric", Some(TypeOrder::Own)),
            ("time(3) without time zone", "time without time zone", Some(TypeOrder::Own)),
            ("public.citext", "public.citext", Some(TypeOrder::Own)),
            ("int4multirange", "int4multirange", Some(TypeOrder::Text)),
            ("CHAR(2)", "char", None),
            ("mood", "mood", None),
        ] {
            assert_eq!(without_length(name), plain);
            assert_eq!(SqlType::of(name).order(), order, "{name}");
        }
    }

    #[test]
    fn a_uuid_has_several_spellings() {
        let digits = Some("0b8a5f0c1d2e4f3a9b4c5d6e7f8091a2".to_owned());
        for text in [
            "0b8a5f0c-1d2e-4f3a-9b4c-5d6e7f8091a2",
            "{0b8a5f0c-1d2e-4f3a-9b4c-5d6e7f8091a2}",
            "0b8a5f0c1d2e4f3a9b4c5d6e7f8091a2",
            "0b8a-5f0c1d2e4f3a9b4c-5d6e7f8091a2",
        ] {
            assert_eq!(uuid(text), digits, "{text}");
        }
        assert!(uuid("0B8A5F0C-1D2E-4F3A-9B4C-5D6E7F8091A2").is_some());
        for text in [
            "",
            "0b8a5f0c-1d2e-4f3a-9b4c-5d6e7f8091a",
            "0b8a5f0c-1d2e-4f3a-9b4c-5d6e7f8091ag",
            "0b8a5f0c-1d2e-4f3a-9b4c_5d6e7f8091a2",
            "{0b8a5f0c-1d2e-4f3a-9b4c-5d6e7f8091a2",
        ] {
            assert_eq!(uuid(text), None, "{text}");
        }
    }
}
