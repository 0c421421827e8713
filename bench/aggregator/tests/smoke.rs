//! Runs every measurement once, with few results.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use mcp_aql_aggregator_bench::{Setup, measure};

#[test]
fn every_row_can_be_measured() {
    let setup = Setup {
        rounds: 1,
        results: [20, 40, 100],
        queries: 5,
        aggregator: env!("CARGO_BIN_EXE_aggregator").into(),
        server: env!("CARGO_BIN_EXE_server").into(),
        query_memory: env!("CARGO_BIN_EXE_query_memory").into(),
    };
    let table = measure(&setup, "", &|_| ()).unwrap();
    let names: Vec<_> = table.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "rank-20-bm25",
            "rank-20-tantivy",
            "rank-40-bm25",
            "rank-40-tantivy",
            "rank-100-bm25",
            "rank-100-tantivy",
            "rank-100",
            "memory",
            "cost-query",
            "cost",
            "cost-slow-query",
            "cost-slow",
            "faults",
            "faults-open",
        ]
    );
    for row in &table.rows {
        for value in row.turns.ours.iter().chain(&row.turns.peer) {
            // Measurement noise can make the added time zero or negative.
            assert!(
                value.is_finite() && (*value > 0.0 || row.name == "cost"),
                "{}: {value}",
                row.name
            );
        }
    }
    // The memory of a query does not depend on the machine, so the target must be met everywhere.
    let memory = table.rows.iter().find(|row| row.name == "memory").unwrap();
    assert!(memory.is_met(), "{:?}", memory.turns);
}
