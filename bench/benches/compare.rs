//! Runs the comparison with plain rmcp and prints one table:
//!
//! ```console
//! $ cargo bench -p mcp-aql-bench                      # everything
//! $ cargo bench -p mcp-aql-bench -- stdio             # measurements whose name contains "stdio"
//! $ cargo bench -p mcp-aql-bench -- --out target/bench # also writes JSON and a chart to a folder of the workspace
//! $ cargo bench -p mcp-aql-bench -- --rounds 5        # fewer rounds, for a quick look
//! ```

use std::process::ExitCode;

use mcp_aql_bench::command::Command;
use mcp_aql_bench::rows::{Setup, measure};
use mcp_aql_bench::{Programs, Scale};

const COMMAND: Command = Command { package: "mcp-aql-bench", name: "performance" };

fn main() -> ExitCode {
    COMMAND.run(|arguments, progress| {
        let mut scale = Scale::FULL;
        scale.rounds = arguments.rounds.unwrap_or(scale.rounds);
        let programs = Programs {
            ours: env!("CARGO_BIN_EXE_records_aql").into(),
            peer: env!("CARGO_BIN_EXE_records_rmcp").into(),
        };
        measure(&Setup { programs, scale }, &arguments.filter, progress)
    })
}
