//! Chooses the Rust types of fields.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use crate::expression::{Check, Rule};
use crate::names::{camel, singular_of, snake, type_name};
use crate::table::{Column, ColumnKind, Table};

/// The endings of the types that `#[resource(operations)]` generates: `TaskFilter`, `TaskUpdate`, `TaskPage`,
/// `TaskList`.
const MADE_TYPES: [&str; 4] = ["Filter", "Update", "Page", "List"];

/// The names of all types in one source.
#[derive(Debug, Default)]
pub(crate) struct TypeNames {
    resources: BTreeSet<String>,
    enums: BTreeSet<String>,
}

impl TypeNames {
    /// Reserves the names of the resources for all tables.
    pub(crate) fn of(tables: &[Table]) -> Self {
        let singular = |table: &Table| singular_of(&snake(&table.name));
        let resources = tables.iter().map(|table| type_name(&singular(table))).collect();
        let mut names = Self { resources, enums: BTreeSet::new() };
        let rows: Vec<_> = tables.iter().map(|table| names.of_resource(&singular(table))).collect();
        names.resources.extend(rows);
        names
    }

    /// Returns the name of a resource's type.
    pub(crate) fn of_resource(&self, singular: &str) -> String {
        let name = type_name(singular);
        if self.is_made(&name) { format!("{name}Row") } else { name }
    }

    /// Returns `true` if a type with this name is generated for another type.
    fn is_made(&self, name: &str) -> bool {
        let mut stems = MADE_TYPES.iter().filter_map(|end| name.strip_suffix(end));
        stems.any(|stem| self.resources.contains(stem))
    }

    /// Reserves the name of an enum. If another type has the same name, a suffix is added.
    fn add_enum(&mut self, mut name: String) -> String {
        while self.resources.contains(&name) || self.enums.contains(&name) || self.is_made(&name) {
            name.push_str("Value");
        }
        self.enums.insert(name.clone());
        name
    }
}

/// The type of a field's values.
#[derive(Debug, Clone)]
pub(crate) struct ValueType {
    pub(crate) type_name: String,
    pub(crate) marks: Vec<String>,
    pub(crate) column_type: Option<String>,
    pub(crate) variants: Vec<(String, String)>,
}

/// The maximum depth of a default in JSON, because the macro `json!` expands it by recursion.
const MAX_JSON_DEPTH: usize = 16;

/// Returns a value as source for `json!`, or `None` if it is deeper than `depth`.
///
/// Strings are escaped for Rust, because JSON's escapes differ. Numbers need a suffix, because a number without one is
/// an `i32`.
fn json_literal(json: &Json, depth: usize) -> Option<String> {
    let depth = depth.checked_sub(1)?;
    Some(match json {
        Json::Null | Json::Bool(_) => json.to_string(),
        Json::Number(number) if number.is_u64() => format!("{number}_u64"),
        Json::Number(number) if number.is_i64() => format!("{number}_i64"),
        Json::Number(number) => format!("{:?}", number.as_f64()?),
        Json::String(text) => format!("{text:?}"),
        Json::Array(items) => {
            let items = items.iter().map(|item| json_literal(item, depth));
            format!("[{}]", items.collect::<Option<Vec<_>>>()?.join(", "))
        }
        Json::Object(members) => {
            let members = members
                .iter()
                .map(|(name, value)| Some(format!("{name:?}: {}", json_literal(value, depth)?)));
            format!("{{{}}}", members.collect::<Option<Vec<_>>>()?.join(", "))
        }
    })
}

impl ValueType {
    fn new(type_name: &str, marks: &[&str]) -> Self {
        Self {
            type_name: type_name.to_owned(),
            marks: marks.iter().map(|&mark| mark.to_owned()).collect(),
            column_type: None,
            variants: Vec::new(),
        }
    }

    fn stored_as(mut self, name: &str) -> Self {
        self.column_type = Some(name.to_owned());
        self
    }

    /// Returns `true` if the values can identify a record of another resource.
    pub(crate) fn is_identifier(&self) -> bool {
        ["String", "i16", "i32", "i64"].contains(&self.type_name.as_str())
            || !self.variants.is_empty()
    }

    /// Returns the expression for the current time.
    pub(crate) fn now(&self, kind: &ColumnKind) -> Option<String> {
        Some(match kind {
            ColumnKind::Instant | ColumnKind::LocalInstant(_) => "Utc::now()".to_owned(),
            ColumnKind::Date => "Utc::now().date_naive()".to_owned(),
            ColumnKind::Text { .. } if self.variants.is_empty() => {
                "Utc::now().format(\"%Y-%m-%d %H:%M:%S\").to_string()".to_owned()
            }
            _ => return None,
        })
    }

    /// Returns the option with the default: `default = 3`.
    pub(crate) fn default(&self, kind: &ColumnKind, json: &Json) -> Option<String> {
        let text = match json {
            Json::String(text) => text.clone(),
            other => other.to_string(),
        };
        let literal = match kind {
            ColumnKind::Boolean => match text.as_str() {
                "true" | "t" | "1" => "true".to_owned(),
                "false" | "f" | "0" => "false".to_owned(),
                _ => return None,
            },
            ColumnKind::Integer(2) => text.parse::<i16>().ok()?.to_string(),
            ColumnKind::Integer(4) => text.parse::<i32>().ok()?.to_string(),
            ColumnKind::Integer(_) => text.parse::<i64>().ok()?.to_string(),
            ColumnKind::Number(bytes) => {
                let is_finite = match bytes {
                    4 => text.parse::<f32>().ok()?.is_finite(),
                    _ => text.parse::<f64>().ok()?.is_finite(),
                };
                format!("{:?}", text.parse::<f64>().ok().filter(|_| is_finite)?)
            }
            ColumnKind::Json => {
                let json: Json = serde_json::from_str(&text).ok()?;
                format!("serde_json::json!({})", json_literal(&json, MAX_JSON_DEPTH)?)
            }
            ColumnKind::Text { .. } | ColumnKind::Enum { .. } if !self.variants.is_empty() => {
                let variant = self.variants.iter().find(|(_, value)| *value == text)?;
                format!("{}::{}", self.type_name, variant.0)
            }
            ColumnKind::Text { .. } => format!("{text:?}"),
            ColumnKind::Array { .. } if ["{}", "[]"].contains(&text.as_str()) => "[]".to_owned(),
            _ => return None,
        };
        Some(format!("default = {literal}"))
    }
}

/// The registry of enums for one resource.
pub(crate) struct Enums<'a> {
    /// The singular name of the resource.
    pub(crate) singular: &'a str,
    pub(crate) names: &'a mut TypeNames,
    pub(crate) known: &'a mut Vec<Enum>,
}

impl Enums<'_> {
    fn add(&mut self, column: &Column, values: &[String]) -> ValueType {
        let name = type_name(&format!("{}_{}", self.singular, snake(&column.name)));
        let name = self.names.add_enum(name);
        let mut variants: Vec<(String, String)> = Vec::new();
        for value in values {
            // A rule may list a value twice.
            if variants.iter().any(|(_, known)| known == value) {
                continue;
            }
            let mut variant = camel(value);
            while variants.iter().any(|(known, _)| *known == variant) {
                variant.push('X');
            }
            variants.push((variant, value.clone()));
        }
        let mut value = ValueType::new(&name, &["filter", "sort", "group"]);
        value.variants.clone_from(&variants);
        let doc = format!("The values of `{}`.", snake(&column.name));
        self.known.push(Enum { name, doc, variants });
        value
    }
}

/// An enum for the values of a column.
#[derive(Debug, Clone)]
pub(crate) struct Enum {
    pub(crate) name: String,
    pub(crate) doc: String,
    /// The names of the variants, with their values.
    pub(crate) variants: Vec<(String, String)>,
}

impl ValueType {
    /// Chooses the type of a field. Returns `None` if no type fits.
    pub(crate) fn of(column: &Column, rules: &[Check], enums: &mut Enums<'_>) -> Option<Self> {
        let texts = rules.iter().find_map(|check| match &check.rule {
            Rule::OneOf(texts) => Some(texts),
            _ => None,
        });
        let plain = Self::new;
        Some(match &column.kind {
            ColumnKind::Boolean => plain("bool", &["filter", "group"]),
            ColumnKind::Integer(2) => plain("i16", &["filter", "sort", "numeric"]),
            ColumnKind::Integer(4) => plain("i32", &["filter", "sort", "numeric"]),
            ColumnKind::Integer(_) => plain("i64", &["filter", "sort", "numeric"]),
            ColumnKind::Number(4) => plain("f32", &["filter", "sort", "numeric"]),
            ColumnKind::Number(_) => plain("f64", &["filter", "sort", "numeric"]),
            ColumnKind::Text { .. } => match texts {
                Some(texts) => enums.add(column, texts),
                None => plain("String", &["filter", "sort"]),
            },
            ColumnKind::Uuid => plain("String", &["filter"]).stored_as("uuid"),
            ColumnKind::Date => plain("NaiveDate", &["filter", "sort"]),
            ColumnKind::Instant => plain("DateTime<Utc>", &["filter", "sort"]),
            ColumnKind::LocalInstant(name) => {
                plain("DateTime<Utc>", &["filter", "sort"]).stored_as(name)
            }
            ColumnKind::Json => plain("Value", &[]),
            ColumnKind::Enum { values, .. } if values.is_empty() => return None,
            ColumnKind::Enum { name, values } => enums.add(column, values).stored_as(name),
            ColumnKind::Array { name, entries } => {
                let single = Column { kind: (**entries).clone(), ..column.clone() };
                let is_scalar = !matches!(
                    **entries,
                    ColumnKind::Date
                        | ColumnKind::Instant
                        | ColumnKind::LocalInstant(_)
                        | ColumnKind::Json
                        | ColumnKind::Array { .. }
                        | ColumnKind::Unsupported(_)
                );
                let entry = is_scalar.then(|| Self::of(&single, &[], enums)).flatten()?;
                plain(&format!("Vec<{}>", entry.type_name), &["filter"]).stored_as(name)
            }
            ColumnKind::Other(name) => plain("String", &["filter"]).stored_as(name),
            ColumnKind::Unsupported(_) => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{TypeNames, ValueType};
    use crate::table::{ColumnKind, Table};

    #[test]
    fn a_default_fits_into_the_type_of_its_column() {
        let value = ValueType::new("number", &[]);
        for (kind, default, expected) in [
            (ColumnKind::Integer(2), json!(32_767), Some("default = 32767")),
            (ColumnKind::Integer(2), json!(99_999), None),
            (ColumnKind::Integer(4), json!("-3000000000"), None),
            (ColumnKind::Integer(8), json!(3_000_000_000_i64), Some("default = 3000000000")),
            (ColumnKind::Integer(8), json!(9_223_372_036_854_775_808_u64), None),
            (ColumnKind::Number(4), json!("0.1"), Some("default = 0.1")),
            (ColumnKind::Number(4), json!(1e39), None),
            (ColumnKind::Number(8), json!(1e39), Some("default = 1e39")),
            (ColumnKind::Number(8), json!("NaN"), None),
        ] {
            assert_eq!(value.default(&kind, &default).as_deref(), expected, "{kind:?} {default}");
        }
    }

    #[test]
    fn no_two_types_have_one_name() {
        let named = |name: &str| Table { name: name.to_owned(), ..Table::default() };
        let tables = ["orders", "order_items", "order_filters"].map(named);
        let mut names = TypeNames::of(&tables);
        assert_eq!(names.of_resource("order_filter"), "OrderFilterRow");
        for (name, expected) in [
            ("OrderItemStatus", "OrderItemStatus"),
            ("OrderItemStatus", "OrderItemStatusValue"),
            ("OrderItem", "OrderItemValue"),
            ("OrderItemList", "OrderItemListValue"),
            ("OrderFilterRow", "OrderFilterRowValue"),
        ] {
            assert_eq!(names.add_enum(name.to_owned()), expected);
        }
    }
}
