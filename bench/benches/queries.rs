//! Measures queries and prints one table, with the options of `compare.rs`:
//!
//! ```console
//! $ cargo bench -p mcp-aql-bench --features queries --bench queries
//! $ scripts/postgres.sh cargo bench -p mcp-aql-bench --features queries --bench queries # with PostgreSQL
//! ```

use std::process::ExitCode;

use mcp_aql_bench::command::Command;
use mcp_aql_bench::queries::{Setup, measure};

const COMMAND: Command =
    Command { package: "mcp-aql-bench --features queries --bench queries", name: "queries" };

fn main() -> ExitCode {
    COMMAND.run(|arguments, progress| {
        let rounds = arguments.rounds.unwrap_or(21);
        let setup = Setup::new(rounds, 1_000_000, 1_000, env!("CARGO_BIN_EXE_page_memory"));
        measure(&setup, &arguments.filter, progress)
    })
}
