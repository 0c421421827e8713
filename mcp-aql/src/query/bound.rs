//! Queries as an adapter's operations hold them: between the operation's table and its arguments.

use std::ops::Range;
use std::sync::Arc;

use mcp_aql_protocol::ErrorCode;
use serde_json::Value;

use super::capabilities::Capabilities;
use super::entry::{Given, Prepared, QueryArgument, QueryEntry, QueryParameter, QueryTable};
use super::select::OpenPaths;
use crate::error::OperationError;
use crate::introspection::TypeRegistry;
use crate::operation::{Argument, Parameter};
use crate::paging::CursorKey;
use crate::shape::Members;
use crate::spec::ParameterSpec;
use crate::warning::Warning;

/// The queries of an operation, and what introspection tells of them.
#[derive(Debug, Default)]
pub(crate) struct Queries {
    entries: Vec<Bound>,
    /// Members of the operation's details.
    pub(crate) details: Vec<(&'static str, Members)>,
    pub(crate) computed: Vec<Members>,
    /// What the operation does without.
    pub(crate) note: Option<String>,
    /// Members of a call that shows the controls together, as JSON text.
    pub(crate) example: Option<String>,
    pub(crate) capabilities: Vec<&'static str>,
}

#[derive(Debug)]
struct Bound {
    entry: QueryEntry,
    /// Which of the operation's parameters are its own.
    places: Range<usize>,
    key: CursorKey,
    /// What the backend can do, asked once.
    capabilities: Capabilities,
}

/// The queries of a call, in the order in which the operation takes them.
#[derive(Debug, Default)]
pub(crate) struct ReadQueries {
    queries: std::vec::IntoIter<ReadQuery>,
    pub(crate) warnings: Vec<Warning>,
    /// The paths that the reply may lack.
    pub(crate) open_paths: Vec<Arc<OpenPaths>>,
    /// The ways to ask for a smaller reply.
    reductions: Vec<&'static str>,
}

/// The parameters of queries that make a reply smaller, as the error for a reply that is too large names
/// them.
const REDUCTIONS: [(&str, &str); 3] = [
    ("first", "a smaller 'first'"),
    ("fields", "fewer 'fields'"),
    ("include", "fewer sections in 'include'"),
];

/// One query that was understood.
#[derive(Debug)]
struct ReadQuery {
    query: Prepared,
    /// How many parameters it was read from.
    parameters: usize,
}

impl Queries {
    /// Adds an argument of the operation's table and its parameters.
    pub(crate) fn add(
        &mut self,
        entry: &QueryEntry,
        key: &CursorKey,
        parameters: &mut Vec<Parameter>,
        types: &mut TypeRegistry,
        problems: &mut Vec<String>,
    ) {
        let told: QueryTable = (entry.table)(&entry.options);
        let start = parameters.len();
        parameters.extend(told.parameters.into_iter().map(parameter));
        let places = start..parameters.len();
        let capabilities = entry.options.backend();
        self.entries.push(Bound { entry: *entry, places, key: key.clone(), capabilities });
        self.details.extend(told.details);
        self.computed.extend(told.computed);
        self.note = told.note.or(self.note.take());
        self.example = told.example.or(self.example.take());
        self.capabilities.extend(told.capabilities);
        for (name, details) in told.types {
            types.make(name, details, problems);
        }
        problems.extend(told.problems);
    }

    /// Reads the queries of a call out of its checked arguments. These stay where they are if somebody
    /// looks at the `whole` of them: a gate, or the log.
    pub(crate) fn read(
        &self,
        arguments: &mut [Argument],
        whole: bool,
    ) -> Result<ReadQueries, OperationError> {
        // Where nobody does, nobody need pay for that.
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
            let mut given = Given {
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
            queries.push(ReadQuery { query, parameters });
        }
        Ok(ReadQueries { queries: queries.into_iter(), warnings, open_paths, reductions })
    }
}

impl ReadQueries {
    /// Adds the next step to the error for a result that does not fit in a reply.
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

    /// The warnings about a reply that is written.
    pub(crate) fn warnings_of_reply(&self) -> impl Iterator<Item = Warning> {
        self.open_paths.iter().filter_map(|open| open.warning())
    }

    /// The next query, and how many parameters it was read from.
    pub(crate) fn next<Q: QueryArgument>(&mut self) -> Option<(Q, usize)> {
        let ReadQuery { query, parameters } = self.queries.next()?;
        Some((*query.downcast::<Q>().ok()?, parameters))
    }
}

fn parameter(told: QueryParameter) -> Parameter {
    let spec = if told.required {
        ParameterSpec::required::<Value>(told.name, "")
    } else {
        ParameterSpec::optional::<Value>(told.name, "")
    };
    Parameter {
        name: told.name.into(),
        spec,
        shape: told.shape,
        default: told.default,
        input: None,
        description: Some(told.description),
        type_name: told.type_name,
    }
}
