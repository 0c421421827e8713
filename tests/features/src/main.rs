//! The adapter that `messages.rs` runs.

use mcp_aql::prelude::*;

/// Count the tasks.
#[operation(category = "READ")]
fn count_tasks() -> usize {
    0
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> mcp_aql::Result {
    Adapter::builder("tasks").operation(count_tasks {}).without_config().build()?.run().await
}
