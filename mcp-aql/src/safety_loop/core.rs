use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::FutureExt as _;
use mcp_aql_protocol::DangerLevel;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::action::{Action, fold};
use super::code::Fresh;
use super::crowd::Crowd;
use super::directive::{AgentNotification, LoopMode};
use super::machine::{Effects, Env, Event, Refusal};
use super::presence::Presence;
use super::recent::RecentAudit;
use super::settings::{Rules, SafetyLoop};
use super::state::{AgentState, Ask};
use crate::audit::AuditEntry;
use crate::error::OperationError;
use crate::operator::{Code, HumanChannel, HumanRequest};
use crate::services::Services;
use crate::store::{Change, Expected, NewRecord, Record, Store, StoreError};
use crate::sync::lock;

/// Agents, by the comparable form of their names.
pub(super) const AGENTS: &str = "safety_agents";
/// Whose a request is: by `id …` and by `code …`, which is the code's hash. And by `answered …` that
/// somebody has answered an approval.
pub(super) const INDEX: &str = "safety_index";
/// Processes that are there.
const PROCESSES: &str = "safety_processes";
/// A process is taken for gone when it was silent for so long, in seconds.
pub(super) const LEASE: i64 = 12;
/// The clocks of machines that share a store differ by less than that, in seconds.
pub(super) const SKEW: i64 = 12;
/// How often it gives a sign of itself.
pub(super) const BEAT: Duration = Duration::from_secs(3);
/// An agent that does nothing is forgotten after so long.
pub(super) const IDLE: TimeDelta = TimeDelta::days(1);
/// So many records are listed at once.
pub(super) const PAGE: usize = 500;

/// The safety loop at work: runs the transitions of agents against the store, and tells people.
pub(crate) struct SafetyCore {
    pub(super) services: Arc<Services>,
    pub(super) mode: LoopMode,
    pub(super) timeout: TimeDelta,
    pub(super) attempts: usize,
    rules: Rules,
    pub(super) channels: Vec<Arc<dyn HumanChannel>>,
    /// The adapter's own operations, once they are known.
    pub(super) operations: OnceLock<HashMap<String, DangerLevel>>,
    /// This process.
    pub(super) me: String,
    /// Codes that were issued here: they are nowhere else.
    codes: Mutex<HashMap<String, (Code, DateTime<Utc>)>>,
    presented: Mutex<Crowd>,
    beaten: Mutex<Option<DateTime<Utc>>>,
    /// What processes that are gone left behind was settled.
    swept: AtomicBool,
    #[cfg(feature = "console")]
    pub(super) reach: crate::operator::Reach,
    in_background: AtomicBool,
    pub(super) recent: RecentAudit,
}

/// Whose a request is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Target {
    Agent { agent: String, id: String },
    Approval { key: String, id: String },
}

/// A record's value.
pub(super) fn read<T: DeserializeOwned>(record: &Record) -> Result<T, StoreError> {
    serde_json::from_str(&record.value)
        .map_err(|error| StoreError::Unreadable(format!("record `{}`: {error}", record.key)))
}

/// A record's value; one that cannot be read is in the log, and stops nothing else.
pub(super) fn readable<T: DeserializeOwned>(record: &Record) -> Option<T> {
    read(record)
        .inspect_err(|error| tracing::error!(%error, "a record of the safety loop cannot be read"))
        .ok()
}

pub(super) fn written<T: Serialize>(value: &T) -> Result<NewRecord, StoreError> {
    serde_json::to_string(value).map(NewRecord::new).map_err(StoreError::failed)
}

pub(super) fn expected(record: Option<&Record>) -> Expected {
    record.map_or(Expected::Absent, |record| Expected::Version(record.version))
}

impl SafetyCore {
    pub(crate) fn new(
        settings: &SafetyLoop,
        rules: Rules,
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
            beaten: Mutex::default(),
            swept: AtomicBool::new(false),
            #[cfg(feature = "console")]
            reach: settings.reach.clone(),
            in_background: AtomicBool::new(false),
            recent,
        }
    }

    pub(crate) fn mode(&self) -> LoopMode {
        self.mode
    }

    /// Tells the loop of the adapter's operations.
    pub(crate) fn knows(&self, operations: HashMap<String, DangerLevel>) {
        // Told once, when the adapter is put together.
        let _ = self.operations.set(operations);
    }

    pub(super) fn now(&self) -> DateTime<Utc> {
        self.services.time.now()
    }

    /// The action, with the most dangerous of the adapter's operations that it names.
    pub(super) fn action(&self, hint: &str) -> Action {
        let action = Action::new(hint);
        let Some(operations) = self.operations.get().filter(|known| !known.is_empty()) else {
            return action;
        };
        let named = action
            .text()
            .split(|each: char| !(each.is_ascii_alphanumeric() || each == '_'))
            // Clients call it by the server's name as well: `mcp__garden__delete_bed`.
            .filter_map(|word| {
                let last = || word.rsplit("__").next().filter(|last| !last.is_empty());
                operations
                    .get_key_value(word)
                    .or_else(|| last().and_then(|last| operations.get_key_value(last)))
            })
            .max_by_key(|(_, level)| **level);
        match named {
            Some((name, level)) => action.clone().of_operation(name.as_str(), *level),
            None => action,
        }
    }

    /// The store, made ready; on first use, what a process that is gone left behind is settled, and
    /// this one gives a sign of itself.
    pub(super) async fn store(&self) -> Result<&dyn Store, StoreError> {
        let store = self.services.store().await?;
        let now = self.now();
        let due = {
            let mut beaten = lock(&self.beaten);
            let due = beaten.is_none_or(|last| (now - last).abs() >= TimeDelta::seconds(3));
            if due {
                *beaten = Some(now);
            }
            due
        };
        if due && let Err(error) = self.beat(store, now).await {
            *lock(&self.beaten) = None;
            return Err(error);
        }
        // Until it is done once: a store may fail in the midst of it.
        if !self.swept.load(Ordering::Acquire) {
            Box::pin(self.sweep(store)).await?;
            self.swept.store(true, Ordering::Release);
        }
        Ok(store)
    }

    async fn beat(&self, store: &dyn Store, now: DateTime<Utc>) -> Result<(), StoreError> {
        let record = written(&Presence::here())?.expires_at(now + TimeDelta::seconds(LEASE));
        store.write(vec![Change::put(PROCESSES, self.me.as_str(), Expected::Any, record)]).await?;
        Ok(())
    }

    /// Settles the executions of processes that are gone, and those that wait in vain for their start.
    pub(super) async fn sweep(&self, store: &dyn Store) -> Result<(), StoreError> {
        for group in ["live", "blocked"] {
            for record in self.group(store, group).await? {
                let Some(state) = readable::<AgentState>(&record) else { continue };
                let foreign = state.live().is_some_and(|execution| execution.owner != self.me);
                if foreign || state.waits_in_vain(self.now()) {
                    self.run(store, &state.agent, false, |state, env, effects| {
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

    /// Gives signs of life and looks after others, as long as the adapter is there.
    pub(super) fn work_in_background(self: &Arc<Self>) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if self.in_background.swap(true, Ordering::AcqRel) {
            return;
        }
        let core = Arc::downgrade(self);
        runtime.spawn(async move {
            loop {
                tokio::time::sleep(BEAT).await;
                let Some(core) = core.upgrade() else { return };
                let Ok(store) = core.services.store().await else { continue };
                let now = core.now();
                *lock(&core.beaten) = Some(now);
                let mut done = core.beat(store, now).await;
                if done.is_ok() {
                    done = core.sweep(store).await;
                }
                if let Err(error) = done {
                    tracing::warn!(%error, "the safety loop cannot reach its store");
                }
            }
        });
    }

    /// The records of a group of agents.
    pub(super) async fn group(
        &self,
        store: &dyn Store,
        group: &str,
    ) -> Result<Vec<Record>, StoreError> {
        let mut all: Vec<Record> = Vec::new();
        loop {
            let after = all.last().map(|record| record.key.clone());
            let page = store.list(AGENTS, Some(group), after.as_deref(), PAGE).await?;
            let full = page.len() == PAGE;
            all.extend(page);
            if !full {
                return Ok(all);
            }
        }
    }

    async fn lives(&self, store: &dyn Store, process: &str) -> Result<bool, StoreError> {
        if process == self.me {
            return Ok(true);
        }
        let Some(record) = store.get(PROCESSES, process).await? else { return Ok(false) };
        if readable::<Presence>(&record).is_some_and(|presence| presence.is_gone()) {
            return Ok(false);
        }
        // A lease that is much longer than any is one from before the clock went back; a little longer
        // are those of a machine whose clock is ahead.
        let left = record.expires_at.map(|until| until - self.now());
        let most = TimeDelta::seconds(LEASE + SKEW);
        Ok(left.is_some_and(|left| left > TimeDelta::zero() && left <= most))
    }

    /// An agent's state as it is kept.
    pub(super) async fn state(&self, agent: &str) -> Result<Option<AgentState>, StoreError> {
        let record = self.store().await?.get(AGENTS, &fold(agent).0).await?;
        record.as_ref().map(read).transpose()
    }

    /// Runs a transition of an agent, as often as it takes until nobody was faster; then does what
    /// follows from it.
    pub(super) async fn transit<T>(
        &self,
        agent: &str,
        transition: impl FnMut(&mut AgentState, &Env<'_>, &mut Effects) -> Result<T, Refusal>,
    ) -> Result<Result<T, Refusal>, OperationError> {
        let store = self.store().await?;
        Ok(self.run(store, agent, false, transition).await?)
    }

    /// As [`transit`](Self::transit), for a transition that tells of the blocks of others.
    pub(super) async fn transit_told<T>(
        &self,
        agent: &str,
        transition: impl FnMut(&mut AgentState, &Env<'_>, &mut Effects) -> Result<T, Refusal>,
    ) -> Result<Result<T, Refusal>, OperationError> {
        let store = self.store().await?;
        Ok(self.run(store, agent, self.mode == LoopMode::Enforcing, transition).await?)
    }

    async fn run<T>(
        &self,
        store: &dyn Store,
        agent: &str,
        told: bool,
        mut transition: impl FnMut(&mut AgentState, &Env<'_>, &mut Effects) -> Result<T, Refusal>,
    ) -> Result<Result<T, Refusal>, StoreError> {
        let key = fold(agent).0;
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
            let fresh = Fresh::new().map_err(StoreError::failed)?;
            let now = self.now();
            let crowded = |session: Option<&str>| self.is_crowded(now, session);
            let env = Env {
                now,
                mode: self.mode,
                me: &self.me,
                owner_lives,
                fresh_id: &fresh.id,
                fresh_hash: &fresh.hash,
                crowded: &crowded,
                timeout: self.timeout,
                most_tries: self.attempts,
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
                    // Somebody was faster. Let them be done before the next try.
                    tokio::task::yield_now().await;
                    continue;
                }
            }
            self.after(&state, effects, fresh).await;
            return Ok(result);
        }
    }

    /// What there is to tell of blocks, but of this agent's own. It is asked for with each step and kept
    /// nowhere else: to write it to every agent would take turns with all of their reports, and of
    /// many that report at once somebody always comes first.
    async fn blocks(
        &self,
        store: &dyn Store,
        but: &str,
    ) -> Result<Vec<AgentNotification>, StoreError> {
        let blocked = self.group(store, "blocked").await?;
        let others = blocked.iter().filter(|record| record.key != but);
        let states = others.filter_map(readable::<AgentState>);
        Ok(states.filter_map(|state| state.news_of_block()).collect())
    }

    /// Whether people have been asked too much for this session.
    pub(super) fn is_crowded(&self, now: DateTime<Utc>, session: Option<&str>) -> bool {
        lock(&self.presented).refuses(session, now)
    }

    /// What follows from a transition that is written.
    async fn after(&self, state: &AgentState, effects: Effects, fresh: Fresh) {
        let execution = state.execution.as_ref();
        for event in &effects.audit {
            let session = match &event.caller {
                Some(caller) => caller.as_deref(),
                None => execution.and_then(|execution| execution.session.as_deref()),
            };
            let execution = execution.map(|execution| execution.id.as_str());
            self.record(event, Some(&state.agent), session, execution, None).await;
        }
        for id in &effects.closed {
            self.withdraw(id).await;
        }
        if let Some(ask) = effects.present {
            let session = execution.and_then(|execution| execution.session.clone());
            self.present(ask, (Some(state.agent.clone()), session), fresh.code).await;
        }
    }

    pub(super) async fn record(
        &self,
        event: &Event,
        agent: Option<&str>,
        session: Option<&str>,
        execution_id: Option<&str>,
        operation: Option<&str>,
    ) {
        let entry = AuditEntry {
            event: event.event,
            operation,
            outcome: event.outcome,
            reason: event.reason.as_deref(),
            session,
            agent,
            execution_id,
            challenge_id: event.challenge.as_deref(),
            decided_by: event.by.as_deref(),
            ..AuditEntry::default()
        };
        self.services.audit.record(&entry).await;
    }

    /// Shows a question to people. Whoever is slow to show it keeps nobody waiting; where it is not shown
    /// it stays unanswered, and the audit log says so.
    pub(super) async fn present(
        &self,
        ask: Ask,
        (agent, session): (Option<String>, Option<String>),
        code: Code,
    ) {
        let now = self.now();
        {
            let mut codes = lock(&self.codes);
            codes.retain(|_, (_, until)| now < *until);
            codes.insert(ask.id.clone(), (code.clone(), ask.expires_at));
        }
        lock(&self.presented).note(session, now);
        let request = Arc::new(HumanRequest {
            id: ask.id,
            kind: ask.kind,
            agent,
            action: ask.action,
            reasons: ask.reasons,
            code,
            expires_at: ask.expires_at,
        });
        for channel in &self.channels {
            let (channel, request) = (Arc::clone(channel), Arc::clone(&request));
            let services = Arc::clone(&self.services);
            detached(async move {
                match unpanicked(async { channel.present(&request).await }).await {
                    Some(Ok(())) => return,
                    Some(Err(error)) => {
                        tracing::error!(channel = channel.name(), %error, "a request cannot be shown");
                    }
                    None => {
                        tracing::error!(channel = channel.name(), "a channel has panicked");
                    }
                }
                let entry = AuditEntry {
                    event: "CHALLENGE_NOT_SHOWN",
                    outcome: "failed",
                    reason: Some(&format!("channel '{}' cannot show it", channel.name())),
                    agent: request.agent.as_deref(),
                    challenge_id: Some(&request.id),
                    ..AuditEntry::default()
                };
                services.audit.record(&entry).await;
            })
            .await;
        }
    }

    /// The channels that could show a question now.
    #[cfg(feature = "cli")]
    pub(crate) fn channels_that_can_ask(&self) -> Vec<&str> {
        let can = |channel: &&Arc<dyn HumanChannel>| can_present(&***channel);
        self.channels.iter().filter(can).map(|channel| channel.name()).collect()
    }

    /// Whether there is anybody to ask now.
    pub(crate) fn can_ask(&self) -> bool {
        self.channels.iter().any(|channel| can_present(&**channel))
    }

    /// Warns whoever starts the adapter of channels that reach nobody.
    #[cfg(any(feature = "stdio", feature = "http"))]
    pub(crate) fn warn_of_channels(&self) {
        for channel in self.channels.iter().filter(|channel| !can_present(&***channel)) {
            let channel = channel.name();
            tracing::warn!(channel, "this channel reaches nobody from here: it shows no requests");
        }
        if !self.channels.is_empty() && !self.can_ask() {
            tracing::warn!(
                "no person can be asked: whatever waits for one waits for good. Start the adapter \
                 where its channel works, or add an operator console or a command"
            );
        }
    }

    /// Takes a question back.
    pub(super) async fn withdraw(&self, id: &str) {
        lock(&self.codes).remove(id);
        for channel in &self.channels {
            let (channel, id) = (Arc::clone(channel), id.to_owned());
            detached(async move {
                if unpanicked(async { channel.withdraw(&id).await }).await.is_none() {
                    tracing::error!(channel = channel.name(), "a channel has panicked");
                }
            })
            .await;
        }
    }

    /// The code of a question, if it was issued here.
    pub(super) fn known_code(&self, id: &str) -> Option<Code> {
        let now = self.now();
        let codes = lock(&self.codes);
        codes.get(id).filter(|(_, until)| now < *until).map(|(code, _)| code.clone())
    }

    /// Whose the request of this id is.
    pub(super) async fn target_of_id(&self, id: &str) -> Result<Option<Target>, StoreError> {
        target(self.store().await?, &format!("id {id}")).await
    }

    /// Whose the code with this hash is.
    pub(super) async fn target_of_code(&self, hash: &str) -> Result<Option<Target>, StoreError> {
        target(self.store().await?, &format!("code {hash}")).await
    }
}

pub(super) async fn target(store: &dyn Store, key: &str) -> Result<Option<Target>, StoreError> {
    store.get(INDEX, key).await?.as_ref().map(read).transpose()
}

/// The change by which it is known that an approval was answered.
pub(super) fn answered(id: &str, now: DateTime<Utc>) -> Result<Change, StoreError> {
    let record = written(&true)?.expires_at(now + IDLE);
    Ok(Change::put(INDEX, format!("answered {id}"), Expected::Any, record))
}

/// Whether a channel says that it can show something; one that panics cannot.
fn can_present(channel: &dyn HumanChannel) -> bool {
    std::panic::catch_unwind(AssertUnwindSafe(|| channel.can_present())).unwrap_or(false)
}

/// What somebody else's code makes, unless it panics.
async fn unpanicked<T>(work: impl Future<Output = T>) -> Option<T> {
    AssertUnwindSafe(work).catch_unwind().await.ok()
}

/// Starts a piece of work; if it does not end by itself at once, it goes on beside the caller.
async fn detached(work: impl Future<Output = ()> + Send + 'static) {
    let mut work = Box::pin(work);
    if futures_util::poll!(&mut work).is_pending() {
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(work)),
            Err(_) => work.await,
        }
    }
}

/// The change that keeps an agent's state.
pub(super) fn agent_change(
    key: &str,
    record: Option<&Record>,
    state: &AgentState,
    now: DateTime<Utc>,
) -> Result<Change, StoreError> {
    let group = state.group();
    let mut kept = written(state)?.group(group);
    if group == "idle" {
        kept = kept.expires_at(now + IDLE);
    }
    Ok(Change::put(AGENTS, key, expected(record), kept))
}

/// The changes by which a request is found.
pub(super) fn indexed(ask: &Ask, target: &Target) -> Result<[Change; 2], StoreError> {
    let until = ask.expires_at + IDLE;
    let put = |key: String| {
        let record = written(target)?.expires_at(until);
        Ok::<_, StoreError>(Change::put(INDEX, key, Expected::Any, record))
    };
    Ok([put(format!("id {}", ask.id))?, put(format!("code {}", ask.hash))?])
}
