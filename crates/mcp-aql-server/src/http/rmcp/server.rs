//! Handles the requests decoded by rmcp.

use std::pin::pin;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use mcp_aql_core::internal::caller::Principal;
use mcp_aql_core::internal::operation::{CallScope, Cancellation};
use mcp_aql_core::internal::request::Arguments;
use mcp_aql_core::internal::response::Reply;
use mcp_aql_core::internal::util::erased;
use mcp_aql_core::transport::Elicitation;
use rmcp::model::{
    CallToolRequestMethod, CallToolRequestParams, CallToolResponse, CallToolResult,
    CancelTaskMethod, CancelTaskParams, ConstString as _, ContentBlock, CustomRequest,
    CustomResult, ErrorCode, GetTaskMethod, GetTaskParams, GetTaskResult, Implementation,
    InitializeRequestParams, InitializeResult, JsonObject, ListToolsResult, MetaObject,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, TASKS_EXTENSION_ID, Tool,
    ToolAnnotations, UpdateTaskMethod, UpdateTaskParams,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde::de::IgnoredAny;
use tokio_util::sync::CancellationToken;

use super::client_user::RmcpUser;
use super::context::{PeerNotifier, error_data, http_extensions, take_origin};
use super::current_request::made;
use super::original_message::{OriginalMessage, refusal};
use super::sessions::Sessions;
use super::task_answers;
use crate::http::cancellation::run_cancellable;
use crate::mcp::admission::RequestMeta;
use crate::mcp::admission::client_label;
use crate::mcp::answer::RpcError;
use crate::mcp::connection::Connection;
use crate::mcp::elicitation::{Responses, input_required, repeating};
use crate::mcp::malformed_call::MalformedCall;
use crate::mcp::message::{Fault, Message, Refusal, decode_message};
use crate::mcp::server::{Server, ServerState};
use crate::mcp::service::{ServerSettings, ToolDefinition, ToolHints, catch_panic};
use crate::mcp::tasks::TaskCall;
use crate::mcp::version::is_modern;

/// The state shared by rmcp's handlers of all connections.
pub(crate) struct RmcpState {
    shared: Arc<ServerState>,
    config: ServerConfig,
    tools: Vec<Tool>,
}

impl RmcpState {
    pub(crate) fn new(shared: Arc<ServerState>, tools: Vec<ToolDefinition>) -> Arc<Self> {
        let ServerSettings { name, version, instructions, .. } = shared.settings();
        let mut capabilities = ServerCapabilities::builder().enable_tools().build();
        if shared.service().tasks().is_some() {
            let tasks = (TASKS_EXTENSION_ID.to_owned(), JsonObject::new());
            capabilities.extensions = Some(std::iter::once(tasks).collect());
        }
        let config = ServerConfig::new(capabilities)
            .with_server_info(Implementation::new(name, version))
            .with_instructions(instructions);
        let tools = tools.into_iter().map(tool).collect();
        Arc::new(Self { shared, config, tools })
    }
}

/// Who may send requests, and whether sessions are kept.
pub(crate) struct Access {
    /// The allowed values of `Host`.
    pub(crate) hosts: Vec<String>,
    /// The allowed values of `Origin`.
    pub(crate) origins: Vec<String>,
    pub(crate) keeps_sessions: bool,
    /// Canceled when the sessions end.
    pub(crate) shutdown: CancellationToken,
}

/// rmcp's implementation of streamable HTTP.
#[derive(Clone)]
pub(crate) struct RmcpService(Arc<StreamableHttpService<Arc<RmcpServer>, Sessions>>);

impl RmcpService {
    pub(crate) fn new(state: Arc<RmcpState>, sessions: Arc<Sessions>, access: Access) -> Self {
        let settings = state.shared.settings();
        let config = StreamableHttpServerConfig::default()
            .with_allowed_hosts(access.hosts)
            .with_allowed_origins(access.origins)
            .enforce_origin_validation()
            .with_legacy_session_mode(access.keeps_sessions)
            .with_json_response(!settings.reports_progress)
            // rmcp's priming events have no request, and `Sessions` sends its own.
            .with_sse_retry(None)
            .with_max_request_body_bytes(settings.max_message_bytes)
            .with_cancellation_token(access.shutdown);
        let factory = move || {
            let connection = Arc::new(Connection::default());
            made(&connection);
            // The handler is in an `Arc`, so that rmcp is compiled for a single handler type.
            Ok(Arc::new(RmcpServer::new(Arc::clone(&state), connection)))
        };
        Self(Arc::new(StreamableHttpService::new(factory, sessions, config)))
    }

    /// Answers a request.
    pub(crate) async fn run(&self, request: Request) -> Response {
        self.0.handle(request).await.map(Body::new)
    }
}

/// The handler of one session or of one stateless request.
///
/// Only tools are supported. rmcp answers requests for prompts, resources and completions with "method not found",
/// because the server does not declare these capabilities.
pub(crate) struct RmcpServer {
    state: Arc<RmcpState>,
    server: Arc<Server>,
}

impl RmcpServer {
    pub(crate) fn new(state: Arc<RmcpState>, connection: Arc<Connection>) -> Self {
        let server = Arc::new(Server::new(Arc::clone(&state.shared), connection));
        Self { state, server }
    }

    async fn answer(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, RpcError> {
        let server = &self.server;
        let tool = server.tool_index(&request.name)?;
        let answers = (request.input_responses, request.request_state);
        let mut extensions = http_extensions(&context.extensions);
        let sent: Option<OriginalMessage> = extensions.remove();
        let budget = sent.as_ref().and_then(OriginalMessage::batch_budget).cloned();
        let message = sent.map(|sent| sent.take_text());
        let (id, arguments) = match &message {
            Some(message) => match decode_message(message) {
                // rmcp may use another id for the request, and it accepts repeated members.
                Message::Call(call) => {
                    RequestMeta::read(call.meta)?;
                    (call.id.to_owned(), Arguments::read(call.arguments, server.limits()))
                }
                refused => return Err(refusal(&refused)),
            },
            None => {
                let members = request.arguments.unwrap_or_default();
                let id = serde_json::to_string(&context.id).unwrap_or_default();
                (id, Ok(members.into()))
            }
        };
        let origin = take_origin(&mut extensions, &id, &request.name);
        let caller: Option<Principal> = extensions.get().cloned();
        let cancellation = Cancellation::default();
        let notifier = PeerNotifier(context.peer.clone());
        let meta = RequestMeta(context.meta.0.0.clone());
        let elicitation = self.elicitation(&meta, answers, context);
        let scope = CallScope { extensions, origin, elicitation, ..cancellation.clone().into() };
        let operation = arguments.as_ref().ok().and_then(Arguments::operation);
        let modern = meta.protocol_version().is_some_and(is_modern);
        if let Some(protocol) = server.task_protocol(None, &meta, modern, operation) {
            let (meta, notifier) = (&meta, Arc::new(notifier));
            let call = TaskCall { protocol, tool, arguments, task: None, meta, notifier, scope };
            let answer = run_cancellable(server.call_with_tasks(call), &context.ct, &cancellation);
            return task_answers::call_response(&answer.await?);
        }
        let work = pin!(server.reply(tool, arguments, &meta, &notifier, scope));
        let work = server.within(budget.as_ref(), caller.as_ref(), work);
        let reply = run_cancellable(work, &context.ct, &cancellation).await?;
        response(server, reply)
    }

    /// Returns how to ask the user of the client, or `None` if the user cannot be asked.
    fn elicitation(
        &self,
        meta: &RequestMeta,
        (responses, state): (Option<Responses>, Option<String>),
        context: &RequestContext<RoleServer>,
    ) -> Option<Elicitation> {
        match meta.protocol_version() {
            Some(version) if is_modern(version) => repeating(meta, responses.as_ref(), state),
            _ => RmcpUser::of(self.server.connection(), context),
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
        let mut result = self.negotiate_initialize(&request)?;
        let tasks = self.server.service().tasks();
        let capabilities = serde_json::to_value(&request.capabilities).unwrap_or_default();
        let capabilities = capabilities.as_object().cloned().unwrap_or_default();
        connection.negotiated(result.protocol_version.as_str(), &capabilities, tasks);
        let client = serde_json::to_value(&request.client_info).unwrap_or_default();
        connection.introduced(client.as_object().map(client_label).unwrap_or_default());
        self.server.session();
        // Extensions belong to versions without `initialize`.
        result.capabilities.extensions = None;
        Ok(result)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut extensions = http_extensions(&context.extensions);
        let sent: Option<OriginalMessage> = extensions.remove();
        let budget = sent.as_ref().and_then(OriginalMessage::batch_budget);
        self.server.listed(false, budget).map_err(error_data)?;
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
        catch_panic(erased(self.answer(request, &context))).await.map_err(error_data)
    }

    async fn get_task(
        &self,
        _request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        task_answers::answer_extension(&self.server, GetTaskMethod::VALUE, &context).await
    }

    async fn update_task(
        &self,
        _request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let method = UpdateTaskMethod::VALUE;
        task_answers::answer_extension::<IgnoredAny>(&self.server, method, &context).await.map(drop)
    }

    async fn cancel_task(
        &self,
        _request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let method = CancelTaskMethod::VALUE;
        task_answers::answer_extension::<IgnoredAny>(&self.server, method, &context).await.map(drop)
    }

    /// Handles requests about the tasks of MCP 2025-11-25, and calls with malformed parameters. rmcp treats both as
    /// unknown methods (REQ-MCP-12, choice C-12).
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if let Some(answer) = task_answers::answer_custom(&self.server, &request, &context).await {
            return answer;
        }
        if request.method == CallToolRequestMethod::VALUE {
            // Decode the original message: rmcp's parameters no longer contain repeated members.
            let sent: Option<OriginalMessage> = http_extensions(&context.extensions).remove();
            let sent = sent.map(|sent| sent.take_text()).unwrap_or_default();
            if let refused @ Message::Refused(Refusal { fault: Fault::Repeated(_), .. }) =
                decode_message(&sent)
            {
                return Err(error_data(refusal(&refused)));
            }
            let params = request.params.map(|params| params.to_string());
            let call = MalformedCall::find(params.as_deref());
            return Err(error_data(self.server.service().malformed_call(&call)));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None))
    }
}

/// Returns the result of a call, or the question to the user if the call has one.
fn response(server: &Server, reply: Reply) -> Result<CallToolResponse, RpcError> {
    if let Some(question) = &reply.question {
        return task_answers::call_response(input_required(question).to_string().as_bytes());
    }
    let structured = match server.settings().has_structured_content {
        true => serde_json::from_str(&reply.text).ok(),
        false => None,
    };
    // REQ-MCP-09, REQ-MCP-10: one content item, and `isError` only for errors that no other call can fix.
    let failed = reply.is_error();
    let mut result = CallToolResult::success(vec![ContentBlock::text(reply.text)]);
    result.is_error = Some(failed);
    result.structured_content = structured;
    Ok(result.into())
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
