//! A server for tests, on standard input and output: `scripted_upstream --call hang`.

#![allow(clippy::print_stderr, reason = "it is for tests")]

use std::process::ExitCode;

use mcp_aql_upstreams::{Script, serve};

fn main() -> ExitCode {
    match Script::read(std::env::args().skip(1)) {
        Ok(script) => serve(&script),
        Err(fault) => {
            eprintln!("{fault}");
            return ExitCode::from(3);
        }
    }
    ExitCode::SUCCESS
}
