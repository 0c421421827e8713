//! Access to the parts of an adapter for the rest of the crate.

use super::{Adapter, Parts, Settings};
use crate::introspection;
use crate::operation::RegisteredOperation;
use crate::router::Registry;

#[doc(hidden)]
impl Adapter {
    /// The parts that were passed to the builder.
    pub fn parts(&self) -> &Parts {
        &self.inner.parts
    }

    /// The settings in use.
    pub fn settings(&self) -> &Settings {
        &self.inner.settings
    }

    /// The registered operations.
    pub fn registry(&self) -> &Registry {
        &self.inner.pipeline.catalog.registry
    }

    /// The value that an extension has added.
    pub fn extension_value<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.inner.values.get()
    }

    /// The JSON text of `params` of a sample call of an operation.
    pub fn sample(&self, operation: &str) -> Option<&str> {
        self.inner.pipeline.catalog.sample(operation)
    }

    /// The description of an operation with a line for each parameter, as in a list with
    /// `parameters: true`.
    pub fn description_with_parameters(&self, operation: &RegisteredOperation) -> String {
        let shapes = &self.inner.pipeline.catalog.shapes;
        introspection::description_with_parameters(operation, shapes)
    }

    /// The first paragraph of an operation's description.
    pub fn summary(&self, operation: &RegisteredOperation) -> String {
        introspection::summary(operation)
    }

    /// The parameters of an operation in one line, `title, priority? integer 1..5`, unless this hides the
    /// form of a required one. A parameter without a type is a text.
    pub fn parameters_in_one_line(&self, operation: &RegisteredOperation) -> Option<String> {
        introspection::signature(operation, &self.inner.pipeline.catalog.shapes)
    }

    /// The text that stands for the query parameters of an operation in the texts above, or an empty one.
    pub fn query_parameters<'a>(&self, operation: &'a RegisteredOperation) -> &'a str {
        &operation.composites.description.brief.text
    }

    /// The meanings of parameters that several operations have in common, each once.
    pub fn common_parameters<'a>(
        &self,
        operations: impl Iterator<Item = &'a RegisteredOperation>,
    ) -> Vec<&'static str> {
        let mut found = Vec::new();
        for meaning in operations.flat_map(|it| &it.composites.description.brief.meanings) {
            if !found.contains(meaning) {
                found.push(*meaning);
            }
        }
        found
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
        let catalog = &mut inner.pipeline.catalog;
        catalog.introspection.further.push(Box::new(query));
        let introspect = &mut catalog.registry.entries.first_mut().unwrap().operation;
        crate::introspection::publish(introspect, &catalog.introspection.further);
        Self { inner: std::sync::Arc::new(inner), ..self }
    }
}
