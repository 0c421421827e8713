//! Asks a server: waits for it, makes the calls that its plan says, and tells the breaker how that went.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use chrono::Utc;
use futures_util::future::join_all;
use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, RequestMetaObject};
use rmcp::service::ServiceError;
use tokio::time::{Instant, timeout_at};

use super::breaker::Pass;
use super::connection::{self, Live};
use super::stats::Stats;
use super::{Answers, CallAnswer, FailedCall, Failure, Route, Shared, What, mail, route};
use crate::ask::{PlannedCall, told_name};
use crate::items::{holds_nothing, is_failure};

/// So many queries wait in vain for a server that does not get ready, until the next ones wait no more.
pub(super) const PATIENCE: u32 = 3;
/// So many refusals in a row, and perhaps the tools are others now.
pub(super) const REFUSALS: u32 = 3;

impl Shared {
    pub(super) async fn ask(
        &self,
        query: &str,
        until: Instant,
        route: &Route,
    ) -> Result<Answers, Failure> {
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
        let is_empty =
            |answer: &CallAnswer| holds_nothing(&answer.result, answer.bytes, &answer.items);
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
        self.secrets.mask_answer(&mut result);
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
