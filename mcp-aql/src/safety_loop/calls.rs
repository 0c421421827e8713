//! The implementation of the reserved operations.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::action::{Action, normalize};
use super::agent_state::{AgentState, ExecutionStatus};
use super::code;
use super::core::{HEARTBEAT_INTERVAL, SafetyCore, Target, expected, read, readable, written};
use super::directive::{AutonomyDirective, StepOutcome};
use super::evaluation::ReportedStep;
use super::rejection;
use super::retry_lockout::RetryLockout;
use super::state_machine::{Event, Rejection, Start, shortened};
use crate::clock;
use crate::error::OperationError;
use crate::session::Session;
use crate::store::{Change, MAX_KEY_BYTES, StoreError};
use crate::sync::lock;

/// The collection of the store that counts failed attempts of sessions and agents.
const ATTEMPTS: &str = "safety_tries";
/// The maximum number of agents that may run in one session.
pub(super) const MAX_AGENTS: usize = 50;

/// The agents of one session, by safety loop. A session may be a client of several adapters, whose stores
/// have different agents.
#[derive(Default)]
struct AllAgents(Mutex<HashMap<String, Arc<SessionAgents>>>);

/// The agents of a session in one safety loop.
#[derive(Default)]
struct SessionAgents {
    /// The executing agents, by their normalized names.
    executing: Mutex<BTreeSet<String>>,
    /// The agents that were blocked in this session, with a number for each block.
    blocked: Mutex<BTreeMap<String, u64>>,
    numbers: AtomicU64,
    /// Whether a task waits for the session's end.
    watched: AtomicBool,
}

/// A slot among a session's agents, released when it is dropped unless it is kept.
struct AgentSlot {
    known: Arc<SessionAgents>,
    agent: String,
    kept: bool,
}

impl AgentSlot {
    fn keep(mut self) {
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

/// An agent's execution.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct AgentExecution {
    /// The execution's id.
    pub execution_id: String,
    /// The status of the execution.
    pub status: ExecutionStatus,
    /// The agent's name.
    pub element_name: String,
    /// The safety loop's mode: enforcing, monitoring, logging or disabled.
    pub safety_loop: String,
    /// When the execution started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// When the execution ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<String>,
    /// The number of reported steps.
    pub progress: StepCount,
    /// The request that a person must approve first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// Instructions for the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The progress of an agent's execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct StepCount {
    /// The number of reported steps.
    pub current: u64,
}

/// The reply to a reported step.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct StepReply {
    /// The execution's id.
    pub execution_id: String,
    /// The status of the execution.
    pub status: ExecutionStatus,
    /// The number of reported steps.
    pub progress: StepCount,
    /// Whether the agent may continue. This decision is authoritative.
    pub autonomy: AutonomyDirective,
}

/// The effect of a code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Verified {
    /// Whether the code was accepted. A wrong code results in an error.
    pub confirmed: bool,
    /// Instructions for the agent.
    pub next: String,
}

/// A step that was reported with `record_execution_step`.
pub(super) struct StepReport {
    pub(super) agent: String,
    pub(super) hint: String,
    pub(super) description: Option<String>,
    pub(super) outcome: Option<StepOutcome>,
    pub(super) findings: Option<String>,
}

impl SafetyCore {
    fn agents_of(&self, session: &Session) -> Arc<SessionAgents> {
        let all = session.state::<AllAgents>();
        let mut all = lock(&all.0);
        if let Some(known) = all.get(&self.me) {
            return Arc::clone(known);
        }
        Arc::clone(all.entry(self.me.clone()).or_default())
    }

    /// Returns the agents that execute in this session. Callers without a session count as one session, across
    /// all processes.
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
                // An unreadable record may be such an agent, so it is included to be safe.
                let executes = readable::<AgentState>(&record)
                    .is_none_or(|state| state.live().is_some_and(|live| live.session.is_none()));
                if executes {
                    names.push(record.key);
                }
            }
        }
        Ok(names)
    }

    fn rejection(&self, refusal: Rejection, agent: &str) -> OperationError {
        rejection::error(refusal, agent, self.now())
    }

    /// Returns the error as [`refused`](Self::refused) does, and remembers a block in this session.
    fn rejection_in_session(
        &self,
        session: Option<&Session>,
        refusal: Rejection,
        agent: &str,
    ) -> OperationError {
        if let Rejection::Blocked { agent, .. } = &refusal {
            self.remember_blocked(session, agent);
        }
        self.rejection(refusal, agent)
    }

    fn remember_blocked(&self, session: Option<&Session>, agent: &str) {
        if let Some(session) = session {
            let known = self.agents_of(session);
            let number = known.numbers.fetch_add(1, Ordering::Relaxed);
            lock(&known.blocked).insert(normalize(agent).0, number);
        }
    }

    /// Returns whether an agent of this session may be blocked, so that the store must be read. For callers
    /// without a session the store is always read, because they may call any process.
    pub(super) fn may_be_blocked(&self, session: Option<&Session>) -> bool {
        self.mode() == super::LoopMode::Enforcing
            && session.is_none_or(|session| !lock(&self.agents_of(session).blocked).is_empty())
    }

    /// Rejects all agents of a session while one of them is blocked, so that an agent cannot evade a block by
    /// changing its name (REQ-OOB-08). Callers without a session count as one session.
    async fn reject_if_session_blocked(
        &self,
        session: Option<&Session>,
        agent: &str,
    ) -> Result<(), OperationError> {
        if self.mode() != super::LoopMode::Enforcing {
            return Ok(());
        }
        let name = normalize(agent).0;
        let mut blocked = self.blocked_in(session).await?;
        // The agent itself is rejected later, where its challenge can be renewed and the audit log records it.
        blocked.retain(|state| normalize(&state.agent).0 != name);
        let reason = blocked
            .first()
            .map(|state| format!("agent '{}' is blocked, and with it its session", state.agent));
        if let Some(reason) = reason {
            let event = Event::new("EXECUTION_DENIED", "denied").reason(&reason);
            let session = session.map(Session::id);
            self.record(&event, Some(agent), session, None, None).await;
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
                            // Unless the agent was blocked again in the meantime.
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

    pub(super) async fn start(
        self: &Arc<Self>,
        session: Option<&Session>,
        agent: &str,
        parameters: Option<Map<String, Value>>,
    ) -> Result<AgentExecution, OperationError> {
        validate_agent_name(agent)?;
        self.reject_if_session_blocked(session, agent).await?;
        let parameters = Value::Object(parameters.unwrap_or_default()).to_string();
        let action = format!("Start agent '{agent}' with parameters {parameters}");
        let execution_id = crate::vocab::new_id("run");
        let start = Start {
            session: session.map(Session::id),
            execution_id: &execution_id,
            parameters: &Action::digest(&parameters),
            action: &action,
        };
        let place = self.acquire_slot(session, agent).await?;
        let begun = self
            .apply_transition(agent, |state, env, effects| {
                state.start(&start, env, effects)?;
                Ok(state.clone())
            })
            .await?;
        let state = begun.map_err(|refusal| self.rejection_in_session(session, refusal, agent))?;
        if let Some(place) = place {
            place.keep();
        }
        self.work_in_background();
        if let Some(session) = session {
            self.watch(session, agent).await;
        }
        self.execution_view(&state)
    }

    /// Acquires a slot for an agent in the session, unless it has one. The limit prevents a session from
    /// filling the store and the operators' screens with agents under ever new names.
    async fn acquire_slot(
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
            // Some agents may have ended for other reasons than the end of their session.
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

    /// Ends the agent's execution when the session ends (REQ-LIF-10).
    async fn watch(self: &Arc<Self>, session: &Session, agent: &str) {
        let known = self.agents_of(session);
        lock(&known.executing).insert(normalize(agent).0);
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
            // Also dropped if the runtime shuts down before the session ends.
            let _pending = pending;
            session.ended().await;
            // Retried if the store fails, because no other process ends these executions.
            while let Some(core) = core.upgrade() {
                if core.end_session(session.id(), &known).await {
                    return;
                }
                drop(core);
                tokio::time::sleep(HEARTBEAT_INTERVAL).await;
            }
        });
    }

    /// Ends the executions of the session. Returns whether all of them have ended.
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

    pub(super) async fn step(
        &self,
        session: Option<&Session>,
        reported: &StepReport,
    ) -> Result<StepReply, OperationError> {
        let agent = reported.agent.as_str();
        validate_agent_name(agent)?;
        let action = self.action(&reported.hint);
        if action.text().chars().filter(|each| each.is_alphanumeric()).count() < 3 {
            // REQ-LOOP-08
            return Err(OperationError::invalid_value(
                "next_action_hint",
                "must say in words what the next action does, such as 'calling write_file on \
                 project/config.json'",
            ));
        }
        self.reject_if_session_blocked(session, agent).await?;
        let digest = Action::digest(&reported.hint);
        let done = self
            .apply_with_news(agent, |state, env, effects| {
                let step = ReportedStep {
                    session: session.map(Session::id),
                    hint: &reported.hint,
                    digest: &digest,
                    action: action.clone(),
                    outcome: reported.outcome,
                };
                let autonomy = state.step(step, env, effects)?;
                let waits = state.requests().any(|ask| ask.is_open(env.now));
                Ok((autonomy, state.execution.clone(), waits))
            })
            .await?;
        let (mut autonomy, execution, waits) =
            done.map_err(|refusal| self.rejection_in_session(session, refusal, agent))?;
        if !autonomy.go_on && waits && !self.can_ask() {
            autonomy.mark_not_asked();
        }
        if autonomy.stopped == Some(true) {
            self.remember_blocked(session, agent);
        }
        let execution =
            execution.ok_or_else(|| OperationError::internal("a step without an execution"))?;
        tracing::info!(
            agent,
            hint = shortened(&reported.hint),
            description = reported.description.as_deref().map(shortened),
            findings = reported.findings.as_deref().map(shortened),
            go_on = autonomy.go_on,
            "step reported"
        );
        Ok(StepReply {
            execution_id: execution.id,
            status: execution.status,
            progress: StepCount { current: execution.steps },
            autonomy,
        })
    }

    pub(super) async fn finish(
        &self,
        session: Option<&Session>,
        agent: &str,
        id: Option<&str>,
        (status, reason): (ExecutionStatus, &str),
    ) -> Result<AgentExecution, OperationError> {
        validate_agent_name(agent)?;
        self.reject_if_session_blocked(session, agent).await?;
        let caller = session.map(Session::id);
        let done = self
            .apply_transition(agent, |state, env, effects| {
                state.finish(caller, id, (status, reason), env, effects)?;
                Ok(state.clone())
            })
            .await?;
        let state = done.map_err(|refusal| self.rejection_in_session(session, refusal, agent))?;
        if let Some(session) = session {
            lock(&self.agents_of(session).executing).remove(&normalize(agent).0);
        }
        self.execution_view(&state)
    }

    /// Implements `confirm_operation`: the code proves that a person has seen the request (REQ-AUT-16).
    pub(super) async fn confirm(
        &self,
        session: Option<&Session>,
        code: &str,
    ) -> Result<Verified, OperationError> {
        let accounts = self.confirming_accounts(session).await?;
        let failed = |outcome| Event::new("CONFIRMATION_FAILED", outcome);
        self.count_attempt(session, &accounts, (failed("refused"), "confirm_operation")).await?;
        let hash = code::hash(code);
        let mut known = None;
        let answered = match self.target_of_code(&hash).await? {
            Some(Target::Agent { agent, id }) => {
                let answered = self
                    .apply_transition(&agent, |state, env, effects| {
                        state.confirm(&id, &hash, env, effects)
                    })
                    .await?;
                known = Some((id, Some(agent)));
                answered
            }
            Some(Target::Approval { key, id }) => {
                let answered = self.answer_approval(&key, &id, Some(&hash), (true, "code")).await?;
                known = Some((id, None));
                answered
            }
            None => Err(Rejection::Invalid),
        };
        match answered {
            Ok(()) => {
                self.uncount_attempt(&accounts).await?;
                let next = "The agent may begin, report the paused action again with \
                            record_execution_step, or make the refused call again";
                Ok(Verified { confirmed: true, next: next.to_owned() })
            }
            Err(refusal) => {
                let mut event = failed("failed");
                let mut agent = None;
                if let Some((id, of)) = &known {
                    event = event.challenge(id);
                    agent = of.as_deref();
                }
                let session = session.map(Session::id);
                self.record(&event, agent, session, None, Some("confirm_operation")).await;
                Err(self.rejection(refusal, ""))
            }
        }
    }

    /// Implements `verify_challenge` (REQ-OOB-06).
    pub(super) async fn verify(
        &self,
        session: Option<&Session>,
        id: &str,
        code: &str,
    ) -> Result<Verified, OperationError> {
        let accounts = [account_of(session)];
        let failed = |outcome| Event::new("CHALLENGE_FAILED", outcome).challenge(&shortened(id));
        self.count_attempt(session, &accounts, (failed("refused"), "verify_challenge")).await?;
        let hash = code::hash(code);
        let caller = session.map(Session::id);
        let answered = match self.target_of_id(id).await? {
            Some(Target::Agent { agent, .. }) => {
                self.apply_transition(&agent, |state, env, effects| {
                    state.verify(caller, (id, &hash), env, effects)
                })
                .await?
            }
            _ => {
                let event = failed("failed");
                self.record(&event, None, caller, None, Some("verify_challenge")).await;
                Err(Rejection::Invalid)
            }
        };
        match answered {
            Ok(()) => {
                self.uncount_attempt(&accounts).await?;
                let next = "The agent may go on: report its next action with record_execution_step. If \
                            its execution has ended, call execute_agent first";
                Ok(Verified { confirmed: true, next: next.to_owned() })
            }
            Err(Rejection::Invalid) => Err(rejection::not_verified()),
            Err(refusal) => Err(self.rejection(refusal, "")),
        }
    }

    /// Returns the accounts on which an attempt of `confirm_operation` is counted. A wrong code does not show
    /// which agent it was meant for. The attempt is therefore counted for the session, and for each agent that
    /// executes in it, whose account outlives the session and the process (REQ-OOB-12). Sessions do not share
    /// an account, because one of them could lock out the others.
    async fn confirming_accounts(
        &self,
        session: Option<&Session>,
    ) -> Result<Vec<String>, OperationError> {
        let mut accounts = vec![account_of(session)];
        if session.is_some() {
            let agents = self.executing(session).await?;
            accounts.extend(agents.iter().map(|name| format!("agent {}", Action::digest(name))));
        }
        Ok(accounts)
    }

    /// Counts a failed attempt on each of these accounts before its result is known, so that concurrent
    /// attempts count like successive ones. `refused` is recorded if one of the accounts is locked.
    async fn count_attempt(
        &self,
        session: Option<&Session>,
        accounts: &[String],
        (refused, operation): (Event, &str),
    ) -> Result<(), OperationError> {
        let (now, most) = (self.now(), self.attempts);
        for (place, account) in accounts.iter().enumerate() {
            let allowed = self
                .update_lockout(account, |tries| {
                    tries.check(now, most)?;
                    tries.fail(now);
                    Ok(())
                })
                .await?;
            if let Err(seconds) = allowed {
                self.uncount_attempt(accounts.get(..place).unwrap_or_default()).await?;
                let refused = refused.reason("too many tries");
                let session = session.map(Session::id);
                self.record(&refused, None, session, None, Some(operation)).await;
                return Err(self.rejection(Rejection::TooMany(seconds), ""));
            }
        }
        Ok(())
    }

    /// Removes a counted attempt from these accounts.
    async fn uncount_attempt(&self, accounts: &[String]) -> Result<(), OperationError> {
        for account in accounts {
            let forgiven = self.update_lockout(account, |tries| {
                tries.forgive();
                Ok::<_, u64>(())
            });
            forgiven.await?.ok();
        }
        Ok(())
    }

    async fn update_lockout<E>(
        &self,
        key: &str,
        change: impl Fn(&mut RetryLockout) -> Result<(), E>,
    ) -> Result<Result<(), E>, StoreError> {
        let store = self.store().await?;
        loop {
            let record = store.get(ATTEMPTS, key).await?;
            let before: RetryLockout = record.as_ref().map(read).transpose()?.unwrap_or_default();
            let mut tries = before.clone();
            let done = change(&mut tries);
            if tries == before {
                return Ok(done);
            }
            let kept = written(&tries)?.expires_at(self.now() + chrono::TimeDelta::days(2));
            let change = Change::put(ATTEMPTS, key, expected(record.as_ref()), kept);
            if store.write(vec![change]).await? {
                return Ok(done);
            }
            tokio::task::yield_now().await;
        }
    }

    /// Returns the agent's execution in the form for the agent.
    fn execution_view(&self, state: &AgentState) -> Result<AgentExecution, OperationError> {
        let execution = state
            .execution
            .as_ref()
            .ok_or_else(|| OperationError::internal("an agent without an execution"))?;
        let request_id = execution.ask.as_ref().map(|ask| ask.id.clone());
        let next = match execution.status {
            ExecutionStatus::Pending if !self.can_ask() => Some(
                "Take no action. A person must approve the start, but no channel of this adapter reaches a \
                 person at the moment. Inform the user",
            ),
            ExecutionStatus::Pending => Some(
                "Take no action yet. A person must approve the start: ask for the code of this \
                 request and call confirm_operation with it as confirmation_token; or, once a person \
                 has approved it elsewhere, continue with record_execution_step",
            ),
            ExecutionStatus::Running => Some(
                "Report each action with record_execution_step before you take it, and take it only \
                 if the reply's data.autonomy.continue is true",
            ),
            _ => None,
        };
        Ok(AgentExecution {
            execution_id: execution.id.clone(),
            status: execution.status,
            element_name: state.agent.clone(),
            safety_loop: self.mode().to_string(),
            started_at: execution.started_at.map(clock::text),
            finished_at: execution.finished_at.map(clock::text),
            progress: StepCount { current: execution.steps },
            request_id,
            next: next.map(str::to_owned),
        })
    }
}

/// Returns the account that counts a session's failed attempts. Callers without a session share one.
fn account_of(session: Option<&Session>) -> String {
    session.map_or("-", Session::id).to_owned()
}

fn too_many_agents() -> OperationError {
    let reason = "too many agents execute in this session: end one with complete_execution or \
                  abort_execution first";
    OperationError::permission_denied(reason).with_detail("limit", MAX_AGENTS)
}

/// Checks an agent's name. Names with the same normalized form are the same; an empty form is invalid.
fn validate_agent_name(agent: &str) -> Result<(), OperationError> {
    let (name, _) = normalize(agent);
    if name.is_empty() {
        return Err(OperationError::invalid_value("element_name", "must name the agent"));
    }
    // The name is the key of a record. Characters have up to four bytes.
    if name.len() > MAX_KEY_BYTES {
        let problem = format!("must be shorter: {MAX_KEY_BYTES} bytes");
        return Err(OperationError::invalid_value("element_name", problem));
    }
    Ok(())
}
