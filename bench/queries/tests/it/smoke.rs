//! Runs every measurement with few rows.

use mcp_aql_queries_bench::{Setup, rows};

#[test]
fn every_row_can_be_measured() {
    let setup = Setup {
        rounds: 1,
        rows: 3_000,
        deep_page: 30,
        page_memory: env!("CARGO_BIN_EXE_page_memory").into(),
    };
    let table = rows::measure(&setup, "", &|_| ()).unwrap();
    let names: Vec<_> = table.rows.iter().map(|row| row.name.as_str()).collect();
    let mut expected = vec![
        "filter-choice",
        "filter-choice-sqlite",
        "filter-text",
        "filter-text-sqlite",
        "group-region",
        "group-region-sqlite",
        "group-customer",
        "group-customer-sqlite",
        "top-cents",
        "top-sold_at",
        "memory",
        "fields",
        "push-down-sqlite",
        "push-down-postgres",
    ];
    if std::env::var_os("MCP_AQL_TEST_POSTGRES").is_none() {
        expected.pop();
        assert!(table.text().contains("push-down-postgres: skipped"), "{}", table.text());
    }
    assert_eq!(names, expected);
    for row in &table.rows {
        for value in row.turns.ours.iter().chain(&row.turns.peer) {
            assert!(value.is_finite() && *value > 0.0, "{}: {value}", row.name);
        }
    }
    // The memory of a page does not depend on the machine, so the target must be met everywhere.
    let memory = table.rows.iter().find(|row| row.name == "memory").unwrap();
    assert!(memory.is_met(), "{:?}", memory.turns);
}
