//! Tests the rights of a session with a blocked agent, and the persistence of blocks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use mcp_aql::operator::MemoryChannel;
use mcp_aql::operator::OperatorAccess as _;
use mcp_aql::safety_loop::WithSafetyLoop as _;
use mcp_aql::safety_loop::{LoopMode, SafetyLoop};
use mcp_aql::store::MemoryState;
use mcp_aql::table::{LifecycleSpec, OperationEntry, OperationSpec, ReturnsSpec};
use mcp_aql::transport::{CallScope, Endpoint};
use mcp_aql::{Adapter, OperationError, Operations, SemanticCategory, Session};
use serde_json::{Value, json};

use crate::support::{ask_in, code, data, details};

/// Counts the executed operations.
#[derive(Clone, Default)]
struct Garden(Arc<AtomicU32>);

macro_rules! operation {
    ($name:literal, $category:ident) => {
        OperationEntry::new(
            OperationSpec::new($name, SemanticCategory::$category, "Do something in a garden."),
            |garden: &Garden, call| {
                Box::pin(async move { call.reply(garden.0.fetch_add(1, Ordering::SeqCst)) })
            },
        )
    };
}

impl Operations for Garden {
    const OPERATIONS: &'static [OperationEntry<Self>] = &[
        operation!("list_beds", Read),
        operation!("create_bed", Create),
        operation!("delete_bed", Delete),
        operation!("water_beds", Execute),
        OperationEntry::new(
            OperationSpec::new("dig_beds", SemanticCategory::Execute, "Do what takes its time.")
                .returns(ReturnsSpec::of::<Result<Value, OperationError>, _>())
                .lifecycle(LifecycleSpec::new(true, true, false)),
            |_, call| Box::pin(async move { call.reply(json!({})) }),
        ),
    ];
}

struct Guarded {
    adapter: Adapter,
    people: MemoryChannel,
    done: Arc<AtomicU32>,
}

impl Guarded {
    fn new(mode: LoopMode, store: &Arc<MemoryState>) -> Self {
        let (people, garden) = (MemoryChannel::default(), Garden::default());
        let done = Arc::clone(&garden.0);
        let safety = SafetyLoop::new()
            .mode(mode)
            .deny(["drop_*"])
            .auto_approve(["read_*"])
            .channel(people.clone());
        let adapter = Adapter::builder("garden")
            .operations(garden)
            .safety_loop(safety)
            .store(Arc::clone(store))
            .without_config()
            .build()
            .unwrap();
        Self { adapter, people, done }
    }

    fn call(&self, session: Option<&Session>, operation: &str, params: Value) -> Value {
        let scope = CallScope { session: session.cloned(), ..CallScope::default() };
        let arguments = json!({ "operation": operation, "params": params });
        ask_in(&self.adapter, Endpoint::Unified, arguments, scope)
    }

    /// Starts an agent and reports an action that will be denied.
    fn block(&self, session: Option<&Session>, agent: &str) {
        data(self.call(session, "execute_agent", json!({ "element_name": agent })));
        if let Some(code) = self.people.last_code() {
            data(self.call(session, "confirm_operation", json!({ "confirmation_token": code })));
        }
        self.report(session, agent, "drop_table users");
    }

    fn report(&self, session: Option<&Session>, agent: &str, action: &str) -> Value {
        let params = json!({ "element_name": agent, "next_action_hint": action });
        self.call(session, "record_execution_step", params)
    }

    fn verify(&self, session: Option<&Session>) {
        let requests = self.people.requests();
        let request = requests.last().unwrap();
        let params = json!({ "challenge_id": request.id, "code": request.code.reveal() });
        data(self.call(session, "verify_challenge", params));
    }

    /// Asserts that operations with effects are rejected while an agent of the session is blocked.
    #[track_caller]
    fn assert_refused(&self, session: Option<&Session>) {
        let done = self.done.load(Ordering::SeqCst);
        for operation in ["create_bed", "delete_bed", "water_beds", "dig_beds"] {
            let reply = self.call(session, operation, json!({}));
            assert_eq!(code(&reply), Some("PERMISSION_DENIED"), "{operation}: {reply}");
            assert_eq!(details(&reply)["reason"], "blocked", "{reply}");
            let challenge = self.people.requests().last().unwrap().id.clone();
            assert_eq!(details(&reply)["challenge_id"], challenge, "{reply}");
        }
        assert_eq!(self.done.load(Ordering::SeqCst), done, "nothing was done");
    }

    #[track_caller]
    fn assert_runs(&self, session: Option<&Session>) {
        let done = self.done.load(Ordering::SeqCst);
        data(self.call(session, "create_bed", json!({})));
        assert_eq!(self.done.load(Ordering::SeqCst), done + 1);
    }
}

#[test]
fn a_blocked_agents_session_may_only_read_until_a_person_lifts_the_block() {
    // REQ-OOB-08, REQ-LOOP-09
    for session in [Some(Session::new()), None] {
        let guarded = Guarded::new(LoopMode::Enforcing, &Arc::default());
        let here = session.as_ref();
        guarded.assert_runs(here);
        guarded.block(here, "tidy");
        guarded.assert_refused(here);
        // Reading has no effect and is allowed, so that the agent can report its situation.
        data(guarded.call(here, "list_beds", json!({})));
        data(guarded.call(here, "introspect", json!({ "query": "operations" })));
        // Canceling stops work, so it is allowed. Retrying is not.
        let params = json!({ "execution_id": "e-1" });
        let cancelled = guarded.call(here, "cancel_execution", params.clone());
        assert_eq!(code(&cancelled), Some("NOT_FOUND_RESOURCE"), "{cancelled}");
        let retried = guarded.call(here, "retry_execution", params);
        assert_eq!(code(&retried), Some("PERMISSION_DENIED"), "{retried}");
        guarded.assert_runs(Some(&Session::new()));
        guarded.verify(here);
        guarded.assert_runs(here);
    }
}

#[test]
fn items_of_a_batch_are_rejected_individually() {
    // REQ-OOB-08
    let guarded = Guarded::new(LoopMode::Enforcing, &Arc::default());
    let session = Session::new();
    guarded.block(Some(&session), "tidy");
    let items: Vec<_> = ["create_bed", "list_beds"]
        .map(|operation| json!({ "operation": operation, "params": {} }))
        .into();
    let scope = CallScope { session: Some(session), ..CallScope::default() };
    let reply = ask_in(&guarded.adapter, Endpoint::Unified, json!({ "operations": items }), scope);
    assert_eq!(reply["results"][0]["result"]["error"]["code"], "PERMISSION_DENIED", "{reply}");
    assert_eq!(reply["results"][1]["result"]["success"], true, "{reply}");
}

#[test]
fn a_block_outlives_process_and_session() {
    // REQ-OOB-08
    let store = Arc::<MemoryState>::default();
    Guarded::new(LoopMode::Enforcing, &store).block(Some(&Session::new()), "tidy");

    let later = Guarded::new(LoopMode::Enforcing, &store);
    let session = Session::new();
    // The new process cannot know yet that this session belongs to the blocked agent.
    later.assert_runs(Some(&session));
    let reply = later.call(Some(&session), "execute_agent", json!({ "element_name": "tidy" }));
    assert_eq!(details(&reply)["reason"], "blocked", "{reply}");
    let refused = later.call(Some(&session), "create_bed", json!({}));
    assert_eq!(details(&refused)["challenge_id"], details(&reply)["challenge_id"], "{refused}");
    let other = later.call(Some(&session), "execute_agent", json!({ "element_name": "other" }));
    assert_eq!(details(&other)["reason"], "blocked", "another name is no way out: {other}");

    let operator = later.adapter.operator().unwrap();
    crate::support::block_on(operator.unblock("tidy", "test")).unwrap();
    later.assert_runs(Some(&session));
}

#[test]
fn without_sessions_a_block_outlives_the_process_too() {
    // REQ-OOB-08
    let store = Arc::<MemoryState>::default();
    Guarded::new(LoopMode::Enforcing, &store).block(None, "tidy");
    let later = Guarded::new(LoopMode::Enforcing, &store);
    assert_eq!(code(&later.call(None, "create_bed", json!({}))), Some("PERMISSION_DENIED"));
    let operator = later.adapter.operator().unwrap();
    crate::support::block_on(operator.unblock("tidy", "test")).unwrap();
    later.assert_runs(None);
}

#[test]
fn other_modes_reject_no_action() {
    // REQ-LOOP-11
    for mode in [LoopMode::Monitoring, LoopMode::Logging, LoopMode::Disabled] {
        let guarded = Guarded::new(mode, &Arc::default());
        let session = Session::new();
        guarded.block(Some(&session), "tidy");
        guarded.assert_runs(Some(&session));
    }
}

#[test]
fn a_safety_loop_stores_blocks_in_a_file_or_reports_why_it_cannot() {
    // REQ-OOB-08
    let safety = || SafetyLoop::new().channel(MemoryChannel::default());
    let built = |name: &str| Adapter::builder(name).safety_loop(safety()).without_config().build();
    let problems = built("no/folder").unwrap_err().to_string();
    assert!(problems.contains("cannot be the name of a folder"), "{problems}");
    assert!(problems.contains("add a `.store(…)`"), "{problems}");
    // The file is only created when it is needed.
    built("mcp-aql-test").unwrap();
    let name = Adapter::builder("no/folder").without_config();
    name.store(MemoryState::default()).safety_loop(safety()).build().unwrap();
}
