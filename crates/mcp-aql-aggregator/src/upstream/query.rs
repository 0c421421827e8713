//! Queries a server: waits until it is ready, makes the calls of its plan, and reports the outcome
//! to the circuit breaker.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use chrono::Utc;
use futures_util::future::join_all;
use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, RequestMetaObject};
use rmcp::service::ServiceError;
use tokio::time::{Instant, timeout_at};

use super::connection::{self, LiveConnection};
use super::query_attempt::{AttemptFailure, CallFailure, Liveness, QueryAttempt};
use super::stats::Stats;
use super::{Answers, CallAnswer, Failure, Route, RunState, Shared, message_filter, route};
use crate::ask::{PlannedCall, display_name};
use crate::items::{is_empty_answer, is_failure};

/// Number of queries whose wait for a server may time out before it becomes ready. Later queries fail immediately.
pub(super) const MAX_FAILED_WAITS: u32 = 3;
/// Number of consecutive rejected queries after which the list of tools is fetched again.
pub(super) const MAX_REFUSALS: u32 = 3;

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
        if let RunState::Unusable(failure) = self.status.borrow().state {
            return Err(failure);
        }
        let begun = Instant::now();
        if until <= begun {
            // The deadline passed before the query's turn.
            return Err(Failure::Busy);
        }
        let until = until.min(begun + self.limit());
        let pass = self.breaker.permit().ok_or(Failure::CircuitOpen)?;
        let attempt = QueryAttempt::new(self, pass, begun, until);
        let mut asked = self.ask_once(query, &attempt, route).await;
        // A new session may answer what the expired one did not.
        if matches!(asked, Err(AttemptFailure { is_expired: true, .. })) {
            asked = self.ask_once(query, &attempt, route).await;
        }
        self.count_refusals(&asked);
        match asked {
            Ok(answers) => {
                attempt.settle(Liveness::Alive, None);
                Ok(answers)
            }
            Err(AttemptFailure { failure, liveness, .. }) => {
                attempt.settle(liveness, Some(failure));
                Err(failure)
            }
        }
    }

    /// Counts rejected queries. A server that rejects repeatedly may have changed its tools without
    /// being able to announce it.
    fn count_refusals(&self, asked: &Result<Answers, AttemptFailure>) {
        let is_refusal = |failure| matches!(failure, Failure::Protocol | Failure::Tool);
        let is_refused = match asked {
            Ok(asked) => asked.failed.iter().any(|call| is_refusal(call.failure)),
            Err(unanswered) => is_refusal(unanswered.failure),
        };
        if !is_refused {
            self.refused.store(0, Relaxed);
        } else if self.refused.fetch_add(1, Relaxed) + 1 >= MAX_REFUSALS {
            self.refused.store(0, Relaxed);
            self.outdated.notify_one();
        }
    }

    /// Returns the time limit of the server.
    fn limit(&self) -> Duration {
        self.config.settings.timeout.unwrap_or(self.settings.server_timeout)
    }

    /// Returns the time limit of the server within the deadline of a query.
    pub(super) fn whole_limit(&self) -> Duration {
        self.limit().min(self.settings.deadline)
    }

    /// Makes the calls on the current connection.
    async fn ask_once(
        &self,
        query: &str,
        attempt: &QueryAttempt<'_>,
        route: &Route,
    ) -> Result<Answers, AttemptFailure> {
        let begun = Instant::now();
        let live = self.ready(attempt.until).await.map_err(AttemptFailure::not_called)?;
        attempt.has_waited(begun.elapsed());
        let most = self.settings.max_items_per_server;
        let asking =
            CallContext { live: &live, attempt, path: route.names(), label: route.label() };
        let calls = live.plan.calls(query, most);
        if calls.is_empty() {
            return Err(AttemptFailure::not_called(Failure::NoQueryTool));
        }
        let count = calls.len();
        let (answers, failed) = self.calls(&asking, calls, 0).await;
        let mut asked =
            Answers { answers, failed: failed.iter().map(CallFailure::to_failed_call).collect() };
        if asked.answers.is_empty() {
            let has_ended = live.filter.cause().is_some();
            return Err(AttemptFailure::of(&failed, has_ended, live.filter.is_expired()));
        }
        // Some servers search for the query as one phrase, so retry with its words.
        let is_empty =
            |answer: &CallAnswer| is_empty_answer(&answer.result, answer.bytes, &answer.items);
        if asked.answers.iter().all(is_empty) {
            // Failures of these additional calls are ignored.
            let (more, _) = self.calls(&asking, live.plan.again(query, most), count).await;
            asked.answers.extend(more);
        }
        Ok(asked)
    }

    /// Makes calls concurrently. Returns the answered and the failed ones. `first` is the index of
    /// the first call.
    async fn calls(
        &self,
        asking: &CallContext<'_>,
        calls: Vec<PlannedCall>,
        first: usize,
    ) -> (Vec<CallAnswer>, Vec<CallFailure>) {
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

    /// Waits until the server is ready, unless the waits of many queries have already timed out.
    async fn ready(&self, until: Instant) -> Result<Arc<LiveConnection>, Failure> {
        self.wanted.notify_one();
        let mut status = self.status.subscribe();
        let may_wait = self.waited.load(Relaxed) < MAX_FAILED_WAITS;
        let wait = async {
            loop {
                match &status.borrow_and_update().state {
                    RunState::Ready(live) if live.filter.cause().is_none() => {
                        return Ok(Arc::clone(live));
                    }
                    RunState::Failed(failure) | RunState::Unusable(failure) => {
                        return Err(*failure);
                    }
                    RunState::Idle | RunState::Starting | RunState::Ready(_) if !may_wait => {
                        return Err(Failure::Starting);
                    }
                    RunState::Idle | RunState::Starting | RunState::Ready(_) => {}
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

    /// Makes one call.
    async fn call(
        &self,
        asking: &CallContext<'_>,
        place: usize,
        call: PlannedCall,
    ) -> Result<CallAnswer, CallFailure> {
        let CallContext { live, attempt, path, label } = asking;
        let PlannedCall { tool, arguments, items } = call;
        let unsent =
            |failure| CallFailure { tool: tool.clone(), failure, liveness: Liveness::Unknown };
        // The limit on concurrent calls is the aggregator's own, so the server is not blamed for
        // the time spent waiting for it.
        let asked = Instant::now();
        let _permit = timeout_at(attempt.until, self.permits.acquire())
            .await
            .map_err(|_| unsent(Failure::Busy))?
            .map_err(|_| unsent(Failure::Closed))?;
        let mut counted = CancellationCounter { stats: &self.stats, is_over: false };
        Stats::count(&self.stats.calls, 1);
        let begun = Instant::now();
        let waited = attempt.waited() + begun.duration_since(asked);
        attempt.sent.get_or_init(|| begun);
        let mut params = CallToolRequestParams::new(tool.clone()).with_arguments(arguments);
        let mut meta = RequestMetaObject::default();
        meta.insert(route::META.to_owned(), path.as_str().into());
        meta.insert(route::LABEL.to_owned(), label.as_str().into());
        params.meta = Some(meta);
        let answered = timeout_at(attempt.until, answer(live, params)).await;
        counted.is_over = true;
        let latency = begun.elapsed();
        let failed = |failure| {
            let liveness =
                attempt.liveness(failure, attempt.begun.elapsed().saturating_sub(waited));
            CallFailure { tool: tool.clone(), failure, liveness }
        };
        let answered = answered.unwrap_or(Err(Failure::Timeout(attempt.limit)));
        let mut result = answered.map_err(failed)?;
        self.stats.answered(latency);
        if is_failure(&result) {
            if result.is_error != Some(true) {
                self.note_unmarked_failure(&tool, &result);
            }
            return Err(failed(Failure::Tool));
        }
        attempt.is_answered.store(true, Relaxed);
        let bytes = message_filter::bytes_of(&mut result);
        self.secrets.mask_answer(&mut result);
        Ok(CallAnswer { call: place, tool, items, result, bytes, latency, at: Utc::now() })
    }
}

impl Shared {
    /// Records the message of a failure not marked as an error.
    fn note_unmarked_failure(&self, tool: &str, result: &CallToolResult) {
        let text = result.content.iter().find_map(|block| block.as_text());
        let structured = result.structured_content.as_ref().map(ToString::to_string);
        let told = text.map(|text| text.text.clone()).or(structured).unwrap_or_default();
        self.note(&format!("{}: {told}", display_name(tool)));
    }
}

/// The data shared by the calls of a query.
struct CallContext<'a> {
    live: &'a LiveConnection,
    attempt: &'a QueryAttempt<'a>,
    path: String,
    label: String,
}

/// Makes a call. Returns the server's answer, or the failure in a fixed wording.
async fn answer(
    live: &LiveConnection,
    params: CallToolRequestParams,
) -> Result<CallToolResult, Failure> {
    match live.peer.call_tool_once(params).await {
        Ok(CallToolResponse::Complete(result)) => Ok(result),
        // The server asks for input or for a later retry. Neither is supported.
        Ok(_) => Err(Failure::Protocol),
        Err(ServiceError::McpError(error)) => Err(message_filter::failure_of(&error)),
        Err(ServiceError::TransportSend(error)) => {
            Err(connection::own_failure(error.error.as_ref()).unwrap_or(Failure::Exited))
        }
        Err(ServiceError::TransportClosed) => Err(live.filter.cause().unwrap_or(Failure::Exited)),
        Err(_) => Err(Failure::Protocol),
    }
}

/// Counts a call as canceled if it is dropped before its end.
struct CancellationCounter<'s> {
    stats: &'s Stats,
    is_over: bool,
}

impl Drop for CancellationCounter<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            Stats::count(&self.stats.cancelled, 1);
        }
    }
}
