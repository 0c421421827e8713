//! The builder's method that adds a safety loop.

use mcp_aql_core::AdapterBuilder;

use super::SafetyLoop;

/// Adds [`safety_loop`](Self::safety_loop) to [`AdapterBuilder`].
pub trait WithSafetyLoop {
    /// Adds a safety loop for agents. Default: none, without any cost (REQ-LOOP-01).
    ///
    /// Blocks and other state must outlive the process. They are kept in the [`store`](AdapterBuilder::store), by
    /// default in a file in the user's state directory. In tests, use a
    /// [`MemoryState`](mcp_aql_core::store::MemoryState).
    #[must_use]
    fn safety_loop(self, safety_loop: SafetyLoop) -> Self;
}

impl WithSafetyLoop for AdapterBuilder {
    fn safety_loop(self, safety_loop: SafetyLoop) -> Self {
        self.extension(safety_loop)
    }
}
