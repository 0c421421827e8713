//! Tests that callers can correct a rejected call at once.
//!
//! The tests make mistakes in valid calls. A simulated reader knows only the rejected call and the error message, and
//! makes the next call from them. It must succeed:
//!
//! ```text
//! call:    list_orders { "limit": 2 }
//! message: … Did you mean 'first' instead of 'limit'? …
//! next:    list_orders { "first": 2 }
//! ```
//!
//! The reader's rules were written with the adapter `shop`. The other adapters are held back to validate them. Only the
//! reading of decimal numbers was added for them.

mod airline;
mod board_calls;
mod form;
mod library;
mod mistakes;
mod place;
mod reader;
mod shop;

use std::collections::BTreeMap;

use mcp_aql::Adapter;
use mcp_aql::transport::{CallScope, Endpoint};
use mistakes::{Features, Mistake, mistakes};
use reader::next_call;
use serde_json::{Value, json};

use crate::board;

/// Minimum share of rejected calls whose next call succeeds, in thousandths.
const MIN_REPAIRED: usize = 995;

/// An adapter with valid calls of its operations.
struct Subject {
    name: &'static str,
    build: fn() -> Adapter,
    /// If `true`, calls change the adapter's data, so each mistake needs a new adapter.
    has_data: bool,
    features: Features,
    samples: Vec<(&'static str, Value)>,
}

/// Number of rejected and of repaired calls, for one kind of mistake.
#[derive(Default)]
struct Count {
    refused: usize,
    repaired: usize,
}

#[test]
fn the_call_after_a_refused_one_is_right() {
    // REQ-ERR-05, REQ-ERR-06, REQ-ERR-07, REQ-UNK-03, REQ-UPD-05, REQ-UPD-06
    let shop = Subject {
        name: "shop",
        build: shop::shop,
        has_data: false,
        features: shop::features(),
        samples: shop::samples(),
    };
    check(&shop, 1_000);
}

#[test]
fn the_call_after_a_refused_one_is_right_in_the_airline() {
    // REQ-ERR-05, REQ-ERR-06, REQ-UNK-03, REQ-UPD-05
    let airline = Subject {
        name: "airline",
        build: airline::airline,
        has_data: false,
        features: airline::features(),
        samples: airline::samples(),
    };
    check(&airline, 1_000);
}

#[test]
fn the_call_after_a_refused_one_is_right_in_the_library() {
    // REQ-ERR-05, REQ-ERR-06, REQ-UNK-03, REQ-UPD-05
    let library = Subject {
        name: "library",
        build: library::library,
        has_data: true,
        features: library::features(),
        samples: library::samples(),
    };
    check(&library, 300);
}

#[test]
fn messages_name_the_next_step() {
    // REQ-ERR-05, REQ-UNK-03, REQ-UPD-05, REQ-ERR-10
    let shop = shop::shop();
    let airline = airline::airline();
    for (adapter, operation, params, said) in [
        (&shop, "list_orders", json!({ "limit": 2 }), "Did you mean 'first' instead of 'limit'?"),
        (
            &shop,
            "list_orders",
            json!({ "order_by": {} }),
            "Did you mean 'sort' instead of 'order_by'?",
        ),
        (
            &shop,
            "list_orders",
            json!({ "query": "tea" }),
            "To search, call 'search_orders' with 'query' instead of 'query'",
        ),
        (
            &shop,
            "list_orders",
            json!({ "urgency": "normal" }),
            "'urgency' belongs inside 'filter': { filter: { urgency } }",
        ),
        (&shop, "list_orders", json!({ "sort": true }), "Send { field: 'order_id'|"),
        (&shop, "list_orders", json!({ "sort": {}, "direction": "asc" }), "inside 'sort'"),
        (&shop, "get_order", json!({ "id": "o-1" }), "did you mean 'order_id'?"),
        (&shop, "update_order", json!({}), "Did you mean 'modify_order'?"),
        (
            &airline,
            "cancel_booking",
            json!({ "booking_id": "b-1" }),
            "'reason'. Expected: string, one of: change_of_plan, airline_cancelled, other",
        ),
        (
            &airline,
            "rebook_passenger",
            json!({ "booking_id": "b-1", "passenger_id": 1, "segment": { "seat": [1] } }),
            "'segment.seat' must have 2 items. Send [0..255, string]",
        ),
        (
            &airline,
            "list_flights",
            json!({ "aggregate": { "total": { "group_by": "cabin" } } }),
            "Send { group_by: 'cabin', count: true }",
        ),
        (
            &airline,
            "list_flights",
            json!({ "filter": { "noot": { "direct": true } } }),
            "Did you mean 'not'?",
        ),
        (
            &airline,
            "search_flights",
            json!({ "filter": { "query": "berlin" } }),
            "'filter.query' belongs next to 'filter', not inside it",
        ),
    ] {
        let reply = call(adapter, operation, &params);
        let message = reply["error"]["message"].as_str().unwrap();
        assert!(message.contains(said), "{operation} {params}: {message}");
    }
}

#[test]
fn unions_of_texts_and_objects_explain_other_forms() {
    // REQ-ERR-05, REQ-RQ-07
    let airline = airline::airline();
    let (_, valid) = airline::samples().remove(0);
    for (insurance, said) in [
        (json!("refund"), "must be an object with 'refund'. Send { refund: { share: 1..100 } }"),
        (json!({ "nothing": {} }), "must be a string. Send 'nothing'"),
        (json!({ "value": "nothing" }), "Send the value alone, without an object"),
        (json!(r#"{"refund":{"share":5}}"#), "got 'string'. Send it as JSON, not as a string"),
        (json!("nothingx"), "must be one of: nothing. Did you mean 'nothing'?"),
        (json!("zzz"), "must have one of these forms: 'nothing' or { refund:"),
        (json!(7), "Send 'nothing' or { refund:"),
    ] {
        let mut params = valid.clone();
        params["insurance"] = insurance;
        let reply = call(&airline, "book_journey", &params);
        let message = reply["error"]["message"].as_str().unwrap();
        assert!(message.contains(said), "{}: {message}", params["insurance"]);
    }
}

#[test]
fn the_call_after_a_refused_one_is_right_on_the_board() {
    // REQ-ERR-05, REQ-ERR-06, REQ-UNK-03, REQ-UPD-05
    let board = Subject {
        name: "board",
        build: board::board,
        has_data: false,
        features: board_calls::features(),
        samples: board_calls::samples(),
    };
    check(&board, 500);
}

/// Makes all mistakes in the calls of an adapter. Checks the share of repaired calls, and the table in the book.
fn check(subject: &Subject, min_refused: usize) {
    let mut counts: BTreeMap<&str, Count> = BTreeMap::new();
    let mut failures = Vec::new();
    for (operation, params) in &subject.samples {
        let mut adapter = (subject.build)();
        let reply = call(&adapter, operation, params);
        assert_eq!(reply["success"], true, "{operation} {params} {reply}");
        for mistake in mistakes(&subject.features, operation, params) {
            if subject.has_data {
                adapter = (subject.build)();
            }
            let Some(failure) = repair(&adapter, &mistake) else { continue };
            let count = counts.entry(mistake.kind).or_default();
            count.refused += 1;
            match failure {
                None => count.repaired += 1,
                Some(failure) => failures.push(failure),
            }
        }
    }
    let refused: usize = counts.values().map(|count| count.refused).sum();
    let repaired: usize = counts.values().map(|count| count.repaired).sum();
    let rows = counts
        .iter()
        .map(|(kind, count)| format!("| {kind} | {} | {} |\n", count.refused, count.repaired));
    let table = rows.chain([format!("| all | {refused} | {repaired} |\n")]).collect::<String>();
    let report = format!("{}\n{table}\n{}", subject.name, failures.join("\n\n"));
    assert!(refused >= min_refused, "{refused}");
    assert!(repaired * 1_000 >= refused * MIN_REPAIRED, "{report}");
    let book = include_str!("../../../book/src/parameters.md");
    let row = format!("| `{}` | {refused} | {repaired} |\n", subject.name);
    assert!(book.contains(&row), "the row in book/src/parameters.md should be:\n{row}{report}");
}

/// Sends a call with a mistake, and then the call that follows from the error.
///
/// Returns `None` if there is nothing to repair: the adapter accepts the call, or rejects it for another reason than
/// its form. Otherwise returns `Some`, with a description of the failure or `None` on success.
fn repair(adapter: &Adapter, mistake: &Mistake) -> Option<Option<String>> {
    let Mistake { kind, operation, params, meant } = mistake;
    let refusal = call(adapter, operation, params);
    let code = refusal["error"]["code"].as_str().unwrap_or_default();
    if !code.starts_with("VALIDATION_") && code != "NOT_FOUND_OPERATION" {
        return None;
    }
    let (next, repaired) = next_call(operation, params, &refusal["error"]);
    let reply = call(adapter, &next, &repaired);
    let is_meant = meant.as_ref().is_none_or(|(name, meant)| *name == next && *meant == repaired);
    Some((reply["success"] != true || !is_meant).then(|| {
        format!(
            "{kind}\n  sent {operation} {params}\n  told {}\n  next {next} {repaired}\n  told {}",
            refusal["error"]["message"], reply["error"]["message"]
        )
    }))
}

fn call(adapter: &Adapter, operation: &str, params: &Value) -> Value {
    let Value::Object(arguments) = json!({ "operation": operation, "params": params }) else {
        panic!("tool arguments are an object")
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let reply =
        runtime.block_on(adapter.handle(Endpoint::Unified, arguments, CallScope::default()));
    serde_json::from_str(&reply.text).unwrap()
}
