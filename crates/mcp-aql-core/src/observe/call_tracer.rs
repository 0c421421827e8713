//! The extension point for tracing: a span for each call and each execution.

use mcp_aql_protocol::SemanticCategory;

use crate::caller::call_origin::ActiveSpan;
use crate::observe::call_event::CallEvent;
use crate::operation::CallScope;

/// Opens a span for each call and each execution of an adapter. Without a tracer, calls have no additional cost.
pub trait CallTracer: Send + Sync + 'static {
    /// Returns the span active in this thread. It becomes the parent of spans opened in other tasks.
    fn active(&self) -> Option<ActiveSpan>;

    /// Opens the span of a call or an execution.
    fn begin(&self, start: &CallStart<'_>) -> Box<dyn CallSpan>;

    /// Sends everything recorded so far. Called when the adapter has stopped serving, because the process may end soon.
    /// Your implementation may block the thread for a bounded time.
    fn flush(&self) {}
}

/// The open span of a call or an execution.
pub trait CallSpan: Send + Sync {
    /// Calls `poll` while the span is active in this thread.
    fn enter(&self, poll: &mut dyn FnMut());

    /// Closes the span. Afterwards it is dropped.
    fn end(&self, event: &CallEvent<'_>);
}

/// Describes a call or an execution at its start.
#[derive(Debug)]
#[non_exhaustive]
pub struct CallStart<'a> {
    /// Name of the operation. `None` for a request that could not be parsed. Also `None` for an unknown operation,
    /// because that name comes from the caller.
    pub operation: Option<&'static str>,
    /// Category of the operation.
    pub category: Option<SemanticCategory>,
    /// Id of the execution. `None` for a call.
    pub execution_id: Option<&'a str>,
    /// Span of the call that started the execution.
    pub parent: Option<&'a ActiveSpan>,
    /// The caller and its request.
    pub scope: &'a CallScope,
}
