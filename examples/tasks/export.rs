//! Exports all tasks as JSON lines or CSV. This is an excerpt of a CSV export:
//!
//! ```text
//! task_id,title,description,status,priority
//! t-1,Write the report,"for Ada, please",todo,2
//! ```

use mcp_aql::prelude::*;
use serde::{Deserialize, Serialize};

use crate::model::Task;

/// The format of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Format {
    /// One JSON object per task, each on its own line.
    Json,
    /// One line per task, after a line with the column names.
    Csv,
}

/// The tasks of the board as text.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Export {
    /// Format of the text.
    format: Format,
    /// Number of exported tasks.
    tasks: u64,
    /// The text.
    content: String,
}

impl Export {
    /// Creates an export without tasks. A CSV export starts with its header line.
    pub(crate) fn new(format: Format) -> Self {
        let content = match format {
            Format::Json => String::new(),
            Format::Csv => format!("{}\n", COLUMNS.join(",")),
        };
        Self { format, tasks: 0, content }
    }

    /// Adds a task.
    pub(crate) fn push(&mut self, task: &Task) -> Result<(), serde_json::Error> {
        match self.format {
            Format::Json => self.content.push_str(&serde_json::to_string(task)?),
            Format::Csv => {
                let task = serde_json::to_value(task)?;
                let cells = COLUMNS.map(|column| match task.get(column) {
                    None | Some(serde_json::Value::Null) => String::new(),
                    Some(serde_json::Value::String(text)) => quoted(text),
                    Some(other) => quoted(&other.to_string()),
                });
                self.content.push_str(&cells.join(","));
            }
        }
        self.content.push('\n');
        self.tasks += 1;
        Ok(())
    }
}

const COLUMNS: [&str; 9] = [
    "task_id",
    "title",
    "description",
    "status",
    "priority",
    "tags",
    "due_date",
    "created_at",
    "updated_at",
];

/// Quotes a CSV cell (RFC 4180).
///
/// A cell such as `=1+1` gets a leading apostrophe. Otherwise a spreadsheet would evaluate it as a formula.
fn quoted(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = if formula { format!("'{text}") } else { text.to_owned() };
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        for (text, cell) in [
            ("plain", "plain"),
            ("a,b", "\"a,b\""),
            ("say \"a\"", "\"say \"\"a\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("=1+1", "'=1+1"),
        ] {
            assert_eq!(quoted(text), cell);
        }
    }
}
