//! The command `mcp-aql-conformance`: tests an adapter and writes a report.
#![forbid(unsafe_code)]

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
