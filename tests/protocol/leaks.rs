//! Tests that no message contains internals and that no secret is revealed. Provokes every error and screens its
//! message.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Once;

use mcp_aql::operator::MemoryChannel;
use mcp_aql::prelude::*;
use mcp_aql::safety_loop::SafetyLoop;
use mcp_aql::store::MemoryState;
use mcp_aql::testing::leaks_internals;
use mcp_aql::transport::Endpoint;
use mcp_aql::{Adapter, Policy, Session, SizeLimits};
use serde::Deserialize;
use serde_json::{Value, json};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context as LayerContext, SubscriberExt as _};

use crate::board::{Account, board, builder};
use crate::support::{ask, ask_in, ask_with_session, call, code, family};

/// Words that a client may send. If a message repeated them, it would look like a leak.
const NASTY: &[&str] = &[
    "at x",
    "look at /src/main.rs:12",
    "TypeError",
    "NullPointerException",
    "a/node_modules/b",
    "/src/",
    "x.ts:12",
    "x.js:3",
    "format x",
    "that one",
    "tab\tat\ty",
    "line\nat\nz",
    "\u{1b}[31mred",
    "\u{7f}",
    "at\u{a0}x",
    "at\u{3000}x",
    "漢字 at 字",
    "",
];

/// Collects all messages in a reply, including those of items and warnings.
fn messages(reply: &Value, found: &mut Vec<(String, String)>) {
    match reply {
        Value::Object(members) => {
            if let (Some(Value::String(code)), Some(Value::String(message))) =
                (members.get("code"), members.get("message"))
            {
                found.push((code.clone(), message.clone()));
            }
            members.values().for_each(|member| messages(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| messages(item, found)),
        _ => {}
    }
}

struct Screen {
    codes: BTreeSet<String>,
    leaks: Vec<String>,
    seen: usize,
}

impl Screen {
    fn new() -> Self {
        Self { codes: BTreeSet::new(), leaks: Vec::new(), seen: 0 }
    }

    fn look(&mut self, reply: &Value) {
        let mut found = Vec::new();
        messages(reply, &mut found);
        for (code, message) in found {
            self.seen += 1;
            self.codes.insert(code);
            if leaks_internals(&message) || message.chars().any(char::is_control) {
                self.leaks.push(message);
            }
        }
    }
}

/// A type whose deserialization always fails, with a message that mentions Rust.
#[derive(Debug, Clone, JsonSchema, serde::Serialize)]
#[schemars(with = "String")]
struct Stubborn(String);

impl<'de> serde::Deserialize<'de> for Stubborn {
    fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(serde::de::Error::custom("TypeError at stubborn (/src/stubborn.rs:12)"))
    }
}

/// Accept a value that cannot be decoded.
#[operation(category = "READ", rationale = "It takes nothing")]
fn take_stubborn(
    /// Look at this format x.
    thing: Stubborn,
    /// By name.
    things: Option<std::collections::BTreeMap<String, Stubborn>>,
) -> String {
    format!("{thing:?} {things:?}")
}

/// Find a thing by a selector whose names look like leaks.
#[operation(category = "READ")]
fn find_place(
    /// Where to look at it.
    #[param(enum = ["at home", "at work"])]
    place: String,
    /// The matching text.
    #[param(pattern = "^at [a-z]+$")]
    pattern: Option<String>,
) -> Result<String, OperationError> {
    let _ = pattern;
    Err(OperationError::not_found("place", place))
}

fn adapter() -> Adapter {
    let limits = SizeLimits {
        max_request_size: 64 << 10,
        max_response_size: 1 << 20,
        max_string_length: 64 << 10,
        max_array_elements: 100,
        max_nesting_depth: 8,
        max_batch_operations: 5,
        result_budget: 64 << 10,
    };
    builder().operation(take_stubborn {}).operation(find_place {}).limits(limits).build().unwrap()
}

/// Returns calls that fail, each for another reason.
fn failing_calls() -> Vec<Value> {
    let op = |operation: &str, params: Value| json!({ "operation": operation, "params": params });
    let echo = |name: &str, value: Value| {
        let mut params = json!({ "text": "a" });
        params[name] = value;
        json!({ "operation": "echo_values", "params": params })
    };
    let update = |input: Value| op("update_task", json!({ "task_id": "t-1", "input": input }));
    let mut calls = vec![
        json!({}),
        json!({ "operation": "" }),
        json!({ "operation": 7 }),
        json!({ "operation": "get_task", "params": [] }),
        op("echo_values", json!({ "text": "a\u{0}b" })),
        op("echo_values", json!({ "text": "x".repeat(65_000 + 1_000) })),
        op("echo_values", json!({ "text": "a", "words": vec!["x".repeat(30_000); 3] })),
        op("echo_values", json!({ "text": "a", "anything": vec![0; 101] })),
        op("echo_values", json!({ "text": "a", "anything": [[[[[[[[1]]]]]]]] })),
        op("repeat_text", json!({ "length": 60_000, "times": 50 })),
        op("repeat_text", json!({ "length": 70_000 })),
        op("repeat_text", json!({ "length": 1, "times": 101 })),
        op("take_stubborn", json!({})),
        op("take_stubborn", json!({ "thing": 1 })),
        op("take_stubborn", json!({ "thing": "a" })),
        op("find_place", json!({})),
        op("find_place", json!({ "place": "at sea" })),
        op("find_place", json!({ "place": "at home" })),
        op("find_place", json!({ "place": "at home", "pattern": "b" })),
        op("count_calls", json!({})),
        op("get_task", json!({})),
        op("update_task", json!({})),
        op("update_task", json!({ "task_id": "t-1", "input": {}, "if_match": 7 })),
        update(json!("a")),
        update(json!({ "_version": 1 })),
        update(json!({ "task_id": "t-2" })),
        update(json!({ "title": null })),
        update(json!({ "priority": 99 })),
        update(json!({ "metadata": { "origin": { "system": 1 } } })),
        echo("figure", json!({ "kind": "circle" })),
        echo("figure", json!({ "kind": "oval" })),
        echo("figure", json!({ "kind": "square", "side": -1, "more": 1 })),
        echo("figure", json!([])),
        echo("key", json!(-1)),
        echo("key", json!({})),
        echo("pair", json!([1])),
        echo("place", json!({ "x": 1 })),
        echo("small", json!(99)),
        echo("ratio", json!(0.1)),
        json!({ "operations": [] }),
        json!({ "operations": 7 }),
        json!({ "operations": vec![json!({ "operation": "list_tasks" }); 6] }),
        op("introspect", json!({})),
        op("introspect", json!({ "query": "types", "category": "READ" })),
        op("introspect", json!({ "query": "operations", "name": "a", "first": 1 })),
        op("introspect", json!({ "query": "operations", "after": "a" })),
    ];
    for how in ["disk", "panic", "missing", "exists", "denied", "limited", "http"] {
        calls.push(op("fail", json!({ "how": how })));
    }
    for name in
        ["day", "instant", "email", "uri", "uuid", "bytes", "big", "word", "colour", "status"]
    {
        calls.push(echo(name, json!("?!")));
    }
    for nasty in NASTY {
        calls.extend([
            json!({ "operation": nasty }),
            json!({ "operation": nasty, "params": { *nasty: *nasty } }),
            json!({ "operation": "get_task", *nasty: 1 }),
            json!({ "operation": "get_task", "task_id": "t-1", *nasty: 1 }),
            json!({ "operation": "create_task", "params": { *nasty: 1 } }),
            op("get_task", json!({ "task_id": nasty })),
            op("delete_task", json!({ "task_id": nasty })),
            op("fail", json!({ "how": nasty })),
            update(json!({ *nasty: 1 })),
            update(json!({ "metadata": { *nasty: 1 } })),
            update(json!({ "extra": { *nasty: { "a\u{0}": 1 } } })),
            op("update_task", json!({ "task_id": nasty, "input": { "title": "a" } })),
            echo("counts", json!({ *nasty: "a" })),
            echo("counts", json!({ *nasty: -1 })),
            echo("place", json!({ "x": 1, "y": 2, *nasty: 3 })),
            echo("figure", json!({ "kind": nasty })),
            echo("figure", json!({ "kind": "square", "side": 1, *nasty: 1 })),
            echo("anything", json!({ *nasty: "\u{0}" })),
            echo("anything", json!({ format!("{nasty}\u{0}"): 1 })),
            op("take_stubborn", json!({ "thing": "a", "things": { *nasty: "a" } })),
            op("introspect", json!({ "query": nasty })),
            op("introspect", json!({ "query": "operations", *nasty: 1 })),
            op("introspect", json!({ "query": "operations", "first": 1, "after": nasty })),
            op("introspect", json!({ "query": "operations", "category": nasty })),
            json!({ "operations": [{ "operation": "list_tasks" }], *nasty: 1 }),
            json!({ "operations": [{ "operation": nasty }, { *nasty: 1 }, *nasty] }),
        ]);
    }
    calls
}

#[test]
fn no_message_looks_like_a_leak() {
    // REQ-CNF-09, REQ-ERR-04, choice C-10
    let adapter = adapter();
    call(&adapter, "create_task", json!({ "title": "Milk" }));
    let session = Session::new();
    let mut screen = Screen::new();
    for asked in failing_calls() {
        screen.look(&ask(&adapter, asked.clone()));
        screen.look(&ask_with_session(&adapter, &session, asked.clone()));
        let family = family(&adapter, "execute");
        screen.look(&ask_in(&adapter, family, asked, mcp_aql::transport::CallScope::default()));
    }
    screen.look(&call(&adapter, "warn", json!({ "different": 30 })));
    screen.look(&call(&adapter, "find_by_number", json!({ "number": 1 })));
    let lenient = builder().strict_mode(false).camel_case_aliases(true).build().unwrap();
    for nasty in NASTY {
        screen.look(&call(&lenient, "create_task", json!({ "title": "a", *nasty: 1 })));
    }
    screen.look(&ask_in(
        &builder().batch(false).build().unwrap(),
        Endpoint::Unified,
        json!({ "operations": [] }),
        mcp_aql::transport::CallScope::default(),
    ));
    assert!(screen.leaks.is_empty(), "{:#?}", screen.leaks);
    assert!(screen.seen > 1_000, "{}", screen.seen);
    // All codes that the runtime itself returns must have been screened.
    for code in [
        "VALIDATION_MISSING_PARAM",
        "VALIDATION_INVALID_TYPE",
        "VALIDATION_INVALID_VALUE",
        "VALIDATION_UNKNOWN_PARAM",
        "VALIDATION_UNKNOWN_FIELD",
        "VALIDATION_READ_ONLY_FIELD",
        "VALIDATION_ENDPOINT_MISMATCH",
        "VALIDATION_INVALID_ENCODING",
        "VALIDATION_PAYLOAD_TOO_LARGE",
        "NOT_FOUND_OPERATION",
        "NOT_FOUND_RESOURCE",
        "PERMISSION_DENIED",
        "CONFLICT_ALREADY_EXISTS",
        "CONFLICT_VERSION_MISMATCH",
        "RATE_LIMIT_EXCEEDED",
        "INVALID_QUERY_TYPE",
        "INTROSPECTION_ERROR",
        "BATCH_VALIDATION_ERROR",
        "INTERNAL_ERROR",
        "DEPRECATION_WARNING",
        "VALIDATION_TRUNCATED_WARNING",
        "VALIDATION_UNKNOWN_PARAM_WARNING",
    ] {
        assert!(screen.codes.contains(code), "{code} was never provoked");
    }
}

#[test]
fn constructors_keep_a_leaking_word_out_of_the_message() {
    // REQ-CNF-09, REQ-ERR-04, REQ-ERR-07
    for nasty in NASTY.iter().filter(|nasty| leaks_internals(nasty)) {
        for (error, key) in [
            (OperationError::not_found("task", nasty), "resource_id"),
            (OperationError::already_exists("task", nasty), "resource_id"),
            (OperationError::version_mismatch(nasty, 1), "expected_version"),
            (OperationError::permission_denied(nasty), "reason"),
            (OperationError::invalid_value("task_id", nasty), "expected"),
            (OperationError::from_http_status(404, nasty), "upstream_error"),
        ] {
            assert!(!leaks_internals(error.message()), "{}", error.message());
            assert!(!error.message().is_empty());
            assert_eq!(error.details()[key], *nasty, "it is in the details");
        }
    }
}

thread_local! {
    /// The lines that this thread has logged since the last call of `logged`.
    static LOG: RefCell<Option<String>> = const { RefCell::new(None) };
}

struct Writer<'a>(&'a mut String);

impl Visit for Writer<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let _ = write!(self.0, " {}={value:?}", field.name());
    }
}

/// A subscriber that writes to `LOG`. It must be global: tracing caches for all threads if a callsite is enabled, so
/// events would get lost at random with a subscriber per thread.
struct Log;

impl Log {
    fn write(what: &str, record: impl FnOnce(&mut Writer<'_>)) {
        LOG.with_borrow_mut(|log| {
            if let Some(text) = log {
                text.push_str(what);
                record(&mut Writer(text));
                text.push('\n');
            }
        });
    }
}

impl<S: tracing::Subscriber> Layer<S> for Log {
    fn on_new_span(&self, attributes: &Attributes<'_>, _: &Id, _: LayerContext<'_, S>) {
        Log::write("span", |writer| attributes.record(writer));
    }

    fn on_record(&self, _: &Id, values: &Record<'_>, _: LayerContext<'_, S>) {
        Log::write("record", |writer| values.record(writer));
    }

    fn on_event(&self, event: &tracing::Event<'_>, _: LayerContext<'_, S>) {
        let level = format!("event {}", event.metadata().level());
        Log::write(&level, |writer| event.record(writer));
    }
}

/// Returns the lines that this thread logs during `run`.
pub(crate) fn logged(run: impl FnOnce()) -> String {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let subscriber = tracing_subscriber::registry().with(Log);
        tracing::subscriber::set_global_default(subscriber).unwrap();
    });
    // During the installation, other threads may have registered callsites as disabled. Evaluate them again.
    tracing::callsite::rebuild_interest_cache();
    LOG.set(Some(String::new()));
    run();
    LOG.take().unwrap()
}

#[test]
fn secrets_stay_out_of_replies_and_out_of_the_log() {
    // REQ-ERR-05, REQ-ERR-04, REQ-INT-13
    const SECRET: &str = "xyzzy-42";
    let board = board();
    let mut replies = String::new();
    let log = logged(|| {
        for asked in [
            json!({ "operation": "open_door", "params": { "password": SECRET } }),
            json!({ "operation": "open_door", "password": SECRET }),
            json!({ "operation": "open_door", "params": { "password": "xyzzy-plain" } }),
            json!({ "operation": "open_door", "params": { "password": [SECRET] } }),
            json!({ "operation": "open_door", "params": { "password": { SECRET: SECRET } } }),
            json!({ "operation": "open_door", "params": { "password": 12_345_678 } }),
            json!({ "operation": "update_account", "params": {
                "account_id": "a-1", "input": { "name": "Ada", "password": "xyzzy-long-enough" },
            } }),
            json!({ "operation": "update_account", "params": {
                "account_id": "a-1", "input": { "name": "Ada", "password": "xyzzy" },
            } }),
            json!({ "operation": "update_account", "params": {
                "account_id": "a-1", "input": { "password": ["xyzzy"] },
            } }),
            json!({ "operations": [
                { "operation": "open_door", "params": { "password": SECRET } },
                { "operation": "open_door", "params": { "password": "xyzzy-plain" } },
            ] }),
        ] {
            replies.push_str(&ask(&board, asked).to_string());
        }
    });
    assert!(!replies.contains("xyzzy") && !replies.contains("12345678"), "{replies}");
    assert!(!log.contains("xyzzy") && !log.contains("12345678"), "{log}");
    // Check that the arguments were logged at all.
    assert!(log.contains("[redacted]") && log.contains("Ada"), "{log}");
}

/// The owner of a thing.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "what is in it is only taken")]
enum Owner {
    /// A known account.
    Account(Account),
    /// An owner with a key.
    Key {
        /// The key.
        #[schemars(extend("sensitive" = true))]
        code: String,
    },
    /// Only a name.
    Name(String),
}

/// A temporary guest.
#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "what is in it is only taken")]
struct Guest {
    /// Room.
    room: u32,
    #[serde(flatten)]
    account: Account,
}

/// Rename an account.
#[operation(category = "UPDATE", rationale = "the name is all there is")]
fn update_account(
    /// The account's identifier.
    account_id: String,
    input: Update<Account>,
) -> String {
    drop(input);
    account_id
}

/// Delete a thing.
#[operation(category = "DELETE")]
fn delete_thing(
    /// The owner.
    owner: Owner,
    /// Owners of parts of it.
    owners: Option<Vec<Owner>>,
    /// The guest that has used it.
    guest: Option<Guest>,
) -> String {
    format!("{} {} {}", matches!(owner, Owner::Key { .. }), owners.is_some(), guest.is_some())
}

#[test]
fn secrets_in_variants_are_neither_logged_nor_shown() {
    // REQ-ERR-05
    let account = || json!({ "name": "Ada", "password": "xyzzy-long-enough" });
    let guest = json!({ "room": 7, "name": "Bo", "password": "xyzzy-long-enough" });
    let key = || json!({ "code": "xyzzy-key" });
    let people = MemoryChannel::default();
    let adapter = Adapter::builder("things")
        .operation(update_account {})
        .operation(delete_thing {})
        .policy(Policy::confirm("delete_thing").by_operator())
        .safety_loop(SafetyLoop::new().channel(people.clone()))
        .store(MemoryState::default())
        .without_config()
        .build()
        .unwrap();
    let log = logged(|| {
        for owner in [account(), key(), json!("Cy")] {
            let owners = json!([owner, key(), account()]);
            let params = json!({ "owner": owner, "owners": owners, "guest": guest });
            let reply = ask(&adapter, json!({ "operation": "delete_thing", "params": params }));
            assert_eq!(code(&reply), Some("PERMISSION_DENIED"), "{reply}");
            assert!(!reply.to_string().contains("xyzzy"), "{reply}");
            let params = json!({ "account_id": "a", "input": account() });
            ask(&adapter, json!({ "operation": "update_account", "params": params }));
        }
    });
    let shown: Vec<_> = people.requests().into_iter().map(|request| request.action).collect();
    assert_eq!(shown.len(), 3);
    for text in shown.iter().chain([&log]) {
        assert!(!text.contains("xyzzy"), "{text}");
        assert!(text.contains("[redacted]") && text.contains("Ada"), "{text}");
    }
    assert!(shown[2].contains("Cy") && shown[2].contains("Bo"), "{shown:?}");
}

/// Read a file that does not exist.
#[operation(category = "READ")]
fn get_file(
    /// The way in which its absence is reported.
    how: String,
) -> Result<String, OperationError> {
    let reason = "the vault in /srv/vault is locked";
    match how.as_str() {
        "io" => Err(std::io::Error::other(reason)).or_internal(),
        "text" => Err(reason.to_owned()).or_internal(),
        "boxed" => Err(Box::<dyn std::error::Error + Send + Sync>::from(reason)).or_internal(),
        _ => Ok::<_, std::io::Error>("found".to_owned()).or_internal(),
    }
}

#[test]
fn errors_of_other_crates_are_logged_and_not_revealed() {
    // REQ-ERR-04, REQ-ERR-07
    let adapter =
        Adapter::builder("files").operation(get_file {}).without_config().build().unwrap();
    for how in ["io", "text", "boxed"] {
        let mut reply = Value::Null;
        let log = logged(|| {
            reply = ask(&adapter, json!({ "operation": "get_file", "params": { "how": how } }));
        });
        assert_eq!(code(&reply), Some("INTERNAL_ERROR"), "{how}");
        assert!(!reply.to_string().contains("vault"), "{reply}");
        let id = reply["error"]["details"]["correlation_id"].as_str().unwrap();
        assert!(log.contains("vault") && log.contains(id), "{log}");
    }
    let found = ask(&adapter, json!({ "operation": "get_file", "params": { "how": "ok" } }));
    assert_eq!(found["data"], "found");
}

#[test]
fn the_log_has_details_that_the_client_does_not_receive() {
    // REQ-ERR-07, REQ-SES-06
    let board = board();
    let session = Session::new();
    let mut reply = Value::Null;
    let log = logged(|| {
        let asked = json!({ "operation": "fail", "params": { "how": "disk" } });
        reply = ask_with_session(&board, &session, asked);
    });
    let id = reply["error"]["details"]["correlation_id"].as_str().unwrap();
    for part in [id, session.id(), "on fire", "INTERNAL_ERROR", "duration_ms", "fail"] {
        assert!(log.contains(part), "{part}: {log}");
    }
}
