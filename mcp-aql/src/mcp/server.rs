//! A set of tools as an MCP server: calls on their way to a tool, and what rmcp answers.

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

use super::batch_room::{BatchRoom, FEWER};
use super::connection::Connection;
use super::progress::{Notifier, progress};
use super::service::{RpcError, ServerDescription, ToolAnswer, ToolArguments, ToolService};
use super::tools::ToolTable;
use super::wire::{
    Fault, MalformedCall, Message, REPEATED_MEMBER, decode, respond_with, tool_result, write_error,
};
use crate::error::OperationError;
use crate::future::erased;
use crate::operation::CallScope;
use crate::request::{Arguments, parse, read};
use mcp_aql_protocol::Limits;

/// The state that all connections of a server share.
pub(super) struct Shared {
    service: Arc<dyn ToolService>,
    tools: ToolTable,
    config: ServerConfig,
}

impl Shared {
    pub(super) fn new(service: Arc<dyn ToolService>) -> Arc<Self> {
        let ServerDescription { name, version, instructions } = service.description();
        let config = ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new(name, version))
            .with_instructions(instructions);
        let tools = ToolTable::new(service.tools());
        Arc::new(Self { service, tools, config })
    }
}

/// The tools as an MCP server, for one connection or one stateless request.
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

    /// The answer to a call that could not be read.
    fn refuse(&self, error: OperationError) -> ToolAnswer {
        let scope = CallScope { session: self.connection.session(), ..CallScope::default() };
        self.service().refuse(error, &scope)
    }

    /// The answer to a message that could not be read.
    pub(super) fn refuse_message(&self, fault: Fault) -> ToolAnswer {
        match fault {
            Fault::Call(error) => self.refuse(error),
            Fault::Parameters(call) => Err(self.service().malformed_call(&call)),
            fault => {
                let (code, message) = fault.code();
                Err(RpcError::new(code, message))
            }
        }
    }

    /// What the tool table says of a tool's name.
    pub(super) fn tools(&self) -> &ToolTable {
        &self.shared.tools
    }

    /// Whether the client may send several messages in one.
    pub(super) fn takes_batches(&self) -> bool {
        self.connection.takes_batches()
    }

    pub(super) fn service(&self) -> &dyn ToolService {
        &*self.shared.service
    }

    pub(super) fn limits(&self) -> &Limits {
        self.service().limits()
    }

    /// Room for the replies to a batch, which is that for one reply.
    pub(super) fn batch_room(&self) -> BatchRoom {
        BatchRoom::new(self.limits().max_response_size)
    }

    /// Runs a call. One that is part of a batch does not begin once the batch has no room, and its answer is
    /// replaced by an error if it has no room in the batch.
    pub(super) async fn within(
        &self,
        room: Option<&BatchRoom>,
        call: impl Future<Output = ToolAnswer>,
    ) -> ToolAnswer {
        let Some(room) = room else { return call.await };
        if room.is_full() {
            return self.refuse(room.error(0).with_detail("operation_ran", false));
        }
        match call.await {
            Ok(reply) if !room.reserve(reply.text.len()) => {
                let error = room.error(reply.text.len());
                // A failure does not say whether the operation ran.
                self.refuse(match reply.code {
                    None => error.with_detail("operation_ran", true),
                    Some(_) => error,
                })
            }
            answer => answer,
        }
    }

    /// The answer to `tools/list`, as JSON, for a client of MCP 2026-07-28 or of one before.
    pub(super) fn listed(&self, modern: bool, room: Option<&BatchRoom>) -> Result<&str, RpcError> {
        let text = self.tools().listed(modern);
        match room {
            Some(room) if !room.reserve(text.len()) => Err(no_room()),
            _ => Ok(text),
        }
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
        tool: usize,
        arguments: Result<Arguments, OperationError>,
        meta: &RequestMetaObject,
        notifier: Notifier,
        cancellation: CancellationToken,
    ) -> ToolAnswer {
        let arguments = match arguments {
            Ok(arguments) => arguments,
            Err(error) => return self.refuse(error),
        };
        let Some(token) = progress_token(meta, &arguments.members) else {
            return self.reply_at_once(tool, arguments, meta, cancellation).await;
        };
        let scope = self.scope(meta, &arguments.members, cancellation);
        // Apart, so that the future of a call that nobody asks about stays small.
        erased(self.reply_with_progress(tool, arguments, (meta, scope), notifier, token)).await
    }

    /// As [`reply`](Self::reply), for a call whose progress nobody asks about.
    pub(super) async fn reply_at_once(
        &self,
        tool: usize,
        arguments: Arguments,
        meta: &RequestMetaObject,
        cancellation: CancellationToken,
    ) -> ToolAnswer {
        let scope = self.scope(meta, &arguments.members, cancellation);
        self.service().call(tool, ToolArguments(arguments), &meta.0.0, scope).await
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
        tool: usize,
        arguments: Arguments,
        (meta, mut scope): (&RequestMetaObject, CallScope),
        notifier: Notifier,
        token: ProgressToken,
    ) -> ToolAnswer {
        let (sink, pump) = progress(notifier, token);
        scope.progress = Some(Arc::new(sink));
        let done = CancellationToken::new();
        let work = async {
            let arguments = ToolArguments(arguments);
            let answer = self.service().call(tool, arguments, &meta.0.0, scope).await;
            done.cancel();
            answer
        };
        let (answer, ()) = tokio::join!(work, pump.run(&done));
        answer
    }

    async fn answer(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, RpcError> {
        let Some(tool) = self.tools().index(&request.name) else {
            return Err(self.service().unknown_tool(&request.name));
        };
        let sent = Sent::of(context);
        let room = sent.as_ref().and_then(Sent::room);
        let arguments = match sent.map(Sent::into_bytes) {
            Some(message) => match decode(&message) {
                Message::Call(call) if read_meta(call.meta).is_none() => {
                    return Err(RpcError::new(-32602, REPEATED_MEMBER));
                }
                Message::Call(call) => match call.arguments {
                    Some(json) => parse(json.as_bytes(), self.limits()),
                    None => Ok(Arguments::default()),
                },
                // rmcp accepts a message that repeats a member.
                _ => return Err(RpcError::new(-32602, REPEATED_MEMBER)),
            },
            None => Ok(request.arguments.unwrap_or_default().into()),
        };
        let cancellation = self.cancellation();
        let notifier = Notifier::Peer(context.peer.clone());
        let work = self.reply(tool, arguments, &context.meta, notifier, cancellation.clone());
        let answer = tokio::select! {
            biased;
            answer = self.within(room.as_ref(), work) => answer,
            never = pass_on(&context.ct, &cancellation) => match never {},
        };
        let reply = answer?;
        let structured = match self.service().has_structured_content() {
            true => serde_json::from_str(&reply.text).ok(),
            false => None,
        };
        // REQ-MCP-09, REQ-MCP-10: one text, and `isError` only for what no other call can mend.
        let failed = reply.is_error();
        let mut result = CallToolResult::success(vec![ContentBlock::text(reply.text)]);
        result.is_error = Some(failed);
        result.structured_content = structured;
        Ok(result)
    }

    /// Writes the message with this answer, where rmcp does not.
    pub(super) fn write_answer(
        &self,
        message: &mut Vec<u8>,
        id: &str,
        answer: &ToolAnswer,
        modern: bool,
    ) {
        match answer {
            Ok(reply) => respond_with(message, id, |message| {
                tool_result(message, reply, modern, self.service().has_structured_content());
            }),
            Err(error) => write_error(message, Some(id), error),
        }
    }
}

fn error_data(error: RpcError) -> ErrorData {
    ErrorData::new(ErrorCode(error.code), error.message, error.data)
}

/// The error for an answer, other than a call's, that has no room in its batch.
fn no_room() -> RpcError {
    RpcError::new(-32000, format!("The answers to this batch are too large: {FEWER}"))
}

/// A message as its client sent it, beside what rmcp made of it: a map does not show which members a
/// request repeats, and which digits of a number are gone.
#[derive(Debug, Clone)]
pub(super) enum Sent {
    /// A line.
    Line(Arc<[u8]>),
    /// A message of a batch, and the room for the answers to the batch.
    Batched(Arc<[u8]>, BatchRoom),
    /// The body of an HTTP request, as far as it was read.
    #[cfg(feature = "http")]
    Body(Arc<std::sync::Mutex<super::body::Seen>>),
}

impl Sent {
    fn of(context: &RequestContext<RoleServer>) -> Option<Self> {
        let sent = context.extensions.get::<Self>();
        #[cfg(feature = "http")]
        let sent = sent.or_else(|| {
            context.extensions.get::<axum::http::request::Parts>()?.extensions.get::<Self>()
        });
        sent.cloned()
    }

    /// The room for the answers to the batch that the message is part of.
    fn room(&self) -> Option<BatchRoom> {
        match self {
            Self::Batched(_, room) => Some(room.clone()),
            _ => None,
        }
    }

    fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Line(line) | Self::Batched(line, _) => line.to_vec(),
            // The bytes are not needed again, and an operation may take its time: they must not count as
            // those of a request that is being received meanwhile.
            #[cfg(feature = "http")]
            Self::Body(seen) => std::mem::take(&mut *crate::sync::lock(&seen)).read().into(),
        }
    }
}

/// Answers a call, with an error if that panics. A handler that panics would never answer, and the client
/// would wait for ever. Panics of operations are caught further inside; this is for our own.
pub(super) async fn caught<T>(
    work: impl Future<Output = Result<T, RpcError>>,
) -> Result<T, RpcError> {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| {
        tracing::error!("a tool call panicked outside of its operation");
        Err(RpcError::new(-32603, "Internal error"))
    })
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
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let room = Sent::of(&context).and_then(|sent| sent.room());
        self.listed(false, room.as_ref()).map_err(error_data)?;
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
        let answer = caught(erased(self.answer(request, &context))).await;
        answer.map(Into::into).map_err(error_data)
    }

    /// A call whose parameters do not have MCP's form arrives here, since rmcp takes it for a method
    /// that it does not know (REQ-MCP-12, choice C-12).
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method == CallToolRequestMethod::VALUE {
            let params = request.params.map(|params| params.to_string());
            let call = MalformedCall::find(params.as_deref());
            return Err(error_data(self.service().malformed_call(&call)));
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

#[cfg(test)]
mod tests {
    use super::super::adapter_tools::AdapterTools;
    use super::*;
    use crate::adapter::Adapter;
    use crate::response::Reply;

    fn server() -> Server {
        let adapter = Adapter::builder("empty").without_config().build().unwrap();
        let shared = Shared::new(AdapterTools::new(&adapter));
        Server::new(shared, Arc::new(Connection::lasting()))
    }

    #[tokio::test]
    async fn a_call_without_room_in_its_batch_says_whether_it_ran() {
        // REQ-ENC-09, REQ-ENC-13
        let (server, room) = (server(), BatchRoom::new(100));
        let mut runs = 0;
        let mut answers = Vec::new();
        for bytes in [60, 40, 1, 1] {
            let call = async {
                runs += 1;
                Ok(Reply::of_tool("x".repeat(bytes)))
            };
            answers.push(server.within(Some(&room), call).await.unwrap().text);
        }
        assert_eq!(runs, 3);
        assert_eq!((answers[0].len(), answers[1].len()), (60, 40));
        for (answer, ran) in answers[2..].iter().zip([true, false]) {
            let error = serde_json::from_str::<Value>(answer).unwrap()["error"].take();
            assert_eq!(error["code"], "VALIDATION_PAYLOAD_TOO_LARGE");
            assert_eq!(error["details"]["operation_ran"], ran);
            assert_eq!(error["details"]["limit_value"], 100);
            let message = error["message"].as_str().unwrap();
            assert!(message.ends_with(FEWER), "{message}");
        }
        // The bound applies to batches alone.
        let call = async { Ok(Reply::of_tool("x".repeat(1_000))) };
        assert_eq!(server.within(None, call).await.unwrap().text.len(), 1_000);
    }

    #[tokio::test]
    async fn a_failure_without_room_in_its_batch_does_not_say_that_it_ran() {
        let (server, room) = (server(), BatchRoom::new(10));
        let call = async { server.refuse(OperationError::not_found("note", "7")) };
        let answer = server.within(Some(&room), call).await.unwrap().text;
        assert!(answer.contains(FEWER) && !answer.contains("operation_ran"), "{answer}");
    }

    #[test]
    fn lists_of_tools_take_room_in_a_batch() {
        let server = server();
        let length = server.listed(false, None).unwrap().len();
        let room = BatchRoom::new(length);
        assert!(server.listed(false, Some(&room)).is_ok());
        let error = server.listed(false, Some(&room)).unwrap_err();
        assert!(error.code == -32000 && error.message.ends_with(FEWER), "{error:?}");
    }
}
