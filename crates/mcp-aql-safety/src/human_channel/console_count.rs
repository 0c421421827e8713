//! Counts the consoles of an adapter that people can sign in to.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of an adapter's consoles that people can sign in to.
#[derive(Debug, Clone, Default)]
pub(crate) struct ConsoleCount(Arc<AtomicUsize>);

impl ConsoleCount {
    /// Counts a console until the returned value is dropped.
    pub(crate) fn enter(&self) -> ReachableConsole {
        self.0.fetch_add(1, Ordering::Relaxed);
        ReachableConsole(self.clone())
    }

    /// Returns whether there is one.
    pub(crate) fn is_reachable(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}

/// One counted console.
pub(crate) struct ReachableConsole(ConsoleCount);

impl Drop for ReachableConsole {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}
