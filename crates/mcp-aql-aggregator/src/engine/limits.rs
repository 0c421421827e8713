//! The contract's limits of a query.

use super::QueryError;

/// Maximum length of a query in characters.
pub const MAX_QUERY_CHARS: usize = 10_000;
/// Minimum number of results that a query can request.
pub const MIN_RESULTS: usize = 10;
/// Maximum number of results that a query can request.
pub const MAX_RESULTS: usize = 100;

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
