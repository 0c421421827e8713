use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::directive::{
    AgentNotification, AutonomyDirective, NotificationMetadata, NotificationType, SafetyTier,
};
use super::evaluator::Stage;
use super::machine::news;
use super::tries::Tries;
use crate::operator::{RequestKind, Void};

/// Everything that is known of an agent: one record, so that each change of it is one write.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct AgentState {
    pub(super) agent: String,
    pub(super) execution: Option<Execution>,
    /// Stays until a person lifts it (REQ-OOB-08, REQ-OOB-09).
    pub(super) block: Option<Block>,
    pub(super) pause: Option<Pause>,
    pub(super) grant: Option<Grant>,
    pub(super) queue: Vec<Queued>,
    pub(super) tries: Tries,
    /// When requests were made lately.
    pub(super) issued: Vec<DateTime<Utc>>,
    /// Requests that were answered, the newest last.
    pub(super) spent: Vec<Spent>,
}

/// The states of an execution (REQ-LIF-01).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionStatus {
    /// A person has to approve it first.
    Pending,
    /// It runs.
    Running,
    /// The agent has said that it is done.
    Completed,
    /// The adapter was lost.
    Failed,
    /// The agent has given it up, a person has denied it, or the connection ended.
    Cancelled,
}

impl ExecutionStatus {
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
    pub(super) status: ExecutionStatus,
    /// The session that began it; nobody else reports steps of it.
    pub(super) session: Option<String>,
    /// The process that holds the session.
    pub(super) owner: String,
    pub(super) made_at: DateTime<Utc>,
    pub(super) started_at: Option<DateTime<Utc>>,
    pub(super) finished_at: Option<DateTime<Utc>>,
    /// Tells its parameters from others.
    pub(super) parameters: String,
    pub(super) steps: u64,
    /// Steps that passed since a person was last asked.
    pub(super) alone: u32,
    /// What was reported lately.
    pub(super) recent: Vec<String>,
    pub(super) last_action: Option<String>,
    pub(super) directive: Option<AutonomyDirective>,
    /// Why it ended.
    pub(super) reason: Option<String>,
    /// The approval of its start.
    pub(super) ask: Option<Ask>,
}

/// A question to a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Ask {
    pub(super) id: String,
    pub(super) kind: RequestKind,
    pub(super) hash: String,
    pub(super) action: String,
    pub(super) reasons: Vec<String>,
    pub(super) expires_at: DateTime<Utc>,
    /// Nobody can answer it any more.
    pub(super) closed: bool,
    /// Because a wrong code was given.
    #[serde(default)]
    pub(super) tried: bool,
}

impl Ask {
    pub(super) fn is_open(&self, now: DateTime<Utc>) -> bool {
        !self.closed && now < self.expires_at
    }

    /// Why its code is worth nothing although its time is not up.
    pub(super) fn void(&self, now: DateTime<Utc>) -> Option<Void> {
        let void = self.closed && now < self.expires_at;
        void.then_some(if self.tried { Void::WrongCode } else { Void::Denied })
    }
}

/// Why an agent stands still until a person lets it go on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Pause {
    /// The stage that paused it.
    pub(super) stage: Stage,
    pub(super) reason: String,
    /// The action that was reported.
    pub(super) digest: String,
    /// `None` while too many were made.
    pub(super) ask: Option<Ask>,
    /// Set where the pause ends by itself: of a challenge (REQ-OOB-11).
    pub(super) until: Option<DateTime<Utc>>,
    /// A person has said no to this action.
    pub(super) denied: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Block {
    pub(super) action: String,
    pub(super) digest: String,
    pub(super) reason: String,
    pub(super) since: DateTime<Utc>,
    /// The session that caused it.
    pub(super) session: Option<String>,
    pub(super) ask: Ask,
}

/// A person's leave to take one action once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Grant {
    pub(super) digest: String,
    /// The stage that had paused it.
    pub(super) stage: Stage,
    pub(super) until: DateTime<Utc>,
}

/// A notification that waits for the agent's next step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Queued {
    /// What it is of; there is one of each.
    pub(super) about: String,
    pub(super) notification: AgentNotification,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Spent {
    pub(super) id: String,
    pub(super) at: DateTime<Utc>,
}

/// So many answered requests are remembered.
const REMEMBERED: usize = 16;
/// So many reported actions are remembered.
const RECENT: usize = 10;
/// So many notifications of the kind that is told once are kept.
const KEPT: usize = 50;

impl AgentState {
    /// The execution, if it has not ended.
    pub(super) fn live(&self) -> Option<&Execution> {
        self.execution.as_ref().filter(|execution| execution.status.is_live())
    }

    pub(super) fn live_mut(&mut self) -> Option<&mut Execution> {
        self.execution.as_mut().filter(|execution| execution.status.is_live())
    }

    /// Whether it asks for leave to begin and nobody can give it any more.
    pub(super) fn waits_in_vain(&self, now: DateTime<Utc>) -> bool {
        self.live().is_some_and(|execution| {
            execution.status == ExecutionStatus::Pending
                && !execution.ask.as_ref().is_some_and(|ask| ask.is_open(now))
        })
    }

    /// What the record is listed by.
    pub(super) fn group(&self) -> &'static str {
        match (&self.block, self.live()) {
            (Some(_), _) => "blocked",
            (None, Some(_)) => "live",
            (None, None) => "idle",
        }
    }

    /// All questions to people, closed ones too.
    pub(super) fn asks(&self) -> impl Iterator<Item = &Ask> {
        let start = self.live().and_then(|execution| execution.ask.as_ref());
        let pause = self.pause.as_ref().and_then(|pause| pause.ask.as_ref());
        start.into_iter().chain(pause).chain(self.block.as_ref().map(|block| &block.ask))
    }

    pub(super) fn ask_mut(&mut self, id: &str) -> Option<&mut Ask> {
        let start = self
            .execution
            .as_mut()
            .filter(|execution| execution.status.is_live())
            .and_then(|execution| execution.ask.as_mut());
        let pause = self.pause.as_mut().and_then(|pause| pause.ask.as_mut());
        let block = self.block.as_mut().map(|block| &mut block.ask);
        start.into_iter().chain(pause).chain(block).find(|ask| ask.id == id)
    }

    /// What every agent is told as long as this one is blocked.
    pub(super) fn news_of_block(&self) -> Option<AgentNotification> {
        let block = self.block.as_ref()?;
        let metadata = NotificationMetadata {
            reason: Some(block.reason.clone()),
            level: Some(SafetyTier::DangerZone.as_str().to_owned()),
            verification_id: Some(block.ask.id.clone()),
            ..NotificationMetadata::default()
        };
        let message = format!("Agent '{}' is blocked until a person verifies", self.agent);
        Some(news(NotificationType::DangerZone, message, Some(metadata), block.since))
    }

    /// Queues a notification in place of an earlier one of the same.
    pub(super) fn notify(&mut self, about: &str, notification: AgentNotification) {
        if notification.kind.stays() {
            self.queue.retain(|queued| queued.about != about);
        } else if self.queue.iter().filter(|queued| !queued.notification.kind.stays()).count()
            >= KEPT
            && let Some(oldest) =
                self.queue.iter().position(|queued| !queued.notification.kind.stays())
        {
            self.queue.remove(oldest);
        }
        self.queue.push(Queued { about: about.to_owned(), notification });
    }

    /// What a notification told of is over.
    pub(super) fn clear(&mut self, about: &str) {
        self.queue.retain(|queued| queued.about != about);
    }

    /// What the agent is told with this step: all of it. What still waits for a person is kept
    /// (REQ-AUT-14, REQ-AUT-15).
    pub(super) fn deliver(&mut self) -> Vec<AgentNotification> {
        let told = self.queue.iter().map(|queued| queued.notification.clone()).collect();
        self.queue.retain(|queued| queued.notification.kind.stays());
        told
    }

    /// Whether an operation waits for approval (REQ-GATE-10).
    pub(super) fn waits_for_permission(&self) -> bool {
        self.queue
            .iter()
            .any(|queued| queued.notification.kind == NotificationType::PermissionPending)
    }

    /// How many operations wait for approval.
    pub(super) fn waiting(&self) -> usize {
        let waits =
            |queued: &&Queued| queued.notification.kind == NotificationType::PermissionPending;
        self.queue.iter().filter(waits).count()
    }

    /// Notes that a request was answered.
    pub(super) fn spend(&mut self, id: &str, at: DateTime<Utc>) {
        if self.spent.len() >= REMEMBERED {
            self.spent.remove(0);
        }
        self.spent.push(Spent { id: id.to_owned(), at });
    }
}

impl Execution {
    /// How often this was reported lately; notes that it was again.
    pub(super) fn report(&mut self, digest: &str) -> u32 {
        let times = self.recent.iter().filter(|known| *known == digest).count();
        if self.recent.len() >= RECENT {
            self.recent.remove(0);
        }
        self.recent.push(digest.to_owned());
        u32::try_from(times).unwrap_or(u32::MAX)
    }
}
