//! The description of a table that both databases share.

use std::collections::BTreeMap;

/// A table.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    pub(crate) name: String,
    /// The schema. `None` for the default one.
    pub(crate) schema: Option<String>,
    pub(crate) comment: Option<String>,
    pub(crate) columns: Vec<Column>,
    pub(crate) primary_key: Vec<String>,
    /// The tables to whose primary keys single columns refer, by column.
    pub(crate) foreign_keys: BTreeMap<String, String>,
    /// The expressions of the CHECK constraints.
    pub(crate) checks: Vec<String>,
    /// The reason why the table cannot be a resource, as a sentence.
    pub(crate) obstacle: Option<String>,
    /// Remarks about the values of its rows.
    pub(crate) remarks: Vec<String>,
}

/// A column.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: ColumnKind,
    pub(crate) is_nullable: bool,
    /// The SQL expression of the default.
    pub(crate) default: Option<String>,
    /// If `true`, the database numbers new rows.
    pub(crate) is_numbered: bool,
    /// If `true`, the database computes the value.
    pub(crate) is_generated: bool,
    pub(crate) comment: Option<String>,
    /// A sentence about the values. It is appended to the comment.
    pub(crate) note: Option<String>,
    /// The declared type, if SQLite converts strings into numbers because of it.
    pub(crate) numeric_type: Option<String>,
}

/// The type of a column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ColumnKind {
    Boolean,
    /// An integer with this number of bytes.
    Integer(u8),
    /// A floating-point number with this number of bytes.
    Number(u8),
    Text {
        max_length: Option<u32>,
    },
    Uuid,
    Date,
    Instant,
    /// An instant without a time zone. The string is the type of the column.
    LocalInstant(&'static str),
    Json,
    /// An enum type of the database, with its values.
    Enum {
        name: String,
        values: Vec<String>,
    },
    /// An array. `name` is its type in the database.
    Array {
        name: String,
        entries: Box<ColumnKind>,
    },
    /// A type with this name whose values are converted to strings and back.
    Other(String),
    /// A type with this name whose values no field can represent.
    Unsupported(String),
}
