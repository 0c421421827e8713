//! Queries in an adapter's operations: between the operation's table and its arguments.

use std::ops::Range;
use std::sync::Arc;

use mcp_aql_protocol::ErrorCode;
use serde_json::Value;

use super::capabilities::Capabilities;
use super::entry::{Prepared, QueryArgument, QueryEntry, QueryParameter, QueryParams, QueryTable};
use super::select::OpenPaths;
use crate::error::OperationError;
use crate::introspection::TypeRegistry;
use crate::operation::{Argument, Parameter};
use crate::paging::CursorKey;
use crate::shape::Members;
use crate::spec::ParameterSpec;
use crate::warning::Warning;

/// The queries of an operation, and their description for introspection.
#[derive(Debug, Default)]
pub(crate) struct Queries {
    entries: Vec<BoundQuery>,
    /// Members of the operation's details.
    pub(crate) details: Vec<(&'static str, Members)>,
    pub(crate) computed: Vec<Members>,
    /// The controls that the operation does not support.
    pub(crate) note: Option<String>,
    /// The members of an example call that combines the controls, as JSON text.
    pub(crate) example: Option<String>,
    pub(crate) capabilities: Vec<&'static str>,
}

#[derive(Debug)]
struct BoundQuery {
    entry: QueryEntry,
    /// The indexes of the query's parameters in the operation's table.
    places: Range<usize>,
    key: CursorKey,
    /// The capabilities of the backend, determined once.
    capabilities: Capabilities,
}

/// The queries of a call, in the order of the operation's arguments.
#[derive(Debug, Default)]
pub(crate) struct ReadQueries {
    queries: std::vec::IntoIter<ParsedQuery>,
    pub(crate) warnings: Vec<Warning>,
    /// Paths that may be missing from the reply.
    pub(crate) open_paths: Vec<Arc<OpenPaths>>,
    /// The ways to request a smaller reply.
    reductions: Vec<&'static str>,
}

/// The parameters that make a reply smaller, with the advice in the error for a reply that is too large.
const REDUCTIONS: [(&str, &str); 3] = [
    ("first", "a smaller 'first'"),
    ("fields", "fewer 'fields'"),
    ("include", "fewer sections in 'include'"),
];

/// A parsed query.
#[derive(Debug)]
struct ParsedQuery {
    query: Prepared,
    /// The number of parameters that were parsed.
    parameters: usize,
}

impl Queries {
    /// Adds a query argument of the operation's table, with its parameters.
    pub(crate) fn add(
        &mut self,
        entry: &QueryEntry,
        key: &CursorKey,
        parameters: &mut Vec<Parameter>,
        types: &mut TypeRegistry,
        problems: &mut Vec<String>,
    ) {
        let table: QueryTable = (entry.table)(&entry.options);
        let start = parameters.len();
        parameters.extend(table.parameters.into_iter().map(parameter));
        let places = start..parameters.len();
        let capabilities = entry.options.backend();
        self.entries.push(BoundQuery { entry: *entry, places, key: key.clone(), capabilities });
        self.details.extend(table.details);
        self.computed.extend(table.computed);
        self.note = table.note.or(self.note.take());
        self.example = table.example.or(self.example.take());
        self.capabilities.extend(table.capabilities);
        for (name, details) in table.types {
            types.make(name, details, problems);
        }
        problems.extend(table.problems);
    }

    /// Parses the queries of a call from its validated arguments. If `whole` is set, the arguments
    /// are kept for a gate or the log, which read all of them.
    pub(crate) fn read(
        &self,
        arguments: &mut [Argument],
        whole: bool,
    ) -> Result<ReadQueries, OperationError> {
        // Without a reader the values are moved, not copied.
        let whole = whole || tracing::enabled!(tracing::Level::DEBUG);
        let mut queries = Vec::with_capacity(self.entries.len());
        let (mut warnings, mut open_paths) = (Vec::new(), Vec::new());
        let mut reductions = Vec::new();
        for bound in &self.entries {
            let own = arguments.get_mut(bound.places.clone()).unwrap_or_default();
            let parameters = own.len();
            let offered = |name: &str| own.iter().any(|argument| argument.name == name);
            reductions
                .extend(REDUCTIONS.iter().filter(|(name, _)| offered(name)).map(|(_, text)| *text));
            let mut given = QueryParams {
                values: Vec::with_capacity(parameters),
                key: &bound.key,
                capabilities: &bound.capabilities,
                warnings: Vec::new(),
                open_paths: Vec::new(),
            };
            for argument in own {
                let value = match &mut argument.value {
                    Some(value) if whole => Some(value.clone()),
                    value => value.take(),
                };
                given.values.extend(value.filter(|it| !it.is_null()).map(|it| (argument.name, it)));
            }
            let query = (bound.entry.read)(&bound.entry.options, &mut given)?;
            warnings.append(&mut given.warnings);
            open_paths.append(&mut given.open_paths);
            queries.push(ParsedQuery { query, parameters });
        }
        Ok(ReadQueries { queries: queries.into_iter(), warnings, open_paths, reductions })
    }
}

impl ReadQueries {
    /// Adds advice to the error for a result that does not fit in a reply.
    pub(crate) fn explain(&self, error: OperationError) -> OperationError {
        let details = error.details();
        let is_of_reply = error.code() == ErrorCode::ValidationPayloadTooLarge
            && details.contains_key("operation_ran");
        if !is_of_reply || self.reductions.is_empty() || details.contains_key("fitting_page_size") {
            return error;
        }
        let reductions = self.reductions.join(" or ");
        error.with_detail(
            "hint",
            format!("the result does not fit in one reply: ask for {reductions}"),
        )
    }

    /// The warnings about a reply that was written.
    pub(crate) fn warnings_of_reply(&self) -> impl Iterator<Item = Warning> {
        self.open_paths.iter().filter_map(|open| open.warning())
    }

    /// Returns the next query and the number of its parameters.
    pub(crate) fn next<Q: QueryArgument>(&mut self) -> Option<(Q, usize)> {
        let ParsedQuery { query, parameters } = self.queries.next()?;
        Some((*query.downcast::<Q>().ok()?, parameters))
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
