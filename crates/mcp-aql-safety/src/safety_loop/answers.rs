//! Applies the answers of people to an agent, sent as codes or made by an operator.

use super::agent_state::{AgentExecutionStatus, AgentState, Grant, GrantApproval, PersonRequest};
use super::code::same;
use super::directive::{AgentNotification, NotificationType};
use super::evaluator::Stage;
use super::state_machine::PAUSE;
use super::transition::{Effects, Env, Event, Rejection};
use crate::human_channel::{Decider, RequestKind};

impl AgentState {
    /// Applies a code sent to `confirm_operation`.
    pub(super) fn confirm(
        &mut self,
        (id, hash): (&str, &str),
        by: &Decider,
        env: &Env<'_>,
        effects: &mut Effects,
    ) -> Result<(), Rejection> {
        let given = |ask: &&PersonRequest| {
            ask.id == id && !ask.kind.is_challenge() && same(&ask.hash, hash)
        };
        let expired = self.requests().find(given).map(|ask| ask.expires_at);
        self.settle(env, effects);
        if let Some(spent) = self.spent.iter().find(|spent| spent.id == id) {
            return Err(Rejection::Used { at: spent.at });
        }
        let Some(ask) = self.request_mut(id) else {
            // `settle` has removed an expired request to start an agent.
            let expired = expired.filter(|at| env.now >= *at);
            return Err(expired.map_or(Rejection::Invalid, |at| Rejection::Expired { at }));
        };
        if !same(&ask.hash, hash) {
            return Err(Rejection::Invalid);
        }
        if ask.kind.is_challenge() {
            return Err(Rejection::WrongOperation);
        }
        if !ask.is_open(env.now) {
            return Err(match expired {
                Some(at) if env.now >= at => Rejection::Expired { at },
                _ => Rejection::Invalid,
            });
        }
        self.release(id, by, true, env, effects);
        Ok(())
    }

    /// Applies a code sent to `verify_challenge`. Every failure returns the same error.
    ///
    /// The correct code is accepted from any session. A wrong code counts against the caller's session. It counts
    /// against the agent only if the agent executes in that session.
    ///
    /// While the agent executes in a session, a wrong code from another session does not invalidate the challenge.
    /// Otherwise one session could prevent another one from answering.
    pub(super) fn verify(
        &mut self,
        caller: Option<&str>,
        (id, hash): (&str, &str),
        by: &Decider,
        env: &Env<'_>,
        effects: &mut Effects,
    ) -> Result<(), Rejection> {
        self.settle(env, effects);
        let executes = self.live().is_some();
        let foreign = self.live().is_some_and(|live| live.session.as_deref() != caller);
        if !foreign && let Err(wait) = self.tries.check(env.now, env.max_attempts) {
            let event = Event::new("CHALLENGE_FAILED", "refused").reason("too many attempts");
            effects.note(event.challenge(id).caller(caller));
            return Err(Rejection::TooMany(wait));
        }
        let ask = self.request_mut(id).filter(|ask| ask.kind.is_challenge());
        let right = ask.as_ref().is_some_and(|ask| same(&ask.hash, hash) && ask.is_open(env.now));
        if right {
            self.release(id, by, true, env, effects);
            return Ok(());
        }
        let mut event = Event::new("CHALLENGE_FAILED", "failed").challenge(id).caller(caller);
        if foreign {
            effects.note(event.reason("a wrong code was given in another session"));
            return Err(Rejection::Invalid);
        }
        if let Some(ask) = ask
            && !ask.closed
        {
            // A challenge allows a single attempt (REQ-OOB-06).
            ask.closed = true;
            ask.tried = true;
            effects.closed.push(id.to_owned());
            event =
                event.reason("a wrong code was given, so the challenge's code is no longer valid");
        }
        if executes {
            self.tries.fail(env.now);
        }
        effects.note(event);
        Err(Rejection::Invalid)
    }

    /// Applies a person's decision on a request.
    pub(super) fn decide(
        &mut self,
        id: &str,
        approve: bool,
        by: &Decider,
        env: &Env<'_>,
        effects: &mut Effects,
    ) -> Result<(), Rejection> {
        self.settle(env, effects);
        let now = env.now;
        let Some(ask) = self.request_mut(id).filter(|ask| ask.is_open(now)) else {
            return Err(Rejection::Invalid);
        };
        if approve {
            self.release(id, by, true, env, effects);
            return Ok(());
        }
        ask.closed = true;
        let kind = ask.kind;
        effects.note(Event::new("REQUEST_DENIED", "denied").request(ask).by(by));
        effects.closed.push(id.to_owned());
        match kind {
            RequestKind::Start => {
                self.end(
                    AgentExecutionStatus::Cancelled,
                    "A person has denied the start",
                    env,
                    effects,
                );
            }
            RequestKind::Step | RequestKind::Verify => {
                if let Some(pause) = &mut self.pause {
                    pause.denied = true;
                    // After a person's decision, the pause no longer ends by itself.
                    pause.until = None;
                }
                let message = "A person has denied the action";
                self.notify(
                    PAUSE,
                    AgentNotification::new(NotificationType::AutonomyPause, message, None, now),
                );
            }
            RequestKind::Block | RequestKind::Operation => {}
        }
        Ok(())
    }

    /// Lifts the block without a code (REQ-OOB-09).
    pub(super) fn unblock(
        &mut self,
        by: &Decider,
        env: &Env<'_>,
        effects: &mut Effects,
    ) -> Result<(), Rejection> {
        self.settle(env, effects);
        let Some(id) = self.block.as_ref().map(|block| block.ask.id.clone()) else {
            return Err(Rejection::Invalid);
        };
        self.release(&id, by, false, env, effects);
        Ok(())
    }

    /// Issues a new code for a request.
    pub(super) fn renew_code(
        &mut self,
        id: &str,
        by: &Decider,
        env: &Env<'_>,
        effects: &mut Effects,
    ) -> Result<(), Rejection> {
        self.settle(env, effects);
        let Some(old) = self.request_mut(id).cloned() else { return Err(Rejection::Invalid) };
        if !old.closed {
            effects.closed.push(old.id.clone());
        }
        let denied = self.pause.as_ref().is_some_and(|pause| pause.denied);
        let asked = (old.action.as_str(), old.reasons.clone());
        match old.kind {
            RequestKind::Block => self.renew_block(false, env, effects),
            RequestKind::Verify if !denied => {
                self.request_continuation(
                    &old.action,
                    true,
                    old.reasons.get(1..).unwrap_or_default(),
                    env,
                    effects,
                );
            }
            kind => {
                let ask = self.create_request(kind, asked, false, env, effects);
                if let (Some(slot), Some(ask)) = (self.request_mut(id), ask) {
                    *slot = PersonRequest { asked_at: old.asked_at, ..ask };
                }
            }
        }
        if let Some(event) = effects.audit.last_mut() {
            event.by = Some(by.clone());
        }
        Ok(())
    }

    /// Removes a request, and ends what depends on it: a pending start, a pause or a block. With `grants`, the action
    /// that caused the block may be taken once.
    fn release(
        &mut self,
        id: &str,
        by: &Decider,
        grants: bool,
        env: &Env<'_>,
        effects: &mut Effects,
    ) {
        let Some(ask) = self.request_mut(id).cloned() else { return };
        self.spend(id, env.now);
        if !ask.closed {
            effects.closed.push(id.to_owned());
        }
        let until = env.now + env.timeout;
        let approval = || Some(GrantApproval { request: id.to_owned(), by: by.clone() });
        let (event, message) = match ask.kind {
            RequestKind::Start => {
                if let Some(execution) = self.live_mut() {
                    execution.status = AgentExecutionStatus::Running;
                    execution.started_at = Some(env.now);
                    execution.ask = None;
                }
                ("CHALLENGE_VERIFIED", "A person has approved the start")
            }
            RequestKind::Step | RequestKind::Verify | RequestKind::Operation => {
                if let Some(pause) = self.pause.take() {
                    let (digest, stage) = (pause.digest, pause.stage);
                    self.grant = Some(Grant { digest, stage, until, approval: approval() });
                }
                self.clear(PAUSE);
                ("CHALLENGE_VERIFIED", "A person has approved the action: report it again")
            }
            RequestKind::Block => {
                if let Some(block) = self.block.take()
                    && grants
                {
                    let stage = Stage::Tolerance;
                    let digest = block.digest;
                    self.grant = Some(Grant { digest, stage, until, approval: approval() });
                }
                ("AGENT_UNBLOCKED", "A person has lifted the block")
            }
        };
        if let Some(execution) = self.live_mut() {
            execution.alone = 0;
            self.notify(
                "status",
                AgentNotification::new(NotificationType::Status, message, None, env.now),
            );
        } else {
            self.grant = None;
        }
        effects.note(Event::new(event, "confirmed").request(&ask).by(by));
    }
}
