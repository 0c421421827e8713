//! The implementations of the safety loop's operations.

use std::sync::Arc;

use super::code_attempts::account_of;
use super::replies::{AgentExecution, StepCount, StepReply, VerificationReply};

use mcp_aql_core::internal::util::{clock, lock};
use mcp_aql_core::store::MAX_KEY_BYTES;
use mcp_aql_core::{OperationError, Session};
use serde_json::{Map, Value};

use super::action::{Action, normalize};
use super::agent_state::{AgentExecutionStatus, AgentState};
use super::caller::Caller;
use super::code;
use super::directive::StepOutcome;
use super::evaluation::ReportedStep;
use super::records::Target;
use super::rejection;
use super::runtime::SafetyCore;
use super::secret_mask::masked;
use super::state_machine::shortened;
use super::transition::{Event, Rejection, Start};

/// A step reported with `record_execution_step`.
///
/// ```json
/// {
///   "operation": "record_execution_step",
///   "params": {
///     "element_name": "gardener",
///     "next_action_hint": "deploy_site to staging",
///     "step_description": "Built the site",
///     "outcome": "success"
///   }
/// }
/// ```
pub(super) struct StepReport {
    pub(super) agent: String,
    pub(super) hint: String,
    pub(super) description: Option<String>,
    pub(super) outcome: Option<StepOutcome>,
    pub(super) findings: Option<String>,
}

/// Prepares a string of an agent for the log: it is shortened, and possible secrets are masked.
fn logged(text: &str) -> String {
    shortened(&masked(text))
}

impl SafetyCore {
    pub(super) fn rejection(&self, refusal: Rejection, agent: &str) -> OperationError {
        rejection::error(refusal, agent, self.now())
    }

    /// Returns the same error as [`rejection`](Self::rejection), and records a block in this session.
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

    pub(super) async fn start(
        self: &Arc<Self>,
        caller: impl Into<Caller<'_>>,
        agent: &str,
        parameters: Option<Map<String, Value>>,
    ) -> Result<AgentExecution, OperationError> {
        let caller = caller.into();
        let Caller { session, principal } = caller;
        validate_agent_name(agent)?;
        self.reject_if_session_blocked(caller, agent).await?;
        let parameters = Value::Object(parameters.unwrap_or_default()).to_string();
        let action = format!("Start agent '{agent}' with parameters {parameters}");
        let execution_id = mcp_aql_core::internal::vocab::new_id("run");
        let start = Start {
            session: session.map(Session::id),
            principal,
            client: session.and_then(Session::client),
            execution_id: &execution_id,
            parameters: &Action::digest(&parameters),
            action: &action,
        };
        let place = self.acquire_slot(session, agent).await?;
        let begun = self
            .apply_call(principal, agent, false, |state, env, effects| {
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

    pub(super) async fn step(
        &self,
        caller: impl Into<Caller<'_>>,
        reported: &StepReport,
    ) -> Result<StepReply, OperationError> {
        let caller = caller.into();
        let Caller { session, principal } = caller;
        let agent = reported.agent.as_str();
        validate_agent_name(agent)?;
        let action = self.action(&reported.hint);
        if action.text().chars().filter(|each| each.is_alphanumeric()).count() < 3 {
            // REQ-LOOP-08
            return Err(OperationError::invalid_value(
                "next_action_hint",
                "must describe the next action in words, such as 'calling write_file on \
                 project/config.json'",
            ));
        }
        self.reject_if_session_blocked(caller, agent).await?;
        let digest = Action::digest(&reported.hint);
        let done = self
            .apply_call(principal, agent, true, |state, env, effects| {
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
        if !autonomy.may_continue && waits && !self.can_ask() {
            autonomy.mark_not_asked();
        }
        if autonomy.stopped == Some(true) {
            self.remember_blocked(session, agent);
        }
        let execution =
            execution.ok_or_else(|| OperationError::internal("a step without an execution"))?;
        tracing::info!(
            agent,
            hint = logged(&reported.hint),
            description = reported.description.as_deref().map(logged),
            findings = reported.findings.as_deref().map(logged),
            may_continue = autonomy.may_continue,
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
        caller: impl Into<Caller<'_>>,
        agent: &str,
        id: Option<&str>,
        (status, reason): (AgentExecutionStatus, &str),
    ) -> Result<AgentExecution, OperationError> {
        let caller = caller.into();
        let Caller { session, principal } = caller;
        validate_agent_name(agent)?;
        self.reject_if_session_blocked(caller, agent).await?;
        let own = session.map(Session::id);
        let done = self
            .apply_call(principal, agent, false, |state, env, effects| {
                state.finish(own, id, (status, reason), env, effects)?;
                Ok(state.clone())
            })
            .await?;
        let state = done.map_err(|refusal| self.rejection_in_session(session, refusal, agent))?;
        if let Some(session) = session {
            lock(&self.agents_of(session).executing).remove(&normalize(agent).0);
        }
        self.execution_view(&state)
    }

    /// Implements `confirm_operation`. The code proves that a person has seen the request (REQ-AUT-16).
    pub(super) async fn confirm(
        &self,
        caller: impl Into<Caller<'_>>,
        code: &str,
    ) -> Result<VerificationReply, OperationError> {
        let caller = caller.into();
        let accounts = self.confirming_accounts(caller.session).await?;
        let failed = |outcome| Event::new("CONFIRMATION_FAILED", outcome);
        self.count_attempt(caller, &accounts, (failed("refused"), "confirm_operation")).await?;
        let hash = code::hash(code);
        let mut known = None;
        let answered = match self.target_of_code(&hash).await? {
            Some(Target::Agent { agent, id }) => {
                let by = self.code_decider(&id);
                let answered = self
                    .apply_transition(&agent, |state, env, effects| {
                        state.confirm((&id, &hash), &by, env, effects)
                    })
                    .await?;
                known = Some((id, Some(agent)));
                answered
            }
            Some(Target::Approval { key, id }) => {
                let answered = self
                    .answer_approval(&key, &id, Some(&hash), (true, &self.code_decider(&id)))
                    .await?;
                known = Some((id, None));
                answered
            }
            None => Err(Rejection::Invalid),
        };
        match answered {
            Ok(()) => {
                self.uncount_attempt(&accounts).await?;
                let next = "The agent may begin, report the paused action again with \
                            record_execution_step, or send the rejected call again";
                Ok(VerificationReply { confirmed: true, next: next.to_owned() })
            }
            Err(refusal) => {
                let mut event = failed("failed");
                let mut agent = None;
                if let Some((id, of)) = &known {
                    event = event.challenge(id);
                    agent = of.as_deref();
                }
                self.record(&event, agent, caller.ids(), None, Some("confirm_operation")).await;
                Err(self.rejection(refusal, ""))
            }
        }
    }

    /// Implements `verify_challenge` (REQ-OOB-06).
    pub(super) async fn verify(
        &self,
        caller: impl Into<Caller<'_>>,
        id: &str,
        code: &str,
    ) -> Result<VerificationReply, OperationError> {
        let caller = caller.into();
        let accounts = [account_of(caller.session)];
        let failed = |outcome| Event::new("CHALLENGE_FAILED", outcome).challenge(&shortened(id));
        self.count_attempt(caller, &accounts, (failed("refused"), "verify_challenge")).await?;
        let hash = code::hash(code);
        let session = caller.session.map(Session::id);
        let answered = match self.target_of_id(id).await? {
            Some(Target::Agent { agent, .. }) => {
                let by = self.code_decider(id);
                self.apply_call(caller.principal, &agent, false, |state, env, effects| {
                    state.verify(session, (id, &hash), &by, env, effects)
                })
                .await?
            }
            _ => {
                let event = failed("failed");
                self.record(&event, None, caller.ids(), None, Some("verify_challenge")).await;
                Err(Rejection::Invalid)
            }
        };
        match answered {
            Ok(()) => {
                self.uncount_attempt(&accounts).await?;
                let next = "The agent may continue: report its next action with record_execution_step. If \
                            its execution has ended, call execute_agent first";
                Ok(VerificationReply { confirmed: true, next: next.to_owned() })
            }
            Err(Rejection::Invalid) => Err(rejection::not_verified()),
            Err(refusal) => Err(self.rejection(refusal, "")),
        }
    }

    /// Returns the agent's execution as the agent sees it.
    fn execution_view(&self, state: &AgentState) -> Result<AgentExecution, OperationError> {
        let execution = state
            .execution
            .as_ref()
            .ok_or_else(|| OperationError::internal("an agent without an execution"))?;
        let request_id = execution.ask.as_ref().map(|ask| ask.id.clone());
        let next = match execution.status {
            AgentExecutionStatus::Pending if !self.can_ask() => Some(
                "Take no action. A person must approve the start, but no channel of this adapter reaches a \
                 person now. Inform the user",
            ),
            AgentExecutionStatus::Pending => Some(
                "Take no action yet. A person must approve the start: ask for the code of this \
                 request and call confirm_operation with it as confirmation_token; or, once a person \
                 has approved it elsewhere, continue with record_execution_step",
            ),
            AgentExecutionStatus::Running => Some(
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

/// Checks the name of an agent. Two names are the same if their normalized forms are equal. An empty form is invalid.
fn validate_agent_name(agent: &str) -> Result<(), OperationError> {
    let (name, _) = normalize(agent);
    if name.is_empty() {
        return Err(OperationError::invalid_value("element_name", "must name the agent"));
    }
    // The name is the key of a record, so its size in bytes is limited. A character has up to four bytes.
    if name.len() > MAX_KEY_BYTES {
        let problem = format!("must be shorter: {MAX_KEY_BYTES} bytes");
        return Err(OperationError::invalid_value("element_name", problem));
    }
    Ok(())
}
