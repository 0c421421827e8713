//! Pools connections in addition to the main one. Each is a session of its own, used by one check at a time.

use std::ops::Deref;

use super::Run;
use crate::sync::lock;
use crate::wire::{Connection, NoResponse};

/// A connection for one check. Call [`Run::give_back`] to keep it for the next check.
#[derive(Debug)]
pub(crate) struct SpareConnection(Connection);

impl Deref for SpareConnection {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.0
    }
}

impl SpareConnection {
    /// Closes the connection. This ends its session.
    pub(crate) async fn close(self) {
        self.0.close().await;
    }
}

impl Run {
    /// Returns a connection that no other check uses. Reuses one if possible, because starting an adapter may be slow.
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

    /// Returns a connection to the pool for other checks.
    pub(crate) fn give_back(&self, connection: SpareConnection) {
        if connection.ended().is_none() {
            lock(&self.spares).push(connection.0);
        }
    }

    /// Closes the pooled connections.
    pub(super) async fn close_spares(&self) {
        let spares = std::mem::take(&mut *lock(&self.spares));
        for spare in spares {
            spare.close().await;
        }
    }
}
