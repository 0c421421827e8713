//! The events of requests, kept so that a client that has lost its connection fetches them later.
//!
//! rmcp forgets the events of a request with its reply, which for a fast call is before the client can
//! know of a lost connection.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, Weak};

use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt as _};
use rmcp::model::ServerJsonRpcMessage;
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use tokio::sync::watch;

use crate::sync::lock;

/// The maximum number of bytes of all finished replies that are kept. Beyond it the oldest go.
const MAX_KEPT_BYTES: usize = 16 << 20;
/// The overhead of a kept reply besides its text, in bytes.
const ENTRY_BYTES: usize = 1 << 10;
/// The maximum number of events that are kept of one request. Of many notifications of progress the first
/// ones go.
const MAX_EVENTS: usize = 64;

/// The streams of events of one session's requests, by their numbers.
#[derive(Default)]
pub(super) struct Streams(Mutex<HashMap<u64, Arc<EventLog>>>);

/// The events of one request.
struct EventLog(watch::Sender<Events>);

#[derive(Default)]
struct Events {
    kept: VecDeque<ServerSseMessage>,
    /// The number of the first one that is kept.
    first: usize,
    /// No more will come.
    is_finished: bool,
}

/// The finished replies of all sessions, the oldest first.
#[derive(Default)]
pub(super) struct Finished(Mutex<FinishedQueue>);

#[derive(Default)]
struct FinishedQueue {
    replies: VecDeque<(Weak<Streams>, u64, usize)>,
    bytes: usize,
}

impl Streams {
    /// Records a request's events, whether or not the client still reads them, and returns them.
    pub(super) fn record(
        self: &Arc<Self>,
        mut events: BoxStream<'static, ServerSseMessage>,
        finished: &Arc<Finished>,
    ) -> impl Stream<Item = ServerSseMessage> + Send + Sync + use<> {
        let log = Arc::new(EventLog(watch::Sender::default()));
        let following = events_from(&log, 0);
        let (streams, finished) = (Arc::downgrade(self), Arc::clone(finished));
        tokio::spawn(async move {
            let (mut number, mut bytes) = (None, ENTRY_BYTES);
            while let Some(event) = events.next().await {
                if number.is_none() {
                    number = event.event_id.as_deref().and_then(parse).map(|(_, number)| number);
                    // Before anything that the client could ask for again is sent.
                    if let (Some(number), Some(streams)) = (number, streams.upgrade()) {
                        lock(&streams.0).insert(number, Arc::clone(&log));
                    }
                }
                bytes += event.message.as_deref().map_or(0, length);
                log.0.send_modify(|log| log.push(event));
            }
            log.0.send_modify(|log| log.is_finished = true);
            if let Some(number) = number {
                finished.keep(streams, number, bytes);
            }
        });
        following
    }

    /// The events behind this one, where it is one of a request whose events are kept.
    pub(super) fn replay(
        &self,
        last_event_id: &str,
    ) -> Option<impl Stream<Item = ServerSseMessage> + Send + Sync + use<>> {
        let (last, number) = parse(last_event_id)?;
        let log = lock(&self.0).get(&number).cloned()?;
        Some(events_from(&log, last.saturating_add(1)))
    }
}

impl Events {
    fn push(&mut self, event: ServerSseMessage) {
        if self.kept.len() >= MAX_EVENTS {
            self.kept.pop_front();
            self.first += 1;
        }
        self.kept.push_back(event);
    }
}

impl Finished {
    fn keep(&self, streams: Weak<Streams>, number: u64, bytes: usize) {
        let mut queue = lock(&self.0);
        queue.replies.push_back((streams, number, bytes));
        queue.bytes += bytes;
        while queue.bytes > MAX_KEPT_BYTES {
            let Some((streams, number, bytes)) = queue.replies.pop_front() else { return };
            queue.bytes = queue.bytes.saturating_sub(bytes);
            if let Some(streams) = streams.upgrade() {
                lock(&streams.0).remove(&number);
            }
        }
    }
}

/// The events of a log from this number on, until it is finished.
fn events_from(
    log: &EventLog,
    next: usize,
) -> impl Stream<Item = ServerSseMessage> + Send + Sync + use<> {
    futures_util::stream::unfold((log.0.subscribe(), next), |(mut log, next)| async move {
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

/// The number of an event and that of its stream, as rmcp writes both.
fn parse(event_id: &str) -> Option<(usize, u64)> {
    let (event, stream) = event_id.split_once('/')?;
    Some((event.parse().ok()?, stream.parse().ok()?))
}

/// The length of a message in JSON.
fn length(message: &ServerJsonRpcMessage) -> usize {
    struct Length(usize);
    impl std::io::Write for Length {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut length = Length(0);
    // A message that cannot be serialized cannot be sent either.
    let _ = serde_json::to_writer(&mut length, message);
    length.0
}

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use rmcp::model::JsonRpcMessage;

    use super::*;

    fn event(id: &str, bytes: usize) -> ServerSseMessage {
        let message = serde_json::json!({
            "jsonrpc": "2.0", "id": 1, "result": { "text": "x".repeat(bytes) },
        });
        let message: ServerJsonRpcMessage = serde_json::from_value(message).unwrap();
        assert!(matches!(message, JsonRpcMessage::Response(_)));
        let mut event = ServerSseMessage::from_message(message);
        event.event_id = Some(id.to_owned());
        event
    }

    async fn ids(events: impl Stream<Item = ServerSseMessage>) -> Vec<String> {
        events.filter_map(|event| async { event.event_id }).collect().await
    }

    #[tokio::test]
    async fn replies_are_kept_until_newer_ones_need_their_room() {
        let (streams, finished) = (Arc::new(Streams::default()), Arc::new(Finished::default()));
        let two = stream::iter([event("0/7", 1), event("1/7", 1)]).boxed();
        let sent = streams.record(two, &finished);
        assert_eq!(ids(sent).await, ["0/7", "1/7"]);
        assert_eq!(ids(streams.replay("0/7").unwrap()).await, ["1/7"]);
        assert!(ids(streams.replay("1/7").unwrap()).await.is_empty());
        assert!(streams.replay("0/8").is_none() && streams.replay("0").is_none());
        for number in 8..11 {
            let id = format!("0/{number}");
            let reply = stream::iter([event(&id, MAX_KEPT_BYTES / 3)]).boxed();
            assert_eq!(ids(streams.record(reply, &finished)).await, [id]);
        }
        // The recording of the last one ends behind its event.
        while lock(&finished.0).replies.len() > 2 {
            tokio::task::yield_now().await;
        }
        assert!(streams.replay("0/7").is_none() && streams.replay("0/8").is_none());
        assert!(streams.replay("0/9").is_some() && streams.replay("0/10").is_some());
    }

    #[tokio::test]
    async fn of_many_events_the_last_ones_are_kept() {
        let (streams, finished) = (Arc::new(Streams::default()), Arc::new(Finished::default()));
        let events = (0..=MAX_EVENTS).map(|number| event(&format!("{number}/1"), 1));
        let events = stream::iter(events.collect::<Vec<_>>()).boxed();
        let sent = streams.record(events, &finished);
        assert_eq!(ids(sent).await.last().unwrap(), &format!("{MAX_EVENTS}/1"));
        assert_eq!(ids(streams.replay("0/1").unwrap()).await.len(), MAX_EVENTS);
    }
}
