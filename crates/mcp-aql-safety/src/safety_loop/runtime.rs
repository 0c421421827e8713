//! The running safety loop: applies transitions to the store, renews leases, and shows requests to people.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use mcp_aql_core::OperationError;
use mcp_aql_core::internal::services::Services;
use mcp_aql_core::internal::util::lock;
use mcp_aql_core::store::{Change, Expected, StateRecord, StateStore, StoreError};
use mcp_aql_protocol::DangerLevel;

use super::action::{Action, normalize};
use super::agent_state::{AgentState, Execution};
use super::caller::CallerIds;
use super::code::{KnownCode, RequestCredentials};
use super::directive::{AgentNotification, LoopMode};
use super::presence::{LEASE_SECONDS, Presence};
use super::recent_audit::RecentAudit;
use super::records::{AGENTS, Target, agent_change, indexed, read, readable, target, written};
use super::request_limit::RequestLimit;
use super::session_registry::WatchedSessions;
use super::settings::{AgentPolicies, SafetyLoop};
use super::transition::{Effects, Env, Rejection};
use crate::human_channel::{ConsoleSettings, HumanChannel};

/// The collection of the store with the leases of running processes.
const PROCESSES: &str = "safety_processes";
/// The tolerated difference between the clocks of machines that share a store, in seconds.
pub(super) const MAX_CLOCK_DIFFERENCE_SECONDS: i64 = 12;
/// The interval of a process's heartbeats.
pub(super) const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(3);
/// The number of records per page when the store is listed.
pub(super) const PAGE_SIZE: usize = 500;

/// The running safety loop of an adapter. It applies transitions to the stored state of agents, and notifies people.
pub struct SafetyCore {
    pub(super) services: Arc<Services>,
    pub(super) mode: LoopMode,
    pub(super) timeout: TimeDelta,
    pub(super) attempts: usize,
    rules: AgentPolicies,
    pub(super) channels: Vec<Arc<dyn HumanChannel>>,
    /// The operations of the adapter. They are set once, when the adapter is built.
    pub(super) operations: OnceLock<HashMap<String, DangerLevel>>,
    /// The id of this process.
    pub(super) me: String,
    /// The codes that this process has issued. They are not stored anywhere else.
    pub(super) codes: Mutex<HashMap<String, KnownCode>>,
    pub(super) presented: Mutex<RequestLimit>,
    last_heartbeat: Mutex<Option<DateTime<Utc>>>,
    /// If `true`, the executions of ended processes have been closed.
    swept: AtomicBool,
    pub(crate) console: ConsoleSettings,
    in_background: AtomicBool,
    pub(super) watched: WatchedSessions,
    pub(super) recent: RecentAudit,
}

impl SafetyCore {
    pub(crate) fn new(
        settings: &SafetyLoop,
        rules: AgentPolicies,
        recent: RecentAudit,
        services: Arc<Services>,
    ) -> Self {
        Self {
            services,
            mode: settings.mode,
            timeout: TimeDelta::from_std(settings.timeout).unwrap_or(TimeDelta::minutes(5)),
            attempts: settings.attempts,
            rules,
            channels: settings.channels.clone(),
            operations: OnceLock::new(),
            me: uuid::Uuid::new_v4().to_string(),
            codes: Mutex::default(),
            presented: Mutex::default(),
            last_heartbeat: Mutex::default(),
            swept: AtomicBool::new(false),
            console: settings.console.clone(),
            in_background: AtomicBool::new(false),
            watched: WatchedSessions::default(),
            recent,
        }
    }

    pub(crate) fn mode(&self) -> LoopMode {
        self.mode
    }

    /// Sets the adapter's operations. Later calls have no effect.
    pub(crate) fn set_operations(&self, operations: HashMap<String, DangerLevel>) {
        let _ = self.operations.set(operations);
    }

    pub(super) fn now(&self) -> DateTime<Utc> {
        self.services.time.now()
    }

    /// Normalizes an action, and finds the most dangerous operation of the adapter that it mentions.
    pub(super) fn action(&self, hint: &str) -> Action {
        let action = Action::new(hint);
        let Some(operations) = self.operations.get().filter(|known| !known.is_empty()) else {
            return action;
        };
        let named = action
            .text()
            .split(|each: char| !(each.is_ascii_alphanumeric() || each == '_'))
            // Clients may add the server's name as a prefix: `mcp__garden__delete_bed`.
            .filter_map(|word| {
                let last = || word.rsplit("__").next().filter(|last| !last.is_empty());
                operations
                    .get_key_value(word)
                    .or_else(|| last().and_then(|last| operations.get_key_value(last)))
            })
            .max_by_key(|(_, level)| **level);
        match named {
            Some((name, level)) => action.clone().with_operation(name.as_str(), *level),
            None => action,
        }
    }

    /// Returns the store, ready for use. Sends a heartbeat if one is due. On first use, closes the executions of ended
    /// processes.
    pub(super) async fn store(&self) -> Result<&dyn StateStore, StoreError> {
        let store = self.services.store().await?;
        let now = self.now();
        let due = {
            let mut last_heartbeat = lock(&self.last_heartbeat);
            let due = last_heartbeat.is_none_or(|last| (now - last).abs() >= TimeDelta::seconds(3));
            if due {
                *last_heartbeat = Some(now);
            }
            due
        };
        if due && let Err(error) = self.send_heartbeat(store, now).await {
            *lock(&self.last_heartbeat) = None;
            return Err(error);
        }
        // The sweep is repeated until it has succeeded once, because the store may fail.
        if !self.swept.load(Ordering::Acquire) {
            Box::pin(self.sweep(store)).await?;
            self.swept.store(true, Ordering::Release);
        }
        Ok(store)
    }

    async fn send_heartbeat(
        &self,
        store: &dyn StateStore,
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        let record =
            written(&Presence::here())?.expires_at(now + TimeDelta::seconds(LEASE_SECONDS));
        store.write(vec![Change::put(PROCESSES, self.me.as_str(), Expected::Any, record)]).await?;
        Ok(())
    }

    /// Closes the executions of ended processes, and those whose start was not approved in time.
    pub(super) async fn sweep(&self, store: &dyn StateStore) -> Result<(), StoreError> {
        for group in ["live", "blocked"] {
            for record in self.group(store, group).await? {
                let Some(state) = readable::<AgentState>(&record) else { continue };
                self.learn_block(&state);
                let foreign = state.live().is_some_and(|execution| execution.owner != self.me);
                if foreign || state.start_expired(self.now()) {
                    self.run(store, &state.agent, (None, false), |state, env, effects| {
                        state.settle(env, effects);
                        Ok(())
                    })
                    .await?
                    .ok();
                }
            }
        }
        store.purge(self.now()).await?;
        Ok(())
    }

    /// Spawns a task that sends heartbeats and closes abandoned executions until the adapter is dropped.
    pub(super) fn work_in_background(self: &Arc<Self>) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if self.in_background.swap(true, Ordering::AcqRel) {
            return;
        }
        let core = Arc::downgrade(self);
        runtime.spawn(async move {
            loop {
                tokio::time::sleep(HEARTBEAT_INTERVAL).await;
                let Some(core) = core.upgrade() else { return };
                let Ok(store) = core.services.store().await else { continue };
                let now = core.now();
                *lock(&core.last_heartbeat) = Some(now);
                let mut done = core.send_heartbeat(store, now).await;
                if done.is_ok() {
                    done = core.sweep(store).await;
                }
                if let Err(error) = done
                    && error.outage().is_none()
                {
                    tracing::warn!(%error, "the safety loop cannot reach its store");
                }
            }
        });
    }

    /// Returns the records of a group of agents.
    pub(super) async fn group(
        &self,
        store: &dyn StateStore,
        group: &str,
    ) -> Result<Vec<StateRecord>, StoreError> {
        let mut all: Vec<StateRecord> = Vec::new();
        loop {
            let after = all.last().map(|record| record.key.clone());
            let page = store.list(AGENTS, Some(group), after.as_deref(), PAGE_SIZE).await?;
            let full = page.len() == PAGE_SIZE;
            all.extend(page);
            if !full {
                return Ok(all);
            }
        }
    }

    async fn lives(&self, store: &dyn StateStore, process: &str) -> Result<bool, StoreError> {
        if process == self.me {
            return Ok(true);
        }
        let Some(record) = store.get(PROCESSES, process).await? else { return Ok(false) };
        if readable::<Presence>(&record).is_some_and(|presence| presence.is_gone()) {
            return Ok(false);
        }
        // A lease that is much too long was written before the clock was set back. A slightly longer lease comes from a
        // machine whose clock is ahead.
        let left = record.expires_at.map(|until| until - self.now());
        let most = TimeDelta::seconds(LEASE_SECONDS + MAX_CLOCK_DIFFERENCE_SECONDS);
        Ok(left.is_some_and(|left| left > TimeDelta::zero() && left <= most))
    }

    /// Returns the stored state of an agent.
    pub(super) async fn state(&self, agent: &str) -> Result<Option<AgentState>, StoreError> {
        let record = self.store().await?.get(AGENTS, &normalize(agent).0).await?;
        record.as_ref().map(read).transpose()
    }

    /// Applies a transition to an agent, and then its effects. After a conflicting write, the transition is applied
    /// again.
    pub(super) async fn apply_transition<T>(
        &self,
        agent: &str,
        transition: impl FnMut(&mut AgentState, &Env<'_>, &mut Effects) -> Result<T, Rejection>,
    ) -> Result<Result<T, Rejection>, OperationError> {
        self.apply_call(None, agent, false, transition).await
    }

    /// Like [`apply_transition`](Self::apply_transition), for a call of this principal. With `news`, the blocks of other
    /// agents are an additional input.
    pub(super) async fn apply_call<T>(
        &self,
        principal: Option<&str>,
        agent: &str,
        news: bool,
        transition: impl FnMut(&mut AgentState, &Env<'_>, &mut Effects) -> Result<T, Rejection>,
    ) -> Result<Result<T, Rejection>, OperationError> {
        let store = self.store().await?;
        let told = news && self.mode == LoopMode::Enforcing;
        Ok(self.run(store, agent, (principal, told), transition).await?)
    }

    async fn run<T>(
        &self,
        store: &dyn StateStore,
        agent: &str,
        (principal, told): (Option<&str>, bool),
        mut transition: impl FnMut(&mut AgentState, &Env<'_>, &mut Effects) -> Result<T, Rejection>,
    ) -> Result<Result<T, Rejection>, StoreError> {
        let key = normalize(agent).0;
        loop {
            let record = store.get(AGENTS, &key).await?;
            let before: AgentState = match &record {
                Some(record) => read(record)?,
                None => AgentState { agent: agent.to_owned(), ..AgentState::default() },
            };
            let owner_lives = match &before.execution {
                Some(execution) => self.lives(store, &execution.owner).await?,
                None => false,
            };
            let blocks = if told { self.blocks(store, &key).await? } else { Vec::new() };
            let answered = if told { self.answered(store, &before).await? } else { Vec::new() };
            let fresh = RequestCredentials::new().map_err(StoreError::failed)?;
            let now = self.now();
            let request_limit_reached =
                |session: Option<&str>| self.is_request_limit_reached(now, session);
            let env = Env {
                now,
                mode: self.mode,
                me: &self.me,
                owner_lives,
                fresh_id: &fresh.id,
                fresh_hash: &fresh.hash,
                request_limit_reached: &request_limit_reached,
                timeout: self.timeout,
                max_attempts: self.attempts,
                blocks: &blocks,
                answered: &answered,
                policy: self.rules.of(&key),
                scorer: &*self.rules.scorer,
            };
            let mut state = before.clone();
            let mut effects = Effects::default();
            let result = transition(&mut state, &env, &mut effects);
            if state != before {
                let mut changes = vec![agent_change(&key, record.as_ref(), &state, now)?];
                if let Some(ask) = &effects.present {
                    let target = Target::Agent { agent: key.clone(), id: ask.id.clone() };
                    changes.extend(indexed(ask, &target)?);
                }
                if !store.write(changes).await? {
                    // Another writer was faster. Yielding lets it complete before the next attempt.
                    tokio::task::yield_now().await;
                    continue;
                }
            }
            self.after(&state, effects, fresh, principal).await;
            return Ok(result);
        }
    }

    /// Returns notifications about the blocks of other agents.
    ///
    /// They are read with each step and stored only once. Writing them to every agent would conflict with the reports
    /// of those agents, and each conflict would delay the block.
    async fn blocks(
        &self,
        store: &dyn StateStore,
        but: &str,
    ) -> Result<Vec<AgentNotification>, StoreError> {
        let blocked = self.group(store, "blocked").await?;
        let others = blocked.iter().filter(|record| record.key != but);
        let states = others.filter_map(readable::<AgentState>);
        Ok(states.filter_map(|state| state.block_notification()).collect())
    }

    /// Returns `true` if the limit on requests per minute is reached for this session.
    pub(super) fn is_request_limit_reached(
        &self,
        now: DateTime<Utc>,
        session: Option<&str>,
    ) -> bool {
        lock(&self.presented).refuses(session, now)
    }

    /// Applies the effects of a stored transition. `principal` has called the operation that caused it.
    async fn after(
        &self,
        state: &AgentState,
        effects: Effects,
        fresh: RequestCredentials,
        principal: Option<&str>,
    ) {
        let execution = state.execution.as_ref();
        let owner = execution.map(Execution::caller).unwrap_or_default();
        for event in &effects.audit {
            let caller = match &event.caller {
                Some(session) => CallerIds { session: session.as_deref(), principal },
                None => owner,
            };
            let execution = execution.map(|execution| execution.id.as_str());
            self.record(event, Some(&state.agent), caller, execution, None).await;
        }
        for id in &effects.closed {
            self.withdraw(id).await;
        }
        if let Some(ask) = effects.present {
            self.present(ask, (Some(&state.agent), owner), fresh.code).await;
        }
    }

    /// Returns the agent or call to which the request with this id belongs.
    pub(super) async fn target_of_id(&self, id: &str) -> Result<Option<Target>, StoreError> {
        target(self.store().await?, &format!("id {id}")).await
    }

    /// Returns the agent or call to which the code with this hash belongs.
    pub(super) async fn target_of_code(&self, hash: &str) -> Result<Option<Target>, StoreError> {
        target(self.store().await?, &format!("code {hash}")).await
    }
}
