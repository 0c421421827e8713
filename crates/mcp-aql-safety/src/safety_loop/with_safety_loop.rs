//! The method of the builder that adds a safety loop.

use mcp_aql_core::AdapterBuilder;

use super::SafetyLoop;

/// Adds a safety loop to an adapter.
pub trait WithSafetyLoop {
    /// Sets the safety loop for agents that execute. Default: none, without cost (REQ-LOOP-01).
    ///
    /// The [`store`](AdapterBuilder::store) keeps state that must outlive the process, such as blocks. Tests can
    /// use a [`MemoryState`](mcp_aql_core::store::MemoryState).
    #[must_use]
    fn safety_loop(self, safety_loop: SafetyLoop) -> Self;
}

impl WithSafetyLoop for AdapterBuilder {
    fn safety_loop(self, safety_loop: SafetyLoop) -> Self {
        self.extension(safety_loop)
    }
}
