//! The settings of the operator console.

use crate::human_channel::{ConsoleCount, ConsoleOptions};

/// The settings of the operator console.
#[derive(Clone, Default)]
pub(crate) struct ConsoleSettings {
    /// The options, if there is a console.
    pub(crate) options: Option<ConsoleOptions>,
    /// The running consoles.
    pub(super) running: ConsoleCount,
}
