//! Decides about the resource of a table: names, types and options.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use crate::expression::{Check, Default, Rule, checks, default};
use crate::names::{camel, identifier, sentence, singular_of, snake, type_name};
use crate::table::{Column, ColumnKind, Table};

/// Names that no field of a query can have.
const REFUSED: [&str; 3] = ["and", "or", "not"];

/// The resource of a table.
#[derive(Debug, Clone)]
pub(crate) struct Resource {
    pub(crate) table: String,
    pub(crate) schema: Option<String>,
    pub(crate) type_name: String,
    pub(crate) singular: String,
    pub(crate) plural: String,
    pub(crate) doc: String,
    /// Whether records can be created and updated.
    pub(crate) has_create: bool,
    pub(crate) has_update: bool,
    pub(crate) fields: Vec<Field>,
    pub(crate) enums: Vec<Enum>,
    /// The parts that are missing, one sentence each.
    pub(crate) remarks: Vec<String>,
}

/// A field of a resource.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    /// The name in JSON.
    pub(crate) name: String,
    /// The name in Rust.
    pub(crate) identifier: String,
    pub(crate) type_name: String,
    pub(crate) doc: String,
    /// The options of `#[resource(…)]`.
    pub(crate) marks: Vec<String>,
    /// The value of a new record, if callers do not set it.
    pub(crate) new_value: Option<String>,
    /// The options of `#[param(…)]`.
    pub(crate) params: Vec<String>,
    /// The column, if it has another name.
    pub(crate) column: Option<String>,
    /// The type of the column, if the field's type suggests another.
    pub(crate) column_type: Option<String>,
}

/// An enum with the values of a column.
#[derive(Debug, Clone)]
pub(crate) struct Enum {
    pub(crate) name: String,
    pub(crate) doc: String,
    /// The variants with their values.
    pub(crate) variants: Vec<(String, String)>,
}

impl Resource {
    /// Describes the resource of a table, or says why there can be none. `tables` are all tables.
    pub(crate) fn of(table: &Table, tables: &[Table]) -> Result<Self, String> {
        let name = &table.name;
        let [key] = table.primary_key.as_slice() else {
            return Err(format!(
                "The table '{name}' has a primary key of {} columns. A resource has one identifier.",
                table.primary_key.len()
            ));
        };
        let singular = singular_of(&snake(name));
        let mut resource = Self {
            table: name.clone(),
            schema: table.schema.clone(),
            type_name: type_name(&singular),
            plural: snake(name),
            doc: table.comment.clone().unwrap_or_else(|| {
                let vowel = singular.starts_with(['a', 'e', 'i', 'o', 'u']);
                sentence(&format!("{}_{singular}", if vowel { "an" } else { "a" }))
            }),
            singular,
            has_create: true,
            has_update: true,
            fields: Vec::new(),
            enums: Vec::new(),
            remarks: Vec::new(),
        };
        let found: Vec<_> = table.checks.iter().flat_map(|sql| checks(sql)).flatten().collect();
        let taken: BTreeSet<_> =
            tables.iter().map(|table| type_name(&singular_of(&snake(&table.name)))).collect();
        for column in &table.columns {
            let rules: Vec<_> =
                found.iter().filter(|check| check.column == column.name).cloned().collect();
            if column.name == *key {
                resource.add_identifier(column)?;
            } else {
                resource.add(column, &rules, table.foreign_keys.get(&column.name), &taken);
            }
        }
        let settable = resource.fields.iter().skip(1).filter(|field| field.new_value.is_none());
        if settable.count() == 0 {
            (resource.has_create, resource.has_update) = (false, false);
        }
        // The identifier comes first.
        resource.fields.sort_by_key(|field| !field.marks.iter().any(|mark| mark == "id"));
        Ok(resource)
    }

    fn add_identifier(&mut self, column: &Column) -> Result<(), String> {
        let (type_name, is_made) = match &column.kind {
            ColumnKind::Integer(8) => ("i64", column.is_numbered),
            ColumnKind::Integer(_) => ("i32", column.is_numbered),
            ColumnKind::Uuid => ("String", true),
            ColumnKind::Text { .. } => ("String", false),
            _ => {
                return Err(format!(
                    "The primary key of the table '{}' is neither a whole number nor a text nor a UUID.",
                    self.table
                ));
            }
        };
        if !is_made {
            self.has_create = false;
            self.remarks.push(format!(
                "The table '{}' gives new records no identifier, so they cannot be created.",
                self.table
            ));
        }
        let mut field = self.field(column, type_name.to_owned());
        field.marks = ["id", "filter", "sort"].map(str::to_owned).to_vec();
        if column.comment.is_none() {
            field.doc = format!("Identifier of the {}.", self.singular.replace('_', " "));
        }
        if column.kind == ColumnKind::Uuid {
            field.column_type = Some("uuid".to_owned());
        }
        self.fields.insert(0, field);
        Ok(())
    }

    fn field(&self, column: &Column, type_name: String) -> Field {
        let mut name = snake(&column.name);
        while self.fields.iter().any(|known| known.name == name) || REFUSED.contains(&name.as_str())
        {
            name.push_str("_x");
        }
        let identifier = identifier(&name);
        Field {
            column: (name != column.name).then(|| column.name.clone()),
            identifier,
            type_name,
            doc: column.comment.clone().unwrap_or_else(|| sentence(&column.name)),
            name,
            marks: Vec::new(),
            new_value: None,
            params: Vec::new(),
            column_type: None,
        }
    }

    fn add(
        &mut self,
        column: &Column,
        rules: &[Check],
        refers_to: Option<&String>,
        taken: &BTreeSet<String>,
    ) {
        let Some(mut value) = self.value_type(column, rules, taken) else {
            return self.leave_out(column);
        };
        if column.is_generated {
            return self.leave_out(column);
        }
        let mut field = self.field(column, String::new());
        field.column_type = value.column_type.take();
        field.marks.append(&mut value.marks);
        if let Some(other) = refers_to {
            field.marks.retain(|mark| mark == "filter");
            field.marks.push("group".to_owned());
            if column.comment.is_none() {
                field.doc = sentence(field.name.trim_end_matches("_id"));
            }
            field.marks.push(format!("references = \"{}\"", singular_of(&snake(other))));
        }
        field.params = params(&column.kind, &value, rules);
        let missing = column.default.as_deref().map(default);
        match (missing, &column.kind) {
            (Some(Default::Now | Default::Today), kind) if value.now(kind).is_some() => {
                field.marks.insert(0, "read_only".to_owned());
                let now = value.now(kind).unwrap_or_default();
                field.new_value =
                    Some(if column.is_nullable { format!("Some({now})") } else { now });
            }
            (Some(Default::Value(json)), kind) if !column.is_nullable => match kind {
                ColumnKind::Array { .. }
                    if json == Json::from("{}") || json == Json::Array(Vec::new()) =>
                {
                    field.params.push("default = []".to_owned());
                }
                kind => field.params.extend(value.default(kind, &json)),
            },
            _ => {}
        }
        field.type_name = if column.is_nullable {
            format!("Option<{}>", value.type_name)
        } else {
            value.type_name
        };
        self.fields.push(field);
    }

    fn leave_out(&mut self, column: &Column) {
        let (table, name) = (&self.table, &column.name);
        let mut remark = if column.is_generated {
            format!(
                "The column '{name}' of '{table}' is left out, because the database computes it."
            )
        } else {
            let kind = match &column.kind {
                ColumnKind::Unsupported(kind) | ColumnKind::Array { name: kind, .. } => kind,
                _ => "unknown",
            };
            format!("The column '{name}' of '{table}' is left out, because of its type '{kind}'.")
        };
        if !column.is_generated && !column.is_nullable && column.default.is_none() {
            self.has_create = false;
            remark.push_str(" New records need it, so they cannot be created.");
        }
        self.remarks.push(remark);
    }

    /// Chooses the type of a field, or `None` if there is none.
    fn value_type(
        &mut self,
        column: &Column,
        rules: &[Check],
        taken: &BTreeSet<String>,
    ) -> Option<ValueType> {
        let texts = rules.iter().find_map(|check| match &check.rule {
            Rule::OneOf(texts) => Some(texts),
            _ => None,
        });
        let plain = ValueType::new;
        Some(match &column.kind {
            ColumnKind::Boolean => plain("bool", &["filter", "group"]),
            ColumnKind::Integer(2) => plain("i16", &["filter", "sort", "numeric"]),
            ColumnKind::Integer(4) => plain("i32", &["filter", "sort", "numeric"]),
            ColumnKind::Integer(_) => plain("i64", &["filter", "sort", "numeric"]),
            ColumnKind::Number(4) => plain("f32", &["filter", "sort", "numeric"]),
            ColumnKind::Number(_) => plain("f64", &["filter", "sort", "numeric"]),
            ColumnKind::Text { .. } => match texts {
                Some(texts) => self.add_enum(column, texts, taken),
                None => plain("String", &["filter", "sort"]),
            },
            ColumnKind::Uuid => plain("String", &["filter"]).stored_as("uuid"),
            ColumnKind::Date => plain("NaiveDate", &["filter", "sort"]),
            ColumnKind::Instant => plain("DateTime<Utc>", &["filter", "sort"]),
            ColumnKind::LocalInstant(name) => {
                plain("DateTime<Utc>", &["filter", "sort"]).stored_as(name)
            }
            ColumnKind::Json => plain("Value", &[]),
            ColumnKind::Enum { name, values } => {
                self.add_enum(column, values, taken).stored_as(name)
            }
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
                let entry = is_scalar.then(|| self.value_type(&single, &[], taken)).flatten()?;
                plain(&format!("Vec<{}>", entry.type_name), &["filter"]).stored_as(name)
            }
            ColumnKind::Other(name) => plain("String", &["filter"]).stored_as(name),
            ColumnKind::Unsupported(_) => return None,
        })
    }

    fn add_enum(
        &mut self,
        column: &Column,
        values: &[String],
        taken: &BTreeSet<String>,
    ) -> ValueType {
        let mut name = type_name(&format!("{}_{}", self.singular, snake(&column.name)));
        while taken.contains(&name) || self.enums.iter().any(|known| known.name == name) {
            name.push_str("Value");
        }
        let mut variants: Vec<(String, String)> = Vec::new();
        for value in values {
            let mut variant = camel(value);
            while variants.iter().any(|(known, _)| *known == variant) {
                variant.push('X');
            }
            variants.push((variant, value.clone()));
        }
        let mut value = ValueType::new(&name, &["filter", "sort", "group"]);
        value.variants.clone_from(&variants);
        let doc = format!("The values of `{}`.", snake(&column.name));
        self.enums.push(Enum { name, doc, variants });
        value
    }
}

/// The type of a field's values.
#[derive(Debug, Clone)]
struct ValueType {
    type_name: String,
    marks: Vec<String>,
    column_type: Option<String>,
    variants: Vec<(String, String)>,
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
    fn now(&self, kind: &ColumnKind) -> Option<String> {
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
    fn default(&self, kind: &ColumnKind, json: &Json) -> Option<String> {
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
            ColumnKind::Number(_) => format!("{:?}", text.parse::<f64>().ok()?),
            ColumnKind::Json => {
                let json: Json = serde_json::from_str(&text).ok()?;
                format!("serde_json::json!({json})")
            }
            ColumnKind::Text { .. } | ColumnKind::Enum { .. } if !self.variants.is_empty() => {
                let variant = self.variants.iter().find(|(_, value)| *value == text)?;
                format!("{}::{}", self.type_name, variant.0)
            }
            ColumnKind::Text { .. } => format!("{text:?}"),
            _ => return None,
        };
        Some(format!("default = {literal}"))
    }
}

/// The options of `#[param(…)]` that follow from the type and the checks of a column.
fn params(kind: &ColumnKind, value: &ValueType, rules: &[Check]) -> Vec<String> {
    let mut params = Vec::new();
    if !value.variants.is_empty() {
        return params;
    }
    let is_text = matches!(kind, ColumnKind::Text { .. });
    if let ColumnKind::Text { max_length: Some(length) } = kind {
        params.push(format!("max_length = {length}"));
    }
    for Check { rule, .. } in rules {
        let param = match *rule {
            Rule::MinLength(length) if is_text => format!("min_length = {length}"),
            Rule::MaxLength(length) if is_text => format!("max_length = {length}"),
            Rule::Minimum { bound, is_strict } => match limit(kind, bound, is_strict, 1) {
                Some(limit) => format!("minimum = {limit}"),
                None => continue,
            },
            Rule::Maximum { bound, is_strict } => match limit(kind, bound, is_strict, -1) {
                Some(limit) => format!("maximum = {limit}"),
                None => continue,
            },
            _ => continue,
        };
        let name = param.split(' ').next().unwrap_or_default();
        // The check is at least as strict as the type.
        params.retain(|known: &String| !known.starts_with(name));
        params.push(param);
    }
    params
}

/// The inclusive bound of a number, if there is one. `step` leads away from a strict bound.
fn limit(kind: &ColumnKind, bound: f64, is_strict: bool, step: i64) -> Option<String> {
    /// The largest whole number that each program holds exactly.
    const LARGEST: f64 = 9_007_199_254_740_991.0;
    if bound.abs() > LARGEST {
        return None;
    }
    match kind {
        ColumnKind::Integer(bytes) => {
            let whole = if step > 0 { bound.ceil() } else { bound.floor() };
            #[expect(clippy::cast_possible_truncation, reason = "it is whole and small")]
            let mut limit = whole as i64;
            #[expect(clippy::float_cmp, reason = "both are exact")]
            if is_strict && whole == bound {
                limit += step;
            }
            let fits = match bytes {
                2 => i16::try_from(limit).is_ok(),
                4 => i32::try_from(limit).is_ok(),
                _ => true,
            };
            fits.then(|| limit.to_string())
        }
        // A strict bound itself is refused by the database.
        ColumnKind::Number(_) => Some(format!("{bound:?}")),
        _ => None,
    }
}
