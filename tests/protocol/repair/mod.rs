//! Every refusal allows the right call at once: mistakes are made in valid calls, and a reader that knows only the
//! refused call and the message makes the next one.

mod form;
mod mistakes;
mod place;
mod reader;
mod shop;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::support::call;
use mistakes::{Mistake, mistakes};
use reader::next_call;

/// The share of refused calls after which the next call must succeed, in thousandths.
const MIN_REPAIRED: usize = 995;

/// The refused and the repaired calls of one kind of mistake.
#[derive(Default)]
struct Count {
    refused: usize,
    repaired: usize,
}

#[test]
fn the_call_after_a_refused_one_is_right() {
    // REQ-ERR-05, REQ-ERR-06, REQ-ERR-07, REQ-UNK-03, REQ-UPD-05, REQ-UPD-06
    let shop = shop::shop();
    let mut counts: BTreeMap<&str, Count> = BTreeMap::new();
    let mut failures = Vec::new();
    for (operation, params) in shop::samples() {
        assert_eq!(call(&shop, operation, params.clone())["success"], true, "{operation} {params}");
        for mistake in mistakes(operation, &params) {
            let Mistake { kind, operation, params, meant } = mistake;
            let refusal = call(&shop, &operation, params.clone());
            if refusal["success"] == true {
                continue;
            }
            let (next, repaired) = next_call(&operation, &params, &refusal["error"]);
            let reply = call(&shop, &next, repaired.clone());
            let is_meant = meant.is_none_or(|meant| meant == (next.clone(), repaired.clone()));
            let count = counts.entry(kind).or_default();
            count.refused += 1;
            if reply["success"] == true && is_meant {
                count.repaired += 1;
            } else {
                failures.push(failure(
                    kind,
                    (&operation, &params),
                    &refusal,
                    (&next, &repaired),
                    &reply,
                ));
            }
        }
    }
    let refused: usize = counts.values().map(|count| count.refused).sum();
    let repaired: usize = counts.values().map(|count| count.repaired).sum();
    let rows = counts
        .iter()
        .map(|(kind, count)| format!("| {kind} | {} | {} |\n", count.refused, count.repaired));
    let table = rows.chain([format!("| all | {refused} | {repaired} |\n")]).collect::<String>();
    assert!(refused > 1_000, "{refused}");
    assert!(repaired * 1_000 >= refused * MIN_REPAIRED, "{table}\n{}", failures.join("\n\n"));
    let book = include_str!("../../../book/src/parameters.md");
    assert!(book.contains(&table), "the table in book/src/parameters.md should be:\n{table}");
}

fn failure(
    kind: &str,
    sent: (&str, &Value),
    refusal: &Value,
    next: (&str, &Value),
    reply: &Value,
) -> String {
    format!(
        "{kind}\n  sent {} {}\n  told {}\n  next {} {}\n  told {}",
        sent.0, sent.1, refusal["error"]["message"], next.0, next.1, reply["error"]["message"]
    )
}
