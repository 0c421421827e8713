//! Decides about the resource of a table: its names, types and options.

use std::fmt::Write as _;

use mcp_aql_protocol::RESERVED_PARAMETERS;
use mcp_aql_text::visible;
use serde_json::Value as Json;

use crate::constraints;
use crate::expression::{Check, Default, checks, default, words};
use crate::names::{identifier, lines, sentence, singular_of, snake};
use crate::table::{Column, ColumnKind, Table};
use crate::value_type::{Enum, Enums, TypeNames, ValueType};

/// Names that fields cannot have in addition to those of a call, because queries or Rust use them for something else.
const REFUSED: [&str; 6] = ["and", "or", "not", "self", "super", "crate"];

/// The name of the field with the version of a record.
const VERSION: &str = "_version";

/// Returns `true` if a column counts the changes of its row.
fn is_version(column: &Column) -> bool {
    let names = [VERSION, "row_version", "lock_version"];
    names.contains(&column.name.as_str())
        && matches!(column.kind, ColumnKind::Integer(4 | 8))
        && !column.is_nullable
}

/// Returns the name of the relationship for a foreign key.
fn relationship(field: &str) -> &str {
    field.strip_suffix("_id").unwrap_or(field)
}

/// Returns the option for a field with identifiers of another table.
fn references(other: &str) -> String {
    format!("references = \"{}\"", singular_of(&snake(other)))
}

/// The resource to generate for a table.
#[derive(Debug, Clone)]
pub(crate) struct Resource {
    pub(crate) table: String,
    pub(crate) schema: Option<String>,
    pub(crate) type_name: String,
    pub(crate) singular: String,
    pub(crate) plural: String,
    pub(crate) doc: String,
    /// If `true`, records can be created.
    pub(crate) has_create: bool,
    /// If `true`, records can be updated.
    pub(crate) has_update: bool,
    pub(crate) fields: Vec<Field>,
    pub(crate) enums: Vec<Enum>,
    /// Remarks about missing parts, one sentence each.
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
    /// The value in a new record. `None` if callers set it.
    pub(crate) new_value: Option<String>,
    /// If `true`, the database writes the column, and the store does not.
    pub(crate) is_computed: bool,
    /// If `true`, callers choose the identifier of a new record.
    pub(crate) is_chosen: bool,
    /// The options of `#[param(…)]`.
    pub(crate) params: Vec<String>,
    /// The name of the column, if it differs from the field's name.
    pub(crate) column: Option<String>,
    /// The type of the column, if the field's type implies another one.
    pub(crate) column_type: Option<String>,
}

impl Resource {
    /// Decides about the resource of a table. The error is the reason why the table cannot be a resource.
    pub(crate) fn of(table: &Table, names: &mut TypeNames) -> Result<Self, String> {
        if let Some(obstacle) = &table.obstacle {
            return Err(obstacle.clone());
        }
        let name = visible(&table.name);
        let [key] = table.primary_key.as_slice() else {
            return Err(format!(
                "The table '{name}' has a primary key of {} columns. A resource has one identifier.",
                table.primary_key.len()
            ));
        };
        let singular = singular_of(&snake(&table.name));
        let mut resource = Self {
            table: table.name.clone(),
            schema: table.schema.clone(),
            type_name: names.of_resource(&singular),
            plural: snake(&table.name),
            doc: table.comment.as_deref().and_then(lines).unwrap_or_else(|| {
                let vowel = singular.starts_with(['a', 'e', 'i', 'o', 'u']);
                sentence(&format!("{}_{singular}", if vowel { "an" } else { "a" }))
            }),
            singular,
            has_create: true,
            has_update: true,
            fields: Vec::new(),
            enums: Vec::new(),
            remarks: table.remarks.clone(),
        };
        let found: Vec<_> = table.checks.iter().flat_map(|sql| checks(sql)).flatten().collect();
        for column in &table.columns {
            let rules: Vec<_> =
                found.iter().filter(|check| check.column == column.name).cloned().collect();
            let refers_to = table.foreign_keys.get(&column.name);
            if column.name == *key {
                resource.add_identifier(column, &rules, refers_to)?;
            } else {
                resource.add(column, &rules, refers_to, names);
            }
        }
        resource.describe_rules(table);
        let settable = resource.fields.iter().skip(1).filter(|field| field.new_value.is_none());
        if settable.count() == 0 {
            resource.has_create &= resource.fields.iter().any(|field| field.is_chosen);
            resource.has_update = false;
        }
        // The identifier comes first.
        resource.fields.sort_by_key(|field| !field.marks.iter().any(|mark| mark == "id"));
        Ok(resource)
    }

    /// Adds rules to the descriptions of their columns if constraints of parameters cannot express them. The database
    /// rejects values that violate these rules.
    fn describe_rules(&mut self, table: &Table) {
        const MAX_CHARACTERS: usize = 200;
        let is_expressed = |check: &Check| {
            let mut columns = table.columns.iter();
            let column = columns.find(|column| column.name == check.column);
            column.is_some_and(|column| constraints::express(&column.kind, &check.rule))
        };
        for sql in &table.checks {
            if checks(sql).is_some_and(|checks| checks.iter().all(is_expressed)) {
                continue;
            }
            let words = words(sql);
            let rule = sql.split_whitespace().collect::<Vec<_>>().join(" ").replace('`', "'");
            if rule.chars().count() > MAX_CHARACTERS {
                continue;
            }
            for field in &mut self.fields {
                let column = field.column.as_deref().unwrap_or(&field.name);
                if words.iter().any(|word| word.eq_ignore_ascii_case(column)) {
                    let _ = write!(field.doc, "\n\nThe database requires `{rule}`.");
                }
            }
        }
    }

    fn add_identifier(
        &mut self,
        column: &Column,
        rules: &[Check],
        refers_to: Option<&String>,
    ) -> Result<(), String> {
        // A reference to the same table is ignored, because a new record could only refer to itself.
        let refers_to = refers_to.filter(|other| **other != self.table);
        let (type_name, is_made) = match &column.kind {
            ColumnKind::Integer(8) => ("i64", column.is_numbered),
            ColumnKind::Integer(_) => ("i32", column.is_numbered),
            ColumnKind::Uuid => ("String", true),
            ColumnKind::Text { .. } => ("String", true),
            _ => {
                return Err(format!(
                    "The primary key of the table '{}' is neither a whole number nor a string nor a UUID.",
                    visible(&self.table)
                ));
            }
        };
        // SQLite would convert some identifiers of callers into numbers.
        let is_changed = type_name == "String" && column.numeric_type.is_some();
        self.warn_of_numbers(column, type_name);
        if is_changed || !is_made && refers_to.is_none() {
            self.has_create = false;
            self.remarks.push(format!(
                "The table '{}' does not assign identifiers to new records, so they cannot be created.",
                visible(&self.table)
            ));
        }
        let mut field = self.field(column, type_name.to_owned());
        field.marks = ["id", "filter", "sort"].map(str::to_owned).to_vec();
        if column.comment.is_none() {
            field.doc = format!("Identifier of the {}.", self.singular.replace('_', " "));
        }
        // If the identifier is that of another record, callers choose among those records.
        let is_text = matches!(column.kind, ColumnKind::Text { .. });
        field.is_chosen = !is_changed && (is_text || refers_to.is_some());
        field.marks.extend(refers_to.map(|other| references(other)));
        if field.is_chosen {
            field.params =
                constraints::params(&column.kind, &[], &constraints::of_column(column, rules));
        }
        if column.kind == ColumnKind::Uuid {
            field.column_type = Some("uuid".to_owned());
        }
        self.fields.insert(0, field);
        Ok(())
    }

    /// Returns a field without the options that depend on its values.
    fn field(&self, column: &Column, type_name: String) -> Field {
        let mut name = snake(&column.name);
        let is_known = |name: &str| {
            self.fields.iter().any(|known| known.name == name || known.identifier == name)
        };
        let is_refused =
            |name: &str| REFUSED.contains(&name) || RESERVED_PARAMETERS.contains(&name);
        while is_known(&name) || is_refused(&name) {
            name.push_str("_value");
        }
        let identifier = identifier(&name);
        let doc = column.comment.as_deref().and_then(lines);
        let mut doc = doc.unwrap_or_else(|| sentence(&column.name));
        if let Some(note) = &column.note {
            let _ = write!(doc, "\n\n{note}");
        }
        Field {
            column: (name != column.name).then(|| column.name.clone()),
            identifier,
            type_name,
            doc,
            name,
            marks: Vec::new(),
            new_value: None,
            is_computed: false,
            is_chosen: false,
            params: Vec::new(),
            column_type: None,
        }
    }

    fn add(
        &mut self,
        column: &Column,
        rules: &[Check],
        refers_to: Option<&String>,
        names: &mut TypeNames,
    ) {
        let mut enums = Enums { singular: &self.singular, names, known: &mut self.enums };
        let value = ValueType::of(column, rules, &mut enums).filter(|_| !column.is_generated);
        let Some(mut value) = value else { return self.leave_out(column) };
        if is_version(column) && self.fields.iter().all(|field| field.name != VERSION) {
            return self.add_version(column, value.type_name);
        }
        let mut field = self.field(column, String::new());
        field.column_type = value.column_type.take();
        field.marks.append(&mut value.marks);
        if let Some(other) = refers_to.filter(|_| value.is_identifier()) {
            self.refer(&mut field, column, other);
        }
        self.warn_of_numbers(column, &value.type_name);
        let rules = constraints::of_column(column, rules);
        // A `serial` column has a default, so callers may set it.
        let is_identity = column.is_numbered && column.default.is_none();
        if is_identity && matches!(column.kind, ColumnKind::Integer(_)) {
            field.marks.insert(0, "read_only".to_owned());
            field.new_value = Some(if column.is_nullable { "None" } else { "0" }.to_owned());
            field.is_computed = true;
        } else if column.kind == ColumnKind::Json && column.numeric_type.is_some() {
            self.add_fixed(&mut field, column, &value);
        } else {
            field.params = constraints::params(&column.kind, &value.variants, &rules);
            self.add_default(&mut field, column, &value, &rules);
        }
        field.type_name = if column.is_nullable {
            format!("Option<{}>", value.type_name)
        } else {
            value.type_name
        };
        self.fields.push(field);
    }

    /// Adds the field with the version of a record. `if_match` compares it.
    fn add_version(&mut self, column: &Column, type_name: String) {
        let mut field = self.field(column, type_name);
        field.identifier = "version".to_owned();
        while self.fields.iter().any(|known| known.identifier == field.identifier) {
            field.identifier.insert_str(0, "row_");
        }
        field.name = VERSION.to_owned();
        field.column = (column.name != VERSION).then(|| column.name.clone());
        field.marks = vec!["read_only".to_owned()];
        field.new_value = Some("1".to_owned());
        self.fields.push(field);
    }

    /// Adds the reference of a foreign key to a field.
    fn refer(&self, field: &mut Field, column: &Column, other: &str) {
        field.marks.retain(|mark| mark == "filter");
        field.marks.push("group".to_owned());
        if column.comment.is_none() {
            field.doc = sentence(relationship(&field.name));
        }
        let is_known = self.fields.iter().any(|known| {
            known.marks.iter().any(|mark| mark.starts_with("references"))
                && relationship(&known.name) == relationship(&field.name)
        });
        if !is_known {
            field.marks.push(references(other));
        }
    }

    /// Sets the value that a field has in a new record if callers cannot set it.
    fn add_fixed(&mut self, field: &mut Field, column: &Column, value: &ValueType) {
        field.marks.insert(0, "read_only".to_owned());
        let default = match column.default.as_deref().map(default) {
            Some(Default::Value(json)) => value.default(&column.kind, &json),
            _ => None,
        };
        let default =
            default.and_then(|option| Some(option.strip_prefix("default = ")?.to_owned()));
        field.new_value = match default {
            Some(default) if column.is_nullable => Some(format!("Some({default})")),
            Some(default) => Some(default),
            None if column.is_nullable => Some("None".to_owned()),
            None => {
                self.lose_create(column);
                None
            }
        };
    }

    /// Sets the default of a field that a call may omit.
    fn add_default(
        &mut self,
        field: &mut Field,
        column: &Column,
        value: &ValueType,
        rules: &[Check],
    ) {
        let applies = match column.default.as_deref().map(default) {
            None | Some(Default::Value(Json::Null)) => true,
            Some(Default::Value(_)) if column.is_nullable => false,
            Some(Default::Value(json)) => {
                let default = value.default(&column.kind, &json);
                let default = default.filter(|_| constraints::allow(&json, rules));
                field.params.extend(default.clone());
                default.is_some()
            }
            Some(Default::Now | Default::Today) => match value.now(&column.kind) {
                Some(now) => {
                    field.marks.insert(0, "read_only".to_owned());
                    let now = if column.is_nullable { format!("Some({now})") } else { now };
                    field.new_value = Some(now);
                    true
                }
                None => false,
            },
            Some(Default::Other) => false,
        };
        if !applies {
            self.lose_default(column);
        }
    }
}
