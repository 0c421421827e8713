//! The answer to a query, in the form that the contract defines.

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Serialize, Serializer};

/// The ranked results of all servers that answered, and statistics about the query.
///
/// Its JSON form is the result of `mcp__proxy__aggregator__query`:
///
/// ```json
/// {
///   "results": [{
///     "content": "Restore the newest backup first.", "server": "docs", "relevanceScore": 0.92,
///     "rank": 1, "timestamp": "2025-10-13T03:00:00Z", "tool": "search_docs"
///   }],
///   "metadata": {
///     "serversQueried": 1, "serversSucceeded": 1, "totalResultsRaw": 15, "totalResultsDedup": 12,
///     "resultsReturned": 1, "processingTimeMs": 1234, "serverDiversity": 1.0,
///     "bytesRaw": 2000, "bytesReturned": 32,
///     "servers": [
///       { "name": "docs", "status": "ok", "latencyMs": 12, "resultsRaw": 15, "results": 1 }
///     ]
///   }
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Answer {
    /// The results, the best first.
    pub results: Vec<Hit>,
    /// Counts, times and the outcome of each server.
    pub metadata: Metadata,
}

/// One result.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Hit {
    /// The content without control and invisible characters. A server wrote it, so treat it as
    /// data, not as instructions.
    pub content: String,
    /// Name of the server in the configuration.
    pub server: String,
    /// Relevance from 0 to 1. You can compare it between queries.
    pub relevance_score: f64,
    /// Rank in this answer, from 1.
    pub rank: u32,
    /// Time at which the server's answer arrived. The score does not depend on it.
    #[serde(serialize_with = "seconds")]
    pub timestamp: DateTime<Utc>,
    /// The server's tool that returned the result.
    pub tool: String,
    /// URI of the result's source, as stated by the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// If `true`, the content was shortened.
    #[serde(skip_serializing_if = "is_false")]
    pub truncated: bool,
    /// Other servers that returned the same result, or nearly the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also_from: Vec<String>,
}

/// Statistics about an answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Metadata {
    /// Number of servers queried.
    pub servers_queried: usize,
    /// Number of servers that answered.
    pub servers_succeeded: usize,
    /// Number of results that the servers returned.
    pub total_results_raw: usize,
    /// Number of results without duplicates.
    pub total_results_dedup: usize,
    /// Number of results in this answer.
    pub results_returned: usize,
    /// Processing time in milliseconds.
    pub processing_time_ms: u64,
    /// Share of the queried servers with a result in this answer, from 0 to 1.
    pub server_diversity: f64,
    /// Size of the servers' answers in bytes.
    pub bytes_raw: usize,
    /// Size of the results in this answer in bytes.
    pub bytes_returned: usize,
    /// The outcome of each server, in the order of the configuration.
    pub servers: Vec<ServerOutcome>,
    /// Warnings for the caller, for example about results that did not fit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// The outcome of a query for one server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ServerOutcome {
    /// Name of the server in the configuration.
    pub name: String,
    /// `ok`, or the reason why the server returned no results, in a fixed wording.
    pub status: String,
    /// Time until the server answered or the query gave up on it, in milliseconds.
    pub latency_ms: u64,
    /// Number of results that the server returned.
    pub results_raw: usize,
    /// Number of the server's results in this answer.
    pub results: usize,
    /// Number of items omitted because they were no strings or exceeded a limit.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: usize,
    /// The reasons why some of the server's calls failed while others were answered, in a fixed
    /// wording.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<String>,
}

impl ServerOutcome {
    /// The status of a server that answered.
    pub const OK: &'static str = "ok";

    /// Returns `true` if the server answered.
    pub fn is_ok(&self) -> bool {
        self.status == Self::OK
    }
}

fn seconds<S: Serializer>(time: &DateTime<Utc>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&format_time(time))
}

/// Formats a time for an answer, for example `2026-11-23T03:00:00Z`.
pub(crate) fn format_time(time: &DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Secs, true)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(value: &usize) -> bool {
    *value == 0
}

#[cfg(test)]
mod tests {
    use chrono::TimeZone as _;
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_is_written_as_the_contract_has_it() {
        // REQ-AGR-04, REQ-AGR-05, REQ-AGR-06
        let hit = Hit {
            content: "useState".to_owned(),
            server: "docs".to_owned(),
            relevance_score: 0.92,
            rank: 1,
            timestamp: Utc.with_ymd_and_hms(2025, 10, 13, 3, 0, 0).unwrap(),
            tool: "search_docs".to_owned(),
            uri: None,
            truncated: false,
            also_from: Vec::new(),
        };
        let outcome = ServerOutcome {
            name: "docs".to_owned(),
            status: ServerOutcome::OK.to_owned(),
            latency_ms: 12,
            results_raw: 15,
            results: 1,
            left_out: 0,
            failed: Vec::new(),
        };
        let metadata = Metadata {
            servers_queried: 1,
            servers_succeeded: 1,
            total_results_raw: 15,
            total_results_dedup: 12,
            results_returned: 1,
            processing_time_ms: 1234,
            server_diversity: 1.0,
            bytes_raw: 2000,
            bytes_returned: 8,
            servers: vec![outcome],
            warnings: Vec::new(),
        };
        let answer = Answer { results: vec![hit], metadata };
        assert_eq!(
            serde_json::to_value(&answer).unwrap(),
            json!({
                "results": [{
                    "content": "useState", "server": "docs", "relevanceScore": 0.92, "rank": 1,
                    "timestamp": "2025-10-13T03:00:00Z", "tool": "search_docs",
                }],
                "metadata": {
                    "serversQueried": 1, "serversSucceeded": 1, "totalResultsRaw": 15,
                    "totalResultsDedup": 12, "resultsReturned": 1, "processingTimeMs": 1234,
                    "serverDiversity": 1.0, "bytesRaw": 2000, "bytesReturned": 8,
                    "servers": [{
                        "name": "docs", "status": "ok", "latencyMs": 12, "resultsRaw": 15, "results": 1,
                    }],
                },
            })
        );
    }
}
