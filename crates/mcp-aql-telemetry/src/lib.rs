//! OpenTelemetry for adapters: a span for each call and each execution, and metrics of calls, confirmations and
//! executions.
//!
//! As the author of an adapter, enable the feature `opentelemetry` of the crate `mcp-aql` instead of depending on this
//! crate.
//!
//! Spans and metrics follow the semantic conventions for MCP and generative AI. They never contain argument values,
//! results, tokens, error messages, or the identity of the caller.

mod attributes;
mod collector_client;
mod instruments;
mod layer;
mod parent;
mod setup;
mod tracer;

use std::sync::Arc;

use mcp_aql_core::AdapterBuilder;

pub use layer::{TraceIds, trace_ids, trace_layer};
use setup::Providers;
use tracer::OpenTelemetryTracer;

/// Sends spans and metrics of the calls of an adapter to OpenTelemetry.
pub trait WithOpenTelemetry: Sized {
    /// Sends spans and metrics to the global providers of your program. Without providers, it has no effect.
    ///
    /// Your program must set the providers before the first call, and shut them down before it exits.
    ///
    /// ```
    /// use mcp_aql::prelude::*;
    ///
    /// # fn main() -> mcp_aql::Result<()> {
    /// let adapter = Adapter::builder("tasks").opentelemetry().build()?;
    /// # let _ = adapter;
    /// # Ok(()) }
    /// ```
    #[must_use]
    fn opentelemetry(self) -> Self;

    /// Sets up global providers from the environment, and sends spans and metrics to them.
    ///
    /// The providers export to the collector in `OTEL_EXPORTER_OTLP_ENDPOINT`. If no endpoint is set, nothing is
    /// recorded or exported. The service is named after the adapter, unless the environment sets another name.
    ///
    /// Recorded data is sent when the adapter stops serving, when a command ends, in
    /// [`end_sessions`](mcp_aql_core::Adapter::end_sessions), and when the adapter is dropped.
    ///
    /// [`build`](AdapterBuilder::build) returns an error if a variable has an unsupported value.
    ///
    /// ```no_run
    /// use mcp_aql::prelude::*;
    ///
    /// # async fn run() -> mcp_aql::Result<()> {
    /// Adapter::builder("tasks").opentelemetry_from_env().build().run().await
    /// # }
    /// ```
    #[must_use]
    fn opentelemetry_from_env(self) -> Self;
}

impl WithOpenTelemetry for AdapterBuilder {
    fn opentelemetry(self) -> Self {
        self.tracer(Arc::new(OpenTelemetryTracer::new(None)))
    }

    fn opentelemetry_from_env(self) -> Self {
        match Providers::from_env(self.name()) {
            Ok(Some(providers)) => self.tracer(Arc::new(OpenTelemetryTracer::new(Some(providers)))),
            Ok(None) => self,
            Err(problem) => self.problem(problem),
        }
    }
}
