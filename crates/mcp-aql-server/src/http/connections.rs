//! The open connections of a listener, and the eviction of idle ones.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use mcp_aql_core::internal::util::lock;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::descriptor_limit::descriptor_limit;

/// Number of file descriptors reserved for the rest of the process: the operator console with its 64 connections,
/// stores, logs and the connections of operations.
const RESERVED_DESCRIPTORS: usize = 160;

/// Returns the maximum number of connections of a listener: `max`, or less if the system limits the number of open
/// files.
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
    open: Mutex<HashMap<u64, Arc<Activity>>>,
    /// The number of the next connection. It is also the next value of the idle clock.
    next: AtomicU64,
    /// Notified when a connection closes or becomes idle.
    changed: Notify,
}

/// The state of a connection. It is atomic because every request changes it.
#[derive(Debug)]
struct Activity {
    /// Number of running requests and blocked writes.
    busy: AtomicUsize,
    /// The value of the idle clock when the last of them ended.
    idle_since: AtomicU64,
    close: CancellationToken,
}

impl Activity {
    fn is_idle(&self) -> bool {
        self.busy.load(Ordering::Acquire) == 0
    }
}

impl Connections {
    /// Registers a connection. It is idle at first.
    pub(super) fn open(self: &Arc<Self>) -> ConnectionSlot {
        let number = self.next();
        let activity = Arc::new(Activity {
            busy: AtomicUsize::new(0),
            idle_since: AtomicU64::new(number),
            close: CancellationToken::new(),
        });
        lock(&self.open).insert(number, Arc::clone(&activity));
        ConnectionSlot { connections: Arc::clone(self), number, activity }
    }

    fn next(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Waits until fewer than `max` connections are open. Closes idle connections for that, starting with the longest
    /// idle.
    pub(super) async fn make_capacity(&self, max: usize) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Register before the check, so that no later notification is missed.
            changed.as_mut().enable();
            {
                let open = lock(&self.open);
                let closing = open.values().filter(|one| one.close.is_cancelled()).count();
                if open.len() < max {
                    return;
                }
                if open.len() - closing >= max {
                    close_idle(&open);
                }
            }
            changed.await;
        }
    }

    /// Closes the longest idle connection, if any is idle.
    pub(super) fn close_idle(&self) {
        close_idle(&lock(&self.open));
    }
}

fn close_idle(open: &HashMap<u64, Arc<Activity>>) {
    let idle = open.values().filter(|one| one.is_idle() && !one.close.is_cancelled());
    if let Some(longest) = idle.min_by_key(|one| one.idle_since.load(Ordering::Relaxed)) {
        longest.close.cancel();
    }
}

/// The registration of one connection. Dropping it removes the connection.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    connections: Arc<Connections>,
    number: u64,
    activity: Arc<Activity>,
}

impl ConnectionSlot {
    /// Waits until the connection must close to make capacity for another one.
    pub(super) async fn must_close(&self) {
        self.activity.close.cancelled().await;
    }

    /// Returns `true` if the connection serves no request.
    pub(super) fn is_idle(&self) -> bool {
        self.activity.is_idle()
    }

    /// Counts the connection as busy until the returned guard is dropped.
    pub(super) fn busy(self: &Arc<Self>) -> BusyGuard {
        self.activity.busy.fetch_add(1, Ordering::AcqRel);
        BusyGuard(Arc::clone(self))
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        lock(&self.connections.open).remove(&self.number);
        self.connections.changed.notify_waiters();
    }
}

/// A running request, or a write blocked by the client.
#[derive(Debug)]
pub(super) struct BusyGuard(Arc<ConnectionSlot>);

impl Drop for BusyGuard {
    fn drop(&mut self) {
        let ConnectionSlot { connections, activity, .. } = &*self.0;
        activity.idle_since.store(connections.next(), Ordering::Relaxed);
        activity.busy.fetch_sub(1, Ordering::AcqRel);
        connections.changed.notify_waiters();
    }
}

/// The body of a reply with a guard. The guard is dropped once the reply was sent or the client disconnected.
pub(super) struct ReplyBody<G> {
    body: Body,
    _guard: G,
}

impl<G> ReplyBody<G> {
    pub(super) fn new(body: Body, guard: G) -> Self {
        Self { body, _guard: guard }
    }
}

impl<G: Unpin> HttpBody for ReplyBody<G> {
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
        connections.make_capacity(4).await;
        let capacity = connections.make_capacity(3);
        tokio::pin!(capacity);
        assert!(mcp_aql_core::internal::util::poll_once(&mut capacity).await.is_pending());
        let closing = |slots: &[Arc<ConnectionSlot>]| -> Vec<_> {
            slots.iter().map(|slot| slot.activity.close.is_cancelled()).collect()
        };
        assert_eq!(closing(&slots), [false, true, false]);
        drop(busy);
        assert!(mcp_aql_core::internal::util::poll_once(&mut capacity).await.is_pending());
        assert_eq!(closing(&slots), [false, true, false]);
        drop(slots);
        capacity.await;
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
