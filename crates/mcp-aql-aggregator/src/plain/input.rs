//! Parses the tool's arguments and reports errors by field.

use serde_json::{Map, Value};

use crate::engine::{Query, QueryError, check_query, check_results, out_of_bounds};
use crate::names::quoted_input;

/// The parameter names of the contract.
const NAMES: [&str; 3] = ["query", "maxResults", "servers"];
/// Maximum number of warnings about unknown arguments.
const MAX_WARNINGS: usize = 10;
/// Maximum number of servers that a query may name.
const MAX_SERVERS: usize = 1000;

/// Parses a query. Also returns warnings about unknown arguments.
///
/// ```json
/// { "query": "retry policy", "maxResults": 20, "servers": ["docs"] }
/// ```
pub(super) fn read(arguments: &Map<String, Value>) -> Result<(Query, Vec<String>), QueryError> {
    let query = match arguments.get("query") {
        None => {
            let others = ignored(arguments).into_iter().map(|other| format!("; {other}"));
            return Err(QueryError::invalid(
                "query",
                format!("Is required{}", others.collect::<String>()),
            ));
        }
        Some(Value::String(text)) => text,
        Some(other) => {
            return Err(QueryError::invalid(
                "query",
                format!("Must be a string, got {}", kind(other)),
            ));
        }
    };
    check_query(query)?;
    let mut asked = Query::new(query);
    if let Some(value) = arguments.get("maxResults") {
        asked = asked.max_results(whole(value)?);
    }
    if let Some(value) = arguments.get("servers") {
        let Value::Array(names) = value else {
            let reason = format!("Must be a list of strings, got {}", kind(value));
            return Err(QueryError::invalid("servers", reason));
        };
        if names.len() > MAX_SERVERS {
            let reason = format!("Must have {MAX_SERVERS} entries or fewer, got {}", names.len());
            return Err(QueryError::invalid("servers", reason));
        }
        for name in names {
            let Value::String(name) = name else {
                let reason = format!("Must be a list of strings, got a list with {}", kind(name));
                return Err(QueryError::invalid("servers", reason));
            };
            asked = asked.server(name);
        }
    }
    Ok((asked, ignored(arguments)))
}

/// Returns warnings about unknown arguments, limited in number.
fn ignored(arguments: &Map<String, Value>) -> Vec<String> {
    let mut unknown = arguments.keys().filter_map(|name| unknown(name));
    let mut told: Vec<_> = unknown.by_ref().take(MAX_WARNINGS).collect();
    let others = unknown.count();
    if others > 0 {
        told.push(format!("{others} more unknown parameters were ignored"));
    }
    told
}

/// Parses an integer as JSON Schema defines it: `30.0` is an integer.
fn whole(value: &Value) -> Result<usize, QueryError> {
    let Value::Number(number) = value else {
        let reason = format!("Must be an integer, got {}", kind(value));
        return Err(QueryError::invalid("maxResults", reason));
    };
    if let Some(count) = number.as_u64() {
        return check_results(usize::try_from(count).unwrap_or(usize::MAX));
    }
    match number.as_f64() {
        Some(count) if count.fract() != 0.0 => Err(QueryError::invalid(
            "maxResults",
            format!("Must be an integer, got {}", quoted_input(&number.to_string())),
        )),
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is whole, and lies between 0 and 1000"
        )]
        Some(count) if (0.0..=1000.0).contains(&count) => check_results(count as usize),
        _ => Err(QueryError::invalid(
            "maxResults",
            out_of_bounds(&quoted_input(&number.to_string())),
        )),
    }
}

/// Returns a warning if an argument is unknown. It is not an error, because the contract's schema
/// accepts additional arguments.
fn unknown(name: &str) -> Option<String> {
    if NAMES.contains(&name) {
        return None;
    }
    let plain = |name: &str| name.replace(['_', '-'], "").to_lowercase();
    let meant = NAMES.into_iter().find(|known| plain(known) == plain(name));
    let hint = meant.map_or_else(String::new, |known| format!("; did you mean '{known}'?"));
    Some(format!("'{}' is not a parameter and was ignored{hint}", quoted_input(name)))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fault(arguments: Value) -> (&'static str, String) {
        let Value::Object(arguments) = arguments else { panic!() };
        match read(&arguments) {
            Err(QueryError::Invalid { field, reason }) => (field, reason),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn faults_name_their_field() {
        // REQ-AGR-02, REQ-AGR-03, REQ-AGR-10
        for (arguments, field, reason) in [
            (json!({}), "query", "Is required"),
            (
                json!({ "Query": "a" }),
                "query",
                "Is required; 'Query' is not a parameter and was ignored; did you mean 'query'?",
            ),
            (json!({ "query": 7 }), "query", "Must be a string, got a number"),
            (json!({ "query": null }), "query", "Must be a string, got null"),
            (json!({ "query": "" }), "query", "Must have 1 to 10000 characters, got 0"),
            (json!({ "query": " \n" }), "query", "Must not be blank"),
            (json!({ "query": "\u{200b}\u{2060}" }), "query", "Must not be blank"),
            (
                json!({ "query": "é".repeat(10_001) }),
                "query",
                "Must have 1 to 10000 characters, got 10001",
            ),
            // The contract's own example.
            (
                json!({ "query": "a", "maxResults": 500 }),
                "maxResults",
                "Must be between 10 and 100, got 500",
            ),
            (
                json!({ "query": "a", "maxResults": 5 }),
                "maxResults",
                "Must be between 10 and 100, got 5",
            ),
            (
                json!({ "query": "a", "maxResults": -1 }),
                "maxResults",
                "Must be between 10 and 100, got -1",
            ),
            (
                json!({ "query": "a", "maxResults": 1e300 }),
                "maxResults",
                "Must be between 10 and 100, got 1e+300",
            ),
            (
                json!({ "query": "a", "maxResults": 30.5 }),
                "maxResults",
                "Must be an integer, got 30.5",
            ),
            (
                json!({ "query": "a", "maxResults": "30" }),
                "maxResults",
                "Must be an integer, got a string",
            ),
            (
                json!({ "query": "a", "servers": "docs" }),
                "servers",
                "Must be a list of strings, got a string",
            ),
            (
                json!({ "query": "a", "servers": ["docs", null] }),
                "servers",
                "Must be a list of strings, got a list with null",
            ),
        ] {
            let shows = arguments.to_string().chars().take(60).collect::<String>();
            let (got, why) = fault(arguments);
            assert_eq!((got, why.as_str()), (field, reason), "{shows}");
        }
    }

    #[test]
    fn valid_arguments_are_accepted() {
        // REQ-AGR-02, REQ-AGR-03
        let read = |arguments: Value| {
            let Value::Object(arguments) = arguments else { panic!() };
            read(&arguments).unwrap()
        };
        let (query, warnings) = read(json!({ "query": "é".repeat(10_000) }));
        assert!(query.max_results.is_none() && query.servers.is_empty() && warnings.is_empty());
        for count in [10, 100] {
            let (query, _) = read(json!({ "query": "a", "maxResults": count }));
            assert_eq!(query.max_results, Some(count));
        }
        let (query, _) =
            read(json!({ "query": "a", "maxResults": 30.0, "servers": ["b", "a", "b"] }));
        assert_eq!((query.max_results, query.servers), (Some(30), vec!["b".into(), "a".into()]));
        let (query, _) = read(json!({ "query": "a", "servers": [] }));
        assert!(query.servers.is_empty(), "an empty list means all");
    }

    #[test]
    fn the_number_of_warnings_is_limited() {
        let many = (0..50_000).map(|place| (format!("x{place}"), Value::Null));
        let arguments = many.chain([("query".to_owned(), json!("a"))]).collect();
        let (_, warnings) = read(&arguments).unwrap();
        assert_eq!(warnings.len(), 11);
        assert_eq!(warnings[10], "49990 more unknown parameters were ignored");
    }

    #[test]
    fn unknown_arguments_are_reported() {
        let Value::Object(arguments) =
            json!({ "query": "a", "max_results": 50, "depth\u{1b}[31m": 1, "_meta": {} })
        else {
            panic!()
        };
        let (_, warnings) = read(&arguments).unwrap();
        assert_eq!(
            warnings,
            [
                "'_meta' is not a parameter and was ignored",
                "'depth' is not a parameter and was ignored",
                "'max_results' is not a parameter and was ignored; did you mean 'maxResults'?",
            ]
        );
    }
}
