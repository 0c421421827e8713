//! A small pool of SQLite connections for concurrent reads.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::{blocking, database};
use crate::error::TaskError;

/// Maximum number of connections, and therefore of concurrent reads.
const MAX_CONNECTIONS: usize = 4;

/// A handle to the pool. Clones share the connections.
#[derive(Clone)]
pub(super) struct Readers(Arc<Inner>);

struct Inner {
    path: PathBuf,
    places: Arc<Semaphore>,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    /// Creates a pool for a file prepared by `database::open`. Connections are opened on first use.
    pub(super) fn new(path: PathBuf) -> Self {
        let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        Self(Arc::new(Inner { path, places, idle: Mutex::default() }))
    }

    /// Runs `read` in a transaction, on a consistent snapshot.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, TaskError> + Send + 'static,
    ) -> Result<T, TaskError> {
        let inner = Arc::clone(&self.0);
        let place = Arc::clone(&inner.places).acquire_owned().await;
        blocking(move || {
            // The connection stays in use until the read is done, even if the caller no longer waits for it.
            let _place = place;
            let mut connection = inner.take()?;
            let transaction = connection.transaction()?;
            let outcome = read(&transaction);
            drop(transaction);
            inner.give_back(connection);
            outcome
        })
        .await
    }
}

impl Inner {
    fn take(&self) -> Result<Connection, TaskError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match idle {
            Some(connection) => Ok(connection),
            None => {
                let connection = database::connect(&self.path)?;
                connection.pragma_update(None, "query_only", true)?;
                Ok(connection)
            }
        }
    }

    fn give_back(&self, connection: Connection) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
    }
}
