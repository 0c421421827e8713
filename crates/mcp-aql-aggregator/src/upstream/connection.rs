//! A connection to a server: handshake, discovery of its tools, and shutdown.

use std::collections::HashSet;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use mcp_aql_client::process::Process;
use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientCapabilities, ClientConfig, ClientRequest,
    Implementation, PaginatedRequestParams, PingRequest, ProtocolVersion, Tool,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _, Peer, RunningService,
    ServiceError,
};
use rmcp::transport::Transport;
use tokio::time::{Instant, timeout};

use super::http::{HttpServer, HttpTransport};
use super::line_transport::LineTransport;
use super::message_filter::{self, MessageFilter};
use super::process::{EXIT_GRACE_PERIOD, Start};
use super::{Failure, Shared, failure::Seconds, route};
use crate::ask::{AdapterDiscovery, NoPlan, Plan};
use crate::config::{How, Lifecycle};
use crate::items::is_failure;

/// Maximum number of tools to consider.
const MAX_TOOLS: usize = 2000;
/// Maximum number of pages of the list of tools.
const MAX_PAGES: usize = 100;
/// Time limit for closing the client. Over HTTP, closing ends the session.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(700);

/// An open connection. Dropping it ends the server's process.
pub(super) struct Connection {
    process: Option<Process>,
    service: RunningService<RoleClient, ClientConfig>,
    filter: Arc<MessageFilter>,
    /// The result of the last discovery.
    discovered: DiscoveryResult,
    /// The time of the last discovery.
    discovered_at: Instant,
}

/// The result of discovery: the calls to make, or the reason for having none.
pub(super) type DiscoveryResult = Result<Arc<LiveConnection>, NoPlan>;

/// The parts of a connection that queries use.
#[derive(Debug)]
pub(super) struct LiveConnection {
    pub(super) peer: Peer<RoleClient>,
    pub(super) plan: Arc<Plan>,
    pub(super) filter: Arc<MessageFilter>,
}

impl Connection {
    pub(super) async fn open(shared: &Shared) -> Result<Self, Failure> {
        shared.route.check()?;
        let filter = MessageFilter::new(Arc::clone(&shared.stats));
        // The process is held here, so that every failure ends it properly.
        let mut process = None;
        let limit = shared.settings.start_timeout;
        let opened = timeout(limit, Self::open_with(shared, &filter, &mut process)).await;
        let opened = opened.unwrap_or_else(|_| {
            let is_not_mcp = filter.has_only_non_protocol_lines();
            let asked = filter.unanswered();
            let asked = asked.as_deref().unwrap_or("initialize");
            shared.note(&format!("{asked}: no answer within {}", Seconds(limit)));
            if is_not_mcp {
                shared.note(message_filter::NOT_MCP);
            }
            Err(if is_not_mcp { Failure::Protocol } else { Failure::FailedToStart })
        });
        let failure = match opened {
            Ok((service, discovered)) => {
                let discovered_at = Instant::now();
                return Ok(Self { process, service, filter, discovered, discovered_at });
            }
            Err(failure) => failure,
        };
        // The reader knows more about a connection that ended or sent invalid messages.
        let failure = filter.cause().unwrap_or(failure);
        if let Some(process) = process {
            end(process, failure, shared).await;
        }
        // The process ended before it was ready.
        Err(if failure == Failure::Exited { Failure::FailedToStart } else { failure })
    }

    async fn open_with(
        shared: &Shared,
        filter: &Arc<MessageFilter>,
        process: &mut Option<Process>,
    ) -> Result<(RunningService<RoleClient, ClientConfig>, DiscoveryResult), Failure> {
        let service = Self::handshake(shared, filter, process).await?;
        let discovered = discover(shared, service.peer(), filter).await?;
        Ok((service, discovered))
    }

    async fn handshake(
        shared: &Shared,
        filter: &Arc<MessageFilter>,
        process: &mut Option<Process>,
    ) -> Result<RunningService<RoleClient, ClientConfig>, Failure> {
        match &shared.config.how {
            How::Command { command, args, env, cwd } => {
                let path = shared.route.names();
                let start = Start {
                    command,
                    args,
                    env,
                    cwd: cwd.as_deref(),
                    route: (route::VARIABLE, &path),
                };
                let started = start.start(&shared.stderr_tail);
                let (started, stdout, stdin) = started.map_err(|error| {
                    shared.note(&start.describe_error(&error));
                    Failure::FailedToStart
                })?;
                *process = Some(started);
                handshake(shared, LineTransport::new(stdout, stdin, Arc::clone(filter))).await
            }
            How::Http { url, headers } => {
                let allowed = &shared.settings.allow_http_hosts;
                let may_be_plain =
                    |host: &str| allowed.iter().any(|allowed| allowed.eq_ignore_ascii_case(host));
                let note = |cause: &str| shared.note(cause);
                let (server, url) = HttpServer::new(url, headers, may_be_plain, note)?;
                let transport = HttpTransport::new(server, url, Arc::clone(filter));
                handshake(shared, transport).await
            }
        }
    }

    /// Returns the result of the last discovery.
    pub(super) fn discovered(&self) -> DiscoveryResult {
        self.discovered.clone()
    }

    /// Returns the time of the last discovery.
    pub(super) const fn discovered_at(&self) -> Instant {
        self.discovered_at
    }

    /// Returns `true` if the tools may still change. This is the case if the server announces
    /// changes, or if it can be queried again over HTTP without a process that waits.
    pub(super) fn may_change(&self) -> bool {
        self.process.is_none() || self.filter.announces_changes()
    }

    /// Returns `true` if the connection uses HTTP. Servers cannot announce changes over HTTP.
    pub(super) const fn is_http(&self) -> bool {
        self.process.is_none()
    }

    pub(super) fn is_expired(&self) -> bool {
        self.filter.is_expired()
    }

    /// Waits until the connection ends and returns the reason.
    pub(super) async fn ended(&self) -> Failure {
        self.filter.ended().await
    }

    pub(super) async fn tools_changed(&self) {
        self.filter.changed.notified().await;
    }

    /// Returns `true` if the server is alive: it answers a ping, even with an error.
    pub(super) async fn answers_ping(&self, limit: Duration) -> bool {
        let ping = ClientRequest::PingRequest(PingRequest::default());
        let answered = timeout(limit, self.service.peer().send_request(ping)).await;
        matches!(answered, Ok(Ok(_) | Err(ServiceError::McpError(_))))
    }

    /// Discovers the tools again.
    ///
    /// # Errors
    ///
    /// Returns the failure of discovery. The previous result is kept.
    pub(super) async fn rediscover(&mut self, shared: &Shared) -> Result<(), Failure> {
        let discovered = discover(shared, self.service.peer(), &self.filter);
        let discovered = timeout(shared.settings.start_timeout, discovered).await;
        self.filter.set_ready(shared.settings.max_response_bytes);
        // Record the time after a failure, too, so that discovery is not repeated without a pause.
        self.discovered_at = Instant::now();
        self.discovered = discovered.unwrap_or(Err(Failure::FailedToStart))?;
        Ok(())
    }

    /// Closes the connection and ends the process.
    pub(super) async fn close(self, why: Failure, shared: &Shared) {
        let Self { process, mut service, filter, .. } = self;
        filter.end(why);
        // Ends the session over HTTP, or closes the standard input of the process.
        let closed = timeout(CLOSE_TIMEOUT, service.close());
        match process {
            Some(process) => {
                let _ = tokio::join!(closed, end(process, why, shared));
            }
            None => {
                let _ = closed.await;
            }
        }
    }
}

/// Ends a process. Records its exit status if it exited on its own.
async fn end(mut process: Process, why: Failure, shared: &Shared) {
    if let Some(status) = process.end(EXIT_GRACE_PERIOD).await
        && why == Failure::Exited
    {
        shared.note(&format!("the process exited: {status}"));
    }
}

/// Performs the handshake. The client offers no capabilities: no sampling, no elicitation, no
/// roots.
async fn handshake<T>(
    shared: &Shared,
    transport: T,
) -> Result<RunningService<RoleClient, ClientConfig>, Failure>
where
    T: Transport<RoleClient, Error = Failure> + 'static,
{
    let name = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
    let client = ClientConfig::new(ClientCapabilities::default(), name);
    let lifecycle = match shared.config.settings.lifecycle {
        Lifecycle::Initialize => ClientLifecycleMode::Initialize,
        Lifecycle::Discover => ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        },
    };
    client.serve_with_lifecycle(transport, lifecycle).await.map_err(|error| match error {
        ClientInitializeError::TransportError { error, .. } => {
            own_failure(error.error.as_ref()).unwrap_or(Failure::Exited)
        }
        ClientInitializeError::ConnectionClosed(_) => Failure::Exited,
        ClientInitializeError::JsonRpcError(error) => message_filter::failure_of(&error),
        _ => Failure::Protocol,
    })
}

/// Returns the failure of the aggregator's own transport from inside a client error.
pub(super) fn own_failure(error: &(dyn Error + Send + Sync + 'static)) -> Option<Failure> {
    error.downcast_ref().copied()
}

/// Returns the server's tools without repetitions, up to the maximum numbers of pages and tools. A
/// server may send an empty cursor after the last page, or repeat the same page without end.
async fn list_tools(peer: &Peer<RoleClient>) -> Result<Vec<Tool>, ServiceError> {
    let mut tools: Vec<Tool> = Vec::new();
    let mut names = HashSet::new();
    let mut cursor: Option<String> = None;
    for _ in 0..MAX_PAGES {
        let page = PaginatedRequestParams::default().with_cursor(cursor.clone());
        let page = peer.list_tools(Some(page)).await?;
        let (known, is_empty) = (tools.len(), page.tools.is_empty());
        tools.extend(page.tools.into_iter().filter(|tool| names.insert(tool.name.clone())));
        let next = page.next_cursor.filter(|next| !next.is_empty());
        let is_repeated = next == cursor || (tools.len() == known && !is_empty);
        if next.is_none() || is_repeated || tools.len() >= MAX_TOOLS {
            break;
        }
        cursor = next;
    }
    tools.truncate(MAX_TOOLS);
    Ok(tools)
}

/// Discovers the calls to make.
async fn discover(
    shared: &Shared,
    peer: &Peer<RoleClient>,
    filter: &Arc<MessageFilter>,
) -> Result<DiscoveryResult, Failure> {
    let failed = |error| match error {
        ServiceError::McpError(error) => message_filter::failure_of(&error),
        ServiceError::TransportSend(error) => {
            own_failure(error.error.as_ref()).unwrap_or(Failure::Exited)
        }
        ServiceError::TransportClosed => filter.cause().unwrap_or(Failure::Exited),
        _ => Failure::Protocol,
    };
    filter.expect_tools();
    let tools = list_tools(peer).await.map_err(failed)?;
    let settings = &shared.config.settings;
    let discovery = settings.discovery.unwrap_or(shared.settings.discovery);
    let configured = settings.calls.as_slice();
    let mut refused = None;
    let plan = match AdapterDiscovery::of(&tools, configured, discovery) {
        Some(mut discovery_run) => {
            while let Some(call) = discovery_run.next() {
                let params = CallToolRequestParams::new(call.tool).with_arguments(call.arguments);
                let discovered = match peer.call_tool_once(params).await {
                    Ok(CallToolResponse::Complete(answer)) if is_failure(&answer) => {
                        Err(Failure::Tool)
                    }
                    Ok(CallToolResponse::Complete(answer)) => Ok(answer),
                    Ok(_) => Err(Failure::Protocol),
                    Err(ServiceError::McpError(error)) => Err(message_filter::failure_of(&error)),
                    Err(error) => return Err(failed(error)),
                };
                discovery_run.take(discovered.as_ref().ok(), &tools);
                refused = refused.or(discovered.err());
            }
            discovery_run.plan(&tools, configured, discovery)
        }
        None => Plan::of(&tools, configured, discovery),
    };
    let plan = match (plan, refused) {
        (Ok(plan), _) => plan,
        // Report the failed listing. Otherwise the adapter would seem to have no search operation.
        (Err(_), Some(failure)) => return Err(failure),
        (Err(why), None) => return Ok(Err(why)),
    };
    filter.set_ready(shared.settings.max_response_bytes);
    Ok(Ok(Arc::new(LiveConnection {
        peer: peer.clone(),
        plan: Arc::new(plan),
        filter: Arc::clone(filter),
    })))
}
