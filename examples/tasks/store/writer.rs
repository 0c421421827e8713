//! Writes all changes of this process with one connection on one thread.
//!
//! A change spends most of its time waiting for the disk. All changes that arrive during such a wait are committed
//! together and share the next one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;

use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::{mpsc, oneshot};

use crate::error::TaskError;

/// Maximum number of changes in one commit. It limits how long other processes wait for the lock.
const MAX_BATCH_SIZE: usize = 64;

/// A handle that sends changes to the writer thread.
#[derive(Clone)]
pub(super) struct Writer(Arc<Handle>);

struct Handle {
    jobs: Option<mpsc::Sender<Box<dyn Job>>>,
    thread: Option<JoinHandle<()>>,
}

/// A queued change.
trait Job: Send {
    /// Applies the change completely or not at all.
    fn run(&mut self, transaction: &mut Transaction<'_>);
    /// Reports the result to the caller, after the commit succeeded or failed.
    fn finish(self: Box<Self>, committed: Result<(), Arc<rusqlite::Error>>);
}

struct Change<F, T> {
    change: Option<F>,
    outcome: Result<T, TaskError>,
    caller: oneshot::Sender<Result<T, TaskError>>,
}

impl Writer {
    /// Starts the writer thread. It ends when the last handle is dropped.
    pub(super) fn start(connection: Connection) -> Result<Self, TaskError> {
        let (sender, receiver) = mpsc::channel(MAX_BATCH_SIZE);
        let thread = std::thread::Builder::new()
            .name("tasks-writer".to_owned())
            .spawn(move || serve(connection, receiver))
            .map_err(|_| TaskError::Unfinished)?;
        Ok(Self(Arc::new(Handle { jobs: Some(sender), thread: Some(thread) })))
    }

    /// Applies a change and waits until it is on the disk. A change is applied completely or not at all.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        change: impl FnOnce(&Connection) -> Result<T, TaskError> + Send + 'static,
    ) -> Result<T, TaskError> {
        let (caller, outcome) = oneshot::channel();
        let job = Change { change: Some(change), outcome: Err(TaskError::Unfinished), caller };
        let jobs = self.0.jobs.as_ref().ok_or(TaskError::Unfinished)?;
        jobs.send(Box::new(job)).await.map_err(|_| TaskError::Unfinished)?;
        outcome.await.unwrap_or(Err(TaskError::Unfinished))
    }
}

/// Waits until the file is closed. When the last connection closes, SQLite merges the write-ahead log into the file.
impl Drop for Handle {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has closed its connection, too.
            let _ = thread.join();
        }
    }
}

impl<F, T> Job for Change<F, T>
where
    F: FnOnce(&Connection) -> Result<T, TaskError> + Send,
    T: Send,
{
    fn run(&mut self, transaction: &mut Transaction<'_>) {
        let Some(change) = self.change.take() else { return };
        // A panic must only affect its own change, not the others of the batch.
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let savepoint = transaction.savepoint()?;
            let value = change(&savepoint)?;
            savepoint.commit()?;
            Ok(value)
        }));
        self.outcome = outcome.unwrap_or(Err(TaskError::Unfinished));
    }

    fn finish(self: Box<Self>, committed: Result<(), Arc<rusqlite::Error>>) {
        let outcome = match committed {
            Ok(()) => self.outcome,
            // If the change itself failed, the caller needs that error, not the one of the commit.
            Err(error) => self.outcome.and(Err(TaskError::NotCommitted(error))),
        };
        // The send fails if the caller has stopped waiting.
        let _ = self.caller.send(outcome);
    }
}

fn serve(mut connection: Connection, mut jobs: mpsc::Receiver<Box<dyn Job>>) {
    while let Some(first) = jobs.blocking_recv() {
        let mut batch = vec![first];
        let committed = commit(&mut connection, &mut batch, &mut jobs).map_err(Arc::new);
        for job in batch {
            job.finish(committed.clone());
        }
    }
}

/// Runs the first change and all queued ones in one transaction, and commits it.
fn commit(
    connection: &mut Connection,
    batch: &mut Vec<Box<dyn Job>>,
    jobs: &mut mpsc::Receiver<Box<dyn Job>>,
) -> Result<(), rusqlite::Error> {
    // With IMMEDIATE, no other process can write between the reads and the writes of a change.
    let mut transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for job in batch.iter_mut() {
        job.run(&mut transaction);
    }
    // If the disk is full, SQLite rolls the transaction back by itself. Further changes would then run outside of it.
    while batch.len() < MAX_BATCH_SIZE
        && !transaction.is_autocommit()
        && let Ok(mut job) = jobs.try_recv()
    {
        job.run(&mut transaction);
        batch.push(job);
    }
    transaction.commit()
}
