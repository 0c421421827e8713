//! The command `mcp-aql-aggregator`: one query over many MCP servers, one ranked answer.
#![forbid(unsafe_code)]

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
