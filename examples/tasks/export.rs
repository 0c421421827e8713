//! The export of all tasks as text.

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
    /// An export without tasks.
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

/// Quotes a cell as in RFC 4180. An apostrophe is added to text that a spreadsheet would evaluate as a formula.
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
