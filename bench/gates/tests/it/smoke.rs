//! Runs every measurement with few calls.

use mcp_aql_gates_bench::{Setup, measure};

#[test]
fn every_row_can_be_measured() {
    let setup = Setup { rounds: 1, calls: 10, steps: 8 };
    let table = measure(setup, "", &|_| ()).unwrap();
    let names: Vec<_> = table.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(
        names,
        [
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
        ]
    );
    for row in &table.rows {
        for value in row.turns.ours.iter().chain(&row.turns.peer) {
            assert!(value.is_finite() && *value > 0.0, "{}: {value}", row.name);
        }
    }
    let text = table.text();
    assert!(text.contains("+ ≤ 2.00 µs") && text.contains("+ ≤ 20.0 µs"), "{text}");
}
