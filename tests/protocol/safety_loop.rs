//! Tests the safety loop, the evaluator and out-of-band verification from an agent's view.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use mcp_aql::Adapter;
use mcp_aql::operator::OperatorAccess as _;
use mcp_aql::operator::{MemoryChannel, Operator, RequestKind};
use mcp_aql::safety_loop::WithSafetyLoop as _;
use mcp_aql::safety_loop::{Action, LoopMode, Risk, RiskTolerance, SafetyLoop};
use mcp_aql::store::{MemoryState, StateStore};
use mcp_aql::testing::Client;
use mcp_aql::testing::TimeSource;
use mcp_aql::testing::leaks_internals;
use serde_json::{Value, json};

use crate::leaks::logged;
use crate::support::{block_on, names};

/// An adapter with a safety loop, channels to people and a clock. Its store outlives it.
struct Guard {
    adapter: Adapter,
    people: MemoryChannel,
    now: Arc<Mutex<DateTime<Utc>>>,
    store: Arc<MemoryState>,
}

fn policy() -> SafetyLoop {
    SafetyLoop::new()
        .max_autonomous_steps(5)
        .deny(["drop_*", "rm -rf*"])
        .requires_approval(["deploy_*", "git push*"])
        .auto_approve(["read_*"])
}

impl Guard {
    fn new() -> Self {
        Self::with(policy())
    }

    fn with(settings: SafetyLoop) -> Self {
        let now = Arc::new(Mutex::new("2031-05-06T07:00:00Z".parse().unwrap()));
        let (people, store) = (MemoryChannel::default(), Arc::default());
        let adapter = Self::adapter(settings, &people, &now, &store);
        Self { adapter, people, now, store }
    }

    fn adapter(
        settings: SafetyLoop,
        people: &MemoryChannel,
        now: &Arc<Mutex<DateTime<Utc>>>,
        store: &Arc<MemoryState>,
    ) -> Adapter {
        let now = Arc::clone(now);
        Adapter::builder("guard")
            .without_config()
            .store(store.clone())
            .time_source(TimeSource::new(move || *now.lock().unwrap()))
            .safety_loop(settings.channel(people.clone()))
            .build()
            .unwrap()
    }

    /// Replaces the process by another one.
    fn restart(&mut self) {
        self.pass(20);
        self.adapter = Self::adapter(policy(), &self.people, &self.now, &self.store);
    }

    fn pass(&self, seconds: i64) {
        *self.now.lock().unwrap() += TimeDelta::seconds(seconds);
    }

    async fn agent(&self, name: &str) -> Agent {
        Agent::of(&self.adapter, name).await
    }

    /// Returns an agent whose start was approved by an operator.
    async fn begun(&self, name: &str) -> Agent {
        let agent = self.agent(name).await;
        agent.start().await;
        if let Some(code) = self.people.last_code() {
            agent.ask("confirm_operation", json!({ "confirmation_token": code })).await;
        }
        agent
    }

    fn operator(&self) -> Operator {
        self.adapter.operator().unwrap()
    }

    fn code(&self) -> String {
        self.people.last_code().expect("somebody was asked")
    }

    fn last_id(&self) -> String {
        self.people.requests().pop().expect("somebody was asked").id
    }
}

/// A client with an agent. It collects everything that it receives.
struct Agent {
    name: String,
    client: Client,
    received: Mutex<String>,
}

impl Agent {
    async fn of(adapter: &Adapter, name: &str) -> Self {
        let client = Client::connect(adapter).await.unwrap();
        Self { name: name.to_owned(), client, received: Mutex::default() }
    }

    async fn ask(&self, operation: &str, params: Value) -> Value {
        let tool = match operation {
            "introspect" => "mcp_aql_read",
            "record_execution_step" | "verify_challenge" => "mcp_aql_create",
            _ => "mcp_aql_execute",
        };
        let arguments = json!({ "operation": operation, "params": params });
        let answer = self.client.call_raw(tool, arguments).await.unwrap();
        let mut received = self.received.lock().unwrap();
        let _ = writeln!(received, "{answer}");
        for notification in self.client.take_notifications() {
            let _ = writeln!(received, "{notification}");
        }
        let text = answer["result"]["content"][0]["text"].as_str().expect("a text");
        let reply: Value = serde_json::from_str(text).unwrap();
        if let Some(message) = reply["error"]["message"].as_str() {
            assert!(!leaks_internals(message), "{message}");
        }
        reply
    }

    async fn start(&self) -> Value {
        self.ask("execute_agent", json!({ "element_name": self.name })).await
    }

    async fn step(&self, hint: &str) -> Value {
        let params = json!({ "element_name": self.name, "next_action_hint": hint });
        self.ask("record_execution_step", params).await
    }

    /// Reports a step and returns the autonomy directive.
    async fn directive(&self, hint: &str) -> Value {
        let reply = self.step(hint).await;
        assert_eq!(reply["success"], true, "{hint}: {reply}");
        reply["data"]["autonomy"].clone()
    }

    async fn go_on(&self, hint: &str) -> bool {
        self.directive(hint).await["continue"] == true
    }

    async fn confirm(&self, code: &str) -> Value {
        self.ask("confirm_operation", json!({ "confirmation_token": code })).await
    }

    async fn verify(&self, id: &str, code: &str) -> Value {
        self.ask("verify_challenge", json!({ "challenge_id": id, "code": code })).await
    }

    async fn end(&self, how: &str) -> Value {
        self.ask(how, json!({ "element_name": self.name })).await
    }
}

fn kinds(directive: &Value) -> Vec<&str> {
    let news = directive["notifications"].as_array().map_or(&[][..], Vec::as_slice);
    news.iter().map(|news| news["type"].as_str().unwrap()).collect()
}

fn verification_id(directive: &Value, kind: &str) -> String {
    let news = directive["notifications"].as_array().expect("notifications");
    let news = news.iter().find(|news| news["type"] == kind).expect("one of this kind");
    news["metadata"]["verificationId"].as_str().expect("an id").to_owned()
}

fn error(reply: &Value) -> &str {
    reply["error"]["code"].as_str().unwrap_or_else(|| panic!("no error: {reply}"))
}

#[test]
fn without_a_safety_loop_its_operations_are_absent() {
    // REQ-LOOP-01, REQ-LOOP-02, REQ-LOOP-03
    let adapter = Adapter::builder("plain").without_config().build().unwrap();
    assert!(adapter.operator().is_none());
    let all: Vec<_> = adapter.operations().map(|spec| spec.name).collect();
    assert_eq!(all, ["introspect"]);
    block_on(async {
        let agent = Agent::of(&adapter, "a").await;
        let list = agent.ask("introspect", json!({ "query": "operations" })).await;
        let capabilities = &list["data"]["_protocol"]["capabilities"];
        assert_eq!(capabilities.get("execution_safety_loop"), None, "{list}");
        assert_eq!(error(&agent.start().await), "NOT_FOUND_OPERATION");
    });
}

#[test]
fn introspection_reports_mode_operations_and_settings() {
    // REQ-LOOP-02, REQ-LOOP-03, REQ-LOOP-04, REQ-LOOP-07, REQ-AUT-06, REQ-AUT-17, REQ-CLS-11
    for mode in [LoopMode::Enforcing, LoopMode::Monitoring, LoopMode::Logging, LoopMode::Disabled] {
        let guard = Guard::with(policy().mode(mode));
        block_on(async {
            let agent = guard.agent("a").await;
            let list = agent.ask("introspect", json!({ "query": "operations" })).await;
            let told = &list["data"]["_protocol"]["capabilities"]["execution_safety_loop"];
            assert_eq!(told, mode.as_str());
            let entries = list["data"]["operations"].as_array().unwrap();
            let found: Vec<_> = entries
                .iter()
                .map(|entry| {
                    (entry["name"].as_str().unwrap(), entry["semantic_category"].as_str().unwrap())
                })
                .collect();
            assert_eq!(
                found,
                [
                    ("introspect", "READ"),
                    ("execute_agent", "EXECUTE"),
                    ("record_execution_step", "CREATE"),
                    ("complete_execution", "EXECUTE"),
                    ("abort_execution", "EXECUTE"),
                    ("confirm_operation", "EXECUTE"),
                    ("verify_challenge", "CREATE"),
                ]
            );
            let asked = json!({ "query": "operations", "name": "record_execution_step" });
            let details = agent.ask("introspect", asked).await;
            let text = details["data"]["operation"]["description"].as_str().unwrap();
            for part in [
                &format!("mode {mode} (enforcing)"),
                "maxAutonomousSteps 5 (50)",
                "moderate = 50",
                "deny: drop_* rm -rf*",
                "autoApprove: read_*",
                "nextActionHint",
            ] {
                assert!(text.contains(part), "{part}: {text}");
            }
            let parameters = details["data"]["operation"]["parameters"].as_array().unwrap();
            let required: Vec<_> = parameters
                .iter()
                .map(|each| (each["name"].as_str().unwrap(), each["required"].as_bool().unwrap()))
                .collect();
            assert_eq!(
                required,
                [
                    ("element_name", true),
                    ("next_action_hint", true),
                    ("step_description", false),
                    ("outcome", false),
                    ("findings", false)
                ]
            );
            let asked = json!({ "query": "types", "name": "AutonomyDirective" });
            let told = agent.ask("introspect", asked).await.to_string();
            assert!(told.contains("stepsRemaining") && told.contains("nextStepRisk"), "{told}");
        });
    }
}

#[test]
fn an_agent_begins_after_approval() {
    // REQ-LOOP-05, REQ-LOOP-06, REQ-AUT-16
    let guard = Guard::new();
    block_on(async {
        let agent = guard.agent("mover").await;
        let asked = json!({ "element_name": "mover", "parameters": { "goal": "tidy" } });
        let begun = agent.ask("execute_agent", asked.clone()).await;
        assert_eq!(begun["data"]["status"], "pending");
        let request = guard.people.requests().pop().unwrap();
        assert_eq!((request.kind, request.agent.as_deref()), (RequestKind::Start, Some("mover")));
        assert!(request.action.contains("tidy"), "{request:?}");
        assert_eq!(begun["data"]["request_id"], request.id.as_str());
        assert!(begun["data"]["next"].as_str().unwrap().contains("confirm_operation"));

        // A repeated call does not request another approval. Until the answer, nothing is allowed.
        let again = agent.ask("execute_agent", asked).await;
        assert_eq!(again["data"]["execution_id"], begun["data"]["execution_id"]);
        assert_eq!(guard.people.requests().len(), 1);
        let held = agent.directive("read_file notes").await;
        assert_eq!((held["continue"].clone(), held.get("stopped")), (json!(false), None));
        assert!(held["reason"].as_str().unwrap().contains(&request.id), "{held}");
        assert_eq!(error(&agent.end("complete_execution").await), "PERMISSION_DENIED");

        // Identifiers known to the agent are not accepted as codes.
        for guess in [request.id.as_str(), begun["data"]["execution_id"].as_str().unwrap(), "mover"]
        {
            assert_eq!(error(&agent.confirm(guess).await), "TOKEN_INVALID");
        }
        let confirmed = agent.confirm(request.code.reveal()).await;
        assert_eq!(confirmed["data"]["confirmed"], true, "{confirmed}");
        assert_eq!(error(&agent.confirm(request.code.reveal()).await), "TOKEN_ALREADY_USED");
        let directive = agent.directive("read_file notes").await;
        assert_eq!(directive["continue"], true);
        assert_eq!(kinds(&directive), ["status"]);
        // The approval of the start does not cover other actions.
        assert!(!agent.go_on("deploy_site").await);

        // A denial ends the request. An approval from the console starts the agent.
        let other = guard.agent("other").await;
        other.start().await;
        guard.operator().deny(&guard.last_id(), "test").await.unwrap();
        assert_eq!(error(&other.step("read_file notes").await), "NOT_FOUND_RESOURCE");
        other.start().await;
        guard.operator().approve(&guard.last_id(), "test").await.unwrap();
        assert!(other.go_on("read_file notes").await);
    });
}

#[test]
fn introspection_suggests_client_permissions() {
    // REQ-LOOP-14
    let guard = Guard::new();
    block_on(async {
        let agent = guard.agent("a").await;
        let list = agent.ask("introspect", json!({ "query": "danger" })).await;
        let operations = list["data"]["operations"].as_array().unwrap();
        let told = |operation: &Value| {
            let text = |member| operation[member].as_str().unwrap().to_owned();
            (text("name"), text("client_permission"))
        };
        let expected = [
            ("introspect", "AUTO_APPROVE"),
            ("execute_agent", "CONFIRM_SINGLE_USE"),
            ("record_execution_step", "CONFIRM_SESSION"),
            ("complete_execution", "CONFIRM_SINGLE_USE"),
            ("abort_execution", "CONFIRM_SINGLE_USE"),
            ("confirm_operation", "AUTO_APPROVE"),
            ("verify_challenge", "CONFIRM_SESSION"),
        ];
        let expected = expected.map(|(name, ask)| (name.to_owned(), ask.to_owned()));
        assert_eq!(operations.iter().map(told).collect::<Vec<_>>(), expected);
    });
}

#[test]
fn steps_are_evaluated_individually() {
    // REQ-LOOP-06 to REQ-LOOP-10, REQ-LOOP-12, REQ-AUT-01, REQ-AUT-02, REQ-AUT-04, REQ-AUT-08,
    // REQ-AUT-09, REQ-GATE-11
    let guard = Guard::new();
    block_on(async {
        let agent = guard.begun("a").await;
        let directive = agent.directive("calling write_file of another server on a.txt").await;
        assert_eq!(directive["continue"], true);
        assert!(directive["factors"].as_array().unwrap().len() > 1);
        assert_eq!(
            (&directive["stepsRemaining"], &directive["nextStepRisk"]),
            (&json!(4), &json!("advisory"))
        );

        // Use exactly the protocol's names.
        let literal = json!({ "element_name": "a", "nextActionHint": "read_file b",
                              "stepDescription": "wrote a", "outcome": "success", "findings": "none" });
        let reply = agent.ask("record_execution_step", literal).await;
        assert_eq!(reply["data"]["autonomy"]["continue"], true, "{reply}");
        assert_eq!(reply["data"]["progress"]["current"], 2);
        assert_eq!(names(&reply["data"]), ["autonomy", "execution_id", "progress", "status"]);
        let wrong =
            json!({ "elementName": "a", "element_name": "a", "next_action_hint": "read_file b" });
        assert_eq!(
            error(&agent.ask("record_execution_step", wrong).await),
            "VALIDATION_UNKNOWN_PARAM"
        );
        let missing = agent.ask("record_execution_step", json!({ "element_name": "a" })).await;
        assert_eq!(error(&missing), "VALIDATION_MISSING_PARAM");
        for vague in ["...", "\u{200b}\u{200b}\u{200b}x"] {
            assert_eq!(error(&agent.step(vague).await), "VALIDATION_INVALID_VALUE", "{vague}");
        }

        // The agent must wait for the approval; no report changes this. Then the action is allowed once.
        let paused = agent.directive("run git push origin main").await;
        assert_eq!((&paused["continue"], paused.get("stopped")), (&json!(false), None));
        assert_eq!(kinds(&paused), ["autonomy_pause"]);
        assert_eq!(paused["notifications"][0]["metadata"]["level"], "confirm");
        assert!(!agent.go_on("read_file c").await);
        assert!(!agent.go_on("run git push origin main").await);
        assert_eq!(guard.people.requests().len(), 2, "one question, however often it is reported");
        agent.confirm(&guard.code()).await;
        let passed = agent.directive("run git push origin main").await;
        assert_eq!((&passed["continue"], &passed["stepsRemaining"]), (&json!(true), &json!(4)));
        assert!(!agent.go_on("run git push origin main").await, "an approval is good once");
        let ended = agent.end("abort_execution").await;
        assert_eq!(ended["data"]["status"], "cancelled");
        assert_eq!(error(&agent.step("read_file c").await), "NOT_FOUND_RESOURCE");
    });
}

#[test]
fn the_step_limit_counts_from_the_last_person() {
    // REQ-AUT-05, REQ-AUT-06, REQ-AUT-07
    let guard = Guard::with(policy().agent("short", |short| short.max_autonomous_steps(2)));
    block_on(async {
        let agent = guard.begun("short").await;
        assert_eq!(agent.directive("read_a").await["stepsRemaining"], 1);
        assert_eq!(agent.directive("read_b").await["stepsRemaining"], 0);
        let paused = agent.directive("read_c").await;
        assert_eq!(paused["continue"], false);
        assert!(paused["reason"].as_str().unwrap().starts_with("Step limit exceeded"), "{paused}");
        agent.confirm(&guard.code()).await;
        assert_eq!(agent.directive("read_c").await["stepsRemaining"], 1);

        let report = |outcome: &str| json!({ "element_name": "short", "next_action_hint": "read_d", "outcome": outcome });
        let failed = agent.ask("record_execution_step", report("failure")).await;
        assert_eq!(failed["data"]["autonomy"]["continue"], false);
        assert!(!agent.go_on("read_d").await, "leaving the outcome out does not help");
        agent.confirm(&guard.code()).await;
        let again = agent.ask("record_execution_step", report("failure")).await;
        assert_eq!(again["data"]["autonomy"]["continue"], true, "a person has seen it");
        let skipped = agent.ask("record_execution_step", report("skipped")).await;
        assert_eq!(skipped["data"]["autonomy"]["continue"], true);

        let other = guard.begun("long").await;
        assert_eq!(other.directive("read_a").await["stepsRemaining"], 4);
    });
}

#[test]
fn risk_and_tolerance_decide_if_no_pattern_matches() {
    // REQ-AUT-03, REQ-AUT-10, REQ-AUT-11, REQ-AUT-17, REQ-OOB-01
    let scorer = |action: &Action| {
        let score = action.text().rsplit(' ').next().and_then(|last| last.parse().ok());
        Risk::new(score.unwrap_or(0)).factor("as the hint says")
    };
    let settings = policy()
        .scorer(scorer)
        .agent("careful", |agent| agent.risk_tolerance(RiskTolerance::Conservative));
    let guard = Guard::with(settings);
    block_on(async {
        for (name, score, go_on, stopped, tier) in [
            ("one", 30, true, false, "advisory"),
            ("two", 31, false, false, "confirm"),
            ("three", 61, false, false, "verify"),
            ("four", 86, false, true, "danger_zone"),
            ("careful", 26, false, false, "advisory"),
        ] {
            let agent = guard.begun(name).await;
            let directive = agent.directive(&format!("act with {score}")).await;
            assert_eq!(directive["continue"], go_on, "{directive}");
            assert_eq!(directive["stopped"] == true, stopped, "{directive}");
            assert_eq!(directive["nextStepRisk"], tier);
            if !go_on {
                let challenge = guard.people.requests().pop().unwrap().kind.is_challenge();
                assert_eq!(challenge, matches!(tier, "verify" | "danger_zone"));
            }
        }
    });
}

#[test]
fn monitoring_advises_logging_writes_and_disabled_counts() {
    // REQ-LOOP-11, REQ-LOOP-13
    for mode in [LoopMode::Monitoring, LoopMode::Logging, LoopMode::Disabled] {
        let guard = Guard::with(policy().mode(mode));
        block_on(async {
            let agent = guard.agent("a").await;
            assert_eq!(agent.start().await["data"]["status"], "running", "{mode}");
            for hint in ["drop_table x", "deploy_site", "a", "rm -rf /", "b"]
                .map(|hint| format!("{hint} now"))
            {
                let directive = agent.directive(&hint).await;
                assert_eq!(
                    (&directive["continue"], directive.get("stopped")),
                    (&json!(true), None)
                );
                let evaluated = directive.get("nextStepRisk").is_some();
                assert_eq!(evaluated, mode == LoopMode::Monitoring, "{directive}");
            }
            assert!(guard.people.requests().is_empty());
            let done = agent.end("complete_execution").await;
            assert_eq!(
                (&done["data"]["status"], &done["data"]["progress"]["current"]),
                (&json!("completed"), &json!(5))
            );
        });
    }
}

#[test]
fn a_challenge_pauses_until_it_is_answered_or_expires() {
    // REQ-OOB-01, REQ-OOB-03, REQ-OOB-04, REQ-OOB-06, REQ-OOB-07, REQ-OOB-10, REQ-OOB-11, REQ-AUT-12 to REQ-AUT-15
    let guard = Guard::new();
    block_on(async {
        let agent = guard.begun("a").await;
        let action = "sudo systemctl restart nginx";
        let paused = agent.directive(action).await;
        assert_eq!((&paused["continue"], paused.get("stopped")), (&json!(false), None));
        let id = verification_id(&paused, "autonomy_pause");
        assert!(id.len() == 36 && id.as_bytes()[14] == b'4', "a UUID of version 4: {id}");
        let timestamp = paused["notifications"].as_array().unwrap().last().unwrap()["timestamp"]
            .as_str()
            .unwrap();
        timestamp.parse::<DateTime<Utc>>().unwrap();
        // The challenge is still pending. The next step announces it again, with its id in the reason.
        let held = agent.directive("read_file x").await;
        assert!(held["reason"].as_str().unwrap().contains(&id), "{held}");
        assert_eq!(kinds(&held), ["autonomy_pause"]);
        // The code of a challenge is not a confirmation token.
        assert_eq!(error(&agent.confirm(&guard.code()).await), "TOKEN_SCOPE_MISMATCH");
        assert_eq!(
            agent.verify(&id, &guard.code().to_lowercase()).await["data"]["confirmed"],
            true
        );
        let passed = agent.directive(action).await;
        assert_eq!((&passed["continue"], kinds(&passed)), (&json!(true), vec!["status"]));

        // An expired challenge counts as failed and ends the pause. The action then creates another challenge.
        let id = verification_id(&agent.directive(action).await, "autonomy_pause");
        guard.pass(301);
        assert_eq!(error(&agent.verify(&id, &guard.code()).await), "PERMISSION_DENIED");
        assert!(agent.go_on("read_file x").await);
        let fresh = verification_id(&agent.directive(action).await, "autonomy_pause");
        assert_ne!(fresh, id);
        // A wrong code invalidates the challenge, but the block stays.
        let code = guard.code();
        assert_eq!(error(&agent.verify(&fresh, "WRONG").await), "PERMISSION_DENIED");
        assert_eq!(error(&agent.verify(&fresh, &code).await), "PERMISSION_DENIED");
        assert!(!agent.go_on("read_file x").await);
        assert_ne!(guard.last_id(), fresh);
        // After the wrong code, a new execution is still possible.
        agent.end("abort_execution").await;
        assert_eq!(agent.start().await["data"]["status"], "pending");
    });
}

#[test]
fn a_block_applies_to_everything_until_a_person_lifts_it() {
    // REQ-OOB-01, REQ-OOB-02, REQ-OOB-06, REQ-OOB-08, REQ-OOB-09, REQ-LOOP-09
    let mut guard = Guard::new();
    block_on(async {
        let agent = guard.begun("mover").await;
        let bystander = guard.begun("bystander").await;
        let idle = guard.agent("idle").await;
        let stopped = agent.directive("calling DROP_Table on users").await;
        assert_eq!((&stopped["continue"], &stopped["stopped"]), (&json!(false), &json!(true)));
        assert_eq!(stopped["nextStepRisk"], "danger_zone");
        let id = verification_id(&stopped, "danger_zone");
        assert_eq!(id, guard.last_id());

        // While the block lasts, it is announced to all executing agents.
        for _ in 0..2 {
            let told = bystander.directive("read_file x").await;
            assert_eq!(
                (&told["continue"], verification_id(&told, "danger_zone")),
                (&json!(true), id.clone())
            );
        }
        idle.start().await;
        idle.confirm(&guard.code()).await;
        let told = idle.directive("read_file x").await;
        assert_eq!(kinds(&told), ["status", "danger_zone"]);
        assert_eq!(verification_id(&told, "danger_zone"), id, "to who begins meanwhile as well");

        for operation in ["execute_agent", "complete_execution", "abort_execution"] {
            let refused = agent.end(operation).await;
            assert_eq!(error(&refused), "PERMISSION_DENIED", "{operation}");
            assert_eq!(refused["error"]["details"]["challenge_id"], id.as_str());
        }
        assert_eq!(error(&agent.step("read_file x").await), "PERMISSION_DENIED");
        // The block also applies in another session, to another spelling of the name, and to another name in this
        // session.
        let again = guard.agent("Mover\u{200b}").await;
        assert_eq!(error(&again.start().await), "PERMISSION_DENIED");
        let renamed = agent.ask("execute_agent", json!({ "element_name": "innocent" })).await;
        assert_eq!(error(&renamed), "PERMISSION_DENIED");
        assert_eq!(renamed["error"]["details"]["agent"], "mover");
    });
    guard.restart();
    block_on(async {
        let agent = guard.agent("mover").await;
        assert_eq!(error(&agent.start().await), "PERMISSION_DENIED");
        let overview = guard.operator().overview().await.unwrap();
        assert_eq!(overview.blocks[0].agent, "mover");
        assert_eq!(overview.agents.iter().filter(|seen| seen.status == "running").count(), 0);

        // A code of the previous process is still valid, and only once. A wrong code invalidates it.
        let old = guard
            .people
            .requests()
            .into_iter()
            .find(|asked| asked.kind == RequestKind::Block)
            .unwrap();
        assert!(guard.operator().code(&old.id).await.is_none(), "codes are kept in memory alone");
        assert_eq!(error(&agent.verify(&old.id, "WRONG").await), "PERMISSION_DENIED");
        assert_eq!(error(&agent.verify(&old.id, old.code.reveal()).await), "PERMISSION_DENIED");
        let refused = agent.step("read_file x").await;
        let fresh = guard.last_id();
        assert_eq!(refused["error"]["details"]["challenge_id"], fresh.as_str());
        assert_ne!(fresh, old.id);
        assert_eq!(agent.verify(&fresh, &guard.code()).await["data"]["confirmed"], true);
        assert_eq!(agent.start().await["data"]["status"], "pending");
        assert!(guard.operator().overview().await.unwrap().blocks.is_empty());
    });
}

#[test]
fn the_console_shows_and_decides_requests() {
    // REQ-OOB-09, REQ-OOB-13, REQ-AUT-16
    let guard = Guard::new();
    block_on(async {
        let desk = guard.operator();
        let agent = guard.begun("a").await;
        let other = guard.begun("b").await;
        agent.directive("rm -rf /").await;
        let seen = desk.overview().await.unwrap();
        assert_eq!((seen.adapter.as_str(), seen.mode.as_str()), ("guard", "enforcing"));
        assert_eq!(seen.agents[0].last_action.as_deref(), Some("rm -rf /"));
        assert_eq!(seen.agents[0].directive.as_ref().unwrap()["stopped"], true);
        let request = &seen.requests[0];
        assert!(request.has_code && request.kind == RequestKind::Block);
        assert_eq!(desk.code(&request.id).await.unwrap().reveal(), guard.code());
        let events: Vec<_> =
            seen.audit.iter().filter_map(|entry| entry["event"].as_str()).collect();
        assert!(
            events.contains(&"AGENT_BLOCKED") && events.contains(&"CHALLENGE_ISSUED"),
            "{events:?}"
        );
        assert!(!serde_json::to_string(&seen).unwrap().contains(&guard.code()));

        // Once the block is released, its announcement stops for all agents.
        assert_eq!(kinds(&other.directive("read_x").await), ["status", "danger_zone"]);
        desk.unblock("a", "test").await.unwrap();
        assert!(desk.unblock("a", "test").await.is_err());
        assert_eq!(kinds(&other.directive("read_x").await), Vec::<&str>::new());
        assert!(agent.go_on("read_x").await);
        assert!(!agent.go_on("rm -rf /").await, "an override approves nothing");

        // The operator can renew an expired challenge. Denying it keeps the block.
        let id = guard.last_id();
        guard.pass(301);
        assert!(desk.approve(&id, "test").await.is_err());
        desk.renew_code(&id, "test").await.unwrap();
        let fresh = guard.last_id();
        assert!(guard.people.withdrawn().contains(&id));
        assert_eq!(verification_id(&other.directive("read_x").await, "danger_zone"), fresh);
        desk.deny(&fresh, "test").await.unwrap();
        assert_eq!(error(&agent.verify(&fresh, &guard.code()).await), "PERMISSION_DENIED");
        desk.renew_code(&fresh, "test").await.unwrap();
        desk.approve(&guard.last_id(), "test").await.unwrap();
        assert!(agent.go_on("rm -rf /").await, "a challenge that is met approves its action once");
        assert!(!agent.go_on("rm -rf /").await);
    });
}

#[test]
fn another_session_cannot_use_up_a_challenge() {
    // REQ-OOB-06, REQ-OOB-12
    let guard = Guard::new();
    block_on(async {
        let agent = guard.begun("mover").await;
        let other = guard.begun("other").await;
        let stranger = guard.agent("stranger").await;
        agent.directive("drop_table users").await;
        // Every agent can see the id of a block's challenge.
        let id = verification_id(&other.directive("read_x").await, "danger_zone");
        for _ in 0..12 {
            assert_ne!(other.verify(&id, "WRONG").await["success"], true);
            assert_ne!(stranger.verify(&id, "WRONG").await["success"], true);
        }
        assert_eq!(error(&other.verify(&id, "WRONG").await), "RATE_LIMIT_EXCEEDED");
        let overview = guard.operator().overview().await.unwrap();
        assert_eq!(overview.requests[0].void, None, "its code is still good");
        // The audit log shows the session that tried, not the blocked one.
        let failed: Vec<_> = overview
            .audit
            .iter()
            .filter(|entry| entry["event"] == "CHALLENGE_FAILED")
            .map(|entry| (entry["challenge_id"].as_str(), entry["session"].as_str()))
            .collect();
        let sessions: std::collections::BTreeSet<_> =
            failed.iter().map(|(_, session)| session.unwrap()).collect();
        assert_eq!(sessions.len(), 2, "{failed:?}");
        assert!(failed.iter().all(|(challenge, _)| *challenge == Some(id.as_str())), "{failed:?}");
        assert_eq!(agent.verify(&id, &guard.code()).await["data"]["confirmed"], true);
        assert!(agent.go_on("read_x").await);

        // The agent's own session can use up its challenge. Any session may submit the right code.
        let id = verification_id(&agent.directive("drop_table orders").await, "danger_zone");
        assert_eq!(error(&agent.verify(&id, "WRONG").await), "PERMISSION_DENIED");
        assert_eq!(error(&agent.verify(&id, &guard.code()).await), "PERMISSION_DENIED");
        guard.operator().renew_code(&id, "test").await.unwrap();
        let fresh = guard.agent("fresh").await;
        // Wrong codes of other sessions do not lock this one out.
        let verified = fresh.verify(&guard.last_id(), &guard.code()).await;
        assert_eq!(verified["data"]["confirmed"], true, "{verified}");
    });
}

#[test]
fn a_session_cannot_lock_another_one_out_of_a_challenge() {
    // REQ-OOB-06, REQ-OOB-12
    let mut guard = Guard::new();
    block_on(async {
        let agent = guard.begun("mover").await;
        agent.directive("drop_table users").await;
    });
    // After a restart, the agent belongs to no session.
    guard.restart();
    guard.pass(20);
    block_on(async {
        let id = guard.last_id();
        let guesser = guard.agent("guesser").await;
        for _ in 0..10 {
            assert_eq!(error(&guesser.verify(&id, "WRONG").await), "PERMISSION_DENIED");
        }
        assert_eq!(error(&guesser.verify(&id, "WRONG").await), "RATE_LIMIT_EXCEEDED");
        guard.operator().renew_code(&id, "test").await.unwrap();
        let owner = guard.agent("owner").await;
        let verified = owner.verify(&guard.last_id(), &guard.code()).await;
        assert_eq!(verified["data"]["confirmed"], true, "{verified}");
    });
}

#[test]
fn failed_confirmations_are_counted_for_agents_over_restarts_and_for_each_session() {
    // REQ-OOB-12
    let mut guard = Guard::new();
    block_on(async {
        let agent = guard.begun("mover").await;
        for _ in 0..10 {
            assert_eq!(error(&agent.confirm("WRONG").await), "TOKEN_INVALID");
        }
        assert_eq!(error(&agent.confirm("WRONG").await), "RATE_LIMIT_EXCEEDED");
        // A session without an agent has its own count. It does not delay other sessions.
        let guesser = guard.agent("guesser").await;
        for _ in 0..10 {
            assert_eq!(error(&guesser.confirm("WRONG").await), "TOKEN_INVALID");
        }
        assert_eq!(error(&guesser.confirm("WRONG").await), "RATE_LIMIT_EXCEEDED");
        let stranger = guard.agent("stranger").await;
        assert_eq!(error(&stranger.confirm("WRONG").await), "TOKEN_INVALID");
        let audit = guard.operator().overview().await.unwrap().audit;
        let refused: Vec<_> = audit
            .iter()
            .filter(|entry| {
                entry["event"] == "CONFIRMATION_FAILED" && entry["outcome"] == "refused"
            })
            .collect();
        assert_eq!(refused.len(), 2, "{audit:?}");
        assert!(refused.iter().all(|entry| entry["session"].is_string()), "{refused:?}");
    });
    guard.restart();
    block_on(async {
        let agent = guard.agent("mover").await;
        agent.start().await;
        let code = guard.code();
        assert_eq!(error(&agent.confirm(&code).await), "RATE_LIMIT_EXCEEDED");
        // Other agents are not delayed.
        let other = guard.begun("other").await;
        assert!(other.go_on("read_x").await);
        guard.pass(61);
        assert_eq!(agent.confirm(&code).await["data"]["confirmed"], true);
    });
}

#[test]
fn a_code_that_is_shown_is_in_the_audit_log() {
    // REQ-OOB-12, REQ-OOB-13
    let guard = Guard::new();
    block_on(async {
        let agent = guard.begun("a").await;
        agent.directive("deploy_site").await;
        let desk = guard.operator();
        assert!(desk.code("unknown").await.is_none());
        let code = desk.code(&guard.last_id()).await.unwrap();
        let audit = desk.overview().await.unwrap().audit;
        let shown: Vec<_> =
            audit.iter().filter(|entry| entry["event"] == "CODE_REVEALED").collect();
        assert_eq!(shown.len(), 1, "{audit:?}");
        assert_eq!(shown[0]["challenge_id"], guard.last_id().as_str());
        assert!(!shown[0].to_string().contains(code.reveal()));
    });
}

#[test]
fn a_denied_action_stays_denied() {
    // REQ-LOOP-10
    let guard = Guard::new();
    block_on(async {
        let agent = guard.begun("a").await;
        assert!(!agent.go_on("deploy_site").await);
        guard.operator().deny(&guard.last_id(), "test").await.unwrap();
        let asked = guard.people.requests().len();
        assert!(!agent.go_on("deploy_site").await);
        assert_eq!(guard.people.requests().len(), asked, "nobody is asked again");
        assert!(
            !agent.go_on("read_file x").await,
            "a person said no: the next step is a person's too"
        );
        agent.confirm(&guard.code()).await;
        assert!(agent.go_on("read_file x").await);
    });
}

#[test]
fn an_execution_belongs_to_its_session() {
    // REQ-AUT-16, REQ-LIF-10
    let guard = Guard::new();
    block_on(async {
        let agent = guard.begun("a").await;
        let other = guard.agent("a").await;
        for reply in [
            other.start().await,
            other.step("read_x").await,
            other.end("complete_execution").await,
            other.end("abort_execution").await,
        ] {
            assert_eq!(error(&reply), "PERMISSION_DENIED");
        }
        let inside = guard.adapter.call("abort_execution", json!({ "element_name": "a" })).await;
        assert_eq!(inside.code(), Some("PERMISSION_DENIED"));
        agent.client.close().await.unwrap();
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        let seen = guard.operator().overview().await.unwrap();
        assert_eq!(seen.agents[0].status, "cancelled");
        assert_eq!(other.start().await["data"]["status"], "pending");
    });
}

#[test]
fn no_code_reaches_an_agent_or_a_log() {
    // REQ-OOB-05, REQ-OOB-12
    let guard = Guard::new();
    let mut received = String::new();
    let log = logged(|| {
        block_on(async {
            let agent = guard.begun("a").await;
            let other = guard.begun("b").await;
            for hint in ["deploy_site", "read_x", "deploy_site", "deploy_site"] {
                agent.step(hint).await;
                agent.confirm(&guard.code()).await;
            }
            for hint in ["sudo x y", "sudo x y", "rm -rf /", "read_x"] {
                agent.step(hint).await;
                other.step("read_x").await;
                let id = guard.last_id();
                // Send the right code to the wrong operation, a wrong code, an expired code and an unknown challenge.
                // No reply may repeat it.
                agent.confirm(&guard.code()).await;
                agent.verify("unknown", &guard.code()).await;
                if hint == "rm -rf /" {
                    agent.verify(&id, "WRONG").await;
                }
                agent.verify(&id, &guard.code()).await;
                guard.pass(61);
            }
            agent.step("read_x").await;
            let id = guard.last_id();
            guard.pass(400);
            agent.verify(&id, &guard.code()).await;
            for tool in agent.client.list_tools().await.unwrap() {
                let _ = writeln!(received, "{tool:?}");
            }
            agent.ask("introspect", json!({ "query": "operations" })).await;
            for agent in [agent, other] {
                received.push_str(&agent.received.lock().unwrap());
            }
            received.push_str(
                &serde_json::to_string(&guard.operator().overview().await.unwrap()).unwrap(),
            );
        });
    });
    let requests = guard.people.requests();
    assert!(requests.len() >= 6, "{}", requests.len());
    assert!(log.contains("CHALLENGE_FAILED") && log.contains("AGENT_BLOCKED"), "the log was read");
    assert!(received.contains("danger_zone"));
    for request in &requests {
        let code = request.code.reveal();
        let plain: String = code.split('-').collect();
        for part in [code, &plain, &code.to_lowercase()] {
            assert!(!received.contains(part), "an agent was sent the code of {:?}", request.kind);
            assert!(!log.contains(part), "the log has the code of {:?}", request.kind);
        }
        assert!(!format!("{request:?}").contains(code));
    }
    block_on(async {
        for collection in ["safety_agents", "safety_index", "safety_tries", "safety_approvals"] {
            for record in guard.store.list(collection, None, None, 10_000).await.unwrap() {
                let text = format!("{record:?}");
                assert!(
                    !requests.iter().any(|request| text.contains(request.code.reveal())),
                    "{text}"
                );
            }
        }
    });
}

#[test]
fn repeated_guesses_are_delayed() {
    // REQ-OOB-12
    let guard = Guard::new();
    block_on(async {
        let agent = guard.begun("a").await;
        for guess in 0..10 {
            let reply = agent.verify("unknown", &guess.to_string()).await;
            assert_eq!(error(&reply), "PERMISSION_DENIED");
        }
        let refused = agent.verify("unknown", "x").await;
        assert_eq!(error(&refused), "RATE_LIMIT_EXCEEDED");
        assert_eq!(refused["error"]["details"]["retry_after_seconds"], 60);
        guard.pass(60);
        assert_eq!(error(&agent.verify("unknown", "x").await), "PERMISSION_DENIED");
        // Requests to people are also limited.
        for round in 0..20 {
            agent.step("drop_table x").await;
            let id = guard.last_id();
            let other = guard.agent("other").await;
            other.verify(&id, &round.to_string()).await;
        }
        assert!(guard.people.requests().len() <= 12, "{}", guard.people.requests().len());
    });
}

#[test]
fn build_rejects_resources_that_cannot_work() {
    // REQ-AUT-17, REQ-OOB-07, REQ-OOB-09
    let faulty = SafetyLoop::new().deny(["a["]).challenge_timeout(Duration::from_secs(1));
    let error = Adapter::builder("guard").without_config().safety_loop(faulty).build().unwrap_err();
    for part in ["add a `.channel(…)`", "pattern `a[`", "choose 10 to 86400"] {
        assert!(error.problems().iter().any(|problem| problem.contains(part)), "{part}: {error}");
    }
    let plain = SafetyLoop::new().mode(LoopMode::Monitoring);
    assert!(Adapter::builder("guard").without_config().safety_loop(plain.clone()).build().is_ok());
    // By default, blocks are persistent and require a store.
    let nowhere = Adapter::builder("../x").without_config().safety_loop(plain.clone()).build();
    let error = nowhere.unwrap_err().to_string();
    assert!(error.contains("add a `.store(…)`"), "{error}");
    let disabled = plain.mode(LoopMode::Disabled);
    assert!(Adapter::builder("../x").without_config().safety_loop(disabled).build().is_ok());
}
