//! The stored state of an agent.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::caller::CallerIds;
use super::directive::{
    AgentNotification, AutonomyDirective, NotificationMetadata, NotificationType, SafetyTier,
};
use super::evaluator::Stage;
use super::retry_lockout::RetryLockout;
use crate::human_channel::{Decider, RequestKind, VoidReason};

/// The state of an agent. It is stored in a single record, so that every change is one atomic write.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct AgentState {
    pub(super) agent: String,
    pub(super) execution: Option<Execution>,
    /// The block. It remains until a person lifts it (REQ-OOB-08, REQ-OOB-09).
    pub(super) block: Option<Block>,
    pub(super) pause: Option<Pause>,
    pub(super) grant: Option<Grant>,
    pub(super) queue: Vec<QueuedNotification>,
    pub(super) tries: RetryLockout,
    /// The times of recent requests to people.
    pub(super) issued: Vec<DateTime<Utc>>,
    /// The answered requests, from oldest to newest.
    pub(super) spent: Vec<AnsweredRequest>,
}

/// The status of an agent's execution (REQ-LIF-01).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ExecutionStatus")]
pub enum AgentExecutionStatus {
    /// A person must approve the start.
    Pending,
    /// The agent is running.
    Running,
    /// The agent has completed its task.
    Completed,
    /// The process of the adapter has ended.
    Failed,
    /// The agent aborted, a person denied the start, or the connection ended.
    Cancelled,
}

impl AgentExecutionStatus {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    pub(super) const fn is_live(self) -> bool {
        matches!(self, Self::Pending | Self::Running)
    }
}

/// An agent's last execution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Execution {
    pub(super) id: String,
    pub(super) status: AgentExecutionStatus,
    /// The session that started the execution. Only this session may report steps.
    pub(super) session: Option<String>,
    /// Id of the authenticated caller that started the execution.
    #[serde(default)]
    pub(super) principal: Option<String>,
    /// The client of the session, as it introduced itself.
    #[serde(default)]
    pub(super) client: Option<String>,
    /// The process that serves the session.
    pub(super) owner: String,
    pub(super) made_at: DateTime<Utc>,
    pub(super) started_at: Option<DateTime<Utc>>,
    pub(super) finished_at: Option<DateTime<Utc>>,
    /// The hash of its parameters.
    pub(super) parameters: String,
    pub(super) steps: u64,
    /// The number of steps since the last request to a person.
    pub(super) alone: u32,
    /// Hashes of the recently reported actions.
    pub(super) recent: Vec<String>,
    pub(super) last_action: Option<String>,
    pub(super) directive: Option<AutonomyDirective>,
    /// The reason why the execution ended.
    pub(super) reason: Option<String>,
    /// The request to approve the start.
    pub(super) ask: Option<PersonRequest>,
}

/// A request to a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PersonRequest {
    pub(super) id: String,
    pub(super) kind: RequestKind,
    pub(super) hash: String,
    pub(super) action: String,
    pub(super) reasons: Vec<String>,
    /// Time of the first request. `None` in records of earlier versions.
    #[serde(default)]
    pub(super) asked_at: Option<DateTime<Utc>>,
    pub(super) expires_at: DateTime<Utc>,
    /// If `true`, the request can no longer be answered.
    pub(super) closed: bool,
    /// If `true`, a wrong code closed the request.
    #[serde(default)]
    pub(super) tried: bool,
}

impl PersonRequest {
    pub(super) fn is_open(&self, now: DateTime<Utc>) -> bool {
        !self.closed && now < self.expires_at
    }

    /// Returns the reason why the code is invalid although it has not expired. Returns `None` for a valid or expired
    /// code.
    pub(super) fn void(&self, now: DateTime<Utc>) -> Option<VoidReason> {
        let void = self.closed && now < self.expires_at;
        void.then_some(if self.tried { VoidReason::WrongCode } else { VoidReason::Denied })
    }
}

/// A pause: the agent waits for a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Pause {
    /// The stage that paused the agent.
    pub(super) stage: Stage,
    pub(super) reason: String,
    /// The hash of the reported action.
    pub(super) digest: String,
    /// The request to a person. `None` if the limit on requests was reached.
    pub(super) ask: Option<PersonRequest>,
    /// Time at which the pause ends by itself, as for a challenge (REQ-OOB-11). `None` if only a person can end it.
    pub(super) until: Option<DateTime<Utc>>,
    /// If `true`, a person has denied the action.
    pub(super) denied: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Block {
    pub(super) action: String,
    pub(super) digest: String,
    pub(super) reason: String,
    pub(super) since: DateTime<Utc>,
    /// The session that caused the block.
    pub(super) session: Option<String>,
    /// If `true`, an operator has stopped the agent.
    #[serde(default)]
    pub(super) stopped: bool,
    pub(super) ask: PersonRequest,
}

/// A person's permission to take one action once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Grant {
    pub(super) digest: String,
    /// The stage of the evaluation that had paused the agent.
    pub(super) stage: Stage,
    pub(super) until: DateTime<Utc>,
    /// The approval, for the audit log. `None` in records of earlier versions.
    #[serde(default)]
    pub(super) approval: Option<GrantApproval>,
}

/// The approval behind a permission, for the audit log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct GrantApproval {
    /// The id of the request.
    pub(super) request: String,
    pub(super) by: Decider,
}

/// A notification that the agent receives with its next step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct QueuedNotification {
    /// The subject. The queue contains at most one notification for each subject.
    pub(super) about: String,
    pub(super) notification: AgentNotification,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct AnsweredRequest {
    pub(super) id: String,
    pub(super) at: DateTime<Utc>,
}

/// The maximum number of answered requests in a record.
const MAX_SPENT_REQUESTS: usize = 16;
/// The maximum number of recent actions in a record.
const MAX_RECENT_ACTIONS: usize = 10;
/// The maximum number of queued notifications. Those about an open decision of a person do not count.
const MAX_QUEUED_NOTIFICATIONS: usize = 50;

impl AgentState {
    /// Returns the execution, unless it has ended.
    pub(super) fn live(&self) -> Option<&Execution> {
        self.execution.as_ref().filter(|execution| execution.status.is_live())
    }

    pub(super) fn live_mut(&mut self) -> Option<&mut Execution> {
        self.execution.as_mut().filter(|execution| execution.status.is_live())
    }

    /// Returns `true` if the execution still waits for its start to be approved, but the request is no longer open.
    pub(super) fn start_expired(&self, now: DateTime<Utc>) -> bool {
        self.live().is_some_and(|execution| {
            execution.status == AgentExecutionStatus::Pending
                && !execution.ask.as_ref().is_some_and(|ask| ask.is_open(now))
        })
    }

    /// Returns the store's group in which the record is listed.
    pub(super) fn group(&self) -> &'static str {
        match (&self.block, self.live()) {
            (Some(_), _) => "blocked",
            (None, Some(_)) => "live",
            (None, None) => "idle",
        }
    }

    /// Returns all requests to people, including closed ones.
    pub(super) fn requests(&self) -> impl Iterator<Item = &PersonRequest> {
        let start = self.live().and_then(|execution| execution.ask.as_ref());
        let pause = self.pause.as_ref().and_then(|pause| pause.ask.as_ref());
        start.into_iter().chain(pause).chain(self.block.as_ref().map(|block| &block.ask))
    }

    pub(super) fn request_mut(&mut self, id: &str) -> Option<&mut PersonRequest> {
        let start = self
            .execution
            .as_mut()
            .filter(|execution| execution.status.is_live())
            .and_then(|execution| execution.ask.as_mut());
        let pause = self.pause.as_mut().and_then(|pause| pause.ask.as_mut());
        let block = self.block.as_mut().map(|block| &mut block.ask);
        start.into_iter().chain(pause).chain(block).find(|ask| ask.id == id)
    }

    /// Returns the notification that other agents receive while this one is blocked.
    pub(super) fn block_notification(&self) -> Option<AgentNotification> {
        let block = self.block.as_ref()?;
        let metadata = NotificationMetadata {
            reason: Some(block.reason.clone()),
            level: Some(SafetyTier::DangerZone.as_str().to_owned()),
            verification_id: Some(block.ask.id.clone()),
            ..NotificationMetadata::default()
        };
        let message = format!("Agent '{}' is blocked until a person verifies", self.agent);
        Some(AgentNotification::new(
            NotificationType::DangerZone,
            message,
            Some(metadata),
            block.since,
        ))
    }

    /// Queues a notification. It replaces an earlier notification with the same subject.
    pub(super) fn notify(&mut self, about: &str, notification: AgentNotification) {
        if notification.kind.stays() {
            self.queue.retain(|queued| queued.about != about);
        } else if self.queue.iter().filter(|queued| !queued.notification.kind.stays()).count()
            >= MAX_QUEUED_NOTIFICATIONS
            && let Some(oldest) =
                self.queue.iter().position(|queued| !queued.notification.kind.stays())
        {
            self.queue.remove(oldest);
        }
        self.queue.push(QueuedNotification { about: about.to_owned(), notification });
    }

    /// Removes the notification with this subject.
    pub(super) fn clear(&mut self, about: &str) {
        self.queue.retain(|queued| queued.about != about);
    }

    /// Returns the notifications for the agent's next step. Notifications about an open decision of a person stay in
    /// the queue (REQ-AUT-14, REQ-AUT-15).
    pub(super) fn deliver(&mut self) -> Vec<AgentNotification> {
        let told = self.queue.iter().map(|queued| queued.notification.clone()).collect();
        self.queue.retain(|queued| queued.notification.kind.stays());
        told
    }

    /// Returns `true` if an operation waits for approval (REQ-GATE-10).
    pub(super) fn waits_for_permission(&self) -> bool {
        self.queue
            .iter()
            .any(|queued| queued.notification.kind == NotificationType::PermissionPending)
    }

    /// Returns the number of operations that wait for approval.
    pub(super) fn waiting(&self) -> usize {
        let waits = |queued: &&QueuedNotification| {
            queued.notification.kind == NotificationType::PermissionPending
        };
        self.queue.iter().filter(waits).count()
    }

    /// Marks a request as answered.
    pub(super) fn spend(&mut self, id: &str, at: DateTime<Utc>) {
        if self.spent.len() >= MAX_SPENT_REQUESTS {
            self.spent.remove(0);
        }
        self.spent.push(AnsweredRequest { id: id.to_owned(), at });
    }
}

impl Execution {
    pub(super) fn caller(&self) -> CallerIds<'_> {
        let (session, principal) = (self.session.as_deref(), self.principal.as_deref());
        CallerIds { session, principal }
    }

    /// Records a reported action. Returns how many times it was reported recently.
    pub(super) fn report(&mut self, digest: &str) -> u32 {
        let times = self.recent.iter().filter(|known| *known == digest).count();
        if self.recent.len() >= MAX_RECENT_ACTIONS {
            self.recent.remove(0);
        }
        self.recent.push(digest.to_owned());
        u32::try_from(times).unwrap_or(u32::MAX)
    }
}
