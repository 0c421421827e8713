//! The adapter of the telemetry tests, as a program.

use std::time::Duration;

use mcp_aql::prelude::*;
use tracing::Instrument as _;

/// Return an item.
#[operation(category = "READ")]
async fn get_item(
    /// Number of the item.
    #[param(maximum = 1000)]
    item_id: u32,
    /// The password of the item.
    #[param(sensitive, max_length = 100)]
    password: Option<String>,
) -> usize {
    let load = async {
        tokio::time::sleep(Duration::from_millis(1)).await;
        tracing::error!(password, "an event of the author");
        password.map_or(0, |password| password.len())
    };
    load.instrument(tracing::info_span!("load_item", item = item_id)).await
}

/// Fail with an internal error.
#[operation(category = "READ")]
fn get_fault() -> Result<u32, OperationError> {
    Err(OperationError::internal("the cause with hidden-cause-text"))
}

/// Create an item.
#[operation(category = "CREATE")]
fn create_item(
    /// Title of the item.
    #[param(max_length = 100)]
    title: String,
) -> usize {
    let _span = tracing::info_span!("store_item").entered();
    title.len()
}

/// Delete an item.
#[operation(category = "DELETE")]
fn delete_item(
    /// Number of the item.
    #[param(maximum = 1000)]
    item_id: u32,
) -> u32 {
    item_id
}

/// Export all items.
#[operation(category = "EXECUTE", danger(level = "reversible"), lifecycle())]
async fn run_export(
    /// Whether the export fails.
    #[param(default = false)]
    fails: bool,
) -> Result<u32, OperationError> {
    let export = async {
        tokio::time::sleep(Duration::from_millis(1)).await;
        if fails { Err(OperationError::internal("the disk is full")) } else { Ok(7) }
    };
    export.instrument(tracing::info_span!("write_export")).await
}

#[tokio::main]
async fn main() -> mcp_aql::Result<()> {
    Adapter::builder("items")
        .operation(get_item {})
        .operation(get_fault {})
        .operation(create_item {})
        .operation(delete_item {})
        .operation(run_export {})
        .without_config_file()
        .opentelemetry_from_env()
        .build()?
        .run()
        .await
}
