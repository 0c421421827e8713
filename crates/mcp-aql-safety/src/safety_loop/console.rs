//! Enables the operator console of the safety loop.

use std::sync::Arc;

use super::settings::SafetyLoop;
use crate::human_channel::{ConsoleChannel, ConsoleOptions};

impl SafetyLoop {
    /// Shows requests in the operator console, a web page.
    ///
    /// The page is available while the adapter is served over standard input and output or over HTTP. In other
    /// programs, start a [`Console`](crate::operator::Console) with
    /// [`Adapter::operator`](crate::operator::OperatorAccess::operator).
    #[must_use]
    pub fn console(mut self, options: ConsoleOptions) -> Self {
        if self.console.options.replace(options).is_none() {
            let channel = ConsoleChannel(self.console.running.clone());
            self.channels.push(Arc::new(channel));
        }
        self
    }
}
