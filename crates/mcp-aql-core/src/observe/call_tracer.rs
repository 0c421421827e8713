//! The extension point for tracing: a span for each call and each execution.

use mcp_aql_protocol::SemanticCategory;

use crate::caller::call_origin::ActiveSpan;
use crate::observe::call_event::CallEvent;
use crate::operation::CallScope;

/// Opens a span for each call and each execution of an adapter. An adapter without a tracer pays nothing for it.
pub trait CallTracer: Send + Sync + 'static {
    /// Returns the span that is active in this thread, as a parent for spans that other tasks open.
    fn active(&self) -> Option<ActiveSpan>;

    /// Opens the span of a call or of an execution.
    fn begin(&self, start: &CallStart<'_>) -> Box<dyn CallSpan>;

    /// Sends what was recorded. Called when the adapter has stopped serving, since the process may end then. It may
    /// block the thread for a bounded time.
    fn flush(&self) {}
}

/// The open span of a call or of an execution. It is dropped after its end.
pub trait CallSpan: Send + Sync {
    /// Calls `poll` while the span is active in this thread.
    fn enter(&self, poll: &mut dyn FnMut());

    /// Closes the span.
    fn end(&self, event: &CallEvent<'_>);
}

/// A call or an execution that begins.
#[derive(Debug)]
#[non_exhaustive]
pub struct CallStart<'a> {
    /// The name of the operation. `None` for a request that could not be read, and for an unknown operation, whose
    /// name is the caller's text.
    pub operation: Option<&'static str>,
    /// The category of the operation.
    pub category: Option<SemanticCategory>,
    /// The id of the execution; `None` for a call.
    pub execution_id: Option<&'a str>,
    /// The span of the call that began the execution.
    pub parent: Option<&'a ActiveSpan>,
    /// The caller and its request.
    pub scope: &'a CallScope,
}
