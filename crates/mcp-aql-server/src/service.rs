//! The trait between the transports and the tools that they serve: those of an adapter, or of
//! another server of this workspace.

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

/// How long calls may run after the end of the input. Enough for the answers to requests that were
/// piped in, and short enough to detect a client that died.
const END_OF_INPUT_TIMEOUT: Duration = Duration::from_millis(500);
/// How long a server waits for running calls when it stops.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);

/// The tools of an MCP server.
///
/// The transports decode messages, reject malformed ones, and route calls. The service runs the
/// calls, and writes the errors that belong to its tools.
pub trait ToolService: Send + Sync + 'static {
    /// Returns the name, the version and the instructions of the server.
    fn description(&self) -> ServerDescription;

    /// Returns the tools in the order of `tools/list`. Calls refer to a tool by its index in this
    /// list, which is read once.
    fn tools(&self) -> Vec<ToolDefinition>;

    /// Returns all scopes that callers may need.
    fn scopes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the scope that the caller of a request with these extensions lacks for a call with these arguments.
    fn missing_scope(
        &self,
        _arguments: &Arguments<'_>,
        _extensions: &Extensions,
    ) -> Option<String> {
        None
    }

    /// Returns the tools for the caller of a request with these extensions, if they differ from
    /// [`tools`](Self::tools): a caller only sees what it may call.
    fn tools_for(&self, _extensions: &Extensions) -> Option<Vec<ToolDefinition>> {
        None
    }

    /// Returns the limits on requests and replies.
    fn limits(&self) -> &SizeLimits;

    /// Returns the maximum length of a message, in bytes.
    fn max_message_bytes(&self) -> usize {
        longest_message(self.limits().max_request_size)
    }

    /// Returns whether results also carry their text as structured content.
    fn has_structured_content(&self) -> bool;

    /// Returns whether calls report progress. Without it, HTTP requests outside of sessions are
    /// answered with JSON instead of events.
    fn reports_progress(&self) -> bool {
        true
    }

    /// Returns how long calls may run after the end of a stream's input before they are cancelled. Changes
    /// then have [`drain_timeout`](Self::drain_timeout) to react.
    fn end_of_input_timeout(&self) -> Duration {
        END_OF_INPUT_TIMEOUT
    }

    /// Returns how long a server waits for running calls when it stops.
    fn drain_timeout(&self) -> Duration {
        DRAIN_TIMEOUT
    }

    /// Returns the name and the category of the operation with this number, see [`ToolWork`].
    fn operation(&self, _number: usize) -> Option<(&'static str, SemanticCategory)> {
        None
    }

    /// Returns whether a call with these arguments only reads, so that it is cancelled when its
    /// client is gone.
    fn is_read(&self, arguments: &Arguments<'_>) -> bool;

    /// Returns whether a call with these arguments may have to be confirmed by the client's user.
    fn may_need_confirmation(&self, _arguments: &Arguments<'_>) -> bool {
        false
    }

    /// Returns the executions that calls of the tools start, if any do. Clients may follow them as tasks of MCP.
    fn tasks(&self) -> Option<&dyn TaskSource> {
        None
    }

    /// Reads a call of the tool with this index. The returned future runs it. `meta` is the request's
    /// `_meta`.
    fn call(
        &self,
        tool: usize,
        arguments: Arguments<'_>,
        meta: &Map<String, Value>,
        scope: CallScope,
    ) -> ToolWork;

    /// Returns the answer to a call that is rejected before it reaches its tool.
    fn refuse(&self, error: OperationError, scope: &CallScope) -> ToolAnswer;

    /// Returns the answer in place of the one of a call, which cannot be sent.
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

    /// Returns whether calls are traced or logged. Otherwise, the transports do not look for their origins.
    fn records_origins(&self) -> bool {
        self.tracer().is_some() || logs_calls()
    }

    /// Called when a client opens a session.
    fn session_opened(&self, _session: &Session) {}

    /// Returns whether the store of the tools can be read and written.
    fn is_store_usable(&self) -> BoxFuture<'static, bool> {
        Box::pin(std::future::ready(true))
    }

    /// Returns whether work of the session runs that its end would stop, besides calls.
    fn has_work_of(&self, _session: &Session) -> bool {
        false
    }

    /// Called when the server starts.
    fn begin(&self) {}

    /// Waits until the work has ended that calls have started and that outlives them.
    fn background_work(&self) -> BoxFuture<'_, ()> {
        Box::pin(future::ready(()))
    }

    /// Logs this work, because the server no longer waits for it.
    fn log_cut_off(&self) {}

    /// Ends the work of the sessions that have ended.
    fn end_sessions(&self) -> BoxFuture<'_, ()> {
        Box::pin(future::ready(()))
    }

    /// Ends the work of ended sessions, like [`end_sessions`](Self::end_sessions), and work without
    /// a session.
    fn end_all(&self) -> BoxFuture<'_, ()> {
        Box::pin(future::ready(()))
    }
}

/// The result of a call, or JSON-RPC's error.
pub type ToolAnswer = Result<Reply, RpcError>;

/// The server's description for clients.
#[derive(Debug)]
pub struct ServerDescription {
    /// The server's name.
    pub name: String,
    /// The server's own version.
    pub version: String,
    /// The text that introduces the tools to a model.
    pub instructions: String,
}

/// A tool as listed to clients.
#[derive(Debug, Clone)]
pub struct ToolDefinition {
    /// The tool's name.
    pub name: String,
    /// The display name.
    pub title: Option<String>,
    /// The text for models.
    pub description: String,
    /// The JSON Schema of the arguments.
    pub input_schema: Map<String, Value>,
    /// The JSON Schema of the structured content.
    pub output_schema: Option<Map<String, Value>>,
    /// The annotations.
    pub hints: ToolHints,
    /// The members of `_meta`, which clients read that know them.
    pub meta: Option<Map<String, Value>>,
}

/// MCP's annotations of a tool. Unset ones are omitted.
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

/// The work of a call. A panic becomes an error, since the client would otherwise wait indefinitely.
pub struct ToolWork {
    /// The number of the operation, if this is one call of a known one.
    pub(super) operation: Option<usize>,
    answer: FutureAnswer,
    /// Ends with the answer.
    running: Option<RunningCall>,
}

enum FutureAnswer {
    Reply(BoxFuture<'static, Reply>),
    Answer(BoxFuture<'static, ToolAnswer>),
}

impl ToolWork {
    /// The work of a call that always has a reply.
    pub(super) fn replying(operation: Option<usize>, reply: BoxFuture<'static, Reply>) -> Self {
        Self { operation, answer: FutureAnswer::Reply(reply), running: None }
    }

    /// The same work as a call that a server counts as running until it has an answer.
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

/// The error for a panic of the framework's own code. Panics of operations are caught earlier.
pub(super) fn panicked() -> RpcError {
    tracing::error!("a tool call panicked outside of its operation");
    RpcError::new(-32603, "Internal error")
}

/// The maximum length of a message in bytes.
fn longest_message(max_request_size: usize) -> usize {
    // A client may escape each non-ASCII character, which triples its size.
    max_request_size.saturating_mul(3).saturating_add(64 << 10)
}
