//! The open connections of one listener, and the choice of the one that makes room for another.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::sync::lock;

/// The file descriptors that a listener leaves to the rest of the process: the operator console with
/// [`CONSOLE_CONNECTIONS`], stores, logs and the connections of operations.
const RESERVED_DESCRIPTORS: usize = 160;
/// The maximum number of connections to the operator console.
#[cfg(feature = "console")]
pub(crate) const CONSOLE_CONNECTIONS: usize = 64;

/// The number of connections that a listener may hold, where `max` were asked for: the limit of the
/// system on open files counts too.
pub(super) fn max_connections(max: usize) -> usize {
    #[cfg(unix)]
    let descriptors = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    #[cfg(not(unix))]
    let descriptors = None::<u64>;
    let descriptors = descriptors.and_then(|limit| usize::try_from(limit).ok());
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
    table: Mutex<Table>,
    /// A connection has closed, or has become idle.
    changed: Notify,
}

#[derive(Debug, Default)]
struct Table {
    open: HashMap<u64, Entry>,
    /// The next number of a connection, and of a moment at which one becomes idle.
    next: u64,
}

#[derive(Debug)]
struct Entry {
    /// The requests that it serves, and the writes that it waits for.
    busy: usize,
    /// The moment at which the last of them ended.
    idle_since: u64,
    close: CancellationToken,
}

impl Connections {
    /// Registers a connection, which begins idle.
    pub(super) fn open(self: &Arc<Self>) -> Slot {
        let close = CancellationToken::new();
        let mut table = lock(&self.table);
        let number = table.next;
        table.next += 1;
        table.open.insert(number, Entry { busy: 0, idle_since: number, close: close.clone() });
        Slot { connections: Arc::clone(self), number, close }
    }

    /// Waits until fewer than `max` connections are open. Closes idle ones for it, the one that has been
    /// idle for longest first.
    pub(super) async fn room(&self, max: usize) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // From here on no change is missed.
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

    /// Closes the connection that has been idle for longest, if one is idle.
    pub(super) fn close_idle(&self) {
        lock(&self.table).close_idle();
    }
}

impl Table {
    fn close_idle(&self) {
        let idle = self.open.values().filter(|one| one.busy == 0 && !one.close.is_cancelled());
        if let Some(longest) = idle.min_by_key(|one| one.idle_since) {
            longest.close.cancel();
        }
    }
}

/// The place of one connection in the table, until it is dropped.
#[derive(Debug)]
pub(super) struct Slot {
    connections: Arc<Connections>,
    number: u64,
    close: CancellationToken,
}

impl Slot {
    /// Waits until the connection has to make room.
    pub(super) async fn must_close(&self) {
        self.close.cancelled().await;
    }

    /// Whether no request is being served.
    pub(super) fn is_idle(&self) -> bool {
        lock(&self.connections.table).open.get(&self.number).is_none_or(|entry| entry.busy == 0)
    }

    /// Counts the connection as busy until the returned value is dropped.
    pub(super) fn busy(self: &Arc<Self>) -> Busy {
        if let Some(entry) = lock(&self.connections.table).open.get_mut(&self.number) {
            entry.busy += 1;
        }
        Busy(Arc::clone(self))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        lock(&self.connections.table).open.remove(&self.number);
        self.connections.changed.notify_waiters();
    }
}

/// A request that is being served, or a write that the client holds up.
#[derive(Debug)]
pub(super) struct Busy(Arc<Slot>);

impl Drop for Busy {
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

/// The body of a reply, with which its request ends.
pub(super) struct ReplyBody {
    body: Body,
    _busy: Busy,
}

impl ReplyBody {
    pub(super) fn new(body: Body, busy: Busy) -> Self {
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
        assert!(futures_util::poll!(&mut room).is_pending());
        let closing = |slots: &[Arc<Slot>]| -> Vec<_> {
            slots.iter().map(|slot| slot.close.is_cancelled()).collect()
        };
        assert_eq!(closing(&slots), [false, true, false]);
        // One is enough, however often it is looked at.
        drop(busy);
        assert!(futures_util::poll!(&mut room).is_pending());
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
