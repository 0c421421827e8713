//! The operator console of the safety loop.

use std::sync::Arc;

use super::{SafetyCore, SafetyLoop};
use crate::human_channel::{ConsoleChannel, ConsoleCount, ConsoleOptions};

/// The settings of the operator console.
#[derive(Clone, Default)]
pub(super) struct ConsoleSettings {
    /// The options, if there is a console.
    options: Option<ConsoleOptions>,
    /// The running consoles.
    pub(super) running: ConsoleCount,
}

impl SafetyLoop {
    /// Shows requests in the operator console, a web page that is available while the adapter is served over
    /// standard input and output or over HTTP. In other programs, start a
    /// [`Console`](crate::operator::Console) with [`Adapter::operator`](crate::Adapter::operator).
    #[must_use]
    pub fn console(mut self, options: ConsoleOptions) -> Self {
        if self.console.options.replace(options).is_none() {
            let channel = ConsoleChannel(self.console.running.clone());
            self.channels.push(Arc::new(channel));
        }
        self
    }
}

impl SafetyCore {
    /// The options of the console, if there is one.
    pub(crate) fn console_options(&self) -> Option<&ConsoleOptions> {
        self.console.options.as_ref()
    }
}
