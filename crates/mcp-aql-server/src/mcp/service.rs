//! The interface between the transports and the tools that they serve. Implemented for the tools of adapters, and by
//! other servers of this workspace.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::FutureExt as _;
use mcp_aql_core::internal::execution::EndScope;
use mcp_aql_core::internal::observe::logs_calls;
use mcp_aql_core::internal::operation::CallScope;
use mcp_aql_core::internal::request::Arguments;
use mcp_aql_core::internal::response::Reply;
use mcp_aql_core::transport::Extensions;
use mcp_aql_core::{Adapter, BoxFuture, OperationError};
use mcp_aql_protocol::{SemanticCategory, SizeLimits};
use serde_json::{Map, Value};

use super::answer::RpcError;
use super::drain::RunningCall;
use super::malformed_call::MalformedCall;
use super::task_source::TaskSource;

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
    /// Describes the server. This method is called once.
    fn settings(&self) -> ServerSettings;

    /// Returns the tools in the order of `tools/list`. This method is called once, and calls refer to a tool by its
    /// index in the list.
    fn tools(&self) -> Vec<ToolDefinition>;

    /// Returns the tools visible to the caller of a request with these extensions. Returns `None` if the caller sees
    /// the same list as in [`tools`](Self::tools).
    fn tools_for(&self, _extensions: &Extensions) -> Option<Vec<ToolDefinition>> {
        None
    }

    /// Returns the adapter that the tools belong to, if there is one. Its store, tracer and executions then follow the
    /// life cycle of the server.
    fn adapter(&self) -> Option<&Adapter> {
        None
    }

    /// Returns what a transport has to know about a call with these arguments before it runs. The request's extensions
    /// contain the caller.
    fn properties(&self, arguments: &Arguments<'_>, extensions: &Extensions) -> CallProperties;

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
}

impl dyn ToolService + '_ {
    /// Returns the source of MCP tasks if calls of the tools can start executions.
    pub(crate) fn tasks(&self) -> Option<TaskSource<'_>> {
        self.adapter().and_then(TaskSource::of)
    }

    /// Returns `true` if calls are traced or logged. If not, the transports do not determine the origins of calls.
    pub(crate) fn records_origins(&self) -> bool {
        self.adapter().is_some_and(|adapter| adapter.tracer().is_some()) || logs_calls()
    }

    /// Begins the adapter's background work when the server starts.
    pub(crate) fn begin(&self) {
        if let Some(adapter) = self.adapter() {
            adapter.begin_to_serve();
        }
    }

    /// Stops the background work of ended sessions, and with [`EndScope::EndedAndSessionless`] also that of calls
    /// without a session.
    pub(crate) async fn end(&self, scope: EndScope) {
        if let Some(adapter) = self.adapter() {
            adapter.end_executions_of(scope).await;
        }
    }
}

/// The description and the settings of a server.
#[derive(Debug)]
pub struct ServerSettings {
    /// The server's name.
    pub name: String,
    /// The server's own version.
    pub version: String,
    /// The introduction to the tools, for models.
    pub instructions: String,
    /// All scopes that callers may need.
    pub scopes: Vec<String>,
    /// The limits on requests and replies.
    pub limits: SizeLimits,
    /// Maximum length of a message, in bytes.
    pub max_message_bytes: usize,
    /// If `true`, results contain their reply as structured content, too.
    pub has_structured_content: bool,
    /// If `true`, calls report progress. If not, HTTP requests without a session are answered with JSON instead of
    /// events.
    pub reports_progress: bool,
    /// How long calls may run after the end of a stream's input before they are canceled. Calls that change something
    /// then have [`drain_timeout`](Self::drain_timeout) to react.
    pub end_of_input_timeout: Duration,
    /// How long a stopping server waits for running calls.
    pub drain_timeout: Duration,
}

impl ServerSettings {
    /// Creates the settings of a server with these limits, and defaults for everything else.
    pub fn new(name: &str, version: &str, instructions: String, limits: SizeLimits) -> Self {
        Self {
            name: name.to_owned(),
            version: version.to_owned(),
            instructions,
            scopes: Vec::new(),
            limits,
            // A client may escape non-ASCII characters. This can triple the size of a message.
            max_message_bytes: limits.max_request_size.saturating_mul(3).saturating_add(64 << 10),
            has_structured_content: false,
            reports_progress: true,
            end_of_input_timeout: END_OF_INPUT_TIMEOUT,
            drain_timeout: DRAIN_TIMEOUT,
        }
    }
}

/// What a transport has to know about a call before it runs.
#[derive(Debug, Default)]
pub struct CallProperties {
    /// If `true`, the call only reads. Such a call is canceled when its client disconnects.
    pub is_read: bool,
    /// If `true`, the client's user may have to confirm the call.
    pub may_need_confirmation: bool,
    /// The scope required for the call, if the caller lacks it.
    pub missing_scope: Option<String>,
}

/// The reply to a call, or a JSON-RPC error.
pub type ToolAnswer = Result<Reply, RpcError>;

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
    /// The operation, if the call has exactly one operation and it is known.
    pub(crate) operation: Option<CalledOperation>,
    answer: FutureAnswer,
    /// Ends together with the answer.
    running: Option<RunningCall>,
}

/// The operation of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CalledOperation {
    /// Index of the operation among those of the service.
    pub(crate) index: usize,
    pub(crate) name: &'static str,
    pub(crate) category: SemanticCategory,
}

enum FutureAnswer {
    Reply(BoxFuture<'static, Reply>),
    Answer(BoxFuture<'static, ToolAnswer>),
}

impl ToolWork {
    /// Creates the work of a call that always has a reply, never a JSON-RPC error.
    pub(crate) fn replying(
        operation: Option<CalledOperation>,
        reply: BoxFuture<'static, Reply>,
    ) -> Self {
        Self { operation, answer: FutureAnswer::Reply(reply), running: None }
    }

    /// Marks the work as a running call of the server until it has an answer.
    pub(crate) fn counted(self, running: RunningCall) -> Self {
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
        let polled = caught(|| match &mut self.answer {
            FutureAnswer::Reply(work) => work.as_mut().poll(context).map(Ok),
            FutureAnswer::Answer(work) => work.as_mut().poll(context),
        });
        let answer = ready!(polled.unwrap_or_else(|error| Poll::Ready(Err(error))));
        if let Some(running) = self.running.take() {
            running.end(answer.as_ref().map_or(true, |reply| reply.code.is_some()));
        }
        Poll::Ready(answer)
    }
}

/// Runs a part of a call. Converts a panic into an error.
pub(crate) fn caught<T>(part: impl FnOnce() -> T) -> Result<T, RpcError> {
    catch_unwind(AssertUnwindSafe(part)).map_err(|_| panicked())
}

/// Awaits an answer. Converts a panic of a store or a gate into an error, because the client would otherwise wait
/// forever.
pub(crate) async fn catch_panic<T>(
    answer: impl Future<Output = Result<T, RpcError>>,
) -> Result<T, RpcError> {
    AssertUnwindSafe(answer).catch_unwind().await.unwrap_or_else(|_| Err(panicked()))
}

/// Returns the error for a panic in the framework's own code. Panics of operations are caught earlier.
fn panicked() -> RpcError {
    tracing::error!("a tool call panicked outside of its operation");
    RpcError::new(-32603, "Internal error")
}
