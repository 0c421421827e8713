//! Values of rows that have another type than their field.

use std::sync::Mutex;

use mcp_aql_core::internal::error::LateWarning;
use mcp_aql_core::internal::text::clean;
use mcp_aql_core::internal::util::lock;
use mcp_aql_core::{Severity, Warning};
use serde_json::{Value, json};

/// The fields of one row whose values have another type.
#[derive(Debug, Default)]
pub(crate) struct OddFields(Vec<OddField>);

#[derive(Debug)]
struct OddField {
    path: String,
    outcome: Outcome,
}

/// The part of a value that the reply shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The value as it is.
    Shown,
    /// The row without the value.
    Omitted,
    /// Nothing, because the query computes with the row in memory.
    RowOmitted,
}

impl Outcome {
    const fn text(self) -> &'static str {
        match self {
            Self::Shown => "shown as it is",
            Self::Omitted => "left out",
            Self::RowOmitted => "left out with its row",
        }
    }
}

impl OddFields {
    pub(crate) fn add(&mut self, path: &str, outcome: Outcome) {
        self.0.push(OddField { path: path.to_owned(), outcome });
    }

    /// The names of the fields, without the members inside them.
    pub(crate) fn fields(&self) -> impl Iterator<Item = String> {
        self.0.iter().filter_map(|field| field.path.split('.').next().map(str::to_owned))
    }
}

/// The values in the rows of one reply that have another type than their field. A program that does not know the
/// adapter has stored them: an epoch number in a column of dates, `infinity`, text in a number.
#[derive(Debug, Default)]
pub(crate) struct OddValues {
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    count: usize,
    /// The first ones, each with the identifier of its row.
    first: Vec<(String, OddField)>,
}

/// The maximum number of values that a warning names.
const MAX_NAMED: usize = 10;

impl OddValues {
    /// Records the fields of a row with this identifier.
    pub(crate) fn add(&self, row: &str, fields: OddFields) {
        let mut seen = lock(&self.seen);
        for field in fields.0 {
            seen.count += 1;
            if seen.first.len() < MAX_NAMED {
                seen.first.push((clean(row), field));
            }
        }
    }
}

impl LateWarning for OddValues {
    /// Rows are read before the reply is written.
    fn is_possible(&self) -> bool {
        lock(&self.seen).count > 0
    }

    /// The warning that names the rows and fields.
    fn warning(&self) -> Option<Warning> {
        let seen = lock(&self.seen);
        let (row, field) = seen.first.first()?;
        let others = match seen.count {
            1 => String::new(),
            2 => ", like 1 other value".to_owned(),
            count => format!(", like {} other values", count - 1),
        };
        let message = format!(
            "The value of '{}' in row '{row}' does not have the type of the field{others}: it is {}. Update the field \
             to correct it",
            field.path,
            field.outcome.text()
        );
        let values = seen.first.iter().map(|(row, field)| {
            json!({ "row": row, "field": field.path, "value": field.outcome.text() })
        });
        let warning = Warning::new("VALIDATION_STORED_VALUE_WARNING", message)
            .severity(Severity::Medium)
            .detail("values", values.collect::<Vec<Value>>())
            .detail("count", seen.count);
        Some(warning)
    }
}
