//! The requests that rmcp decodes, handled by the server.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::response::Response;
use futures_util::FutureExt as _;
use mcp_aql_core::call_origin::CallOrigin;
use mcp_aql_core::elicitation::UserQuestion;
use mcp_aql_core::future::{BoxFuture, erased};
use mcp_aql_core::operation::{CallScope, Cancellation};
use mcp_aql_core::principal::Principal;
use mcp_aql_core::transport::Elicitation;
use rmcp::model::{
    CallToolRequestMethod, CallToolRequestParams, CallToolResponse, CallToolResult,
    CompleteRequestMethod, CompleteRequestParams, CompleteResult, ConstString as _, ContentBlock,
    CustomRequest, CustomResult, ErrorCode, Extensions, Implementation, InitializeRequestParams,
    InitializeResult, InputRequiredResult, ListPromptsRequestMethod, ListPromptsResult,
    ListResourceTemplatesRequestMethod, ListResourceTemplatesResult, ListResourcesRequestMethod,
    ListResourcesResult, ListToolsResult, MetaObject, PaginatedRequestParams,
    ProgressNotificationParam, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{Peer, RequestContext};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::client_user::ClientUser;
use super::current_request::made;
use super::original_message::OriginalMessage;
use super::sessions::Sessions;
use crate::connection::Connection;
use crate::elicitation::{self, Responses, repeating};
use crate::mcp_version::has_handshake;
use crate::origin::describe_call;
use crate::progress::{Notifier, ProgressParams};
use crate::request_meta::RequestMeta;
use crate::rpc_error::RpcError;
use crate::server::{Server, ServerState};
use crate::service::{
    SentArguments, ServerDescription, ToolArguments, ToolDefinition, ToolHints, panicked,
};
use crate::wire::{MalformedCall, Message, REPEATED_MEMBER, decode};

/// What rmcp's handlers of all connections share.
pub(super) struct RmcpState {
    shared: Arc<ServerState>,
    config: ServerConfig,
    tools: Vec<Tool>,
}

impl RmcpState {
    pub(super) fn new(shared: Arc<ServerState>, tools: Vec<ToolDefinition>) -> Arc<Self> {
        let ServerDescription { name, version, instructions } = shared.description();
        let config = ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new(name, version))
            .with_instructions(instructions);
        let tools = tools.into_iter().map(tool).collect();
        Arc::new(Self { shared, config, tools })
    }
}

/// rmcp's implementation of streamable HTTP.
#[derive(Clone)]
pub(super) struct RmcpService(Arc<StreamableHttpService<Arc<RmcpServer>, Sessions>>);

impl RmcpService {
    pub(super) fn new(
        state: Arc<RmcpState>,
        sessions: Arc<Sessions>,
        config: StreamableHttpServerConfig,
    ) -> Self {
        let factory = move || {
            let connection = Arc::new(Connection::default());
            made(&connection);
            // Shared, so that rmcp is compiled for a single handler type.
            Ok(Arc::new(RmcpServer::new(Arc::clone(&state), connection)))
        };
        Self(Arc::new(StreamableHttpService::new(factory, sessions, config)))
    }

    /// Answers a request.
    pub(super) async fn run(&self, request: Request) -> Response {
        self.0.handle(request).await.map(Body::new)
    }
}

/// The handler of one session or of one stateless request.
///
/// Only tools are supported. Prompts, resources and completions are answered with "method not
/// found", as MCP requires for capabilities that a server does not declare; rmcp's default would be
/// empty lists.
pub(super) struct RmcpServer {
    state: Arc<RmcpState>,
    server: Server,
}

impl RmcpServer {
    pub(super) fn new(state: Arc<RmcpState>, connection: Arc<Connection>) -> Self {
        let server = Server::new(Arc::clone(&state.shared), connection);
        Self { state, server }
    }

    async fn answer(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, RpcError> {
        let server = &self.server;
        let Some(tool) = server.tools().index(&request.name) else {
            return Err(server.service().unknown_tool(&request.name));
        };
        let answers = (request.input_responses, request.request_state);
        let mut extensions = http_extensions(&context.extensions);
        let origin = extensions.remove::<CallOrigin>().map(|mut origin| {
            let id = serde_json::to_string(&context.id).unwrap_or_default();
            describe_call(&mut origin, &id, &request.name);
            Arc::new(origin)
        });
        let sent: Option<OriginalMessage> = extensions.remove();
        let room = sent.as_ref().and_then(OriginalMessage::room).cloned();
        let message = sent.map(|sent| sent.take_text());
        let arguments = match &message {
            Some(message) => match decode(message) {
                Message::Call(call) if RequestMeta::read(call.meta).is_none() => {
                    return Err(RpcError::new(-32602, REPEATED_MEMBER));
                }
                Message::Call(call) => ToolArguments::read(call.arguments, server.limits()),
                // rmcp accepts a message with a repeated member.
                _ => return Err(RpcError::new(-32602, REPEATED_MEMBER)),
            },
            None => {
                let members = request.arguments.unwrap_or_default();
                Ok(SentArguments::Parsed(members.into()).into())
            }
        };
        let caller: Option<Principal> = extensions.get().cloned();
        let cancellation = Cancellation::default();
        let notifier = PeerNotifier(context.peer.clone());
        let meta = RequestMeta(context.meta.0.0.clone());
        let elicitation = self.elicitation(&meta, answers, context);
        let scope = CallScope { extensions, origin, elicitation, ..cancellation.clone().into() };
        let work = pin!(server.reply(tool, arguments, &meta, &notifier, scope));
        let answer = tokio::select! {
            biased;
            answer = server.within(room.as_ref(), caller.as_ref(), work) => answer,
            never = pass_on(&context.ct, &cancellation) => match never {},
        };
        let reply = answer?;
        if let Some(question) = &reply.question {
            return input_required(question);
        }
        let structured = match server.service().has_structured_content() {
            true => serde_json::from_str(&reply.text).ok(),
            false => None,
        };
        // REQ-MCP-09, REQ-MCP-10: one text, and `isError` only for errors that no other call can
        // fix.
        let failed = reply.is_error();
        let mut result = CallToolResult::success(vec![ContentBlock::text(reply.text)]);
        result.is_error = Some(failed);
        result.structured_content = structured;
        Ok(result.into())
    }

    /// How the user of the client can be asked.
    fn elicitation(
        &self,
        meta: &RequestMeta,
        (responses, state): (Option<Responses>, Option<String>),
        context: &RequestContext<RoleServer>,
    ) -> Option<Elicitation> {
        match meta.protocol_version() {
            Some(version) if !has_handshake(version) => repeating(meta, responses.as_ref(), state),
            _ => self
                .server
                .connection()
                .takes_questions()
                .then(|| Elicitation::Waiting(Arc::new(ClientUser(context.peer.clone())))),
        }
    }
}

impl ServerHandler for RmcpServer {
    fn get_info(&self) -> ServerConfig {
        self.state.config.clone()
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let connection = self.server.connection();
        connection.initialized();
        context.peer.set_peer_info(request.clone());
        let result = self.negotiate_initialize(&request)?;
        let capabilities = serde_json::to_value(&request.capabilities).unwrap_or_default();
        if let Value::Object(capabilities) = capabilities {
            connection.negotiated(result.protocol_version.as_str(), &capabilities);
        }
        Ok(result)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut extensions = http_extensions(&context.extensions);
        let sent: Option<OriginalMessage> = extensions.remove();
        let room = sent.as_ref().and_then(OriginalMessage::room);
        self.server.listed(false, room).map_err(error_data)?;
        let tools = match self.server.service().tools_for(&extensions) {
            Some(tools) => tools.into_iter().map(tool).collect(),
            None => self.state.tools.clone(),
        };
        Ok(ListToolsResult::with_all_items(tools))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.state.tools.iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let answer = AssertUnwindSafe(erased(self.answer(request, &context))).catch_unwind().await;
        answer.unwrap_or_else(|_| Err(panicked())).map_err(error_data)
    }

    /// Handles a call whose parameters are malformed: rmcp treats it as an unknown method
    /// (REQ-MCP-12, choice C-12).
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method == CallToolRequestMethod::VALUE {
            let params = request.params.map(|params| params.to_string());
            let call = MalformedCall::find(params.as_deref());
            return Err(error_data(self.server.service().malformed_call(&call)));
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

/// The result that asks the client to repeat the call with the answer of its user.
fn input_required(question: &UserQuestion) -> Result<CallToolResponse, RpcError> {
    let result = elicitation::input_required(question);
    let result = serde_json::from_value::<InputRequiredResult>(result);
    result.map(Into::into).map_err(|_| RpcError::new(-32603, "Internal error"))
}

fn error_data(error: RpcError) -> ErrorData {
    ErrorData::new(ErrorCode(error.code), error.message, error.data)
}

/// Returns the extensions of the HTTP request, among which the transport keeps the original message.
fn http_extensions(extensions: &Extensions) -> mcp_aql_core::transport::Extensions {
    extensions.get::<Parts>().map(|parts| parts.extensions.clone()).unwrap_or_default()
}

/// Cancels the call when the client cancels the request.
async fn pass_on(request: &CancellationToken, call: &Cancellation) -> Infallible {
    request.cancelled().await;
    call.cancel();
    std::future::pending().await
}

/// Sends progress through rmcp.
struct PeerNotifier(Peer<RoleServer>);

impl Notifier for PeerNotifier {
    fn notify(&self, params: ProgressParams) -> BoxFuture<'_, ()> {
        erased(async move {
            let ProgressParams { progress_token, progress, total, message } = params;
            // Both types are a string or an integer.
            let token = serde_json::to_value(progress_token).and_then(serde_json::from_value);
            let Ok(token) = token else { return };
            let mut params = ProgressNotificationParam::new(token, progress);
            params.total = total;
            params.message = message;
            if let Err(error) = self.0.notify_progress(params).await {
                tracing::debug!(%error, "progress could not be sent");
            }
        })
    }
}

fn tool(definition: ToolDefinition) -> Tool {
    let ToolDefinition { name, title, description, input_schema, output_schema, hints, meta } =
        definition;
    let ToolHints { read_only, destructive, idempotent, open_world } = hints;
    let mut annotations = ToolAnnotations::new();
    annotations.read_only_hint = read_only;
    annotations.destructive_hint = destructive;
    annotations.idempotent_hint = idempotent;
    annotations.open_world_hint = open_world;
    let mut tool =
        Tool::new(name, description, Arc::new(input_schema)).with_annotations(annotations);
    tool.title = title;
    tool.output_schema = output_schema.map(Arc::new);
    tool.meta = meta.map(MetaObject);
    tool
}
