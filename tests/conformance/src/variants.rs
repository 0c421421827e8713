//! Variants of the garden that violate no requirement. A conformance run must have no findings for them.
#![expect(clippy::indexing_slicing, reason = "members of JSON that the runner sends")]

use std::sync::LazyLock;
use std::time::Duration;

use mcp_aql::operator::MemoryChannel;
use mcp_aql::safety_loop::{SafetyLoop, WithSafetyLoop as _};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::Tamper;
use crate::faults::{asks_for, calls, entry, succeeds};
use crate::proxy::{Proxy, Shared, Wire};

/// A correct adapter that differs from the garden.
#[derive(Debug)]
pub struct Variant {
    /// The difference to the garden, in a few words with hyphens.
    pub name: &'static str,
    /// Id of the check that examines the difference. It must pass.
    pub check: &'static str,
    /// How the difference is made.
    pub tamper: Tamper,
}

/// Changes every bed in a result, a single one or those of a page.
fn each_bed(body: &mut Value, change: impl Fn(&mut Value)) {
    let Some(data) = body.get_mut("data") else { return };
    if let Some(bed) = data.get_mut("bed") {
        change(bed);
    }
    if let Some(Value::Array(items)) = data.get_mut("items") {
        items.iter_mut().for_each(change);
    }
}

/// Adds a sentence to the description of a parameter of `create_bed`.
fn describe(arguments: &Value, body: &mut Value, name: &str, sentence: &str) {
    if asks_for(arguments, "create_bed")
        && let Some(parameter) = entry(body.pointer_mut("/data/operation/parameters"), name)
    {
        let description = parameter["description"].as_str().unwrap_or_default();
        parameter["description"] = json!(format!("{description} {sentence}"));
    }
}

/// Returns `true` if a filter has a list as the value of a key.
fn filters_by_a_list(arguments: &Value) -> bool {
    let filter = arguments.pointer("/params/filter").and_then(Value::as_object);
    filter.is_some_and(|filter| {
        filter.iter().any(|(key, condition)| key != "or" && key != "and" && condition.is_array())
    })
}

/// A garden that accepts 60 calls per second and rejects the others.
pub static RATE_LIMITED: Tamper = Tamper::Shared(|shared| Box::new(RateLimited::new(60, shared)));

/// A garden that accepts 5 calls per second.
pub static SLOW: Tamper = Tamper::Shared(|shared| Box::new(RateLimited::new(5, shared)));

/// A garden that accepts 5 calls per second and states that in the query `quota_status`.
pub static SLOW_AND_DOCUMENTED: Tamper = Tamper::Shared(|shared| {
    let limited = RateLimited::new(5, shared);
    Box::new(RateLimited { is_documented: true, ..limited })
});

/// Counts the calls of each second for all connections together.
///
/// The shared state holds the counters. Its member `rejected` lists rejected requests without a repetition.
struct RateLimited {
    calls_per_second: u64,
    is_documented: bool,
    shared: Shared,
}

/// The origin of time for all connections, so they count the same seconds.
///
/// Tests may advance the clock. Each test has its own clock, so a time may be before this one.
static ORIGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
/// Added to times to keep them after `ORIGIN`. Longer than any test.
const AHEAD: Duration = Duration::from_secs(1 << 20);

impl RateLimited {
    fn new(calls_per_second: u64, shared: Shared) -> Self {
        Self { calls_per_second, is_documented: false, shared }
    }

    /// Counts a call. If there were too many, returns the remaining time of the second.
    fn count(&self, request: &Value) -> Option<f64> {
        let elapsed = (Instant::now() + AHEAD).duration_since(*ORIGIN);
        let second = elapsed.as_secs();
        let mut state = self.shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if state.get("second").is_none_or(|before| *before != second) {
            state["second"] = json!(second);
            state["calls"] = json!(0);
        }
        let calls = state["calls"].as_u64().unwrap_or_default();
        let is_accepted = calls < self.calls_per_second;
        let rejected = state["rejected"].take();
        let mut rejected = rejected.as_object().cloned().unwrap_or_default();
        let name = request["params"].to_string();
        // A request may be rejected several times before it is accepted.
        match is_accepted {
            true => drop(rejected.remove(&name)),
            false => drop(rejected.insert(name, json!(true))),
        }
        state["rejected"] = Value::Object(rejected);
        if is_accepted {
            state["calls"] = json!(calls + 1);
            return None;
        }
        let all = state["rejections"].as_u64().unwrap_or_default();
        state["rejections"] = json!(all + 1);
        Some(1.0 - f64::from(elapsed.subsec_millis()) / 1_000.0)
    }
}

fn reply(request: &Value, body: &Value, wire: &mut Wire) {
    wire.to_client(&json!({
        "jsonrpc": "2.0",
        "id": request["id"],
        "result": {
            "content": [{ "type": "text", "text": body.to_string() }],
            "isError": false,
        },
    }));
}

impl Proxy for RateLimited {
    fn request(&mut self, message: Value, wire: &mut Wire) {
        if message["method"] != "tools/call" {
            return wire.pass();
        }
        let now = chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
        let Some(rest) = self.count(&message) else {
            let query = message.pointer("/params/arguments/params/query");
            if !self.is_documented || query.is_none_or(|query| query != "quota_status") {
                return wire.pass();
            }
            let limit = json!({
                "limit": self.calls_per_second, "remaining": 0, "window": "second", "resets_at": now,
            });
            let data = json!({
                "adapter": "garden", "api_limits": { "calls": limit }, "quotas": [],
            });
            return reply(&message, &json!({ "success": true, "data": data }), wire);
        };
        let body = json!({ "success": false, "error": {
            "code": "RATE_LIMIT_EXCEEDED",
            "message": "API rate limit exceeded",
            "details": {
                "limit": self.is_documented.then_some(self.calls_per_second),
                "remaining": 0,
                "window": self.is_documented.then_some("second"),
                "resets_at": now,
                "retry_after_seconds": rest,
            },
        } });
        reply(&message, &body, wire);
    }

    fn answer(&mut self, mut message: Value, wire: &mut Wire) {
        let text = message.pointer("/result/content/0/text").and_then(Value::as_str);
        let body = text.and_then(|text| serde_json::from_str::<Value>(text).ok());
        let Some(mut body) = body.filter(|_| self.is_documented) else { return wire.pass() };
        let is_introspect =
            body.pointer("/data/operation/name").is_some_and(|name| name == "introspect");
        let query = entry(body.pointer_mut("/data/operation/parameters"), "query");
        let words = query.and_then(|query| query.get_mut("enum")?.as_array_mut());
        let Some(words) = words.filter(|_| is_introspect) else { return wire.pass() };
        words.push(json!("quota_status"));
        message["result"]["content"][0]["text"] = json!(body.to_string());
        wire.to_client(&message);
    }
}

/// Answers lines that its parser rejects with an error whose id is null.
struct Anonymous;

impl Proxy for Anonymous {
    fn nonsense(&mut self, _line: &[u8], wire: &mut Wire) {
        wire.to_client(&json!({
            "jsonrpc": "2.0",
            "id": null,
            "error": { "code": -32700, "message": "Parse error" },
        }));
    }
}

/// All variants.
pub const VARIANTS: &[Variant] = &[
    Variant {
        name: "unreadable-requests-get-an-error-without-an-id",
        check: "wire.unreadable_requests",
        tamper: Tamper::Proxy(|| Box::new(Anonymous)),
    },
    Variant {
        // The descriptions document this.
        name: "texts-are-trimmed",
        check: "creates.values_kept",
        tamper: Tamper::Both(
            |options| {
                options.store = |bed| {
                    bed.name = bed.name.trim().to_owned();
                    bed.note = bed.note.as_ref().map(|note| note.trim().to_owned());
                };
            },
            |arguments, body| {
                for name in ["name", "note"] {
                    describe(arguments, body, name, "Leading and trailing spaces are removed.");
                }
            },
        ),
    },
    Variant {
        // The descriptions document this.
        name: "texts-in-lower-case-with-single-spaces",
        check: "creates.values_kept",
        tamper: Tamper::Both(
            |options| {
                options.store = |bed| {
                    bed.tags.iter_mut().for_each(|tag| *tag = tag.to_lowercase());
                    bed.name = bed.name.replace("  ", " ");
                };
            },
            |arguments, body| {
                describe(arguments, body, "tags", "They are stored in lower case.");
                describe(arguments, body, "name", "Repeated spaces are reduced to one.");
            },
        ),
    },
    Variant {
        // Each result orders the set differently, and the description says so.
        name: "tags-are-a-set",
        check: "creates.values_kept",
        tamper: Tamper::Body(|arguments, body| {
            describe(arguments, body, "tags", "A set: in any order, without duplicates.");
            each_bed(body, |bed| {
                if let Some(Value::Array(tags)) = bed.get_mut("tags") {
                    tags.sort_by_key(Value::to_string);
                    tags.dedup();
                    if calls(arguments, "get_bed") {
                        tags.reverse();
                    }
                }
            });
        }),
    },
    Variant {
        // An example is a list of the beds in each season.
        name: "a-list-with-several-entries-for-one-bed",
        check: "creates.created_once",
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "list_beds")
                && succeeds(body)
                && let Some(Value::Array(items)) = body.pointer_mut("/data/items")
            {
                let is_once = |bed: &&Value| {
                    bed["name"].as_str().is_some_and(|name| name.starts_with("once "))
                };
                let again: Vec<_> = items.iter().filter(is_once).cloned().collect();
                items.extend(again);
            }
        }),
    },
    Variant {
        // The protocol shows this form in an example.
        name: "fields-of-an-item-in-data",
        check: "shapes.single_wrapped",
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "get_house") && succeeds(body) {
                body["data"] = body["data"]["house"].take();
            }
        }),
    },
    Variant {
        // The protocol spells these names in camel case.
        name: "steps-in-the-words-of-the-protocol",
        check: "introspection.snake_case",
        tamper: Tamper::Both(
            |options| {
                options.build = |builder| {
                    builder.safety_loop(SafetyLoop::new().channel(MemoryChannel::default()))
                };
            },
            |arguments, body| {
                if !asks_for(arguments, "record_execution_step") {
                    return;
                }
                if let Some(Value::Object(details)) = body.pointer_mut("/data/operation") {
                    details.remove("examples");
                }
                for (name, of_protocol) in [
                    ("step_description", "stepDescription"),
                    ("next_action_hint", "nextActionHint"),
                ] {
                    let parameters = body.pointer_mut("/data/operation/parameters");
                    if let Some(parameter) = entry(parameters, name) {
                        parameter["name"] = json!(of_protocol);
                    }
                }
            },
        ),
    },
    Variant {
        name: "entries-of-a-map-among-the-fields",
        check: "shapes.as_typed",
        tamper: Tamper::Body(|_, body| {
            each_bed(body, |bed| {
                let labels = bed.get("labels").and_then(Value::as_object).cloned();
                if let Value::Object(bed) = bed {
                    for (name, value) in labels.into_iter().flatten() {
                        bed.entry(name).or_insert(value);
                    }
                }
            });
        }),
    },
    Variant {
        name: "lists-in-filters-for-one-operator-alone",
        check: "collections.filter_operators",
        tamper: Tamper::Body(|arguments, body| {
            if calls(arguments, "introspect") {
                let parameters = body.pointer_mut("/data/operation/parameters");
                for parameter in parameters.and_then(Value::as_array_mut).into_iter().flatten() {
                    if parameter["name"] == "filter" {
                        parameter["description"] = json!(
                            "Conditions that items must meet. In `in`, a list means any of its values."
                        );
                    }
                }
            } else if filters_by_a_list(arguments) {
                *body = json!({ "success": false, "error": {
                    "code": "VALIDATION_INVALID_TYPE",
                    "message": "Parameter 'filter' must be a value or an object with operators, got array",
                    "details": {
                        "param_name": "filter",
                        "expected_type": "value or object",
                        "actual_type": "array",
                    },
                } });
            }
        }),
    },
    Variant {
        name: "valid-names-in-the-message-alone",
        check: "parameters.misspelt_name",
        tamper: Tamper::Body(|_, body| {
            let details = body.pointer_mut("/error/details").and_then(Value::as_object_mut);
            let Some(names) =
                details.and_then(|details| details.insert("valid_params".to_owned(), json!([])))
            else {
                return;
            };
            let names = names.as_array().cloned().unwrap_or_default();
            let names: Vec<_> = names.iter().filter_map(Value::as_str).collect();
            if let Some(Value::String(message)) = body.pointer_mut("/error/message") {
                message.push_str(". It accepts ");
                message.push_str(&names.join(" and "));
            }
        }),
    },
    Variant {
        name: "allowed-values-in-the-details-alone",
        check: "parameters.allowed_values",
        tamper: Tamper::Body(|_, body| {
            let details = body.pointer("/error/details").unwrap_or(&Value::Null);
            let expected = details["expected"].as_str().unwrap_or_default();
            if let Some(values) = expected.strip_prefix("must be one of: ") {
                let values: Vec<_> = values.split(", ").collect();
                let name = details["param_name"].as_str().unwrap_or_default();
                *body = json!({ "success": false, "error": {
                    "code": "VALIDATION_INVALID_VALUE",
                    "message": format!("The value of '{name}' is not among the choices"),
                    "details": { "param_name": name, "choices": values },
                } });
            }
        }),
    },
    Variant {
        name: "types-in-other-words",
        check: "parameters.expected_type",
        tamper: Tamper::Body(|_, body| {
            let details = body.pointer("/error/details").unwrap_or(&Value::Null);
            let word = match details["expected_type"].as_str() {
                Some("integer") => "whole number",
                Some("array") => "list",
                Some("object") => "map",
                _ => return,
            };
            let name = details["param_name"].as_str().unwrap_or_default();
            let actual = details["actual_type"].as_str().unwrap_or_default();
            *body = json!({ "success": false, "error": {
                "code": "VALIDATION_INVALID_TYPE",
                "message": format!("Parameter '{name}' expected '{word}', got '{actual}'"),
                "details": { "param_name": name, "expected_type": word, "actual_type": actual },
            } });
        }),
    },
    Variant {
        // The names are data that other calls change.
        name: "a-text-that-names-stored-items",
        check: "parameters.unlisted_values",
        tamper: Tamper::Body(|arguments, body| {
            let place = arguments.pointer("/params/place");
            if calls(arguments, "get_forecast")
                && place.is_some_and(|place| place == "conformance_probe")
            {
                *body = json!({ "success": false, "error": {
                    "code": "VALIDATION_INVALID_VALUE",
                    "message": "Parameter 'place' is not the name of a bed",
                    "details": { "param_name": "place", "beds": ["Bed 00 left", "Bed 07 right"] },
                } });
            }
        }),
    },
    Variant {
        name: "members-of-an-object-in-an-example-alone",
        check: "introspection.object_members",
        tamper: Tamper::Body(|arguments, body| {
            if let Some(input) = calls(arguments, "introspect")
                .then(|| entry(body.pointer_mut("/data/operation/parameters"), "input"))
                .flatten()
            {
                input["description"] = json!("The changes.");
            }
        }),
    },
];
