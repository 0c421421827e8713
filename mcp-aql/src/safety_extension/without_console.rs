//! Stands in for the operator console if the feature `console` is off.

use std::sync::Arc;

use crate::main_error::Result;
use crate::safety_loop::SafetyCore;

/// Returns `None`: there is no console.
pub(super) async fn start_console(_: &Arc<SafetyCore>) -> Result<Option<()>> {
    Ok(None)
}
