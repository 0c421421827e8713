use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use rmcp::model::{
    CallToolRequestMethod, CallToolRequestParams, CallToolResponse, CallToolResult,
    CompleteRequestMethod, CompleteRequestParams, CompleteResult, ConstString as _, ContentBlock,
    CustomRequest, CustomResult, ErrorCode, Implementation, InitializeRequestParams,
    InitializeResult, ListPromptsRequestMethod, ListPromptsResult,
    ListResourceTemplatesRequestMethod, ListResourceTemplatesResult, ListResourcesRequestMethod,
    ListResourcesResult, ListToolsResult, MetaObject, PaginatedRequestParams, ProgressToken,
    ProtocolVersion, RequestMetaObject, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::connection::Connection;
use super::describe::instructions;
use super::progress::{Notifier, progress};
use super::tools::ToolTable;
use super::wire::{
    BAD_CALL, Message, REPEATED_MEMBER, decode, fail_with, respond_with, tool_result,
};
use crate::adapter::{Adapter, erased};
use crate::error::OperationError;
use crate::operation::CallScope;
use crate::request::{Arguments, parse, read};
use crate::response::Reply;
use crate::router::Endpoint;

/// What all connections of an adapter share.
pub(super) struct Shared {
    adapter: Adapter,
    tools: ToolTable,
    config: ServerConfig,
}

impl Shared {
    pub(super) fn new(adapter: &Adapter) -> Arc<Self> {
        let config = ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new(adapter.name(), adapter.version()))
            .with_instructions(instructions(adapter));
        Arc::new(Self { adapter: adapter.clone(), tools: ToolTable::new(adapter), config })
    }
}

/// The adapter as an MCP server, for one connection or one stateless request.
///
/// It offers tools and nothing else, so prompts, resources and completions are answered with
/// "method not found", as MCP has it for what a server does not declare; rmcp on its own would
/// answer with empty lists.
pub(super) struct Server {
    shared: Arc<Shared>,
    connection: Arc<Connection>,
}

impl Server {
    pub(super) fn new(shared: Arc<Shared>, connection: Arc<Connection>) -> Self {
        Self { shared, connection }
    }

    /// The reply to a call that could not be read.
    pub(super) fn refuse(&self, error: OperationError) -> Reply {
        let scope = CallScope { session: self.connection.session(), ..CallScope::default() };
        self.adapter().refuse(error, &scope)
    }

    /// What the tool table says of a tool's name.
    pub(super) fn tools(&self) -> &ToolTable {
        &self.shared.tools
    }

    /// Whether the client may send several messages in one.
    pub(super) fn takes_batches(&self) -> bool {
        self.connection.takes_batches()
    }

    pub(super) fn adapter(&self) -> &Adapter {
        &self.shared.adapter
    }

    /// The token that ends one call: with its session, or before.
    pub(super) fn cancellation(&self) -> CancellationToken {
        match self.connection.session() {
            Some(session) => session.ended_token().child_token(),
            None => CancellationToken::new(),
        }
    }

    /// Runs a tool call to its reply; its progress goes out on the way. Arguments that could not be
    /// read are answered as a failure.
    pub(super) async fn reply(
        &self,
        endpoint: Endpoint,
        arguments: Result<Arguments, OperationError>,
        meta: &RequestMetaObject,
        notifier: Notifier,
        cancellation: CancellationToken,
    ) -> Reply {
        let arguments = match arguments {
            Ok(arguments) => arguments,
            Err(error) => return self.refuse(error),
        };
        let Some(token) = progress_token(meta, &arguments.members) else {
            return self.reply_at_once(endpoint, arguments, meta, cancellation).await;
        };
        let scope = self.scope(meta, &arguments.members, cancellation);
        // Apart, so that the future of a call that nobody asks about stays small.
        erased(self.reply_with_progress(endpoint, arguments, scope, notifier, token)).await
    }

    /// As [`reply`](Self::reply), for a call whose progress nobody asks about.
    pub(super) async fn reply_at_once(
        &self,
        endpoint: Endpoint,
        arguments: Arguments,
        meta: &RequestMetaObject,
        cancellation: CancellationToken,
    ) -> Reply {
        let scope = self.scope(meta, &arguments.members, cancellation);
        self.adapter().handle_arguments(endpoint, arguments, scope).await
    }

    fn scope(
        &self,
        meta: &RequestMetaObject,
        arguments: &Map<String, Value>,
        cancellation: CancellationToken,
    ) -> CallScope {
        let session = self.connection.session();
        let label = label(meta, arguments);
        CallScope { session, cancellation: Some(cancellation), label, progress: None }
    }

    async fn reply_with_progress(
        &self,
        endpoint: Endpoint,
        arguments: Arguments,
        mut scope: CallScope,
        notifier: Notifier,
        token: ProgressToken,
    ) -> Reply {
        let (sink, pump) = progress(notifier, token);
        scope.progress = Some(Arc::new(sink));
        let done = CancellationToken::new();
        let work = async {
            let reply = self.adapter().handle_arguments(endpoint, arguments, scope).await;
            done.cancel();
            reply
        };
        let (reply, ()) = tokio::join!(work, pump.run(&done));
        reply
    }

    async fn answer(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let Some(endpoint) = self.tools().endpoint(&request.name) else {
            return Err(ErrorData::invalid_params(self.tools().unknown(&request.name), None));
        };
        let arguments = match Sent::of(context) {
            Some(message) => match decode(&message) {
                Message::Call(call) if read_meta(call.meta).is_none() => {
                    return Err(ErrorData::invalid_params(REPEATED_MEMBER, None));
                }
                Message::Call(call) => match call.arguments {
                    Some(json) => parse(json.as_bytes(), self.adapter().limits()),
                    None => Ok(Arguments::default()),
                },
                // rmcp accepts a message that repeats a member.
                _ => return Err(ErrorData::invalid_params(REPEATED_MEMBER, None)),
            },
            None => Ok(request.arguments.unwrap_or_default().into()),
        };
        let cancellation = self.cancellation();
        let notifier = Notifier::Peer(context.peer.clone());
        let work = self.reply(endpoint, arguments, &context.meta, notifier, cancellation.clone());
        let reply = tokio::select! {
            biased;
            reply = work => reply,
            never = pass_on(&context.ct, &cancellation) => match never {},
        };
        let structured =
            if self.structured() { serde_json::from_str(&reply.text).ok() } else { None };
        // REQ-MCP-09, REQ-MCP-10: one text, and `isError` only for what no other call can mend.
        let failed = reply.is_error();
        let mut result = CallToolResult::success(vec![ContentBlock::text(reply.text)]);
        result.is_error = Some(failed);
        result.structured_content = structured;
        Ok(result)
    }

    /// Writes a reply as a tool's result, where rmcp does not.
    pub(super) fn write_result(&self, line: &mut Vec<u8>, reply: &Reply, modern: bool) {
        tool_result(line, reply, modern, self.structured());
    }

    /// Writes the message that answers a call, unless [`caught`] has caught something.
    pub(super) fn write_answer(
        &self,
        message: &mut Vec<u8>,
        id: &str,
        reply: Option<Reply>,
        modern: bool,
    ) {
        match reply {
            Some(reply) => respond_with(message, id, |message| {
                self.write_result(message, &reply, modern);
            }),
            None => fail_with(message, Some(id), -32603, "Internal error"),
        }
    }

    /// Whether results carry structured content.
    fn structured(&self) -> bool {
        self.adapter().inner.settings.structured_content
    }
}

/// A message as its client sent it, beside what rmcp made of it: a map does not show which members a
/// request repeats, and which digits of a number are gone.
#[derive(Debug, Clone)]
pub(super) enum Sent {
    /// A line, or a message of a batch.
    Line(Arc<[u8]>),
    /// The body of an HTTP request, as far as it was read.
    #[cfg(feature = "http")]
    Body(Arc<std::sync::Mutex<super::body::Seen>>),
}

impl Sent {
    fn of(context: &RequestContext<RoleServer>) -> Option<Vec<u8>> {
        let sent = context.extensions.get::<Self>();
        #[cfg(feature = "http")]
        let sent = sent.or_else(|| {
            context.extensions.get::<axum::http::request::Parts>()?.extensions.get::<Self>()
        });
        Some(match sent? {
            Self::Line(line) => line.to_vec(),
            // The bytes are not needed again, and an operation may take its time: they must not count as
            // those of a request that is being received meanwhile.
            #[cfg(feature = "http")]
            Self::Body(seen) => std::mem::take(&mut *crate::sync::lock(seen)).read(),
        })
    }
}

/// Answers a call, or nothing if that panics. A handler that panics would never answer, and the client
/// would wait for ever. Panics of operations are caught further inside; this is for our own.
pub(super) async fn caught<T>(work: impl Future<Output = T>) -> Option<T> {
    let answer = AssertUnwindSafe(work).catch_unwind().await.ok();
    if answer.is_none() {
        tracing::error!("a tool call panicked outside of its operation");
    }
    answer
}

/// A request's `_meta`, if it has MCP's form.
pub(super) fn read_meta(json: Option<&RawValue>) -> Option<RequestMetaObject> {
    let Some(json) = json else { return Some(RequestMetaObject::default()) };
    let Arguments { members, losses } = read(json.get()).ok()?.ok()?;
    losses.is_empty().then_some(RequestMetaObject(MetaObject(members)))
}

/// Whether a request says of itself all that MCP 2026-07-28 has it say.
pub(super) fn is_newest(meta: &RequestMetaObject) -> bool {
    let newest = ProtocolVersion::V_2026_07_28;
    meta.protocol_version().is_some_and(|version| version == newest)
        && meta.missing_required_keys(&newest).is_empty()
}

/// Cancels the call when the client cancels the request.
async fn pass_on(request: &CancellationToken, call: &CancellationToken) -> Infallible {
    request.cancelled().await;
    call.cancel();
    std::future::pending().await
}

/// The token of the request's `_meta`, or else of the arguments' (REQ-MCP-14, choice C-63).
pub(super) fn progress_token(
    meta: &RequestMetaObject,
    arguments: &Map<String, Value>,
) -> Option<ProgressToken> {
    meta.get_progress_token().or_else(|| {
        let token = arguments.get("_meta")?.get("progressToken")?;
        serde_json::from_value(token.clone()).ok()
    })
}

/// What the client calls this request: `requestId` in the `_meta` of the request or of the
/// arguments, or `_request_id` beside `operation`. For the log alone (REQ-SES-05).
fn label(meta: &RequestMetaObject, arguments: &Map<String, Value>) -> Option<String> {
    let inner = arguments.get("_meta");
    let value = meta
        .get("requestId")
        .or_else(|| inner.and_then(|meta| meta.get("requestId")))
        .or_else(|| arguments.get("_request_id"))?;
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    Some(text.chars().filter(|each| !each.is_control()).take(64).collect())
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        self.shared.config.clone()
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        self.connection.initialized();
        context.peer.set_peer_info(request.clone());
        let result = self.negotiate_initialize(&request)?;
        // Only this version has batches.
        self.connection.negotiated(result.protocol_version == ProtocolVersion::V_2025_03_26);
        Ok(result)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.shared.tools.tools.clone()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.shared.tools.get(name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        match caught(erased(self.answer(request, &context))).await {
            Some(answer) => answer.map(Into::into),
            None => Err(ErrorData::internal_error("Internal error", None)),
        }
    }

    /// A call whose parameters do not have MCP's form arrives here, since rmcp takes it for a method
    /// that it does not know (REQ-MCP-12, choice C-12).
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method == CallToolRequestMethod::VALUE {
            return Err(ErrorData::invalid_params(BAD_CALL, None));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None))
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourcesRequestMethod>())
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourceTemplatesRequestMethod>())
    }

    async fn complete(
        &self,
        _request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(ErrorData::method_not_found::<CompleteRequestMethod>())
    }
}
