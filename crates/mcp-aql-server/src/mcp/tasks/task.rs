//! Converts the state of an execution into the state of a task.

use std::borrow::Cow;
use std::time::Duration;

use chrono::{DateTime, Utc};
use mcp_aql_core::internal::execution::created_at;
use mcp_aql_core::internal::response::Reply;
use mcp_aql_core::internal::util::clock::text;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::TaskProtocol;
use super::task_id::TaskId;

/// Interval at which clients should request the state, in milliseconds.
const POLL_INTERVAL_MS: u64 = 1_000;

/// A reply with the state of an execution.
#[derive(Deserialize)]
struct StateReply<'a> {
    #[serde(borrow)]
    data: ExecutionState<'a>,
}

/// The parts of an execution's state that a task shows.
#[derive(Deserialize)]
pub(super) struct ExecutionState<'a> {
    #[serde(borrow)]
    execution_id: Cow<'a, str>,
    status: ExecutionStatus,
    attempt: u32,
    #[serde(default)]
    started_at: Option<DateTime<Utc>>,
    #[serde(default)]
    finished_at: Option<DateTime<Utc>>,
    #[serde(borrow, default)]
    progress: TaskMessage<'a>,
    #[serde(borrow, default)]
    error: TaskMessage<'a>,
}

#[derive(Default, Deserialize)]
struct TaskMessage<'a> {
    #[serde(borrow, default)]
    message: Option<Cow<'a, str>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ExecutionStatus {
    Pending,
    Running,
    Completed,
    Failed,
    Cancelled,
}

/// The state of a task.
#[derive(Debug, Clone)]
pub(super) struct Task {
    pub(super) id: TaskId,
    pub(super) status: TaskStatus,
    message: Option<String>,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
    /// How long after its creation the task is kept. Unset until the task has ended.
    ttl_ms: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TaskStatus {
    Working,
    Completed,
    Failed,
    Cancelled,
}

/// A task in the format of MCP 2025-11-25.
///
/// ```json
/// {
///   "taskId": "exec_7", "status": "working", "statusMessage": "half",
///   "createdAt": "2031-05-06T07:00:00.000Z", "lastUpdatedAt": "2031-05-06T07:00:02.000Z",
///   "ttl": null, "pollInterval": 1000
/// }
/// ```
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UtilityTask {
    task_id: String,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    status_message: Option<String>,
    created_at: String,
    last_updated_at: String,
    ttl: Option<u64>,
    poll_interval: u64,
}

/// A task in the format of the extension. It is used as a result, so it contains the type of the result.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExtensionTask<'a> {
    result_type: &'static str,
    task_id: String,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    status_message: Option<String>,
    created_at: String,
    last_updated_at: String,
    ttl_ms: Option<u64>,
    poll_interval_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a RawValue>,
}

impl TaskStatus {
    pub(super) const fn is_final(self) -> bool {
        !matches!(self, Self::Working)
    }

    /// Returns the status in MCP's spelling. In the extension, a failed operation is `completed` with an error as its
    /// result. The extension reserves `failed` for requests answered with a JSON-RPC error.
    pub(super) const fn as_str(self, protocol: TaskProtocol) -> &'static str {
        match (self, protocol) {
            (Self::Working, _) => "working",
            (Self::Completed, _) | (Self::Failed, TaskProtocol::Extension) => "completed",
            (Self::Failed, TaskProtocol::Utility) => "failed",
            (Self::Cancelled, _) => "cancelled",
        }
    }
}

impl Task {
    /// Reads the state of an execution from a reply. Returns `None` if the reply contains none.
    pub(super) fn of_reply(reply: &Reply, retention: Duration) -> Option<Self> {
        let StateReply { data } = serde_json::from_str(&reply.text).ok()?;
        Some(Self::new(data, retention))
    }

    pub(super) fn new(state: ExecutionState<'_>, retention: Duration) -> Self {
        let ExecutionState { execution_id, status, attempt, started_at, finished_at, .. } = state;
        let created_at = match attempt {
            1 => created_at(&execution_id),
            _ => None,
        };
        let created_at = created_at.or(started_at).unwrap_or_default();
        let (status, message) = match status {
            ExecutionStatus::Pending => {
                (TaskStatus::Working, Some("The execution waits for its turn".into()))
            }
            ExecutionStatus::Running => (TaskStatus::Working, state.progress.message),
            ExecutionStatus::Completed => (TaskStatus::Completed, None),
            ExecutionStatus::Failed => (TaskStatus::Failed, state.error.message),
            ExecutionStatus::Cancelled => (TaskStatus::Cancelled, state.progress.message),
        };
        let expires = |finished: DateTime<Utc>| {
            let lived = (finished - created_at).to_std().unwrap_or_default();
            u64::try_from((lived + retention).as_millis()).unwrap_or(u64::MAX)
        };
        Self {
            id: TaskId { execution: execution_id.into_owned(), attempt },
            status,
            message: message.map(Cow::into_owned),
            created_at,
            updated_at: finished_at.or(started_at).unwrap_or(created_at),
            ttl_ms: finished_at.map(expires),
        }
    }

    /// Returns the task as it was at its creation: a new task must have the status `working`, even if it has already
    /// ended.
    pub(super) fn at_creation(self) -> Self {
        let status = TaskStatus::Working;
        Self { status, message: None, updated_at: self.created_at, ttl_ms: None, ..self }
    }

    /// Converts the task to the format of MCP 2025-11-25.
    pub(super) fn of_utility(&self) -> UtilityTask {
        UtilityTask {
            task_id: self.id.to_string(),
            status: self.status.as_str(TaskProtocol::Utility),
            status_message: self.message.clone(),
            created_at: text(self.created_at),
            last_updated_at: text(self.updated_at),
            ttl: self.ttl_ms,
            poll_interval: POLL_INTERVAL_MS,
        }
    }

    /// Converts the task to the format of the extension, including its result if it has one.
    pub(super) fn of_extension<'a>(
        &self,
        result_type: &'static str,
        result: Option<&'a RawValue>,
    ) -> ExtensionTask<'a> {
        ExtensionTask {
            result_type,
            task_id: self.id.to_string(),
            status: self.status.as_str(TaskProtocol::Extension),
            status_message: self.message.clone(),
            created_at: text(self.created_at),
            last_updated_at: text(self.updated_at),
            ttl_ms: self.ttl_ms,
            poll_interval_ms: POLL_INTERVAL_MS,
            result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// This id contains the time 2031-05-06T07:00:00.000Z.
    const ID: &str = "exec_y7n44vbkz352ckgw9my1mvz59tdwh9edd1r";
    const HOUR: Duration = Duration::from_secs(3600);

    fn task(state: Value) -> Option<Task> {
        let reply = Reply::of_tool(json!({ "success": true, "data": state }).to_string());
        Task::of_reply(&reply, HOUR)
    }

    fn both(task: &Task) -> [Value; 2] {
        let extension = task.of_extension("complete", None);
        [serde_json::to_value(task.of_utility()), serde_json::to_value(extension)]
            .map(Result::unwrap)
    }

    #[test]
    fn a_task_shows_the_state_of_its_execution() {
        // REQ-LIF-01, REQ-LIF-06
        let created = text(created_at(ID).unwrap());
        let (start, end) = ("2031-05-06T07:00:02.000Z", "2031-05-06T07:00:03.500Z");
        let kept = u64::try_from(HOUR.as_millis()).unwrap()
            + u64::try_from(
                (end.parse::<DateTime<Utc>>().unwrap() - created_at(ID).unwrap())
                    .num_milliseconds(),
            )
            .unwrap();
        for (status, more, shown, message, updated, ttl) in [
            (
                "pending",
                json!({}),
                ["working"; 2],
                Some("The execution waits for its turn"),
                &*created,
                None,
            ),
            ("running", json!({ "started_at": start }), ["working"; 2], None, start, None),
            (
                "running",
                json!({ "started_at": start, "progress": { "current": 1, "total": 2, "message": "half" } }),
                ["working"; 2],
                Some("half"),
                start,
                None,
            ),
            (
                "completed",
                json!({ "started_at": start, "finished_at": end, "result": [1.5, { "status": "x" }] }),
                ["completed"; 2],
                None,
                end,
                Some(kept),
            ),
            (
                "failed",
                json!({ "started_at": start, "finished_at": end, "error": { "code": "C", "message": "It broke" } }),
                ["failed", "completed"],
                Some("It broke"),
                end,
                Some(kept),
            ),
            ("cancelled", json!({ "finished_at": end }), ["cancelled"; 2], None, end, Some(kept)),
        ] {
            let mut state =
                json!({ "execution_id": ID, "operation": "o", "attempt": 1, "status": status });
            state.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let task = task(state).unwrap();
            for (value, (shown, ttl_name)) in
                both(&task).iter().zip(shown.into_iter().zip(["ttl", "ttlMs"]))
            {
                assert_eq!(value["status"], shown, "{status}");
                assert_eq!(value.get("statusMessage").and_then(Value::as_str), message, "{status}");
                assert_eq!((&value["taskId"], &value["createdAt"]), (&json!(ID), &json!(created)));
                assert_eq!(
                    (&value["lastUpdatedAt"], &value[ttl_name]),
                    (&json!(updated), &json!(ttl))
                );
            }
            // A task starts as `working`, even if its execution has already ended.
            for value in both(&task.at_creation()) {
                assert_eq!(
                    (&value["status"], &value["lastUpdatedAt"]),
                    (&json!("working"), &json!(created))
                );
                assert!(
                    value.get("statusMessage").is_none()
                        && value["ttl"].is_null()
                        && value["ttlMs"].is_null()
                );
            }
        }
    }

    #[test]
    fn a_further_attempt_begins_when_it_starts() {
        let start = "2031-05-06T08:00:00.000Z";
        let state = json!({ "execution_id": ID, "operation": "o", "attempt": 2, "status": "running", "started_at": start });
        let [utility, _] = both(&task(state).unwrap());
        assert_eq!(utility["taskId"], format!("{ID}.2"));
        assert_eq!(
            (&utility["createdAt"], &utility["lastUpdatedAt"]),
            (&json!(start), &json!(start))
        );
    }

    #[test]
    fn a_reply_without_a_state_is_no_task() {
        assert!(task(json!({ "title": "Milk" })).is_none());
        assert!(task(json!(7)).is_none());
    }
}
