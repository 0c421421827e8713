//! Serves the garden over standard input and output, optionally with a mistake.
//!
//! ```text
//! faulty --list                              lists the mistakes
//! faulty --fault NAME                        injects one
//! faulty --rate-limit                        accepts 5 calls a second
//! faulty --documented-rate-limit             states that in the query `quota_status`, too
//! faulty --warehouse RESOURCES MILLISECONDS  serves six operations on each resource, with delayed replies
//! ```
#![expect(clippy::print_stdout, reason = "a list for people")]

use std::time::Duration;

use mcp_aql_conformance::Mode;
use mcp_aql_conformance_tests::{Faulty, Warehouse, faults, variants};

#[tokio::main]
async fn main() -> mcp_aql::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let mode = match std::env::var("MCP_AQL_ENDPOINT_MODE").as_deref() {
        Ok("single") => Some(Mode::Single),
        Ok("all") => Some(Mode::All),
        Ok("semantic") => Some(Mode::Semantic),
        _ => None,
    };
    if let ["--warehouse", resources, delay] = words.as_slice()
        && let (Ok(resources), Ok(delay)) = (resources.parse(), delay.parse())
    {
        let warehouse = Warehouse::new(resources, Duration::from_millis(delay));
        return warehouse.serve(mode, tokio::io::stdin(), tokio::io::stdout()).await;
    }
    let fault = match words.as_slice() {
        [] => None,
        ["--list"] => {
            for fault in faults::all() {
                println!("{:<40} {}", fault.name, fault.check);
            }
            return Ok(());
        }
        ["--rate-limit"] => Some(&variants::SLOW),
        ["--documented-rate-limit"] => Some(&variants::SLOW_AND_DOCUMENTED),
        ["--fault", name] => match faults::named(name) {
            Some(fault) => Some(&fault.tamper),
            None => {
                eprintln!("there is no fault `{name}`; `--list` shows them");
                std::process::exit(2);
            }
        },
        _ => {
            eprintln!(
                "usage: faulty [--list | --fault NAME | --rate-limit | --documented-rate-limit | \
                 --warehouse RESOURCES MILLISECONDS]"
            );
            std::process::exit(2);
        }
    };
    Faulty::new(fault).serve(mode, tokio::io::stdin(), tokio::io::stdout()).await
}
