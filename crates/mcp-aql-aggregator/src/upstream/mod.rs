//! The upstream servers. Each is started in the background, restarted when it exits, protected by a
//! circuit breaker, and called according to its plan.

mod answer_decoding;
mod breaker;
mod connection;
#[cfg_attr(not(feature = "http"), expect(dead_code, reason = "some only occur over HTTP"))]
mod failure;
mod failure_causes;
#[cfg(feature = "http")]
mod http;
#[cfg(not(feature = "http"))]
#[path = "without_http.rs"]
mod http;
#[cfg(feature = "http")]
mod http_replies;
mod lifecycle;
mod line_transport;
mod message_filter;
mod message_start;
mod process;
mod query;
mod query_attempt;
mod route;
mod secrets;
mod stats;

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use mcp_aql_client::process::StderrTail;
use mcp_aql_core::internal::util::lock;
use rmcp::model::CallToolResult;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, Span};

pub(crate) use failure::Failure;

use self::breaker::Breaker;
use self::connection::LiveConnection;
use self::secrets::Secrets;
use self::stats::Stats;
use crate::ask::{NoPlan, Plan};
use crate::config::{How, ServerConfig, Settings};
use crate::items::ItemLocation;
pub(crate) use breaker::BreakerState;
pub(crate) use route::{Route, VARIABLE};
pub(crate) use stats::Latency;

/// Interval at which servers are asked for their tools if they cannot announce changes.
const DISCOVERY_INTERVAL: Duration = Duration::from_secs(300);
/// Time limit for waiting until a server has exited. It is longer than closing takes.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);
/// Time limit for closing a server.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// One upstream server. Dropping it ends the server.
#[derive(Debug)]
pub(crate) struct Upstream {
    shared: Arc<Shared>,
    running: Mutex<Option<JoinHandle<()>>>,
}

/// The state shared by the server's own task and the queries.
#[derive(Debug)]
struct Shared {
    config: ServerConfig,
    settings: Arc<Settings>,
    route: Route,
    stats: Arc<Stats>,
    breaker: Breaker,
    permits: Semaphore,
    status: watch::Sender<Status>,
    /// Number of queries whose wait has timed out since the server was last ready.
    waited: AtomicU32,
    is_started: AtomicBool,
    /// Number of consecutive calls that the server rejected.
    refused: AtomicU32,
    /// Notified when the discovered tools may be outdated.
    outdated: Notify,
    discovery_interval: Duration,
    /// Notified when a query needs the server.
    wanted: Notify,
    /// Notified when the server may hang.
    doubted: Notify,
    closing: CancellationToken,
    stderr_tail: Arc<StderrTail>,
    secrets: Arc<Secrets>,
    logged: Mutex<LoggedState>,
    span: Span,
}

/// The state logged last. It is not logged again until it changes.
#[derive(Debug, Default)]
struct LoggedState {
    no_plan: Option<NoPlan>,
    problems: Vec<String>,
    failure: Option<Failure>,
}

/// The state of a server, and the time at which it began.
#[derive(Debug, Clone)]
struct Status {
    state: RunState,
    since: DateTime<Utc>,
}

#[derive(Debug, Clone)]
enum RunState {
    /// No query has needed the server yet.
    Idle,
    Starting,
    Ready(Arc<LiveConnection>),
    /// The server failed and will be restarted.
    Failed(Failure),
    /// The server cannot be queried, permanently or until its tools change.
    Unusable(Failure),
}

/// The state of a server, for monitoring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// No query has needed the server yet.
    Idle,
    Starting,
    Ready,
    Failed,
    /// The server has no search tool.
    Unmapped,
    Closed,
}

/// A snapshot of a server, for monitoring.
#[derive(Debug, Clone)]
pub(crate) struct UpstreamState {
    pub(crate) name: String,
    /// `command` or `http`.
    pub(crate) transport: &'static str,
    pub(crate) phase: Phase,
    /// The reason why the server is not ready.
    pub(crate) failure: Option<Failure>,
    /// The time at which the server entered this state.
    pub(crate) since: DateTime<Utc>,
    /// The calls to make.
    pub(crate) plan: Option<Arc<Plan>>,
    /// The reason for a missing plan.
    pub(crate) no_plan: Option<NoPlan>,
    pub(crate) starts: u64,
    pub(crate) calls: u64,
    pub(crate) in_flight: usize,
    pub(crate) cancelled: u64,
    /// Number of answers that arrived after the call had been abandoned.
    pub(crate) late: u64,
    pub(crate) failures: BTreeMap<&'static str, u64>,
    pub(crate) latency: Option<Latency>,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    pub(crate) breaker: BreakerState,
    /// The last lines of standard error, without the secrets passed to the server. They are for the
    /// operator's terminal, not for answers and logs.
    pub(crate) stderr_tail: Vec<String>,
    /// The causes of failures as reported by the server and the system, without secrets. They are
    /// for the operator's terminal as well.
    pub(crate) causes: Vec<String>,
}

/// A server's answers to a query.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    pub(crate) answers: Vec<CallAnswer>,
    /// The calls that failed while others were answered.
    pub(crate) failed: Vec<FailedCall>,
}

/// A call that failed while another one was answered.
#[derive(Debug, Clone)]
pub(crate) struct FailedCall {
    /// The tool's name, cleaned for display.
    pub(crate) tool: String,
    pub(crate) failure: Failure,
}

/// The answer to one call.
#[derive(Debug, Clone)]
pub(crate) struct CallAnswer {
    /// Index of the call in the plan.
    pub(crate) call: usize,
    pub(crate) tool: String,
    /// The configured location of the items in the answer.
    pub(crate) items: ItemLocation,
    pub(crate) result: CallToolResult,
    /// Size of the answer as received, in bytes.
    pub(crate) bytes: usize,
    pub(crate) latency: Duration,
    /// The time at which the answer arrived.
    pub(crate) at: DateTime<Utc>,
}

impl Upstream {
    /// Creates a server without starting it. `route` names this aggregator and those that started it, to detect loops.
    pub(crate) fn new(config: ServerConfig, settings: Arc<Settings>, route: Route) -> Arc<Self> {
        Self::with_discovery_interval(config, settings, route, DISCOVERY_INTERVAL)
    }

    fn with_discovery_interval(
        config: ServerConfig,
        settings: Arc<Settings>,
        route: Route,
        discovery_interval: Duration,
    ) -> Arc<Self> {
        let (status, _) = watch::channel(Status::new(RunState::Idle));
        let secrets = Arc::new(Secrets::of(&config));
        let shared = Shared {
            stats: Arc::new(Stats::new(Arc::clone(&secrets))),
            breaker: Breaker::new(settings.breaker_failures, settings.breaker_open),
            permits: Semaphore::new(settings.calls_per_server.clamp(1, Semaphore::MAX_PERMITS)),
            status,
            waited: AtomicU32::new(0),
            refused: AtomicU32::new(0),
            outdated: Notify::new(),
            discovery_interval,
            is_started: AtomicBool::new(false),
            wanted: Notify::new(),
            doubted: Notify::new(),
            closing: CancellationToken::new(),
            stderr_tail: process::stderr_tail(Arc::clone(&secrets)),
            secrets,
            logged: Mutex::default(),
            span: tracing::info_span!(parent: None, "upstream", server = config.name),
            config,
            settings,
            route,
        };
        Arc::new(Self { shared: Arc::new(shared), running: Mutex::default() })
    }

    /// Starts the server in the background. If the configuration says `lazy`, the first query
    /// starts it. Further calls have no effect.
    pub(crate) fn start(self: &Arc<Self>) {
        let shared = Arc::clone(&self.shared);
        if shared.config.disabled || shared.is_started.swap(true, Relaxed) {
            return;
        }
        if !shared.settings.lazy {
            shared.wanted.notify_one();
        }
        let span = shared.span.clone();
        let running = tokio::spawn(async move { shared.run().await }.instrument(span));
        *lock(&self.running) = Some(running);
    }

    /// Queries the server until the deadline. Dropping the future cancels the calls.
    ///
    /// # Errors
    ///
    /// Returns the reason why no call was answered.
    pub(crate) async fn ask(
        &self,
        query: &str,
        until: Instant,
        route: &Route,
    ) -> Result<Answers, Failure> {
        let shared = &self.shared;
        let span = tracing::debug_span!(
            "ask",
            server = shared.config.name,
            outcome = tracing::field::Empty,
            bytes = tracing::field::Empty,
        );
        let asked = shared.ask(query, until, route).instrument(span.clone()).await;
        match &asked {
            Ok(asked) => {
                asked.failed.iter().for_each(|call| shared.stats.failed(call.failure));
                let bytes = asked.answers.iter().map(|answer| answer.bytes).sum::<usize>();
                span.record("outcome", "answered").record("bytes", bytes);
            }
            Err(failure) => {
                shared.stats.failed(*failure);
                span.record("outcome", tracing::field::display(failure));
            }
        }
        asked
    }

    /// Starts the server if necessary, and waits until it is ready or has failed to start.
    pub(crate) async fn settled(&self) {
        if !self.shared.is_started.load(Relaxed) {
            return;
        }
        self.shared.wanted.notify_one();
        let mut status = self.shared.status.subscribe();
        let is_settled =
            |status: &Status| !matches!(status.state, RunState::Idle | RunState::Starting);
        // This cannot fail, because `self` holds the sender.
        let _ = status.wait_for(is_settled).await;
    }

    /// Returns the number of starts.
    pub(crate) fn starts(&self) -> u64 {
        self.shared.stats.starts.load(Relaxed)
    }

    /// Waits until the cause of an exit is known, after a call failed because the server exited.
    /// `starts` is the number of starts before the call. The call itself returns earlier.
    pub(crate) async fn has_ended(&self, starts: u64) {
        let shared = &self.shared;
        // Over HTTP, the cause is known together with the failure.
        if matches!(shared.config.how, How::Http { .. }) {
            return;
        }
        let mut status = shared.status.subscribe();
        let is_over =
            |status: &Status| !matches!(status.state, RunState::Ready(_)) || self.starts() > starts;
        let _ = timeout(EXIT_TIMEOUT, status.wait_for(is_over)).await;
        shared.stderr_tail.wait_until_read().await;
    }

    /// Returns a snapshot of the server.
    pub(crate) fn state(&self) -> UpstreamState {
        let shared = &self.shared;
        let stats = &shared.stats;
        let Status { state, since } = shared.status.borrow().clone();
        let (phase, failure, plan) = match state {
            RunState::Idle => (Phase::Idle, None, None),
            RunState::Starting => (Phase::Starting, None, None),
            RunState::Ready(live) => (Phase::Ready, None, Some(Arc::clone(&live.plan))),
            RunState::Failed(failure) => (Phase::Failed, Some(failure), None),
            RunState::Unusable(Failure::NoQueryTool) => {
                (Phase::Unmapped, Some(Failure::NoQueryTool), None)
            }
            RunState::Unusable(Failure::Closed) => (Phase::Closed, None, None),
            RunState::Unusable(failure) => (Phase::Failed, Some(failure), None),
        };
        UpstreamState {
            name: shared.config.name.clone(),
            transport: match shared.config.how {
                How::Command { .. } => "command",
                How::Http { .. } => "http",
            },
            phase,
            failure,
            since,
            plan,
            no_plan: shared.logged().no_plan.clone().filter(|_| phase == Phase::Unmapped),
            starts: stats.starts.load(Relaxed),
            calls: stats.calls.load(Relaxed),
            in_flight: shared
                .settings
                .calls_per_server
                .saturating_sub(shared.permits.available_permits()),
            cancelled: stats.cancelled.load(Relaxed),
            late: stats.late.load(Relaxed),
            failures: stats.failures(),
            latency: stats.latency(),
            bytes_in: stats.bytes_in.load(Relaxed),
            bytes_out: stats.bytes_out.load(Relaxed),
            breaker: shared.breaker.state(),
            stderr_tail: shared.stderr_tail.lines(),
            causes: stats.causes.all(),
        }
    }

    /// Ends the server and all processes that it has started, within a second.
    pub(crate) async fn close(&self) {
        self.shared.closing.cancel();
        let running = lock(&self.running).take();
        if let Some(mut running) = running
            && timeout(CLOSE_TIMEOUT, &mut running).await.is_err()
        {
            // Dropping the task's connection ends the process.
            running.abort();
            let _ = running.await;
        }
        self.shared.set(RunState::Unusable(Failure::Closed));
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.shared.closing.cancel();
        if let Some(running) = self.running.get_mut().unwrap_or_else(PoisonError::into_inner) {
            running.abort();
        }
    }
}

impl Status {
    fn new(state: RunState) -> Self {
        Self { state, since: Utc::now() }
    }
}

// The tests inspect Unix processes.
#[cfg(test)]
#[cfg(unix)]
mod tests;
