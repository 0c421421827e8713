//! What the reserved operations do.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::action::{Action, fold};
use super::code;
use super::core::{SafetyCore, Target, expected, lock, read, written};
use super::directive::{AutonomyDirective, StepOutcome};
use super::judging::Step;
use super::machine::{Refusal, Start, shortened};
use super::refusals;
use super::state::{AgentState, ExecutionStatus};
use super::tries::Tries;
use crate::clock;
use crate::error::OperationError;
use crate::operation::Session;
use crate::store::{Change, MOST_KEY_BYTES, StoreError};

const TRIES: &str = "safety_tries";

/// The agents of a session.
#[derive(Default)]
struct SessionAgents {
    /// That execute, by the comparable form of their names.
    executing: Mutex<BTreeSet<String>>,
    /// That were blocked here.
    blocked: Mutex<BTreeSet<String>>,
    /// Somebody waits for the session's end.
    watched: AtomicBool,
}

/// An agent's execution.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct AgentExecution {
    /// The execution's id.
    pub execution_id: String,
    /// Where it stands.
    pub status: ExecutionStatus,
    /// The agent.
    pub element_name: String,
    /// The safety loop's mode: enforcing, monitoring, logging or disabled.
    pub safety_loop: String,
    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<String>,
    /// How many steps were reported.
    pub progress: StepCount,
    /// The request that a person has to approve first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// What to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// How far an agent's execution is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct StepCount {
    /// How many steps were reported.
    pub current: u64,
}

/// The answer to a step.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct StepReply {
    /// The execution's id.
    pub execution_id: String,
    /// Where it stands.
    pub status: ExecutionStatus,
    /// How many steps were reported.
    pub progress: StepCount,
    /// Whether the agent may go on. It is authoritative.
    pub autonomy: AutonomyDirective,
}

/// What a code has brought about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Verified {
    /// Whether the code was right; a wrong one is an error.
    pub confirmed: bool,
    /// What to do next.
    pub next: String,
}

/// A step as `record_execution_step` takes it.
pub(super) struct Reported {
    pub(super) agent: String,
    pub(super) hint: String,
    pub(super) description: Option<String>,
    pub(super) outcome: Option<StepOutcome>,
    pub(super) findings: Option<String>,
}

impl SafetyCore {
    /// The agents that execute in this session.
    pub(super) fn executing(&self, session: &Session) -> Vec<String> {
        lock(&session.state::<SessionAgents>().executing).iter().cloned().collect()
    }

    fn refused(&self, refusal: Refusal, agent: &str) -> OperationError {
        refusals::error(refusal, agent, self.now())
    }

    /// Nobody evades a block by another name (REQ-OOB-08): as long as an agent of this session is
    /// blocked, all are. Callers without a session count as one.
    async fn refuse_session(
        &self,
        session: Option<&Session>,
        agent: &str,
    ) -> Result<(), OperationError> {
        if self.mode() != super::LoopMode::Enforcing {
            return Ok(());
        }
        let agent = fold(agent).0;
        let blocked = match session {
            Some(session) => {
                let known = session.state::<SessionAgents>();
                let names: Vec<_> = lock(&known.blocked).iter().cloned().collect();
                let mut blocked = Vec::new();
                for name in names {
                    match self.state(&name).await? {
                        Some(state) if state.block.is_some() => blocked.push(state),
                        _ => {
                            lock(&known.blocked).remove(&name);
                        }
                    }
                }
                blocked
            }
            None => {
                let records = self.group(self.store().await?, "blocked").await?;
                let states: Result<Vec<AgentState>, _> = records.iter().map(read).collect();
                let nobodys = |state: &AgentState| {
                    state.block.as_ref().is_some_and(|block| block.session.is_none())
                };
                states?.into_iter().filter(nobodys).collect()
            }
        };
        // The agent itself is refused where its challenge can be renewed.
        match blocked.into_iter().find(|state| fold(&state.agent).0 != agent) {
            Some(state) => {
                let now = self.now();
                let open = state.block.map(|block| block.ask).filter(|ask| ask.is_open(now));
                let challenge = open.map(|ask| ask.id);
                Err(self.refused(Refusal::Blocked { agent: state.agent, challenge }, &agent))
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
        named(agent)?;
        self.refuse_session(session, agent).await?;
        let parameters = Value::Object(parameters.unwrap_or_default()).to_string();
        let action = format!("Start agent '{agent}' with parameters {parameters}");
        let execution_id = crate::vocab::new_id("run");
        let start = Start {
            session: session.map(Session::id),
            execution_id: &execution_id,
            parameters: &Action::digest(&parameters),
            action: &action,
        };
        let begun = self
            .transit(agent, |state, env, effects| {
                state.start(&start, env, effects)?;
                Ok(state.clone())
            })
            .await?;
        let state = begun.map_err(|refusal| self.refused(refusal, agent))?;
        self.work_in_background();
        if let Some(session) = session {
            self.watch(session, agent).await;
        }
        self.told(&state)
    }

    /// Ends the agent's execution when the session does (REQ-LIF-10).
    async fn watch(self: &Arc<Self>, session: &Session, agent: &str) {
        let known = session.state::<SessionAgents>();
        lock(&known.executing).insert(fold(agent).0);
        if session.has_ended() {
            return self.end_session(session.id(), &known).await;
        }
        if known.watched.swap(true, Ordering::AcqRel) {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (core, session) = (Arc::downgrade(self), session.clone());
        runtime.spawn(async move {
            session.ended().await;
            if let Some(core) = core.upgrade() {
                core.end_session(session.id(), &known).await;
            }
        });
    }

    async fn end_session(&self, session: &str, known: &SessionAgents) {
        let agents = std::mem::take(&mut *lock(&known.executing));
        for agent in agents {
            let ended = self
                .transit(&agent, |state, env, effects| {
                    state.session_ended(session, env, effects);
                    Ok(())
                })
                .await;
            if let Err(error) = ended {
                tracing::error!(agent, %error, "an execution cannot be ended with its session");
            }
        }
    }

    pub(super) async fn step(
        &self,
        session: Option<&Session>,
        reported: &Reported,
    ) -> Result<StepReply, OperationError> {
        let agent = reported.agent.as_str();
        named(agent)?;
        let action = self.action(&reported.hint);
        if action.text().chars().filter(|each| each.is_alphanumeric()).count() < 3 {
            // REQ-LOOP-08
            return Err(OperationError::invalid_value(
                "next_action_hint",
                "must say in words what the next action does, such as 'calling write_file on \
                 project/config.json'",
            ));
        }
        self.refuse_session(session, agent).await?;
        let digest = Action::digest(&reported.hint);
        let done = self
            .transit(agent, |state, env, effects| {
                let step = Step {
                    session: session.map(Session::id),
                    hint: &reported.hint,
                    digest: &digest,
                    action: action.clone(),
                    outcome: reported.outcome,
                };
                let autonomy = state.step(step, env, effects)?;
                Ok((autonomy, state.execution.clone()))
            })
            .await?;
        let (autonomy, execution) = done.map_err(|refusal| self.refused(refusal, agent))?;
        if let (Some(true), Some(session)) = (autonomy.stopped, session) {
            lock(&session.state::<SessionAgents>().blocked).insert(fold(agent).0);
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
        named(agent)?;
        self.refuse_session(session, agent).await?;
        let caller = session.map(Session::id);
        let done = self
            .transit(agent, |state, env, effects| {
                state.finish(caller, id, (status, reason), env, effects)?;
                Ok(state.clone())
            })
            .await?;
        let state = done.map_err(|refusal| self.refused(refusal, agent))?;
        if let Some(session) = session {
            lock(&session.state::<SessionAgents>().executing).remove(&fold(agent).0);
        }
        self.told(&state)
    }

    /// `confirm_operation`: the code proves that a person has seen the request (REQ-AUT-16).
    pub(super) async fn confirm(
        &self,
        session: Option<&Session>,
        code: &str,
    ) -> Result<Verified, OperationError> {
        self.charge(session).await?;
        let hash = code::hash(code);
        let answered = match self.target_of_code(&hash).await? {
            Some(Target::Agent { agent, id }) => {
                self.transit(&agent, |state, env, effects| state.confirm(&id, &hash, env, effects))
                    .await?
            }
            Some(Target::Approval { key, id }) => {
                self.answer_approval(&key, &id, Some(&hash), (true, "code")).await?
            }
            None => Err(Refusal::Invalid),
        };
        match answered {
            Ok(()) => {
                self.refund(session).await?;
                let next = "Report the action again with record_execution_step, or repeat the call \
                            that was refused";
                Ok(Verified { confirmed: true, next: next.to_owned() })
            }
            Err(refusal) => {
                let event = super::machine::Event::new("CONFIRMATION_FAILED", "failed");
                let session = session.map(Session::id);
                self.record(&event, None, session, None, Some("confirm_operation")).await;
                Err(self.refused(refusal, ""))
            }
        }
    }

    /// `verify_challenge` (REQ-OOB-06).
    pub(super) async fn verify(
        &self,
        session: Option<&Session>,
        id: &str,
        code: &str,
    ) -> Result<Verified, OperationError> {
        self.charge(session).await?;
        let hash = code::hash(code);
        let answered = match self.target_of_id(id).await? {
            Some(Target::Agent { agent, .. }) => {
                self.transit(&agent, |state, env, effects| state.verify(id, &hash, env, effects))
                    .await?
            }
            _ => {
                let event = super::machine::Event::new("CHALLENGE_FAILED", "failed");
                let session = session.map(Session::id);
                self.record(&event, None, session, None, Some("verify_challenge")).await;
                Err(Refusal::Invalid)
            }
        };
        match answered {
            Ok(()) => {
                self.refund(session).await?;
                let next = "The agent may go on: report its next action with record_execution_step";
                Ok(Verified { confirmed: true, next: next.to_owned() })
            }
            Err(Refusal::Invalid) => Err(refusals::not_verified()),
            Err(refusal) => Err(self.refused(refusal, "")),
        }
    }

    /// Counts a try of this session as failed, before anyone knows: so many at once are as many as
    /// one after the other.
    async fn charge(&self, session: Option<&Session>) -> Result<(), OperationError> {
        let (now, most) = (self.now(), self.attempts);
        let allowed = self
            .of_tries(session, |tries| {
                tries.check(now, most)?;
                tries.fail(now);
                Ok(())
            })
            .await?;
        allowed.map_err(|seconds| self.refused(Refusal::TooMany(seconds), ""))
    }

    /// The try was none of those that are counted.
    async fn refund(&self, session: Option<&Session>) -> Result<(), OperationError> {
        self.of_tries(session, |tries| {
            tries.forgive();
            Ok::<_, u64>(())
        })
        .await?
        .ok();
        Ok(())
    }

    async fn of_tries<E>(
        &self,
        session: Option<&Session>,
        change: impl Fn(&mut Tries) -> Result<(), E>,
    ) -> Result<Result<(), E>, StoreError> {
        let store = self.store().await?;
        let key = session.map_or("-", Session::id);
        loop {
            let record = store.get(TRIES, key).await?;
            let before: Tries = record.as_ref().map(read).transpose()?.unwrap_or_default();
            let mut tries = before.clone();
            let done = change(&mut tries);
            if tries == before {
                return Ok(done);
            }
            let kept = written(&tries)?.expires_at(self.now() + chrono::TimeDelta::days(2));
            let change = Change::put(TRIES, key, expected(record.as_ref()), kept);
            if store.write(vec![change]).await? {
                return Ok(done);
            }
            tokio::task::yield_now().await;
        }
    }

    /// The agent's execution, as its agent reads it.
    fn told(&self, state: &AgentState) -> Result<AgentExecution, OperationError> {
        let execution = state
            .execution
            .as_ref()
            .ok_or_else(|| OperationError::internal("an agent without an execution"))?;
        let request_id = execution.ask.as_ref().map(|ask| ask.id.clone());
        let next = match execution.status {
            ExecutionStatus::Pending => Some(
                "Take no action yet. A person has to approve the start: ask for the code of this \
                 request and call confirm_operation with it as confirmation_token; or, once a person \
                 has approved it elsewhere, go on with record_execution_step",
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

/// Names that read the same are the same; one that reads as nothing is none.
fn named(agent: &str) -> Result<(), OperationError> {
    let (name, _) = fold(agent);
    if name.is_empty() {
        return Err(OperationError::invalid_value("element_name", "must name the agent"));
    }
    // It is the key of a record. Characters take up to four bytes.
    if name.len() > MOST_KEY_BYTES {
        let problem = format!("must be shorter: {MOST_KEY_BYTES} bytes");
        return Err(OperationError::invalid_value("element_name", problem));
    }
    Ok(())
}
