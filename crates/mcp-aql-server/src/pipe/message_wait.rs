//! Waits for the next message.

use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use mcp_aql_core::future::poll_once;

/// How long to poll for the next message after one was handled. A program that calls one operation
/// after another sends it at once, and waking a processor that has just gone to sleep takes longer
/// than a call.
const BUSY_POLL_DURATION: Duration = Duration::from_micros(100);
/// The time between two polls after which the processor was apparently busy with something else.
const MAX_POLL_GAP: Duration = Duration::from_micros(20);
/// The number of messages in a row that must come quickly before polling pays off.
const QUICK_MESSAGES: u32 = 2;

/// Decides from the traffic whether to poll for the next message or to sleep until it comes.
///
/// Messages that come slowly, and a busy machine, switch polling off, so that a connection without
/// traffic costs no processor time.
#[derive(Debug, Default)]
pub(super) struct MessageWait {
    /// The number of messages in a row that came soon after the one before.
    quick_messages: u32,
}

impl MessageWait {
    /// Awaits the next message.
    pub(super) async fn wait<F: Future>(&mut self, message: F) -> F::Output {
        let mut message = pin!(message);
        let started = Instant::now();
        if self.quick_messages >= QUICK_MESSAGES {
            let mut last = started;
            loop {
                if let Poll::Ready(message) = poll_once(&mut message).await {
                    return message;
                }
                let now = Instant::now();
                if now - last > MAX_POLL_GAP || now - started > BUSY_POLL_DURATION {
                    break;
                }
                last = now;
                tokio::task::yield_now().await;
            }
            self.quick_messages = 0;
            return message.await;
        }
        let message = message.await;
        self.quick_messages = match started.elapsed() <= BUSY_POLL_DURATION {
            true => self.quick_messages + 1,
            false => 0,
        };
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Waits for a message that comes late. Returns the number of polls.
    async fn polls_for_late_message(wait: &mut MessageWait) -> usize {
        let polls = AtomicUsize::new(0);
        let mut message = Box::pin(tokio::time::sleep(BUSY_POLL_DURATION * 100));
        wait.wait(std::future::poll_fn(|context| {
            polls.fetch_add(1, Ordering::Relaxed);
            message.as_mut().poll(context)
        }))
        .await;
        polls.into_inner()
    }

    #[tokio::test]
    async fn only_quick_traffic_is_polled_for() {
        let mut wait = MessageWait::default();
        assert!(polls_for_late_message(&mut wait).await <= 3, "the first message");
        wait.quick_messages = QUICK_MESSAGES;
        wait.wait(std::future::ready(())).await;
        assert_eq!(wait.quick_messages, QUICK_MESSAGES);
        polls_for_late_message(&mut wait).await;
        assert_eq!(wait.quick_messages, 0, "a pause ends it");
        assert!(polls_for_late_message(&mut wait).await <= 3, "a message after a pause");
    }
}
