//! The state of an execution as sent to clients.

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::payload::{ExecutionError, Progress};
use super::record::ExecutionRecord;
use super::status::Status;
use crate::util::clock;

/// The state of a long-running call: its status, its progress and its result.
///
/// Source: MCP-AQL §8.4.3 (REQ-LIF-04).
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(description = "The state of a long-running call: status, progress and result.")]
pub(crate) struct ExecutionState {
    /// Identifier for the operations on executions.
    execution_id: String,
    status: Status,
    /// The name of the operation.
    operation: String,
    /// Number of the attempt: 1, plus 1 for each retry.
    attempt: u32,
    /// Start time in ISO 8601.
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<String>,
    /// End time in ISO 8601.
    #[serde(skip_serializing_if = "Option::is_none")]
    finished_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<Progress>,
    /// The error, if the execution failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ExecutionError>,
    /// The data of the operation, if it completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    result: Option<Box<RawValue>>,
    /// True if the result is no longer stored, because newer results use the space. Call the operation again if you
    /// need it.
    #[serde(skip_serializing_if = "Option::is_none")]
    result_dropped: Option<bool>,
    /// The warnings of the operation. Empty until the execution has ended, and in lists.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<Vec<Value>>")]
    warnings: Vec<Value>,
}

impl ExecutionState {
    pub(crate) fn new(id: &str, record: ExecutionRecord, with_result: bool) -> Self {
        let text = |at: Option<DateTime<Utc>>| at.map(clock::text);
        let is_dropped = record.output_dropped && record.status == Status::Completed;
        Self {
            execution_id: id.to_owned(),
            status: record.status,
            operation: record.operation,
            attempt: record.attempt,
            started_at: text(record.started_at),
            finished_at: text(record.finished_at),
            progress: record.progress,
            error: record.error,
            result: record.result.filter(|_| with_result),
            result_dropped: is_dropped.then_some(true),
            warnings: if with_result { record.warnings } else { Vec::new() },
        }
    }
}
