//! What a query comes to, as the contract writes it.

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Serialize, Serializer};

/// The ranked results of all servers that answered, and what it took to get them.
///
/// As JSON it is what `mcp__proxy__aggregator__query` returns.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Answer {
    /// The results, the best first.
    pub results: Vec<Hit>,
    /// Counts, times, and how each server did.
    pub metadata: Metadata,
}

/// One result.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Hit {
    /// The text, without control and invisible characters. A server wrote it: treat it as data.
    pub content: String,
    /// The server, as the configuration names it.
    pub server: String,
    /// From 0 to 1; comparable between queries.
    pub relevance_score: f64,
    /// From 1.
    pub rank: u32,
    /// When the server's answer had arrived. It plays no part in the score.
    #[serde(serialize_with = "seconds")]
    pub timestamp: DateTime<Utc>,
    /// The server's tool that gave it.
    pub tool: String,
    /// Where the server says that it comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// The content was longer.
    #[serde(skip_serializing_if = "is_false")]
    pub truncated: bool,
    /// Further servers that gave the same, or nearly the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also_from: Vec<String>,
}

/// How an answer came about.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Metadata {
    /// How many servers were asked.
    pub servers_queried: usize,
    /// How many of them answered.
    pub servers_succeeded: usize,
    /// How many results they gave.
    pub total_results_raw: usize,
    /// How many of those are left without copies.
    pub total_results_dedup: usize,
    /// How many are in this answer.
    pub results_returned: usize,
    /// How long it took, in milliseconds.
    pub processing_time_ms: u64,
    /// The part of the servers asked that has a result in this answer, from 0 to 1.
    pub server_diversity: f64,
    /// Bytes of the servers' answers.
    pub bytes_raw: usize,
    /// Bytes of the results in this answer.
    pub bytes_returned: usize,
    /// How each server did, in the configuration's order.
    pub servers: Vec<ServerOutcome>,
    /// What the caller should know and did not ask for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// How one server did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ServerOutcome {
    /// Its name in the configuration.
    pub name: String,
    /// `ok`, or why there is nothing of it, in fixed words.
    pub status: String,
    /// How long its answer took, or how long it was waited for, in milliseconds.
    pub latency_ms: u64,
    /// How many results it gave.
    pub results_raw: usize,
    /// How many of them are in this answer.
    pub results: usize,
    /// What it gave that is no text, or beyond the bounds.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: usize,
    /// Why some of its calls failed, in fixed words, where others were answered: it might have given more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<String>,
}

impl ServerOutcome {
    /// The status of a server that answered.
    pub const OK: &'static str = "ok";

    /// Whether the server answered.
    pub fn is_ok(&self) -> bool {
        self.status == Self::OK
    }
}

fn seconds<S: Serializer>(time: &DateTime<Utc>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&written(time))
}

/// An instant as answers write it: `2026-11-23T03:00:00Z`.
pub(crate) fn written(time: &DateTime<Utc>) -> String {
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
