//! The results of aggregates, `data.aggregations` (REQ-AGG-04).

use mcp_aql_core::OperationError;
use mcp_aql_core::internal::text::clean;
use mcp_aql_protocol::ErrorCode;
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::model::ResourceSchema;
use super::plan::{Aggregate, Function};
use super::value::{Scalar, ValueKind};

/// Maximum number of groups of an aggregate.
pub(crate) const MAX_GROUPS: usize = 10_000;

/// Returns the error for a `group_by` with too many groups.
pub(crate) fn too_many_groups(label: &str) -> OperationError {
    let label = clean(label);
    OperationError::new(
        ErrorCode::ValidationInvalidValue,
        format!(
            "Parameter 'aggregate.{label}' has more than {MAX_GROUPS} groups: filter the rows, or group by \
             another field"
        ),
    )
    .with_detail("param_name", format!("aggregate.{label}"))
    .with_detail("limit", MAX_GROUPS)
}

/// Returns the error for a sum outside the range of JSON numbers.
pub(crate) fn too_large() -> OperationError {
    let message = "A result of 'aggregate' is too large: aggregate fewer rows, or another field";
    OperationError::new(ErrorCode::ValidationInvalidValue, message)
        .with_detail("param_name", "aggregate")
}

/// The results of all aggregates by label, reported as `data.aggregations`:
///
/// ```json
/// { "all": 12, "by_status": { "open": 7, "closed": 5 } }
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Aggregations(Vec<(String, Computed)>);

/// The result of one aggregate.
#[derive(Debug, Clone, PartialEq)]
enum Computed {
    /// One result over all rows.
    Whole(Values),
    /// One result for each group.
    Groups(Vec<(String, Values)>),
}

/// The values of an aggregate's functions. They are reported as a single value, or as an object keyed by
/// function (choice G-06).
#[derive(Debug, Clone, PartialEq)]
struct Values(Vec<(&'static str, Scalar)>);

impl Aggregations {
    /// Adds the result of an aggregate.
    ///
    /// `groups` contains one entry per group: the key, or [`Scalar::Null`] for rows without a value, and the
    /// values of the aggregate's functions in order. Without `group_by`, pass one group.
    ///
    /// # Errors
    ///
    /// Returns an error if a sum is outside the range of JSON numbers.
    pub fn add(
        &mut self,
        aggregate: &Aggregate,
        groups: Vec<(Scalar, Vec<Scalar>)>,
        table: &ResourceSchema,
    ) -> Result<(), OperationError> {
        let is_beyond =
            |value: &Scalar| matches!(value, Scalar::Float(value) if !value.is_finite());
        if groups.iter().any(|(_, values)| values.iter().any(is_beyond)) {
            return Err(too_large());
        }
        let values = |values: Vec<Scalar>| {
            let names = aggregate.functions.iter().map(|function| function.name());
            Values(names.zip(values).collect())
        };
        let computed = match aggregate.group_by.and_then(|place| table.field(place)) {
            None => {
                let of_none = || aggregate.functions.iter().map(|it| of_no_rows(*it)).collect();
                let whole = groups.into_iter().next().map_or_else(of_none, |(_, whole)| whole);
                Computed::Whole(values(whole))
            }
            Some(field) => {
                let mut groups = groups;
                groups.sort_by(|(left, _), (right, _)| match (left, right) {
                    (Scalar::Text(left), Scalar::Text(right))
                        if field.kind == ValueKind::Choice =>
                    {
                        // All unknown names have the same rank.
                        field.rank(left).cmp(&field.rank(right)).then_with(|| left.cmp(right))
                    }
                    _ if left.is_null() || right.is_null() => left.is_null().cmp(&right.is_null()),
                    _ => left.order(right),
                });
                let groups = groups.into_iter().map(|(key, each)| (key_of(&key), values(each)));
                Computed::Groups(groups.collect())
            }
        };
        self.0.push((aggregate.label.clone(), computed));
        Ok(())
    }
}

/// Returns the value of a function over no rows.
pub(crate) fn of_no_rows(function: Function) -> Scalar {
    match function {
        Function::Count | Function::Sum(_) => Scalar::Int(0),
        Function::Avg(_) | Function::Min(_) | Function::Max(_) => Scalar::Null,
    }
}

/// Returns the name of a group in the reply. Rows without a value form the group `null`, so a group for the
/// string `null` is quoted.
fn key_of(key: &Scalar) -> String {
    match key {
        Scalar::Null => "null".to_owned(),
        Scalar::Text(text) if text.trim_matches('"') == "null" => format!("\"{text}\""),
        Scalar::Text(text) => text.clone().into_owned(),
        Scalar::Bool(value) => value.to_string(),
        Scalar::Int(value) => value.to_string(),
        Scalar::Float(value) => value.to_string(),
        Scalar::Date(date) => date.to_string(),
        Scalar::Instant(instant) => super::value::instant_text(instant),
        Scalar::Bytes(_) | Scalar::RawText(_) => "bytes".to_owned(),
        Scalar::Stored(value) => key_of(value),
    }
}

impl Serialize for Aggregations {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (label, computed) in &self.0 {
            map.serialize_entry(label, computed)?;
        }
        map.end()
    }
}

impl Serialize for Computed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Whole(values) => values.serialize(serializer),
            Self::Groups(groups) => {
                let mut map = serializer.serialize_map(Some(groups.len()))?;
                for (key, values) in groups {
                    map.serialize_entry(key, values)?;
                }
                map.end()
            }
        }
    }
}

impl Serialize for Values {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let [(_, value)] = self.0.as_slice() {
            return value.serialize(serializer);
        }
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}
