//! Runs a scripted server on standard input and output, for example `mcp-aql-upstreams --call hang`.

use std::process::ExitCode;

use mcp_aql_upstreams::{Script, serve};

fn main() -> ExitCode {
    match Script::read(std::env::args().skip(1)) {
        Ok(script) => serve(&script),
        Err(fault) => {
            eprintln!("{fault}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
