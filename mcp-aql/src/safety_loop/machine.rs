//! What may become of an agent: pure functions of its state, the time and what happens. Every change
//! of an agent goes through here, whoever causes it.

use chrono::{DateTime, TimeDelta, Utc};

use super::action::Action;
use super::code::same;
use super::directive::{
    AgentNotification, AutonomyDirective, LoopMode, NotificationMetadata, NotificationType,
    SafetyTier, StepOutcome,
};
use super::evaluator::{Evaluation, Policy, Ruling, Stage, Verdict, evaluate};
use super::risk::RiskScorer;
use super::state::{AgentState, Ask, Block, Execution, ExecutionStatus, Grant, Pause};
use super::tries;
use crate::operator::RequestKind;

/// So many requests an agent may cause in a minute.
pub(super) const MOST_REQUESTS: usize = 10;

/// What a transition may know beyond the state.
pub(super) struct Env<'a> {
    pub(super) now: DateTime<Utc>,
    pub(super) mode: LoopMode,
    /// This process.
    pub(super) me: &'a str,
    /// Whether the process that holds the agent's session is there.
    pub(super) owner_lives: bool,
    /// Id and code's hash of the next request, if there is one.
    pub(super) fresh_id: &'a str,
    pub(super) fresh_hash: &'a str,
    /// People have been asked too much already.
    pub(super) crowded: bool,
    pub(super) timeout: TimeDelta,
    pub(super) most_tries: usize,
    pub(super) policy: &'a Policy,
    pub(super) scorer: &'a dyn RiskScorer,
}

/// What follows from a transition once it is written.
#[derive(Debug, Default)]
pub(super) struct Effects {
    /// A new question: its code is `Env::fresh_…`'s.
    pub(super) present: Option<Ask>,
    /// Questions that nobody can answer any more.
    pub(super) closed: Vec<String>,
    /// For every agent that executes.
    pub(super) broadcast: Option<(String, AgentNotification)>,
    /// Over for every agent.
    pub(super) cleared: Option<String>,
    pub(super) audit: Vec<Event>,
}

/// An entry of the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) event: &'static str,
    pub(super) outcome: &'static str,
    pub(super) reason: Option<String>,
    pub(super) challenge: Option<String>,
    pub(super) by: Option<String>,
}

impl Event {
    pub(super) fn new(event: &'static str, outcome: &'static str) -> Self {
        Self { event, outcome, reason: None, challenge: None, by: None }
    }

    pub(super) fn reason(mut self, reason: &str) -> Self {
        self.reason = Some(reason.to_owned());
        self
    }

    pub(super) fn challenge(mut self, id: &str) -> Self {
        self.challenge = Some(id.to_owned());
        self
    }

    pub(super) fn by(mut self, by: &str) -> Self {
        self.by = Some(by.to_owned());
        self
    }
}

impl Effects {
    fn note(&mut self, event: Event) {
        self.audit.push(event);
    }
}

/// Why something is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Until a person lifts the block.
    Blocked {
        agent: String,
        challenge: Option<String>,
    },
    /// There is no execution that has not ended.
    NotExecuting,
    /// Its execution belongs to another session.
    Elsewhere,
    /// It executes with other parameters.
    Busy,
    /// It has not begun.
    Pending,
    /// No such code, challenge or request.
    Invalid,
    Expired {
        at: DateTime<Utc>,
    },
    Used {
        at: DateTime<Utc>,
    },
    /// The code is a challenge's.
    WrongOperation,
    /// Too many tries, or too many requests: seconds to wait.
    TooMany(u64),
}

/// A step, as it is reported.
pub(super) struct Step<'a> {
    pub(super) session: Option<&'a str>,
    pub(super) hint: &'a str,
    pub(super) digest: &'a str,
    pub(super) action: Action,
    pub(super) outcome: Option<StepOutcome>,
}

/// What `execute_agent` wants.
pub(super) struct Start<'a> {
    pub(super) session: Option<&'a str>,
    pub(super) execution_id: &'a str,
    /// Tells its parameters from others.
    pub(super) parameters: &'a str,
    /// What a person reads.
    pub(super) action: &'a str,
}

const PAUSE: &str = "pause";

fn about_block(agent: &str) -> String {
    format!("block {agent}")
}

/// Text of an agent, as long as people read.
pub(super) fn shortened(text: &str) -> String {
    const MOST: usize = 1_000;
    let mut short: String = text.chars().take(MOST).collect();
    if text.chars().nth(MOST).is_some() {
        short.push('…');
    }
    short
}

impl AgentState {
    /// What time alone brings about. Comes first, whatever happens.
    pub(super) fn settle(&mut self, env: &Env<'_>, effects: &mut Effects) {
        let now = env.now;
        tries::rebase(&mut self.issued, now);
        // Nothing lasts longer because the clock went back.
        let latest = now + env.timeout;
        let ids: Vec<_> = self.asks().map(|ask| ask.id.clone()).collect();
        for id in ids {
            if let Some(ask) = self.ask_mut(&id) {
                ask.expires_at = ask.expires_at.min(latest);
                if !ask.closed && now >= ask.expires_at {
                    ask.closed = true;
                    effects.note(Event::new("CHALLENGE_EXPIRED", "expired").challenge(&id));
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
            // What has not begun cannot fail (REQ-LIF-02).
            let status = match self.live().map(|execution| execution.status) {
                Some(ExecutionStatus::Pending) => ExecutionStatus::Cancelled,
                _ => ExecutionStatus::Failed,
            };
            self.end(status, "The adapter was restarted", env, effects);
            self.drop_pause(effects);
        }
    }

    fn drop_pause(&mut self, effects: &mut Effects) {
        if let Some(ask) = self.pause.take().and_then(|pause| pause.ask)
            && !ask.closed
        {
            effects.closed.push(ask.id);
        }
        self.clear(PAUSE);
    }

    /// Ends the execution. A block stays, and so does a challenge that has not expired.
    fn end(&mut self, status: ExecutionStatus, reason: &str, env: &Env<'_>, effects: &mut Effects) {
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

    /// Makes a question of this kind, unless there were too many.
    fn ask(
        &mut self,
        kind: RequestKind,
        (action, reasons): (&str, Vec<String>),
        bounded: bool,
        env: &Env<'_>,
        effects: &mut Effects,
    ) -> Option<Ask> {
        if bounded && (env.crowded || self.issued.len() >= MOST_REQUESTS) {
            effects.note(Event::new("CHALLENGE_ISSUED", "refused").reason("too many in a minute"));
            return None;
        }
        self.issued.push(env.now);
        let ask = Ask {
            id: env.fresh_id.to_owned(),
            kind,
            hash: env.fresh_hash.to_owned(),
            action: shortened(action),
            reasons,
            expires_at: env.now + env.timeout,
            closed: false,
        };
        effects.present = Some(ask.clone());
        let reason = ask.reasons.first().map_or("", String::as_str);
        effects.note(Event::new("CHALLENGE_ISSUED", "issued").reason(reason).challenge(&ask.id));
        Some(ask)
    }

    fn refuse_blocked(&self, env: &Env<'_>) -> Result<(), Refusal> {
        match &self.block {
            Some(block) if env.mode == LoopMode::Enforcing => Err(Refusal::Blocked {
                agent: self.agent.clone(),
                challenge: block.ask.is_open(env.now).then(|| block.ask.id.clone()),
            }),
            _ => Ok(()),
        }
    }

    /// Begins an execution, or waits for a person who lets it begin (REQ-LOOP-05).
    pub(super) fn start(
        &mut self,
        start: &Start<'_>,
        env: &Env<'_>,
        effects: &mut Effects,
    ) -> Result<(), Refusal> {
        self.settle(env, effects);
        self.refuse_blocked(env)?;
        if let Some(live) = self.live() {
            if live.session.as_deref() != start.session {
                return Err(Refusal::Elsewhere);
            }
            let same = live.parameters == start.parameters;
            match live.status {
                ExecutionStatus::Running if same => return Ok(()),
                ExecutionStatus::Running => return Err(Refusal::Busy),
                _ if same => return self.ask_to_start(start.action, env, effects),
                // Another start takes the place of one that nobody has approved.
                _ => self.end(ExecutionStatus::Cancelled, "Replaced", env, effects),
            }
        }
        let runs = env.mode != LoopMode::Enforcing;
        self.grant = None;
        self.execution = Some(Execution {
            id: start.execution_id.to_owned(),
            status: if runs { ExecutionStatus::Running } else { ExecutionStatus::Pending },
            session: start.session.map(str::to_owned),
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
        });
        let outcome = if runs { "allowed" } else { "pending" };
        effects.note(Event::new("EXECUTION_STARTED", outcome));
        if runs { Ok(()) } else { self.ask_to_start(start.action, env, effects) }
    }

    /// Asks for leave to begin, unless somebody is being asked.
    fn ask_to_start(
        &mut self,
        action: &str,
        env: &Env<'_>,
        effects: &mut Effects,
    ) -> Result<(), Refusal> {
        let open = |ask: &Ask| ask.is_open(env.now);
        if self.live().and_then(|execution| execution.ask.as_ref()).is_some_and(open) {
            return Ok(());
        }
        let reasons = vec!["An agent begins only when a person lets it".to_owned()];
        let asked = self.ask(RequestKind::Start, (action, reasons), true, env, effects);
        let Some(ask) = asked else { return Err(Refusal::TooMany(60)) };
        if let Some(execution) = self.live_mut() {
            execution.ask = Some(ask);
        }
        Ok(())
    }

    /// The live execution of this session.
    fn own(&mut self, session: Option<&str>) -> Result<&mut Execution, Refusal> {
        let execution = self.live_mut().ok_or(Refusal::NotExecuting)?;
        if execution.session.as_deref() == session {
            Ok(execution)
        } else {
            Err(Refusal::Elsewhere)
        }
    }

    /// Judges a step (REQ-LOOP-06, REQ-LOOP-09).
    pub(super) fn step(
        &mut self,
        mut step: Step<'_>,
        env: &Env<'_>,
        effects: &mut Effects,
    ) -> Result<AutonomyDirective, Refusal> {
        self.settle(env, effects);
        if env.mode == LoopMode::Enforcing && self.block.is_some() {
            self.renew_block(true, env, effects);
            self.refuse_blocked(env)?;
        }
        let execution = self.own(step.session)?;
        let status = execution.status;
        if status == ExecutionStatus::Running {
            execution.steps += 1;
            execution.last_action = Some(shortened(step.hint));
        }
        let mut directive = match env.mode {
            LoopMode::Disabled => {
                AutonomyDirective::proceed(vec!["the safety loop is disabled".to_owned()])
            }
            LoopMode::Logging => {
                let factor = "the safety loop is logging: nothing is evaluated".to_owned();
                AutonomyDirective::proceed(vec![factor])
            }
            LoopMode::Monitoring => self.advise(step, env),
            LoopMode::Enforcing if status == ExecutionStatus::Pending => {
                self.not_begun(env, effects)
            }
            LoopMode::Enforcing => {
                // Whoever asks again whether the wait is over repeats nothing.
                if !self.is_held() {
                    let report = |execution: &mut Execution| execution.report(step.digest);
                    step.action = step.action.repeated(self.live_mut().map_or(0, report));
                }
                self.judge(step, env, effects)
            }
        };
        directive.notifications = self.deliver();
        if env.mode != LoopMode::Disabled {
            let outcome = match (directive.go_on, directive.stopped) {
                (true, _) => "allowed",
                (false, None) => "paused",
                (false, Some(_)) => "denied",
            };
            let reason = directive.reason.clone().unwrap_or_else(|| directive.factors.join("; "));
            effects.note(Event::new("STEP_EVALUATED", outcome).reason(&reason));
        }
        if let Some(execution) = self.live_mut() {
            execution.directive = Some(directive.clone());
        }
        Ok(directive)
    }

    /// What would be said, if it were up to the loop (REQ-LOOP-11).
    fn advise(&mut self, step: Step<'_>, env: &Env<'_>) -> AutonomyDirective {
        let (times, alone) = self.live_mut().map_or((0, 0), |execution| {
            let times = execution.report(step.digest);
            execution.alone = execution.alone.saturating_add(1);
            (times, execution.alone - 1)
        });
        let action = step.action.repeated(times);
        let verdict = verdict(&action, step.outcome, alone, env);
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

    /// The answer to an agent that nobody has let begin.
    fn not_begun(&mut self, env: &Env<'_>, effects: &mut Effects) -> AutonomyDirective {
        let known = self.live().and_then(|execution| execution.ask.clone());
        let action = known.map(|ask| ask.action).unwrap_or_default();
        let asked = self.ask_to_start(&action, env, effects);
        let id = self.live().and_then(|execution| execution.ask.as_ref()).map(|ask| ask.id.clone());
        let reason = match (asked, id) {
            (Ok(()), Some(id)) => format!(
                "A person has to approve the start first: ask for the code of request {id}, or for \
                 its approval"
            ),
            _ => "A person has to approve the start first".to_owned(),
        };
        AutonomyDirective::pause(reason, vec!["the execution is pending".to_owned()])
    }

    /// Whether it waits for a person.
    fn is_held(&self) -> bool {
        self.pause.is_some() || self.waits_for_permission()
    }

    /// The loop in force.
    fn judge(&mut self, step: Step<'_>, env: &Env<'_>, effects: &mut Effects) -> AutonomyDirective {
        let alone = self.live().map_or(0, |execution| execution.alone);
        let held = self.is_held();
        let granted = self.grant.take_if(|grant| !held && grant.digest == step.digest);
        let mut outcome = step.outcome;
        if let Some(grant) = &granted {
            if grant.stage > Stage::Outcome {
                let factors = vec!["a person has approved this action".to_owned()];
                return self.passed(AutonomyDirective::proceed(factors), env);
            }
            outcome = None;
        }
        // An agent that waits for a person is stopped all the same, and never lets itself go on.
        let verdict = if held {
            verdict(&step.action, None, 0, env)
        } else {
            verdict(&step.action, outcome, alone, env)
        };
        let Verdict { ruling, factors, tier } = verdict;
        let mut directive = match ruling {
            Ruling::Stop(reason) => self.stop(&step, reason, factors, env, effects),
            ruling if held => self.hold(&step, &ruling, factors, env, effects),
            Ruling::Continue => self.passed(AutonomyDirective::proceed(factors), env),
            Ruling::Pause(stage, reason) => {
                self.halt(&step, stage, (reason, false), factors, env, effects)
            }
            Ruling::Verify(reason) => {
                self.halt(&step, Stage::Tier, (reason, true), factors, env, effects)
            }
        };
        directive.next_step_risk = tier;
        directive
    }

    fn passed(&mut self, mut directive: AutonomyDirective, env: &Env<'_>) -> AutonomyDirective {
        if let Some(execution) = self.live_mut() {
            execution.alone = execution.alone.saturating_add(1);
            let most = env.policy.max_autonomous_steps;
            directive.steps_remaining = Some(most.saturating_sub(execution.alone));
        }
        directive
    }

    /// Pauses the agent, and asks a person (REQ-OOB-03).
    fn halt(
        &mut self,
        step: &Step<'_>,
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
        self.ask_to_go_on(step.hint, proven, &factors, env, effects);
        AutonomyDirective::pause(self.with_way_out(&reason), factors)
    }

    /// Puts a new question in the place of the pause's last one.
    fn ask_to_go_on(
        &mut self,
        action: &str,
        proven: bool,
        factors: &[String],
        env: &Env<'_>,
        effects: &mut Effects,
    ) {
        let Some(reason) = self.pause.as_ref().map(|pause| pause.reason.clone()) else { return };
        let kind = if proven { RequestKind::Verify } else { RequestKind::Step };
        let reasons = std::iter::once(reason.clone()).chain(factors.iter().cloned()).collect();
        let ask = self.ask(kind, (action, reasons), true, env, effects);
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
        self.notify(PAUSE, news(NotificationType::AutonomyPause, message, Some(metadata), env.now));
    }

    /// The answer to an agent that is paused already (REQ-OOB-10).
    fn hold(
        &mut self,
        step: &Step<'_>,
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
            self.ask_to_go_on(step.hint, proven, &factors, env, effects);
        }
        let reason = self.pause.as_ref().map(|pause| pause.reason.clone()).unwrap_or_default();
        let factors = vec!["a person was asked and has not answered".to_owned()];
        AutonomyDirective::pause(self.with_way_out(&reason), factors)
    }

    /// The reason, and what to do about it.
    fn with_way_out(&self, reason: &str) -> String {
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
    fn stop(
        &mut self,
        step: &Step<'_>,
        reason: String,
        factors: Vec<String>,
        env: &Env<'_>,
        effects: &mut Effects,
    ) -> AutonomyDirective {
        self.drop_pause(effects);
        self.grant = None;
        let reasons = std::iter::once(reason.clone()).chain(factors.iter().cloned()).collect();
        let asked = self.ask(RequestKind::Block, (step.hint, reasons), false, env, effects);
        let Some(ask) = asked else { return AutonomyDirective::pause(reason, factors) };
        effects.note(Event::new("AGENT_BLOCKED", "denied").reason(&reason).challenge(&ask.id));
        let mut directive = AutonomyDirective::pause(
            format!("{reason}. Stop: a person has to verify challenge {}", ask.id),
            factors,
        );
        directive.stopped = Some(true);
        self.block = Some(Block {
            action: shortened(step.hint),
            digest: step.digest.to_owned(),
            reason,
            since: env.now,
            session: step.session.map(str::to_owned),
            ask,
        });
        self.tell_of_block(env, effects);
        directive
    }

    /// Tells every executing agent, this one included, in place of what was told before.
    fn tell_of_block(&mut self, env: &Env<'_>, effects: &mut Effects) {
        let Some(block) = &self.block else { return };
        let metadata = NotificationMetadata {
            reason: Some(block.reason.clone()),
            level: Some(SafetyTier::DangerZone.as_str().to_owned()),
            verification_id: Some(block.ask.id.clone()),
            ..NotificationMetadata::default()
        };
        let message = format!("Agent '{}' is blocked until a person verifies", self.agent);
        let news = news(NotificationType::DangerZone, message, Some(metadata), env.now);
        let about = about_block(&self.agent);
        if self.live().is_some() {
            self.notify(&about, news.clone());
        }
        effects.broadcast = Some((about, news));
    }

    /// A fresh challenge for a blocked agent whose last one is worth nothing any more.
    fn renew_block(&mut self, bounded: bool, env: &Env<'_>, effects: &mut Effects) {
        let Some(block) = &self.block else { return };
        if block.ask.is_open(env.now) && bounded {
            return;
        }
        let old = block.ask.clone();
        let asked = (old.action.as_str(), old.reasons.clone());
        if let Some(ask) = self.ask(RequestKind::Block, asked, bounded, env, effects)
            && let Some(block) = &mut self.block
        {
            block.ask = ask;
            self.tell_of_block(env, effects);
        }
    }

    /// Ends the execution as its agent says.
    pub(super) fn finish(
        &mut self,
        session: Option<&str>,
        id: Option<&str>,
        (status, reason): (ExecutionStatus, &str),
        env: &Env<'_>,
        effects: &mut Effects,
    ) -> Result<(), Refusal> {
        self.settle(env, effects);
        self.refuse_blocked(env)?;
        let execution = self.own(session)?;
        if id.is_some_and(|id| id != execution.id) {
            return Err(Refusal::NotExecuting);
        }
        if execution.status == ExecutionStatus::Pending && status == ExecutionStatus::Completed {
            return Err(Refusal::Pending);
        }
        self.end(status, reason, env, effects);
        Ok(())
    }

    /// The connection of its session is gone.
    pub(super) fn session_ended(&mut self, session: &str, env: &Env<'_>, effects: &mut Effects) {
        self.settle(env, effects);
        if self.live().is_some_and(|execution| execution.session.as_deref() == Some(session)) {
            self.end(ExecutionStatus::Cancelled, "The session ended", env, effects);
        }
    }

    /// A code that was given to `confirm_operation`.
    pub(super) fn confirm(
        &mut self,
        id: &str,
        hash: &str,
        env: &Env<'_>,
        effects: &mut Effects,
    ) -> Result<(), Refusal> {
        let expired = self.asks().find(|ask| ask.id == id).map(|ask| (ask.kind, ask.expires_at));
        self.settle(env, effects);
        if let Some(spent) = self.spent.iter().find(|spent| spent.id == id) {
            return Err(Refusal::Used { at: spent.at });
        }
        let Some(ask) = self.ask_mut(id) else { return Err(Refusal::Invalid) };
        if !same(&ask.hash, hash) {
            return Err(Refusal::Invalid);
        }
        if ask.kind.is_challenge() {
            return Err(Refusal::WrongOperation);
        }
        if !ask.is_open(env.now) {
            return Err(match expired {
                Some((_, at)) if env.now >= at => Refusal::Expired { at },
                _ => Refusal::Invalid,
            });
        }
        self.release(id, "code", true, env, effects);
        Ok(())
    }

    /// A code that was given to `verify_challenge`. Whatever is wrong, the answer is the same.
    pub(super) fn verify(
        &mut self,
        id: &str,
        hash: &str,
        env: &Env<'_>,
        effects: &mut Effects,
    ) -> Result<(), Refusal> {
        self.settle(env, effects);
        if let Err(wait) = self.tries.check(env.now, env.most_tries) {
            let event = Event::new("CHALLENGE_FAILED", "refused").reason("too many tries");
            effects.note(event.challenge(id));
            return Err(Refusal::TooMany(wait));
        }
        let ask = self.ask_mut(id).filter(|ask| ask.kind.is_challenge());
        let right = ask.as_ref().is_some_and(|ask| same(&ask.hash, hash) && ask.is_open(env.now));
        if right {
            self.release(id, "code", true, env, effects);
            return Ok(());
        }
        if let Some(ask) = ask
            && !ask.closed
        {
            // A challenge is good for one try (REQ-OOB-06).
            ask.closed = true;
            effects.closed.push(id.to_owned());
        }
        self.tries.fail(env.now);
        effects.note(Event::new("CHALLENGE_FAILED", "failed").challenge(id));
        Err(Refusal::Invalid)
    }

    /// What a person says to a question.
    pub(super) fn decide(
        &mut self,
        id: &str,
        approve: bool,
        by: &str,
        env: &Env<'_>,
        effects: &mut Effects,
    ) -> Result<(), Refusal> {
        self.settle(env, effects);
        let now = env.now;
        let Some(ask) = self.ask_mut(id).filter(|ask| ask.is_open(now)) else {
            return Err(Refusal::Invalid);
        };
        if approve {
            self.release(id, by, true, env, effects);
            return Ok(());
        }
        ask.closed = true;
        let kind = ask.kind;
        effects.closed.push(id.to_owned());
        effects.note(Event::new("REQUEST_DENIED", "denied").challenge(id).by(by));
        match kind {
            RequestKind::Start => {
                self.end(ExecutionStatus::Cancelled, "A person has denied the start", env, effects);
            }
            RequestKind::Step | RequestKind::Verify => {
                if let Some(pause) = &mut self.pause {
                    pause.denied = true;
                    // A person was there: it no longer ends by itself.
                    pause.until = None;
                }
                let message = "A person has denied the action";
                self.notify(PAUSE, news(NotificationType::AutonomyPause, message, None, now));
            }
            RequestKind::Block | RequestKind::Operation => {}
        }
        Ok(())
    }

    /// Lifts the block without a code (REQ-OOB-09).
    pub(super) fn unblock(
        &mut self,
        by: &str,
        env: &Env<'_>,
        effects: &mut Effects,
    ) -> Result<(), Refusal> {
        self.settle(env, effects);
        let Some(id) = self.block.as_ref().map(|block| block.ask.id.clone()) else {
            return Err(Refusal::Invalid);
        };
        self.release(&id, by, false, env, effects);
        Ok(())
    }

    /// Another code for a question.
    pub(super) fn renew(
        &mut self,
        id: &str,
        by: &str,
        env: &Env<'_>,
        effects: &mut Effects,
    ) -> Result<(), Refusal> {
        self.settle(env, effects);
        let Some(old) = self.ask_mut(id).cloned() else { return Err(Refusal::Invalid) };
        if !old.closed {
            effects.closed.push(old.id.clone());
        }
        let denied = self.pause.as_ref().is_some_and(|pause| pause.denied);
        let asked = (old.action.as_str(), old.reasons.clone());
        match old.kind {
            RequestKind::Block => self.renew_block(false, env, effects),
            RequestKind::Verify if !denied => {
                self.ask_to_go_on(
                    &old.action,
                    true,
                    old.reasons.get(1..).unwrap_or_default(),
                    env,
                    effects,
                );
            }
            kind => {
                let ask = self.ask(kind, asked, false, env, effects);
                if let (Some(slot), Some(ask)) = (self.ask_mut(id), ask) {
                    *slot = ask;
                }
            }
        }
        if let Some(event) = effects.audit.last_mut() {
            event.by = Some(by.to_owned());
        }
        Ok(())
    }

    /// Lets go what the question holds. Once: the question is gone with it.
    fn release(&mut self, id: &str, by: &str, grants: bool, env: &Env<'_>, effects: &mut Effects) {
        let Some(ask) = self.ask_mut(id).cloned() else { return };
        self.spend(id, env.now);
        if !ask.closed {
            effects.closed.push(id.to_owned());
        }
        let until = env.now + env.timeout;
        let (event, message) = match ask.kind {
            RequestKind::Start => {
                if let Some(execution) = self.live_mut() {
                    execution.status = ExecutionStatus::Running;
                    execution.started_at = Some(env.now);
                    execution.ask = None;
                }
                ("CHALLENGE_VERIFIED", "A person has approved the start")
            }
            RequestKind::Step | RequestKind::Verify | RequestKind::Operation => {
                if let Some(pause) = self.pause.take() {
                    self.grant = Some(Grant { digest: pause.digest, stage: pause.stage, until });
                }
                self.clear(PAUSE);
                ("CHALLENGE_VERIFIED", "A person has approved the action: report it again")
            }
            RequestKind::Block => {
                if let Some(block) = self.block.take()
                    && grants
                {
                    let stage = Stage::Tolerance;
                    self.grant = Some(Grant { digest: block.digest, stage, until });
                }
                let about = about_block(&self.agent);
                self.clear(&about);
                effects.cleared = Some(about);
                ("AGENT_UNBLOCKED", "A person has lifted the block")
            }
        };
        if let Some(execution) = self.live_mut() {
            execution.alone = 0;
            self.notify("status", news(NotificationType::Status, message, None, env.now));
        } else {
            self.grant = None;
        }
        effects.note(Event::new(event, "confirmed").challenge(id).by(by));
    }
}

fn verdict(action: &Action, outcome: Option<StepOutcome>, steps: u32, env: &Env<'_>) -> Verdict {
    evaluate(&Evaluation { policy: env.policy, scorer: env.scorer, action, outcome, steps })
}

pub(super) fn news(
    kind: NotificationType,
    message: impl Into<String>,
    metadata: Option<NotificationMetadata>,
    now: DateTime<Utc>,
) -> AgentNotification {
    AgentNotification {
        kind,
        message: message.into(),
        metadata,
        timestamp: crate::clock::text(now),
    }
}
