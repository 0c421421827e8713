//! One connection and one thread for all changes of this process.
//!
//! Waiting for the disk is what a change takes longest for. So changes that arrive while it is busy
//! are committed together, and wait for it once.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;

use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::{mpsc, oneshot};

use crate::error::TaskError;

/// The most changes in one commit: other processes want their turn.
const BATCH: usize = 64;

/// Hands changes to the thread.
#[derive(Clone)]
pub(super) struct Writer(Arc<Handle>);

struct Handle {
    jobs: Option<mpsc::Sender<Box<dyn Job>>>,
    thread: Option<JoinHandle<()>>,
}

/// A change on its way.
trait Job: Send {
    /// Makes the change, or nothing of it.
    fn run(&mut self, transaction: &mut Transaction<'_>);
    /// Tells the caller, now that the disk has it or failed.
    fn finish(self: Box<Self>, committed: Result<(), Arc<rusqlite::Error>>);
}

struct Change<F, T> {
    change: Option<F>,
    outcome: Result<T, TaskError>,
    caller: oneshot::Sender<Result<T, TaskError>>,
}

impl Writer {
    /// Starts the thread. It ends with the last handle.
    pub(super) fn start(connection: Connection) -> Result<Self, TaskError> {
        let (sender, receiver) = mpsc::channel(BATCH);
        let thread = std::thread::Builder::new()
            .name("tasks-writer".to_owned())
            .spawn(move || serve(connection, receiver))
            .map_err(|_| TaskError::Unfinished)?;
        Ok(Self(Arc::new(Handle { jobs: Some(sender), thread: Some(thread) })))
    }

    /// Makes a change and returns when it is on the disk. All of it happens or nothing.
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

/// Waits until the file is closed. SQLite then leaves one file, where all that was written is in.
impl Drop for Handle {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has closed the file as well.
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
        // A change that panics fails by itself and takes nobody along.
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
            // Why a change failed by itself is worth more than that the others failed too.
            Err(error) => self.outcome.and(Err(TaskError::NotCommitted(error))),
        };
        // A caller that no longer waits is no fault.
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

/// Runs the first job of the batch and those that wait behind it, and commits.
fn commit(
    connection: &mut Connection,
    batch: &mut Vec<Box<dyn Job>>,
    jobs: &mut mpsc::Receiver<Box<dyn Job>>,
) -> Result<(), rusqlite::Error> {
    // IMMEDIATE: what a change reads, no other process can alter before the change is written.
    let mut transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for job in batch.iter_mut() {
        job.run(&mut transaction);
    }
    // On a full disk, SQLite ends the transaction by itself; nothing may run outside of one.
    while batch.len() < BATCH
        && !transaction.is_autocommit()
        && let Ok(mut job) = jobs.try_recv()
    {
        job.run(&mut transaction);
        batch.push(job);
    }
    transaction.commit()
}
