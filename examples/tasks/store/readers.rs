//! A few connections that read while others write.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::{blocking, database};
use crate::error::TaskError;

/// The most connections, and so the most reads at a time.
const CONNECTIONS: usize = 4;

/// Hands out connections.
#[derive(Clone)]
pub(super) struct Readers(Arc<Inner>);

struct Inner {
    path: PathBuf,
    places: Arc<Semaphore>,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    /// Connections to a file that is ready; they are made when first needed.
    pub(super) fn new(path: PathBuf) -> Self {
        let places = Arc::new(Semaphore::new(CONNECTIONS));
        Self(Arc::new(Inner { path, places, idle: Mutex::default() }))
    }

    /// Reads. All that `read` sees is of one moment.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, TaskError> + Send + 'static,
    ) -> Result<T, TaskError> {
        let inner = Arc::clone(&self.0);
        let place = Arc::clone(&inner.places).acquire_owned().await;
        blocking(move || {
            // Kept until the read is done, even if nobody waits for it any more.
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
