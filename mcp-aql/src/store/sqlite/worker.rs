//! A thread that owns a connection: SQLite blocks, and the threads of the runtime may not.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::file::{self, File};
use crate::store::StoreError;
use crate::sync::lock;

type Job = Box<dyn FnOnce(&mut Owner) + Send>;

/// Starts its thread with the first job, and again should it have ended.
#[derive(Debug)]
pub(super) struct Worker {
    file: Arc<File>,
    jobs: Mutex<Option<Sender<Job>>>,
}

/// What the thread has.
struct Owner {
    file: Arc<File>,
    connection: Option<Connection>,
}

impl Worker {
    pub(super) fn new(file: Arc<File>) -> Self {
        Self { file, jobs: Mutex::default() }
    }

    /// Does this on the thread, with a connection that is ready.
    ///
    /// Whoever no longer waits for it does not stop it.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        self.send(Box::new(move |owner| {
            // Nobody waits any more where this fails.
            let _ = answer.send(owner.run(work));
        }))?;
        answered.await.map_err(|_| StoreError::failed("the store's thread ended"))?
    }

    fn send(&self, job: Job) -> Result<(), StoreError> {
        let mut jobs = lock(&self.jobs);
        let job = match &*jobs {
            Some(sender) => match sender.send(job) {
                Ok(()) => return Ok(()),
                // The thread is gone.
                Err(unsent) => unsent.0,
            },
            None => job,
        };
        self.start(job, &mut jobs)
    }

    fn start(&self, job: Job, jobs: &mut Option<Sender<Job>>) -> Result<(), StoreError> {
        let (sender, receiver) = channel();
        let owner = Owner { file: Arc::clone(&self.file), connection: None };
        std::thread::Builder::new()
            .name("mcp-aql-store".to_owned())
            .spawn(move || owner.serve(&receiver))
            .map_err(StoreError::failed)?;
        let sent = sender.send(job).map_err(|_| StoreError::failed("the store's thread ended"));
        *jobs = Some(sender);
        sent
    }
}

impl Owner {
    /// Until the worker is gone.
    fn serve(mut self, jobs: &Receiver<Job>) {
        while let Ok(job) = jobs.recv() {
            job(&mut self);
        }
        // One connection after the other: the last one clears the log away, and of two that are closed
        // at once neither is the last.
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
        // After an error the file is opened anew: perhaps it is another one, or sound again.
        if done.is_ok() {
            self.connection = Some(connection);
        }
        done
    }
}
