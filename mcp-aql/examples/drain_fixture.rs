//! An adapter whose operations wait for a signal from the test that started it.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mcp_aql::ExecutionOptions;
use mcp_aql::prelude::*;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

/// Connects to the test and waits until it sends a byte.
async fn rendezvous(gate: &str) -> std::io::Result<()> {
    TcpStream::connect(gate).await?.read_u8().await.map(drop)
}

fn append(file: &Path, line: &str) -> std::io::Result<()> {
    let file = std::fs::OpenOptions::new().append(true).create(true).open(file);
    writeln!(file?, "{line}")
}

/// Appends a line, waits for the test, and appends a second line.
async fn write_pair(file: &Path, gate: &str) -> Result<u32, OperationError> {
    append(file, "first").or_internal()?;
    rendezvous(gate).await.or_internal()?;
    append(file, "second").or_internal()?;
    Ok(2)
}

/// Write two lines.
#[operation(category = "CREATE")]
async fn create_pair(
    context: Context,
    /// The file to append to.
    file: PathBuf,
    /// The address to connect to.
    gate: String,
) -> Result<u32, OperationError> {
    context.progress(1.0, Some(2.0), "writing").await;
    write_pair(&file, &gate).await
}

/// Write two lines in the background.
#[operation(category = "EXECUTE", lifecycle())]
async fn execute_pair(
    /// The file to append to.
    file: PathBuf,
    /// The address to connect to.
    gate: String,
) -> Result<u32, OperationError> {
    write_pair(&file, &gate).await
}

/// Wait, and return a number.
#[operation(category = "READ", rationale = "it only waits")]
async fn get_number(
    /// The address to connect to.
    gate: String,
) -> Result<u32, OperationError> {
    rendezvous(&gate).await.or_internal()?;
    Ok(7)
}

#[tokio::main]
async fn main() -> mcp_aql::Result {
    use mcp_aql::cli::RunAdapter as _;

    let executions = ExecutionOptions::new().wait(Duration::ZERO).grace(Duration::ZERO);
    let builder = Adapter::builder("pairs").without_config().executions(executions);
    builder
        .operation(create_pair {})
        .operation(execute_pair {})
        .operation(get_number {})
        .build()?
        .run()
        .await
}
