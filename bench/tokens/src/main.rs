//! Generates the parts of the book that show conversations and their costs.
//!
//! ```console
//! $ mcp-aql-tokens tasks         # the tokens of whole tasks, as a table
//! $ mcp-aql-tokens transcripts   # one task with three sizes of adapter
//! ```

use std::io::Write as _;
use std::process::ExitCode;

use mcp_aql_bench::Result;
use mcp_aql_tokens::{counter, transcripts, whole_tasks};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match written().await {
        Ok(text) => {
            let _ = writeln!(std::io::stdout(), "{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn written() -> Result<String> {
    let count = counter()?;
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["tasks"] => Ok(whole_tasks(&count).await?.table()),
        ["transcripts"] => transcripts(&count).await,
        _ => Err("usage: mcp-aql-tokens tasks|transcripts".into()),
    }
}
