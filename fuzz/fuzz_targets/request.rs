//! Handles bytes as the arguments of a tool call.
//!
//! The result must be a reply of the protocol. It must also be the same in three other forms: parsed by the parser
//! instead of the scanner, quoted as a JSON string, and called with a map instead of bytes.
//!
//! If the target fails, you find the input in `fuzz/artifacts/request/`. An input has this form:
//!
//! ```json
//! {"operation":"update_thing","params":{"thing_id":"t-1","input":{"name":"b","note":null}}}
//! ```
#![no_main]

use std::collections::BTreeMap;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use mcp_aql::SizeLimits;
use mcp_aql::prelude::*;
use mcp_aql::transport::{Arguments, CallScope, Endpoint, Reply};
use mcp_aql_core::internal::request::parse;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::runtime::{Builder, Runtime};

/// A resource that can be changed.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, UpdateInput)]
struct Thing {
    /// Its name.
    #[param(min_length = 1, max_length = 20)]
    name: String,
    /// Remark.
    note: Option<String>,
    /// Numbers by name.
    counts: BTreeMap<String, u32>,
    /// Anything.
    extra: Map<String, Value>,
}

/// A number, a word or a list.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Key {
    /// By number.
    Number(u32),
    /// By name.
    Name(String),
    /// Several.
    Several(Vec<Key>),
}

/// Return the arguments.
#[operation(category = "READ", rationale = "It changes nothing")]
fn echo(
    /// Text.
    #[param(pattern = "^[a-z]*$")]
    text: Option<String>,
    /// A number.
    #[param(minimum = -5, maximum = 5)]
    number: Option<i64>,
    /// A key.
    key: Option<Key>,
    /// A day.
    #[param(format = "date-time")]
    day: Option<String>,
    /// Anything.
    anything: Option<Value>,
) -> Value {
    serde_json::json!([text, number, key, day, anything])
}

/// Change a thing.
#[operation(category = "UPDATE")]
fn update_thing(
    /// Which one.
    thing_id: String,
    input: Update<Thing>,
    if_match: IfMatch<u64>,
) -> Result<Thing, OperationError> {
    let mut thing = Thing { note: Some(thing_id), ..Thing::default() };
    if_match.check(&1)?;
    input.merge_into(&mut thing);
    Ok(thing)
}

/// The lowest possible limits, so that short inputs can reach them.
const LIMITS: SizeLimits = SizeLimits {
    max_request_size: 64 << 10,
    max_response_size: 1 << 20,
    max_string_length: 64 << 10,
    max_array_elements: 100,
    max_nesting_depth: 8,
    max_batch_operations: 5,
    result_budget: 1 << 10,
};

static ADAPTER: LazyLock<Adapter> = LazyLock::new(|| {
    Adapter::builder("fuzz")
        .operation(echo {})
        .operation(update_thing {})
        .limits(LIMITS)
        .without_config()
        .build()
        .expect("the adapter is sound")
});

thread_local! {
    static RUNTIME: Runtime = Builder::new_current_thread().build().expect("a runtime starts");
}

fn check(reply: &Value, in_batch: bool) {
    let members = reply.as_object().expect("a result is an object");
    let allowed: &[&str] = if reply["success"] == true {
        assert!(members.contains_key("data"));
        if in_batch {
            &["success", "data"]
        } else {
            &["success", "data", "warnings", "results", "summary"]
        }
    } else {
        assert_eq!(reply["success"], false);
        let error = reply["error"].as_object().expect("a failure has an error");
        assert!(error["code"].is_string() && error["message"].is_string());
        let allowed = ["code", "message", "details"];
        assert!(error.keys().all(|name| allowed.contains(&name.as_str())));
        let message = reply["error"]["message"].as_str().unwrap_or_default();
        assert!(!mcp_aql::testing::leaks_internals(message), "{message}");
        &["success", "error"]
    };
    assert!(members.keys().all(|name| allowed.contains(&name.as_str())), "{reply}");
    for item in reply["results"].as_array().into_iter().flatten() {
        check(&item["result"], true);
    }
}

/// Returns the JSON of a reply without quoting.
fn plain(reply: Reply) -> String {
    match reply.is_quoted {
        true => serde_json::from_str(&reply.text).expect("a quoted reply is a JSON string"),
        false => reply.text,
    }
}

fuzz_target!(|bytes: &[u8]| {
    RUNTIME.with(|runtime| {
        runtime.block_on(async {
            let unified = Endpoint::Unified;
            let reply = ADAPTER.handle(unified, bytes, CallScope::default()).await;
            check(&serde_json::from_str(&reply.text).expect("a reply is JSON"), false);
            let quoted = Arguments::from(bytes).for_quoted_reply();
            let quoted = ADAPTER.handle(unified, quoted, CallScope::default()).await;
            assert_eq!(reply.text, plain(quoted));
            if bytes.len() <= LIMITS.max_request_size
                && let Ok(parsed) = parse(bytes, &LIMITS)
            {
                let parsed = ADAPTER.handle(unified, parsed, CallScope::default()).await;
                assert_eq!(reply.text, parsed.text);
            }
            // The arguments as a map lack repeated members and excess digits. Serialize the map again, so that both
            // calls have the same arguments.
            if let Ok(arguments) = serde_json::from_slice::<Map<String, Value>>(bytes) {
                let text = Value::from(arguments.clone()).to_string();
                let read = ADAPTER.handle(unified, text.as_bytes(), CallScope::default()).await;
                let same = ADAPTER.handle(unified, arguments, CallScope::default()).await;
                assert_eq!(read.text, same.text);
            }
        });
    });
});
