//! Chooses the types of fields.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use crate::expression::{Check, Rule};
use crate::names::{camel, snake, type_name};
use crate::table::{Column, ColumnKind};

/// The types that `#[resource(operations)]` makes for a type: their names are its name with one of these endings.
const MADE_TYPES: [&str; 4] = ["Filter", "Update", "Page", "List"];

/// Whether a type with this name is made for another one.
pub(crate) fn is_made(name: &str, types: &BTreeSet<String>) -> bool {
    let mut stems = MADE_TYPES.iter().filter_map(|end| name.strip_suffix(end));
    stems.any(|stem| types.contains(stem))
}

/// The type of a field's values.
#[derive(Debug, Clone)]
pub(crate) struct ValueType {
    pub(crate) type_name: String,
    pub(crate) marks: Vec<String>,
    pub(crate) column_type: Option<String>,
    pub(crate) variants: Vec<(String, String)>,
}

/// The maximum depth of a default in JSON, which the macro `json!` expands by recursion.
const MAX_JSON_DEPTH: usize = 16;

/// Writes a value for `json!`, or returns `None` if it is deeper than this. The escapes of JSON are not those of Rust,
/// and a number without a suffix is an `i32`.
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

    /// The expression for the current time.
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

    /// The option with the default.
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
            ColumnKind::Integer(_) => text.parse::<i64>().ok()?.to_string(),
            ColumnKind::Number(_) => {
                let number: f64 = text.parse().ok()?;
                if !number.is_finite() {
                    return None;
                }
                format!("{number:?}")
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

/// The enums of a resource.
pub(crate) struct Enums<'a> {
    /// The singular of the resource.
    pub(crate) singular: &'a str,
    /// The names of all resources.
    pub(crate) taken: &'a BTreeSet<String>,
    pub(crate) known: &'a mut Vec<Enum>,
}

impl Enums<'_> {
    fn add(&mut self, column: &Column, values: &[String]) -> ValueType {
        let mut name = type_name(&format!("{}_{}", self.singular, snake(&column.name)));
        while self.taken.contains(&name)
            || is_made(&name, self.taken)
            || self.known.iter().any(|known| known.name == name)
        {
            name.push_str("Value");
        }
        let mut variants: Vec<(String, String)> = Vec::new();
        for value in values {
            // A rule may name a value twice.
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

/// An enum with the values of a column.
#[derive(Debug, Clone)]
pub(crate) struct Enum {
    pub(crate) name: String,
    pub(crate) doc: String,
    /// The variants with their values.
    pub(crate) variants: Vec<(String, String)>,
}

impl ValueType {
    /// Chooses the type of a field, or `None` if there is none.
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
