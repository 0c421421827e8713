//! Calls that run as tasks of the runtime.

use std::borrow::Cow;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use mcp_aql_core::operation::Cancellation;

use super::answer_target::AnswerTarget;
use super::brief_operations::OperationPace;
use crate::calls::Calls;
use crate::server::Server;
use crate::service::ToolWork;
use crate::wire::{PendingAnswer, canonical_id};

/// A call that has not returned yet.
pub(super) struct RunningCall {
    /// The request's id, in its original spelling.
    pub(super) id: Arc<str>,
    pub(super) work: ToolWork,
    /// The pace of the operation and the time to read the message, if the call is to be measured.
    pub(super) measured: Option<(OperationPace, Duration)>,
    pub(super) cancellation: Cancellation,
    /// Whether the call follows MCP 2026-07-28.
    pub(super) modern: bool,
}

impl RunningCall {
    /// Runs the call as a task, which the client can cancel. `expected` is the place of its answer.
    pub(super) fn spawn(
        self,
        server: Arc<Server>,
        calls: Arc<Calls>,
        expected: PendingAnswer,
        answers: AnswerTarget,
    ) {
        let Self { id, mut work, mut measured, cancellation, modern } = self;
        let key = match canonical_id(&id) {
            Cow::Borrowed(_) => Arc::clone(&id),
            Cow::Owned(key) => key.into(),
        };
        let number = calls.begin(&key, cancellation);
        tokio::spawn(async move {
            let work = poll_fn(|context| match measured.take() {
                Some((pace, reading)) => {
                    let started = Instant::now();
                    let polled = work.poll_unpin(context);
                    pace.record(started.elapsed(), reading);
                    polled
                }
                None => work.poll_unpin(context),
            });
            let answer = work.await;
            if calls.end(&key, number) {
                let pushed = answers.push(expected, |line| {
                    server.write_answer(line, &id, &answer, modern);
                });
                if let Err(error) = pushed {
                    tracing::debug!(%error, "an answer was not sent: the client is gone");
                }
            }
        });
    }
}
