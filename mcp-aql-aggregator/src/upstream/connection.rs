//! A connection to a server: opened, greeted, its tools learned.

use std::error::Error;
use std::io;
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
use tokio::time::{Instant, timeout};

use super::lines::Lines;
use super::mail::{self, Mail};
use super::process::{Process, Start};
use super::{Failure, Shared, failure::Seconds, route};
use crate::ask::{Learning, NoPlan, Plan};
use crate::config::{How, Lifecycle};
use crate::items::is_failure;

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
    mail: Arc<Mail>,
    /// What is known of its tools.
    learnt: Learnt,
    /// Since when.
    learnt_at: Instant,
}

/// What there is to ask, or why there is nothing.
pub(super) type Learnt = Result<Arc<Live>, NoPlan>;

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
        // Held here: whatever fails, it is ended as it should be.
        let mut process = None;
        let limit = shared.settings.start_timeout;
        let opened = timeout(limit, Self::open_with(shared, &mail, &mut process)).await;
        let opened = opened.unwrap_or_else(|_| {
            let is_garbage = mail.is_all_garbage();
            let asked = mail.unanswered();
            let asked = asked.as_deref().unwrap_or("initialize");
            shared.note(&format!("{asked}: no answer within {}", Seconds(limit)));
            if is_garbage {
                shared.note(mail::NOT_MCP);
            }
            Err(if is_garbage { Failure::Protocol } else { Failure::FailedToStart })
        });
        let failure = match opened {
            Ok((service, learnt)) => {
                let learnt_at = Instant::now();
                return Ok(Self { process, service, mail, learnt, learnt_at });
            }
            Err(failure) => failure,
        };
        // Of what ended, or was not understood, whoever read knows more.
        let failure = mail.cause().unwrap_or(failure);
        if let Some(process) = process {
            end(process, failure, shared).await;
        }
        // It ended before it was ready.
        Err(if failure == Failure::Exited { Failure::FailedToStart } else { failure })
    }

    async fn open_with(
        shared: &Shared,
        mail: &Arc<Mail>,
        process: &mut Option<Process>,
    ) -> Result<(RunningService<RoleClient, ClientConfig>, Learnt), Failure> {
        let service = Self::greet(shared, mail, process).await?;
        let learnt = learn(shared, service.peer(), mail).await?;
        Ok((service, learnt))
    }

    async fn greet(
        shared: &Shared,
        mail: &Arc<Mail>,
        process: &mut Option<Process>,
    ) -> Result<RunningService<RoleClient, ClientConfig>, Failure> {
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
                let (started, stdout, stdin) = started.map_err(|error| {
                    shared.note(&not_started(&start, &error));
                    Failure::FailedToStart
                })?;
                *process = Some(started);
                greet(shared, Lines::new(stdout, stdin, Arc::clone(mail))).await
            }
            #[cfg(feature = "http")]
            How::Http { url, headers } => {
                let allowed = &shared.settings.allow_http_hosts;
                let may_be_plain =
                    |host: &str| allowed.iter().any(|allowed| allowed.eq_ignore_ascii_case(host));
                let note = |cause: &str| shared.note(cause);
                let (server, url) = super::http::Server::new(url, headers, may_be_plain, note)?;
                let http = super::http::Http::new(server, url, Arc::clone(mail));
                greet(shared, http).await
            }
            #[cfg(not(feature = "http"))]
            How::Http { .. } => Err(Failure::FailedToStart),
        }
    }

    /// What there is to ask.
    pub(super) fn learnt(&self) -> Learnt {
        self.learnt.clone()
    }

    /// When that was learnt.
    pub(super) const fn learnt_at(&self) -> Instant {
        self.learnt_at
    }

    /// Whether there may be more to learn: the server says when its tools change, or can be asked again
    /// without a process that waits for that.
    pub(super) fn may_change(&self) -> bool {
        self.process.is_none() || self.mail.tells_changes()
    }

    /// Whether a server cannot say when its tools change.
    pub(super) const fn is_http(&self) -> bool {
        self.process.is_none()
    }

    pub(super) fn is_expired(&self) -> bool {
        self.mail.is_expired()
    }

    /// Waits for its end.
    pub(super) async fn ended(&self) -> Failure {
        self.mail.ended().await
    }

    pub(super) async fn tools_changed(&self) {
        self.mail.changed.notified().await;
    }

    /// Whether the server is alive: it answers, be it that it knows no ping.
    pub(super) async fn answers_ping(&self, limit: Duration) -> bool {
        let ping = ClientRequest::PingRequest(PingRequest::default());
        let answered = timeout(limit, self.service.peer().send_request(ping)).await;
        matches!(answered, Ok(Ok(_) | Err(ServiceError::McpError(_))))
    }

    /// Learns the tools once more.
    ///
    /// # Errors
    /// Why they are not known. What was known before is kept.
    pub(super) async fn learn_again(&mut self, shared: &Shared) -> Result<(), Failure> {
        let learned = learn(shared, self.service.peer(), &self.mail);
        let learned = timeout(shared.settings.start_timeout, learned).await;
        self.mail.is_ready(shared.settings.max_response_bytes);
        // Also where that failed, so that nobody asks for it without end.
        self.learnt_at = Instant::now();
        self.learnt = learned.unwrap_or(Err(Failure::FailedToStart))?;
        Ok(())
    }

    /// Hangs up, and ends the process.
    pub(super) async fn close(self, why: Failure, shared: &Shared) {
        let Self { process, mut service, mail, .. } = self;
        mail.end(why);
        // It says good-bye to a session, and closes the standard input of a process.
        let good_bye = timeout(GOOD_BYE, service.close());
        match process {
            Some(process) => {
                let _ = tokio::join!(good_bye, end(process, why, shared));
            }
            None => {
                let _ = good_bye.await;
            }
        }
    }
}

/// Ends a process, and notes how it ended if nobody wanted that.
async fn end(process: Process, why: Failure, shared: &Shared) {
    if let Some(status) = process.end().await
        && why == Failure::Exited
    {
        shared.note(&format!("it ended by itself: {status}"));
    }
}

/// Why a process was not started.
fn not_started(start: &Start<'_>, error: &io::Error) -> String {
    let Start { command, cwd, .. } = start;
    match cwd.filter(|cwd| !cwd.is_dir()) {
        // The system says the same of both.
        Some(cwd) => format!("`cwd`: there is no folder {}", cwd.display()),
        None if error.kind() == io::ErrorKind::NotFound => {
            format!("`command`: '{command}' is not found: install it, or write its whole path")
        }
        None => format!("`command`: '{command}' cannot be started: {error}"),
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
) -> Result<Learnt, Failure> {
    let failed = |error| match error {
        ServiceError::McpError(error) => mail::failure_of(&error),
        ServiceError::TransportSend(error) => own(error.error.as_ref()).unwrap_or(Failure::Exited),
        ServiceError::TransportClosed => mail.cause().unwrap_or(Failure::Exited),
        _ => Failure::Protocol,
    };
    mail.learns();
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
    let mut refused = None;
    let plan = match Learning::of(&tools, settings, discovery) {
        Some(mut learning) => {
            while let Some(call) = learning.next() {
                let params = CallToolRequestParams::new(call.tool).with_arguments(call.arguments);
                let learned = match peer.call_tool_once(params).await {
                    Ok(CallToolResponse::Complete(answer)) if is_failure(&answer) => {
                        Err(Failure::Tool)
                    }
                    Ok(CallToolResponse::Complete(answer)) => Ok(answer),
                    Ok(_) => Err(Failure::Protocol),
                    Err(ServiceError::McpError(error)) => Err(mail::failure_of(&error)),
                    Err(error) => return Err(failed(error)),
                };
                learning.take(learned.as_ref().ok(), &tools);
                refused = refused.or(learned.err());
            }
            learning.plan(&tools, settings, discovery)
        }
        None => Plan::of(&tools, settings, discovery),
    };
    let plan = match (plan, refused) {
        (Ok(plan), _) => plan,
        // What the adapter has could not be learnt: that is not the same as having nothing.
        (Err(_), Some(failure)) => return Err(failure),
        (Err(why), None) => return Ok(Err(why)),
    };
    mail.is_ready(shared.settings.max_response_bytes);
    Ok(Ok(Arc::new(Live { peer: peer.clone(), plan: Arc::new(plan), mail: Arc::clone(mail) })))
}
