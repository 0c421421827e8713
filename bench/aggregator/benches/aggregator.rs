//! Benchmarks of the aggregator: run `cargo bench` in `bench/aggregator` to print one table.
//!
//! ```console
//! $ cargo bench                       # everything
//! $ cargo bench -- rank-1000          # only measurements whose name contains this
//! $ cargo bench -- --out target/bench # also as JSON and as a chart, in a folder of the repository
//! $ cargo bench -- --rounds 5         # fewer rounds, for a quick look
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
            queries: 200,
            aggregator: env!("CARGO_BIN_EXE_aggregator").into(),
            server: env!("CARGO_BIN_EXE_server").into(),
            query_memory: env!("CARGO_BIN_EXE_query_memory").into(),
        };
        measure(&setup, &arguments.filter, progress)
    })
}
