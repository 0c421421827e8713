//! The record of an execution, and its transitions.

use std::time::Duration;

use chrono::{DateTime, Utc};
use mcp_aql_protocol::ErrorCode;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::payload::{ExecutionError, Progress};
use super::status::{Status, Transition};
use crate::error::OperationError;
use crate::util::clock::after;

/// An execution as stored. Its methods implement the state machine. They depend on neither the store nor the clock.
///
/// ```json
/// {
///   "adapter": "beds", "operation": "execute_watering", "status": "running", "attempt": 1,
///   "started_at": "2031-05-06T07:00:00Z", "params": { "minutes": 5 },
///   "owner": "p-1", "lease_until": "2031-05-06T07:00:10Z"
/// }
/// ```
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ExecutionRecord {
    /// The adapter of the operation. Several adapters may share a store.
    pub(crate) adapter: String,
    pub(crate) operation: String,
    pub status: Status,
    pub(crate) attempt: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<String>,
    /// Id of the principal that started the execution, for the audit log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) principal: Option<String>,
    /// Account of this principal. Callers with another account cannot see the execution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) account: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) started_at: Option<DateTime<Utc>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) finished_at: Option<DateTime<Utc>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<ExecutionError>,
    /// The data of the operation, as JSON. It is moved into a separate record when the execution ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) result: Option<Box<RawValue>>,
    /// Warnings of the function, in the format of replies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) warnings: Vec<Value>,
    /// Parameters for a retry, moved like the result. Not stored if one of them is sensitive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) params: Option<Map<String, Value>>,
    /// Size of the separate record with the result or the parameters. 0 if there is none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) output_bytes: u64,
    /// If `true`, the separate record was removed, because newer ones have used up the budget.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) output_dropped: bool,
    /// The process that runs the execution.
    pub(crate) owner: String,
    /// Expiry of the owner's lease.
    pub(crate) lease_until: DateTime<Utc>,
    /// If `true`, the execution was asked to stop. Any process can set this.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) cancel_requested: bool,
}

/// The process and the attempt of a running execution. If the record no longer matches, the attempt is fenced and must
/// stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ownership {
    pub(crate) owner: String,
    pub(crate) attempt: u32,
}

/// How an execution ends.
#[derive(Debug, Clone)]
pub(crate) enum Ending {
    Completed(Box<RawValue>),
    Failed(ExecutionError),
    Cancelled,
}

/// Returned when a transition is not allowed in the current status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InvalidTransition;

impl ExecutionRecord {
    /// Creates the first attempt of an execution. It has not started.
    pub(crate) fn pending(
        adapter: &str,
        operation: &str,
        owner: &str,
        lease_until: DateTime<Utc>,
    ) -> Self {
        Self {
            adapter: adapter.to_owned(),
            operation: operation.to_owned(),
            status: Status::Pending,
            attempt: 1,
            session: None,
            principal: None,
            account: None,
            started_at: None,
            finished_at: None,
            progress: None,
            error: None,
            result: None,
            warnings: Vec::new(),
            params: None,
            output_bytes: 0,
            output_dropped: false,
            owner: owner.to_owned(),
            lease_until,
            cancel_requested: false,
        }
    }

    /// Returns the owner of the list that contains this execution: the account of the principal, or else the session.
    pub(crate) fn listed_for(&self) -> Option<&str> {
        self.account.as_deref().or(self.session.as_deref())
    }

    fn step(&mut self, step: Transition) -> Result<(), InvalidTransition> {
        self.status = self.status.after(step).ok_or(InvalidTransition)?;
        Ok(())
    }

    pub(crate) fn is_held_by(&self, ownership: &Ownership) -> bool {
        !self.status.is_final()
            && self.owner == ownership.owner
            && self.attempt == ownership.attempt
    }

    /// Moves the execution to `running`.
    pub(crate) fn start(&mut self, now: DateTime<Utc>) -> Result<(), InvalidTransition> {
        self.step(Transition::Start)?;
        self.started_at = Some(now);
        Ok(())
    }

    /// Returns `true` if the record already contains this ending of this attempt.
    pub(crate) fn has_ended_as(&self, ownership: &Ownership, ending: &Ending) -> bool {
        let same = self.owner == ownership.owner && self.attempt == ownership.attempt;
        same && match ending {
            Ending::Completed(_) => self.status == Status::Completed,
            Ending::Failed(error) => self.error.as_ref() == Some(error),
            Ending::Cancelled => self.status == Status::Cancelled,
        }
    }

    /// Ends the execution. A pending execution can be canceled directly. Other endings start it first, because the
    /// state machine does not allow skipping `running`.
    pub(crate) fn finish(
        &mut self,
        ending: Ending,
        now: DateTime<Utc>,
    ) -> Result<(), InvalidTransition> {
        if self.status == Status::Pending && !matches!(ending, Ending::Cancelled) {
            self.start(now)?;
        }
        match ending {
            Ending::Completed(result) => {
                self.step(Transition::Complete)?;
                self.result = Some(result);
                self.params = None;
            }
            Ending::Failed(error) => {
                self.step(Transition::Fail)?;
                self.error = Some(error);
            }
            Ending::Cancelled => {
                self.step(Transition::Cancel)?;
                self.params = None;
            }
        }
        self.finished_at = Some(now);
        Ok(())
    }

    /// Starts another attempt for a new owner and session.
    pub(crate) fn retry(
        &mut self,
        owner: &str,
        session: Option<String>,
        now: DateTime<Utc>,
        lease: Duration,
    ) -> Result<(), InvalidTransition> {
        self.step(Transition::Retry)?;
        self.attempt = self.attempt.saturating_add(1);
        owner.clone_into(&mut self.owner);
        self.session = session;
        self.lease_until = after(now, lease);
        self.started_at = Some(now);
        self.finished_at = None;
        self.progress = None;
        self.error = None;
        self.warnings.clear();
        self.output_bytes = 0;
        self.output_dropped = false;
        self.cancel_requested = false;
        Ok(())
    }

    /// Records that the output is no longer stored.
    pub(crate) const fn drop_output(&mut self) {
        self.output_bytes = 0;
        self.output_dropped = true;
    }

    /// Returns `true` if the execution has not ended and its owner's lease has expired.
    pub(crate) fn is_orphaned(&self, now: DateTime<Utc>) -> bool {
        !self.status.is_final() && self.lease_until < now
    }

    /// Ends an execution whose process is gone. A running execution fails. A pending one is canceled, because the state
    /// machine allows nothing else (REQ-LIF-02).
    pub(crate) fn abandon(&mut self, now: DateTime<Utc>) -> Result<(), InvalidTransition> {
        if self.status == Status::Pending {
            self.progress =
                Some(Progress::of_message("The process ended before the execution started"));
            return self.finish(Ending::Cancelled, now);
        }
        self.finish(Ending::Failed(ExecutionError::of(&interrupted())), now)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(bytes: &u64) -> bool {
    *bytes == 0
}

/// Returns the error of an execution whose process is gone.
fn interrupted() -> OperationError {
    OperationError::new(
        ErrorCode::InternalError,
        "Internal error: 'the process ended before the execution was done'",
    )
    .with_detail("correlation_id", crate::vocab::new_id("e"))
    .with_detail("reason", "interrupted")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(now: DateTime<Utc>) -> ExecutionRecord {
        let lease_until = after(now, Duration::from_secs(10));
        let record = ExecutionRecord::pending("beds", "execute_watering", "p-1", lease_until);
        ExecutionRecord { params: Some(Map::new()), ..record }
    }

    #[test]
    fn who_is_gone_has_failed_and_who_had_not_begun_was_cancelled() {
        // REQ-LIF-02, REQ-LIF-05
        let now = Utc::now();
        let expired = after(now, Duration::from_secs(11));
        let mut waiting = record(now);
        assert!(!waiting.is_orphaned(now) && waiting.is_orphaned(expired));
        waiting.abandon(expired).unwrap();
        assert_eq!((waiting.status, waiting.error), (Status::Cancelled, None));

        let mut running = record(now);
        running.start(now).unwrap();
        running.abandon(expired).unwrap();
        assert_eq!((running.status, running.finished_at), (Status::Failed, Some(expired)));
        let error = running.error.clone().unwrap();
        assert_eq!(error.details()["reason"], "interrupted");
        assert!(!running.is_orphaned(after(expired, Duration::from_secs(99))));
        assert_eq!(running.abandon(expired), Err(InvalidTransition));
    }

    #[test]
    fn a_retry_begins_anew_and_only_after_a_failure() {
        // REQ-LIF-02, REQ-LIF-03
        let now = Utc::now();
        let lease = Duration::from_secs(10);
        let mut failed = record(now);
        assert_eq!(failed.clone().retry("p-2", None, now, lease), Err(InvalidTransition));
        failed.finish(Ending::Failed(ExecutionError::of(&interrupted())), now).unwrap();
        assert_eq!(failed.started_at, Some(now), "it was started only to fail");
        let first = Ownership { owner: "p-1".to_owned(), attempt: 1 };
        failed.cancel_requested = true;
        failed.retry("p-1", Some("s".to_owned()), now, lease).unwrap();
        assert_eq!((failed.status, failed.attempt), (Status::Running, 2));
        assert!(failed.error.is_none() && failed.finished_at.is_none() && failed.params.is_some());
        assert!(!failed.cancel_requested);
        assert!(!failed.is_held_by(&first), "the first attempt is fenced off");
        failed
            .finish(Ending::Completed(RawValue::from_string("7".to_owned()).unwrap()), now)
            .unwrap();
        let mut over = failed.clone();
        assert_eq!(over.retry("p-1", None, now, lease), Err(InvalidTransition));
        assert_eq!(over.finish(Ending::Cancelled, now), Err(InvalidTransition));
        assert!(failed.params.is_none(), "nobody can need them any more");
    }

    #[test]
    fn what_clients_read_of_it_is_free_of_leak_patterns() {
        assert!(!crate::text::leaks_internals(interrupted().message()));
        let mut waiting = record(Utc::now());
        waiting.abandon(Utc::now()).unwrap();
        let progress = waiting.progress.unwrap();
        assert!(!crate::text::leaks_internals(progress.message().unwrap()));
    }
}
