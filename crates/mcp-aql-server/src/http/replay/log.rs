//! The events of one reply, for any number of readers.

use std::collections::VecDeque;

use futures_util::Stream;
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use tokio::sync::watch;

/// The maximum number of kept events per request. The oldest progress notifications are removed
/// first.
pub(super) const MAX_EVENTS: usize = 64;

/// The events of one reply.
#[derive(Default)]
pub(super) struct EventLog(watch::Sender<Events>);

#[derive(Default)]
struct Events {
    kept: VecDeque<ServerSseMessage>,
    /// The number of the first kept event.
    first: usize,
    /// Set when the stream is complete.
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

    /// Ends the streams of the readers after the last event.
    pub(super) fn finish(&self) {
        self.0.send_modify(|events| events.is_finished = true);
    }

    /// Whether the stream is complete, and has no event from this number on.
    pub(super) fn is_over(&self, next: usize) -> bool {
        let events = self.0.borrow();
        events.is_finished && next >= events.end()
    }

    /// Completes when the log has no reader.
    pub(super) async fn unread(&self) {
        self.0.closed().await;
    }

    /// Whether the log has a reader.
    pub(super) fn is_read(&self) -> bool {
        !self.0.is_closed()
    }

    /// The events from this number on, until the stream is complete.
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
