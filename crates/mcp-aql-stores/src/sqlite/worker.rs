//! A thread that owns a connection. SQLite blocks, and the threads of the runtime must not block.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use mcp_aql_core::internal::util::lock;
use mcp_aql_core::store::StoreError;
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::file::{self, File};

type Job = Box<dyn FnOnce(&mut WorkerThread) + Send>;

/// Runs jobs on a thread. The thread starts with the first job, and restarts if it has ended.
#[derive(Debug)]
pub(super) struct Worker {
    file: Arc<File>,
    jobs: Mutex<Option<Sender<Job>>>,
}

/// State of the thread.
struct WorkerThread {
    file: Arc<File>,
    connection: Option<Connection>,
}

impl Worker {
    pub(super) fn new(file: Arc<File>) -> Self {
        Self { file, jobs: Mutex::default() }
    }

    /// Runs a function on the thread, with a prepared connection.
    ///
    /// The job runs to its end, even if the caller drops the future.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        self.send(Box::new(move |thread| {
            // Sending fails if the caller has dropped the future.
            let _ = answer.send(thread.run(work));
        }))?;
        answered.await.map_err(|_| StoreError::failed("the store's thread ended"))?
    }

    fn send(&self, job: Job) -> Result<(), StoreError> {
        let mut jobs = lock(&self.jobs);
        let job = match &*jobs {
            Some(sender) => match sender.send(job) {
                Ok(()) => return Ok(()),
                // The thread has ended.
                Err(unsent) => unsent.0,
            },
            None => job,
        };
        self.start(job, &mut jobs)
    }

    fn start(&self, job: Job, jobs: &mut Option<Sender<Job>>) -> Result<(), StoreError> {
        let (sender, receiver) = channel();
        let thread = WorkerThread { file: Arc::clone(&self.file), connection: None };
        std::thread::Builder::new()
            .name("mcp-aql-store".to_owned())
            .spawn(move || thread.serve(&receiver))
            .map_err(StoreError::failed)?;
        let sent = sender.send(job).map_err(|_| StoreError::failed("the store's thread ended"));
        *jobs = Some(sender);
        sent
    }
}

impl WorkerThread {
    /// Runs jobs until the worker is dropped.
    fn serve(mut self, jobs: &Receiver<Job>) {
        while let Ok(job) = jobs.recv() {
            job(&mut self);
        }
        // Close connections one after the other. Only the last one removes the log, and of two that close at
        // the same time, neither is the last.
        let _alone = lock(&self.file.closing);
        self.connection = None;
    }

    fn run<T>(
        &mut self,
        work: impl FnOnce(&mut Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => file::open(&self.file)?,
        };
        let done = work(&mut connection);
        // After an error the next job opens the file again, because it may have been replaced or repaired.
        if done.is_ok() {
            self.connection = Some(connection);
        }
        done
    }
}
