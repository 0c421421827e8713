//! Runs every measurement of gates with few calls.

use mcp_aql_bench::gates::{Setup, measure};

use crate::check_rows;

#[test]
fn every_row_can_be_measured() {
    let table = measure(&Setup { rounds: 1, calls: 10, steps: 8 }, "", &|_| ()).unwrap();
    check_rows(
        &table,
        &[
            "gate-read",
            "gate-policies",
            "step",
            "step-alike",
            "limit",
            "confirmation-memory",
            "confirmation-sqlite",
            "authentication-rs256",
            "authentication-es256",
            "authentication-eddsa",
            "authentication-again",
            "authentication-static",
        ],
    );
    let text = table.text();
    assert!(text.contains("+ ≤ 2.00 µs") && text.contains("+ ≤ 20.0 µs"), "{text}");
}
