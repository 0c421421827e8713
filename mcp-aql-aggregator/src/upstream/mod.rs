//! The servers that are asked: each one started in the background, kept warm, started again when it ends,
//! left alone when it fails, and asked with what its plan says.

mod asking;
mod breaker;
mod connection;
#[cfg(unix)]
mod descendants;
mod failure;
#[cfg(unix)]
mod guard;
#[cfg(feature = "http")]
mod http;
mod keeping;
mod lines;
mod mail;
mod notes;
mod process;
mod route;
mod secrets;
mod stats;
// They look at processes as Unix has them.
#[cfg(test)]
#[cfg(unix)]
mod tests;

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use rmcp::model::CallToolResult;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, Span};

pub(crate) use failure::Failure;

use self::breaker::Breaker;
use self::connection::Live;
use self::process::LastWords;
use self::secrets::Secrets;
use self::stats::Stats;
use crate::ask::{NoPlan, Plan};
use crate::config::{How, ServerConfig, Settings};
use crate::items::Places;
pub(crate) use breaker::BreakerState;
pub(crate) use route::{Route, VARIABLE};
pub(crate) use stats::Latency;

/// Servers that cannot say so are asked for their tools this often.
const TO_LEARN: Duration = Duration::from_secs(300);
/// How long whoever wants to know how a server ended waits for it: longer than closing takes.
const TO_HEAR: Duration = Duration::from_secs(5);
/// Closing takes no longer.
const TO_CLOSE: Duration = Duration::from_secs(1);

/// One server that is asked.
#[derive(Debug)]
pub(crate) struct Upstream {
    shared: Arc<Shared>,
    running: Mutex<Option<JoinHandle<()>>>,
}

/// What the server's own task and those that ask have in common.
#[derive(Debug)]
struct Shared {
    config: ServerConfig,
    settings: Arc<Settings>,
    route: Route,
    stats: Arc<Stats>,
    breaker: Breaker,
    permits: Semaphore,
    status: watch::Sender<Status>,
    /// Queries that waited in vain since the server was ready last.
    waited: AtomicU32,
    is_started: AtomicBool,
    /// Refusals in a row.
    refused: AtomicU32,
    /// Its tools may be others than those that were learnt.
    outdated: Notify,
    to_learn: Duration,
    /// Somebody asks.
    wanted: Notify,
    /// The server may hang.
    doubted: Notify,
    closing: CancellationToken,
    last_words: Arc<LastWords>,
    secrets: Arc<Secrets>,
    told: Mutex<Told>,
    span: Span,
}

/// What was told, and is not told again before it changes.
#[derive(Debug, Default)]
struct Told {
    no_plan: Option<NoPlan>,
    problems: Vec<String>,
    failure: Option<Failure>,
}

/// What a server does.
#[derive(Debug, Clone)]
struct Status {
    what: What,
    since: DateTime<Utc>,
}

#[derive(Debug, Clone)]
enum What {
    /// Nobody has asked it yet.
    Idle,
    Starting,
    Ready(Arc<Live>),
    /// Until it is started again.
    Failed(Failure),
    /// For good, or until its tools change.
    Unfit(Failure),
}

/// What a server does, for those who watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Nobody has asked it yet.
    Idle,
    Starting,
    Ready,
    Failed,
    /// It has no tool to ask.
    Unmapped,
    Closed,
}

/// What is known of a server, for those who watch.
#[derive(Debug, Clone)]
pub(crate) struct UpstreamState {
    pub(crate) name: String,
    /// `command` or `http`.
    pub(crate) transport: &'static str,
    pub(crate) phase: Phase,
    /// Why it is not ready.
    pub(crate) failure: Option<Failure>,
    /// Since when it is in this state.
    pub(crate) since: DateTime<Utc>,
    /// Which tools are asked, and how.
    pub(crate) plan: Option<Arc<Plan>>,
    /// Why there is no plan, where that is the reason.
    pub(crate) no_plan: Option<NoPlan>,
    pub(crate) starts: u64,
    pub(crate) calls: u64,
    pub(crate) in_flight: usize,
    pub(crate) cancelled: u64,
    /// Answers that came when nobody waited any more.
    pub(crate) late: u64,
    pub(crate) failures: BTreeMap<&'static str, u64>,
    pub(crate) latency: Option<Latency>,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    pub(crate) breaker: BreakerState,
    /// The last lines of its standard error, without the secrets it was given: for the terminal of whoever
    /// checks the configuration, not for answers and logs.
    pub(crate) last_words: Vec<String>,
    /// Why it failed, in its own and the system's words, without the secrets: for the same.
    pub(crate) causes: Vec<String>,
}

/// What a server gave to a query.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    pub(crate) answers: Vec<CallAnswer>,
    /// The calls that failed beside those that were answered.
    pub(crate) failed: Vec<FailedCall>,
}

/// A call that failed, where another one was answered.
#[derive(Debug, Clone)]
pub(crate) struct FailedCall {
    /// The tool, as it may be told.
    pub(crate) tool: String,
    pub(crate) failure: Failure,
}

/// What one call was answered.
#[derive(Debug, Clone)]
pub(crate) struct CallAnswer {
    /// The place of the call among those of the plan.
    pub(crate) call: usize,
    pub(crate) tool: String,
    /// Where in the answer the items are, as configured.
    pub(crate) items: Places,
    pub(crate) result: CallToolResult,
    /// Of the answer as it came.
    pub(crate) bytes: usize,
    pub(crate) latency: Duration,
    /// When it had arrived.
    pub(crate) at: DateTime<Utc>,
}

impl Upstream {
    /// A server that is not started yet. `route` is that of this aggregator itself.
    pub(crate) fn new(config: ServerConfig, settings: Arc<Settings>, route: Route) -> Arc<Self> {
        Self::learning(config, settings, route, TO_LEARN)
    }

    fn learning(
        config: ServerConfig,
        settings: Arc<Settings>,
        route: Route,
        to_learn: Duration,
    ) -> Arc<Self> {
        let (status, _) = watch::channel(Status::new(What::Idle));
        let secrets = Arc::new(Secrets::of(&config));
        let shared = Shared {
            stats: Arc::new(Stats::new(Arc::clone(&secrets))),
            breaker: Breaker::new(settings.breaker_failures, settings.breaker_open),
            permits: Semaphore::new(settings.calls_per_server.clamp(1, Semaphore::MAX_PERMITS)),
            status,
            waited: AtomicU32::new(0),
            refused: AtomicU32::new(0),
            outdated: Notify::new(),
            to_learn,
            is_started: AtomicBool::new(false),
            wanted: Notify::new(),
            doubted: Notify::new(),
            closing: CancellationToken::new(),
            last_words: LastWords::new(Arc::clone(&secrets)),
            secrets,
            told: Mutex::default(),
            span: tracing::info_span!(parent: None, "upstream", server = config.name),
            config,
            settings,
            route,
        };
        Arc::new(Self { shared: Arc::new(shared), running: Mutex::default() })
    }

    /// Starts the server in the background, or has it started by the first query. A second time, nothing
    /// happens.
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
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = Some(running);
    }

    /// Asks the server, until that time at the latest. Dropped, its calls are cancelled.
    ///
    /// # Errors
    /// Why there is no answer to any of the calls.
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

    /// Has the server started, and waits until it is ready, or failed to get so.
    pub(crate) async fn settled(&self) {
        if !self.shared.is_started.load(Relaxed) {
            return;
        }
        self.shared.wanted.notify_one();
        let mut status = self.shared.status.subscribe();
        let is_settled = |status: &Status| !matches!(status.what, What::Idle | What::Starting);
        // Whoever sends it is held by us.
        let _ = status.wait_for(is_settled).await;
    }

    /// How often it was started.
    pub(crate) fn starts(&self) -> u64 {
        self.shared.stats.starts.load(Relaxed)
    }

    /// Of a server that ended while it was asked, and had been started so often before: waits until it is
    /// known how it ended. Whoever asked hears sooner that it did.
    pub(crate) async fn has_ended(&self, starts: u64) {
        let shared = &self.shared;
        // Why a request broke is known with it.
        if matches!(shared.config.how, How::Http { .. }) {
            return;
        }
        let mut status = shared.status.subscribe();
        let is_over =
            |status: &Status| !matches!(status.what, What::Ready(_)) || self.starts() > starts;
        let _ = timeout(TO_HEAR, status.wait_for(is_over)).await;
        shared.last_words.are_heard().await;
    }

    /// What is known of the server.
    pub(crate) fn state(&self) -> UpstreamState {
        let shared = &self.shared;
        let stats = &shared.stats;
        let Status { what, since } = shared.status.borrow().clone();
        let (phase, failure, plan) = match what {
            What::Idle => (Phase::Idle, None, None),
            What::Starting => (Phase::Starting, None, None),
            What::Ready(live) => (Phase::Ready, None, Some(Arc::clone(&live.plan))),
            What::Failed(failure) => (Phase::Failed, Some(failure), None),
            What::Unfit(Failure::NoQueryTool) => {
                (Phase::Unmapped, Some(Failure::NoQueryTool), None)
            }
            What::Unfit(Failure::Closed) => (Phase::Closed, None, None),
            What::Unfit(failure) => (Phase::Failed, Some(failure), None),
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
            no_plan: shared.told().no_plan.clone().filter(|_| phase == Phase::Unmapped),
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
            last_words: shared.last_words.lines(),
            causes: stats.notes.all(),
        }
    }

    /// Ends the server, with all that it has started, within a second.
    pub(crate) async fn close(&self) {
        self.shared.closing.cancel();
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut running) = running
            && timeout(TO_CLOSE, &mut running).await.is_err()
        {
            // What it holds ends its process when it is dropped.
            running.abort();
            let _ = running.await;
        }
        self.shared.set(What::Unfit(Failure::Closed));
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
    fn new(what: What) -> Self {
        Self { what, since: Utc::now() }
    }
}
