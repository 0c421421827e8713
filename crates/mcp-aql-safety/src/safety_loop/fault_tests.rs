//! Tests with failing stores, concurrent calls, and safety loops that share a session or a store.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use chrono::{TimeDelta, Utc};
use futures_util::future::join_all;
use mcp_aql_core::internal::gatekeeper::{ApprovalRequest, Condition};
use mcp_aql_core::internal::operation::{CallScope, ParameterEntry};
use mcp_aql_core::internal::router::Endpoint;
use mcp_aql_core::store::hooked::{Hook, Hooked, HookedCall};
use mcp_aql_core::store::{Change, Expected, StateStore, StoreError};
use mcp_aql_core::table::{OperationEntry, OperationSpec, ParameterSpec};
use mcp_aql_core::transport::Reply;
use mcp_aql_core::{
    Adapter, AdapterBuilder, ErrorCode, Operations, Policy, SemanticCategory, Session,
};
use serde_json::{Map, Value, json};

use super::SafetyLoop;
use super::agent_state::AgentExecutionStatus;
use super::operation_handlers::StepReport;
use super::runtime::SafetyCore;
use crate::ByOperator as _;
use crate::human_channel::{Decider, MemoryChannel};
use crate::operator::OperatorAccess as _;
use crate::safety_loop::WithSafetyLoop as _;

/// A store shared by several adapters.
type Odd = Arc<Hooked<Failing>>;

/// Yields before each access like a database, and fails on demand.
#[derive(Default)]
struct Failing {
    fails: AtomicBool,
    /// If `true`, the store fails after the next write.
    breaks: AtomicBool,
}

impl Hook for Failing {
    type Held = ();

    async fn before(&self, access: HookedCall) -> Result<(), StoreError> {
        tokio::task::yield_now().await;
        if self.fails.load(Ordering::Relaxed) {
            return Err(StoreError::failed("the disk is gone"));
        }
        if access == HookedCall::Write && self.breaks.swap(false, Ordering::Relaxed) {
            self.fails.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

impl Failing {
    fn fail(&self, fails: bool) {
        self.fails.store(fails, Ordering::Relaxed);
    }

    fn break_after_a_write(&self) {
        self.breaks.store(true, Ordering::Relaxed);
    }
}

struct Garden;

impl Operations for Garden {
    const OPERATIONS: &'static [OperationEntry<Self>] =
        &[OperationEntry::new(
            OperationSpec::new("water_bed", SemanticCategory::Execute, "Water a bed.").parameters(
                const {
                    &[ParameterEntry::One(ParameterSpec::optional::<bool>(
                        "all",
                        "Its soil as well.",
                    ))]
                },
            ),
            |_, call| Box::pin(async move { call.reply(()) }),
        )];
}

fn builder(store: &Odd) -> AdapterBuilder {
    asking(store, &MemoryChannel::default())
}

fn asking(store: &Odd, people: &MemoryChannel) -> AdapterBuilder {
    Adapter::builder("garden")
        .operations(Garden)
        .safety_loop(SafetyLoop::new().deny(["drop_*"]).channel(people.clone()))
        .store(store.clone())
        .without_config()
}

fn adapter(store: &Odd) -> Adapter {
    builder(store).build().unwrap()
}

fn core(adapter: &Adapter) -> &Arc<SafetyCore> {
    crate::safety_core(adapter).unwrap()
}

/// Starts an agent in this session, and blocks it.
async fn block(adapter: &Adapter, session: Option<&Session>) {
    let begun = core(adapter).start(session, "Ada", None).await.unwrap();
    let operator = adapter.operator().unwrap();
    operator.approve(&begun.request_id.unwrap(), "test").await.unwrap();
    let step = StepReport {
        agent: "Ada".to_owned(),
        hint: "drop_table users".to_owned(),
        description: None,
        outcome: None,
        findings: None,
    };
    let stopped = core(adapter).step(session, &step).await.unwrap();
    assert_eq!(stopped.autonomy.stopped, Some(true));
}

async fn call(adapter: &Adapter, session: Option<&Session>, params: Value) -> Reply {
    let mut arguments = Map::new();
    arguments.insert("operation".to_owned(), "water_bed".into());
    arguments.insert("params".to_owned(), params);
    let scope = CallScope { session: session.cloned(), ..CallScope::default() };
    adapter.handle(Endpoint::Unified, arguments, scope).await
}

/// Returns the error code of a call. `None` if it was admitted.
async fn clear(adapter: &Adapter, session: Option<&Session>) -> Option<ErrorCode> {
    call(adapter, session, json!({})).await.code
}

#[tokio::test]
async fn callers_without_a_session_are_blocked_together_however_they_call() {
    // REQ-OOB-08
    let store = Odd::default();
    let (one, other) = (adapter(&store), adapter(&store));
    for adapter in [&one, &other] {
        assert_eq!(clear(adapter, None).await, None);
    }
    block(&one, None).await;
    for adapter in [&one, &other] {
        let calls = (0..8).map(|_| clear(adapter, None));
        let refused = join_all(calls).await;
        assert_eq!(refused, [Some(ErrorCode::PermissionDenied); 8]);
        store.hook.fail(true);
        assert_eq!(clear(adapter, None).await, Some(ErrorCode::InternalError));
        store.hook.fail(false);
        assert_eq!(clear(adapter, None).await, Some(ErrorCode::PermissionDenied));
        assert_eq!(clear(adapter, Some(&Session::new())).await, None, "it is none of theirs");
    }
    one.operator().unwrap().unblock("Ada", "test").await.unwrap();
    assert_eq!(clear(&other, None).await, None);
}

#[tokio::test]
async fn one_loop_forgets_nothing_because_another_one_does_not_know_it() {
    // REQ-OOB-08
    let (one, other, session) =
        (adapter(&Odd::default()), adapter(&Odd::default()), Session::new());
    block(&one, Some(&session)).await;
    assert_eq!(clear(&other, Some(&session)).await, None);
    assert_eq!(clear(&one, Some(&session)).await, Some(ErrorCode::PermissionDenied));
}

#[tokio::test(start_paused = true)]
async fn what_a_session_had_ends_also_when_the_store_fails_meanwhile() {
    // REQ-LIF-10
    let (store, session) = (Odd::default(), Session::new());
    let adapter = adapter(&store);
    core(&adapter).start(Some(&session), "Ada", None).await.unwrap();
    store.hook.fail(true);
    session.end();
    tokio::time::sleep(Duration::from_secs(1)).await;
    store.hook.fail(false);
    tokio::time::sleep(Duration::from_secs(5)).await;
    let state = core(&adapter).state("Ada").await.unwrap().unwrap();
    assert_eq!(state.execution.unwrap().status, AgentExecutionStatus::Cancelled);
}

#[tokio::test]
async fn what_a_process_left_behind_is_settled_though_the_store_fails_at_first() {
    // REQ-LIF-10
    let store = Odd::default();
    let gone = adapter(&store);
    core(&gone).start(Some(&Session::new()), "Ada", None).await.unwrap();
    for record in store.list("safety_processes", None, None, 9).await.unwrap() {
        let removed = Change::remove("safety_processes", record.key, Expected::Any);
        assert!(store.write(vec![removed]).await.unwrap());
    }
    let next = adapter(&store);
    store.hook.fail(true);
    assert!(core(&next).store().await.is_err());
    store.hook.fail(false);
    core(&next).store().await.unwrap();
    let state = core(&next).state("Ada").await.unwrap().unwrap();
    assert_eq!(state.execution.unwrap().status, AgentExecutionStatus::Cancelled);
}

#[tokio::test]
async fn what_was_approved_just_now_is_not_asked_again() {
    // REQ-GATE-10
    let adapter = adapter(&Odd::default());
    let (core, session) = (core(&adapter), Session::new());
    let ask = || ApprovalRequest {
        operation: "water_bed",
        params_hash: "h",
        session: Some(&session),
        action: "clear_bed {}",
        reasons: Vec::new(),
        level: "reversible",
        expires_at: Utc::now() + TimeDelta::seconds(60),
        ..ApprovalRequest::default()
    };
    let id = core.request_approval(ask()).await.unwrap();
    adapter.operator().unwrap().approve(&id, "test").await.unwrap();
    // A call that read the state before the approval was stored.
    assert_eq!(core.request_approval(ask()).await.unwrap(), id);
    assert!(core.approval("water_bed", "h", Some(&session)).await.unwrap().is_some());
}

#[tokio::test]
async fn what_a_caller_confirms_for_its_session_no_person_has_confirmed() {
    // REQ-GATE-08, REQ-AUT-16
    let (hour, session) = (Duration::from_secs(3_600), Session::new());
    let all = Condition::equals("all", true);
    let adapter = builder(&Odd::default())
        .policy(Policy::confirm("water_bed").for_session(hour))
        .policy(Policy::confirm("water_bed").for_session(hour).by_operator().when(all))
        .build()
        .unwrap();
    let (session, operator) = (Some(&session), adapter.operator().unwrap());
    let asked = call(&adapter, session, json!({})).await;
    assert_eq!(asked.code, Some(ErrorCode::ConfirmationRequired));
    let asked: Value = serde_json::from_str(&asked.text).unwrap();
    let token = &asked["error"]["details"]["confirmation_token"];
    assert_eq!(call(&adapter, session, json!({ "_confirmation": token })).await.code, None);
    assert_eq!(clear(&adapter, session).await, None, "once is enough");
    let whole = || json!({ "all": true });
    assert_eq!(call(&adapter, session, whole()).await.code, Some(ErrorCode::PermissionDenied));
    let request = operator.overview().await.unwrap().requests.remove(0);
    operator.approve(&request.id, "test").await.unwrap();
    for _ in 0..2 {
        assert_eq!(call(&adapter, session, whole()).await.code, None, "now a person has");
    }
}

#[tokio::test]
async fn people_are_asked_and_answer_though_the_store_fails_behind_it() {
    // REQ-GATE-09, REQ-GATE-10, REQ-AUT-15
    let (store, people, session) = (Odd::default(), MemoryChannel::default(), Session::new());
    let adapter = asking(&store, &people).build().unwrap();
    let (core, operator) = (core(&adapter), adapter.operator().unwrap());
    let begun = core.start(Some(&session), "Ada", None).await.unwrap();
    operator.approve(&begun.request_id.unwrap(), "test").await.unwrap();
    let ask = || ApprovalRequest {
        operation: "water_bed",
        params_hash: "h",
        session: Some(&session),
        action: "clear_bed {}",
        reasons: Vec::new(),
        level: "reversible",
        expires_at: Utc::now() + TimeDelta::seconds(60),
        ..ApprovalRequest::default()
    };
    store.hook.break_after_a_write();
    assert!(core.request_approval(ask()).await.is_err());
    let shown = people.requests().pop().unwrap();
    assert_eq!(shown.action, "clear_bed {}");
    store.hook.fail(false);
    assert_eq!(core.request_approval(ask()).await.unwrap(), shown.id);
    let waiting = async || core.state("Ada").await.unwrap().unwrap().waiting();
    assert_eq!(waiting().await, 1);

    store.hook.break_after_a_write();
    operator.approve(&shown.id, "test").await.unwrap();
    store.hook.fail(false);
    let overview = operator.overview().await.unwrap();
    assert!(overview.requests.is_empty());
    let verified = |entry: &&Value| entry["challenge_id"] == shown.id.as_str();
    let entry = overview.audit.iter().find(verified).unwrap();
    assert_eq!(entry["event"], "CHALLENGE_VERIFIED");
    assert_eq!(people.withdrawn().last(), Some(&shown.id));
    let step = StepReport {
        agent: "Ada".to_owned(),
        hint: "read_file a".to_owned(),
        description: None,
        outcome: None,
        findings: None,
    };
    let step = core.step(Some(&session), &step).await.unwrap();
    assert!(step.autonomy.may_continue, "{step:?}");
}

#[tokio::test]
async fn an_operator_stops_a_running_agent_from_any_process() {
    // REQ-OOB-08, REQ-OOB-09
    let store = Odd::default();
    let (one, other, session) = (adapter(&store), adapter(&store), Session::new());
    session.introduce("cursor 1.7.2");
    let step = || StepReport {
        agent: "Ada".to_owned(),
        hint: "read_file notes.txt".to_owned(),
        description: None,
        outcome: None,
        findings: None,
    };
    let begun = core(&one).start(Some(&session), "Ada", None).await.unwrap();
    let id = begun.request_id.unwrap();
    for (adapter, elsewhere) in [(&one, false), (&other, true)] {
        let operator = adapter.operator().unwrap();
        if !elsewhere {
            let pending = operator.stop("Ada", "test").await.unwrap_err();
            assert_eq!(pending.code(), ErrorCode::NotFoundResource, "it does not run yet");
            operator.approve(&id, "test").await.unwrap();
        }
        let directive = core(&one).step(Some(&session), &step()).await.unwrap().autonomy;
        assert!(directive.may_continue, "{directive:?}");
        let view = operator.overview().await.unwrap().agents.remove(0);
        assert_eq!(view.client.as_deref(), Some("cursor 1.7.2"));
        assert_eq!(view.session.as_deref(), Some(session.id()));

        operator.stop("ada", Decider::from("console").operator("bo")).await.unwrap();
        assert!(operator.stop("Ada", "test").await.is_err(), "it is blocked already");
        let overview = operator.overview().await.unwrap();
        let block = &overview.blocks[0];
        assert!(block.stopped && block.action == "read_file notes.txt", "{block:?}");
        let entry = overview.audit.iter().find(|entry| entry["event"] == "AGENT_BLOCKED").unwrap();
        assert_eq!((&entry["operator"], &entry["decided_by"]), (&json!("bo"), &json!("console")));

        // The session cannot call this adapter either. Other processes learn of the block with their next heartbeat.
        if elsewhere {
            let store = core(&one).store().await.unwrap();
            core(&one).sweep(store).await.unwrap();
        }
        assert_eq!(clear(&one, Some(&session)).await, Some(ErrorCode::PermissionDenied));
        let refused = core(&one).step(Some(&session), &step()).await.unwrap_err();
        assert_eq!(refused.code(), ErrorCode::PermissionDenied, "{refused}");
        operator.unblock("Ada", "test").await.unwrap();
    }

    let logging = builder(&Odd::default()).safety_loop(
        SafetyLoop::new().mode(super::LoopMode::Logging).channel(MemoryChannel::default()),
    );
    let logging = logging.build().unwrap();
    let error = logging.operator().unwrap().stop("Ada", "test").await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::PermissionDenied, "nothing is enforced");
}
