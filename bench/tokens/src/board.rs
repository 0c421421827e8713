//! Builds the adapter of `examples/tasks` with an empty board in a temporary file.

use mcp_aql::query::CursorKey;
use mcp_aql::{Adapter, EndpointMode};
use mcp_aql_bench::Result;

use crate::operations::Tasks;
use crate::store::TaskStore;

/// Builds the adapter. Keep the directory as long as you need the board, because dropping it deletes the file.
pub(crate) async fn adapter(mode: EndpointMode) -> Result<(Adapter, tempfile::TempDir)> {
    let directory = tempfile::tempdir()?;
    let store = TaskStore::open(directory.path().join("tasks.db")).await?;
    let adapter = Adapter::builder("tasks")
        .without_config()
        .mode(mode)
        .operations(Tasks::new(store))
        // With a fixed key, cursors have the same token count in every run.
        .cursor_key(CursorKey::new([7; 16]))
        .build()?;
    Ok((adapter, directory))
}
