//! A field of a resource, as queries know it.

use super::value::ValueKind;

/// A field that a query may name: top-level, nested, or computed.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a mark that an author writes by itself")]
pub struct FieldInfo {
    /// The name in queries: `status`, `metadata.owner`, `_computed.age_days`.
    pub path: String,
    /// The description.
    pub description: String,
    /// The kind of the values, or of the entries of a list.
    pub kind: ValueKind,
    /// Whether the values are lists.
    pub list: bool,
    /// Whether a row may have no value.
    pub optional: bool,
    /// Whether the value may be missing although the object around it exists.
    pub nullable: bool,
    /// Whether the numbers have 32 bits.
    pub single: bool,
    /// The variant names of a [`Choice`](ValueKind::Choice), in declaration order.
    pub choices: Vec<String>,
    /// The name of the type in introspection.
    pub type_name: String,
    /// Whether the field identifies the row.
    pub id: bool,
    /// Whether `filter` supports the field.
    pub filter: bool,
    /// Whether `sort` supports the field.
    pub sort: bool,
    /// Whether `group_by` supports the field.
    pub group: bool,
    /// Whether `sum`, `avg`, `min` and `max` support the field.
    pub numeric: bool,
    /// Whether `query` searches the field.
    pub search: bool,
    /// Whether the JSON form may omit the field under a condition of the author's.
    pub may_be_omitted: bool,
    /// Whether the value is computed from the row.
    pub computed: bool,
}

impl FieldInfo {
    /// The rank of a choice among the others; unknown names come last.
    pub(crate) fn rank(&self, name: &str) -> usize {
        self.choices.iter().position(|choice| choice == name).unwrap_or(self.choices.len())
    }

    /// Whether `min` and `max` support the field.
    pub fn supports_min_max(&self) -> bool {
        !self.list
            && (self.numeric
                || (self.sort && matches!(self.kind, ValueKind::Date | ValueKind::Instant)))
    }
}
