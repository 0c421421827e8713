//! Tests danger and trust levels, policies and confirmation tokens, also in batches.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::time::Duration;

use chrono::{DateTime, Utc};
use mcp_aql::gatekeeper::Condition;
use mcp_aql::gatekeeper::{ByOperator as _, Trust};
use mcp_aql::operator::MemoryChannel;
use mcp_aql::operator::OperatorAccess as _;
use mcp_aql::safety_loop::SafetyLoop;
use mcp_aql::safety_loop::WithSafetyLoop as _;
use mcp_aql::store::{Change, MemoryState, StateRecord, StateStore, StoreError};
use mcp_aql::table::{
    DangerSpec, DefaultSpec, OperationEntry, OperationSpec, ParameterEntry, ParameterSpec,
};
use mcp_aql::testing::Client;
use mcp_aql::testing::TimeSource;
use mcp_aql::transport::{CallScope, Endpoint};
use mcp_aql::{
    Adapter, AdapterBuilder, BoxFuture, DangerLevel, Operations, Policy, SemanticCategory, Session,
    TrustLevel, UpdateInput,
};
use serde_json::{Value, json};

use crate::board::Account;
use crate::support::{AuditLines, block_on, code, data, message};

/// Counts the executed operations.
#[derive(Clone, Default)]
struct Beds(Arc<AtomicU32>);

const BED_ID: ParameterEntry =
    ParameterEntry::One(ParameterSpec::required::<String>("bed_id", "The bed."));
const FORCE: ParameterEntry = ParameterEntry::One(
    ParameterSpec::optional::<bool>("force", "Even if it is in use.")
        .default(DefaultSpec::Json("false")),
);
const PASSWORD: ParameterEntry = ParameterEntry::One(
    ParameterSpec::optional::<String>("password", "The gardener's word.").sensitive(),
);

macro_rules! operation {
    ($name:literal, $category:ident, $danger:expr $(, $rationale:literal)?) => {
        OperationEntry::new(
            OperationSpec::new($name, SemanticCategory::$category, "Do something with a bed.")
                .parameters(&[BED_ID, FORCE, PASSWORD])
                $(.rationale($rationale))?
                .danger($danger),
            |beds: &Beds, mut call| {
                Box::pin(async move {
                    let bed: String = call.param()?;
                    call.optional::<bool>()?;
                    call.optional::<String>()?;
                    let times = beds.0.fetch_add(1, Ordering::SeqCst) + 1;
                    call.reply(json!({ "bed": bed, "times": times }))
                })
            },
        )
    };
}

const UNDECLARED: DangerSpec = DangerSpec::UNDECLARED;

impl Operations for Beds {
    const OPERATIONS: &'static [OperationEntry<Self>] = &[
        operation!("list_beds", Read, UNDECLARED),
        operation!("create_bed", Create, UNDECLARED),
        operation!("water_bed", Execute, UNDECLARED),
        operation!(
            "delete_bed",
            Delete,
            DangerSpec::new(DangerLevel::Destructive)
                .reasons(&["The bed and its history are removed"])
                .confirmation_message("Delete bed '{bed_id}' with '{password}'?")
        ),
        operation!("remove_row", Delete, UNDECLARED),
        operation!("purge_weeds", Execute, UNDECLARED, "Weeds are not data"),
        operation!("reset_garden", Execute, DangerSpec::new(DangerLevel::Forbidden)),
        operation!(
            "pay_gardener",
            Execute,
            DangerSpec::UNDECLARED.confirmation_message("Pay for bed '{bed_id}'?")
        ),
        operation!(
            "burn_bed",
            Delete,
            DangerSpec::new(DangerLevel::Dangerous).cooldown_seconds(60)
        ),
    ];
}

/// An adapter with a controlled clock and an audit log.
struct Garden {
    adapter: Adapter,
    beds: Beds,
    clock: Arc<AtomicI64>,
    audit: AuditLines,
}

impl Garden {
    fn new(with: impl FnOnce(AdapterBuilder) -> AdapterBuilder) -> Self {
        let (beds, audit) = (Beds::default(), AuditLines::default());
        let clock = Arc::new(AtomicI64::new(1_900_000_000));
        let seconds = Arc::clone(&clock);
        let time = TimeSource::new(move || {
            DateTime::<Utc>::from_timestamp(seconds.load(Ordering::SeqCst), 0).unwrap()
        });
        let builder = Adapter::builder("garden")
            .operations(beds.clone())
            .time_source(time)
            .audit_sink(audit.clone())
            .without_config();
        Self { adapter: with(builder).build().unwrap(), beds, clock, audit }
    }

    fn later(&self, seconds: i64) {
        self.clock.fetch_add(seconds, Ordering::SeqCst);
    }

    fn times(&self) -> u32 {
        self.beds.0.load(Ordering::SeqCst)
    }

    fn call(&self, operation: &str, params: Value) -> Value {
        self.call_in(None, operation, params)
    }

    fn call_in(&self, session: Option<&Session>, operation: &str, params: Value) -> Value {
        self.ask(session, json!({ "operation": operation, "params": params }))
    }

    fn ask(&self, session: Option<&Session>, arguments: Value) -> Value {
        let scope = CallScope { session: session.cloned(), ..CallScope::default() };
        crate::support::ask_in(&self.adapter, Endpoint::Unified, arguments, scope)
    }

    /// Calls an operation and returns the confirmation token that it requires.
    #[track_caller]
    fn token(&self, operation: &str, params: Value) -> String {
        let reply = self.call(operation, params);
        assert_eq!(code(&reply), Some("CONFIRMATION_REQUIRED"), "{reply}");
        reply["error"]["details"]["confirmation_token"].as_str().unwrap().to_owned()
    }

    fn audited(&self, event: &str) -> Vec<Value> {
        let lines = self.audit.0.lock().unwrap();
        lines.iter().filter(|line| line["event"] == event).cloned().collect()
    }
}

fn bed(id: &str) -> Value {
    json!({ "bed_id": id })
}

fn confirmed(id: &str, token: &str) -> Value {
    json!({ "bed_id": id, "_confirmation": token })
}

#[test]
fn danger_decides_where_no_trust_is_declared() {
    // REQ-DNG-02, REQ-DNG-03, REQ-DNG-08, REQ-GATE-07
    let garden = Garden::new(|builder| builder);
    for (operation, level) in [
        ("list_beds", None),
        ("create_bed", None),
        ("water_bed", None),
        ("delete_bed", Some("destructive")),
        ("remove_row", Some("destructive")),
        ("purge_weeds", Some("dangerous")),
        ("reset_garden", Some("forbidden")),
    ] {
        let before = garden.times();
        let reply = garden.call(operation, bed("b-1"));
        assert_eq!(code(&reply), level.map(|_| "CONFIRMATION_REQUIRED"), "{operation}");
        assert_eq!(reply["error"]["details"]["danger_level"].as_str(), level);
        assert_eq!(garden.times() - before, u32::from(level.is_none()), "{operation}");
    }
}

#[test]
fn a_confirmation_request_is_complete_and_runs_the_call_once() {
    // REQ-TOK-01, REQ-TOK-06, REQ-TOK-08, REQ-TOK-10, REQ-DNG-05
    let garden = Garden::new(|builder| builder);
    let reply = garden.call("delete_bed", json!({ "bed_id": "b-1", "password": "rosebud" }));
    let details = &reply["error"]["details"];
    let token = details["confirmation_token"].as_str().unwrap();
    assert!(token.starts_with("conf_") && (8..=80).contains(&token.len()), "{token}");
    assert_eq!(
        *details,
        json!({
            "operation": "delete_bed", "danger_level": "destructive", "confirmation_token": token,
            "expires_at": "2030-03-17T17:51:40.000Z",
            "reasons": ["The bed and its history are removed"],
            "confirmation_message": "Delete bed 'b-1' with '[redacted]'?",
        })
    );
    assert!(message(&reply).starts_with("This operation requires confirmation"));
    let params = json!({ "bed_id": "b-1", "password": "rosebud", "_confirmation": token });
    assert_eq!(data(garden.call("delete_bed", params.clone()))["times"], 1);
    let again = garden.call("delete_bed", params);
    assert_eq!(code(&again), Some("TOKEN_ALREADY_USED"));
    assert_eq!(again["error"]["details"]["consumed_at"], "2030-03-17T17:46:40.000Z");
    assert_eq!(garden.times(), 1);
}

#[test]
fn the_token_may_come_as_a_parameter_of_a_gated_operation_alone() {
    // REQ-TOK-06, REQ-UNK-01, choice C-18
    let garden = Garden::new(|builder| builder);
    let token = garden.token("delete_bed", bed("b-1"));
    let params = json!({ "bed_id": "b-1", "confirmation_token": token });
    assert_eq!(data(garden.call("delete_bed", params.clone()))["times"], 1);
    assert_eq!(code(&garden.call("create_bed", params)), Some("VALIDATION_UNKNOWN_PARAM"));
}

#[test]
fn a_question_shows_no_secret_that_is_inside_of_a_parameter() {
    // REQ-DNG-05, REQ-GATE-09
    struct Shed;
    impl Operations for Shed {
        const OPERATIONS: &'static [OperationEntry<Self>] = &[OperationEntry::new(
            OperationSpec::new("update_shed", SemanticCategory::Update, "Change a shed.")
                .parameters(&[ParameterEntry::Input(<Account as UpdateInput>::INPUT)])
                .danger(
                    DangerSpec::new(DangerLevel::Destructive).confirmation_message("With {input}?"),
                ),
            |_, call| Box::pin(async move { call.reply(()) }),
        )];
    }
    let adapter = Adapter::builder("shed").operations(Shed).without_config().build().unwrap();
    let input = json!({ "input": { "name": "Ann", "password": "s3cret-s3cret" } });
    let asked = crate::support::call(&adapter, "update_shed", input);
    let shown = asked["error"]["details"]["confirmation_message"].as_str().unwrap();
    assert!(shown.contains("[redacted]") && shown.contains("Ann"), "{shown}");
    assert!(!asked.to_string().contains("s3cret"), "{asked}");
}

#[test]
fn a_call_is_validated_before_confirmation_is_requested() {
    // REQ-GATE-01, REQ-GATE-02
    let garden = Garden::new(|builder| builder);
    for (operation, params, expected) in [
        ("delete_beds", bed("b-1"), "NOT_FOUND_OPERATION"),
        ("delete_bed", json!({}), "VALIDATION_MISSING_PARAM"),
        ("delete_bed", json!({ "bed_id": 7 }), "VALIDATION_INVALID_TYPE"),
        ("delete_bed", json!({ "bed_id": "b", "bad": 7 }), "VALIDATION_UNKNOWN_PARAM"),
    ] {
        assert_eq!(code(&garden.call(operation, params)), Some(expected), "{operation}");
    }
    let read = crate::support::family(&garden.adapter, "read");
    let reply = crate::support::ask_through(
        &garden.adapter,
        read,
        json!({ "operation": "delete_bed", "params": bed("b-1") }),
    );
    assert_eq!(code(&reply), Some("VALIDATION_ENDPOINT_MISMATCH"));
    assert!(garden.audited("TOKEN_ISSUED").is_empty());
}

#[test]
fn a_token_is_valid_for_one_call_of_one_session() {
    // REQ-TOK-03, REQ-TOK-07, REQ-TOK-15, REQ-GATE-03
    let garden = Garden::new(|builder| builder);
    let token = garden.token("delete_bed", bed("b-1"));
    let session = Session::new();
    let mismatch = Some("TOKEN_SCOPE_MISMATCH");
    for (session, operation, params) in [
        (None, "delete_bed", confirmed("b-2", &token)),
        (None, "remove_row", confirmed("b-1", &token)),
        (None, "delete_bed", json!({ "bed_id": "b-1", "force": true, "_confirmation": token })),
        (Some(&session), "delete_bed", confirmed("b-1", &token)),
    ] {
        let reply = garden.call_in(session, operation, params);
        assert_eq!(code(&reply), mismatch, "{reply}");
        let details = &reply["error"]["details"];
        assert_eq!(details["token_operation"], "delete_bed");
        assert_eq!(details["requested_operation"], operation);
        assert!(!reply.to_string().contains("b-1"), "parameters are not repeated: {reply}");
    }
    // The rejected attempts have not used the token up. Default values match omitted ones.
    let params = json!({ "bed_id": "b-1", "force": false, "_confirmation": token });
    assert_eq!(data(garden.call("delete_bed", params))["times"], 1);
}

#[test]
fn rejects_token_of_another_adapter() {
    // REQ-TOK-07
    let store = Arc::new(MemoryState::default());
    let adapter = |name: &str| {
        let builder = Adapter::builder(name).operations(Beds::default()).without_config();
        builder.store(Arc::clone(&store)).build().unwrap()
    };
    let (one, other) = (adapter("one"), adapter("other"));
    let reply = crate::support::call(&one, "delete_bed", bed("b-1"));
    let token = reply["error"]["details"]["confirmation_token"].as_str().unwrap();
    let reply = crate::support::call(&other, "delete_bed", confirmed("b-1", token));
    assert_eq!(code(&reply), Some("TOKEN_SCOPE_MISMATCH"));
    // Another process of the same adapter must accept the token.
    let twin = adapter("one");
    assert_eq!(
        data(crate::support::call(&twin, "delete_bed", confirmed("b-1", token)))["times"],
        1
    );
}

#[test]
fn tokens_are_random_and_their_hashes_alone_are_kept() {
    // REQ-TOK-02, REQ-TOK-04, REQ-TOK-05, REQ-TOK-14
    let store = Arc::new(MemoryState::default());
    let shared = Arc::clone(&store);
    let garden = Garden::new(|builder| builder.store(shared));
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..50 {
        let token = garden.token("delete_bed", bed("b-1"));
        // In base64, 256 bits have 43 characters.
        assert_eq!(token.len(), "conf_".len() + 43);
        assert!(seen.insert(token));
    }
    let records = block_on(store.list("confirmation_tokens", None, None, 100)).unwrap();
    assert_eq!(records.len(), 50);
    let kept = format!("{records:?}");
    assert!(seen.iter().all(|token| !kept.contains(token.as_str())));
    let record: Value = serde_json::from_str(&records[0].value).unwrap();
    assert_eq!(record["type"], "confirmation");
    assert_eq!(record["operation"], "delete_bed");
    assert_eq!(record["adapter_name"], "garden");
    assert_eq!(record["params_hash"].as_str().map(str::len), Some(64));
    for member in ["id", "issued_at", "expires_at", "consumed_at"] {
        assert!(record.get(member).is_some(), "{member}");
    }
}

#[test]
fn unknown_and_malformed_tokens_get_one_answer() {
    // REQ-TOK-07, REQ-TOK-15
    let garden = Garden::new(|builder| builder);
    let made_up = format!("conf_{}", "A".repeat(43));
    let mut answers = Vec::new();
    for token in [made_up.as_str(), "conf_", "", "conf_å", "quota_continue_AAAAAAAA", "x"] {
        let mut reply = garden.call("delete_bed", confirmed("b-1", token));
        assert_eq!(code(&reply), Some("TOKEN_INVALID"), "{reply}");
        reply["error"]["details"]["token"] = Value::Null;
        assert!(token.len() < 40 || !reply.to_string().contains(token), "{reply}");
        answers.push(reply);
    }
    answers.dedup();
    assert_eq!(answers.len(), 1);
    let reply = garden.call("delete_bed", json!({ "bed_id": "b-1", "_confirmation": { "a": 1 } }));
    assert_eq!(code(&reply), Some("TOKEN_INVALID"));
    assert_eq!(garden.times(), 0);
}

#[test]
fn tokens_expire_with_a_tolerance_for_clocks() {
    // REQ-TOK-07, REQ-TOK-08, REQ-TOK-09, choice C-19
    for (tolerance, operation, last) in [
        (None, "delete_bed", 300 + 30),
        (Some(0), "delete_bed", 300),
        (Some(300), "delete_bed", 600),
        (None, "reset_garden", 120 + 30),
    ] {
        let garden = Garden::new(|builder| match tolerance {
            Some(seconds) => builder.clock_skew_tolerance(Duration::from_secs(seconds)),
            None => builder,
        });
        let token = garden.token(operation, bed("b-1"));
        garden.later(last + 1);
        let reply = garden.call(operation, confirmed("b-1", &token));
        assert_eq!(code(&reply), Some("TOKEN_EXPIRED"), "{operation} {tolerance:?}");
        let details = &reply["error"]["details"];
        assert!(details["expired_at"].as_str() < details["current_time"].as_str(), "{details}");
        let token = garden.token(operation, bed("b-1"));
        garden.later(last);
        assert_eq!(data(garden.call(operation, confirmed("b-1", &token)))["times"], 1);
    }
}

#[test]
fn a_clock_that_is_set_back_does_not_make_tokens_live_longer() {
    // REQ-TOK-08
    let garden = Garden::new(|builder| builder);
    let token = garden.token("delete_bed", bed("b-1"));
    garden.later(-31);
    let reply = garden.call("delete_bed", confirmed("b-1", &token));
    assert_eq!(code(&reply), Some("TOKEN_EXPIRED"));
}

#[test]
fn validity_keeps_to_the_protocols_bounds() {
    // REQ-TOK-08, REQ-TOK-09
    let build = |with: fn(AdapterBuilder) -> AdapterBuilder| {
        let builder = Adapter::builder("garden").operations(Beds::default()).without_config();
        with(builder).build().map(|_| ()).map_err(|error| error.to_string())
    };
    let long = build(|builder| builder.confirmation_ttl(Duration::from_secs(901)));
    assert!(long.unwrap_err().contains("confirmation_ttl_seconds` is "));
    let none = build(|builder| builder.confirmation_ttl(Duration::ZERO));
    assert!(none.unwrap_err().contains("confirmation_ttl_seconds` is "));
    let skew = build(|builder| builder.clock_skew_tolerance(Duration::from_secs(301)));
    assert!(skew.unwrap_err().contains("clock_skew_tolerance_seconds` is 301: choose 0 to 300"));
    let garden = Garden::new(|builder| builder.confirmation_ttl(Duration::from_secs(900)));
    let expires = |operation| {
        let reply = garden.call(operation, bed("b-1"));
        reply["error"]["details"]["expires_at"].as_str().unwrap().to_owned()
    };
    assert_eq!(expires("delete_bed"), "2030-03-17T18:01:40.000Z");
    // A confirmation of a `forbidden` operation expires after at most five minutes.
    assert_eq!(expires("reset_garden"), "2030-03-17T17:51:40.000Z");
}

#[test]
fn one_of_many_retries_with_the_same_token_runs() {
    // REQ-TOK-10
    let garden = Garden::new(|builder| builder);
    let token = garden.token("delete_bed", bed("b-1"));
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
    let codes = runtime.block_on(async {
        let calls: Vec<_> = (0..64)
            .map(|_| {
                let (adapter, params) = (garden.adapter.clone(), confirmed("b-1", &token));
                tokio::spawn(async move { adapter.call("delete_bed", params).await })
            })
            .collect();
        let mut codes = Vec::new();
        for call in calls {
            codes.push(call.await.unwrap().code().map(str::to_owned));
        }
        codes
    });
    assert_eq!(codes.iter().filter(|code| code.is_none()).count(), 1);
    let mut refused = codes.iter().flatten();
    assert!(refused.all(|code| code == "TOKEN_ALREADY_USED"), "{codes:?}");
    assert_eq!(garden.times(), 1);
    // The rejected retries are not treated as guesses, so there is no delay for another token.
    let token = garden.token("delete_bed", bed("b-2"));
    assert_eq!(data(garden.call("delete_bed", confirmed("b-2", &token)))["times"], 2);
}

#[test]
fn a_cooldown_has_to_pass_first() {
    // REQ-DNG-05, REQ-DNG-10
    let garden = Garden::new(|builder| builder);
    let token = garden.token("burn_bed", bed("b-1"));
    garden.later(59);
    let reply = garden.call("burn_bed", confirmed("b-1", &token));
    assert_eq!(code(&reply), Some("CONFIRMATION_REQUIRED"));
    assert_eq!(reply["error"]["details"]["retry_after_seconds"], 1);
    assert_eq!(reply["error"]["details"]["confirmation_token"], token);
    garden.later(1);
    assert_eq!(data(garden.call("burn_bed", confirmed("b-1", &token)))["times"], 1);
}

/// Open the dam.
#[mcp_aql::operation(
    category = "EXECUTE",
    danger(level = "dangerous", requires_reauth, cooldown_seconds = 3600)
)]
fn open_dam() {}

#[test]
fn a_cooldown_begins_with_the_approval_of_a_person() {
    // REQ-DNG-05, REQ-DNG-10
    for (operation, params, cooldown) in
        [("burn_bed", bed("b-1"), 60), ("open_dam", json!({}), 3600)]
    {
        let people = MemoryChannel::default();
        let garden = Garden::new(|builder| {
            builder
                .operation(open_dam {})
                .policy(Policy::confirm("burn_bed").by_operator())
                .safety_loop(SafetyLoop::new().channel(people.clone()))
                .store(MemoryState::default())
        });
        let call = || garden.call(operation, params.clone());
        let refused = |reply: Value| {
            assert_eq!(code(&reply), Some("PERMISSION_DENIED"), "{operation}: {reply}");
            reply["error"]["details"].clone()
        };
        let approve = |details: &Value| {
            let id = details["request_id"].as_str().unwrap();
            block_on(garden.adapter.operator().unwrap().approve(id, "test")).unwrap();
        };
        let asked = refused(call());
        assert_eq!(asked["cooldown_seconds"], cooldown, "{asked}");
        garden.later(100);
        approve(&asked);
        for (passed, left) in [(0, cooldown), (cooldown - 1, 1)] {
            garden.later(passed);
            let waits = refused(call());
            assert_eq!(waits["retry_after_seconds"], left, "{waits}");
            assert_eq!(waits["request_id"], asked["request_id"], "{waits}");
        }
        assert_eq!(people.requests().len(), 1);
        garden.later(1);
        data(call());
        // The approval was for one call. Another one expires five minutes after its cooldown.
        approve(&refused(call()));
        garden.later(cooldown + 300);
        refused(call());
        assert_eq!(people.requests().len(), 3);
    }
}

#[test]
fn the_matrix_is_in_force_once_trust_is_declared() {
    // REQ-DNG-06, REQ-DNG-07, REQ-DNG-13, REQ-DNG-16
    let outcome = |level: TrustLevel, operation: &str| {
        let garden = Garden::new(|builder| builder.trust(Trust::new(level)));
        garden.call(operation, bed("b-1"))
    };
    let denied = Some("PERMISSION_DANGER_LEVEL_DENIED");
    let confirm = Some("CONFIRMATION_REQUIRED");
    for (level, operation, expected) in [
        (TrustLevel::Untested, "list_beds", Some("PERMISSION_TRUST_LEVEL_INSUFFICIENT")),
        (TrustLevel::Generated, "list_beds", None),
        (TrustLevel::Generated, "create_bed", denied),
        (TrustLevel::Validated, "create_bed", None),
        (TrustLevel::Generated, "delete_bed", denied),
        (TrustLevel::Validated, "delete_bed", confirm),
        (TrustLevel::Certified, "delete_bed", confirm),
        (TrustLevel::Validated, "purge_weeds", denied),
        (TrustLevel::CommunityReviewed, "purge_weeds", confirm),
        (TrustLevel::CommunityReviewed, "reset_garden", denied),
        (TrustLevel::Certified, "reset_garden", confirm),
    ] {
        let reply = outcome(level, operation);
        assert_eq!(code(&reply), expected, "{level} {operation}");
    }
    let reply = outcome(TrustLevel::Generated, "delete_bed");
    assert_eq!(
        reply["error"]["details"],
        json!({
            "operation": "delete_bed", "danger_level": "destructive", "adapter_trust": "generated",
            "minimum_trust_required": "validated",
            "reasons": ["The bed and its history are removed"],
        })
    );
    let reply = outcome(TrustLevel::Untested, "list_beds");
    assert_eq!(
        reply["error"]["details"],
        json!({
            "operation": "list_beds", "required_trust": "generated", "actual_trust": "untested",
            "danger_level": 0,
        })
    );
    let garden = Garden::new(|builder| builder.trust(Trust::new(TrustLevel::Untested)));
    let told = data(garden.call("introspect", json!({ "query": "adapter_info" })));
    assert_eq!(told["name"], "garden");
    assert_eq!(told["trust"]["level"], "untested");
}

#[test]
fn policies_decide_and_the_strictest_wins() {
    // REQ-GATE-04, REQ-GATE-05, REQ-GATE-06, choice C-46
    let garden = Garden::new(|builder| {
        builder
            .policy(Policy::allow("delete_bed"))
            .policy(Policy::confirm("delete_*").when(Condition::equals("force", true)))
            .policy(
                Policy::deny("delete_bed")
                    .when(Condition::equals("bed_id", "rose-bed"))
                    .reason("roses are for keeps"),
            )
            .policy(Policy::confirm("create_bed"))
    });
    assert_eq!(data(garden.call("delete_bed", bed("b-1")))["times"], 1);
    let forced = json!({ "bed_id": "b-1", "force": true });
    assert_eq!(code(&garden.call("delete_bed", forced)), Some("CONFIRMATION_REQUIRED"));
    let roses = json!({ "bed_id": "rose-bed", "force": true });
    let reply = garden.call("delete_bed", roses);
    assert_eq!(code(&reply), Some("PERMISSION_DENIED"));
    assert_eq!(reply["error"]["details"]["reason"], "roses are for keeps");
    assert_eq!(code(&garden.call("create_bed", bed("b-1"))), Some("CONFIRMATION_REQUIRED"));
    // No policy can allow an operation that the trust level forbids.
    let garden = Garden::new(|builder| {
        builder.trust(Trust::new(TrustLevel::Generated)).policy(Policy::allow("delete_bed"))
    });
    let reply = garden.call("delete_bed", bed("b-1"));
    assert_eq!(code(&reply), Some("PERMISSION_DANGER_LEVEL_DENIED"));
}

#[test]
fn a_policy_that_names_nothing_real_keeps_the_adapter_from_starting() {
    // REQ-GATE-04
    let builder = Adapter::builder("garden").operations(Beds::default()).without_config();
    let error = builder
        .policy(Policy::deny("delete_beds"))
        .policy(Policy::deny("mow_*"))
        .policy(Policy::deny("delete_bed").when(Condition::present("forced")))
        .policy(Policy::deny("delete_bed").for_session(Duration::from_secs(60)))
        .build()
        .unwrap_err();
    let problems = error.problems();
    assert_eq!(problems.len(), 4, "{problems:?}");
    assert!(problems[3].contains("does not require a confirmation"), "{problems:?}");
    assert!(problems[0].contains("did you mean `delete_bed`?"), "{problems:?}");
    assert!(problems[1].contains("`mow_*`"), "{problems:?}");
    assert!(problems[2].contains("`forced`"), "{problems:?}");
}

/// A payment, with amounts in the forms that JSON has for large and for decimal numbers.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Payment {
    /// The status.
    status: PaymentStatus,
}

/// The status of a payment.
#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
enum PaymentStatus {
    /// Not yet paid.
    Open,
    /// Paid.
    Paid,
}

/// A decimal, sent as a number or as a string.
#[derive(serde::Deserialize, serde::Serialize)]
#[serde(untagged)]
enum Decimal {
    Number(f64),
    Text(String),
}

impl schemars::JsonSchema for Decimal {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Decimal".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": ["string", "number"], "pattern": r"^-?\d+(\.\d+)?$" })
    }
}

/// Execute a payment.
#[mcp_aql::operation(category = "EXECUTE")]
fn execute_payment(
    /// The amount.
    #[param(minimum = 0.5)]
    amount: Decimal,
    /// The number of the account.
    account: Option<mcp_aql::encoding::BigInteger<u128>>,
    /// The payment.
    payment: Option<Payment>,
) -> String {
    let status = payment.map(|payment| matches!(payment.status, PaymentStatus::Open));
    json!([amount, account, status]).to_string()
}

#[test]
fn numbers_in_strings_are_compared_as_numbers() {
    // REQ-GATE-04, REQ-ENC-05
    let builder = || Adapter::builder("bank").operation(execute_payment {}).without_config();
    let adapter = builder()
        .policy(Policy::confirm("execute_payment").when(Condition::above("amount", 100)))
        .policy(Policy::deny("execute_payment").when(Condition::equals("amount", 13)))
        .policy(Policy::deny("execute_payment").when(Condition::above("account", 1_000_000_u64)))
        .policy(Policy::deny("execute_payment").when(Condition::equals("payment.status", "paid")))
        .build()
        .unwrap();
    for (params, expected) in [
        (json!({ "amount": 99 }), None),
        (json!({ "amount": "99.5" }), None),
        (json!({ "amount": "0.4" }), Some("VALIDATION_INVALID_VALUE")),
        (json!({ "amount": "-5" }), Some("VALIDATION_INVALID_VALUE")),
        (json!({ "amount": -5 }), Some("VALIDATION_INVALID_VALUE")),
        (json!({ "amount": 101 }), Some("CONFIRMATION_REQUIRED")),
        (json!({ "amount": "100.01" }), Some("CONFIRMATION_REQUIRED")),
        (json!({ "amount": "13.0" }), Some("PERMISSION_DENIED")),
        (json!({ "amount": 1, "account": "1000000" }), None),
        (
            json!({ "amount": 1, "account": "340282366920938463463374607431768211455" }),
            Some("PERMISSION_DENIED"),
        ),
        (json!({ "amount": 1, "payment": { "status": "open" } }), None),
        (json!({ "amount": 1, "payment": { "status": "paid" } }), Some("PERMISSION_DENIED")),
    ] {
        let reply = block_on(adapter.call("execute_payment", params.clone()));
        assert_eq!(reply.code(), expected, "{params}: {:?}", reply.error());
    }
    for condition in [
        Condition::equals("payment.state", "paid"),
        Condition::equals("payment.status", "payd"),
        Condition::above("payment.status", 5),
        Condition::equals("account", true),
        Condition::longer_than("payment", 5),
    ] {
        let text = format!("{condition:?}");
        let error = builder().policy(Policy::deny("execute_payment").when(condition)).build();
        let error = error.unwrap_err().to_string();
        assert!(error.contains("that a call cannot meet"), "{text}: {error}");
    }
}

#[test]
fn a_confirmation_may_apply_to_the_session() {
    // REQ-GATE-08
    let garden = Garden::new(|builder| {
        builder
            .policy(Policy::confirm("delete_bed").for_session(Duration::from_secs(600)))
            .policy(Policy::confirm("remove_row").for_session(Duration::from_secs(600)))
    });
    let (session, other) = (Session::new(), Session::new());
    let reply = garden.call_in(Some(&session), "delete_bed", bed("b-1"));
    let token = reply["error"]["details"]["confirmation_token"].as_str().unwrap();
    let reply = garden.call_in(Some(&session), "delete_bed", confirmed("b-1", token));
    assert_eq!(data(reply)["times"], 1);
    // The confirmation covers all calls of this operation in this session, but no other operation or session.
    assert_eq!(data(garden.call_in(Some(&session), "delete_bed", bed("b-2")))["times"], 2);
    let asked = Some("CONFIRMATION_REQUIRED");
    assert_eq!(code(&garden.call_in(Some(&session), "remove_row", bed("b-2"))), asked);
    assert_eq!(code(&garden.call_in(Some(&other), "delete_bed", bed("b-2"))), asked);
    assert_eq!(code(&garden.call("delete_bed", bed("b-2"))), asked);
    garden.later(600);
    assert_eq!(code(&garden.call_in(Some(&session), "delete_bed", bed("b-2"))), asked);
}

#[test]
fn the_end_of_a_session_revokes_its_tokens() {
    // REQ-GATE-08, REQ-TOK-11, REQ-TOK-12, REQ-SES-02
    let store = Arc::new(MemoryState::default());
    let shared = Arc::clone(&store);
    let garden = Garden::new(|builder| builder.store(shared));
    block_on(async {
        let client = Client::connect(&garden.adapter).await.unwrap();
        let result = client.call("mcp_aql_delete", "delete_bed", bed("b-1")).await.unwrap();
        assert_eq!(result.code(), Some("CONFIRMATION_REQUIRED"));
        let tokens = async || store.list("confirmation_tokens", None, None, 9).await.unwrap();
        assert_eq!(tokens().await.len(), 1);
        client.close().await.unwrap();
        while !tokens().await.is_empty() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    });
    assert_eq!(garden.audited("TOKEN_REVOKED").len(), 1);
}

#[test]
fn tokens_can_be_revoked() {
    // REQ-TOK-12, choice C-22
    let garden = Garden::new(|builder| builder);
    let (one, other) = (garden.token("delete_bed", bed("1")), garden.token("delete_bed", bed("2")));
    assert!(block_on(garden.adapter.revoke_confirmation(&one)).unwrap());
    assert!(!block_on(garden.adapter.revoke_confirmation(&one)).unwrap());
    assert_eq!(code(&garden.call("delete_bed", confirmed("1", &one))), Some("TOKEN_INVALID"));
    block_on(garden.adapter.revoke_confirmations()).unwrap();
    assert_eq!(code(&garden.call("delete_bed", confirmed("2", &other))), Some("TOKEN_INVALID"));
    assert_eq!(garden.audited("TOKEN_REVOKED").len(), 2);
}

#[test]
fn a_thousand_tokens_are_live_at_once_and_expired_ones_go() {
    // REQ-TOK-13, REQ-TOK-17
    let store = Arc::new(MemoryState::default());
    let shared = Arc::clone(&store);
    let garden = Garden::new(|builder| builder.store(shared));
    let mut tokens = Vec::new();
    for place in 0..1_100 {
        let session = Session::new();
        let reply = garden.call_in(Some(&session), "delete_bed", bed(&place.to_string()));
        let token = reply["error"]["details"]["confirmation_token"].as_str().unwrap();
        tokens.push((session, token.to_owned()));
    }
    for (place, (session, token)) in tokens.iter().enumerate() {
        let params = confirmed(&place.to_string(), token);
        assert!(data(garden.call_in(Some(session), "delete_bed", params)).is_object());
    }
    garden.later(3_600);
    let now = DateTime::<Utc>::from_timestamp(garden.clock.load(Ordering::SeqCst), 0).unwrap();
    assert_eq!(block_on(store.purge(now)).unwrap(), 1_100);
}

#[test]
fn expired_records_are_purged_without_a_running_runtime() {
    // REQ-TOK-13
    let store = Arc::new(MemoryState::default());
    let shared = Arc::clone(&store);
    let garden = Garden::new(|builder| builder.store(shared));
    let kept = || block_on(store.list("confirmation_tokens", None, None, 9)).unwrap().len();
    for wait in [3_600, 3_600, 3_600] {
        garden.token("delete_bed", bed("b-1"));
        assert_eq!(kept(), 1);
        garden.later(wait);
    }
}

#[test]
fn session_confirmations_apply_to_one_adapter_until_revoked() {
    // REQ-GATE-08, REQ-TOK-12
    let policy = || Policy::confirm("delete_bed").for_session(Duration::from_secs(600));
    let garden = Garden::new(|builder| builder.policy(policy()));
    let other = Garden::new(|builder| builder.policy(policy()));
    let session = Session::new();
    let reply = garden.call_in(Some(&session), "delete_bed", bed("b-1"));
    let token = reply["error"]["details"]["confirmation_token"].as_str().unwrap();
    data(garden.call_in(Some(&session), "delete_bed", confirmed("b-1", token)));
    data(garden.call_in(Some(&session), "delete_bed", bed("b-2")));
    let asked = Some("CONFIRMATION_REQUIRED");
    assert_eq!(code(&other.call_in(Some(&session), "delete_bed", bed("b-2"))), asked);
    block_on(garden.adapter.revoke_confirmations()).unwrap();
    assert_eq!(code(&garden.call_in(Some(&session), "delete_bed", bed("b-2"))), asked);
}

#[test]
fn unreadable_tokens_do_not_protect_others_from_revocation() {
    // REQ-TOK-12
    use mcp_aql::store::{Expected, NewRecord};
    let store = Arc::new(MemoryState::default());
    let shared = Arc::clone(&store);
    let garden = Garden::new(|builder| builder.store(shared));
    let token = garden.token("delete_bed", bed("b-1"));
    // This key sorts before all hashes.
    let odd = Change::put("confirmation_tokens", "", Expected::Any, NewRecord::new("{}"));
    assert!(block_on(store.write(vec![odd])).unwrap());
    block_on(garden.adapter.revoke_confirmations()).unwrap();
    assert_eq!(code(&garden.call("delete_bed", confirmed("b-1", &token))), Some("TOKEN_INVALID"));
}

#[test]
fn the_number_of_confirmations_in_a_minute_can_be_set() {
    // REQ-TOK-17
    for (most, wrong) in [(3, 1), (8, 2), (500, 125)] {
        let garden = Garden::new(|builder| builder.confirmations_per_minute(most));
        let refused = |reply: &Value| code(reply) == Some("RATE_LIMIT_EXCEEDED");
        for _ in 0..most {
            assert!(!refused(&garden.call("delete_bed", bed("b-1"))), "{most}");
        }
        let asked = garden.call("delete_bed", bed("b-1"));
        assert!(refused(&asked) && asked["error"]["details"]["limit"] == most, "{asked}");
        let guess = || garden.call("delete_bed", confirmed("b-1", "conf_AAAAAAAA"));
        assert_eq!((0..wrong + 5).take_while(|_| !refused(&guess())).count(), wrong);
    }
}

#[test]
fn frequent_requests_and_guesses_are_delayed() {
    // REQ-TOK-17
    let garden = Garden::new(|builder| builder);
    let refused = |reply: &Value| code(reply) == Some("RATE_LIMIT_EXCEEDED");
    let asked = (0..200).map(|_| garden.call("delete_bed", bed("b-1"))).find(refused).unwrap();
    for member in ["limit", "remaining", "window", "resets_at", "retry_after_seconds"] {
        assert!(!asked["error"]["details"][member].is_null(), "{member}: {asked}");
    }
    garden.later(60);
    let token = garden.token("delete_bed", bed("b-1"));
    let guess = || garden.call("delete_bed", confirmed("b-1", "conf_AAAAAAAA"));
    assert!((0..100).any(|_| refused(&guess())));
    // Even the right token is rejected now. Otherwise a caller could go on guessing.
    assert!(refused(&garden.call("delete_bed", confirmed("b-1", &token))));
    // Other sessions are not affected.
    let session = Session::new();
    let reply = garden.call_in(Some(&session), "delete_bed", confirmed("b-1", "conf_AAAAAAAA"));
    assert_eq!(code(&reply), Some("TOKEN_INVALID"));
    garden.later(60);
    assert_eq!(data(garden.call("delete_bed", confirmed("b-1", &token)))["times"], 1);
}

#[test]
fn callers_without_a_session_have_a_rate_of_their_own() {
    // REQ-TOK-17
    let refused = |reply: &Value| code(reply) == Some("RATE_LIMIT_EXCEEDED");
    for (shared, of_session) in [(3, 8), (8, 3)] {
        let garden = Garden::new(|builder| {
            builder
                .confirmations_per_minute(of_session)
                .confirmations_per_minute_without_session(shared)
        });
        let session = Session::new();
        for (caller, most) in [(None, shared), (Some(&session), of_session)] {
            let ask = |_: &usize| !refused(&garden.call_in(caller, "delete_bed", bed("b-1")));
            assert_eq!((0..20).take_while(ask).count(), most, "{caller:?}");
        }
    }
}

#[test]
fn every_decision_and_token_is_in_the_audit_log() {
    // REQ-GATE-09, REQ-TOK-16, REQ-DNG-03, REQ-DNG-09, REQ-DNG-15
    let garden = Garden::new(|builder| {
        builder.trust(Trust::new(TrustLevel::Validated)).policy(Policy::deny("water_bed"))
    });
    let secret = json!({ "bed_id": "b-1", "password": "rosebud" });
    let token = garden.token("delete_bed", secret.clone());
    garden.call("delete_bed", confirmed("b-1", "conf_AAAAAAAA"));
    let params = json!({ "bed_id": "b-1", "password": "rosebud", "_confirmation": token });
    data(garden.call("delete_bed", params));
    garden.call("water_bed", bed("b-1"));
    garden.call("purge_weeds", bed("b-1"));
    garden.call("list_beds", bed("b-1"));
    let lines = garden.audit.0.lock().unwrap().clone();
    let events: Vec<_> = lines.iter().map(|line| line["event"].as_str().unwrap()).collect();
    assert_eq!(
        events,
        [
            "TOKEN_ISSUED",
            "CONFIRMATION_REQUIRED",
            "TOKEN_REJECTED",
            "OPERATION_DENIED",
            "TOKEN_VALIDATED",
            "CONFIRMATION_GRANTED",
            "OPERATION_DENIED",
            "OPERATION_DENIED",
            "OPERATION_ALLOWED",
        ]
    );
    for line in &lines {
        for member in ["timestamp", "adapter_name", "operation", "outcome"] {
            assert!(line[member].is_string(), "{member}: {line}");
        }
        check_token_event(line);
        assert_eq!(line["adapter_trust"], "validated");
        let text = line.to_string();
        assert!(!text.contains("rosebud") && !text.contains(&token), "{text}");
    }
    let granted = &garden.audited("CONFIRMATION_GRANTED")[0];
    assert_eq!(granted["danger_level"], 2);
    assert_eq!(granted["endpoint"], "delete");
    assert_eq!(granted["result"], "confirmed");
    assert_eq!(
        granted["params"],
        json!({ "bed_id": "b-1", "force": false, "password": "[redacted]" })
    );
    let issued = &garden.audited("TOKEN_ISSUED")[0]["token_id"];
    for event in ["TOKEN_VALIDATED", "CONFIRMATION_REQUIRED", "CONFIRMATION_GRANTED"] {
        assert_eq!(garden.audited(event)[0]["token_id"], *issued, "{event}");
    }
    let reasons: Vec<_> = garden.audited("OPERATION_DENIED");
    assert_eq!(reasons[2]["reason"], "PERMISSION_DANGER_LEVEL_DENIED");
}

/// Checks that a token event has the members and names of confirmation-tokens §6.4, and that a gate event has the
/// result of gatekeeper §5.2.
fn check_token_event(line: &Value) {
    let gate = line["result"].as_str();
    match line["event"].as_str().unwrap() {
        "TOKEN_ISSUED" | "TOKEN_VALIDATED" | "TOKEN_REVOKED" => {
            assert_eq!(line["outcome"], "success", "{line}");
            assert!(line.get("failure_reason").is_none(), "{line}");
        }
        "TOKEN_REJECTED" => {
            assert_eq!(line["outcome"], "failure", "{line}");
            assert!(line["failure_reason"].is_string(), "{line}");
        }
        _ => {
            assert!(["allowed", "denied", "confirmed"].contains(&gate.unwrap()), "{line}");
            return;
        }
    }
    for member in ["timestamp", "token_id", "operation", "adapter_name"] {
        assert!(line[member].is_string(), "{member}: {line}");
    }
    assert_eq!(gate, None, "{line}");
}

#[test]
fn token_events_have_the_members_of_the_protocol() {
    // REQ-TOK-16, REQ-TOK-15
    let garden = Garden::new(|builder| builder);
    let call = |token: &str, operation: &str, id: &str| {
        code(&garden.call(operation, confirmed(id, token))).map(str::to_owned)
    };
    let used = garden.token("delete_bed", bed("b-1"));
    assert_eq!(call(&used, "delete_bed", "b-1"), None);
    let revoked = garden.token("delete_bed", bed("b-1"));
    assert!(block_on(garden.adapter.revoke_confirmation(&revoked)).unwrap());
    let old = garden.token("delete_bed", bed("b-1"));
    garden.later(400);
    let other = garden.token("delete_bed", bed("b-2"));
    let early = garden.token("burn_bed", bed("b-1"));
    let unknown = format!("conf_{}", "A".repeat(43));
    let secret = "correct horse battery staple";
    for (token, operation, rejection) in [
        (used.as_str(), "delete_bed", "TOKEN_EXPIRED"),
        (&revoked, "delete_bed", "TOKEN_INVALID"),
        (&old, "delete_bed", "TOKEN_EXPIRED"),
        (&other, "delete_bed", "TOKEN_SCOPE_MISMATCH"),
        (&early, "burn_bed", "CONFIRMATION_REQUIRED"),
        (&unknown, "delete_bed", "TOKEN_INVALID"),
        (secret, "delete_bed", "TOKEN_INVALID"),
    ] {
        assert_eq!(call(token, operation, "b-1").as_deref(), Some(rejection));
        let rejected = garden.audited("TOKEN_REJECTED").pop().unwrap();
        assert_eq!(rejected["failure_reason"], rejection);
        let denied = garden.audited("OPERATION_DENIED").pop().unwrap();
        assert_eq!(denied["token_id"], rejected["token_id"], "{denied}");
    }
    assert_eq!(call(&other, "delete_bed", "b-2"), None);
    assert_eq!(call(&other, "delete_bed", "b-2").as_deref(), Some("TOKEN_ALREADY_USED"));
    let lines = garden.audit.0.lock().unwrap().clone();
    lines.iter().for_each(check_token_event);
    let ids: Vec<_> = lines
        .iter()
        .filter(|line| line["event"] == "TOKEN_ISSUED" || line["event"] == "TOKEN_REJECTED")
        .map(|line| line["token_id"].as_str().unwrap())
        .collect();
    // Each rejection has the id under which the token was issued, even after the token was purged from the store.
    let [used_id, revoked_id, old_id, other_id, early_id] = [0, 1, 2, 3, 4].map(|it| ids[it]);
    let unknown_id = ids[10];
    assert_eq!(
        ids[5..],
        [used_id, revoked_id, old_id, other_id, early_id, unknown_id, "malformed", other_id]
    );
    let distinct: std::collections::BTreeSet<_> = ids.iter().collect();
    assert_eq!(distinct.len(), 7, "{ids:?}");
    // A string sent instead of a token may be a secret, so the log must not contain it.
    let text = Value::Array(lines).to_string();
    for token in [&*used, &revoked, &old, &other, &early, &unknown, secret] {
        assert!(!text.contains(token), "{token}: {text}");
    }
}

#[test]
fn rate_limited_calls_are_in_the_audit_log() {
    // REQ-TOK-17, REQ-TOK-16, REQ-GATE-09
    let garden = Garden::new(|builder| builder);
    let refused = |reply: Value| code(&reply) == Some("RATE_LIMIT_EXCEEDED");
    assert!((0..200).any(|_| refused(garden.call("delete_bed", bed("b-1")))));
    let denied = garden.audited("OPERATION_DENIED");
    assert_eq!(denied.len(), 1);
    assert_eq!(denied[0]["reason"], "RATE_LIMIT_EXCEEDED");
    assert_eq!(denied[0]["operation"], "delete_bed");

    let guess = || garden.call("delete_bed", confirmed("b-1", "conf_AAAAAAAA"));
    assert!((0..100).any(|_| refused(guess())));
    let rejected = garden.audited("TOKEN_REJECTED").pop().unwrap();
    assert_eq!(rejected["failure_reason"], "RATE_LIMIT_EXCEEDED");
    check_token_event(&rejected);
    let denied = garden.audited("OPERATION_DENIED").pop().unwrap();
    assert_eq!(denied["reason"], "RATE_LIMIT_EXCEEDED");
    assert_eq!(denied["token_id"], rejected["token_id"]);
}

#[test]
fn session_confirmations_do_not_satisfy_a_stricter_policy() {
    // REQ-GATE-05, REQ-GATE-08
    let minutes = |count: u64| Duration::from_secs(count * 60);
    let forced = || Condition::equals("force", true);
    let lenient = || Policy::confirm("delete_bed").for_session(minutes(60));
    let strict = || Policy::confirm("delete_bed").when(forced()).for_session(minutes(1));
    let same = || Policy::confirm("delete_bed").when(forced()).for_session(minutes(60));
    let each_time = || Policy::confirm("delete_*").when(forced());
    for policies in [
        [lenient(), strict()],
        [strict(), lenient()],
        // These policies are equally strict, but ask different questions.
        [lenient(), same()],
        [same(), lenient()],
        [each_time(), lenient()],
    ] {
        let asks_each_time = policies.contains(&each_time());
        let garden = Garden::new(|builder| {
            policies.into_iter().fold(builder, |it, policy| it.policy(policy))
        });
        let session = Session::new();
        let ask = |force: bool| {
            let params = json!({ "bed_id": "b-1", "force": force });
            garden.call_in(Some(&session), "delete_bed", params)
        };
        let confirm = |force: bool| {
            let reply = ask(force);
            assert_eq!(code(&reply), Some("CONFIRMATION_REQUIRED"), "{reply}");
            let token = &reply["error"]["details"]["confirmation_token"];
            let params = json!({ "bed_id": "b-1", "force": force, "_confirmation": token });
            data(garden.call_in(Some(&session), "delete_bed", params));
        };
        confirm(false);
        data(ask(false));
        confirm(true);
        if asks_each_time {
            confirm(true);
        } else {
            // A confirmation that satisfied both policies counts for each of them.
            data(ask(true));
        }
        data(ask(false));
    }
}

#[test]
fn each_policy_about_a_call_is_satisfied() {
    // REQ-GATE-05, REQ-AUT-16
    let minute = Duration::from_secs(60);
    let garden = Garden::new(|builder| {
        builder
            .store(MemoryState::default())
            .safety_loop(SafetyLoop::new().channel(MemoryChannel::default()))
            .policy(Policy::confirm("delete_bed").by_operator().for_session(minute))
            .policy(Policy::confirm("delete_*"))
    });
    let session = Session::new();
    // One policy requires a person's approval, the other a confirmation of each call.
    for _ in 0..2 {
        let asked = garden.call_in(Some(&session), "delete_bed", bed("b-1"));
        assert_eq!(code(&asked), Some("PERMISSION_DENIED"), "{asked}");
        let request = &asked["error"]["details"]["request_id"];
        let operator = garden.adapter.operator().unwrap();
        block_on(operator.approve(request.as_str().unwrap(), "test")).unwrap();
        data(garden.call_in(Some(&session), "delete_bed", bed("b-1")));
        let granted = garden.audited("CONFIRMATION_GRANTED").pop().unwrap();
        assert_eq!(granted["challenge_id"], *request, "{granted}");
        assert_eq!(granted["decided_by"], "test", "{granted}");
        let required = garden.audited("CONFIRMATION_REQUIRED").pop().unwrap();
        assert_eq!(required["challenge_id"], *request, "{required}");
    }
}

#[test]
fn the_audit_log_may_be_kept_in_the_store() {
    // REQ-GATE-09
    let store = Arc::new(MemoryState::default());
    let shared = Arc::clone(&store);
    let garden = Garden::new(|builder| builder.store(shared).audit_in_store(true));
    garden.call("list_beds", bed("b-1"));
    let kept = block_on(store.list("audit", None, None, 9)).unwrap();
    let line: Value = serde_json::from_str(&kept[0].value).unwrap();
    assert_eq!(line["event"], "OPERATION_ALLOWED");
}

#[test]
fn the_audit_log_in_the_store_is_kept_as_long_as_it_is_to_be() {
    // REQ-GATE-09
    let store = Arc::new(MemoryState::default());
    let shared = Arc::clone(&store);
    let keep = Duration::from_secs(24 * 60 * 60);
    let garden =
        Garden::new(|builder| builder.store(shared).audit_in_store(true).audit_retention(keep));
    let kept = || block_on(store.list("audit", None, None, 9)).unwrap().len();
    garden.call("list_beds", bed("b-1"));
    garden.later(24 * 60 * 60);
    garden.call("list_beds", bed("b-1"));
    assert_eq!(kept(), 2, "a day is not over before its last moment");
    garden.later(601);
    garden.call("list_beds", bed("b-1"));
    assert_eq!(kept(), 2);
    let nowhere =
        Adapter::builder("garden").without_config().audit_retention(keep).build().unwrap_err();
    assert!(nowhere.problems()[0].contains("audit_in_store"), "{nowhere}");
}

#[test]
fn the_store_is_ready_before_the_first_audit_entry() {
    // REQ-GATE-09
    #[derive(Default)]
    struct Slow(MemoryState, AtomicU32);
    impl StateStore for Slow {
        fn prepare(&self) -> BoxFuture<'_, Result<(), StoreError>> {
            self.1.fetch_add(1, Ordering::SeqCst);
            self.0.prepare()
        }
        fn get<'a>(
            &'a self,
            collection: &'a str,
            key: &'a str,
        ) -> BoxFuture<'a, Result<Option<StateRecord>, StoreError>> {
            self.0.get(collection, key)
        }
        fn list<'a>(
            &'a self,
            collection: &'a str,
            group: Option<&'a str>,
            after: Option<&'a str>,
            most: usize,
        ) -> BoxFuture<'a, Result<Vec<StateRecord>, StoreError>> {
            self.0.list(collection, group, after, most)
        }
        fn write(&self, changes: Vec<Change>) -> BoxFuture<'_, Result<bool, StoreError>> {
            assert_eq!(self.1.load(Ordering::SeqCst), 1, "written to before it was ready");
            self.0.write(changes)
        }
        fn purge(&self, now: DateTime<Utc>) -> BoxFuture<'_, Result<u64, StoreError>> {
            self.0.purge(now)
        }
    }
    let garden = Garden::new(|builder| builder.store(Slow::default()).audit_in_store(true));
    data(garden.call("list_beds", bed("b-1")));
    // Another call must not prepare the store a second time.
    garden.token("delete_bed", bed("b-1"));
}

#[test]
fn danger_is_published_before_a_call() {
    // REQ-DNG-04, REQ-DNG-08, REQ-RQ-16, choice C-02
    let garden = Garden::new(|builder| {
        builder
            .policy(Policy::deny("water_bed"))
            .policy(Policy::allow("purge_weeds"))
            .policy(Policy::confirm("create_bed").when(Condition::present("password")))
    });
    let told = data(garden.call("introspect", json!({ "query": "danger", "name": "delete_bed" })));
    assert_eq!(
        told["operation"],
        json!({
            "name": "delete_bed", "level": "destructive", "dangerous": true,
            "permission": "confirm",
            "requires_confirmation": true, "reasons": ["The bed and its history are removed"],
            "confirmation_message": "Delete bed '{bed_id}' with '{password}'?",
        })
    );
    let told = data(garden.call("introspect", json!({ "query": "danger" })));
    let operations = told["operations"].as_array().unwrap();
    assert_eq!(operations.len(), 10);
    let of = |name: &str| operations.iter().find(|each| each["name"] == name).unwrap();
    assert_eq!(of("purge_weeds")["inferred_from"], "purge_*");
    // A policy for all calls of an operation is published in full. A policy for some calls is only mentioned.
    let told = |name: &str| (of(name)["permission"].clone(), of(name)["has_policies"].clone());
    assert_eq!(told("water_bed"), (json!("deny"), Value::Null));
    assert_eq!(told("purge_weeds"), (json!("allow"), Value::Null));
    assert_eq!(told("create_bed"), (json!("allow"), json!(true)));
    assert_eq!(of("introspect")["permission"], "allow");
    let unknown = json!({ "query": "danger", "name": "mow_lawn" });
    assert_eq!(data(garden.call("introspect", unknown))["operation"], Value::Null);
    for (name, note) in [
        ("delete_bed", Some("Requires confirmation: destructive.")),
        ("water_bed", Some("Denied: reversible.")),
        ("create_bed", Some("Requires confirmation for some values: reversible.")),
        ("purge_weeds", None),
    ] {
        let details = json!({ "query": "operations", "name": name });
        let details = data(garden.call("introspect", details));
        let text = details["operation"]["description"].as_str().unwrap();
        let told = text.split_once(". ").map(|(_, note)| note);
        assert_eq!(told, note, "{text}");
    }
}

#[test]
fn a_batch_halts_before_a_confirmation_and_continues_with_the_token() {
    // REQ-BAT-08 to REQ-BAT-11
    let garden = Garden::new(|builder| builder);
    let item = |operation: &str, params: Value| json!({ "operation": operation, "params": params });
    let reply = garden.ask(
        None,
        json!({ "operations": [
            item("create_bed", bed("b-1")),
            item("create_bed", json!({})),
            item("delete_bed", bed("b-2")),
            item("list_beds", json!({ "bed_id": "b-3", "force": true })),
            item("delete_bed", bed("b-4")),
        ] }),
    );
    assert_eq!(reply["success"], true);
    assert_eq!(reply["results"].as_array().map(Vec::len), Some(2));
    assert_eq!(reply["halted_at"]["index"], 2);
    assert_eq!(reply["halted_at"]["operation"], "delete_bed");
    assert_eq!(code(&reply["halted_at"]["result"]), Some("CONFIRMATION_REQUIRED"));
    assert_eq!(
        reply["pending_operations"],
        json!([
            { "index": 3, "operation": "list_beds", "params": { "bed_id": "b-3", "force": true } },
            { "index": 4, "operation": "delete_bed", "params": { "bed_id": "b-4" } },
        ])
    );
    assert_eq!(
        reply["summary"],
        json!({ "total": 5, "succeeded": 1, "failed": 1, "halted": 1, "pending": 2 })
    );
    assert_eq!(garden.times(), 1);
    // To continue, send a new batch that starts with the gated item and its token.
    let details = &reply["halted_at"]["result"]["error"]["details"];
    let token = details["confirmation_token"].as_str().unwrap();
    let mut rest = vec![item("delete_bed", confirmed("b-2", token))];
    rest.extend(
        reply["pending_operations"]
            .as_array()
            .unwrap()
            .iter()
            .map(|pending| item(pending["operation"].as_str().unwrap(), pending["params"].clone())),
    );
    let reply = garden.ask(None, json!({ "operations": rest }));
    assert_eq!(reply["results"].as_array().map(Vec::len), Some(2));
    assert_eq!(reply["halted_at"]["index"], 2);
    assert!(reply.get("pending_operations").is_some_and(|pending| pending == &json!([])));
    assert_eq!(garden.times(), 3);
}

#[test]
fn a_token_is_accepted_wherever_a_parameter_is() {
    // REQ-RQ-03, REQ-TOK-06
    let garden = Garden::new(|builder| builder);
    let token = || garden.token("delete_bed", bed("b-1"));
    for form in [
        |token: &str| json!({ "params": { "bed_id": "b-1", "_confirmation": token } }),
        |token: &str| json!({ "params": { "bed_id": "b-1" }, "_confirmation": token }),
        |token: &str| json!({ "bed_id": "b-1", "_confirmation": token }),
        |token: &str| json!({ "params": { "bed_id": "b-1", "confirmation_token": token } }),
        |token: &str| json!({ "bed_id": "b-1", "confirmation_token": token }),
    ] {
        let mut request = form(&token());
        request["operation"] = json!("delete_bed");
        let reply = garden.ask(None, request.clone());
        assert_eq!(code(&reply), None, "{request}");
        // The same holds for an item of a batch.
        let mut item = form(&token());
        item["operation"] = json!("delete_bed");
        let reply = garden.ask(None, json!({ "operations": [item] }));
        assert_eq!(reply["summary"]["succeeded"], 1, "{request}");
    }
    // A token next to a batch belongs to none of its items. The error explains this.
    let item = json!({ "operation": "delete_bed", "params": bed("b-1") });
    let request = json!({ "operations": [item], "_confirmation": token() });
    let reply = garden.ask(None, request);
    assert_eq!(code(&reply), Some("BATCH_VALIDATION_ERROR"));
    assert!(message(&reply).contains("move '_confirmation' into its items"), "{reply}");
}

#[test]
fn pending_operations_can_be_sent_as_they_came() {
    // REQ-BAT-08, REQ-BAT-11
    let garden = Garden::new(|builder| builder);
    let item = |operation: &str, params: Value| json!({ "operation": operation, "params": params });
    let token = garden.token("delete_bed", bed("b-4"));
    let reply = garden.ask(
        None,
        json!({ "operations": [
            item("delete_bed", bed("b-2")),
            item("delete_bed", confirmed("b-4", &token)),
            item("delete_bed", json!({ "bed_id": "b-5", "force": "\u{0}" })),
            item("list_beds", json!("{}")),
        ] }),
    );
    let mut rest = reply["pending_operations"].clone();
    assert_eq!(rest[0]["params"], confirmed("b-4", &token));
    assert_eq!(rest[1]["params"]["bed_id"], "b-5", "what was refused is not lost");
    for item in rest.as_array_mut().unwrap() {
        item.as_object_mut().unwrap().remove("index");
    }
    let reply = garden.ask(None, json!({ "operations": rest }));
    let summary = json!({ "total": 3, "succeeded": 1, "failed": 2 });
    assert_eq!(reply["summary"], summary, "{reply}");
}

#[test]
fn a_pending_item_that_was_not_read_as_it_was_sent_cannot_be_sent_again() {
    // REQ-BAT-08, REQ-BAT-11
    let garden = Garden::new(|builder| builder);
    let halts = r#"{"operation":"delete_bed","params":{"bed_id":"b-2"}}"#;
    for item in [
        r#"{"operation":"water_bed","params":{"bed_id":"b-4","bed_id":"b-5"}}"#,
        r#"{"operation":"water_bed","operation":"water_bed","params":{"bed_id":"b-5"}}"#,
        r#"{"operation":"water_bed","params":{"bed_id":"b-5"},"params":{"bed_id":"b-4"}}"#,
        r#"{"operation":"water_bed","params":{"bed_id":"b-5","force":12345678901234567890123}}"#,
        r#"{"operation":"water_bed","params":{"bed_id":"b-5","force":1e999}}"#,
        r#"{"operation":"water_bed","params":{"bed_id":"b-5\ud800"}}"#,
        // Another error is reported first, and hides the repeated member.
        r#"{"operation":"water_bed","params":{"bed_id":"b-4","bed_id":"b-5","x":"\u0000"}}"#,
    ] {
        let ask = |items: &str| {
            let text = format!(r#"{{"operations":{items}}}"#);
            let scope = CallScope::default();
            let reply = garden.adapter.handle(Endpoint::Unified, text.as_bytes(), scope);
            serde_json::from_str::<Value>(&block_on(reply).text).unwrap()
        };
        let reply = ask(&format!("[{halts},{item}]"));
        let pending = &reply["pending_operations"][0];
        assert_eq!(
            (&pending["operation"], &pending["params"]),
            (&json!(""), &json!({})),
            "{reply}"
        );
        let code = pending["error"]["code"].as_str().unwrap();
        assert!(code.starts_with("VALIDATION_INVALID"), "{reply}");
        let text = pending.to_string();
        assert!(!text.contains("b-4") && !text.contains("b-5"), "{text}");
        let reply = ask(&json!([{ "operation": "", "params": {} }]).to_string());
        assert_eq!(reply["summary"]["failed"], 1, "{reply}");
        // If the item is rejected later, the reply shows no value of a repeated member, either.
        let reply = ask(&format!("[{item}]"));
        let refused = &reply["results"][0];
        let is_repeated = item.matches(r#""operation""#).count() > 1;
        assert_eq!(refused["operation"], if is_repeated { "" } else { "water_bed" }, "{reply}");
    }
    assert_eq!(garden.times(), 0);
}

#[test]
fn gates_can_be_set_in_the_configuration_file() {
    // REQ-GATE-04, REQ-DNG-13, REQ-TOK-08
    let folder = std::env::temp_dir().join(format!("gates-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("mcp-aql.toml");
    let build = |text: &str| {
        std::fs::write(&file, text).unwrap();
        Adapter::builder("garden").operations(Beds::default()).config_file(&file).build()
    };
    let log = folder.join("audit.jsonl");
    let adapter = build(&format!(
        "audit_log = {log:?}\n\
         [gatekeeper]\nconfirmation_ttl_seconds = 60\nclock_skew_tolerance_seconds = 0\n\
         [gatekeeper.trust]\nlevel = 'validated'\n\
         [[gatekeeper.policies]]\noperation = 'water_bed'\npermission = 'deny'\nreason = 'it rains'\n\
         when = [{{ parameter = 'force', equals = true }}]\n",
    ))
    .unwrap();
    let forced = json!({ "bed_id": "b-1", "force": true });
    let reply = crate::support::call(&adapter, "water_bed", forced);
    assert_eq!(reply["error"]["details"]["reason"], "it rains");
    data(crate::support::call(&adapter, "water_bed", bed("b-1")));
    let reply = crate::support::call(&adapter, "reset_garden", bed("b-1"));
    assert_eq!(code(&reply), Some("PERMISSION_DANGER_LEVEL_DENIED"));
    let lines = std::fs::read_to_string(&log).unwrap();
    assert_eq!(lines.lines().count(), 3);
    for (text, said) in [
        ("[gatekeeper.trust]\nlevel = 'high'", "community_reviewed"),
        ("[gatekeeper]\npolicy = []", "policy"),
        ("[[gatekeeper.policies]]\noperation = 'mow'\npermission = 'deny'", "`mow`"),
        ("[[gatekeeper.policies]]\noperation = 'water_bed'\npermission = 'forbid'", "forbid"),
        ("[gatekeeper]\nconfirmation_ttl_seconds = 0", "1 to 900"),
        ("[gatekeeper]\nconfirmations_per_minute = 0", "at least 1"),
    ] {
        let error = build(text).unwrap_err().to_string();
        assert!(error.contains(said), "{text}: {error}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_declared_confirmation_message_requires_confirmation_at_any_level() {
    // REQ-DNG-05, REQ-DNG-10
    let garden = Garden::new(|builder| builder);
    let reply = garden.call("pay_gardener", bed("b-1"));
    assert_eq!(code(&reply), Some("CONFIRMATION_REQUIRED"), "{reply}");
    assert_eq!(reply["error"]["details"]["danger_level"], "reversible");
    assert_eq!(reply["error"]["details"]["confirmation_message"], "Pay for bed 'b-1'?");
    let asked = json!({ "query": "danger", "name": "pay_gardener" });
    assert_eq!(data(garden.call("introspect", asked))["operation"]["permission"], "confirm");
    assert_eq!(garden.times(), 0);
}
