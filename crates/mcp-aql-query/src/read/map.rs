//! Parses query parameters outside of an operation.

use mcp_aql_core::OperationError;
use mcp_aql_core::internal::paging::CursorKey;
use mcp_aql_core::internal::schema::shape;
use mcp_aql_protocol::ErrorCode;
use serde_json::{Map, Value};

use super::QueryFaults;
use crate::entry::{QueryArgument, QueryParams};
use crate::options::QueryOptions;

/// Parses parameters that were not validated against an operation's table. It therefore also checks names and
/// JSON types.
pub(crate) fn read_map<Q: QueryArgument>(
    options: &QueryOptions,
    params: Map<String, Value>,
    key: &CursorKey,
) -> Result<Q, OperationError> {
    let table = Q::table(options);
    let capabilities = options.backend();
    let mut given = QueryParams {
        values: Vec::new(),
        key,
        capabilities: &capabilities,
        warnings: Vec::new(),
        late_warnings: Vec::new(),
    };
    let mut faults = QueryFaults::default();
    let mut shape_faults = shape::Faults::default();
    let shapes = shape::Shapes::new();
    for (name, value) in params {
        let Some(parameter) = table.parameters.iter().find(|known| known.name == name) else {
            let valid: Vec<_> = table.parameters.iter().map(|known| known.name).collect();
            faults.unknown("params", "parameter", &name, &valid);
            continue;
        };
        if !value.is_null() {
            let path = shape::Path::Root(parameter.name);
            parameter.shape.check(&value, path, &shapes, &mut shape_faults);
            given.values.push((parameter.name, value));
        }
    }
    for fault in shape_faults.into_vec() {
        let expected = table.parameters.iter().find(|known| known.name == fault.path);
        let expected = expected.map(|known| shape::type_name(&known.shape, &shapes));
        faults.refuse(&fault.path, "has the wrong type", expected.unwrap_or_default());
    }
    for parameter in table.parameters.iter().filter(|parameter| parameter.required) {
        if !given.values.iter().any(|(name, _)| *name == parameter.name) {
            return Err(OperationError::new(
                ErrorCode::ValidationMissingParam,
                format!("Missing required parameter '{}'", parameter.name),
            ));
        }
    }
    match faults.into_error() {
        Some(error) => Err(error),
        None => Q::read(options, &mut given),
    }
}
