//! The operator's view of the safety loop, and the operator's decisions (REQ-OOB-09, REQ-OOB-13).

use std::sync::Arc;

use mcp_aql_core::audit::AuditEntry;
use mcp_aql_core::store::StateRecord;
use mcp_aql_core::{BoxFuture, OperationError};

use super::agent_state::{AgentExecutionStatus, AgentState, Execution, PersonRequest};
use super::approval_record::APPROVALS;
use super::records::{AGENTS, Target, read};
use super::runtime::{PAGE_SIZE, SafetyCore};
use super::transition::Rejection;
use crate::human_channel::{
    AgentView, BlockView, Code, Decider, OperatorBackend, Overview, RequestView, UnreadableView,
};

/// The maximum number of agents in an overview.
const MAX_AGENTS_SHOWN: usize = 1_000;
/// The maximum number of unreadable records in an overview, for each collection.
const MAX_UNREADABLE_SHOWN: usize = 100;

/// The implementation of an [`Operator`](crate::human_channel::Operator) for one adapter.
pub(crate) struct ApprovalQueue(pub(crate) Arc<SafetyCore>);

fn none(kind: &str, id: &str, answered: Result<(), Rejection>) -> Result<(), OperationError> {
    answered.map_err(|_| OperationError::not_found(kind, id))
}

impl ApprovalQueue {
    fn request(
        &self,
        ask: &PersonRequest,
        agent: Option<&str>,
        (session, client): (Option<&String>, Option<&String>),
    ) -> RequestView {
        RequestView {
            id: ask.id.clone(),
            kind: ask.kind,
            agent: agent.map(str::to_owned),
            action: ask.action.clone(),
            reasons: ask.reasons.clone(),
            session: session.cloned(),
            client: client.cloned(),
            asked_at: ask.asked_at,
            expires_at: ask.expires_at,
            has_code: self.0.known_code(&ask.id).is_some(),
            void: ask.void(self.0.now()),
        }
    }

    /// Returns the states of agents, and the keys of unreadable records.
    ///
    /// All blocked and executing agents are included, and others up to the limit. Otherwise an agent could hide its
    /// requests behind many others.
    async fn states(&self) -> Result<(Vec<AgentState>, Vec<String>), OperationError> {
        let store = self.0.store().await?;
        let mut states: Vec<AgentState> = Vec::new();
        let mut unreadable = Vec::new();
        let mut take = |states: &mut Vec<AgentState>, record: &StateRecord| match read(record) {
            Ok(state) => states.push(state),
            Err(_) => unreadable.push(record.key.clone()),
        };
        for group in ["blocked", "live"] {
            for record in self.0.group(store, group).await? {
                take(&mut states, &record);
            }
        }
        // Pending executions are listed after running ones.
        states.sort_by_key(|state| {
            let runs = |status| status == AgentExecutionStatus::Running;
            state.block.is_none() && !state.live().is_some_and(|live| runs(live.status))
        });
        // The list may exceed the limit by one, so that the caller can detect that there are more agents.
        let mut after: Option<String> = None;
        while states.len() <= MAX_AGENTS_SHOWN {
            let page = store.list(AGENTS, Some("idle"), after.as_deref(), PAGE_SIZE).await?;
            for record in &page {
                take(&mut states, record);
            }
            after = page.last().map(|record| record.key.clone());
            if page.len() < PAGE_SIZE {
                break;
            }
        }
        Ok((states, unreadable))
    }

    async fn seen(&self) -> Result<Overview, OperationError> {
        let now = self.0.now();
        let mut overview = Overview {
            adapter: self.0.services.audit.adapter.clone(),
            mode: self.0.mode().to_string(),
            audit: self.0.recent.entries(),
            ..Overview::default()
        };
        let (states, strange) = self.states().await?;
        let unreadable = |collection: &str, keys: Vec<String>| {
            let views = keys.into_iter().take(MAX_UNREADABLE_SHOWN);
            views
                .map(|key| UnreadableView { collection: collection.to_owned(), key })
                .collect::<Vec<_>>()
        };
        overview.unreadable = unreadable(AGENTS, strange);
        for state in states {
            let agent = state.agent.as_str();
            // The request of a block is always shown, because its code can be renewed while the block lasts.
            let shown = |ask: &&PersonRequest| {
                ask.is_open(now) || ask.kind == crate::human_channel::RequestKind::Block
            };
            let execution = state.execution.as_ref();
            let session = execution.and_then(|execution| execution.session.as_ref());
            let client = execution.and_then(|execution| execution.client.as_ref());
            let asked = state.requests().filter(shown);
            overview
                .requests
                .extend(asked.map(|ask| self.request(ask, Some(agent), (session, client))));
            if let Some(block) = &state.block {
                overview.blocks.push(BlockView {
                    agent: agent.to_owned(),
                    action: block.action.clone(),
                    reason: block.reason.clone(),
                    since: block.since,
                    session: block.session.clone(),
                    client: client.cloned(),
                    stopped: block.stopped,
                    challenge_id: block.ask.is_open(now).then(|| block.ask.id.clone()),
                });
            }
            if let Some(execution) = &state.execution {
                if overview.agents.len() >= MAX_AGENTS_SHOWN {
                    overview.more_agents = true;
                    continue;
                }
                overview.agents.push(agent_view(agent, execution));
            }
        }
        let (approvals, strange) = self.0.open_approvals().await?;
        overview.unreadable.extend(unreadable(APPROVALS, strange));
        for approval in approvals {
            let agent = approval.agents.first().map(String::as_str);
            let caller = (approval.session.as_ref(), approval.client.as_ref());
            overview.requests.push(self.request(&approval.ask, agent, caller));
        }
        Ok(overview)
    }
}

fn agent_view(agent: &str, execution: &Execution) -> AgentView {
    AgentView {
        agent: agent.to_owned(),
        execution_id: execution.id.clone(),
        status: execution.status.as_str().to_owned(),
        steps: execution.steps,
        session: execution.session.clone(),
        client: execution.client.clone(),
        last_action: execution.last_action.clone(),
        directive: execution
            .directive
            .as_ref()
            .and_then(|directive| serde_json::to_value(directive).ok()),
        started_at: execution.started_at.unwrap_or(execution.made_at),
    }
}

impl OperatorBackend for ApprovalQueue {
    fn reach(&self) -> Option<&crate::human_channel::ConsoleCount> {
        Some(&self.0.console.running)
    }

    fn overview(&self) -> BoxFuture<'_, Result<Overview, OperationError>> {
        Box::pin(self.seen())
    }

    fn code<'a>(&'a self, id: &'a str, by: Option<&'a Decider>) -> BoxFuture<'a, Option<Code>> {
        Box::pin(async move {
            let code = self.0.reveal_code(id, by)?;
            let entry = AuditEntry {
                event: "CODE_REVEALED",
                outcome: "allowed",
                challenge_id: Some(id),
                decided_by: by.map(Decider::channel),
                operator: by.and_then(Decider::name),
                ..AuditEntry::default()
            };
            self.0.services.audit.record(&entry).await;
            Some(code)
        })
    }

    fn record<'a>(
        &'a self,
        event: &'a str,
        outcome: &'a str,
        (reason, operator): (Option<&'a str>, Option<&'a str>),
    ) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let decided_by = Some(crate::human_channel::CONSOLE_NAME);
            let entry = AuditEntry {
                event,
                outcome,
                reason,
                decided_by,
                operator,
                ..AuditEntry::default()
            };
            self.0.services.audit.record(&entry).await;
        })
    }

    fn decide<'a>(
        &'a self,
        id: &'a str,
        approve: bool,
        by: Decider,
    ) -> BoxFuture<'a, Result<(), OperationError>> {
        Box::pin(async move {
            let answered = match self.0.target_of_id(id).await? {
                Some(Target::Agent { agent, .. }) => {
                    self.0
                        .apply_transition(&agent, |state, env, effects| {
                            state.decide(id, approve, &by, env, effects)
                        })
                        .await?
                }
                Some(Target::Approval { key, .. }) => {
                    self.0.answer_approval(&key, id, None, (approve, &by)).await?
                }
                None => Err(Rejection::Invalid),
            };
            none("request", id, answered)
        })
    }

    fn stop<'a>(
        &'a self,
        agent: &'a str,
        by: Decider,
    ) -> BoxFuture<'a, Result<(), OperationError>> {
        Box::pin(async move {
            let done = self.0.stop(agent, &by).await?;
            none("running agent", agent, done)
        })
    }

    fn unblock<'a>(
        &'a self,
        agent: &'a str,
        by: Decider,
    ) -> BoxFuture<'a, Result<(), OperationError>> {
        Box::pin(async move {
            let done = self
                .0
                .apply_transition(agent, |state, env, effects| state.unblock(&by, env, effects))
                .await?;
            none("block", agent, done)
        })
    }

    fn renew_code<'a>(
        &'a self,
        id: &'a str,
        by: Decider,
    ) -> BoxFuture<'a, Result<(), OperationError>> {
        Box::pin(async move {
            let done = match self.0.target_of_id(id).await? {
                Some(Target::Agent { agent, .. }) => {
                    self.0
                        .apply_transition(&agent, |state, env, effects| {
                            state.renew_code(id, &by, env, effects)
                        })
                        .await?
                }
                Some(Target::Approval { key, .. }) => self.0.renew_approval(&key, id, &by).await?,
                None => Err(Rejection::Invalid),
            };
            none("request", id, done)
        })
    }
}
