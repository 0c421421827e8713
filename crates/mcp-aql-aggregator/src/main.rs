//! The command `mcp-aql-aggregator`: queries many MCP servers and returns one ranked answer.
#![forbid(unsafe_code)]

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
