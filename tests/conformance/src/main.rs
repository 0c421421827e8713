//! Serves the garden over standard input and output, optionally with a fault: `faulty --list`, `faulty
//! --fault NAME`.
#![expect(clippy::print_stdout, reason = "a list for people")]

use mcp_aql_conformance::Mode;
use mcp_aql_conformance_tests::{Faulty, faults};

#[tokio::main]
async fn main() -> mcp_aql::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let fault = match words.as_slice() {
        [] => None,
        ["--list"] => {
            for fault in faults::all() {
                println!("{:<40} {}", fault.name, fault.check);
            }
            return Ok(());
        }
        ["--fault", name] => match faults::named(name) {
            Some(fault) => Some(&fault.tamper),
            None => {
                eprintln!("there is no fault `{name}`; `--list` shows them");
                std::process::exit(2);
            }
        },
        _ => {
            eprintln!("usage: faulty [--list | --fault NAME]");
            std::process::exit(2);
        }
    };
    let mode = match std::env::var("MCP_AQL_ENDPOINT_MODE").as_deref() {
        Ok("single") => Some(Mode::Single),
        Ok("all") => Some(Mode::All),
        Ok("semantic") => Some(Mode::Semantic),
        _ => None,
    };
    Faulty::new(fault).serve(mode, tokio::io::stdin(), tokio::io::stdout()).await
}
