//! An adapter with long-running operations. A test decides when they end.

use std::sync::Arc;

use mcp_aql::AdapterBuilder;
use mcp_aql::prelude::*;
use tokio::sync::Semaphore;

/// Lets one execution end for each permit.
pub(crate) type Gate = Arc<Semaphore>;

/// Export everything. The first attempt may fail.
#[operation(category = "EXECUTE", lifecycle(cancel, retry, progress))]
async fn execute_export(
    State(gate): State<Gate>,
    execution: ExecutionContext,
    /// Whether the first attempt fails.
    #[param(default = false)]
    fails: bool,
) -> Result<u32, OperationError> {
    execution.progress(1.0, 4.0, "exporting").await;
    tokio::select! {
        permit = gate.acquire() => permit.or_internal()?.forget(),
        () = execution.cancelled() => return Err(OperationError::permission_denied("cancelled")),
    }
    if fails && execution.attempt() == 1 {
        return Err(OperationError::not_found("bed", "b-1"));
    }
    Ok(7)
}

/// Water everything, without an end in between.
#[operation(category = "EXECUTE", lifecycle())]
async fn execute_watering(State(gate): State<Gate>) -> Result<u32, OperationError> {
    gate.acquire().await.or_internal()?.forget();
    Ok(8)
}

/// Burn everything.
#[operation(category = "EXECUTE", danger(level = "destructive"), lifecycle(cancel))]
async fn execute_fire() -> u32 {
    9
}

/// Return the number of beds.
#[operation(category = "READ")]
fn count_beds() -> u32 {
    3
}

/// Returns a builder with the operations, and their gate.
pub(crate) fn works() -> (AdapterBuilder, Gate) {
    let gate = Gate::new(Semaphore::new(0));
    let builder = Adapter::builder("works")
        .operation(execute_export {})
        .operation(execute_watering {})
        .operation(execute_fire {})
        .operation(count_beds {})
        .state(Arc::clone(&gate));
    (builder, gate)
}
