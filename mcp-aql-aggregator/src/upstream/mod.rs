//! The servers that are asked: each one started in the background, kept warm, started again when it ends,
//! left alone when it fails, and asked with what its plan says.

mod breaker;
mod connection;
mod failure;
#[cfg(unix)]
mod guard;
#[cfg(feature = "http")]
mod http;
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
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
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
use self::connection::{Connection, Learnt, Live};
use self::process::LastWords;
use self::secrets::Secrets;
use self::stats::Stats;
use crate::ask::{NoPlan, Plan, PlannedCall, Problem, told_name};
use crate::config::{How, ServerConfig, Settings};
use crate::items::{Places, holds_nothing, is_failure};
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
/// Tools are learnt again no sooner than this, however often a server says that they changed.
const BETWEEN_LESSONS: Duration = Duration::from_millis(500);
/// Servers that cannot say so are asked for their tools this often.
const TO_LEARN: Duration = Duration::from_secs(300);
/// So many refusals in a row, and perhaps the tools are others now.
const REFUSALS: u32 = 3;
/// A server that answered nothing lately has so long to answer a ping.
const TO_PING: Duration = Duration::from_secs(2);
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
        let shared = Shared {
            stats: Arc::default(),
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
            last_words: LastWords::new(Secrets::of(&config)),
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
            no_plan: shared.told().no_plan.clone().filter(|_| status == "unmapped"),
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
            causes: stats.notes.all().iter().map(|note| shared.last_words.hidden(note)).collect(),
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
        let server = &self.config.name;
        match &what {
            What::Ready(_) => {
                self.told().failure = None;
                tracing::info!(parent: &self.span, server, "ready");
            }
            What::Failed(failure) => {
                // What cannot start is tried for ever: it is told once.
                if self.told().failure.replace(*failure) != Some(*failure) {
                    tracing::warn!(parent: &self.span, server, %failure, "failed");
                }
            }
            What::Unfit(failure) => {
                tracing::info!(parent: &self.span, server, why = %failure, "not asked");
            }
            What::Idle | What::Starting => {}
        }
        self.status.send_modify(|status| {
            let is_same = match (&status.what, &what) {
                (What::Ready(_), What::Ready(_)) => true,
                (What::Unfit(one), What::Unfit(other)) => one == other,
                _ => false,
            };
            let since = if is_same { status.since } else { Utc::now() };
            *status = Status { what, since };
        });
    }

    fn told(&self) -> std::sync::MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the cause of a failure for whoever checks the configuration.
    fn note(&self, cause: &str) {
        self.stats.notes.add(cause);
    }

    /// Has queries go by what was learnt.
    fn set_learnt(&self, learnt: Learnt) {
        let problems = match &learnt {
            Ok(live) => live.plan.problems(),
            Err(NoPlan::Configured(problems)) => problems,
            Err(_) => &[],
        };
        let problems: Vec<_> = problems.iter().map(Problem::in_brief).collect();
        let is_new = {
            let mut told = self.told();
            told.no_plan = learnt.as_ref().err().cloned();
            let is_new = told.problems != problems;
            told.problems.clone_from(&problems);
            is_new
        };
        let server = &self.config.name;
        for problem in problems.iter().filter(|_| is_new) {
            tracing::warn!(parent: &self.span, server, problem, "cannot be asked as configured");
        }
        self.set(match learnt {
            Ok(live) => What::Ready(live),
            Err(_) => What::Unfit(Failure::NoQueryTool),
        });
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
                Ok(mut connection) => {
                    self.waited.store(0, Relaxed);
                    self.set_learnt(connection.learnt());
                    // Nothing will ever be asked of it.
                    if connection.learnt().is_err() && !connection.may_change() {
                        return connection.close(Failure::NoQueryTool, self).await;
                    }
                    let since = Instant::now();
                    let served = self.stats.calls.load(Relaxed);
                    let why = self.keep(&mut connection).await;
                    let is_expired = connection.is_expired();
                    connection.close(why, self).await;
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
                    if is_expired || has_held || has_served && pause == FIRST_PAUSE {
                        if !is_expired {
                            let server = &self.config.name;
                            tracing::warn!(server, failure = %why, "starts again");
                            pause = FIRST_PAUSE * 2;
                        }
                        continue;
                    }
                    why
                }
                Err(failure @ (Failure::Loop | Failure::Plain)) => {
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

    /// Has a connection used until it is over, and says why it is.
    async fn keep(&self, connection: &mut Connection) -> Failure {
        loop {
            let next_lesson = connection.learnt_at() + self.to_learn;
            tokio::select! {
                why = connection.ended() => return why,
                () = self.closing.cancelled() => return Failure::Closed,
                () = self.doubted.notified() => {
                    if !connection.answers_ping(TO_PING).await {
                        self.note("ping: no answer");
                        return Failure::Exited;
                    }
                }
                () = connection.tools_changed() => {
                    // Until it is known what they are now, none is called: one may write.
                    self.set(What::Starting);
                    if let Err(why) = self.learn_again(connection).await {
                        return why;
                    }
                }
                () = self.outdated.notified() => self.look_again(connection).await,
                () = tokio::time::sleep_until(next_lesson), if connection.is_http() => {
                    self.look_again(connection).await;
                }
            }
        }
    }

    async fn learn_again(&self, connection: &mut Connection) -> Result<(), Failure> {
        let learning = async {
            tokio::time::sleep_until(connection.learnt_at() + BETWEEN_LESSONS).await;
            connection.learn_again(self).await
        };
        tokio::select! {
            learned = learning => learned?,
            () = self.closing.cancelled() => return Err(Failure::Closed),
        }
        self.set_learnt(connection.learnt());
        Ok(())
    }

    /// Learns the tools again where nothing says that they changed: if that fails, all stays as it was.
    async fn look_again(&self, connection: &mut Connection) {
        if let Err(failure) = self.learn_again(connection).await {
            let server = &self.config.name;
            tracing::debug!(server, %failure, "its tools are not known anew");
        }
    }

    async fn ask(&self, query: &str, until: Instant, route: &Route) -> Result<Answers, Failure> {
        if self.config.disabled {
            return Err(Failure::Closed);
        }
        if let What::Unfit(failure) = self.status.borrow().what {
            return Err(failure);
        }
        let begun = Instant::now();
        if until <= begun {
            // Its time was used up before anybody asked it.
            return Err(Failure::Busy);
        }
        let until = until.min(begun + self.limit());
        let pass = self.breaker.pass().ok_or(Failure::CircuitOpen)?;
        let turn = Turn::new(self, pass, begun, until);
        let mut asked = self.ask_once(query, &turn, route).await;
        // Another session answers what the last one was asked.
        if matches!(asked, Err(Unanswered { is_expired: true, .. })) {
            asked = self.ask_once(query, &turn, route).await;
        }
        self.count_refusals(&asked);
        match asked {
            Ok(answers) => {
                turn.settle(Verdict::Alive, None);
                Ok(answers)
            }
            Err(Unanswered { failure, verdict, .. }) => {
                turn.settle(verdict, Some(failure));
                Err(failure)
            }
        }
    }

    /// Servers that refuse again and again may have other tools by now, and no way to say so.
    fn count_refusals(&self, asked: &Result<Answers, Unanswered>) {
        let is_refusal = |failure| matches!(failure, Failure::Protocol | Failure::Tool);
        let is_refused = match asked {
            Ok(asked) => asked.failed.iter().any(|call| is_refusal(call.failure)),
            Err(unanswered) => is_refusal(unanswered.failure),
        };
        if !is_refused {
            self.refused.store(0, Relaxed);
        } else if self.refused.fetch_add(1, Relaxed) + 1 >= REFUSALS {
            self.refused.store(0, Relaxed);
            self.outdated.notify_one();
        }
    }

    /// How long the server may take.
    fn limit(&self) -> Duration {
        self.config.settings.timeout.unwrap_or(self.settings.server_timeout)
    }

    /// The same, as far as a query has so much time.
    fn whole_limit(&self) -> Duration {
        self.limit().min(self.settings.deadline)
    }

    /// Asks what is connected now.
    async fn ask_once(
        &self,
        query: &str,
        turn: &Turn<'_>,
        route: &Route,
    ) -> Result<Answers, Unanswered> {
        let begun = Instant::now();
        let live = self.ready(turn.until).await.map_err(Unanswered::unasked)?;
        turn.has_waited(begun.elapsed());
        let most = self.settings.max_items_per_server;
        let asking = Asking { live: &live, turn, path: route.told(), label: route.label() };
        let calls = live.plan.calls(query, most);
        if calls.is_empty() {
            return Err(Unanswered::unasked(Failure::NoQueryTool));
        }
        let count = calls.len();
        let (answers, failed) = self.calls(&asking, calls, 0).await;
        let mut asked = Answers { answers, failed: failed.iter().map(Failed::told).collect() };
        if asked.answers.is_empty() {
            let has_ended = live.mail.cause().is_some();
            return Err(Unanswered::of(&failed, has_ended, live.mail.is_expired()));
        }
        // Some servers look for the query as it stands.
        let is_empty = |answer: &CallAnswer| holds_nothing(&answer.result, &answer.items);
        if asked.answers.iter().all(is_empty) {
            // These are more than was promised: they may fail.
            let (more, _) = self.calls(&asking, live.plan.again(query, most), count).await;
            asked.answers.extend(more);
        }
        Ok(asked)
    }

    /// Makes all these calls at once, the first of them at that place: what was answered, and what was not.
    async fn calls(
        &self,
        asking: &Asking<'_>,
        calls: Vec<PlannedCall>,
        first: usize,
    ) -> (Vec<CallAnswer>, Vec<Failed>) {
        let calls = calls.into_iter().zip(first..);
        let asked = join_all(calls.map(|(call, place)| self.call(asking, place, call))).await;
        let mut failed = Vec::new();
        let mut answers = Vec::new();
        for answer in asked {
            match answer {
                Ok(answer) => answers.push(answer),
                Err(why) => failed.push(why),
            }
        }
        (answers, failed)
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
    ) -> Result<CallAnswer, Failed> {
        let Asking { live, turn, path, label } = asking;
        let PlannedCall { tool, arguments, items } = call;
        let unsent = |failure| Failed { tool: tool.clone(), failure, verdict: Verdict::Nothing };
        // Calls of ours are in the way: that is no fault of the server.
        let asked = Instant::now();
        let _permit = timeout_at(turn.until, self.permits.acquire())
            .await
            .map_err(|_| unsent(Failure::Busy))?
            .map_err(|_| unsent(Failure::Closed))?;
        let mut counted = Counted { stats: &self.stats, is_over: false };
        Stats::count(&self.stats.calls, 1);
        let begun = Instant::now();
        let waited = turn.waited() + begun.duration_since(asked);
        turn.sent.get_or_init(|| begun);
        let mut params = CallToolRequestParams::new(tool.clone()).with_arguments(arguments);
        let mut meta = RequestMetaObject::default();
        meta.insert(route::META.to_owned(), path.as_str().into());
        meta.insert(route::LABEL.to_owned(), label.as_str().into());
        params.meta = Some(meta);
        let answered = timeout_at(turn.until, answer(live, params)).await;
        counted.is_over = true;
        let latency = begun.elapsed();
        let failed = |failure| {
            let verdict = turn.verdict(failure, turn.begun.elapsed().saturating_sub(waited));
            Failed { tool: tool.clone(), failure, verdict }
        };
        let answered = answered.unwrap_or(Err(Failure::Timeout(turn.limit)));
        let mut result = answered.map_err(failed)?;
        self.stats.answered(latency);
        if is_failure(&result) {
            if result.is_error != Some(true) {
                self.note_failure(&tool, &result);
            }
            return Err(failed(Failure::Tool));
        }
        turn.is_answered.store(true, Relaxed);
        let bytes = mail::bytes_of(&mut result);
        Ok(CallAnswer { call: place, tool, items, result, bytes, latency, at: Utc::now() })
    }
}

impl Shared {
    /// What a tool says that does not even say that it failed.
    fn note_failure(&self, tool: &str, result: &CallToolResult) {
        let text = result.content.iter().find_map(|block| block.as_text());
        let structured = result.structured_content.as_ref().map(ToString::to_string);
        let told = text.map(|text| text.text.clone()).or(structured).unwrap_or_default();
        self.note(&format!("{}: {told}", told_name(tool)));
    }
}

/// What the calls for a query have in common.
struct Asking<'a> {
    live: &'a Live,
    turn: &'a Turn<'a>,
    path: String,
    label: String,
}

/// A query's turn with a server: how long it has, and what it tells the breaker.
struct Turn<'s> {
    shared: &'s Shared,
    /// Gone once the breaker has heard how it went.
    pass: Option<Pass<'s>>,
    begun: Instant,
    until: Instant,
    /// From its beginning to its end.
    limit: Duration,
    /// So much of it was gone before the server was ready.
    waited: Mutex<Duration>,
    /// When the first call was sent.
    sent: OnceLock<Instant>,
    is_answered: AtomicBool,
}

impl<'s> Turn<'s> {
    fn new(shared: &'s Shared, pass: Pass<'s>, begun: Instant, until: Instant) -> Self {
        Self {
            shared,
            pass: Some(pass),
            begun,
            until,
            limit: until.saturating_duration_since(begun),
            waited: Mutex::default(),
            sent: OnceLock::new(),
            is_answered: AtomicBool::new(false),
        }
    }

    fn waited(&self) -> Duration {
        *self.waited.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_waited(&self, more: Duration) {
        *self.waited.lock().unwrap_or_else(PoisonError::into_inner) += more;
    }

    /// What a call that failed says of the server, which had this time for it.
    fn verdict(&self, failure: Failure, took: Duration) -> Verdict {
        let whole = self.shared.whole_limit();
        let is = |true_of: bool| if true_of { Verdict::Fails } else { Verdict::Alive };
        match failure {
            // Our own queue, or its start, may have left it next to nothing.
            Failure::Timeout(_) if took * 10 < whole * 9 => Verdict::Nothing,
            // Whoever refuses is alive, unless that takes as long as being dead.
            _ => is(failure.is_of_server() || took * 2 >= whole),
        }
    }

    fn settle(mut self, verdict: Verdict, failure: Option<Failure>) {
        self.tell(verdict, failure);
    }

    fn tell(&mut self, verdict: Verdict, failure: Option<Failure>) {
        let Some(pass) = self.pass.take() else { return };
        match verdict {
            Verdict::Nothing => {}
            Verdict::Alive => pass.succeeded(),
            Verdict::Fails => {
                if pass.failed() {
                    let why = failure.map_or_else(|| "given up".to_owned(), |it| it.to_string());
                    let server = &self.shared.config.name;
                    tracing::warn!(parent: &self.shared.span, server, failure = why, "circuit open");
                    self.shared.doubted.notify_one();
                }
            }
        }
    }
}

impl Drop for Turn<'_> {
    /// Whoever asked has given up. Clients that wait no longer than this shall not ask a dead server for ever.
    fn drop(&mut self) {
        let waited = self.sent.get().map(Instant::elapsed).unwrap_or_default();
        if waited * 2 >= self.shared.whole_limit() && !self.is_answered.load(Relaxed) {
            self.tell(Verdict::Fails, None);
        }
    }
}

/// What came of asking says of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// It was not asked, or not for long.
    Nothing,
    Alive,
    Fails,
}

/// A call that failed.
#[derive(Debug)]
struct Failed {
    tool: String,
    failure: Failure,
    verdict: Verdict,
}

impl Failed {
    fn told(&self) -> FailedCall {
        FailedCall { tool: told_name(&self.tool), failure: self.failure }
    }
}

/// Why there is no answer.
#[derive(Debug)]
struct Unanswered {
    failure: Failure,
    verdict: Verdict,
    /// Another session would be served.
    is_expired: bool,
}

impl Unanswered {
    const fn unasked(failure: Failure) -> Self {
        Self { failure, verdict: Verdict::Nothing, is_expired: false }
    }

    /// Of calls, all of which failed: the worst is told.
    fn of(failed: &[Failed], has_ended: bool, is_expired: bool) -> Self {
        let worst = failed.iter().find(|call| call.verdict == Verdict::Fails);
        let Some(told) = worst.or(failed.first()) else {
            return Self::unasked(Failure::NoQueryTool);
        };
        let verdict = if has_ended { Verdict::Fails } else { told.verdict };
        Self { failure: told.failure, verdict, is_expired }
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
