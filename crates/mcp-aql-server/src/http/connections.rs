//! The open connections of a listener, and the eviction of idle ones.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use mcp_aql_core::sync::lock;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::descriptor_limit::descriptor_limit;

/// The file descriptors reserved for the rest of the process: the operator console with its 64
/// connections, stores, logs and the connections of operations.
const RESERVED_DESCRIPTORS: usize = 160;

/// The number of connections that a listener may hold if `max` is configured: the system's limit on
/// open files also applies.
pub(super) fn max_connections(max: usize) -> usize {
    let descriptors = descriptor_limit().and_then(|limit| usize::try_from(limit).ok());
    bounded(max, descriptors)
}

fn bounded(max: usize, descriptors: Option<usize>) -> usize {
    let left = descriptors
        .map_or(usize::MAX, |limit| limit.saturating_sub(RESERVED_DESCRIPTORS).max(limit / 4));
    max.min(left).max(1)
}

/// The open connections of one listener.
#[derive(Debug, Default)]
pub(super) struct Connections {
    table: Mutex<ConnectionTable>,
    /// Notified when a connection closes or becomes idle.
    changed: Notify,
}

#[derive(Debug, Default)]
struct ConnectionTable {
    open: HashMap<u64, ConnectionEntry>,
    /// The next connection number, and the next value of the idle clock.
    next: u64,
}

#[derive(Debug)]
struct ConnectionEntry {
    /// The number of requests being served and of writes being waited for.
    busy: usize,
    /// The idle clock's value when the last of them ended.
    idle_since: u64,
    close: CancellationToken,
}

impl Connections {
    /// Registers a connection, which starts idle.
    pub(super) fn open(self: &Arc<Self>) -> ConnectionSlot {
        let close = CancellationToken::new();
        let mut table = lock(&self.table);
        let number = table.next;
        table.next += 1;
        table
            .open
            .insert(number, ConnectionEntry { busy: 0, idle_since: number, close: close.clone() });
        ConnectionSlot { connections: Arc::clone(self), number, close }
    }

    /// Waits until fewer than `max` connections are open, closing idle ones, the longest idle
    /// first.
    pub(super) async fn room(&self, max: usize) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // No change after this point is missed.
            changed.as_mut().enable();
            {
                let table = lock(&self.table);
                let closing = table.open.values().filter(|one| one.close.is_cancelled()).count();
                if table.open.len() < max {
                    return;
                }
                if table.open.len() - closing >= max {
                    table.close_idle();
                }
            }
            changed.await;
        }
    }

    /// Closes the connection that has been idle for longest, if any.
    pub(super) fn close_idle(&self) {
        lock(&self.table).close_idle();
    }
}

impl ConnectionTable {
    fn close_idle(&self) {
        let idle = self.open.values().filter(|one| one.busy == 0 && !one.close.is_cancelled());
        if let Some(longest) = idle.min_by_key(|one| one.idle_since) {
            longest.close.cancel();
        }
    }
}

/// The table entry of one connection, removed on drop.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    connections: Arc<Connections>,
    number: u64,
    close: CancellationToken,
}

impl ConnectionSlot {
    /// Waits until the connection has to close in favour of another one.
    pub(super) async fn must_close(&self) {
        self.close.cancelled().await;
    }

    /// Whether no request is being served.
    pub(super) fn is_idle(&self) -> bool {
        lock(&self.connections.table).open.get(&self.number).is_none_or(|entry| entry.busy == 0)
    }

    /// Counts the connection as busy until the returned value is dropped.
    pub(super) fn busy(self: &Arc<Self>) -> BusyGuard {
        if let Some(entry) = lock(&self.connections.table).open.get_mut(&self.number) {
            entry.busy += 1;
        }
        BusyGuard(Arc::clone(self))
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        lock(&self.connections.table).open.remove(&self.number);
        self.connections.changed.notify_waiters();
    }
}

/// A request being served, or a write blocked by the client.
#[derive(Debug)]
pub(super) struct BusyGuard(Arc<ConnectionSlot>);

impl Drop for BusyGuard {
    fn drop(&mut self) {
        let connections = &self.0.connections;
        let mut table = lock(&connections.table);
        let now = table.next;
        table.next += 1;
        if let Some(entry) = table.open.get_mut(&self.0.number) {
            entry.busy = entry.busy.saturating_sub(1);
            entry.idle_since = now;
        }
        drop(table);
        connections.changed.notify_waiters();
    }
}

/// The body of a reply; the request ends with it.
pub(super) struct ReplyBody {
    body: Body,
    _busy: BusyGuard,
}

impl ReplyBody {
    pub(super) fn new(body: Body, busy: BusyGuard) -> Self {
        Self { body, _busy: busy }
    }
}

impl HttpBody for ReplyBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_connection_that_is_idle_for_longest_makes_room() {
        let connections = Arc::new(Connections::default());
        let slots: Vec<_> = (0..3).map(|_| Arc::new(connections.open())).collect();
        let busy = slots[0].busy();
        connections.room(4).await;
        let room = connections.room(3);
        tokio::pin!(room);
        assert!(mcp_aql_core::future::poll_once(&mut room).await.is_pending());
        let closing = |slots: &[Arc<ConnectionSlot>]| -> Vec<_> {
            slots.iter().map(|slot| slot.close.is_cancelled()).collect()
        };
        assert_eq!(closing(&slots), [false, true, false]);
        // Busy state is counted once, however often it is polled.
        drop(busy);
        assert!(mcp_aql_core::future::poll_once(&mut room).await.is_pending());
        assert_eq!(closing(&slots), [false, true, false]);
        drop(slots);
        room.await;
    }

    #[test]
    fn descriptors_are_left_to_the_rest_of_the_process() {
        assert_eq!(bounded(1000, None), 1000);
        assert_eq!(bounded(1000, Some(1024)), 864);
        assert_eq!(bounded(10, Some(1024)), 10);
        assert_eq!(bounded(1000, Some(256)), 96);
        assert_eq!(bounded(1000, Some(100)), 25);
        assert_eq!(bounded(0, Some(0)), 1);
    }
}
