//! Evaluates a reported step, and applies the result to the agent.

use super::action::Action;
use super::agent_state::{AgentExecutionStatus, AgentState, Block, Execution, Grant, Pause};
use super::directive::{
    AgentNotification, AutonomyDirective, LoopMode, NotificationMetadata, NotificationType,
    StepOutcome,
};
use super::evaluator::{EvaluationInput, EvaluationResult, Ruling, Stage, evaluate};
use super::state_machine::{PAUSE, displayed, shortened};
use super::transition::{Effects, Env, Event, Rejection};
use crate::human_channel::RequestKind;

/// The factor in the directive of a pause with an unanswered request.
const UNANSWERED: &str = "a person was asked and has not answered";

impl AutonomyDirective {
    /// Corrects the directive if no channel could show its request.
    pub(super) fn mark_not_asked(&mut self) {
        self.factors.retain(|factor| factor != UNANSWERED);
        self.factors.push("no person could be asked".to_owned());
        if let Some(reason) = &mut self.reason {
            reason.push_str(". No channel of this adapter reaches a person now. Inform the user");
        }
    }
}

/// A reported step.
pub(super) struct ReportedStep<'a> {
    pub(super) session: Option<&'a str>,
    pub(super) hint: &'a str,
    pub(super) digest: &'a str,
    pub(super) action: Action,
    pub(super) outcome: Option<StepOutcome>,
}

impl AgentState {
    /// Evaluates a step (REQ-LOOP-06, REQ-LOOP-09).
    pub(super) fn step(
        &mut self,
        mut step: ReportedStep<'_>,
        env: &Env<'_>,
        effects: &mut Effects,
    ) -> Result<AutonomyDirective, Rejection> {
        self.settle(env, effects);
        env.answered.iter().for_each(|about| self.clear(about));
        if env.mode == LoopMode::Enforcing && self.block.is_some() {
            self.renew_block(true, env, effects);
            self.reject_if_blocked(step.session, env, effects)?;
        }
        let execution = self.own(step.session, env)?;
        let status = execution.status;
        if status == AgentExecutionStatus::Running {
            execution.steps += 1;
            execution.last_action = Some(shortened(step.hint));
        }
        let (granted, hint, caller) = (self.grant.clone(), step.hint, step.session);
        let mut directive = match env.mode {
            LoopMode::Disabled => {
                AutonomyDirective::proceed(vec!["the safety loop is disabled".to_owned()])
            }
            LoopMode::Logging => {
                let factor = "the safety loop is logging: nothing is evaluated".to_owned();
                AutonomyDirective::proceed(vec![factor])
            }
            LoopMode::Monitoring => self.advise(step, env),
            LoopMode::Enforcing if status == AgentExecutionStatus::Pending => {
                self.directive_before_start()
            }
            LoopMode::Enforcing => {
                // A waiting agent may report its action again. This does not count as a repetition.
                if !self.waits_for_person() {
                    let report = |execution: &mut Execution| execution.report(step.digest);
                    step.action = step.action.repeated(self.live_mut().map_or(0, report));
                }
                self.enforce(step, env, effects)
            }
        };
        directive.notifications = self.deliver();
        if env.mode == LoopMode::Enforcing {
            directive.notifications.extend(self.block_notification());
            directive.notifications.extend(env.blocks.iter().cloned());
        }
        if env.mode != LoopMode::Disabled {
            let event = evaluated(&directive).action(hint);
            let used = granted.filter(|_| directive.may_continue && self.grant.is_none());
            effects.note(self.with_request(event, used).caller(caller));
        }
        if let Some(execution) = self.live_mut() {
            execution.directive = Some(directive.clone());
        }
        Ok(directive)
    }

    /// Adds the request that allowed the step, or the request for which the agent waits.
    fn with_request(&self, event: Event, used: Option<Grant>) -> Event {
        if let Some(approval) = used.and_then(|grant| grant.approval) {
            return event.challenge(&approval.request).by(&approval.by);
        }
        let waits = event.outcome != "allowed";
        match self.requests().last().filter(|_| waits) {
            Some(ask) => event.challenge(&ask.id),
            None => event,
        }
    }

    /// Returns the decision that the loop would make, without enforcing it (REQ-LOOP-11). Used in the mode
    /// `monitoring`.
    fn advise(&mut self, step: ReportedStep<'_>, env: &Env<'_>) -> AutonomyDirective {
        let (times, alone) = self.live_mut().map_or((0, 0), |execution| {
            let times = execution.report(step.digest);
            execution.alone = execution.alone.saturating_add(1);
            (times, execution.alone - 1)
        });
        let action = step.action.repeated(times);
        let verdict = evaluate_action(&action, step.outcome, alone, env);
        let mut directive = AutonomyDirective::proceed(verdict.factors);
        directive.next_step_risk = verdict.tier;
        match verdict.ruling {
            Ruling::Continue => {}
            Ruling::Pause(_, reason) | Ruling::Verify(reason) => {
                directive.factors.push(format!("the loop would pause here: {reason}"));
            }
            Ruling::Stop(reason) => {
                directive.factors.push(format!("the loop would stop here: {reason}"));
            }
        }
        directive
    }

    /// Returns the directive for an agent whose start has not been approved.
    fn directive_before_start(&self) -> AutonomyDirective {
        let id = self.live().and_then(|execution| execution.ask.as_ref()).map(|ask| &ask.id);
        let reason = match id {
            Some(id) => format!(
                "A person has to approve the start first: ask for the code of request {id}, or for \
                 its approval"
            ),
            None => "A person has to approve the start first".to_owned(),
        };
        AutonomyDirective::pause(reason, vec!["the execution is pending".to_owned()])
    }

    /// Returns `true` if the agent waits for a person.
    fn waits_for_person(&self) -> bool {
        self.pause.is_some() || self.waits_for_permission()
    }

    /// Evaluates a step and enforces the decision.
    fn enforce(
        &mut self,
        step: ReportedStep<'_>,
        env: &Env<'_>,
        effects: &mut Effects,
    ) -> AutonomyDirective {
        let alone = self.live().map_or(0, |execution| execution.alone);
        let held = self.waits_for_person();
        let granted = self.grant.take_if(|grant| !held && grant.digest == step.digest);
        let mut outcome = step.outcome;
        if let Some(grant) = &granted {
            if grant.stage > Stage::Outcome {
                let factors = vec!["a person has approved this action".to_owned()];
                return self.allow(AutonomyDirective::proceed(factors), env);
            }
            outcome = None;
        }
        // A report of a waiting agent can block it, but never lets it continue.
        let verdict = if held {
            evaluate_action(&step.action, None, 0, env)
        } else {
            evaluate_action(&step.action, outcome, alone, env)
        };
        let EvaluationResult { ruling, factors, tier } = verdict;
        let mut directive = match ruling {
            Ruling::Stop(reason) => self.block_agent(&step, reason, factors, env, effects),
            ruling if held => self.directive_while_paused(&step, &ruling, factors, env, effects),
            Ruling::Continue => self.allow(AutonomyDirective::proceed(factors), env),
            Ruling::Pause(stage, reason) => {
                self.pause_for_person(&step, stage, (reason, false), factors, env, effects)
            }
            Ruling::Verify(reason) => {
                self.pause_for_person(&step, Stage::Tier, (reason, true), factors, env, effects)
            }
        };
        directive.next_step_risk = tier;
        directive
    }

    fn allow(&mut self, mut directive: AutonomyDirective, env: &Env<'_>) -> AutonomyDirective {
        if let Some(execution) = self.live_mut() {
            execution.alone = execution.alone.saturating_add(1);
            let most = env.policy.max_autonomous_steps;
            directive.steps_remaining = Some(most.saturating_sub(execution.alone));
        }
        directive
    }

    /// Pauses the agent and requests a confirmation (REQ-OOB-03).
    fn pause_for_person(
        &mut self,
        step: &ReportedStep<'_>,
        stage: Stage,
        (reason, proven): (String, bool),
        factors: Vec<String>,
        env: &Env<'_>,
        effects: &mut Effects,
    ) -> AutonomyDirective {
        self.pause = Some(Pause {
            stage,
            reason: reason.clone(),
            digest: step.digest.to_owned(),
            ask: None,
            until: proven.then(|| env.now + env.timeout),
            denied: false,
        });
        self.request_continuation(step.hint, proven, &factors, env, effects);
        AutonomyDirective::pause(self.with_instructions(&reason), factors)
    }

    /// Replaces the request of the pause by a new one.
    pub(super) fn request_continuation(
        &mut self,
        action: &str,
        proven: bool,
        factors: &[String],
        env: &Env<'_>,
        effects: &mut Effects,
    ) {
        let Some(reason) = self.pause.as_ref().map(|pause| pause.reason.clone()) else { return };
        let kind = if proven { RequestKind::Verify } else { RequestKind::Step };
        let reasons = reasons_for_person(&reason, factors);
        let ask = self.create_request(kind, (action, reasons), true, env, effects);
        let id = ask.as_ref().map(|ask| ask.id.clone());
        if let Some(pause) = &mut self.pause {
            if proven {
                pause.until = Some(env.now + env.timeout);
            }
            pause.denied = false;
            pause.ask = ask;
        }
        let metadata = NotificationMetadata {
            reason: Some(reason),
            level: Some(if proven { "verify" } else { "confirm" }.to_owned()),
            verification_id: id.filter(|_| proven),
            ..NotificationMetadata::default()
        };
        let message = if proven {
            "Paused until a person verifies the challenge"
        } else {
            "Paused until a person confirms the action"
        };
        self.notify(
            PAUSE,
            AgentNotification::new(
                NotificationType::AutonomyPause,
                message,
                Some(metadata),
                env.now,
            ),
        );
    }

    /// Returns the directive for a step of a paused agent (REQ-OOB-10).
    fn directive_while_paused(
        &mut self,
        step: &ReportedStep<'_>,
        ruling: &Ruling,
        factors: Vec<String>,
        env: &Env<'_>,
        effects: &mut Effects,
    ) -> AutonomyDirective {
        let Some(pause) = &mut self.pause else {
            let factors = vec!["an operation waits for approval".to_owned()];
            let reason = "A person has to approve an operation first: see the notifications";
            return AutonomyDirective::pause(reason, factors);
        };
        if pause.denied && pause.digest == step.digest {
            let reason = "A person has denied this action: choose another, or abort";
            return AutonomyDirective::pause(reason, vec!["a person has denied it".to_owned()]);
        }
        if !pause.ask.as_ref().is_some_and(|ask| ask.is_open(env.now)) {
            step.digest.clone_into(&mut pause.digest);
            let mut reason = None;
            if let Ruling::Pause(stage, why) = ruling
                && *stage > pause.stage
            {
                pause.stage = *stage;
                reason = Some(why.clone());
            }
            if let Ruling::Verify(why) = ruling {
                pause.stage = Stage::Tier;
                reason = Some(why.clone());
            }
            if let Some(reason) = reason {
                pause.reason = reason;
            }
            let proven = pause.until.is_some() || matches!(ruling, Ruling::Verify(_));
            self.request_continuation(step.hint, proven, &factors, env, effects);
        }
        let reason = self.pause.as_ref().map(|pause| pause.reason.clone()).unwrap_or_default();
        let factors = vec![UNANSWERED.to_owned()];
        AutonomyDirective::pause(self.with_instructions(&reason), factors)
    }

    /// Appends instructions for the user to the reason.
    fn with_instructions(&self, reason: &str) -> String {
        match self.pause.as_ref().and_then(|pause| pause.ask.as_ref()) {
            Some(ask) if ask.kind == RequestKind::Verify => {
                format!("{reason}. A person has to verify challenge {}: ask for its code", ask.id)
            }
            Some(ask) => format!("{reason}. A person has to confirm request {}", ask.id),
            None => {
                format!("{reason}. Too many requests were made: wait a minute and report again")
            }
        }
    }

    /// Blocks the agent (REQ-OOB-02, REQ-OOB-08).
    fn block_agent(
        &mut self,
        step: &ReportedStep<'_>,
        reason: String,
        factors: Vec<String>,
        env: &Env<'_>,
        effects: &mut Effects,
    ) -> AutonomyDirective {
        self.drop_pause(effects);
        self.grant = None;
        let reasons = reasons_for_person(&reason, &factors);
        let asked =
            self.create_request(RequestKind::Block, (step.hint, reasons), false, env, effects);
        let Some(ask) = asked else { return AutonomyDirective::pause(reason, factors) };
        effects.note(Event::new("AGENT_BLOCKED", "denied").reason(&reason).request(&ask));
        let mut directive = AutonomyDirective::pause(
            format!("{reason}. Stop: a person has to verify challenge {}", ask.id),
            factors,
        );
        directive.stopped = Some(true);
        self.block = Some(Block {
            action: displayed(step.hint).0,
            digest: step.digest.to_owned(),
            reason,
            since: env.now,
            session: step.session.map(str::to_owned),
            stopped: false,
            ask,
        });
        directive
    }

    /// Issues a new challenge for a blocked agent if its last challenge is no longer valid.
    pub(super) fn renew_block(&mut self, bounded: bool, env: &Env<'_>, effects: &mut Effects) {
        let Some(block) = &self.block else { return };
        if block.ask.is_open(env.now) && bounded {
            return;
        }
        let old = block.ask.clone();
        let asked = (old.action.as_str(), old.reasons.clone());
        if let Some(ask) = self.create_request(RequestKind::Block, asked, bounded, env, effects)
            && let Some(block) = &mut self.block
        {
            block.ask = ask;
        }
    }
}

/// Returns the reasons for the person who decides: the reason of the decision, and all factors that do not repeat it.
pub(super) fn reasons_for_person(reason: &str, factors: &[String]) -> Vec<String> {
    let repeated = reason.replacen("The risk is ", "risk ", 1);
    let others = factors.iter().filter(|factor| **factor != repeated).cloned();
    std::iter::once(reason.to_owned()).chain(others).collect()
}

/// Creates the audit event of an evaluated step.
fn evaluated(directive: &AutonomyDirective) -> Event {
    let outcome = match (directive.may_continue, directive.stopped) {
        (true, _) => "allowed",
        (false, None) => "paused",
        (false, Some(_)) => "denied",
    };
    let reason = directive.reason.clone().unwrap_or_else(|| directive.factors.join("; "));
    Event::new("STEP_EVALUATED", outcome).reason(&reason)
}

fn evaluate_action(
    action: &Action,
    outcome: Option<StepOutcome>,
    steps: u32,
    env: &Env<'_>,
) -> EvaluationResult {
    evaluate(&EvaluationInput { policy: env.policy, scorer: env.scorer, action, outcome, steps })
}
