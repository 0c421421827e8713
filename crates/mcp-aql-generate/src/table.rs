//! The description of a table that both databases share.

use std::collections::BTreeMap;

/// A table.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    pub(crate) name: String,
    /// The schema, unless it is the default one.
    pub(crate) schema: Option<String>,
    pub(crate) comment: Option<String>,
    pub(crate) columns: Vec<Column>,
    pub(crate) primary_key: Vec<String>,
    /// The tables to whose primary keys single columns refer.
    pub(crate) foreign_keys: BTreeMap<String, String>,
    /// The expressions of the CHECK constraints.
    pub(crate) checks: Vec<String>,
    /// The sentence that says why it cannot be a resource.
    pub(crate) obstacle: Option<String>,
    /// Sentences about the values of its rows.
    pub(crate) remarks: Vec<String>,
}

/// A column.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: ColumnKind,
    pub(crate) is_nullable: bool,
    /// The expression of the default.
    pub(crate) default: Option<String>,
    /// Whether the database numbers new rows.
    pub(crate) is_numbered: bool,
    /// Whether the database computes the value.
    pub(crate) is_generated: bool,
    pub(crate) comment: Option<String>,
    /// A sentence about its values, which follows the comment.
    pub(crate) note: Option<String>,
    /// The declared type, if SQLite makes numbers of texts with it.
    pub(crate) numeric_type: Option<String>,
}

/// The type of a column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ColumnKind {
    Boolean,
    /// A whole number with this number of bytes.
    Integer(u8),
    /// A fractional number with this number of bytes.
    Number(u8),
    Text {
        max_length: Option<u32>,
    },
    Uuid,
    Date,
    Instant,
    /// An instant without a time zone, in a column of this type.
    LocalInstant(&'static str),
    Json,
    /// A type of the database with these values.
    Enum {
        name: String,
        values: Vec<String>,
    },
    /// An array with this type.
    Array {
        name: String,
        entries: Box<ColumnKind>,
    },
    /// A type with this name whose values are converted to text and back.
    Other(String),
    /// A type with this name whose values no field can contain.
    Unsupported(String),
}
