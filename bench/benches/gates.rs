//! Measures the gates and prints one table, with the options of `compare.rs`:
//!
//! ```console
//! $ cargo bench -p mcp-aql-bench --features gates --bench gates
//! ```

use std::process::ExitCode;

use mcp_aql_bench::command::Command;
use mcp_aql_bench::gates::{Setup, measure};

const COMMAND: Command =
    Command { package: "mcp-aql-bench --features gates --bench gates", name: "gates" };

fn main() -> ExitCode {
    COMMAND.run(|arguments, progress| {
        let setup = Setup { rounds: arguments.rounds.unwrap_or(101), calls: 2_000, steps: 400 };
        measure(&setup, &arguments.filter, progress)
    })
}
