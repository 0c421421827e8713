//! A connection to a server: opened, greeted, its tools learned.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

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
use tokio::time::timeout;

use super::lines::Lines;
use super::mail::{self, Mail};
use super::process::{Process, Start};
use super::{Failure, Shared, route};
use crate::ask::{Learning, Plan};
use crate::config::{How, Lifecycle};

/// More tools than this are not looked at.
const MOST_TOOLS: usize = 2000;
/// Nor more pages of them.
const MOST_PAGES: usize = 100;
/// How long the client may take to say good-bye over HTTP.
const GOOD_BYE: Duration = Duration::from_millis(700);

/// An open connection. Dropped, its process ends.
pub(super) struct Connection {
    process: Option<Process>,
    service: RunningService<RoleClient, ClientConfig>,
    live: Arc<Live>,
}

/// What is needed to ask.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) peer: Peer<RoleClient>,
    pub(super) plan: Arc<Plan>,
    pub(super) mail: Arc<Mail>,
}

impl Connection {
    /// # Errors
    /// Why the server cannot be asked.
    pub(super) async fn open(shared: &Shared) -> Result<Self, Failure> {
        shared.route.check()?;
        let mail = Mail::new(Arc::clone(&shared.stats));
        let opened = timeout(shared.settings.start_timeout, Self::open_with(shared, &mail)).await;
        let opened = opened.unwrap_or_else(|_| {
            let is_garbage = mail.is_all_garbage();
            Err(if is_garbage { Failure::Protocol } else { Failure::FailedToStart })
        });
        // Of what ended, or was not understood, whoever read knows more.
        opened.map_err(|failure| match mail.cause().unwrap_or(failure) {
            // It ended before it was ready.
            Failure::Exited => Failure::FailedToStart,
            why => why,
        })
    }

    async fn open_with(shared: &Shared, mail: &Arc<Mail>) -> Result<Self, Failure> {
        let (process, service) = Self::greet(shared, mail).await?;
        let live = learn(shared, service.peer(), mail).await?;
        mail.is_ready(shared.settings.max_response_bytes);
        Ok(Self { process, service, live })
    }

    async fn greet(
        shared: &Shared,
        mail: &Arc<Mail>,
    ) -> Result<(Option<Process>, RunningService<RoleClient, ClientConfig>), Failure> {
        match &shared.config.how {
            How::Command { command, args, env, cwd } => {
                let path = shared.route.told();
                let start = Start {
                    command,
                    args,
                    env,
                    cwd: cwd.as_deref(),
                    mark: (route::VARIABLE, &path),
                };
                let started = Process::start(&start, &shared.last_words);
                let (process, stdout, stdin) = started.map_err(|_| Failure::FailedToStart)?;
                let lines = Lines::new(stdout, stdin, Arc::clone(mail));
                let service = greet(shared, lines).await?;
                Ok((Some(process), service))
            }
            #[cfg(feature = "http")]
            How::Http { url, headers } => {
                let allowed = &shared.settings.allow_http_hosts;
                let may_be_plain =
                    |host: &str| allowed.iter().any(|allowed| allowed.eq_ignore_ascii_case(host));
                let (server, url) = super::http::Server::new(url, headers, may_be_plain)?;
                let http = super::http::Http::new(server, url, Arc::clone(mail));
                Ok((None, greet(shared, http).await?))
            }
            #[cfg(not(feature = "http"))]
            How::Http { .. } => Err(Failure::FailedToStart),
        }
    }

    pub(super) fn live(&self) -> Arc<Live> {
        Arc::clone(&self.live)
    }

    /// Waits for its end.
    pub(super) async fn ended(&self) -> Failure {
        self.live.mail.ended().await
    }

    pub(super) async fn tools_changed(&self) {
        self.live.mail.changed.notified().await;
    }

    /// Whether the server is alive: it answers, be it that it knows no ping.
    pub(super) async fn answers_ping(&self, limit: Duration) -> bool {
        let ping = ClientRequest::PingRequest(PingRequest::default());
        let answered = timeout(limit, self.live.peer.send_request(ping)).await;
        matches!(answered, Ok(Ok(_) | Err(ServiceError::McpError(_))))
    }

    /// Learns the tools once more.
    pub(super) async fn plan_again(&mut self, shared: &Shared) -> Result<Arc<Live>, Failure> {
        let mail = Arc::clone(&self.live.mail);
        let learned = learn(shared, &self.live.peer, &mail);
        let live = timeout(shared.settings.start_timeout, learned).await;
        self.live = live.unwrap_or(Err(Failure::FailedToStart))?;
        Ok(self.live())
    }

    /// Hangs up, and ends the process.
    pub(super) async fn close(self, why: Failure) {
        let Self { process, mut service, live } = self;
        live.mail.end(why);
        // It says good-bye to a session, and closes the standard input of a process.
        let good_bye = timeout(GOOD_BYE, service.close());
        match process {
            Some(process) => {
                let _ = tokio::join!(good_bye, process.end());
            }
            None => {
                let _ = good_bye.await;
            }
        }
    }
}

/// Shakes hands. The client offers nothing: no sampling, no questions to a person, no files.
async fn greet<T>(
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
            own(error.error.as_ref()).unwrap_or(Failure::Exited)
        }
        ClientInitializeError::ConnectionClosed(_) => Failure::Exited,
        ClientInitializeError::JsonRpcError(error) => mail::failure_of(&error),
        _ => Failure::Protocol,
    })
}

/// The failure that our own transports give to the client, which gives it back.
pub(super) fn own(error: &(dyn Error + Send + Sync + 'static)) -> Option<Failure> {
    error.downcast_ref().copied()
}

/// Learns what to ask.
async fn learn(
    shared: &Shared,
    peer: &Peer<RoleClient>,
    mail: &Arc<Mail>,
) -> Result<Arc<Live>, Failure> {
    let failed = |error| match error {
        ServiceError::McpError(error) => mail::failure_of(&error),
        ServiceError::TransportSend(error) => own(error.error.as_ref()).unwrap_or(Failure::Exited),
        ServiceError::TransportClosed => mail.cause().unwrap_or(Failure::Exited),
        _ => Failure::Protocol,
    };
    let mut tools: Vec<Tool> = Vec::new();
    let mut cursor = None;
    for _ in 0..MOST_PAGES {
        let page = PaginatedRequestParams::default().with_cursor(cursor);
        let page = peer.list_tools(Some(page)).await.map_err(failed)?;
        tools.extend(page.tools);
        cursor = page.next_cursor;
        if cursor.is_none() || tools.len() >= MOST_TOOLS {
            break;
        }
    }
    tools.truncate(MOST_TOOLS);
    let settings = &shared.config.settings;
    let discovery = settings.discovery.unwrap_or(shared.settings.discovery);
    let plan = match Learning::of(&tools, settings, discovery) {
        Some(mut learning) => {
            while let Some(call) = learning.next() {
                let params = CallToolRequestParams::new(call.tool).with_arguments(call.arguments);
                let learned = match peer.call_tool_once(params).await {
                    Ok(CallToolResponse::Complete(answer)) => Some(answer),
                    Ok(_) | Err(ServiceError::McpError(_)) => None,
                    Err(error) => return Err(failed(error)),
                };
                learning.take(learned.as_ref(), &tools);
            }
            learning.plan(&tools, settings, discovery)
        }
        None => Plan::of(&tools, settings, discovery),
    };
    let plan = plan.map_err(|why| {
        shared.has_no_plan(why);
        Failure::NoQueryTool
    })?;
    Ok(Arc::new(Live { peer: peer.clone(), plan: Arc::new(plan), mail: Arc::clone(mail) }))
}

/// What a server is given that nobody else shall see.
pub(super) fn secrets(how: &How) -> Vec<String> {
    match how {
        How::Command { env, args, .. } => {
            let of_args = args
                .iter()
                .filter_map(|arg| arg.split_once('='))
                .map(|(_, value)| value.to_owned());
            env.values().cloned().chain(of_args).collect()
        }
        How::Http { headers, .. } => headers.values().cloned().collect(),
    }
}
