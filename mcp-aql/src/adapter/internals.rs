//! Access to the parts of an adapter for the rest of the crate.

use super::{Adapter, Parts, Settings};
use crate::router::Registry;

impl Adapter {
    /// The parts that were passed to the builder.
    pub(crate) fn parts(&self) -> &Parts {
        &self.inner.parts
    }

    /// The settings in use.
    pub(crate) fn settings(&self) -> &Settings {
        &self.inner.settings
    }

    /// The registered operations.
    pub(crate) fn registry(&self) -> &Registry {
        &self.inner.registry
    }

    /// The JSON text of `params` of a sample call of an operation.
    pub(crate) fn sample(&self, operation: &str) -> Option<&str> {
        self.inner.sample(operation)
    }
}

#[cfg(feature = "cli")]
impl Adapter {
    /// The rendered introspection.
    pub(crate) fn introspection(&self) -> &crate::introspection::Introspection {
        &self.inner.introspection
    }

    /// The full entry of an operation, as JSON text.
    pub(crate) fn operation_details(&self, operation: &str) -> Option<&str> {
        crate::introspection::Source::in_full(&*self.inner, operation)
    }

    /// The executions.
    pub(crate) fn execution_table(&self) -> &crate::execution::Executions {
        &self.inner.executions
    }
}

#[cfg(test)]
impl Adapter {
    /// Adds a further query to `introspect`.
    pub(crate) fn with_further_query(
        self,
        query: impl crate::further_query::FurtherQuery + 'static,
    ) -> Self {
        let mut inner = std::sync::Arc::into_inner(self.inner).unwrap();
        inner.introspection.further.push(Box::new(query));
        let introspect = &mut inner.registry.entries.first_mut().unwrap().operation;
        crate::introspection::publish(introspect, &inner.introspection.further);
        Self { inner: std::sync::Arc::new(inner) }
    }
}
