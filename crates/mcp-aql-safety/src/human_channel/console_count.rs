//! Counts the consoles of an adapter in which people can sign in.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of reachable consoles of an adapter.
#[derive(Debug, Clone, Default)]
pub(crate) struct ConsoleCount(Arc<AtomicUsize>);

impl ConsoleCount {
    /// Counts a console until the returned value is dropped.
    pub(crate) fn enter(&self) -> ReachableConsole {
        self.0.fetch_add(1, Ordering::Relaxed);
        ReachableConsole(self.clone())
    }

    /// Returns `true` if people can sign in to at least one console.
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
