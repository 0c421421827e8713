//! Binds queries to operations as composite arguments.

use mcp_aql_core::OperationError;
use mcp_aql_core::internal::caller::Principal;
use mcp_aql_core::internal::operation::{
    CompositeDescription, CompositeReader, CompositeSpec, CompositeTable, CompositeValue,
    NestedName, Parameter,
};
use mcp_aql_core::internal::paging::CursorKey;
use mcp_aql_core::internal::schema::{Argument, ParameterSpec};
use serde_json::Value;

use super::capabilities::Capabilities;
use super::entry::{QueryEntry, QueryParameter, QueryParams, QueryTable};

/// The parameters that make a reply smaller, and the advice for each in the error for a reply that is too
/// large.
const REDUCTIONS: [(&str, &str); 3] = [
    ("first", "a smaller 'first'"),
    ("fields", "fewer 'fields'"),
    ("include", "fewer sections in 'include'"),
];

/// A query argument of an operation.
struct BoundQuery {
    entry: QueryEntry,
    key: CursorKey,
    /// The capabilities of the backend, determined once.
    capabilities: Capabilities,
    nested_names: Vec<NestedName>,
}

impl CompositeSpec for QueryEntry {
    fn bind(&self, key: &CursorKey) -> CompositeTable {
        let table: QueryTable = (self.table)(&self.options);
        let offered = |name: &str| table.parameters.iter().any(|parameter| parameter.name == name);
        let reductions = REDUCTIONS.iter().filter(|(name, _)| offered(name));
        let reductions = reductions.map(|(_, text)| *text).collect();
        let capabilities = self.options.backend();
        CompositeTable {
            reader: Box::new(BoundQuery {
                entry: *self,
                key: key.clone(),
                capabilities,
                nested_names: table.nested_names,
            }),
            description: CompositeDescription {
                details: table.details.into_iter().collect(),
                computed: table.computed,
                note: table.note,
                example: table.example,
                capabilities: table.capabilities,
                reductions,
                brief: table.brief,
            },
            parameters: table.parameters.into_iter().map(parameter).collect(),
            types: table.types,
            problems: table.problems,
        }
    }
}

impl CompositeReader for BoundQuery {
    fn read(
        &self,
        parameters: &mut [Argument],
        caller: Option<&Principal>,
        keep: bool,
    ) -> Result<CompositeValue, OperationError> {
        let own_key = caller.map(|caller| self.key.for_principal(caller));
        let mut given = QueryParams {
            values: Vec::with_capacity(parameters.len()),
            key: own_key.as_ref().unwrap_or(&self.key),
            capabilities: &self.capabilities,
            warnings: Vec::new(),
            late_warnings: Vec::new(),
        };
        for argument in parameters {
            let value = match &mut argument.value {
                Some(value) if keep => Some(value.clone()),
                value => value.take(),
            };
            given.values.extend(value.filter(|it| !it.is_null()).map(|it| (argument.name, it)));
        }
        let value = (self.entry.read)(&self.entry.options, &mut given)?;
        let QueryParams { warnings, late_warnings, .. } = given;
        Ok(CompositeValue { value, warnings, late_warnings })
    }

    fn nested_names(&self, sent: &[&str]) -> Vec<NestedName> {
        // A direction alone is not a `sort`, because a sort key needs a field.
        let has_field = sent.contains(&"sort") || sent.contains(&"field");
        let fits = |nested: &&NestedName| nested.parameter != "sort" || has_field;
        self.nested_names.iter().filter(fits).cloned().collect()
    }
}

fn parameter(table: QueryParameter) -> Parameter {
    let spec = if table.required {
        ParameterSpec::required::<Value>(table.name, "")
    } else {
        ParameterSpec::optional::<Value>(table.name, "")
    };
    Parameter {
        name: table.name.into(),
        spec,
        shape: table.shape,
        default: table.default,
        input: None,
        description: Some(table.description),
        type_name: table.type_name,
    }
}
