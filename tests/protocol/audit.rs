//! Tests that the audit log names the caller of each event.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use chrono::DateTime;
use mcp_aql::auth::{Access, Principal};
use mcp_aql::gatekeeper::ByOperator as _;
use mcp_aql::operator::{
    ChannelError, HumanChannel, HumanRequest, MemoryChannel, Operator, OperatorAccess as _,
};
use mcp_aql::prelude::*;
use mcp_aql::rate_limits::{Metric, Quota, RateLimits};
use mcp_aql::safety_loop::SafetyLoop;
use mcp_aql::store::{Change, Expected, MemoryState, NewRecord, StateStore as _};
use mcp_aql::testing::TimeSource;
use mcp_aql::transport::{CallScope, Endpoint, Extensions};
use mcp_aql::{AdapterBuilder, BoxFuture, Policy};
use serde_json::{Value, json};

use crate::support::AuditLines;

/// Get the weather.
#[operation(category = "READ")]
async fn get_weather(context: Context) -> Result<(), OperationError> {
    context.report_upstream_response(429, &[("Retry-After", "9")]).await
}

/// List the beds.
#[operation(category = "READ")]
fn list_beds() {}

/// Delete a bed.
#[operation(category = "DELETE", danger(level = "destructive"))]
fn delete_bed() {}

/// Flood a bed.
#[operation(category = "EXECUTE")]
fn flood_bed() {}

/// Execute an export.
#[operation(category = "EXECUTE", lifecycle(retry))]
async fn execute_export() -> Result<(), OperationError> {
    Err(OperationError::wrong_state("export", "stopped", [""; 0]))
}

/// A channel that shows nothing.
struct BrokenChannel;

impl HumanChannel for BrokenChannel {
    fn name(&self) -> &'static str {
        "broken"
    }

    fn present<'a>(&'a self, _: &'a HumanRequest) -> BoxFuture<'a, Result<(), ChannelError>> {
        Box::pin(async { Err(ChannelError("there is nobody".into())) })
    }
}

/// An authenticated caller of an adapter.
struct Caller {
    adapter: Adapter,
    session: Session,
}

impl Caller {
    fn new(with: impl FnOnce(AdapterBuilder) -> AdapterBuilder) -> Self {
        let builder = Adapter::builder("garden")
            .access(Access::new().category_scopes(false))
            .operation(get_weather {})
            .operation(list_beds {})
            .operation(delete_bed {})
            .operation(flood_bed {})
            .operation(execute_export {})
            .without_config();
        Self { adapter: with(builder).build().unwrap(), session: Session::new() }
    }

    /// Calls an operation. Returns the data or the details of the error.
    async fn call(&self, operation: &str, params: Value) -> Value {
        let mut extensions = Extensions::default();
        extensions.insert(Principal::new("https://login.test", "ada"));
        let session = Some(self.session.clone());
        let scope = CallScope { session, extensions, ..CallScope::default() };
        let call = json!({ "operation": operation, "params": params });
        let call = call.as_object().cloned().unwrap();
        let reply = self.adapter.handle(Endpoint::Unified, call, scope).await;
        let reply: Value = serde_json::from_str(&reply.text).unwrap();
        match reply.get("error") {
            Some(error) => error["details"].clone(),
            None => reply["data"].clone(),
        }
    }

    fn operator(&self) -> Operator {
        self.adapter.operator().unwrap()
    }

    /// Approves or denies the latest request.
    async fn decide(&self, people: &MemoryChannel, approve: bool) {
        let id = people.requests().pop().unwrap().id;
        match approve {
            true => self.operator().approve(&id, "test").await.unwrap(),
            false => self.operator().deny(&id, "test").await.unwrap(),
        }
    }
}

async fn use_gates(caller: &Caller, people: &MemoryChannel) {
    caller.call("list_beds", json!({})).await;
    // The wrapped API rejects the first call, and the adapter rejects the second one.
    for _ in 0..2 {
        caller.call("get_weather", json!({})).await;
    }
    let asked = caller.call("delete_bed", json!({})).await;
    let token = asked["confirmation_token"].as_str().unwrap();
    for token in ["conf_AAAAAAAA", token, token] {
        caller.call("delete_bed", json!({ "_confirmation": token })).await;
    }
    let asked = caller.call("delete_bed", json!({})).await;
    let token = asked["confirmation_token"].as_str().unwrap();
    assert!(caller.adapter.revoke_confirmation(token).await.unwrap());
    for approve in [false, true] {
        caller.call("flood_bed", json!({})).await;
        caller.decide(people, approve).await;
        caller.call("flood_bed", json!({})).await;
    }
    let begun = caller.call("execute_export", json!({})).await;
    let id = begun["execution_id"].clone();
    caller.call("get_execution", json!({ "execution_id": id, "wait_seconds": 5 })).await;
    caller.call("retry_execution", json!({ "execution_id": id })).await;
    caller.call("get_execution", json!({ "execution_id": id, "wait_seconds": 5 })).await;
}

async fn use_quotas(lines: &AuditLines) {
    let quota = Quota::new(Metric::RequestsPerHour).warn(1).pause(2).hard_stop(3);
    let limits = RateLimits::new().quota(quota);
    let store = Arc::new(MemoryState::default());
    let (shared, log) = (Arc::clone(&store), lines.clone());
    let caller = Caller::new(|builder| builder.rate_limits(limits).store(shared).audit_sink(log));
    for _ in 0..2 {
        caller.call("list_beds", json!({})).await;
    }
    let paused = caller.call("list_beds", json!({})).await;
    let token = paused["confirmation_token"].clone();
    for _ in 0..2 {
        caller.call("list_beds", json!({ "_quota_continue": token })).await;
    }
    let record = Change::put("limits", "garden", Expected::Any, NewRecord::new("[]"));
    assert!(store.write(vec![record]).await.unwrap());
    caller.call("list_beds", json!({})).await;
}

async fn use_safety_loop(caller: &Caller, people: &MemoryChannel, seconds: &AtomicI64) {
    let agent = |name: &str| json!({ "element_name": name });
    let step = |hint: &str| json!({ "element_name": "mover", "next_action_hint": hint });
    // The first request for the start expires.
    caller.call("execute_agent", agent("mover")).await;
    seconds.fetch_add(301, Ordering::SeqCst);
    caller.call("execute_agent", agent("mover")).await;
    caller.call("confirm_operation", json!({ "confirmation_token": "WRONG" })).await;
    let id = people.requests().pop().unwrap().id;
    assert!(caller.operator().code(&id).await.is_some());
    caller.decide(people, true).await;
    for hint in ["read_file a", "drop_table users", "read_file a"] {
        caller.call("record_execution_step", step(hint)).await;
    }
    caller.call("execute_agent", agent("other")).await;
    let id = people.requests().pop().unwrap().id;
    for id in ["unknown", id.as_str()] {
        caller.call("verify_challenge", json!({ "challenge_id": id, "code": "WRONG" })).await;
    }
    caller.operator().unblock("mover", "test").await.unwrap();
    caller.call("complete_execution", agent("mover")).await;
}

#[tokio::test]
async fn each_event_that_a_caller_causes_names_the_principal() {
    // REQ-GATE-09, REQ-TOK-16, REQ-RATE-07, REQ-OOB-12
    let (lines, people) = (AuditLines::default(), MemoryChannel::default());
    let seconds = Arc::new(AtomicI64::new(1_900_000_000));
    let clock = Arc::clone(&seconds);
    let time =
        TimeSource::new(move || DateTime::from_timestamp(clock.load(Ordering::SeqCst), 0).unwrap());
    let caller = Caller::new(|builder| {
        let safety_loop = SafetyLoop::new().deny(["drop_*"]).channel(BrokenChannel);
        builder
            .policy(Policy::confirm("flood_bed").by_operator())
            .safety_loop(safety_loop.channel(people.clone()))
            .rate_limits(RateLimits::new())
            .store(MemoryState::default())
            .audit_sink(lines.clone())
            .time_source(time)
    });
    use_gates(&caller, &people).await;
    use_quotas(&lines).await;
    use_safety_loop(&caller, &people, &seconds).await;
    let lines = lines.0.lock().unwrap();
    for line in &*lines {
        // An operator looks at a code.
        let by_operator = line["event"] == "CODE_REVEALED";
        let principal = if by_operator { Value::Null } else { json!("https://login.test ada") };
        assert_eq!(line["principal"], principal, "{line}");
        assert_eq!(line["session"].is_string(), !by_operator, "{line}");
    }
    let events: BTreeSet<_> = lines.iter().map(|line| line["event"].as_str().unwrap()).collect();
    let expected = [
        "AGENT_BLOCKED",
        "AGENT_UNBLOCKED",
        "CHALLENGE_EXPIRED",
        "CHALLENGE_FAILED",
        "CHALLENGE_ISSUED",
        "CHALLENGE_NOT_SHOWN",
        "CHALLENGE_VERIFIED",
        "CODE_REVEALED",
        "CONFIRMATION_FAILED",
        "CONFIRMATION_GRANTED",
        "CONFIRMATION_REQUIRED",
        "EXECUTION_DENIED",
        "EXECUTION_ENDED",
        "EXECUTION_FAILED",
        "EXECUTION_RETRIED",
        "EXECUTION_STARTED",
        "LIMIT_EXCEEDED",
        "LIMIT_UNREADABLE",
        "OPERATION_ALLOWED",
        "OPERATION_DENIED",
        "QUOTA_CONTINUED",
        "QUOTA_EXHAUSTED",
        "QUOTA_PAUSED",
        "QUOTA_WARNING",
        "REQUEST_DENIED",
        "STEP_EVALUATED",
        "TOKEN_ISSUED",
        "TOKEN_REJECTED",
        "TOKEN_REVOKED",
        "TOKEN_VALIDATED",
    ];
    assert_eq!(events, BTreeSet::from(expected));
}
