//! The settings of the operator console.

use crate::human_channel::{ConsoleCount, ConsoleOptions};

/// The settings of the operator console.
#[derive(Clone, Default)]
pub(crate) struct ConsoleSettings {
    /// The options. `None` without a console.
    pub(crate) options: Option<ConsoleOptions>,
    /// The running consoles.
    pub(super) running: ConsoleCount,
}
