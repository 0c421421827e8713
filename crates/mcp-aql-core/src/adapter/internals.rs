//! Access to the parts of an adapter for the rest of the crate.

use std::sync::Arc;

use http::Extensions;

use super::{Adapter, Parts, Settings};
use crate::caller::principal::Principal;
use crate::introspection;
use crate::observe::call_tracer::CallTracer;
use crate::observe::recorder::Recorder;
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

    /// The values that belong to every call.
    pub fn extensions(&self) -> &Extensions {
        &self.extensions
    }

    /// The registered operations.
    pub fn registry(&self) -> &Registry {
        &self.catalog.registry
    }

    /// The same adapter as a principal sees it: it lists only the operations that the principal may call.
    pub fn shown_to(&self, principal: Option<&Principal>) -> Self {
        let catalog = self.inner.pipeline.views.of(principal, &self.inner.pipeline.catalog);
        Self { catalog, ..self.clone() }
    }

    /// Whether calls without a principal are refused.
    pub fn requires_principal(&self) -> bool {
        self.inner.pipeline.settings.access.requires_principal
    }

    /// Whether both list the same operations, which is the case for principals that may call the same operations.
    pub fn lists_the_same(&self, other: &Self) -> bool {
        std::sync::Arc::ptr_eq(&self.catalog, &other.catalog)
    }

    /// Adds a recorder to this adapter and its clones. Returns `false` if they have one already.
    pub fn add_recorder(&self, recorder: Arc<dyn Recorder>) -> bool {
        self.inner.pipeline.observers.recorder.set(recorder)
    }

    /// The recorder, if one was added.
    pub fn recorder(&self) -> Option<&dyn Recorder> {
        self.inner.pipeline.observers.recorder.get()
    }

    /// The tracer of calls.
    pub fn tracer(&self) -> Option<&dyn CallTracer> {
        self.inner.pipeline.observers.tracer().map(|tracer| &**tracer)
    }

    /// Sends what the tracer has recorded, since the process may end.
    pub async fn flush_tracer(&self) {
        let Some(tracer) = self.inner.pipeline.observers.tracer().cloned() else { return };
        // Flushing may block the thread, which may have to run the tasks that are traced.
        if let Err(error) = tokio::task::spawn_blocking(move || tracer.flush()).await {
            tracing::error!(%error, "cannot send the last spans and metrics");
        }
    }

    /// The value that an extension has added.
    pub fn extension_value<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.inner.values.get()
    }

    /// The JSON text of `params` of a sample call of an operation.
    pub fn sample(&self, operation: &str) -> Option<&str> {
        self.catalog.sample(operation)
    }

    /// The description of an operation with a line for each parameter, as in a list with
    /// `parameters: true`.
    pub fn description_with_parameters(&self, operation: &RegisteredOperation) -> String {
        let shapes = &self.catalog.shapes;
        introspection::description_with_parameters(operation, shapes)
    }

    /// The first paragraph of an operation's description.
    pub fn summary(&self, operation: &RegisteredOperation) -> String {
        introspection::summary(operation)
    }

    /// The parameters of an operation in one line, `title, priority? integer 1..5`, unless this hides the
    /// form of a required one. A parameter without a type is a text.
    pub fn parameters_in_one_line(&self, operation: &RegisteredOperation) -> Option<String> {
        introspection::signature(operation, &self.catalog.shapes)
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
        query: impl crate::operation::further_query::FurtherQuery + 'static,
    ) -> Self {
        drop(self.catalog);
        let mut inner = std::sync::Arc::into_inner(self.inner).unwrap();
        let catalog = std::sync::Arc::get_mut(&mut inner.pipeline.catalog).unwrap();
        let further = std::sync::Arc::get_mut(&mut catalog.introspection.further).unwrap();
        further.push(Box::new(query));
        let entry = catalog.registry.entries.first_mut().unwrap();
        let introspect = &mut std::sync::Arc::get_mut(entry).unwrap().operation;
        crate::introspection::publish(introspect, &catalog.introspection.further);
        let catalog = std::sync::Arc::clone(&inner.pipeline.catalog);
        Self { inner: std::sync::Arc::new(inner), catalog, ..self }
    }
}
