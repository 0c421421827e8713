//! Stand-ins for the operator console, used if the feature `console` is off.

use std::sync::Arc;

use mcp_aql_core::Result;

use crate::safety_loop::{SafetyCore, SafetyLoop};

/// The console. Without the feature, no value of this type exists.
#[derive(Debug)]
pub enum Console {}

/// Returns `None`, because the feature is off.
pub async fn start_console(_: &Arc<SafetyCore>) -> Result<Option<Console>> {
    Ok(None)
}

/// The bound of the stand-in. No type implements it, so its use is a compile error that names the feature.
#[diagnostic::on_unimplemented(
    message = "this needs the feature `console` of `mcp-aql`, which is off",
    label = "needs the feature `console`",
    note = "write `mcp-aql = {{ version = \"0.1.0\", features = [\"console\"] }}` in Cargo.toml, with the features that are there already"
)]
pub trait ConsoleFeature {}

impl SafetyLoop {
    #[doc(hidden)]
    #[must_use]
    pub fn console<O: ConsoleFeature>(self, _options: O) -> Self {
        self
    }
}
