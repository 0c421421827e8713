//! Collects stored values whose type differs from the type of their field.

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

/// How the reply treats such a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The reply contains the value as stored.
    Shown,
    /// The reply contains the row without the value.
    Omitted,
    /// The row is omitted, because the query computes with the row in memory.
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

    /// Returns the paths of the fields.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|field| field.path.as_str())
    }
}

/// The values in the rows of one reply whose type differs from the type of their field.
///
/// Such values come from programs that write to the same table. Examples are an epoch number in a date
/// column, `infinity`, and a string in a numeric column.
#[derive(Debug, Default)]
pub(crate) struct OddValues {
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    count: usize,
    /// The first values, each with the identifier of its row.
    first: Vec<(String, OddField)>,
    /// The path of a field that the filter compares with a value that its column cannot contain.
    unmatched: Option<String>,
}

/// Maximum number of values named in a warning.
const MAX_NAMED: usize = 10;

impl OddValues {
    /// Records the fields of the row with this identifier.
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

impl OddValues {
    /// Records a field that the filter compares with a value that its column cannot contain.
    pub(crate) fn add_unmatched(&self, path: String) {
        lock(&self.seen).unmatched.get_or_insert(path);
    }
}

/// Returns the warning about a filter that no row can satisfy.
fn unmatched_warning(path: &str) -> Warning {
    let message = format!(
        "No row has the value of 'filter.{path}', because its column cannot contain it, for example a time with more \
         digits than the column stores. Compare with another value, or with a range"
    );
    Warning::new("VALIDATION_FILTER_VALUE_WARNING", message)
        .severity(Severity::Medium)
        .detail("param_name", format!("filter.{path}"))
}

impl LateWarning for OddValues {
    /// Returns `true` if a value was recorded. All rows are read before the reply is written.
    fn is_possible(&self) -> bool {
        let seen = lock(&self.seen);
        seen.count > 0 || seen.unmatched.is_some()
    }

    /// Returns the warning that names the rows and fields, or the parameter that no row satisfies.
    fn warning(&self) -> Option<Warning> {
        let seen = lock(&self.seen);
        let Some((row, field)) = seen.first.first() else {
            return seen.unmatched.as_deref().map(unmatched_warning);
        };
        let others = match seen.count {
            1 => String::new(),
            2 => ", like 1 other value".to_owned(),
            count => format!(", like {} other values", count - 1),
        };
        let message = format!(
            "The value of '{}' in row '{row}' does not have the type of the field{others}. It is {}. \
             Update the field to correct it",
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
