//! Tests that the audit log records who allowed an action, and what exactly was run.

use mcp_aql_core::Adapter;
use mcp_aql_core::store::MemoryState;
use serde_json::{Value, json};

use super::{SafetyLoop, WithSafetyLoop as _};
use crate::human_channel::{Decider, MemoryChannel, Operator};
use crate::operator::OperatorAccess as _;

const PUSH: &str = "git push https://ada:hunter2@example.org/app main";

struct Log {
    adapter: Adapter,
    operator: Operator,
}

impl Log {
    fn new() -> Self {
        let rules = SafetyLoop::new().deny(["drop_*"]).requires_approval(["git push*"]);
        let adapter = Adapter::builder("guard")
            .safety_loop(rules.channel(MemoryChannel::default()))
            .store(MemoryState::default())
            .without_config()
            .build()
            .unwrap();
        let operator = adapter.operator().unwrap();
        Self { adapter, operator }
    }

    async fn data(&self, operation: &str, params: Value) -> Value {
        let result = self.adapter.call(operation, params).await;
        assert!(result.is_success(), "{operation}: {result:?}");
        result.data().clone()
    }

    /// Starts an agent whose parameters contain a secret.
    async fn begin(&self) -> String {
        let parameters = json!({ "task": "release", "api_key": "k-0123456789" });
        let params = json!({ "element_name": "tidy", "parameters": parameters });
        let begun = self.data("execute_agent", params).await;
        begun["request_id"].as_str().unwrap().to_owned()
    }

    async fn report(&self, action: &str) {
        let params = json!({ "element_name": "tidy", "next_action_hint": action });
        self.data("record_execution_step", params).await;
    }

    /// Returns the id of the only open request.
    async fn request(&self) -> String {
        self.operator.overview().await.unwrap().requests.remove(0).id
    }

    /// Returns the entries with this event and outcome, from oldest to newest.
    async fn entries(&self, event: &str, outcome: &str) -> Vec<Value> {
        let mut audit = self.operator.overview().await.unwrap().audit;
        audit.reverse();
        audit.retain(|entry| entry["event"] == event && entry["outcome"] == outcome);
        audit
    }
}

fn ada() -> Decider {
    Decider::from("console").operator("ada")
}

#[tokio::test]
async fn says_who_allowed_an_action_and_what_ran() {
    // REQ-GATE-09, REQ-OOB-12
    let log = Log::new();
    let start = log.begin().await;
    log.operator.approve(&start, Decider::from("chat")).await.unwrap();
    log.report(PUSH).await;
    let request = log.request().await;
    log.operator.approve(&request, ada()).await.unwrap();
    log.report(PUSH).await;

    let logged = "git push https://ada:[redacted]@example.org/app main";
    for (event, outcome, by) in [
        ("STEP_EVALUATED", "paused", [Value::Null, Value::Null]),
        ("CHALLENGE_ISSUED", "issued", [Value::Null, Value::Null]),
        ("CHALLENGE_VERIFIED", "confirmed", ["console".into(), "ada".into()]),
        ("STEP_EVALUATED", "allowed", ["console".into(), "ada".into()]),
    ] {
        let entry = log.entries(event, outcome).await.pop().unwrap();
        assert_eq!(entry["action"], logged, "{entry}");
        assert_eq!(entry["challenge_id"], request.as_str(), "{entry}");
        assert_eq!([&entry["decided_by"], &entry["operator"]], [&by[0], &by[1]], "{entry}");
        assert_eq!(entry["agent"], "tidy", "{entry}");
    }

    // A start has its parameters. A channel without names of people records only its own name.
    let started = log.entries("EXECUTION_STARTED", "pending").await.remove(0);
    assert_eq!(
        started["action"],
        r#"Start agent 'tidy' with parameters {"api_key":[redacted],"task":"release"}"#
    );
    let allowed = log.entries("CHALLENGE_VERIFIED", "confirmed").await.remove(0);
    assert_eq!(allowed["challenge_id"], start.as_str());
    assert_eq!((&allowed["decided_by"], &allowed["operator"]), (&json!("chat"), &Value::Null));

    // A step without a request names no request.
    log.report("read_file notes.txt").await;
    let plain = log.entries("STEP_EVALUATED", "allowed").await.pop().unwrap();
    assert_eq!(
        (&plain["action"], &plain["challenge_id"]),
        (&json!("read_file notes.txt"), &Value::Null)
    );
}

#[tokio::test]
async fn says_who_read_the_code_that_an_agent_sent() {
    // REQ-OOB-12
    let log = Log::new();
    let start = log.begin().await;
    let code = log.operator.0.code(&start, Some(&ada())).await.unwrap();
    let params = json!({ "confirmation_token": code.reveal() });
    log.data("confirm_operation", params).await;
    let allowed = log.entries("CHALLENGE_VERIFIED", "confirmed").await.remove(0);
    assert_eq!((&allowed["decided_by"], &allowed["operator"]), (&json!("code"), &json!("ada")));
}

#[tokio::test]
async fn says_who_lifted_a_block() {
    // REQ-OOB-09
    let log = Log::new();
    let start = log.begin().await;
    log.operator.approve(&start, ada()).await.unwrap();
    log.report("drop_table users; password=hunter2").await;
    let request = log.request().await;
    log.operator.deny(&request, ada()).await.unwrap();
    log.operator.unblock("tidy", ada()).await.unwrap();
    for (event, outcome) in [
        ("AGENT_BLOCKED", "denied"),
        ("REQUEST_DENIED", "denied"),
        ("AGENT_UNBLOCKED", "confirmed"),
    ] {
        let entry = log.entries(event, outcome).await.pop().unwrap();
        assert_eq!(entry["action"], "drop_table users; password=[redacted]", "{entry}");
        assert_eq!(entry["challenge_id"], request.as_str(), "{entry}");
        let by = if event == "AGENT_BLOCKED" { Value::Null } else { "ada".into() };
        assert_eq!(entry["operator"], by, "{entry}");
    }
}
