//! The state machine of an agent.
//!
//! Its transitions are pure functions of the agent's state, the time and an event. All changes of an agent are made
//! here.
//!
//! ```text
//! pending → running → completed | failed | cancelled
//! pending → cancelled
//! ```

use super::transition::{Effects, Env, Event, Rejection, Start};

use super::agent_state::{AgentExecutionStatus, AgentState, Execution, PersonRequest};
use super::directive::LoopMode;
use super::presence::LEASE_SECONDS;
use super::retry_lockout;
use crate::human_channel::RequestKind;

/// The maximum number of requests to people that an agent may cause per minute.
pub(super) const MAX_REQUESTS_PER_MINUTE: usize = 10;

pub(super) const PAUSE: &str = "pause";

/// The maximum number of characters of an action that people see. The hint of a step always fits.
const MAX_ACTION_CHARS: usize = 4_000;
/// The number of these characters taken from the end of the action.
const ACTION_END_CHARS: usize = 1_000;
/// The budget for the notice in a shortened action, so that a shortened action is not shortened again.
const NOTICE_CHARS: usize = 100;

/// Returns the action for the person who decides, and a warning if it was shortened. Without the warning, a long and
/// harmless beginning could hide the rest.
pub(super) fn displayed(text: &str) -> (String, Option<String>) {
    let length = text.chars().count();
    if length <= MAX_ACTION_CHARS + NOTICE_CHARS {
        return (text.to_owned(), None);
    }
    let hidden = length - MAX_ACTION_CHARS;
    let mut cut: String = text.chars().take(MAX_ACTION_CHARS - ACTION_END_CHARS).collect();
    cut.push_str(&format!("\n[… {hidden} characters are not shown …]\n"));
    cut.extend(text.chars().skip(length - ACTION_END_CHARS));
    (cut, Some(format!("Not all of it is shown: {hidden} of its {length} characters are left out")))
}

/// Shortens a string of an agent for a log or a list.
pub(super) fn shortened(text: &str) -> String {
    const MAX_CHARS: usize = 1_000;
    let mut short: String = text.chars().take(MAX_CHARS).collect();
    if text.chars().nth(MAX_CHARS).is_some() {
        short.push('…');
    }
    short
}

impl AgentState {
    /// Applies the effects of time, such as expired requests. Every transition calls this first.
    pub(super) fn settle(&mut self, env: &Env<'_>, effects: &mut Effects) {
        let now = env.now;
        retry_lockout::rebase(&mut self.issued, now);
        // Setting the clock back must not extend any request.
        let latest = now + env.timeout;
        let ids: Vec<_> = self.requests().map(|ask| ask.id.clone()).collect();
        for id in ids {
            if let Some(ask) = self.request_mut(&id) {
                ask.expires_at = ask.expires_at.min(latest);
                if !ask.closed && now >= ask.expires_at {
                    ask.closed = true;
                    effects.note(Event::new("CHALLENGE_EXPIRED", "expired").request(ask));
                    effects.closed.push(id);
                }
            }
        }
        if let Some(grant) = &mut self.grant {
            grant.until = grant.until.min(latest);
        }
        self.grant.take_if(|grant| now >= grant.until);
        if let Some(until) = self.pause.as_mut().and_then(|pause| pause.until.as_mut()) {
            *until = (*until).min(latest);
            if now >= *until {
                self.drop_pause(effects);
            }
        }
        let elsewhere = self.execution.as_ref().is_some_and(|last| last.owner != env.me);
        if elsewhere && !env.owner_lives {
            // The protocol allows a pending execution to be canceled, but not to fail (REQ-LIF-02).
            let status = match self.live().map(|execution| execution.status) {
                Some(AgentExecutionStatus::Pending) => AgentExecutionStatus::Cancelled,
                _ => AgentExecutionStatus::Failed,
            };
            self.end(status, "The adapter was restarted", env, effects);
            self.drop_pause(effects);
        }
        if self.start_expired(now) {
            self.end(
                AgentExecutionStatus::Cancelled,
                "No person has approved the start",
                env,
                effects,
            );
        }
    }

    pub(super) fn drop_pause(&mut self, effects: &mut Effects) {
        if let Some(ask) = self.pause.take().and_then(|pause| pause.ask)
            && !ask.closed
        {
            effects.closed.push(ask.id);
        }
        self.clear(PAUSE);
    }

    /// Ends the execution. A block and its open challenge remain.
    pub(super) fn end(
        &mut self,
        status: AgentExecutionStatus,
        reason: &str,
        env: &Env<'_>,
        effects: &mut Effects,
    ) {
        let Some(execution) = self.live_mut() else { return };
        execution.status = status;
        execution.finished_at = Some(env.now);
        execution.reason = Some(shortened(reason));
        if let Some(ask) = execution.ask.take()
            && !ask.closed
        {
            effects.closed.push(ask.id);
        }
        self.grant = None;
        if self.pause.as_ref().is_some_and(|pause| pause.until.is_none()) {
            self.drop_pause(effects);
        }
        self.queue.retain(|queued| queued.about == PAUSE);
        effects.note(Event::new("EXECUTION_ENDED", status.as_str()).reason(reason));
    }

    fn reject_request(&self, session: Option<&str>, env: &Env<'_>, effects: &mut Effects) -> bool {
        let refuses =
            self.issued.len() >= MAX_REQUESTS_PER_MINUTE || (env.request_limit_reached)(session);
        if refuses {
            effects.note(
                Event::new("CHALLENGE_ISSUED", "refused")
                    .reason("too many requests in one minute")
                    .caller(session),
            );
        }
        refuses
    }

    /// Creates a request of this kind. With `bounded`, the limit on requests applies.
    pub(super) fn create_request(
        &mut self,
        kind: RequestKind,
        (action, reasons): (&str, Vec<String>),
        bounded: bool,
        env: &Env<'_>,
        effects: &mut Effects,
    ) -> Option<PersonRequest> {
        let session = self.execution.as_ref().and_then(|execution| execution.session.as_deref());
        if bounded && self.reject_request(session, env, effects) {
            return None;
        }
        self.issued.push(env.now);
        let (action, warning) = displayed(action);
        let reasons = reasons.into_iter().chain(warning).collect();
        let ask = PersonRequest {
            id: env.fresh_id.to_owned(),
            kind,
            hash: env.fresh_hash.to_owned(),
            action,
            reasons,
            asked_at: Some(env.now),
            expires_at: env.now + env.timeout,
            closed: false,
            tried: false,
        };
        effects.present = Some(ask.clone());
        let reason = ask.reasons.first().map_or("", String::as_str);
        effects.note(Event::new("CHALLENGE_ISSUED", "issued").reason(reason).request(&ask));
        Some(ask)
    }

    /// Rejects the transition of a blocked agent. The audit log records the caller's session.
    pub(super) fn reject_if_blocked(
        &self,
        caller: Option<&str>,
        env: &Env<'_>,
        effects: &mut Effects,
    ) -> Result<(), Rejection> {
        match &self.block {
            Some(block) if env.mode == LoopMode::Enforcing => {
                let event = Event::new("EXECUTION_DENIED", "denied").reason("the agent is blocked");
                effects.note(event.challenge(&block.ask.id).caller(caller));
                Err(Rejection::Blocked {
                    agent: self.agent.clone(),
                    challenge: block.ask.is_open(env.now).then(|| block.ask.id.clone()),
                })
            }
            _ => Ok(()),
        }
    }

    /// Starts an execution, or requests a person's approval of the start (REQ-LOOP-05).
    pub(super) fn start(
        &mut self,
        start: &Start<'_>,
        env: &Env<'_>,
        effects: &mut Effects,
    ) -> Result<(), Rejection> {
        self.settle(env, effects);
        self.reject_if_blocked(start.session, env, effects)?;
        if let Some(live) = self.live() {
            if live.session.as_deref() != start.session {
                return Err(elsewhere(live, env));
            }
            match live.status {
                // The approval has already been requested or granted.
                _ if live.parameters == start.parameters => return Ok(()),
                AgentExecutionStatus::Running => return Err(Rejection::Busy),
                _ => {}
            }
        }
        let runs = env.mode != LoopMode::Enforcing;
        // If no request can be made, nothing is recorded. Otherwise there would be an execution whose parameters no
        // person has ever seen.
        if !runs && self.reject_request(start.session, env, effects) {
            return Err(Rejection::TooMany(60));
        }
        // A new start replaces an earlier start without approval.
        self.end(AgentExecutionStatus::Cancelled, "Replaced", env, effects);
        self.grant = None;
        let last = self.execution.replace(new_execution(start, runs, env));
        let outcome = if runs { "allowed" } else { "pending" };
        effects.note(Event::new("EXECUTION_STARTED", outcome).action(start.action));
        if runs {
            return Ok(());
        }
        let asked = self.request_start(start.action, env, effects);
        if asked.is_err() {
            // The caller receives an error, so it would never end this execution.
            self.execution = last;
            effects.audit.retain(|event| event.event != "EXECUTION_STARTED");
        }
        asked
    }

    /// Requests the approval of a start.
    fn request_start(
        &mut self,
        action: &str,
        env: &Env<'_>,
        effects: &mut Effects,
    ) -> Result<(), Rejection> {
        let reasons = vec!["An agent starts only with the approval of a person".to_owned()];
        let asked = self.create_request(RequestKind::Start, (action, reasons), true, env, effects);
        let Some(ask) = asked else { return Err(Rejection::TooMany(60)) };
        if let Some(execution) = self.live_mut() {
            execution.ask = Some(ask);
        }
        Ok(())
    }

    /// Returns the running or pending execution of this session.
    pub(super) fn own(
        &mut self,
        session: Option<&str>,
        env: &Env<'_>,
    ) -> Result<&mut Execution, Rejection> {
        let execution = self.live_mut().ok_or(Rejection::NotExecuting)?;
        if execution.session.as_deref() == session {
            Ok(execution)
        } else {
            Err(elsewhere(execution, env))
        }
    }

    /// Ends the execution because the agent asks for it.
    pub(super) fn finish(
        &mut self,
        session: Option<&str>,
        id: Option<&str>,
        (status, reason): (AgentExecutionStatus, &str),
        env: &Env<'_>,
        effects: &mut Effects,
    ) -> Result<(), Rejection> {
        self.settle(env, effects);
        self.reject_if_blocked(session, env, effects)?;
        let execution = self.own(session, env)?;
        if id.is_some_and(|id| id != execution.id) {
            return Err(Rejection::NotExecuting);
        }
        if execution.status == AgentExecutionStatus::Pending
            && status == AgentExecutionStatus::Completed
        {
            return Err(Rejection::Pending);
        }
        self.end(status, reason, env, effects);
        Ok(())
    }

    /// Ends the execution because its session has ended.
    pub(super) fn session_ended(&mut self, session: &str, env: &Env<'_>, effects: &mut Effects) {
        self.settle(env, effects);
        if self.live().is_some_and(|execution| execution.session.as_deref() == Some(session)) {
            self.end(AgentExecutionStatus::Cancelled, "The session ended", env, effects);
        }
    }
}

/// Creates the record of an execution that starts now. With `runs`, it is running, and otherwise pending.
fn new_execution(start: &Start<'_>, runs: bool, env: &Env<'_>) -> Execution {
    let status = match runs {
        true => AgentExecutionStatus::Running,
        false => AgentExecutionStatus::Pending,
    };
    Execution {
        id: start.execution_id.to_owned(),
        status,
        session: start.session.map(str::to_owned),
        principal: start.principal.map(str::to_owned),
        client: start.client.map(str::to_owned),
        owner: env.me.to_owned(),
        made_at: env.now,
        started_at: runs.then_some(env.now),
        finished_at: None,
        parameters: start.parameters.to_owned(),
        steps: 0,
        alone: 0,
        recent: Vec::new(),
        last_action: None,
        directive: None,
        reason: None,
        ask: None,
    }
}

fn elsewhere(execution: &Execution, env: &Env<'_>) -> Rejection {
    let foreign = execution.owner != env.me;
    Rejection::Elsewhere { free_in: foreign.then_some(LEASE_SECONDS.unsigned_abs()) }
}
