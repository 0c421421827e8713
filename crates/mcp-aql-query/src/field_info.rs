//! The description of a field for queries.

use super::value::ValueKind;

/// Reads a document as a value of a field's type, and returns the JSON form of this value. Returns `None` if the type
/// does not allow the document.
pub(crate) type DocumentReader = fn(&str) -> Option<String>;

/// A field that a query may name: top-level, nested, or computed.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a separate flag that the author sets")]
pub struct FieldInfo {
    /// Name in queries: `status`, `metadata.owner`, `_computed.age_days`.
    pub path: String,
    /// Description for introspection.
    pub description: String,
    /// Kind of the values, or of the entries of a list.
    pub kind: ValueKind,
    /// If `true`, the values are lists.
    pub list: bool,
    /// If `true`, a row can have no value.
    pub optional: bool,
    /// If `true`, the value can be missing although the object around it exists.
    pub nullable: bool,
    /// If `true`, the numbers have 32 bits.
    pub single: bool,
    /// Variant names of a [`Choice`](ValueKind::Choice), in declaration order.
    pub choices: Vec<String>,
    /// Name of the type in introspection.
    pub type_name: String,
    /// If `true`, the field identifies the row.
    pub id: bool,
    /// If `true`, `filter` supports the field.
    pub filter: bool,
    /// If `true`, `sort` supports the field.
    pub sort: bool,
    /// If `true`, `group_by` supports the field.
    pub group: bool,
    /// If `true`, `sum`, `avg`, `min` and `max` support the field.
    pub numeric: bool,
    /// If `true`, `query` searches the field.
    pub search: bool,
    /// If `true`, the author's serialization omits the field under a condition.
    pub may_be_omitted: bool,
    /// If `true`, the field contains identifiers of other records.
    pub(crate) reference: bool,
    /// If `true`, the value is computed from the row.
    pub computed: bool,
    /// Reads a stored document of the field, if its type can be deserialized.
    pub(crate) document: Option<DocumentReader>,
}

impl FieldInfo {
    /// Returns the position of a choice among the others. Unknown names come last.
    pub(crate) fn rank(&self, name: &str) -> usize {
        self.choices.iter().position(|choice| choice == name).unwrap_or(self.choices.len())
    }

    /// Returns `true` if `min` and `max` support the field.
    pub fn supports_min_max(&self) -> bool {
        !self.list
            && (self.numeric
                || (self.sort && matches!(self.kind, ValueKind::Date | ValueKind::Instant)))
    }
}
