//! Access to the parts of an adapter for its command line.

use super::Adapter;

#[doc(hidden)]
impl Adapter {
    /// Returns the rendered introspection.
    pub fn introspection(&self) -> &crate::introspection::Introspection {
        &self.catalog.introspection
    }

    /// Returns the full entry of an operation as JSON.
    pub fn operation_details(&self, operation: &str) -> Option<&str> {
        crate::introspection::Source::in_full(&*self.catalog, operation)
    }

    /// Returns the executions.
    pub fn execution_table(&self) -> &crate::execution::Executions {
        &self.inner.pipeline.executions
    }
}
