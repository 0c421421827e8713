//! The event log of one reply. Any number of readers can follow it.

use std::collections::VecDeque;

use futures_util::Stream;
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use tokio::sync::watch;

/// Maximum number of kept events per request. At the limit, the oldest progress notifications are removed first.
pub(super) const MAX_EVENTS: usize = 64;

/// The events of one reply.
#[derive(Default)]
pub(super) struct EventLog(watch::Sender<Events>);

#[derive(Default)]
struct Events {
    kept: VecDeque<ServerSseMessage>,
    /// The number of the first kept event.
    first: usize,
    /// If `true`, the stream is complete.
    is_finished: bool,
}

impl Events {
    fn end(&self) -> usize {
        self.first + self.kept.len()
    }
}

impl EventLog {
    pub(super) fn push(&self, event: ServerSseMessage) {
        self.0.send_modify(|events| {
            if events.kept.len() >= MAX_EVENTS {
                events.kept.pop_front();
                events.first += 1;
            }
            events.kept.push_back(event);
        });
    }

    /// Marks the stream as complete. The readers' streams end after the last event.
    pub(super) fn finish(&self) {
        self.0.send_modify(|events| events.is_finished = true);
    }

    /// Returns `true` if the stream is complete and has no event with this number or a higher one.
    pub(super) fn is_over(&self, next: usize) -> bool {
        let events = self.0.borrow();
        events.is_finished && next >= events.end()
    }

    /// Waits until the log has no reader.
    pub(super) async fn unread(&self) {
        self.0.closed().await;
    }

    /// Returns `true` if the log has a reader.
    pub(super) fn is_read(&self) -> bool {
        !self.0.is_closed()
    }

    /// Returns the events with this number or a higher one, until the stream is complete.
    pub(super) fn events_from(
        &self,
        next: usize,
    ) -> impl Stream<Item = ServerSseMessage> + Send + Sync + use<> {
        futures_util::stream::unfold((self.0.subscribe(), next), |(mut log, next)| async move {
            loop {
                {
                    let events = log.borrow_and_update();
                    let next = next.max(events.first);
                    if let Some(event) = events.kept.get(next - events.first) {
                        let event = event.clone();
                        drop(events);
                        return Some((event, (log, next + 1)));
                    }
                    if events.is_finished {
                        return None;
                    }
                }
                log.changed().await.ok()?;
            }
        })
    }
}
