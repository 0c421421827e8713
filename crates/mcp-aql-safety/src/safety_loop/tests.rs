//! Tests of the safety loop. Some of them compare random events with a simple model.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

use chrono::{DateTime, TimeDelta, Utc};
use mcp_aql_core::audit::Audit;
use mcp_aql_core::internal::gatekeeper::ApprovalRequest;
use mcp_aql_core::internal::services::Services;
use mcp_aql_core::internal::util::clock::TimeSource;
use mcp_aql_core::store::hooked::{Hook, Hooked, HookedCall};
use mcp_aql_core::store::{Change, Expected, MemoryState, NewRecord, StateStore, StoreError};
use mcp_aql_core::{BoxFuture, Session};

use mcp_aql_protocol::{ErrorCode, TrustLevel};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use super::agent_state::AgentExecutionStatus;
use super::approval_queue::ApprovalQueue;
use super::approvals_gate::MAX_WAITING_CALLS;
use super::operation_handlers::StepReport;
use super::presence::LEASE_SECONDS;
use super::recent_audit::RecentAudit;
use super::runtime::SafetyCore;
use super::session_agents::MAX_AGENTS;
use super::{NotificationType, SafetyLoop, StepOutcome, WithSafetyLoop as _};
use crate::human_channel::{
    ChannelError, Decider, HumanChannel, HumanRequest, MemoryChannel, OperatorBackend as _,
    VoidReason,
};
use crate::operator::OperatorAccess as _;

const AGENTS: [&str; 3] = ["Ada", "Bo", "Cy"];
/// Reported actions: automatic, plain, confirmed, verified, denied, and approved by a person.
const HINTS: [&str; 6] =
    ["read_file a", "write_file b", "delete c", "sudo d", "drop_table e", "deploy_f now"];

/// One process of the test: a safety loop on a store that outlives the process.
struct Process {
    core: Arc<SafetyCore>,
    sessions: [Session; 3],
}

struct Rig {
    now: Arc<Mutex<DateTime<Utc>>>,
    store: Arc<MemoryState>,
    people: MemoryChannel,
    process: Process,
}

impl SafetyCore {
    /// Uses an approval in the same way as the gatekeeper.
    async fn take_approval(
        &self,
        operation: &str,
        params_hash: &str,
        session: Option<&Session>,
    ) -> Result<bool, mcp_aql_core::OperationError> {
        let store = self.store().await?;
        while let Some(taken) = self.approval(operation, params_hash, session).await? {
            if store.write(vec![taken.change]).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn process(
    now: &Arc<Mutex<DateTime<Utc>>>,
    store: &Arc<MemoryState>,
    people: &MemoryChannel,
) -> Process {
    let now = Arc::clone(now);
    let time = TimeSource::new(move || *now.lock().unwrap());
    let audit = Audit {
        adapter: "guard".to_owned(),
        trust: TrustLevel::Untested,
        time: time.clone(),
        sinks: Vec::new(),
        observers: Vec::new(),
    };
    let settings = SafetyLoop::new()
        .max_autonomous_steps(4)
        .deny(["drop_*"])
        .requires_approval(["deploy_*"])
        .auto_approve(["read_*"])
        .channel(people.clone());
    let rules = settings.compile(&mut Vec::new());
    let services = Services::new(Arc::<MemoryState>::clone(store), time, audit);
    let core = SafetyCore::new(&settings, rules, RecentAudit::default(), Arc::new(services));
    Process { core: Arc::new(core), sessions: std::array::from_fn(|_| Session::new()) }
}

impl Rig {
    fn new() -> Self {
        let now = Arc::new(Mutex::new("2031-05-06T07:00:00Z".parse().unwrap()));
        let (store, people) = (Arc::default(), MemoryChannel::default());
        let process = process(&now, &store, &people);
        Self { now, store, people, process }
    }

    fn restart(&mut self) {
        self.process = process(&self.now, &self.store, &self.people);
    }

    fn now(&self) -> DateTime<Utc> {
        *self.now.lock().unwrap()
    }

    fn pass(&self, seconds: i64) {
        *self.now.lock().unwrap() += TimeDelta::seconds(seconds);
    }

    fn session(&self, agent: usize) -> &Session {
        &self.process.sessions[agent]
    }

    async fn start(
        &self,
        agent: usize,
    ) -> Result<super::AgentExecution, mcp_aql_core::OperationError> {
        self.process.core.start(Some(self.session(agent)), AGENTS[agent], None).await
    }

    async fn step(
        &self,
        agent: usize,
        hint: &str,
        outcome: Option<StepOutcome>,
    ) -> Result<super::StepReply, mcp_aql_core::OperationError> {
        let reported = StepReport {
            agent: AGENTS[agent].to_owned(),
            hint: hint.to_owned(),
            description: None,
            outcome,
            findings: None,
        };
        self.process.core.step(Some(self.session(agent)), &reported).await
    }

    async fn give(&self, request: &HumanRequest, code: &str) -> Result<(), ErrorCode> {
        let session = Some(self.session(0));
        let given = if request.kind.is_challenge() {
            self.process.core.verify(session, &request.id, code).await
        } else {
            self.process.core.confirm(session, code).await
        };
        given.map(drop).map_err(|error| error.code())
    }

    /// Issues new codes for all requests.
    async fn renewed(&self, desk: &ApprovalQueue) {
        for agent in AGENTS {
            let Some(state) = self.process.core.state(agent).await.unwrap() else { continue };
            let ids: Vec<_> = state.requests().map(|ask| ask.id.clone()).collect();
            for id in ids {
                desk.renew_code(&id, Decider::from("test")).await.unwrap();
            }
        }
    }

    /// Starts an agent, with the approval of a person.
    async fn begun(&self, agent: usize) {
        self.start(agent).await.unwrap();
        let request = self.people.requests().pop().unwrap();
        self.give(&request, request.code.reveal()).await.unwrap();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

#[derive(Debug, Clone)]
enum Happens {
    Start(usize),
    Step(usize, usize, bool),
    Finish(usize, bool),
    /// Returns one of the last codes shown to people.
    Right(usize),
    Wrong(usize),
    Unknown,
    Time(i64),
    Restart,
    SessionEnds(usize),
    Decide(usize, bool),
    Unblock(usize),
    Renew(usize),
}

fn happens() -> impl Strategy<Value = Happens> {
    use Happens::{
        Decide, Finish, Renew, Restart, Right, SessionEnds, Start, Step, Time, Unblock, Unknown,
        Wrong,
    };
    let agent = 0..AGENTS.len();
    prop_oneof![
        4 => agent.clone().prop_map(Start),
        12 => (agent.clone(), 0..HINTS.len(), prop::bool::weighted(0.1))
            .prop_map(|(agent, hint, failed)| Step(agent, hint, failed)),
        1 => (agent.clone(), any::<bool>()).prop_map(|(agent, done)| Finish(agent, done)),
        9 => (0..4_usize).prop_map(Right),
        1 => (0..4_usize).prop_map(Wrong),
        1 => Just(Unknown),
        3 => prop_oneof![1..120_i64, 250..400_i64, -400..-1_i64, 3_000..9_000_i64].prop_map(Time),
        1 => Just(Restart),
        1 => agent.clone().prop_map(SessionEnds),
        2 => ((0..4_usize), any::<bool>()).prop_map(|(place, yes)| Decide(place, yes)),
        1 => agent.prop_map(Unblock),
        1 => (0..4_usize).prop_map(Renew),
    ]
}

/// The counters of a random run.
#[derive(Debug, Default)]
struct Counts {
    events: usize,
    /// The number of evaluated reports.
    steps: usize,
    /// The number of changes of an execution's status.
    transitions: usize,
    notifications: usize,
    stops: usize,
}

/// The expected state. It does not use the implementation.
#[derive(Default)]
struct Model {
    /// The blocked agents, with their sessions.
    blocked: BTreeMap<usize, String>,
    /// The paused agents, with the time at which the pause ends by itself, if it does.
    paused: BTreeMap<usize, Option<DateTime<Utc>>>,
    used: BTreeSet<String>,
    burned: BTreeSet<String>,
    /// The blocks of which the agent must be notified with each step.
    told: HashMap<usize, BTreeSet<usize>>,
    seen: HashMap<usize, (String, AgentExecutionStatus)>,
    /// If `true`, the clock was set back, so that expiry times are uncertain by some seconds.
    went_back: bool,
    counts: Counts,
}

impl Model {
    fn is_refused(&self, agent: usize, session: &str) -> bool {
        self.blocked.contains_key(&agent) || self.blocked.values().any(|own| own == session)
    }

    fn release(&mut self, agent: usize) {
        self.blocked.remove(&agent);
        self.paused.remove(&agent);
        self.told.values_mut().for_each(|blocks| {
            blocks.remove(&agent);
        });
    }

    /// Checks that the status of each execution changes only as the protocol allows (REQ-LIF-02, REQ-LIF-03).
    fn observe(&mut self, agent: usize, id: &str, status: AgentExecutionStatus) {
        use AgentExecutionStatus::{Cancelled, Completed, Failed, Pending, Running};
        if let Some((known, before)) = self.seen.get(&agent) {
            let allowed = match (before, status) {
                // The request was not answered, and the next start has canceled it.
                _ if known != id => !before.is_live() || *before == Pending,
                (before, after) if *before == after => true,
                (Pending, after) => matches!(after, Running | Cancelled | Completed | Failed),
                (Running, after) => matches!(after, Completed | Failed | Cancelled),
                _ => false,
            };
            assert!(allowed, "{before:?} became {status:?}, of {known} to {id}");
            self.counts.transitions += usize::from(known != id || *before != status);
        } else {
            self.counts.transitions += 1;
        }
        if !status.is_live() {
            self.told.remove(&agent);
        }
        self.seen.insert(agent, (id.to_owned(), status));
    }
}

async fn observe(rig: &Rig, model: &mut Model) {
    for (place, agent) in AGENTS.iter().enumerate() {
        let Some(state) = rig.process.core.state(agent).await.unwrap() else { continue };
        assert_eq!(state.block.is_some(), model.blocked.contains_key(&place), "{agent}");
        if let Some(execution) = &state.execution {
            model.observe(place, &execution.id, execution.status);
        }
    }
}

async fn happen(rig: &mut Rig, model: &mut Model, event: &Happens) {
    let recent = |place: usize| {
        let requests = rig.people.requests();
        requests.len().checked_sub(place + 1).map(|place| requests[place].clone())
    };
    let place_of = |name: &str| AGENTS.iter().position(|agent| *agent == name).unwrap();
    match *event {
        Happens::Start(agent) => {
            let refused = model.is_refused(agent, rig.session(agent).id());
            match rig.start(agent).await {
                Ok(_) => assert!(!refused, "a block was evaded"),
                Err(error) if refused => assert_eq!(error.code(), ErrorCode::PermissionDenied),
                Err(error) => assert_ne!(error.code(), ErrorCode::InternalError, "{error:?}"),
            }
        }
        Happens::Step(agent, hint, failed) => step(rig, model, agent, HINTS[hint], failed).await,
        Happens::Finish(agent, done) => {
            let status = if done {
                AgentExecutionStatus::Completed
            } else {
                AgentExecutionStatus::Cancelled
            };
            let session = rig.session(agent);
            let ended =
                rig.process.core.finish(Some(session), AGENTS[agent], None, (status, "so")).await;
            if model.is_refused(agent, session.id()) {
                assert_eq!(ended.unwrap_err().code(), ErrorCode::PermissionDenied);
            } else if ended.is_ok() && model.paused.get(&agent) == Some(&None) {
                model.paused.remove(&agent);
            }
        }
        Happens::Right(place) => {
            let Some(request) = recent(place) else { return };
            let given = rig.give(&request, request.code.reveal()).await;
            if given.is_ok() {
                let id = &request.id;
                assert!(model.used.insert(id.clone()), "a code was good twice");
                assert!(!model.burned.contains(id), "a burned challenge was good");
                assert!(model.went_back || rig.now() < request.expires_at, "it had expired");
                model.release(place_of(request.agent.as_deref().unwrap()));
            }
        }
        Happens::Wrong(place) => {
            let Some(request) = recent(place).filter(|request| request.kind.is_challenge()) else {
                return;
            };
            // While the agent executes, wrong codes of other sessions do not invalidate its challenge.
            let agent = request.agent.as_deref().unwrap();
            let state = rig.process.core.state(agent).await.unwrap().unwrap();
            let caller = Some(rig.session(0).id());
            let foreign = state.live().is_some_and(|live| live.session.as_deref() != caller);
            let code = rig.give(&request, "0000-0000").await.unwrap_err();
            if code != ErrorCode::PermissionDenied {
                assert_eq!(code, ErrorCode::RateLimitExceeded);
            } else if !foreign {
                model.burned.insert(request.id);
            }
        }
        Happens::Unknown => {
            let session = Some(rig.session(1));
            let code = rig.process.core.verify(session, "nothing", "0").await.unwrap_err().code();
            assert!(matches!(code, ErrorCode::PermissionDenied | ErrorCode::RateLimitExceeded));
        }
        Happens::Time(seconds) => {
            model.went_back |= seconds < 0;
            rig.pass(seconds);
        }
        Happens::Restart => {
            rig.pass(13);
            rig.restart();
            // An execution of an ended process has ended, too (REQ-LIF-10). If the clock was set back a little, the
            // process counts as running for that much longer.
            rig.process.core.store().await.unwrap();
            if model.went_back {
                rig.pass(25);
                rig.restart();
                rig.process.core.store().await.unwrap();
            }
            for agent in AGENTS {
                let state = rig.process.core.state(agent).await.unwrap();
                assert!(state.is_none_or(|state| state.live().is_none()), "{agent} still runs");
            }
            model.paused.clear();
        }
        Happens::SessionEnds(agent) => {
            rig.process.sessions[agent].end();
            for _ in 0..4 {
                tokio::task::yield_now().await;
            }
            rig.process.sessions[agent] = Session::new();
            if model.paused.get(&agent) == Some(&None) {
                model.paused.remove(&agent);
            }
        }
        Happens::Decide(place, approve) => {
            let Some(request) = recent(place) else { return };
            let desk = ApprovalQueue(Arc::clone(&rig.process.core));
            if desk.decide(&request.id, approve, Decider::from("test")).await.is_ok() {
                assert!(model.used.insert(request.id.clone()), "it was answered twice");
                assert!(!model.burned.contains(&request.id));
                let agent = place_of(request.agent.as_deref().unwrap());
                if approve {
                    model.release(agent);
                } else if let Some(until) = model.paused.get_mut(&agent) {
                    *until = None;
                }
            }
        }
        Happens::Unblock(agent) => {
            let desk = ApprovalQueue(Arc::clone(&rig.process.core));
            let done = desk.unblock(AGENTS[agent], Decider::from("test")).await;
            assert_eq!(done.is_ok(), model.blocked.contains_key(&agent));
            if done.is_ok() {
                model.release(agent);
            }
        }
        Happens::Renew(place) => {
            let Some(request) = recent(place) else { return };
            let desk = ApprovalQueue(Arc::clone(&rig.process.core));
            if desk.renew_code(&request.id, Decider::from("test")).await.is_ok() {
                assert_ne!(rig.people.requests().pop().unwrap().id, request.id);
                if let Some(Some(until)) =
                    model.paused.get_mut(&place_of(request.agent.as_deref().unwrap()))
                {
                    *until = rig.now() + TimeDelta::seconds(300);
                }
            }
        }
    }
}

async fn step(rig: &Rig, model: &mut Model, agent: usize, hint: &str, failed: bool) {
    let outcome = failed.then_some(StepOutcome::Failure);
    let refused = model.is_refused(agent, rig.session(agent).id());
    let reply = match rig.step(agent, hint, outcome).await {
        Ok(reply) => reply,
        Err(error) => {
            if refused {
                assert_eq!(error.code(), ErrorCode::PermissionDenied);
            }
            return;
        }
    };
    assert!(!refused, "a step was judged in spite of a block");
    let directive = reply.autonomy;
    model.counts.steps += 1;
    model.counts.notifications += directive.notifications.len();
    model.counts.stops += usize::from(directive.stopped == Some(true));
    if directive.may_continue {
        assert_eq!(reply.status, AgentExecutionStatus::Running);
        let until = model.paused.get(&agent);
        let over = |until: &Option<DateTime<Utc>>| {
            until.is_some_and(|until| model.went_back || rig.now() >= until)
        };
        assert!(until.is_none_or(over), "a paused agent went on by itself");
        model.paused.remove(&agent);
    }
    // No required notification is lost.
    let told: BTreeSet<_> = directive
        .notifications
        .iter()
        .filter(|news| news.kind == NotificationType::DangerZone)
        .filter_map(|news| {
            AGENTS.iter().position(|name| news.message.contains(&format!("'{name}'")))
        })
        .collect();
    let must = model.told.get(&agent).cloned().unwrap_or_default();
    assert!(must.is_subset(&told), "{must:?} of {told:?}");
    if directive.stopped == Some(true) {
        assert!(hint.starts_with("drop_"), "{hint}");
        let metadata = directive.notifications.iter().filter_map(|news| news.metadata.as_ref());
        assert!(metadata.filter_map(|each| each.verification_id.as_ref()).count() > 0);
        model.paused.remove(&agent);
        model.blocked.insert(agent, rig.session(agent).id().to_owned());
        for (other, name) in AGENTS.iter().enumerate() {
            let state = rig.process.core.state(name).await.unwrap();
            if state.is_some_and(|state| state.live().is_some()) {
                model.told.entry(other).or_default().insert(agent);
            }
        }
    } else if !directive.may_continue && reply.status == AgentExecutionStatus::Running {
        // The request of the pause is the last one made or renewed.
        let state = rig.process.core.state(AGENTS[agent]).await.unwrap().unwrap();
        let pause = state.pause.expect("what does not go on is paused");
        model.paused.insert(agent, pause.until);
    }
}

fn cases(default: u32) -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig {
        cases: cases.unwrap_or(default),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Set `PROPTEST_CASES` to run more cases. With `--nocapture`, the test prints the numbers of events.
#[test]
fn whatever_happens_the_brake_holds() {
    // REQ-LOOP-09, REQ-LOOP-10, REQ-AUT-14, REQ-AUT-15, REQ-OOB-06, REQ-OOB-08, REQ-OOB-09,
    // REQ-OOB-11, REQ-LIF-02, REQ-LIF-03
    let (begun, done) = (std::time::Instant::now(), Mutex::new(Counts::default()));
    let mut runner = TestRunner::new(cases(40));
    let tried = runner.run(&prop::collection::vec(happens(), 100..200), |events| {
        block_on(async {
            let (mut rig, mut model) = (Rig::new(), Model::default());
            for event in &events {
                happen(&mut rig, &mut model, event).await;
                observe(&rig, &mut model).await;
            }
            let mut done = done.lock().unwrap();
            done.events += events.len();
            done.steps += model.counts.steps;
            done.transitions += model.counts.transitions;
            done.notifications += model.counts.notifications;
            done.stops += model.counts.stops;
        });
        Ok(())
    });
    if let Err(error) = tried {
        panic!("{error}\n{runner}");
    }
    let done = done.into_inner().unwrap();
    eprintln!("{done:?} in {:?}", begun.elapsed());
    assert!(done.stops > 0 && done.notifications > done.stops, "too little happened: {done:?}");
}

#[test]
fn nothing_is_approved_unseen() {
    // REQ-AUT-16, REQ-OOB-01
    block_on(async {
        let rig = Rig::new();
        let core = &rig.process.core;
        let parameters = serde_json::json!({ "a": "x".repeat(9_000), "z": "and then the worst" });
        let parameters = parameters.as_object().cloned();
        core.start(Some(rig.session(0)), AGENTS[0], parameters).await.unwrap();
        let request = rig.people.requests().pop().unwrap();
        assert!(request.action.contains("and then the worst"), "its end is shown");
        assert!(request.action.contains("characters are not shown"), "and that some is missing");
        assert!(request.reasons.iter().any(|reason| reason.starts_with("Not all of it is shown")));
        assert!(request.action.chars().count() < 4_100);
        rig.give(&request, request.code.reveal()).await.unwrap();

        // A pause, a block and a renewed request all show the whole hint.
        let desk = ApprovalQueue(Arc::clone(core));
        for verb in ["delete", "drop_table"] {
            let hint = format!("{verb} {} and then the worst", "x ".repeat(1_900));
            rig.step(0, &hint, None).await.unwrap();
            let request = rig.people.requests().pop().unwrap();
            assert_eq!(request.action, hint);
            desk.renew_code(&request.id, Decider::from("test")).await.unwrap();
            assert_eq!(rig.people.requests().pop().unwrap().action, hint);
        }
        let block = desk.overview().await.unwrap().blocks.remove(0);
        assert!(block.action.ends_with("and then the worst"));

        let action = format!("import {}", "y".repeat(9_000));
        core.request_approval(ApprovalRequest {
            operation: "import",
            params_hash: "h",
            session: Some(rig.session(1)),
            action: &action,
            reasons: Vec::new(),
            level: "destructive",
            expires_at: rig.now() + TimeDelta::seconds(60),
            ..ApprovalRequest::default()
        })
        .await
        .unwrap();
        let request = rig.people.requests().pop().unwrap();
        assert!(request.reasons.iter().any(|reason| reason.starts_with("Not all of it is shown")));
    });
}

#[test]
fn nobody_hides_a_request_or_a_block_behind_a_crowd() {
    // REQ-OOB-09, REQ-OOB-13
    block_on(async {
        let rig = Rig::new();
        let core = &rig.process.core;
        let desk = ApprovalQueue(Arc::clone(core));
        rig.begun(0).await;
        rig.step(0, "drop_table users", None).await.unwrap();
        rig.begun(1).await;
        rig.step(1, "deploy_f now", None).await.unwrap();
        for number in 0..620 {
            // All other agents come first, ordered by group and key.
            let session = Session::new();
            let agent = format!("!{number:04}");
            core.start(Some(&session), &agent, None).await.unwrap();
            let given_up = (AgentExecutionStatus::Cancelled, "so");
            core.finish(Some(&session), &agent, None, given_up).await.unwrap();
            let params_hash = format!("{number}");
            core.request_approval(ApprovalRequest {
                operation: "delete_bed",
                params_hash: &params_hash,
                session: Some(rig.session(2)),
                action: "delete_bed {}",
                reasons: Vec::new(),
                level: "destructive",
                expires_at: rig.now() + TimeDelta::days(1),
                ..ApprovalRequest::default()
            })
            .await
            .unwrap();
            rig.pass(4);
            if number % 50 == 0 {
                rig.renewed(&desk).await;
            }
        }
        rig.renewed(&desk).await;
        let seen = desk.overview().await.unwrap();
        assert_eq!(seen.blocks.len(), 1);
        let asked = |agent: &str| {
            seen.requests.iter().any(|request| request.agent.as_deref() == Some(agent))
        };
        assert!(asked("Ada") && asked("Bo"), "{:?}", seen.requests.len());
        let approvals = seen.requests.iter().filter(|each| each.action.starts_with("delete_bed"));
        assert_eq!(approvals.count(), 620, "each can be answered");
        assert_eq!(seen.agents[0].agent, "Ada");
        assert_eq!(seen.agents[1].agent, "Bo");
        assert!(!seen.more_agents);
        for number in 0..500 {
            let session = Session::new();
            let agent = format!("!!{number:04}");
            rig.pass(2);
            core.start(Some(&session), &agent, None).await.unwrap();
            let given_up = (AgentExecutionStatus::Cancelled, "so");
            core.finish(Some(&session), &agent, None, given_up).await.unwrap();
        }
        let seen = desk.overview().await.unwrap();
        assert!(seen.more_agents && seen.agents.len() == 1_000);
        assert_eq!((seen.blocks.len(), seen.agents[0].agent.as_str()), (1, "Ada"));
    });
}

#[test]
fn nobody_fills_the_store_with_agents() {
    // REQ-LOOP-05
    block_on(async {
        let rig = Rig::new();
        let core = &rig.process.core;
        let session = Session::new();
        let start = |agent: String| {
            let session = &session;
            async move { core.start(Some(session), &agent, None).await.map_err(|error| error.code()) }
        };
        let live = || async {
            let store = core.store().await.unwrap();
            core.group(store, "live").await.unwrap().len()
        };
        for number in 0..MAX_AGENTS {
            start(format!("a{number}")).await.unwrap();
            rig.pass(2);
        }
        assert_eq!(start("more".to_owned()).await, Err(ErrorCode::PermissionDenied));
        assert_eq!(start("A1".to_owned()).await.map(drop), Ok(()), "it is there already");
        assert_eq!(live().await, MAX_AGENTS);
        // An ended execution releases its slot, regardless of the reason.
        let desk = ApprovalQueue(Arc::clone(core));
        let request = rig.people.requests().pop().unwrap();
        desk.decide(&request.id, false, Decider::from("test")).await.unwrap();
        start("more".to_owned()).await.unwrap();
        assert_eq!(live().await, MAX_AGENTS);

        // A start rejected because of too many requests leaves no record.
        for number in 0..200 {
            let other = Session::new();
            let _ = core.start(Some(&other), &format!("b{number}"), None).await;
        }
        assert!(live().await < MAX_AGENTS + 62, "{}", live().await);
    });
}

#[test]
fn nobody_begins_with_what_no_person_was_shown() {
    // REQ-LOOP-05
    block_on(async {
        let rig = Rig::new();
        let (core, session) = (&rig.process.core, Some(rig.session(0)));
        let start = |number: i32| {
            let parameters = serde_json::json!({ "number": number }).as_object().cloned();
            core.start(session, AGENTS[0], parameters)
        };
        for number in 0..10 {
            start(number).await.unwrap();
        }
        let refused = start(10).await.unwrap_err();
        assert_eq!(refused.code(), ErrorCode::RateLimitExceeded);
        let request = rig.people.requests().pop().unwrap();
        assert!(request.action.ends_with("{\"number\":9}"), "{}", request.action);
        rig.give(&request, request.code.reveal()).await.unwrap();
        // Only the approved parameters start at once. Others have to wait for the end.
        start(9).await.unwrap();
        rig.pass(61);
        assert_eq!(start(10).await.unwrap_err().details()["reason"], "already_executing");
    });
}

#[test]
fn a_start_that_nobody_approves_ends_with_its_question() {
    // REQ-LOOP-05, REQ-LIF-02
    block_on(async {
        let rig = Rig::new();
        let core = &rig.process.core;
        let pending = rig.start(0).await.unwrap();
        let request = rig.people.requests().pop().unwrap();
        // Another session has to wait. The session that started the agent can abort.
        let other = Session::new();
        let started = core.start(Some(&other), AGENTS[0], None).await.unwrap_err();
        assert_eq!(started.details()["reason"], "other_session");
        assert!(!started.details().contains_key("retry_after_seconds"));
        let ends = (AgentExecutionStatus::Cancelled, "so");
        core.finish(Some(rig.session(0)), AGENTS[0], None, ends).await.unwrap();
        assert_eq!(rig.people.withdrawn(), std::slice::from_ref(&request.id));
        let started = core.start(Some(&other), AGENTS[0], None).await.unwrap();
        assert_ne!(started.execution_id, pending.execution_id);

        // The request was not answered, so the next start can use the name.
        let request = rig.people.requests().pop().unwrap();
        rig.pass(301);
        assert_eq!(rig.give(&request, request.code.reveal()).await, Err(ErrorCode::TokenExpired));
        let state = core.state(AGENTS[0]).await.unwrap().unwrap();
        assert_eq!(state.execution.unwrap().status, AgentExecutionStatus::Cancelled);
        let step = rig.step(0, "read_file a", None).await.unwrap_err();
        assert_eq!(step.code(), ErrorCode::NotFoundResource);
        rig.start(0).await.unwrap();
        rig.pass(301);
        core.start(Some(&other), AGENTS[0], None).await.unwrap();
        // The same applies to the slots of a session.
        for number in 1..MAX_AGENTS {
            rig.pass(2);
            core.start(Some(&other), &format!("a{number}"), None).await.unwrap();
        }
        rig.pass(301);
        core.start(Some(&other), "more", None).await.unwrap();
        // A sweep releases them without another request.
        rig.pass(301);
        rig.process.core.sweep(rig.store.as_ref()).await.unwrap();
        let state = core.state("more").await.unwrap().unwrap();
        assert_eq!(state.execution.unwrap().status, AgentExecutionStatus::Cancelled);
    });
}

#[test]
fn what_waits_for_people_is_bounded() {
    // REQ-AUT-15, REQ-GATE-10
    block_on(async {
        let rig = Rig::new();
        rig.begun(0).await;
        let (core, session) = (&rig.process.core, Some(rig.session(0)));
        let ask = |number: usize| {
            let expires_at = rig.now() + TimeDelta::seconds(60);
            async move {
                let pending = ApprovalRequest {
                    operation: "delete_bed",
                    params_hash: &number.to_string(),
                    session,
                    action: "delete_bed {}",
                    reasons: Vec::new(),
                    level: "destructive",
                    expires_at,
                    ..ApprovalRequest::default()
                };
                core.request_approval(pending).await.map(drop).map_err(|error| error.code())
            }
        };
        for number in 0..MAX_WAITING_CALLS {
            ask(number).await.unwrap();
            rig.pass(3);
        }
        assert_eq!(ask(MAX_WAITING_CALLS).await, Err(ErrorCode::PermissionDenied));
        assert_eq!(ask(0).await, Ok(()), "it has expired, and is asked anew");
        let reply = rig.step(0, "read_file a", None).await.unwrap();
        assert_eq!(reply.autonomy.notifications.len(), MAX_WAITING_CALLS + 1, "and the status");
    });
}

/// A safety loop with a readable audit log.
fn audited(settings: &SafetyLoop, recent: &RecentAudit) -> Arc<SafetyCore> {
    let rules = settings.compile(&mut Vec::new());
    let time = TimeSource::default();
    let audit = Audit {
        adapter: "guard".to_owned(),
        trust: TrustLevel::Untested,
        time: time.clone(),
        sinks: vec![Arc::new(recent.clone())],
        observers: Vec::new(),
    };
    let services = Services::new(Arc::new(MemoryState::default()), time, audit);
    Arc::new(SafetyCore::new(settings, rules, recent.clone(), Arc::new(services)))
}

#[test]
fn what_a_blocked_agent_tries_is_in_the_audit_log() {
    // REQ-OOB-08, REQ-OOB-12
    block_on(async {
        let (people, recent) = (MemoryChannel::default(), RecentAudit::default());
        let settings = SafetyLoop::new().deny(["drop_*"]).channel(people.clone());
        let (core, session) = (audited(&settings, &recent), Session::new());
        core.start(Some(&session), "Ada", None).await.unwrap();
        let code = people.last_code().unwrap();
        core.confirm(Some(&session), &code).await.unwrap();
        let step = |hint: &str| StepReport {
            agent: "Ada".to_owned(),
            hint: hint.to_owned(),
            description: None,
            outcome: None,
            findings: None,
        };
        core.step(Some(&session), &step("drop_table users")).await.unwrap();
        let denied = || {
            let entries = recent.entries();
            entries.iter().filter(|entry| entry["event"] == "EXECUTION_DENIED").count()
        };
        assert_eq!(denied(), 0);
        core.step(Some(&session), &step("read_file a")).await.unwrap_err();
        let stranger = Session::new();
        core.start(Some(&stranger), "ADA", None).await.unwrap_err();
        let entry = recent.entries().remove(0);
        let challenge = people.requests().pop().unwrap().id;
        assert_eq!(
            (&entry["session"], &entry["challenge_id"]),
            (&stranger.id().into(), &challenge.into())
        );
        let ends = (AgentExecutionStatus::Cancelled, "so");
        core.finish(Some(&session), "Ada", None, ends).await.unwrap_err();
        assert_eq!(denied(), 3, "{:?}", recent.entries());

        // The same applies under another name.
        core.start(Some(&session), "Bo", None).await.unwrap_err();
        let other = StepReport { agent: "Bo".to_owned(), ..step("read_file a") };
        core.step(Some(&session), &other).await.unwrap_err();
        core.finish(Some(&session), "Bo", None, ends).await.unwrap_err();
        assert_eq!(denied(), 6, "{:?}", recent.entries());
        let entry = recent.entries().remove(0);
        assert_eq!((&entry["agent"], &entry["session"]), (&"Bo".into(), &session.id().into()));
        assert_eq!(entry["reason"], "agent 'Ada' is blocked, and with it its session");
    });
}

#[test]
fn what_cannot_be_read_hides_nothing_else() {
    // REQ-OOB-09, REQ-OOB-13
    block_on(async {
        let mut rig = Rig::new();
        rig.begun(0).await;
        rig.begun(1).await;
        rig.step(0, "drop_table users", None).await.unwrap();
        rig.start(2).await.unwrap();
        let core = &rig.process.core;
        let ask = |number: u8| ApprovalRequest {
            operation: "delete_bed",
            params_hash: if number == 0 { "h0" } else { "h1" },
            session: Some(rig.session(1)),
            action: "delete_bed {}",
            reasons: Vec::new(),
            level: "destructive",
            expires_at: rig.now() + TimeDelta::seconds(60),
            ..ApprovalRequest::default()
        };
        let mut strange = Vec::new();
        for number in 0..2 {
            core.request_approval(ask(number)).await.unwrap();
        }
        let approvals = rig.store.list("safety_approvals", None, None, 9).await.unwrap();
        strange.push(("safety_approvals", approvals[0].key.clone(), "open"));
        strange.push(("safety_agents", "cy".to_owned(), "live"));
        strange.push(("safety_agents", "of tomorrow".to_owned(), "blocked"));
        for (collection, key, group) in &strange {
            let record = NewRecord::new("{\"agent\":7,\"since\":\"tomorrow\"}").group(*group);
            let change = Change::put(*collection, key.as_str(), Expected::Any, record);
            assert!(rig.store.write(vec![change]).await.unwrap());
        }
        let desk = ApprovalQueue(Arc::clone(core));
        let seen = desk.overview().await.unwrap();
        let named: BTreeSet<_> =
            seen.unreadable.iter().map(|it| (&*it.collection, &*it.key)).collect();
        assert_eq!(named, strange.iter().map(|(name, key, _)| (*name, &**key)).collect());
        assert_eq!((seen.blocks.len(), seen.agents.len()), (1, 2));
        assert_eq!(seen.requests.len(), 2, "of the block, and of the other approval");

        // Other agents are notified of the block, and can still be blocked themselves.
        assert!(!rig.step(1, "read_file a", None).await.unwrap().autonomy.may_continue);
        let session = Session::new();
        core.start(Some(&session), "Dee", None).await.unwrap();
        assert!(core.is_executing(None).await.unwrap(), "the one that cannot be read may be it");
        rig.pass(13);
        rig.restart();
        rig.process.core.store().await.unwrap();
        for agent in ["Ada", "Bo", "Dee"] {
            let state = rig.process.core.state(agent).await.unwrap().unwrap();
            assert!(state.live().is_none(), "{agent}");
        }
        rig.start(2).await.unwrap_err();
    });
}

/// Yields before each access, as a database would.
struct Slow;

impl Hook for Slow {
    type Held = ();

    async fn before(&self, _: HookedCall) -> Result<(), StoreError> {
        tokio::task::yield_now().await;
        Ok(())
    }
}

/// The number of agents in one session of fifty that report without a pause.
///
/// Blocks, their end, and pending approvals must reach all fifty agents, and no agent may wait until the others are
/// done. The test measures the wait in steps of the others, because seconds depend on the disk.
async fn many_report_at_once(store: Arc<dyn StateStore>, busy: usize, most_steps: usize) {
    let people = MemoryChannel::default();
    let settings = SafetyLoop::new()
        .max_autonomous_steps(1_000_000)
        .deny(["drop_*"])
        .auto_approve(["read_*"])
        .channel(people.clone());
    let rules = settings.compile(&mut Vec::new());
    // Minutes pass between the starts, because of the limit on requests of a session.
    let minutes = Arc::new(std::sync::atomic::AtomicI64::new(0));
    let later = Arc::clone(&minutes);
    let time = TimeSource::new(move || {
        Utc::now() + TimeDelta::minutes(later.load(std::sync::atomic::Ordering::Relaxed))
    });
    let recent = RecentAudit::default();
    let audit = Audit {
        adapter: "guard".to_owned(),
        trust: TrustLevel::Untested,
        time: time.clone(),
        sinks: Vec::new(),
        observers: Vec::new(),
    };
    let services = Arc::new(Services::new(store, time.clone(), audit));
    let core = Arc::new(SafetyCore::new(&settings, rules, recent, services));
    let desk = ApprovalQueue(Arc::clone(&core));
    let (session, bad) = (Session::new(), Session::new());
    let begin = async |session: &Session, agent: &str| {
        minutes.fetch_add(2, std::sync::atomic::Ordering::Relaxed);
        core.start(Some(session), agent, None).await.unwrap();
        let request = people.requests().pop().unwrap();
        desk.decide(&request.id, true, Decider::from("test")).await.unwrap();
    };
    let names: Vec<_> = (0..MAX_AGENTS).map(|number| format!("agent {number}")).collect();
    for name in &names {
        begin(&session, name).await;
    }
    begin(&bad, "bad").await;
    let report = |agent: &str, hint: &str| StepReport {
        agent: agent.to_owned(),
        hint: hint.to_owned(),
        description: None,
        outcome: None,
        findings: None,
    };
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let done = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let mut reporting = tokio::task::JoinSet::new();
    for name in names.iter().take(busy) {
        let (core, session, stop) = (Arc::clone(&core), session.clone(), Arc::clone(&stop));
        let (name, done) = (name.clone(), Arc::clone(&done));
        reporting.spawn(async move {
            let mut steps = 0;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let step = report(&name, &format!("read_file {steps}"));
                core.step(Some(&session), &step).await.unwrap();
                steps += 1;
                done.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            }
            steps
        });
    }
    // The notifications that some of the agents receive, and the approvals for which each of them waits.
    let told = async || {
        let mut told = Vec::new();
        for name in names.iter().step_by(12) {
            let reply = core.step(Some(&session), &report(name, "read_file z")).await.unwrap();
            let kinds = reply.autonomy.notifications.iter().map(|news| news.kind);
            told.push(kinds.filter(|kind| kind.stays()).collect::<Vec<_>>());
        }
        told.dedup();
        told
    };
    let waiting = async || {
        let mut waiting = 0;
        for name in &names {
            waiting += core.state(name).await.unwrap().unwrap().waiting();
        }
        waiting
    };
    let work = async {
        let stopped = core.step(Some(&bad), &report("bad", "drop_table")).await.unwrap();
        assert_eq!(stopped.autonomy.stopped, Some(true));
        assert_eq!(told().await, [[NotificationType::DangerZone]]);
        desk.unblock("bad", Decider::from("test")).await.unwrap();
        assert_eq!(told().await, [Vec::<NotificationType>::new()]);
        let id = core
            .request_approval(ApprovalRequest {
                operation: "delete_bed",
                params_hash: "",
                session: Some(&session),
                action: "delete_bed {}",
                reasons: Vec::new(),
                level: "destructive",
                expires_at: time.now() + TimeDelta::minutes(5),
                ..ApprovalRequest::default()
            })
            .await
            .unwrap();
        assert_eq!(waiting().await, MAX_AGENTS, "each waits for the person");
        assert_eq!(told().await, [[NotificationType::PermissionPending]]);
        desk.decide(&id, true, Decider::from("test")).await.unwrap();
        assert_eq!(waiting().await, 0, "and each goes on");
        assert_eq!(told().await, [Vec::<NotificationType>::new()]);
    };
    let steps_done = || done.load(std::sync::atomic::Ordering::Relaxed);
    let held_up = async {
        loop {
            let before = steps_done();
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            if steps_done() > most_steps {
                return "nobody comes through";
            }
            if steps_done() == before {
                tokio::time::sleep(std::time::Duration::from_secs(120)).await;
                if steps_done() == before {
                    return "nothing moves";
                }
            }
        }
    };
    tokio::select! {
        () = work => {}
        why = held_up => panic!("{why} in {} steps", steps_done()),
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    for steps in reporting.join_all().await {
        assert!(steps > 0, "nobody is kept waiting for long");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_that_report_at_once_keep_no_news_back() {
    // REQ-AUT-14, REQ-AUT-15, REQ-OOB-08
    many_report_at_once(Arc::new(Hooked::new(Slow)), MAX_AGENTS, 20_000).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_of_fifty_that_report_at_once_to_a_file_keep_no_news_back() {
    // REQ-AUT-14, REQ-AUT-15, REQ-OOB-08
    let folder = std::env::temp_dir().join(mcp_aql_core::internal::vocab::new_id("fifty"));
    let store = mcp_aql_stores::SqliteState::open(folder.join("state.db"));
    many_report_at_once(Arc::new(store), 8, 50_000).await;
    // Another connection may still be closing.
    let _ = std::fs::remove_dir_all(folder);
}

#[cfg(target_os = "linux")]
#[test]
fn the_agents_of_a_process_that_was_killed_are_free_at_once() {
    // REQ-LIF-10
    block_on(async {
        let rig = Rig::new();
        let other = process(&rig.now, &rig.store, &rig.people);
        other.core.start(Some(&other.sessions[0]), AGENTS[0], None).await.unwrap();
        let started = rig.start(0).await.unwrap_err();
        assert_eq!(started.details()["reason"], "other_session");
        assert_eq!(started.details()["retry_after_seconds"], 12);
        // This process, presented as another process with the same id and an earlier start.
        let records = rig.store.list("safety_processes", None, None, 9).await.unwrap();
        let owner = &other.core.state(AGENTS[0]).await.unwrap().unwrap().execution.unwrap().owner;
        let record = records.iter().find(|record| record.key == *owner).unwrap();
        let mut value: serde_json::Value = serde_json::from_str(&record.value).unwrap();
        // If `/proc` hides processes, no process counts as ended.
        let Some(begun) = value["process"]["started"].as_u64() else { return };
        value["process"]["started"] = (begun - 1).into();
        let kept = NewRecord::new(value.to_string()).expires_at(record.expires_at.unwrap());
        let change = Change::put("safety_processes", owner.as_str(), Expected::Any, kept);
        assert!(rig.store.write(vec![change]).await.unwrap());
        rig.start(0).await.unwrap();
    });
}

/// A channel that fails in several ways.
enum Bad {
    Fails,
    Hangs,
    Panics,
}

impl HumanChannel for Bad {
    fn name(&self) -> &'static str {
        match self {
            Self::Fails => "failing",
            Self::Hangs => "hanging",
            Self::Panics => "panicking",
        }
    }

    fn present<'a>(&'a self, _: &'a HumanRequest) -> BoxFuture<'a, Result<(), ChannelError>> {
        match self {
            Self::Fails => Box::pin(std::future::ready(Err(ChannelError("no paper".into())))),
            Self::Hangs => Box::pin(std::future::pending()),
            Self::Panics => panic!("at once"),
        }
    }

    fn withdraw<'a>(&'a self, _: &'a str) -> BoxFuture<'a, ()> {
        match self {
            Self::Fails => Box::pin(std::future::ready(())),
            Self::Hangs => Box::pin(std::future::pending()),
            Self::Panics => Box::pin(async { panic!("later") }),
        }
    }
}

#[test]
fn channels_that_fail_hold_nobody_up_and_let_nobody_pass() {
    // REQ-OOB-05, REQ-OOB-12
    block_on(async {
        let (people, recent) = (MemoryChannel::default(), RecentAudit::default());
        let settings = SafetyLoop::new()
            .channel(Bad::Panics)
            .channel(Bad::Hangs)
            .channel(Bad::Fails)
            .channel(people.clone());
        let (core, session) = (audited(&settings, &recent), Session::new());
        let started = core.start(Some(&session), "Ada", None).await.unwrap();
        assert_eq!(started.status, AgentExecutionStatus::Pending);
        let request = people.requests().pop().expect("who comes last is asked as well");
        let log = serde_json::to_string(&recent.entries()).unwrap();
        let told = recent.entries();
        let told = |channel: &str| {
            told.iter().any(|entry| {
                entry["event"] == "CHALLENGE_NOT_SHOWN"
                    && entry["challenge_id"] == request.id.as_str()
                    && entry["reason"].as_str().unwrap().contains(channel)
            })
        };
        assert!(told("failing") && told("panicking") && !told("hanging"), "{log}");
        assert!(!log.contains(request.code.reveal()));
        core.confirm(Some(&session), request.code.reveal()).await.unwrap();
        assert_eq!(people.withdrawn(), [request.id]);
    });
}

#[test]
fn one_code_is_good_for_one_of_many() {
    // REQ-OOB-06
    block_on(async {
        let rig = Rig::new();
        rig.begun(0).await;
        let reply = rig.step(0, "drop_table users", None).await.unwrap();
        assert_eq!(reply.autonomy.stopped, Some(true));
        let request = rig.people.requests().pop().unwrap();
        let code = request.code.reveal();
        let sessions: Vec<_> = (0..64).map(|_| Session::new()).collect();
        let tries = sessions
            .iter()
            .map(|session| rig.process.core.verify(Some(session), &request.id, code));
        let done = futures_util::future::join_all(tries).await;
        assert_eq!(done.iter().filter(|done| done.is_ok()).count(), 1);
    });
}

#[test]
fn failed_tries_are_counted_whatever_they_are_and_over_restarts() {
    // REQ-OOB-12
    block_on(async {
        let mut rig = Rig::new();
        rig.begun(0).await;
        rig.step(0, "drop_table users", None).await.unwrap();
        let request = rig.people.requests().pop().unwrap();
        // Attempts in the agent's own session are counted for the agent.
        for _ in 0..10 {
            assert_eq!(rig.give(&request, "0").await, Err(ErrorCode::PermissionDenied));
        }
        rig.restart();
        rig.process.core.store().await.unwrap();
        rig.pass(LEASE_SECONDS + 1);
        let session = Session::new();
        let done = rig.process.core.verify(Some(&session), &request.id, "0").await.unwrap_err();
        assert_eq!(done.code(), ErrorCode::RateLimitExceeded);
        assert_eq!(done.details()["retry_after_seconds"], 60);
        // The correct code of a new challenge has to wait, too, and so does a session that guesses.
        let desk = ApprovalQueue(Arc::clone(&rig.process.core));
        desk.renew_code(&request.id, Decider::from("test")).await.unwrap();
        let fresh = rig.people.requests().pop().unwrap();
        let locked = rig.give(&fresh, fresh.code.reveal()).await;
        assert_eq!(locked, Err(ErrorCode::RateLimitExceeded));
        rig.pass(61);
        rig.give(&fresh, fresh.code.reveal()).await.unwrap();
        for _ in 0..10 {
            rig.process.core.verify(Some(&session), "unknown", "0").await.unwrap_err();
        }
        let done = rig.process.core.verify(Some(&session), "unknown", "0").await.unwrap_err();
        assert_eq!(done.code(), ErrorCode::RateLimitExceeded);
        let done = rig.process.core.confirm(Some(&session), "0").await.unwrap_err();
        assert_eq!(done.code(), ErrorCode::RateLimitExceeded);
    });
}

#[test]
fn another_process_takes_nothing_from_one_that_lives() {
    // REQ-LIF-10, REQ-OOB-08
    block_on(async {
        let rig = Rig::new();
        rig.begun(0).await;
        let other = process(&rig.now, &rig.store, &rig.people);
        let started = other.core.start(Some(&other.sessions[0]), AGENTS[0], None).await;
        assert_eq!(started.unwrap_err().code(), ErrorCode::PermissionDenied);
        rig.step(0, "drop_table users", None).await.unwrap();
        let started = other.core.start(Some(&other.sessions[0]), "ADA", None).await.unwrap_err();
        assert_eq!(started.details()["reason"], "blocked");
        // Other processes accept the code as well, although the store only contains its hash.
        let request = rig.people.requests().pop().unwrap();
        other.core.verify(None, &request.id, request.code.reveal()).await.unwrap();
        rig.step(0, "write_file x", None).await.unwrap();
    });
}

#[test]
fn a_machine_whose_clock_is_ahead_is_taken_for_alive() {
    // REQ-LIF-10
    block_on(async {
        let rig = Rig::new();
        let ahead = Arc::new(Mutex::new(rig.now() + TimeDelta::seconds(5)));
        let other = process(&ahead, &rig.store, &rig.people);
        other.core.start(Some(&other.sessions[0]), AGENTS[0], None).await.unwrap();
        let state = || async { rig.process.core.state(AGENTS[0]).await.unwrap().unwrap() };
        // This process first closes the executions of ended processes.
        assert!(state().await.live().is_some());
        let started = rig.start(0).await.unwrap_err();
        assert_eq!(started.details()["reason"], "other_session");
        // The process stops sending heartbeats.
        rig.pass(18);
        rig.start(0).await.unwrap();
        assert_eq!(state().await.live().unwrap().session.as_deref(), Some(rig.session(0).id()));
    });
}

#[test]
fn an_approved_operation_passes_once_and_only_as_it_was_asked() {
    // REQ-GATE-10, REQ-AUT-15, REQ-AUT-16
    block_on(async {
        let rig = Rig::new();
        rig.begun(0).await;
        rig.begun(1).await;
        let core = &rig.process.core;
        let executes = |session| core.is_executing(session);
        assert!(executes(Some(rig.session(0))).await.unwrap());
        assert!(!executes(Some(rig.session(2))).await.unwrap() && !executes(None).await.unwrap());
        let expires_at = rig.now() + TimeDelta::seconds(300);
        let ask = || ApprovalRequest {
            operation: "delete_bed",
            params_hash: "h1",
            session: Some(rig.session(0)),
            action: "delete_bed {}",
            reasons: vec!["it is gone then".to_owned()],
            level: "destructive",
            expires_at,
            ..ApprovalRequest::default()
        };
        let id = core.request_approval(ask()).await.unwrap();
        assert_eq!(core.request_approval(ask()).await.unwrap(), id, "one question, not two");
        assert!(!core.take_approval("delete_bed", "h1", Some(rig.session(0))).await.unwrap());

        let paused = rig.step(0, "read_file a", None).await.unwrap().autonomy;
        assert!(!paused.may_continue);
        let news = paused
            .notifications
            .iter()
            .find(|news| news.kind == NotificationType::PermissionPending);
        let metadata = news.unwrap().metadata.as_ref().unwrap();
        assert_eq!(metadata.operation.as_deref(), Some("delete_bed"));
        assert!(
            rig.step(1, "read_file a", None).await.unwrap().autonomy.may_continue,
            "not its business"
        );

        // A failed attempt does not change this.
        let wrong = core.confirm(Some(rig.session(0)), "0").await.unwrap_err();
        assert_eq!(wrong.code(), ErrorCode::TokenInvalid);
        assert!(!rig.step(0, "read_file a", None).await.unwrap().autonomy.may_continue);
        let request = rig.people.requests().pop().unwrap();
        assert_eq!((&request.id, request.agent.as_deref()), (&id, Some("ada")));
        rig.give(&request, request.code.reveal()).await.unwrap();
        assert_eq!(
            rig.give(&request, request.code.reveal()).await,
            Err(ErrorCode::TokenAlreadyUsed)
        );
        assert!(rig.step(0, "read_file a", None).await.unwrap().autonomy.may_continue);

        for (operation, hash, session) in
            [("delete_bed", "h2", 0), ("delete_all", "h1", 0), ("delete_bed", "h1", 1)]
        {
            assert!(
                !core.take_approval(operation, hash, Some(rig.session(session))).await.unwrap()
            );
        }
        let take = || core.take_approval("delete_bed", "h1", Some(rig.session(0)));
        let taken = futures_util::future::join_all((0..8).map(|_| take())).await;
        assert_eq!(taken.into_iter().filter(|taken| *taken.as_ref().unwrap()).count(), 1);

        // A denial is an answer as well.
        core.request_approval(ask()).await.unwrap();
        let desk = ApprovalQueue(Arc::clone(core));
        let id = rig.people.requests().pop().unwrap().id;
        desk.decide(&id, false, Decider::from("test")).await.unwrap();
        assert!(!core.take_approval("delete_bed", "h1", Some(rig.session(0))).await.unwrap());
        assert!(rig.step(0, "read_file a", None).await.unwrap().autonomy.may_continue);
    });
}

#[test]
fn an_answer_reaches_the_agent_if_nobody_could_tell_it() {
    // REQ-AUT-15, REQ-GATE-10
    block_on(async {
        let rig = Rig::new();
        rig.begun(0).await;
        let core = &rig.process.core;
        let id = core
            .request_approval(ApprovalRequest {
                operation: "delete_bed",
                params_hash: "h1",
                session: Some(rig.session(0)),
                action: "delete_bed {}",
                reasons: Vec::new(),
                level: "destructive",
                expires_at: rig.now() + TimeDelta::seconds(60),
                ..ApprovalRequest::default()
            })
            .await
            .unwrap();
        let waiting = rig.store.get("safety_agents", "ada").await.unwrap().unwrap();
        assert!(!rig.step(0, "read_file a", None).await.unwrap().autonomy.may_continue);
        ApprovalQueue(Arc::clone(core)).decide(&id, false, Decider::from("test")).await.unwrap();
        // Simulates a process killed between the answer and the notification of the agent.
        let kept = NewRecord::new(waiting.value).group(waiting.group.unwrap());
        let change = Change::put("safety_agents", "ada", Expected::Any, kept);
        assert!(rig.store.write(vec![change]).await.unwrap());
        let step = rig.step(0, "read_file a", None).await.unwrap().autonomy;
        assert!(step.may_continue, "{step:?}");
    });
}

#[test]
fn an_approval_lasts_no_longer_because_the_clock_went_back() {
    // REQ-GATE-10
    block_on(async {
        let rig = Rig::new();
        let (core, session) = (&rig.process.core, Some(rig.session(0)));
        for (seconds, taken) in [(0, true), (-5, true), (-60, false), (301, false)] {
            let id = core
                .request_approval(ApprovalRequest {
                    operation: "delete_bed",
                    params_hash: "h1",
                    session,
                    action: "delete_bed {}",
                    reasons: Vec::new(),
                    level: "destructive",
                    expires_at: rig.now() + TimeDelta::seconds(60),
                    ..ApprovalRequest::default()
                })
                .await
                .unwrap();
            let desk = ApprovalQueue(Arc::clone(core));
            desk.decide(&id, true, Decider::from("test")).await.unwrap();
            rig.pass(seconds);
            let got = core.take_approval("delete_bed", "h1", session).await.unwrap();
            assert_eq!(got, taken, "after {seconds} seconds");
            rig.pass(1_000);
        }
    });
}

#[test]
fn a_renewed_request_is_about_the_call_that_it_was_about() {
    // REQ-GATE-10, REQ-AUT-16
    block_on(async {
        let rig = Rig::new();
        let (core, session) = (&rig.process.core, Some(rig.session(0)));
        let desk = ApprovalQueue(Arc::clone(core));
        let ask = |params_hash: &'static str, action: &'static str| {
            let expires_at = rig.now() + TimeDelta::seconds(60);
            let (operation, level) = ("delete_bed", "destructive");
            let reasons = Vec::new();
            ApprovalRequest {
                operation,
                params_hash,
                session,
                action,
                reasons,
                level,
                expires_at,
                ..ApprovalRequest::default()
            }
        };
        let shown = core.request_approval(ask("h1", "delete_bed 1")).await.unwrap();
        let other = core.request_approval(ask("h2", "delete_bed 2")).await.unwrap();
        desk.renew_code(&shown, Decider::from("test")).await.unwrap();
        let renewed = rig.people.requests().pop().unwrap();
        assert_eq!((&renewed.id, &*renewed.action), (&shown, "delete_bed 1"));
        // An approval on an outdated page applies only to the call shown there.
        desk.decide(&shown, true, Decider::from("test")).await.unwrap();
        assert!(!core.take_approval("delete_bed", "h2", session).await.unwrap());
        assert!(core.take_approval("delete_bed", "h1", session).await.unwrap());
        // A later request has another id, even for the same call, so the id on the page is invalid.
        let next = core.request_approval(ask("h1", "delete_bed 1")).await.unwrap();
        assert!(next != shown && next != other);
        desk.decide(&shown, true, Decider::from("test")).await.unwrap_err();
        desk.renew_code(&shown, Decider::from("test")).await.unwrap_err();
        assert!(!core.take_approval("delete_bed", "h1", session).await.unwrap());
        // The same applies to an agent's request. A renewed request has a new id.
        rig.begun(1).await;
        rig.step(1, "deploy_f now", None).await.unwrap();
        let old = rig.people.requests().pop().unwrap().id;
        desk.renew_code(&old, Decider::from("test")).await.unwrap();
        assert_ne!(rig.people.requests().pop().unwrap().id, old);
        desk.decide(&old, true, Decider::from("test")).await.unwrap_err();
    });
}

#[test]
fn an_operation_of_the_adapter_is_known_by_its_servers_name_too() {
    // REQ-DNG-11
    let rig = Rig::new();
    let core = &rig.process.core;
    core.set_operations(HashMap::from([(
        "close_valve".to_owned(),
        mcp_aql_protocol::DangerLevel::Dangerous,
    )]));
    for (hint, known) in [
        ("call close_valve now", true),
        ("call mcp__garden__close_valve now", true),
        ("call mcp__garden__open_valve now", false),
        ("call __ now", false),
    ] {
        assert_eq!(core.action(hint).operation().is_some(), known, "{hint}");
    }
}

#[test]
fn an_agent_without_a_session_is_known_to_execute_in_every_process() {
    // REQ-AUT-16, REQ-GATE-10
    block_on(async {
        let rig = Rig::new();
        let core = &rig.process.core;
        core.start(None, AGENTS[0], None).await.unwrap();
        let other = process(&rig.now, &rig.store, &rig.people);
        for core in [core, &other.core] {
            assert!(core.is_executing(None).await.unwrap());
            assert!(!core.is_executing(Some(rig.session(0))).await.unwrap());
        }
        for number in 1..MAX_AGENTS {
            rig.pass(2);
            core.start(None, &format!("a{number}"), None).await.unwrap();
        }
        let more = core.start(None, "more", None).await.unwrap_err();
        assert_eq!(more.code(), ErrorCode::PermissionDenied);
        core.start(None, "A1", None).await.unwrap();
    });
}

#[test]
fn a_start_that_nobody_can_be_asked_about_leaves_nothing_behind() {
    // REQ-LIF-03, REQ-LOOP-05
    block_on(async {
        let rig = Rig::new();
        let core = &rig.process.core;
        let mut refused = 0;
        for number in 0..100 {
            let name = format!("agent {number}");
            match core.start(Some(&Session::new()), &name, None).await {
                Ok(begun) => assert_eq!(begun.status, AgentExecutionStatus::Pending),
                Err(error) => {
                    assert_eq!(error.code(), ErrorCode::RateLimitExceeded);
                    assert!(core.state(&name).await.unwrap().is_none());
                    refused += 1;
                }
            }
        }
        assert_eq!(refused, 40);
    });
}

#[test]
fn a_name_is_as_long_as_a_key_at_most() {
    let rig = Rig::new();
    for (name, code) in [
        ("\u{1f600}".repeat(128), None),
        ("\u{1f600}".repeat(129), Some(ErrorCode::ValidationInvalidValue)),
        // Normalization makes the name longer: six bytes instead of three.
        ("\u{958}".repeat(85), None),
        ("\u{958}".repeat(86), Some(ErrorCode::ValidationInvalidValue)),
    ] {
        let begun = block_on(rig.process.core.start(Some(rig.session(0)), &name, None));
        assert_eq!(begun.err().map(|error| error.code()), code, "{name}");
    }
}

#[test]
fn no_block_is_hidden_behind_many_names() {
    // REQ-OOB-09, REQ-OOB-13
    block_on(async {
        let rig = Rig::new();
        rig.begun(2).await;
        rig.step(2, HINTS[4], None).await.unwrap();
        for number in 0..21 {
            for agent in 0..50 {
                let name = format!("a {number} {agent}");
                rig.process.core.start(Some(&Session::new()), &name, None).await.unwrap();
            }
            rig.pass(61);
        }
        let desk = ApprovalQueue(Arc::clone(&rig.process.core));
        let overview = desk.overview().await.unwrap();
        assert_eq!(overview.blocks.len(), 1);
        assert!(overview.agents.len() >= 1_000);
    });
}

/// A channel that cannot show requests.
struct Broken;

impl HumanChannel for Broken {
    fn name(&self) -> &'static str {
        "broken"
    }

    fn present<'a>(&'a self, _: &'a HumanRequest) -> BoxFuture<'a, Result<(), ChannelError>> {
        Box::pin(async { Err(ChannelError("there is nobody".into())) })
    }

    fn can_present(&self) -> bool {
        false
    }
}

fn adapter(channel: impl HumanChannel) -> mcp_aql_core::Adapter {
    let rules = SafetyLoop::new().deny(["drop_*"]).requires_approval(["deploy_*"]);
    mcp_aql_core::Adapter::builder("guard")
        .safety_loop(rules.channel(channel))
        .store(MemoryState::default())
        .without_config()
        .build()
        .unwrap()
}

/// Returns the data of a successful call.
async fn data(adapter: &mcp_aql_core::Adapter, operation: &str, params: Value) -> Value {
    let result = adapter.call(operation, params).await;
    assert!(result.is_success(), "{operation}: {result:?}");
    result.data().clone()
}

#[tokio::test]
async fn nobody_is_said_to_be_asked_who_cannot_be() {
    // REQ-AUT-01, REQ-CNF-09
    let adapter = adapter(Broken);
    let agent = json!({ "element_name": "ada" });
    let begun = data(&adapter, "execute_agent", agent).await;
    assert!(
        begun["next"].as_str().unwrap().contains("no channel of this adapter reaches"),
        "{begun}"
    );
    let deploy = json!({ "element_name": "ada", "next_action_hint": "deploy_f now" });
    let early = data(&adapter, "record_execution_step", deploy.clone()).await;
    let operator = adapter.operator().unwrap();
    operator.approve(begun["request_id"].as_str().unwrap(), "test").await.unwrap();
    let paused = data(&adapter, "record_execution_step", deploy.clone()).await;
    let held = data(&adapter, "record_execution_step", deploy).await;
    for reply in [early, paused, held] {
        let directive = &reply["autonomy"];
        assert_eq!(directive["continue"], false);
        let reason = directive["reason"].as_str().unwrap();
        assert!(reason.contains("No channel of this adapter reaches"), "{reason}");
        assert!(!directive.to_string().contains("was asked"), "{directive}");
        assert!(!mcp_aql_core::internal::text::leaks_internals(reason), "{reason}");
    }
}

#[tokio::test]
async fn the_desk_tells_a_block_whose_code_was_guessed_from_one_that_was_denied() {
    // REQ-OOB-06, REQ-OOB-13
    let adapter = adapter(MemoryChannel::default());
    let operator = adapter.operator().unwrap();
    let begun = data(&adapter, "execute_agent", json!({ "element_name": "ada" })).await;
    operator.approve(begun["request_id"].as_str().unwrap(), "test").await.unwrap();
    let drop = json!({ "element_name": "ada", "next_action_hint": "drop_table e" });
    let blocked = data(&adapter, "record_execution_step", drop).await;
    assert_eq!(blocked["autonomy"]["stopped"], true, "{blocked}");
    let asked = async || operator.overview().await.unwrap().requests.remove(0);
    let request = asked().await;
    assert_eq!((request.void, request.has_code), (None, true));
    let guess = json!({ "challenge_id": request.id, "code": "0000-0000" });
    assert!(!adapter.call("verify_challenge", guess).await.is_success());
    let request = asked().await;
    assert_eq!((request.void, request.has_code), (Some(VoidReason::WrongCode), false));
    let audit = operator.overview().await.unwrap().audit;
    let failed = audit.iter().find(|entry| entry["event"] == "CHALLENGE_FAILED").unwrap();
    assert!(failed["reason"].as_str().unwrap().contains("a wrong code was given"), "{failed}");

    operator.renew_code(&request.id, "test").await.unwrap();
    let request = asked().await;
    assert_eq!((request.void, request.has_code), (None, true));
    operator.deny(&request.id, "test").await.unwrap();
    assert_eq!(asked().await.void, Some(VoidReason::Denied));
}

#[test]
fn a_person_reads_each_reason_once() {
    let factors = ["step 1 of 50 without a person", "risk 95 of 100", "it contains 'drop'"];
    let factors = factors.map(str::to_owned);
    for (reason, others) in [
        ("The risk is 95 of 100", &["step 1 of 50 without a person", "it contains 'drop'"][..]),
        (
            "The risk is above 25",
            &["step 1 of 50 without a person", "risk 95 of 100", "it contains 'drop'"],
        ),
    ] {
        let expected: Vec<_> = [&[reason], others].concat();
        assert_eq!(super::evaluation::reasons_for_person(reason, &factors), expected);
    }
}
