//! The interface between the transports and the tools that they serve. Implemented for the tools of adapters, and by
//! other servers of this workspace.

use std::future::{self, Future};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use mcp_aql_core::internal::observe::{CallTracer, logs_calls};
use mcp_aql_core::internal::operation::CallScope;
use mcp_aql_core::internal::request::Arguments;
use mcp_aql_core::internal::response::Reply;
use mcp_aql_core::transport::Extensions;
use mcp_aql_core::{BoxFuture, OperationError, Session};
use mcp_aql_protocol::{SemanticCategory, SizeLimits};
use serde_json::{Map, Value};

use super::drain::RunningCall;
use super::rpc_error::RpcError;
use super::task_source::TaskSource;
use super::wire::MalformedCall;

/// How long calls may run after the end of the input. This is long enough to answer piped requests, and short enough to
/// detect a client that crashed.
const END_OF_INPUT_TIMEOUT: Duration = Duration::from_millis(500);
/// How long a server waits for running calls when it stops.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);

/// The tools of an MCP server.
///
/// Implement this trait to serve tools over all transports. The transports decode messages, reject malformed ones, and
/// route calls to tools. The service runs the calls and formats the errors of its tools. You do not need this trait for
/// the operations of an adapter.
pub trait ToolService: Send + Sync + 'static {
    /// Returns the name, the version and the instructions of the server.
    fn description(&self) -> ServerDescription;

    /// Returns the tools in the order of `tools/list`. This method is called once, and calls refer to a tool by its
    /// index in the list.
    fn tools(&self) -> Vec<ToolDefinition>;

    /// Returns all scopes that callers may need.
    fn scopes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the scope required for a call with these arguments, if the caller lacks it. The request's extensions
    /// contain the caller.
    fn missing_scope(
        &self,
        _arguments: &Arguments<'_>,
        _extensions: &Extensions,
    ) -> Option<String> {
        None
    }

    /// Returns the tools visible to the caller of a request with these extensions. Returns `None` if the caller sees
    /// the same list as in [`tools`](Self::tools).
    fn tools_for(&self, _extensions: &Extensions) -> Option<Vec<ToolDefinition>> {
        None
    }

    /// Returns the limits on requests and replies.
    fn limits(&self) -> &SizeLimits;

    /// Returns the maximum length of a message, in bytes.
    fn max_message_bytes(&self) -> usize {
        longest_message(self.limits().max_request_size)
    }

    /// Returns `true` if results contain their reply as structured content, too.
    fn has_structured_content(&self) -> bool;

    /// Returns `true` if calls report progress. If not, HTTP requests without a session are answered with JSON instead
    /// of events.
    fn reports_progress(&self) -> bool {
        true
    }

    /// Returns how long calls may run after the end of a stream's input before they are canceled. Calls that change
    /// something then have [`drain_timeout`](Self::drain_timeout) to react.
    fn end_of_input_timeout(&self) -> Duration {
        END_OF_INPUT_TIMEOUT
    }

    /// Returns how long a stopping server waits for running calls.
    fn drain_timeout(&self) -> Duration {
        DRAIN_TIMEOUT
    }

    /// Returns the name and the category of the operation with this number. See [`ToolWork`].
    fn operation(&self, _number: usize) -> Option<(&'static str, SemanticCategory)> {
        None
    }

    /// Returns `true` if a call with these arguments only reads. Such a call is canceled when its client disconnects.
    fn is_read(&self, arguments: &Arguments<'_>) -> bool;

    /// Returns `true` if the client's user may have to confirm a call with these arguments.
    fn may_need_confirmation(&self, _arguments: &Arguments<'_>) -> bool {
        false
    }

    /// Returns the source of executions if calls of the tools can start some. Clients may follow them as MCP tasks.
    fn tasks(&self) -> Option<&dyn TaskSource> {
        None
    }

    /// Reads a call of the tool with this index. The returned future runs the call. `meta` is the request's `_meta`.
    fn call(
        &self,
        tool: usize,
        arguments: Arguments<'_>,
        meta: &Map<String, Value>,
        scope: CallScope,
    ) -> ToolWork;

    /// Returns the answer to a call rejected before it reached its tool.
    fn refuse(&self, error: OperationError, scope: &CallScope) -> ToolAnswer;

    /// Returns the answer to send instead of a reply that cannot be sent.
    fn replace_answer(&self, error: OperationError, scope: &CallScope) -> ToolAnswer {
        self.refuse(error, scope)
    }

    /// Returns the error for a call of a tool that does not exist.
    fn unknown_tool(&self, name: &str) -> RpcError;

    /// Returns the error for a call with malformed parameters.
    fn malformed_call(&self, call: &MalformedCall) -> RpcError;

    /// Returns the tracer of the calls.
    fn tracer(&self) -> Option<&dyn CallTracer> {
        None
    }

    /// Returns `true` if calls are traced or logged. If not, the transports do not determine the origins of calls.
    fn records_origins(&self) -> bool {
        self.tracer().is_some() || logs_calls()
    }

    /// Called when a client opens a session.
    fn session_opened(&self, _session: &Session) {}

    /// Returns `true` if the store of the tools can be read and written.
    fn is_store_usable(&self) -> BoxFuture<'static, bool> {
        Box::pin(std::future::ready(true))
    }

    /// Returns `true` if the session has running work, other than calls, that would stop with the session.
    fn has_work_of(&self, _session: &Session) -> bool {
        false
    }

    /// Called when the server starts.
    fn begin(&self) {}

    /// Waits for background work, such as executions started by calls.
    fn background_work(&self) -> BoxFuture<'_, ()> {
        Box::pin(future::ready(()))
    }

    /// Logs unfinished background work when the server stops waiting for it.
    fn log_cut_off(&self) {}

    /// Stops the background work of ended sessions.
    fn end_sessions(&self) -> BoxFuture<'_, ()> {
        Box::pin(future::ready(()))
    }

    /// Stops the background work of ended sessions, like [`end_sessions`](Self::end_sessions), and of calls without a
    /// session.
    fn end_all(&self) -> BoxFuture<'_, ()> {
        Box::pin(future::ready(()))
    }
}

/// The reply to a call, or a JSON-RPC error.
pub type ToolAnswer = Result<Reply, RpcError>;

/// The description of a server in `initialize` and `server/discover`.
#[derive(Debug)]
pub struct ServerDescription {
    /// The server's name.
    pub name: String,
    /// The server's own version.
    pub version: String,
    /// The introduction to the tools, for models.
    pub instructions: String,
}

/// A tool as listed to clients.
#[derive(Debug, Clone)]
pub struct ToolDefinition {
    /// The tool's name.
    pub name: String,
    /// The display name of the tool.
    pub title: Option<String>,
    /// The description for models.
    pub description: String,
    /// The JSON Schema of the arguments.
    pub input_schema: Map<String, Value>,
    /// The JSON Schema of the structured content.
    pub output_schema: Option<Map<String, Value>>,
    /// The annotations of the tool.
    pub hints: ToolHints,
    /// The members of `_meta`. Clients ignore those they do not know.
    pub meta: Option<Map<String, Value>>,
}

/// MCP's annotations of a tool. Unset annotations are omitted.
#[derive(Debug, Default, Clone, Copy)]
pub struct ToolHints {
    /// `readOnlyHint`.
    pub read_only: Option<bool>,
    /// `destructiveHint`.
    pub destructive: Option<bool>,
    /// `idempotentHint`.
    pub idempotent: Option<bool>,
    /// `openWorldHint`.
    pub open_world: Option<bool>,
}

/// The future of a call. It converts a panic into an error, because the client would otherwise wait forever.
pub struct ToolWork {
    /// The number of the operation, if the call has exactly one operation and it is known.
    pub(super) operation: Option<usize>,
    answer: FutureAnswer,
    /// Ends together with the answer.
    running: Option<RunningCall>,
}

enum FutureAnswer {
    Reply(BoxFuture<'static, Reply>),
    Answer(BoxFuture<'static, ToolAnswer>),
}

impl ToolWork {
    /// Creates the work of a call that always has a reply, never a JSON-RPC error.
    pub(super) fn replying(operation: Option<usize>, reply: BoxFuture<'static, Reply>) -> Self {
        Self { operation, answer: FutureAnswer::Reply(reply), running: None }
    }

    /// Marks the work as a running call of the server until it has an answer.
    pub(super) fn counted(self, running: RunningCall) -> Self {
        Self { running: Some(running), ..self }
    }
}

impl From<BoxFuture<'static, ToolAnswer>> for ToolWork {
    fn from(answer: BoxFuture<'static, ToolAnswer>) -> Self {
        Self { operation: None, answer: FutureAnswer::Answer(answer), running: None }
    }
}

impl Future for ToolWork {
    type Output = ToolAnswer;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<ToolAnswer> {
        let polled = catch_unwind(AssertUnwindSafe(|| match &mut self.answer {
            FutureAnswer::Reply(work) => work.as_mut().poll(context).map(Ok),
            FutureAnswer::Answer(work) => work.as_mut().poll(context),
        }));
        let answer = ready!(polled.unwrap_or_else(|_| Poll::Ready(Err(panicked()))));
        if let Some(running) = self.running.take() {
            running.end(answer.as_ref().map_or(true, |reply| reply.code.is_some()));
        }
        Poll::Ready(answer)
    }
}

/// Returns the error for a panic in the framework's own code. Panics of operations are caught earlier.
pub(super) fn panicked() -> RpcError {
    tracing::error!("a tool call panicked outside of its operation");
    RpcError::new(-32603, "Internal error")
}

/// Returns the maximum length of a message, in bytes.
fn longest_message(max_request_size: usize) -> usize {
    // A client may escape non-ASCII characters. This can triple the size of a message.
    max_request_size.saturating_mul(3).saturating_add(64 << 10)
}
