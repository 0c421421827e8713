//! Connections beside the main one, which checks use one after the other. Each is a session of its own.

use std::ops::Deref;

use super::Run;
use crate::sync::lock;
use crate::wire::{Connection, NoResponse};

/// A connection for one check. [`Run::give_back`] keeps it for the next check.
#[derive(Debug)]
pub(crate) struct SpareConnection(Connection);

impl Deref for SpareConnection {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.0
    }
}

impl SpareConnection {
    /// Closes the connection, so that its session ends.
    pub(crate) async fn close(self) {
        self.0.close().await;
    }
}

impl Run {
    /// Returns a connection that no other check uses. Starting an adapter may be slow, so that connections
    /// are reused.
    pub(crate) async fn spare(&self) -> Result<SpareConnection, NoResponse> {
        loop {
            let kept = lock(&self.spares).pop();
            match kept {
                Some(kept) if kept.ended().is_none() => {
                    kept.reset();
                    return Ok(SpareConnection(kept));
                }
                Some(_) => {}
                None => return self.open().await.map(SpareConnection),
            }
        }
    }

    /// Keeps a connection for other checks.
    pub(crate) fn give_back(&self, connection: SpareConnection) {
        if connection.ended().is_none() {
            lock(&self.spares).push(connection.0);
        }
    }

    /// Closes the connections that no check uses.
    pub(super) async fn close_spares(&self) {
        let spares = std::mem::take(&mut *lock(&self.spares));
        for spare in spares {
            spare.close().await;
        }
    }
}
