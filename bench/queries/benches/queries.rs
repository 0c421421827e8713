//! Measures queries and prints one table: `cargo bench -p mcp-aql-queries-bench`.
//!
//! ```console
//! $ cargo bench -p mcp-aql-queries-bench                       # everything
//! $ cargo bench -p mcp-aql-queries-bench -- group              # measurements whose name contains "group"
//! $ cargo bench -p mcp-aql-queries-bench -- --out target/bench # also writes JSON and a chart to a folder of the workspace
//! $ cargo bench -p mcp-aql-queries-bench -- --rounds 5         # fewer rounds, for a quick look
//! $ scripts/postgres.sh cargo bench -p mcp-aql-queries-bench   # with PostgreSQL
//! ```

use std::process::ExitCode;

use mcp_aql_bench::command::Command;
use mcp_aql_queries_bench::{Setup, rows};

const COMMAND: Command = Command { package: "mcp-aql-queries-bench", name: "queries" };

fn main() -> ExitCode {
    COMMAND.run(|arguments, progress| {
        let setup = Setup {
            rounds: arguments.rounds.unwrap_or(21),
            rows: 1_000_000,
            deep_page: 1_000,
            page_memory: env!("CARGO_BIN_EXE_page_memory").into(),
        };
        rows::measure(&setup, &arguments.filter, progress)
    })
}
