//! Counts the tokens that a model reads, with mcp-aql and with discrete tools. The same tables and conversations are in
//! the book.
//!
//! ```console
//! $ mcp-aql-tokens               # the tokens of descriptions and of whole tasks
//! $ mcp-aql-tokens tasks         # the tokens of whole tasks, as a table
//! $ mcp-aql-tokens transcripts   # one task with three sizes of adapter
//! ```

use std::io::Write as _;

use mcp_aql_bench::Result;
use mcp_aql_bench::tokens::{counter, figures, transcripts, whole_tasks};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result {
    let count = counter()?;
    let text = match std::env::args().nth(1).as_deref() {
        None => {
            let tasks = whole_tasks(&count).await?.table();
            format!("{}\nWhole tasks\n\n{tasks}", figures(&count).await?.text())
        }
        Some("tasks") => whole_tasks(&count).await?.table(),
        Some("transcripts") => transcripts(&count).await?,
        _ => return Err("usage: mcp-aql-tokens [tasks|transcripts]".into()),
    };
    writeln!(std::io::stdout(), "{text}")?;
    Ok(())
}
