//! A resource's table, ready to use: names looked up, kinds known, nested fields laid out.

use std::collections::{BTreeMap, HashMap};

use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::column::{Column, ColumnType};
use super::resource::{DefaultSort, FieldSpec, Preset, RelationshipType, Resource};
use super::value::ValueKind;
use crate::operation::SchemaFn;

/// A resource's table with the columns of its rows.
#[derive(Debug)]
pub struct Model<T: 'static> {
    table: Table,
    columns: Vec<Bound<T>>,
}

/// The column of a field, which stands in the table or was made for a nested one.
#[derive(Debug)]
pub(crate) enum Bound<T: 'static> {
    Static(&'static dyn Column<T>),
    Made(Box<dyn Column<T>>),
}

impl<T> Bound<T> {
    pub(crate) fn get(&self) -> &dyn Column<T> {
        match self {
            Self::Static(column) => *column,
            Self::Made(column) => &**column,
        }
    }
}

/// What is known of a resource without its Rust type.
#[derive(Debug)]
pub struct Table {
    pub(crate) name: String,
    pub(crate) fields: Vec<FieldInfo>,
    by_path: HashMap<String, usize>,
    pub(crate) id: Option<usize>,
    pub(crate) presets: Vec<Preset>,
    pub(crate) default_sort: Vec<DefaultSort>,
    pub(crate) relationships: &'static [RelationshipType],
    /// The members of the JSON form, as deep as the schema tells.
    pub(crate) members: Members,
    /// What cannot work and only a schema could tell.
    pub(crate) problems: Vec<String>,
}

/// One field that a query may name: at the top, nested, or computed.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a mark that an author writes by itself")]
pub struct FieldInfo {
    /// How a query names it: `status`, `metadata.owner`, `_computed.age_days`.
    pub path: String,
    /// What it is.
    pub description: String,
    /// The kind of its values.
    pub kind: ValueKind,
    /// It is a list of them.
    pub list: bool,
    /// A row may have none.
    pub optional: bool,
    /// The names of a [`Choice`](ValueKind::Choice), in their order.
    pub choices: Vec<String>,
    /// The type as introspection names it.
    pub type_name: String,
    /// It identifies the row.
    pub id: bool,
    /// `filter` may name it.
    pub filter: bool,
    /// `sort` may name it.
    pub sort: bool,
    /// `group_by` may name it.
    pub group: bool,
    /// `sum` and `avg` may name it, and `min` and `max`.
    pub numeric: bool,
    /// `query` looks for words in it.
    pub search: bool,
    /// Left out of the JSON form where there is no value.
    pub omitted: bool,
    /// It is computed of the row.
    pub computed: bool,
}

impl FieldInfo {
    /// Where a choice stands among the others; names that are not known come last.
    pub(crate) fn rank(&self, name: &str) -> usize {
        self.choices.iter().position(|choice| choice == name).unwrap_or(self.choices.len())
    }

    /// Whether `min` and `max` may name it.
    pub fn has_extremes(&self) -> bool {
        !self.list
            && (self.numeric || (self.sort && matches!(self.kind, ValueKind::Date | ValueKind::Instant)))
    }
}

/// The members of a JSON object.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Members {
    pub(crate) known: BTreeMap<String, Members>,
    /// It may have others: it is a map, or nothing is known of it.
    pub(crate) open: bool,
}

impl Table {
    /// The resource's name, such as `Task`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The fields that a query may name.
    pub fn fields(&self) -> &[FieldInfo] {
        &self.fields
    }

    /// The place of the field of this path.
    pub fn find(&self, path: &str) -> Option<usize> {
        self.by_path.get(path).copied()
    }

    /// The place of the identifier.
    pub fn id(&self) -> Option<usize> {
        self.id
    }

    /// The field at this place.
    pub fn field(&self, place: usize) -> Option<&FieldInfo> {
        self.fields.get(place)
    }
}

impl<T: Resource> Model<T> {
    /// What is known of the resource without its type.
    pub fn table(&self) -> &Table {
        &self.table
    }
}
