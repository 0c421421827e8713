//! The destination of an answer: a separate line, or the collected answers to a batch.

use std::io;
use std::sync::{Arc, Mutex};

use mcp_aql_core::internal::util::lock;

use super::outbox::{Outbox, PendingAnswer};
use crate::mcp::batch_budget::BatchBudget;

/// The destination of the answer to a message.
#[derive(Debug, Clone)]
pub(super) enum AnswerTarget {
    /// A separate line.
    Line(Outbox),
    /// The collected answers to the batch with this message.
    Batch(Arc<BatchAnswers>),
}

impl AnswerTarget {
    /// Returns the size budget of the batch, if the message belongs to one.
    pub(super) fn batch_budget(&self) -> Option<&BatchBudget> {
        match self {
            Self::Line(_) => None,
            Self::Batch(batch) => Some(&batch.budget),
        }
    }

    /// Adds an answer and ends the call.
    pub(super) fn push(
        &self,
        call: PendingAnswer,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> io::Result<()> {
        match self {
            Self::Line(outbox) => outbox.push_last(Some(call), write),
            Self::Batch(batch) => {
                batch.push(write);
                Ok(())
            }
        }
    }

    /// Adds an answer from the task that reads messages and writes answers.
    pub(super) fn push_in_writer_task(&self, write: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        match self {
            Self::Line(outbox) => outbox.push_in_writer_task(write),
            Self::Batch(batch) => {
                batch.push(write);
                Ok(())
            }
        }
    }
}

/// The answers to a JSON-RPC batch. They are sent as one line when the last clone is dropped.
#[derive(Debug)]
pub(super) struct BatchAnswers {
    outbox: Outbox,
    running: Mutex<Option<PendingAnswer>>,
    answers: Mutex<Vec<u8>>,
    budget: BatchBudget,
}

impl BatchAnswers {
    /// Creates an empty collection. Its answers are sent to the outbox.
    pub(super) fn new(outbox: Outbox, budget: BatchBudget) -> Self {
        let running = Mutex::new(Some(outbox.expect_one()));
        Self { outbox, running, answers: Mutex::default(), budget }
    }

    fn push(&self, write: impl FnOnce(&mut Vec<u8>)) {
        let mut answers = lock(&self.answers);
        if !answers.is_empty() {
            answers.push(b',');
        }
        write(&mut answers);
    }
}

impl Drop for BatchAnswers {
    fn drop(&mut self) {
        let answers = std::mem::take(&mut *lock(&self.answers));
        if answers.is_empty() {
            // A batch that contains only notifications has no answers.
            return;
        }
        let pushed = self.outbox.push_last(lock(&self.running).take(), |line| {
            line.push(b'[');
            line.extend(answers);
            line.push(b']');
        });
        if let Err(error) = pushed {
            tracing::debug!(%error, "answers were not sent: the client is gone");
        }
    }
}
