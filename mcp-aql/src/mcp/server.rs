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
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProgressToken,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::connection::Connection;
use super::describe::instructions;
use super::progress::progress;
use super::tools::ToolTable;
use crate::adapter::Adapter;
use crate::operation::CallScope;

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

    async fn answer(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let Shared { adapter, tools, .. } = &*self.shared;
        let Some(endpoint) = tools.endpoint(&request.name) else {
            return Err(unknown_tool(&request.name, tools));
        };
        let arguments = request.arguments.unwrap_or_default();
        let session = self.connection.session();
        let cancellation = match &session {
            Some(session) => session.ended_token().child_token(),
            None => CancellationToken::new(),
        };
        let (sink, pump) = match progress_token(context, &arguments) {
            Some(token) => {
                let (sink, pump) = progress(context.peer.clone(), token);
                (Some(Arc::new(sink) as _), Some(pump))
            }
            None => (None, None),
        };
        let scope = CallScope {
            session,
            cancellation: cancellation.clone(),
            progress: sink,
            label: label(context, &arguments),
        };
        let done = CancellationToken::new();
        let work = async {
            let reply = adapter.handle(endpoint, arguments, scope).await;
            done.cancel();
            reply
        };
        let reports = async {
            if let Some(pump) = pump {
                pump.run(&done).await;
            }
        };
        let reply = tokio::select! {
            biased;
            (reply, ()) = async { tokio::join!(work, reports) } => reply,
            never = pass_on(&context.ct, &cancellation) => match never {},
        };
        let structured = if adapter.inner.settings.structured_content {
            serde_json::from_str(&reply.text).ok()
        } else {
            None
        };
        // REQ-MCP-09, REQ-MCP-10: one text, and `isError` only for what no other call can mend.
        let failed = reply.is_error();
        let mut result = CallToolResult::success(vec![ContentBlock::text(reply.text)]);
        result.is_error = Some(failed);
        result.structured_content = structured;
        Ok(result)
    }
}

/// Cancels the call when the client cancels the request.
async fn pass_on(request: &CancellationToken, call: &CancellationToken) -> Infallible {
    request.cancelled().await;
    call.cancel();
    std::future::pending().await
}

/// The token of the request's `_meta`, or else of the arguments' (REQ-MCP-14, choice C-63).
fn progress_token(
    context: &RequestContext<RoleServer>,
    arguments: &Map<String, Value>,
) -> Option<ProgressToken> {
    context.meta.get_progress_token().or_else(|| {
        let token = arguments.get("_meta")?.get("progressToken")?;
        serde_json::from_value(token.clone()).ok()
    })
}

/// What the client calls this request: `requestId` in the `_meta` of the request or of the
/// arguments, or `_request_id` beside `operation`. For the log alone (REQ-SES-05).
fn label(context: &RequestContext<RoleServer>, arguments: &Map<String, Value>) -> Option<String> {
    let inner = arguments.get("_meta");
    let value = context
        .meta
        .0
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

fn unknown_tool(name: &str, tools: &ToolTable) -> ErrorData {
    let known: Vec<_> = tools.tools.iter().map(|tool| tool.name.as_ref()).collect();
    let name = crate::router::clean(name);
    ErrorData::invalid_params(
        format!("Unknown tool '{name}'. The tools are: {}", known.join(", ")),
        None,
    )
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
        self.negotiate_initialize(&request)
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
        // A handler that panics would never answer, and the client would wait for ever. Panics of
        // operations are caught further inside; this is for our own.
        let answer = AssertUnwindSafe(self.answer(request, &context)).catch_unwind().await;
        answer.map_or_else(
            |_panic| {
                tracing::error!("a tool call panicked outside of its operation");
                Err(ErrorData::internal_error("Internal error", None))
            },
            |answer| answer.map(Into::into),
        )
    }

    /// A call whose parameters do not have MCP's form arrives here, since rmcp takes it for a method
    /// that it does not know (REQ-MCP-12, choice C-12).
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method == CallToolRequestMethod::VALUE {
            return Err(ErrorData::invalid_params(
                "tools/call takes the tool's 'name' as a string and its 'arguments' as an object",
                None,
            ));
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
