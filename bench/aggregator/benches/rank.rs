//! `cargo bench -p mcp-aql-aggregator-bench`: measures how fast results are ranked, and prints one table.
//!
//! ```console
//! $ cargo bench -p mcp-aql-aggregator-bench                       # everything
//! $ cargo bench -p mcp-aql-aggregator-bench -- rank-1000          # what has this in its name
//! $ cargo bench -p mcp-aql-aggregator-bench -- --out target/bench # also as JSON and as a chart, in a folder of the workspace
//! $ cargo bench -p mcp-aql-aggregator-bench -- --rounds 5         # fewer rounds, for a look
//! ```

use std::process::ExitCode;

use mcp_aql_aggregator_bench::{Setup, measure};
use mcp_aql_bench::command::Command;

const COMMAND: Command = Command { package: "mcp-aql-aggregator-bench", name: "aggregator" };

fn main() -> ExitCode {
    COMMAND.run(|arguments, progress| {
        let setup = Setup {
            rounds: arguments.rounds.unwrap_or(21),
            results: [100, 1_000, 10_000],
            rank_memory: env!("CARGO_BIN_EXE_rank_memory").into(),
        };
        measure(&setup, &arguments.filter, progress)
    })
}
