//! The servers that are asked: each one started in the background, kept warm, started again when it ends,
//! left alone when it fails, and asked with what its plan says.

mod breaker;
#[cfg(feature = "http")]
mod client;
mod connection;
#[cfg(feature = "http")]
mod events;
mod failure;
#[cfg(unix)]
mod guard;
#[cfg(feature = "http")]
mod http;
mod lines;
mod mail;
mod process;
mod route;
mod stats;
// They look at processes as Unix has them.
#[cfg(all(test, unix))]
mod tests;
#[cfg(feature = "tls")]
mod tls;

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures_util::future::join_all;
use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, RequestMetaObject};
use rmcp::service::ServiceError;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, Span};

pub(crate) use failure::Failure;

use self::breaker::{Breaker, Pass};
use self::connection::{Connection, Live};
use self::process::LastWords;
use self::stats::Stats;
use crate::ask::{NoPlan, Plan, PlannedCall};
use crate::config::{How, ServerConfig, Settings};
use crate::items::{holds_nothing, is_failure};
pub(crate) use breaker::BreakerState;
pub(crate) use route::{Route, VARIABLE};
pub(crate) use stats::Latency;

/// Before it is started again, a server is left so long, then twice as long, and so on,
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// up to this.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A connection that held so long was no failed start.
const HELD: Duration = Duration::from_secs(10);
/// So many queries wait in vain for a server that does not get ready, until the next ones wait no more.
const PATIENCE: u32 = 3;
/// A server that answered nothing lately has so long to answer a ping.
const TO_PING: Duration = Duration::from_secs(2);
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
    /// Somebody asks.
    wanted: Notify,
    /// The server may hang.
    doubted: Notify,
    closing: CancellationToken,
    last_words: Arc<LastWords>,
    no_plan: Mutex<Option<NoPlan>>,
    span: Span,
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
    /// For good.
    Unfit(Failure),
}

/// What is known of a server, for those who watch.
#[derive(Debug, Clone)]
pub(crate) struct UpstreamState {
    pub(crate) name: String,
    /// `command` or `http`.
    pub(crate) transport: &'static str,
    /// `idle`, `starting`, `ready`, `failed`, `unmapped` (no tool to ask) or `closed`.
    pub(crate) status: &'static str,
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
}

/// What one call was answered.
#[derive(Debug, Clone)]
pub(crate) struct CallAnswer {
    /// The place of the call among those of the plan.
    pub(crate) call: usize,
    pub(crate) tool: String,
    /// Where in the answer the items are, as configured.
    pub(crate) items: Option<String>,
    pub(crate) result: CallToolResult,
    /// Of the answer as it came.
    pub(crate) bytes: usize,
    pub(crate) latency: Duration,
}

impl Upstream {
    /// A server that is not started yet. `route` is that of this aggregator itself.
    pub(crate) fn new(config: ServerConfig, settings: Arc<Settings>, route: Route) -> Arc<Self> {
        let (status, _) = watch::channel(Status::new(What::Idle));
        let shared = Shared {
            stats: Arc::default(),
            breaker: Breaker::new(settings.breaker_failures, settings.breaker_open),
            permits: Semaphore::new(settings.calls_per_server.clamp(1, Semaphore::MAX_PERMITS)),
            status,
            waited: AtomicU32::new(0),
            is_started: AtomicBool::new(false),
            wanted: Notify::new(),
            doubted: Notify::new(),
            closing: CancellationToken::new(),
            last_words: LastWords::new(connection::secrets(&config.how)),
            no_plan: Mutex::default(),
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
    ) -> Result<Vec<CallAnswer>, Failure> {
        let shared = &self.shared;
        let span = tracing::debug_span!(
            "ask",
            server = shared.config.name,
            outcome = tracing::field::Empty,
            bytes = tracing::field::Empty,
        );
        let asked = shared.ask(query, until, route).instrument(span.clone()).await;
        match &asked {
            Ok(answers) => {
                let bytes = answers.iter().map(|answer| answer.bytes).sum::<usize>();
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

    /// What is known of the server.
    pub(crate) fn state(&self) -> UpstreamState {
        let shared = &self.shared;
        let stats = &shared.stats;
        let Status { what, since } = shared.status.borrow().clone();
        let (status, failure, plan) = match what {
            What::Idle => ("idle", None, None),
            What::Starting => ("starting", None, None),
            What::Ready(live) => ("ready", None, Some(Arc::clone(&live.plan))),
            What::Failed(failure) => ("failed", Some(failure), None),
            What::Unfit(Failure::NoQueryTool) => ("unmapped", Some(Failure::NoQueryTool), None),
            What::Unfit(Failure::Closed) => ("closed", None, None),
            What::Unfit(failure) => ("failed", Some(failure), None),
        };
        UpstreamState {
            name: shared.config.name.clone(),
            transport: match shared.config.how {
                How::Command { .. } => "command",
                How::Http { .. } => "http",
            },
            status,
            failure,
            since,
            plan,
            no_plan: shared.no_plan().clone().filter(|_| status == "unmapped"),
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

impl Shared {
    fn set(&self, what: What) {
        match &what {
            What::Ready(_) => tracing::info!(parent: &self.span, "ready"),
            What::Failed(failure) => {
                tracing::warn!(parent: &self.span, failure = %failure, "failed");
            }
            What::Unfit(failure) => tracing::info!(parent: &self.span, why = %failure, "not asked"),
            What::Idle | What::Starting => {}
        }
        self.status.send_replace(Status::new(what));
    }

    fn no_plan(&self) -> std::sync::MutexGuard<'_, Option<NoPlan>> {
        self.no_plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_no_plan(&self, why: NoPlan) {
        *self.no_plan() = Some(why);
    }

    /// Keeps the server running until it is closed.
    async fn run(&self) {
        tokio::select! {
            () = self.wanted.notified() => {}
            () = self.closing.cancelled() => return,
        }
        let mut pause = FIRST_PAUSE;
        loop {
            self.set(What::Starting);
            Stats::count(&self.stats.starts, 1);
            let opened = tokio::select! {
                opened = Connection::open(self) => opened,
                () = self.closing.cancelled() => return,
            };
            let failure = match opened {
                Ok(connection) => {
                    self.waited.store(0, Relaxed);
                    let since = Instant::now();
                    let served = self.stats.calls.load(Relaxed);
                    let live = connection.live();
                    let why = self.keep(connection).await;
                    if self.closing.is_cancelled() {
                        return;
                    }
                    let has_held = since.elapsed() >= HELD;
                    if has_held {
                        pause = FIRST_PAUSE;
                    }
                    // What ends now and then is started again at once, what ends again and again is not; and
                    // a session that is over says nothing of its server.
                    let has_served = self.stats.calls.load(Relaxed) > served;
                    let is_expired = live.mail.is_expired();
                    if is_expired || has_held || has_served && pause == FIRST_PAUSE {
                        if !is_expired {
                            tracing::warn!(failure = %why, "starts again");
                            pause = FIRST_PAUSE * 2;
                        }
                        continue;
                    }
                    why
                }
                Err(failure @ (Failure::NoQueryTool | Failure::Loop | Failure::Plain)) => {
                    return self.set(What::Unfit(failure));
                }
                Err(failure) => failure,
            };
            // For whoever then asks why.
            self.last_words.are_heard().await;
            self.set(What::Failed(failure));
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.closing.cancelled() => return,
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Has a connection used until it ends, and says why it ended.
    async fn keep(&self, mut connection: Connection) -> Failure {
        self.set(What::Ready(connection.live()));
        let why = loop {
            tokio::select! {
                why = connection.ended() => break why,
                () = self.closing.cancelled() => break Failure::Closed,
                () = self.doubted.notified() => {
                    if !connection.answers_ping(TO_PING).await {
                        break Failure::Exited;
                    }
                }
                () = connection.tools_changed() => match connection.plan_again(self).await {
                    Ok(live) => self.set(What::Ready(live)),
                    // The old plan may still do; if not, its calls fail.
                    Err(failure) => tracing::debug!(failure = %failure, "its new tools are not known"),
                },
            }
        };
        connection.close(why).await;
        why
    }

    async fn ask(
        &self,
        query: &str,
        until: Instant,
        route: &Route,
    ) -> Result<Vec<CallAnswer>, Failure> {
        if self.config.disabled {
            return Err(Failure::Closed);
        }
        if let What::Unfit(failure) = self.status.borrow().what {
            return Err(failure);
        }
        let limit = self.config.settings.timeout.unwrap_or(self.settings.server_timeout);
        let begun = Instant::now();
        let until = until.min(begun + limit);
        let limit = until.saturating_duration_since(begun);
        let pass = self.breaker.pass().ok_or(Failure::CircuitOpen)?;
        let mut asked = self.ask_once(query, until, limit, route).await;
        // Another session answers what the last one was asked.
        if matches!(asked, Err(Unanswered { is_expired: true, .. })) {
            asked = self.ask_once(query, until, limit, route).await;
        }
        self.settle(pass, asked.as_ref().err());
        asked.map_err(|unanswered| unanswered.failure)
    }

    fn settle(&self, pass: Pass<'_>, unanswered: Option<&Unanswered>) {
        match unanswered {
            // It was not even asked: when it is started again is decided elsewhere.
            Some(Unanswered { was_asked: false, .. }) => {}
            Some(Unanswered { failure, has_ended, .. }) if *has_ended || failure.is_of_server() => {
                if pass.failed() {
                    tracing::warn!(parent: &self.span, failure = %failure, "circuit open");
                    self.doubted.notify_one();
                }
            }
            // Whoever refuses is alive.
            _ => pass.succeeded(),
        }
    }

    /// Asks what is connected now.
    async fn ask_once(
        &self,
        query: &str,
        until: Instant,
        limit: Duration,
        route: &Route,
    ) -> Result<Vec<CallAnswer>, Unanswered> {
        let live = self.ready(until).await.map_err(Unanswered::unasked)?;
        let most = self.settings.max_items_per_server;
        let asking = Asking { live: &live, until, limit, path: route.told(), label: route.label() };
        let calls = live.plan.calls(query, most);
        if calls.is_empty() {
            return Err(Unanswered::unasked(Failure::NoQueryTool));
        }
        let count = calls.len();
        let mut answers = self.calls(&asking, calls, 0).await.map_err(|failure| Unanswered {
            failure,
            was_asked: true,
            has_ended: live.mail.cause().is_some(),
            is_expired: live.mail.is_expired(),
        })?;
        // Some servers look for the query as it stands.
        if answers.iter().all(|answer| holds_nothing(&answer.result, answer.items.as_deref())) {
            let again = self.calls(&asking, live.plan.again(query, most), count).await;
            // They are more than was promised.
            answers.extend(again.unwrap_or_default());
        }
        Ok(answers)
    }

    /// Makes all these calls at once, the first of them at that place: what was answered, or why nothing was.
    async fn calls(
        &self,
        asking: &Asking<'_>,
        calls: Vec<PlannedCall>,
        first: usize,
    ) -> Result<Vec<CallAnswer>, Failure> {
        let calls = calls.into_iter().zip(first..);
        let asked = join_all(calls.map(|(call, place)| self.call(asking, place, call))).await;
        let mut failure = None;
        let mut answers = Vec::new();
        for answer in asked {
            match answer {
                Ok(answer) => answers.push(answer),
                Err(why) => failure = failure.or(Some(why)),
            }
        }
        failure.filter(|_| answers.is_empty()).map_or(Ok(answers), Err)
    }

    /// Waits for the server, unless many have done so in vain.
    async fn ready(&self, until: Instant) -> Result<Arc<Live>, Failure> {
        self.wanted.notify_one();
        let mut status = self.status.subscribe();
        let has_patience = self.waited.load(Relaxed) < PATIENCE;
        let wait = async {
            loop {
                match &status.borrow_and_update().what {
                    What::Ready(live) if live.mail.cause().is_none() => {
                        return Ok(Arc::clone(live));
                    }
                    What::Failed(failure) | What::Unfit(failure) => return Err(*failure),
                    What::Idle | What::Starting | What::Ready(_) if !has_patience => {
                        return Err(Failure::Starting);
                    }
                    What::Idle | What::Starting | What::Ready(_) => {}
                }
                if status.changed().await.is_err() {
                    return Err(Failure::Closed);
                }
            }
        };
        match timeout_at(until, wait).await {
            Ok(found) => found,
            Err(_) => {
                self.waited.fetch_add(1, Relaxed);
                Err(Failure::Starting)
            }
        }
    }

    /// One call.
    async fn call(
        &self,
        asking: &Asking<'_>,
        place: usize,
        call: PlannedCall,
    ) -> Result<CallAnswer, Failure> {
        let Asking { live, until, limit, path, label } = asking;
        let PlannedCall { tool, arguments, items } = call;
        let late = |_| Failure::Timeout(*limit);
        let _permit = timeout_at(*until, self.permits.acquire())
            .await
            .map_err(late)?
            .map_err(|_| Failure::Closed)?;
        let mut counted = Counted { stats: &self.stats, is_over: false };
        Stats::count(&self.stats.calls, 1);
        let begun = Instant::now();
        let mut params = CallToolRequestParams::new(tool.clone()).with_arguments(arguments);
        let mut meta = RequestMetaObject::default();
        meta.insert(route::META.to_owned(), path.as_str().into());
        meta.insert(route::LABEL.to_owned(), label.as_str().into());
        params.meta = Some(meta);
        let answered = answer(live, params);
        let answered = timeout_at(*until, answered).await;
        counted.is_over = true;
        let latency = begun.elapsed();
        let mut result = answered.map_err(late)??;
        self.stats.answered(latency);
        if is_failure(&result) {
            return Err(Failure::Tool);
        }
        let bytes = mail::bytes_of(&mut result);
        Ok(CallAnswer { call: place, tool, items, result, bytes, latency })
    }
}

/// What the calls for a query have in common.
struct Asking<'a> {
    live: &'a Live,
    until: Instant,
    limit: Duration,
    path: String,
    label: String,
}

/// Why there is no answer.
#[derive(Debug)]
struct Unanswered {
    failure: Failure,
    was_asked: bool,
    /// The connection is over.
    has_ended: bool,
    /// Another session would be served.
    is_expired: bool,
}

impl Unanswered {
    const fn unasked(failure: Failure) -> Self {
        Self { failure, was_asked: false, has_ended: false, is_expired: false }
    }
}

/// What a server answers to a call; why it does not, in our words.
async fn answer(live: &Live, params: CallToolRequestParams) -> Result<CallToolResult, Failure> {
    match live.peer.call_tool_once(params).await {
        Ok(CallToolResponse::Complete(result)) => Ok(result),
        // It wants to be told more, or to be asked again later: nobody here would.
        Ok(_) => Err(Failure::Protocol),
        Err(ServiceError::McpError(error)) => Err(mail::failure_of(&error)),
        Err(ServiceError::TransportSend(error)) => {
            Err(connection::own(error.error.as_ref()).unwrap_or(Failure::Exited))
        }
        Err(ServiceError::TransportClosed) => Err(live.mail.cause().unwrap_or(Failure::Exited)),
        Err(_) => Err(Failure::Protocol),
    }
}

/// Counts a call that nobody waited for to its end.
struct Counted<'s> {
    stats: &'s Stats,
    is_over: bool,
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            Stats::count(&self.stats.cancelled, 1);
        }
    }
}
