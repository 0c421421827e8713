//! Serves the gated adapter over HTTP, with a store in PostgreSQL: `gated FOLDER ADDRESS SCHEMA`. The tests start two
//! of these processes and kill them.
//!
//! The program prints its address and stops when you close its standard input:
//!
//! ```console
//! $ gated evidence postgres://postgres@localhost/test gated_1
//! 127.0.0.1:40193
//! ```

use std::path::Path;
use std::process::ExitCode;

use mcp_aql_tests_databases::gated;

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [folder, address, schema] = arguments.as_slice() else {
        eprintln!("gated FOLDER ADDRESS SCHEMA");
        return ExitCode::FAILURE;
    };
    match serve(folder.as_ref(), address, schema).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(
    folder: &Path,
    address: &str,
    schema: &str,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let store = gated::store(folder, Some((address, schema)))?;
    gated::serve_http(gated::adapter(store, folder, 0)?).await?;
    Ok(())
}
