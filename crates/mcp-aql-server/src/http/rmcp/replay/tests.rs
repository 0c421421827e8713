//! Tests of kept replies.

use std::time::Duration;

use futures_util::stream::{self, BoxStream};
use futures_util::{Stream, StreamExt as _};
use rmcp::model::{JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use tokio::sync::oneshot;

use super::log::MAX_EVENTS;
use super::*;

const RETENTION: Duration = Duration::from_secs(300);
const BYTES: usize = 30_000;

fn replies(session_bytes: usize) -> Arc<FinishedReplies> {
    FinishedReplies::new(RetentionLimits { retention: RETENTION, bytes: BYTES, session_bytes })
}

fn streams(finished: &Arc<FinishedReplies>) -> Arc<EventStreams> {
    EventStreams::new("5f0c2a9e-41d7".into(), Arc::clone(finished))
}

/// Returns a progress notification.
fn progress() -> ServerSseMessage {
    let message = serde_json::json!({
        "jsonrpc": "2.0", "method": "notifications/progress",
        "params": { "progressToken": 1, "progress": 1 },
    });
    ServerSseMessage::from_message(serde_json::from_value(message).unwrap())
}

/// Returns an answer with a string of this length.
fn answer(bytes: usize) -> ServerSseMessage {
    let message = serde_json::json!({
        "jsonrpc": "2.0", "id": 1, "result": { "text": "x".repeat(bytes) },
    });
    let message: ServerJsonRpcMessage = serde_json::from_value(message).unwrap();
    assert!(matches!(message, JsonRpcMessage::Response(_)));
    ServerSseMessage::from_message(message)
}

/// Records the reply to a call. The request has the number of the call as its id.
fn record(
    streams: &Arc<EventStreams>,
    call: i64,
    events: impl Stream<Item = ServerSseMessage> + Send + 'static,
    is_awaited: bool,
) -> BoxStream<'static, ServerSseMessage> {
    let record = streams.record(call, &call.to_string());
    let sent = record.events().boxed();
    tokio::spawn(record.run(events.boxed(), RequestId::Number(call), move || is_awaited));
    sent
}

async fn ids(events: impl Stream<Item = ServerSseMessage>) -> Vec<String> {
    events.filter_map(|event| async { event.event_id }).collect().await
}

/// Returns the ids of the events after this one, or the reason why they are missing.
async fn after(streams: &EventStreams, last: &str) -> Result<Vec<String>, &'static str> {
    match streams.replay(&EventId::parse(last).unwrap()) {
        Replay::Events(events) => Ok(ids(events).await),
        Replay::Complete => Err("complete"),
        Replay::NotKept => Err("not kept"),
    }
}

/// Waits until this many replies are kept.
async fn keeps(finished: &FinishedReplies, count: usize) {
    while finished.kept().0 != count {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn the_events_after_the_last_one_come_back() {
    let finished = replies(BYTES);
    let streams = streams(&finished);
    let sent = record(&streams, 7, stream::iter([progress(), progress(), answer(1)]), true);
    assert_eq!(ids(sent).await, ["1/7/5f0c2a9e/7", "2/7/5f0c2a9e/7", "end/7/5f0c2a9e/7"]);
    keeps(&finished, 1).await;
    let rest = ["2/7/5f0c2a9e/7", "end/7/5f0c2a9e/7"].map(str::to_owned);
    assert_eq!(after(&streams, "1/7/5f0c2a9e/7").await, Ok(rest.to_vec()));
    assert_eq!(after(&streams, "end/7/5f0c2a9e/7").await, Err("complete"));
    assert_eq!(after(&streams, "9/7/5f0c2a9e/7").await, Err("complete"));
    assert_eq!(after(&streams, "1/8/5f0c2a9e/8").await, Err("not kept"));
}

#[tokio::test]
async fn a_reply_that_ends_while_its_stream_is_resumed_is_complete() {
    let finished = replies(BYTES);
    let streams = streams(&finished);
    let (send, receive) = oneshot::channel();
    let last = stream::once(async { receive.await.unwrap() });
    let mut sent = record(&streams, 1, stream::iter([progress()]).chain(last), true);
    let first = sent.next().await.unwrap().event_id.unwrap();
    drop(sent);
    let Replay::Events(resumed) = streams.replay(&EventId::parse(&first).unwrap()) else {
        panic!("the reply is being recorded")
    };
    assert!(send.send(answer(1)).is_ok());
    assert_eq!(ids(resumed).await, ["end/1/5f0c2a9e/1"]);
}

#[tokio::test]
async fn a_request_without_an_answer_is_answered_unless_it_was_cancelled() {
    let finished = replies(BYTES);
    let streams = streams(&finished);
    let sent = record(&streams, 1, stream::iter([progress()]), true);
    let events: Vec<_> = sent.collect().await;
    let Some(JsonRpcMessage::Error(error)) = events.last().unwrap().message.as_deref() else {
        panic!("the last event is an error: {events:?}")
    };
    assert_eq!(error.id, Some(RequestId::Number(1)));
    let cancelled = record(&streams, 2, stream::iter([progress()]), false);
    assert_eq!(ids(cancelled).await, ["1/2/5f0c2a9e/2"]);
    assert_eq!(after(&streams, "1/2/5f0c2a9e/2").await, Err("complete"));
}

#[tokio::test]
async fn newer_replies_replace_older_ones_within_the_limits() {
    let finished = replies(BYTES / 2);
    let [one, two, three] = [(); 3].map(|()| streams(&finished));
    let keep = async |streams: &Arc<EventStreams>, call, bytes| {
        ids(record(streams, call, stream::iter([progress(), answer(bytes)]), true)).await;
        tokio::task::yield_now().await;
    };
    let is_kept = |streams: &EventStreams, call: i64| {
        let first = EventId::parse(&format!("1/{call}/5f0c2a9e")).unwrap();
        matches!(streams.replay(&first), Replay::Events(_))
    };
    // The limit of one session.
    for call in 1..=3 {
        keep(&one, call, BYTES / 6).await;
    }
    keeps(&finished, 2).await;
    assert!(!is_kept(&one, 1) && is_kept(&one, 2) && is_kept(&one, 3));
    // The limit of all sessions: the oldest reply is removed.
    for (streams, call) in [(&two, 1), (&two, 2), (&three, 1)] {
        keep(streams, call, BYTES / 6).await;
    }
    assert!(finished.kept().1 <= BYTES);
    assert!(!is_kept(&one, 2) && is_kept(&one, 3) && is_kept(&two, 1) && is_kept(&three, 1));
    // A reply larger than the limit is not kept, and the replies of other sessions remain.
    keep(&two, 4, BYTES).await;
    assert!(!is_kept(&two, 4) && is_kept(&one, 3) && is_kept(&three, 1));
}

#[tokio::test]
async fn replies_of_an_ended_session_are_dropped() {
    let finished = replies(BYTES);
    let [ends, stays] = [(); 2].map(|()| streams(&finished));
    for streams in [&ends, &stays] {
        ids(record(streams, 1, stream::iter([progress(), answer(10)]), true)).await;
    }
    keeps(&finished, 2).await;
    let both = finished.kept().1;
    let (send, receive) = oneshot::channel();
    let last = stream::once(async { receive.await.unwrap() });
    let mut running = record(&ends, 2, stream::iter([progress()]).chain(last), true);
    assert!(running.next().await.is_some());
    ends.end();
    assert_eq!(finished.kept(), (1, both / 2));
    assert_eq!(after(&ends, "1/1/5f0c2a9e/1").await, Err("not kept"));
    assert!(after(&stays, "1/1/5f0c2a9e/1").await.is_ok());
    // The reply to a call that ends after its session is not kept.
    assert!(send.send(answer(10)).is_ok());
    assert_eq!(ids(running).await, ["end/2/5f0c2a9e/2"]);
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(finished.kept(), (1, both / 2));
    assert_eq!(after(&ends, "1/2/5f0c2a9e/2").await, Err("not kept"));
}

#[tokio::test(start_paused = true)]
async fn replies_expire() {
    let finished = replies(BYTES);
    let streams = streams(&finished);
    for call in 1..3 {
        ids(record(&streams, call, stream::iter([progress(), answer(1)]), true)).await;
        tokio::time::sleep(RETENTION / 2 + Duration::from_millis(1)).await;
    }
    assert_eq!(after(&streams, "1/1/5f0c2a9e/1").await, Err("not kept"));
    assert!(after(&streams, "1/2/5f0c2a9e/2").await.is_ok());
    tokio::time::sleep(RETENTION).await;
    assert_eq!(after(&streams, "1/2/5f0c2a9e/2").await, Err("not kept"));
    assert_eq!(finished.kept(), (0, 0));
    // The cleanup task starts again with the next reply.
    ids(record(&streams, 3, stream::iter([answer(1)]), true)).await;
    tokio::time::sleep(RETENTION * 2).await;
    assert_eq!(finished.kept(), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_reply_is_abandoned_when_no_client_returns() {
    let finished = replies(BYTES);
    let streams = streams(&finished);
    let record = streams.record(1, "1");
    let grace_period = Duration::from_secs(30);
    let begun = tokio::time::Instant::now();
    let reader = record.events();
    let leave = async {
        tokio::time::sleep(grace_period * 3).await;
        drop(reader);
        tokio::time::sleep(grace_period / 2).await;
        // The client returns, and stays longer than the grace period.
        let again = record.events();
        tokio::time::sleep(grace_period * 2).await;
        drop(again);
    };
    tokio::join!(leave, record.abandoned(grace_period));
    assert!(begun.elapsed() >= grace_period * 6, "{:?}", begun.elapsed());
}

#[tokio::test]
async fn no_task_is_left_without_replies() {
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let finished = replies(BYTES);
    for ends in [true, false] {
        let streams = streams(&finished);
        ids(record(&streams, 1, stream::iter([answer(1)]), true)).await;
        keeps(&finished, 1).await;
        while tasks() != 1 {
            tokio::task::yield_now().await;
        }
        if ends {
            streams.end();
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
    let finished = replies(BYTES);
    let streams = streams(&finished);
    let events = std::iter::repeat_with(progress).take(MAX_EVENTS).chain([answer(1)]);
    let sent = record(&streams, 1, stream::iter(events.collect::<Vec<_>>()), true);
    assert_eq!(ids(sent).await.last().unwrap(), "end/1/5f0c2a9e/1");
    assert_eq!(after(&streams, "0/1/5f0c2a9e/1").await.unwrap().len(), MAX_EVENTS);
}
