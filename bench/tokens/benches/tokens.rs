//! Counts the tokens that a model reads, with mcp-aql and with discrete tools. Prints a table:
//!
//! ```console
//! $ cargo bench -p mcp-aql-tokens
//! $ cargo bench -p mcp-aql-tokens -- --out target/bench   # also as JSON
//! ```

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use mcp_aql_bench::Result;
use mcp_aql_bench::tokens::figures;
use mcp_aql_tokens::{counter, whole_tasks};
use serde_json::json;

const USAGE: &str = "cargo bench -p mcp-aql-tokens [-- --out DIR]";

/// The workspace root. Relative folders are resolved against it, because Cargo runs a benchmark in the folder of its
/// package.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result {
    let folder = folder(std::env::args().skip(1))?;
    let count = counter()?;
    let figures = figures(&count).await?;
    let tasks = whole_tasks(&count).await?;
    write!(std::io::stdout(), "{}\nWhole tasks\n\n{}", figures.text(), tasks.table())?;
    if let Some(folder) = folder {
        std::fs::create_dir_all(&folder)?;
        let result = json!({ "texts": figures.json(), "tasks": tasks.json() });
        let text = serde_json::to_string_pretty(&result)?;
        std::fs::write(folder.join("tokens.json"), text + "\n")?;
    }
    Ok(())
}

/// Returns the folder for the JSON output, if the user requested it.
fn folder(mut arguments: impl Iterator<Item = String>) -> Result<Option<PathBuf>> {
    let mut folder = None;
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            // Cargo passes this to every benchmark.
            "--bench" => {}
            "--out" => folder = Some(Path::new(ROOT).join(arguments.next().ok_or(USAGE)?)),
            _ => return Err(USAGE.into()),
        }
    }
    Ok(folder)
}
