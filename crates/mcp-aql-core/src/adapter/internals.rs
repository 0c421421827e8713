//! Access to the parts of an adapter for the rest of the workspace.

use std::sync::Arc;

use http::Extensions;

use super::{Adapter, Parts, Settings};
use crate::caller::principal::Principal;
use crate::execution::Executions;
use crate::introspection::{self, Introspection};
use crate::observe::call_tracer::CallTracer;
use crate::observe::recorder::Recorder;
use crate::operation::RegisteredOperation;
use crate::router::Registry;

#[doc(hidden)]
impl Adapter {
    /// Returns the values passed to the builder.
    pub fn parts(&self) -> &Parts {
        &self.inner.parts
    }

    /// Returns the settings in use.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the values added to every call.
    pub fn extensions(&self) -> &Extensions {
        &self.extensions
    }

    /// Returns the rendered introspection.
    pub fn introspection(&self) -> &Introspection {
        &self.catalog.introspection
    }

    /// Returns the full entry of an operation as JSON.
    pub fn operation_details(&self, operation: &str) -> Option<&str> {
        introspection::Source::in_full(&*self.catalog, operation)
    }

    /// Returns the executions.
    pub fn execution_table(&self) -> &Executions {
        &self.inner.pipeline.executions
    }

    /// Returns the registered operations.
    pub fn registry(&self) -> &Registry {
        &self.catalog.registry
    }

    /// Returns the adapter as seen by a principal. It lists only the operations that the principal may call.
    pub fn shown_to(&self, principal: Option<&Principal>) -> Self {
        let catalog = self.inner.pipeline.views.of(principal, &self.inner.pipeline.catalog);
        Self { catalog, ..self.clone() }
    }

    /// Returns `true` if calls without a principal are rejected.
    pub fn requires_principal(&self) -> bool {
        self.inner.pipeline.settings.access.requires_principal
    }

    /// Returns `true` if both list the same operations. Principals with the same permissions share one list.
    pub fn lists_the_same(&self, other: &Self) -> bool {
        std::sync::Arc::ptr_eq(&self.catalog, &other.catalog)
    }

    /// Returns a value that a server makes from the listed operations, such as its list of tools. It is made once for
    /// all principals with the same permissions. Returns `None` if another type was kept before.
    pub fn kept_with_view<T: Send + Sync + 'static>(
        &self,
        make: impl FnOnce(&Self) -> T,
    ) -> Option<&T> {
        self.catalog.of_server.get_or_init(|| Box::new(make(self))).downcast_ref()
    }

    /// Adds a recorder to this adapter and its clones. Returns `false` if they already have one.
    pub fn add_recorder(&self, recorder: Arc<dyn Recorder>) -> bool {
        self.inner.pipeline.observers.recorder.set(recorder)
    }

    /// Returns the recorder, if one was added.
    pub fn recorder(&self) -> Option<&dyn Recorder> {
        self.inner.pipeline.observers.recorder.get()
    }

    /// Returns the tracer of calls.
    pub fn tracer(&self) -> Option<&dyn CallTracer> {
        self.inner.pipeline.observers.tracer().map(|tracer| &**tracer)
    }

    /// Sends the recorded spans and metrics of the tracer. Call it before the process may end.
    pub async fn flush_tracer(&self) {
        let Some(tracer) = self.inner.pipeline.observers.tracer().cloned() else { return };
        // Flush in another thread: flushing may block, and this thread may be needed to run the traced tasks.
        if let Err(error) = tokio::task::spawn_blocking(move || tracer.flush()).await {
            tracing::error!(%error, "cannot send the last spans and metrics");
        }
    }

    /// Returns the value of this type added by an extension.
    pub fn extension_value<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.inner.values.get()
    }

    /// Returns the `params` of a sample call of an operation, as JSON.
    pub fn sample(&self, operation: &str) -> Option<&str> {
        self.catalog.sample(operation)
    }

    /// Returns the description of an operation with one line per parameter, as in a list with `parameters: true`.
    pub fn description_with_parameters(&self, operation: &RegisteredOperation) -> String {
        let catalog = &self.catalog;
        introspection::description_with_parameters(operation, &catalog.registry, &catalog.shapes)
    }

    /// Returns the first paragraph of an operation's description.
    pub fn summary(&self, operation: &RegisteredOperation) -> String {
        introspection::summary(operation, &self.catalog.registry)
    }

    /// Returns the parameters of an operation in one line. Returns `None` if one line would hide the structure of a
    /// required parameter. A parameter shown without a type is a string.
    ///
    /// ```text
    /// title, priority? integer 1..5
    /// ```
    pub fn parameters_in_one_line(&self, operation: &RegisteredOperation) -> Option<String> {
        introspection::signature(operation, &self.catalog.shapes)
    }

    /// Returns the abbreviation for the query parameters of an operation in the strings above. Empty if it has none.
    pub fn query_parameters<'a>(&self, operation: &'a RegisteredOperation) -> &'a str {
        &operation.composites.description.brief.text
    }

    /// Returns the meanings of parameters shared by several operations, each once.
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
    /// Adds a query to `introspect`.
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
        crate::operation::further_query::publish(introspect, &catalog.introspection.further);
        let catalog = std::sync::Arc::clone(&inner.pipeline.catalog);
        Self { inner: std::sync::Arc::new(inner), catalog, ..self }
    }
}
