//! The agents of a session: the executing and the blocked ones, and their end with the session.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use mcp_aql_core::internal::util::lock;
use mcp_aql_core::store::StoreError;
use mcp_aql_core::{OperationError, Session};

use super::action::normalize;
use super::agent_state::AgentState;
use super::caller::Caller;
use super::directive::LoopMode;
use super::records::{read, readable};
use super::runtime::{HEARTBEAT_INTERVAL, SafetyCore};
use super::session_registry::SessionAgents;
use super::transition::{Event, Rejection};

/// The maximum number of running agents in one session.
pub(super) const MAX_AGENTS: usize = 50;

/// The agents of one session, for each safety loop. One session may be a client of several adapters, and their stores
/// have different agents.
#[derive(Default)]
struct AllAgents(Mutex<HashMap<String, Arc<SessionAgents>>>);

/// A slot among the agents of a session. Dropping it releases the slot, unless it is kept.
pub(super) struct AgentSlot {
    known: Arc<SessionAgents>,
    agent: String,
    kept: bool,
}

impl AgentSlot {
    pub(super) fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for AgentSlot {
    fn drop(&mut self) {
        if !self.kept {
            lock(&self.known.executing).remove(&self.agent);
        }
    }
}

impl SafetyCore {
    pub(super) fn agents_of(&self, session: &Session) -> Arc<SessionAgents> {
        let all = session.state::<AllAgents>();
        let mut all = lock(&all.0);
        if let Some(known) = all.get(&self.me) {
            return Arc::clone(known);
        }
        Arc::clone(all.entry(self.me.clone()).or_default())
    }

    /// Returns `true` if agents execute in this session. Agents whose execution ended for a reason other than a call of
    /// the session may be included.
    pub(crate) fn has_executing_agents(&self, session: &Session) -> bool {
        !lock(&self.agents_of(session).executing).is_empty()
    }

    /// Returns the executing agents of this session. Callers without a session count as one session, across all
    /// processes.
    pub(super) async fn executing(
        &self,
        session: Option<&Session>,
    ) -> Result<Vec<String>, StoreError> {
        if let Some(session) = session {
            let known = self.agents_of(session);
            let executing = lock(&known.executing);
            return Ok(executing.iter().cloned().collect());
        }
        let store = self.store().await?;
        let mut names = Vec::new();
        for group in ["live", "blocked"] {
            for record in self.group(store, group).await? {
                // An unreadable record may be one of these agents, so it is included to be safe.
                let executes = readable::<AgentState>(&record)
                    .is_none_or(|state| state.live().is_some_and(|live| live.session.is_none()));
                if executes {
                    names.push(record.key);
                }
            }
        }
        Ok(names)
    }

    pub(super) fn remember_blocked(&self, session: Option<&Session>, agent: &str) {
        if let Some(session) = session {
            let known = self.agents_of(session);
            let number = known.numbers.fetch_add(1, Ordering::Relaxed);
            lock(&known.blocked).insert(normalize(agent).0, number);
        }
    }

    /// Records the block of an agent in its session. An operator may have stopped the agent in another process.
    pub(super) fn learn_block(&self, state: &AgentState) {
        let Some(block) = state.block.as_ref().filter(|block| block.stopped) else { return };
        let session = block.session.as_deref().unwrap_or_default();
        if let Some(known) = self.watched.get(session) {
            let number = known.numbers.fetch_add(1, Ordering::Relaxed);
            lock(&known.blocked).entry(normalize(&state.agent).0).or_insert(number);
        }
    }

    /// Returns `true` if an agent of this session may be blocked, so that the store must be read.
    ///
    /// For callers without a session this is always `true`, because they can call any process.
    pub(super) fn may_be_blocked(&self, session: Option<&Session>) -> bool {
        self.mode() == LoopMode::Enforcing
            && session.is_none_or(|session| !lock(&self.agents_of(session).blocked).is_empty())
    }

    /// Rejects all agents of a session while one of them is blocked. Otherwise an agent could evade its block under
    /// another name (REQ-OOB-08). Callers without a session count as one session.
    pub(super) async fn reject_if_session_blocked(
        &self,
        caller: Caller<'_>,
        agent: &str,
    ) -> Result<(), OperationError> {
        if self.mode() != LoopMode::Enforcing {
            return Ok(());
        }
        let name = normalize(agent).0;
        let mut blocked = self.blocked_in(caller.session).await?;
        // The agent itself is rejected later. At that point, its challenge can be renewed, and the audit log records
        // the rejection.
        blocked.retain(|state| normalize(&state.agent).0 != name);
        let reason = blocked
            .first()
            .map(|state| format!("agent '{}' is blocked, and with it its session", state.agent));
        if let Some(reason) = reason {
            let event = Event::new("EXECUTION_DENIED", "denied").reason(&reason);
            self.record(&event, Some(agent), caller.ids(), None, None).await;
        }
        self.first_block_error(blocked, &name)
    }

    /// Returns the blocked agents of this session.
    pub(super) async fn blocked_in(
        &self,
        session: Option<&Session>,
    ) -> Result<Vec<AgentState>, OperationError> {
        match session {
            Some(session) => {
                let known = self.agents_of(session);
                let names = lock(&known.blocked).clone();
                let mut blocked = Vec::new();
                for (name, number) in names {
                    match self.state(&name).await? {
                        Some(state) if state.block.is_some() => blocked.push(state),
                        _ => {
                            // The agent may have been blocked again in the meantime, so the number is compared.
                            let mut known = lock(&known.blocked);
                            if known.get(&name) == Some(&number) {
                                known.remove(&name);
                            }
                        }
                    }
                }
                Ok(blocked)
            }
            None => {
                let records = self.group(self.store().await?, "blocked").await?;
                let states: Result<Vec<AgentState>, _> = records.iter().map(read).collect();
                let nobodys = |state: &AgentState| {
                    state.block.as_ref().is_some_and(|block| block.session.is_none())
                };
                Ok(states?.into_iter().filter(nobodys).collect())
            }
        }
    }

    pub(super) fn first_block_error(
        &self,
        blocked: Vec<AgentState>,
        agent: &str,
    ) -> Result<(), OperationError> {
        match blocked.into_iter().next() {
            Some(state) => {
                let now = self.now();
                let open = state.block.map(|block| block.ask).filter(|ask| ask.is_open(now));
                let challenge = open.map(|ask| ask.id);
                Err(self.rejection(Rejection::Blocked { agent: state.agent, challenge }, agent))
            }
            None => Ok(()),
        }
    }

    /// Acquires a slot for an agent, unless it has one already.
    ///
    /// The limit prevents a session from filling the store, and the screens of operators, with agents under ever new
    /// names.
    pub(super) async fn acquire_slot(
        &self,
        session: Option<&Session>,
        agent: &str,
    ) -> Result<Option<AgentSlot>, OperationError> {
        let agent = normalize(agent).0;
        let Some(session) = session else {
            let names = self.executing(None).await?;
            let fits = names.len() < MAX_AGENTS || names.contains(&agent);
            return if fits { Ok(None) } else { Err(too_many_agents()) };
        };
        let known = self.agents_of(session);
        for looked in [false, true] {
            let names: Vec<_> = {
                let mut executing = lock(&known.executing);
                if executing.contains(&agent) {
                    return Ok(None);
                }
                if executing.len() < MAX_AGENTS {
                    executing.insert(agent.clone());
                    drop(executing);
                    return Ok(Some(AgentSlot { known, agent, kept: false }));
                }
                executing.iter().cloned().collect()
            };
            if looked {
                break;
            }
            // Some agents may have ended for other reasons. Their slots are released first.
            for name in names {
                let state = self.state(&name).await?;
                let now = self.now();
                let live = state
                    .as_ref()
                    .filter(|state| !state.start_expired(now))
                    .and_then(AgentState::live);
                if live.is_none_or(|live| live.session.as_deref() != Some(session.id())) {
                    lock(&known.executing).remove(&name);
                }
            }
        }
        Err(too_many_agents())
    }

    /// Ends the agent's execution as soon as the session ends (REQ-LIF-10).
    pub(super) async fn watch(self: &Arc<Self>, session: &Session, agent: &str) {
        let known = self.agents_of(session);
        lock(&known.executing).insert(normalize(agent).0);
        self.watched.insert(session.id(), &known);
        if session.has_ended() && self.end_session(session.id(), &known).await {
            return;
        }
        if known.watched.swap(true, Ordering::AcqRel) {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (core, session) = (Arc::downgrade(self), session.clone());
        let pending = self.services.session_ends.expect(&session);
        runtime.spawn(async move {
            // This value is also dropped if the runtime shuts down before the session ends.
            let _pending = pending;
            session.ended().await;
            // No other process ends these executions, so this is retried if the store fails.
            while let Some(core) = core.upgrade() {
                if core.end_session(session.id(), &known).await {
                    return;
                }
                drop(core);
                tokio::time::sleep(HEARTBEAT_INTERVAL).await;
            }
        });
    }

    /// Ends the executions of the session. Returns `true` if all of them have ended.
    async fn end_session(&self, session: &str, known: &SessionAgents) -> bool {
        let agents = std::mem::take(&mut *lock(&known.executing));
        let mut left = BTreeSet::new();
        for agent in agents {
            let ended = self
                .apply_transition(&agent, |state, env, effects| {
                    state.session_ended(session, env, effects);
                    Ok(())
                })
                .await;
            if let Err(error) = ended {
                tracing::error!(agent, %error, "cannot end an execution with its session");
                left.insert(agent);
            }
        }
        let all = left.is_empty();
        lock(&known.executing).append(&mut left);
        all
    }
}

fn too_many_agents() -> OperationError {
    let reason = "too many agents execute in this session: end one with complete_execution or \
                  abort_execution first";
    OperationError::permission_denied(reason).with_detail("limit", MAX_AGENTS)
}
