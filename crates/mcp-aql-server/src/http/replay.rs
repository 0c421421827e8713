//! Keeps the events of requests, so that a client can fetch them after losing its connection.
//!
//! rmcp discards the events of a request with its reply. For a fast call that is before the client
//! can notice a lost connection.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt as _};
use rmcp::model::ServerJsonRpcMessage;
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use mcp_aql_core::sync::lock;

/// The maximum total size of kept replies. Beyond it the oldest are removed.
const MAX_KEPT_BYTES: usize = 16 << 20;
/// How long a finished reply is kept. A client that loses its connection reconnects much sooner.
const REPLY_TTL: Duration = Duration::from_secs(5 * 60);
/// The overhead of a kept reply besides its text, in bytes.
const ENTRY_BYTES: usize = 1 << 10;
/// The maximum number of kept events per request. The oldest progress notifications are removed
/// first.
const MAX_EVENTS: usize = 64;

/// The event streams of one session's requests, by number.
#[derive(Default)]
pub(super) struct EventStreams(Mutex<SessionLogs>);

#[derive(Default)]
struct SessionLogs {
    by_number: HashMap<u64, Arc<EventLog>>,
    /// Set when the session ends, after which nothing is kept.
    has_ended: bool,
}

/// The events of one request.
struct EventLog(watch::Sender<Events>);

#[derive(Default)]
struct Events {
    kept: VecDeque<ServerSseMessage>,
    /// The number of the first kept event.
    first: usize,
    /// Set when the stream is complete.
    is_finished: bool,
}

/// The finished replies of all sessions, the oldest first.
#[derive(Default)]
pub(super) struct FinishedReplies {
    queue: Mutex<FinishedQueue>,
    /// Notifies the task that removes expired replies when the last reply is gone.
    emptied: Arc<Notify>,
}

#[derive(Default)]
struct FinishedQueue {
    replies: VecDeque<FinishedReply>,
    bytes: usize,
    /// Whether a task for removing expired replies is running.
    is_swept: bool,
}

/// A finished reply that can be fetched again.
struct FinishedReply {
    streams: Weak<EventStreams>,
    number: u64,
    bytes: usize,
    expires: Instant,
}

impl EventStreams {
    /// Records and returns a request's events. Recording continues if the client stops reading.
    pub(super) fn record(
        self: &Arc<Self>,
        mut events: BoxStream<'static, ServerSseMessage>,
        finished: &Arc<FinishedReplies>,
    ) -> impl Stream<Item = ServerSseMessage> + Send + Sync + use<> {
        let log = Arc::new(EventLog(watch::Sender::default()));
        let following = events_from(&log, 0);
        let (streams, finished) = (Arc::downgrade(self), Arc::clone(finished));
        tokio::spawn(async move {
            let (mut number, mut bytes) = (None, ENTRY_BYTES);
            while let Some(event) = events.next().await {
                if number.is_none() {
                    number = event.event_id.as_deref().and_then(parse).map(|(_, number)| number);
                    // Registered before the client can receive an event to resume from.
                    if let (Some(number), Some(streams)) = (number, streams.upgrade()) {
                        let mut logs = lock(&streams.0);
                        if !logs.has_ended {
                            logs.by_number.insert(number, Arc::clone(&log));
                        }
                    }
                }
                bytes += event.message.as_deref().map_or(0, length);
                log.0.send_modify(|log| log.push(event));
            }
            log.0.send_modify(|log| log.is_finished = true);
            if let Some(number) = number {
                finished.keep(&streams, number, bytes);
            }
        });
        following
    }

    /// The events after this one, if its request's events are kept.
    pub(super) fn replay(
        &self,
        last_event_id: &str,
    ) -> Option<impl Stream<Item = ServerSseMessage> + Send + Sync + use<>> {
        let (last, number) = parse(last_event_id)?;
        let log = lock(&self.0).by_number.get(&number).cloned()?;
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

impl FinishedReplies {
    fn keep(self: &Arc<Self>, streams: &Weak<EventStreams>, number: u64, bytes: usize) {
        let mut queue = lock(&self.queue);
        // The queue is locked, so a session that ends concurrently removes the reply afterwards.
        if streams.upgrade().is_none_or(|streams| lock(&streams.0).has_ended) {
            return;
        }
        let (streams, expires) = (Weak::clone(streams), Instant::now() + REPLY_TTL);
        queue.replies.push_back(FinishedReply { streams, number, bytes, expires });
        queue.bytes += bytes;
        while queue.bytes > MAX_KEPT_BYTES && queue.remove_oldest() {}
        if !std::mem::replace(&mut queue.is_swept, true) {
            tokio::spawn(sweep(Arc::downgrade(self), Arc::clone(&self.emptied)));
        }
    }

    /// Drops the replies of an ended session.
    pub(super) fn forget(&self, session: &Arc<EventStreams>) {
        let mut queue = lock(&self.queue);
        *lock(&session.0) = SessionLogs { has_ended: true, ..SessionLogs::default() };
        let mut freed = 0;
        queue.replies.retain(|reply| {
            let is_kept = reply.streams.as_ptr() != Arc::as_ptr(session);
            freed += if is_kept { 0 } else { reply.bytes };
            is_kept
        });
        queue.bytes = queue.bytes.saturating_sub(freed);
        if queue.replies.is_empty() {
            self.emptied.notify_one();
        }
    }

    /// Removes expired replies. Returns when the next one expires.
    fn remove_expired(&self) -> Option<Instant> {
        let mut queue = lock(&self.queue);
        let now = Instant::now();
        while queue.replies.front().is_some_and(|oldest| oldest.expires <= now) {
            queue.remove_oldest();
        }
        let next = queue.replies.front().map(|oldest| oldest.expires);
        queue.is_swept = next.is_some();
        next
    }
}

impl Drop for FinishedReplies {
    fn drop(&mut self) {
        self.emptied.notify_one();
    }
}

impl FinishedQueue {
    /// Removes the oldest reply. Returns false if the queue is empty.
    fn remove_oldest(&mut self) -> bool {
        let Some(reply) = self.replies.pop_front() else { return false };
        self.bytes = self.bytes.saturating_sub(reply.bytes);
        if let Some(streams) = reply.streams.upgrade() {
            lock(&streams.0).by_number.remove(&reply.number);
        }
        true
    }
}

/// Removes replies as they expire, until none is left.
async fn sweep(finished: Weak<FinishedReplies>, emptied: Arc<Notify>) {
    loop {
        let next = finished.upgrade().and_then(|finished| finished.remove_expired());
        let Some(next) = next else { return };
        tokio::select! {
            () = tokio::time::sleep_until(next) => {}
            () = emptied.notified() => {}
        }
    }
}

/// The events of a log from this number on, until it is complete.
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

/// Parses the numbers of an event and its stream from rmcp's event id.
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
        let (streams, finished) =
            (Arc::new(EventStreams::default()), Arc::new(FinishedReplies::default()));
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
        // The last recording ends after its event.
        while lock(&finished.queue).replies.len() > 2 {
            tokio::task::yield_now().await;
        }
        assert!(streams.replay("0/7").is_none() && streams.replay("0/8").is_none());
        assert!(streams.replay("0/9").is_some() && streams.replay("0/10").is_some());
    }

    /// The number of kept replies, and their size in bytes.
    fn kept(finished: &FinishedReplies) -> (usize, usize) {
        let queue = lock(&finished.queue);
        (queue.replies.len(), queue.bytes)
    }

    #[tokio::test]
    async fn replies_of_an_ended_session_are_dropped() {
        let finished = Arc::new(FinishedReplies::default());
        let [ends, stays] = [(); 2].map(|()| Arc::new(EventStreams::default()));
        for streams in [&ends, &stays] {
            ids(streams.record(stream::iter([event("0/1", 10)]).boxed(), &finished)).await;
        }
        while kept(&finished).0 < 2 {
            tokio::task::yield_now().await;
        }
        let both = kept(&finished).1;
        let (send, receive) = tokio::sync::oneshot::channel();
        let last = stream::once(async { receive.await.unwrap() });
        let running = stream::iter([event("0/2", 10)]).chain(last);
        let mut running = Box::pin(ends.record(running.boxed(), &finished));
        assert!(running.next().await.is_some());
        finished.forget(&ends);
        assert_eq!(kept(&finished), (1, both / 2));
        assert!(ends.replay("0/1").is_none() && stays.replay("0/1").is_some());
        // A call that ends after its session leaves nothing behind.
        assert!(send.send(event("1/2", 10)).is_ok());
        assert_eq!(ids(running).await, ["1/2"]);
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert_eq!(kept(&finished), (1, both / 2));
        assert!(ends.replay("0/2").is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn replies_expire() {
        let (streams, finished) =
            (Arc::new(EventStreams::default()), Arc::new(FinishedReplies::default()));
        for number in 1..3 {
            let reply = stream::iter([event(&format!("0/{number}"), 1)]).boxed();
            ids(streams.record(reply, &finished)).await;
            tokio::time::sleep(REPLY_TTL / 2 + Duration::from_millis(1)).await;
        }
        assert!(streams.replay("0/1").is_none() && streams.replay("0/2").is_some());
        tokio::time::sleep(REPLY_TTL).await;
        assert!(streams.replay("0/2").is_none());
        assert_eq!(kept(&finished), (0, 0));
        // The cleanup task starts again with the next reply.
        ids(streams.record(stream::iter([event("0/3", 1)]).boxed(), &finished)).await;
        tokio::time::sleep(REPLY_TTL * 2).await;
        assert_eq!(kept(&finished), (0, 0));
    }

    #[tokio::test]
    async fn no_task_is_left_without_replies() {
        let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
        let (streams, finished) =
            (Arc::new(EventStreams::default()), Arc::new(FinishedReplies::default()));
        let reply = || stream::iter([event("0/1", 1)]).boxed();
        for ends in [true, false] {
            let streams = if ends { Arc::clone(&streams) } else { Arc::default() };
            ids(streams.record(reply(), &finished)).await;
            while kept(&finished).0 == 0 {
                tokio::task::yield_now().await;
            }
            assert_eq!(tasks(), 1);
            if ends {
                finished.forget(&streams);
                while tasks() > 0 {
                    tokio::task::yield_now().await;
                }
            }
        }
        drop(finished);
        while tasks() > 0 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn of_many_events_the_last_ones_are_kept() {
        let (streams, finished) =
            (Arc::new(EventStreams::default()), Arc::new(FinishedReplies::default()));
        let events = (0..=MAX_EVENTS).map(|number| event(&format!("{number}/1"), 1));
        let events = stream::iter(events.collect::<Vec<_>>()).boxed();
        let sent = streams.record(events, &finished);
        assert_eq!(ids(sent).await.last().unwrap(), &format!("{MAX_EVENTS}/1"));
        assert_eq!(ids(streams.replay("0/1").unwrap()).await.len(), MAX_EVENTS);
    }
}
