//! Runs every measurement of queries with few rows.

use mcp_aql_bench::queries::{Setup, measure};

use crate::check_rows;

#[test]
fn every_row_can_be_measured() {
    let setup = Setup::new(1, 3_000, 30, env!("CARGO_BIN_EXE_page_memory"));
    let table = measure(&setup, "", &|_| ()).unwrap();
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
    check_rows(&table, &expected);
    // The memory of a page does not depend on the machine, so the target must be met everywhere.
    let memory = table.rows.iter().find(|row| row.name == "memory").unwrap();
    assert!(memory.is_met(), "{:?}", memory.turns);
}
