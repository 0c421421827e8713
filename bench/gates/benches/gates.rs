//! Measures the gates and prints one table: `cargo bench -p mcp-aql-gates-bench`.
//!
//! ```console
//! $ cargo bench -p mcp-aql-gates-bench                       # everything
//! $ cargo bench -p mcp-aql-gates-bench -- step               # measurements whose name contains "step"
//! $ cargo bench -p mcp-aql-gates-bench -- --out target/bench # also writes JSON and a chart to a folder of the workspace
//! $ cargo bench -p mcp-aql-gates-bench -- --rounds 5         # fewer rounds, for a quick look
//! ```

use std::process::ExitCode;

use mcp_aql_bench::command::Command;
use mcp_aql_gates_bench::{Setup, measure};

const COMMAND: Command = Command { package: "mcp-aql-gates-bench", name: "gates" };

fn main() -> ExitCode {
    COMMAND.run(|arguments, progress| {
        let setup = Setup { rounds: arguments.rounds.unwrap_or(101), calls: 2_000, steps: 400 };
        measure(setup, &arguments.filter, progress)
    })
}
