//! A query, the contract's limits for it, and the errors of queries.

use crate::upstream::{Failure, Route};

/// Maximum length of a query in characters.
pub const MAX_QUERY_CHARS: usize = 10_000;
/// Minimum number of results that a query can request.
pub const MIN_RESULTS: usize = 10;
/// Maximum number of results that a query can request.
pub const MAX_RESULTS: usize = 100;

/// A query and the servers to send it to.
///
/// You rarely need to name servers: without names, the rules of the configuration choose them.
///
/// ```
/// use mcp_aql_aggregator::Query;
///
/// let query = Query::new("how do I pin a version").max_results(10).server("docs");
/// # let _ = query;
/// ```
#[derive(Debug, Clone)]
pub struct Query {
    pub(crate) query: String,
    pub(crate) max_results: Option<usize>,
    pub(crate) servers: Vec<String>,
    /// The aggregators that the query passed through, if any.
    pub(crate) route: Option<Result<Route, Failure>>,
    /// If `true`, all results are returned regardless of their size, because the caller splits them
    /// into pages.
    pub(crate) whole: bool,
}

impl Query {
    /// Creates a query for the servers that the configuration's rules choose.
    pub fn new(query: impl Into<String>) -> Self {
        Self {
            query: query.into(),
            max_results: None,
            servers: Vec::new(),
            route: None,
            whole: false,
        }
    }

    /// Limits the number of results to 10 to 100. The default is the configuration's.
    #[must_use]
    pub fn max_results(mut self, count: usize) -> Self {
        self.max_results = Some(count);
        self
    }

    /// Restricts the query to this server. Call it again to add more servers.
    #[must_use]
    pub fn server(mut self, name: impl Into<String>) -> Self {
        let name = name.into();
        if !self.servers.contains(&name) {
            self.servers.push(name);
        }
        self
    }
}

/// The error of a query.
///
/// You can show the message to the caller. It contains no message of a server, because that may
/// contain a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// A parameter of the query is invalid.
    #[error("Invalid query parameters: {field}: {reason}")]
    Invalid {
        /// Name of the parameter in the contract.
        field: &'static str,
        /// The reason why the parameter is invalid.
        reason: String,
    },
    /// No enabled server has this name.
    #[error("Invalid query parameters: servers: {reason}")]
    UnknownServer {
        /// The name in the query.
        name: String,
        /// The reason, and the available names.
        reason: String,
    },
    /// Every server failed.
    #[error("Aggregation failed: all servers unavailable ({})", errors.join("; "))]
    AllFailed {
        /// The names of the servers queried.
        attempted: Vec<String>,
        /// `server: cause` for each server.
        errors: Vec<String>,
    },
    /// No server can be queried: none is enabled, or none has a search tool.
    #[error("Aggregation failed: no server can be queried ({})", errors.join("; "))]
    NoServer {
        /// `server: cause` for each server.
        errors: Vec<String>,
    },
    /// The maximum number of concurrent queries is reached. You can retry later.
    #[error("Aggregation failed: too many queries at once")]
    Busy,
    /// The query has passed through this aggregator before, or through too many aggregators.
    #[error("Aggregation failed: aggregators query each other in a loop")]
    Loop,
    /// You have closed the aggregator.
    #[error("Aggregation failed: the aggregator is closed")]
    Closed,
    /// An internal error of the aggregator.
    #[error("Aggregation failed: internal error")]
    Internal,
}

impl QueryError {
    pub(crate) const fn invalid(field: &'static str, reason: String) -> Self {
        Self::Invalid { field, reason }
    }
}

/// Checks the query's length according to the contract.
pub(crate) fn check_query(query: &str) -> Result<(), QueryError> {
    let length = query.chars().count();
    if length > MAX_QUERY_CHARS || query.is_empty() {
        let reason = format!("Must have 1 to {MAX_QUERY_CHARS} characters, got {length}");
        return Err(QueryError::invalid("query", reason));
    }
    if mcp_aql_rank::texts::clean(query).trim().is_empty() {
        return Err(QueryError::invalid("query", "Must not be blank".to_owned()));
    }
    Ok(())
}

/// Checks the number of results according to the contract.
pub(crate) fn check_results(count: usize) -> Result<usize, QueryError> {
    if (MIN_RESULTS..=MAX_RESULTS).contains(&count) {
        return Ok(count);
    }
    Err(QueryError::invalid("maxResults", out_of_bounds(&count.to_string())))
}

/// Returns the reason why a number of results is invalid.
pub(crate) fn out_of_bounds(got: &str) -> String {
    format!("Must be between {MIN_RESULTS} and {MAX_RESULTS}, got {got}")
}
