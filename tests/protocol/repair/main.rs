//! Every refusal allows the right call at once: mistakes are made in valid calls, and a reader that knows only the
//! refused call and the message makes the next one.
//!
//! The rules of the reader were written with the adapter `shop`. The other adapters are held back: the reader must not
//! be changed for them.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    reason = "a test that cannot go on panics, in its helpers too"
)]

mod airline;
mod form;
mod library;
mod mistakes;
mod place;
mod reader;
mod shop;

// The example `library`.
#[path = "../../../examples/library/error.rs"]
mod error;
#[path = "../../../examples/library/model.rs"]
mod model;
#[path = "../../../examples/library/operations.rs"]
mod operations;
#[path = "../../../examples/library/stock.rs"]
mod stock;

use std::collections::BTreeMap;

use mcp_aql::Adapter;
use mcp_aql::transport::{CallScope, Endpoint};
use mistakes::{Features, Mistake, mistakes};
use reader::next_call;
use serde_json::{Value, json};

/// The share of refused calls after which the next call must succeed, in thousandths.
const MIN_REPAIRED: usize = 995;

/// An adapter with valid calls of its operations.
struct Subject {
    name: &'static str,
    /// Builds the adapter anew, because calls change its data.
    adapter: fn() -> Adapter,
    features: Features,
    samples: Vec<(&'static str, Value)>,
}

/// The refused and the repaired calls of one kind of mistake.
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
        adapter: shop::shop,
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
        adapter: airline::airline,
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
        adapter: library::library,
        features: library::features(),
        samples: library::samples(),
    };
    check(&library, 300);
}

/// Makes all mistakes in the calls of an adapter, and checks the share of repaired calls and the table in the book.
fn check(subject: &Subject, min_refused: usize) {
    let mut counts: BTreeMap<&str, Count> = BTreeMap::new();
    let mut failures = Vec::new();
    for (operation, params) in &subject.samples {
        let reply = call(&(subject.adapter)(), operation, params);
        assert_eq!(reply["success"], true, "{operation} {params} {reply}");
        for mistake in mistakes(&subject.features, operation, params) {
            let Some(failure) = repair(subject, &mistake) else { continue };
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
    println!("{}\n{table}\n{}", subject.name, failures.join("\n\n"));
    assert!(refused >= min_refused, "{refused}");
    assert!(repaired * 1_000 >= refused * MIN_REPAIRED, "{table}");
    let book = include_str!("../../../book/src/parameters.md");
    let row = format!("| `{}` | {refused} | {repaired} |\n", subject.name);
    assert!(book.contains(&row), "the row in book/src/parameters.md should be:\n{row}");
}

/// Sends a faulty call and the one that its refusal leads to. Returns `None` if the adapter accepts the faulty call, or
/// refuses it for another reason than its form, and otherwise the report of a failure.
fn repair(subject: &Subject, mistake: &Mistake) -> Option<Option<String>> {
    let adapter = (subject.adapter)();
    let Mistake { kind, operation, params, meant } = mistake;
    let refusal = call(&adapter, operation, params);
    let code = refusal["error"]["code"].as_str().unwrap_or_default();
    if !code.starts_with("VALIDATION_") && code != "NOT_FOUND_OPERATION" {
        return None;
    }
    let (next, repaired) = next_call(operation, params, &refusal["error"]);
    let reply = call(&adapter, &next, &repaired);
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
