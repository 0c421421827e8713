//! Remarks about the columns that a resource changes or leaves out.

use mcp_aql_text::visible;

use crate::resource::Resource;
use crate::table::{Column, ColumnKind};

impl Resource {
    /// Adds the remark that a default does not apply.
    pub(crate) fn lose_default(&mut self, column: &Column) {
        let (table, name) = (visible(&self.table), visible(&column.name));
        let instead = if column.is_nullable { "has no value" } else { "is an error" };
        self.remarks.push(format!(
            "The default of the column '{name}' of '{table}' does not apply: a new record without it {instead}."
        ));
    }

    /// Adds the remark that a column is left out.
    pub(crate) fn leave_out(&mut self, column: &Column) {
        let (table, name) = (visible(&self.table), visible(&column.name));
        let mut remark = if column.is_generated {
            format!(
                "The column '{name}' of '{table}' is left out, because the database computes it."
            )
        } else {
            let kind = match &column.kind {
                ColumnKind::Unsupported(kind)
                | ColumnKind::Array { name: kind, .. }
                | ColumnKind::Enum { name: kind, .. } => kind,
                _ => "unknown",
            };
            let kind = visible(kind);
            format!("The column '{name}' of '{table}' is left out, because of its type '{kind}'.")
        };
        if !column.is_generated && !column.is_nullable && column.default.is_none() {
            self.has_create = false;
            remark.push_str(" New records need it, so they cannot be created.");
        }
        self.remarks.push(remark);
    }

    /// Adds the remark that records cannot be created, because callers cannot set a required column.
    pub(crate) fn lose_create(&mut self, column: &Column) {
        self.has_create = false;
        let (table, name) = (visible(&self.table), visible(&column.name));
        self.remarks.push(format!(
            "New records of '{table}' need the column '{name}', so they cannot be created."
        ));
    }

    /// Adds the remark that SQLite converts some strings of a column into numbers.
    pub(crate) fn warn_of_numbers(&mut self, column: &Column, type_name: &str) {
        let Some(kind) = &column.numeric_type else { return };
        let (table, name, kind) = (visible(&self.table), visible(&column.name), visible(kind));
        let what = match type_name {
            "String" => "a string such as 007. Declare it TEXT to keep such strings.",
            "Value" => {
                "a document such as 1.0, so callers do not set it. If it has only objects and lists, remove \
                 `read_only` and `create_input`."
            }
            _ => return,
        };
        self.remarks.push(format!(
            "The column '{name}' of '{table}' has the type '{kind}', with which SQLite changes {what}"
        ));
    }
}
