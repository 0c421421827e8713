//! The command `mcp-aql-conformance`: tests an adapter, and writes down what it found.
#![forbid(unsafe_code)]

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
