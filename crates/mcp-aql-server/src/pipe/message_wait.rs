//! Decides from the traffic how to wait for the next message, and writes answers meanwhile.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::time::{Duration, Instant};

use futures_util::future::FusedFuture;

/// How long to poll for the next message after the answers were written. A program that calls one operation
/// after another sends it at once, and waking a processor that has just gone to sleep takes longer
/// than a call.
const BUSY_POLL_DURATION: Duration = Duration::from_micros(100);
/// The time between two polls after which the processor was apparently busy with something else.
const MAX_POLL_GAP: Duration = Duration::from_micros(20);
/// The number of messages in a row that must come quickly before polling pays off.
const QUICK_MESSAGES: u32 = 2;

/// Decides whether to poll for the next message, or to sleep until it comes.
///
/// Messages that come slowly, and a busy machine, switch polling off, so that a connection without
/// traffic costs no processor time.
#[derive(Debug)]
pub(super) struct MessageWait {
    /// The number of messages in a row that came soon after the answer to the one before.
    quick_messages: u32,
    /// Whether another processor can run the client in the meantime.
    has_other_processor: bool,
}

impl MessageWait {
    pub(super) fn new() -> Self {
        let processors = std::thread::available_parallelism();
        let has_other_processor = processors.is_ok_and(|count| count.get() > 1);
        Self { quick_messages: 0, has_other_processor }
    }

    /// Calls `poll` for a short time, if the next message is likely to come soon. Returns the first
    /// result of it.
    pub(super) fn busy_poll<T>(&mut self, mut poll: impl FnMut() -> Option<T>) -> Option<T> {
        if self.quick_messages < QUICK_MESSAGES || !self.has_other_processor {
            return None;
        }
        let started = Instant::now();
        let mut last = started;
        loop {
            if let Some(result) = poll() {
                return Some(result);
            }
            let now = Instant::now();
            if now - last > MAX_POLL_GAP || now - started > BUSY_POLL_DURATION {
                self.quick_messages = 0;
                return None;
            }
            last = now;
            std::hint::spin_loop();
        }
    }

    /// Awaits the next message, and measures how long it takes.
    pub(super) async fn sleep<F: Future>(&mut self, message: F) -> F::Output {
        let started = Instant::now();
        let message = message.await;
        self.quick_messages = match started.elapsed() <= BUSY_POLL_DURATION {
            true => self.quick_messages + 1,
            false => 0,
        };
        message
    }
}

/// Awaits a future, and polls the writer before it each time.
pub(super) async fn beside<T>(
    mut writer: Pin<&mut impl FusedFuture<Output = ()>>,
    future: impl Future<Output = T>,
) -> T {
    let mut future = pin!(future);
    poll_fn(|context| {
        if !writer.is_terminated() {
            let _ = writer.as_mut().poll(context);
        }
        future.as_mut().poll(context)
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of polls for a message that does not come.
    fn polls(wait: &mut MessageWait) -> usize {
        let mut polls = 0;
        let found: Option<()> = wait.busy_poll(|| {
            polls += 1;
            None
        });
        assert_eq!(found, None);
        polls
    }

    #[tokio::test]
    async fn only_quick_traffic_is_polled_for() {
        let mut wait = MessageWait { quick_messages: 0, has_other_processor: true };
        assert_eq!(polls(&mut wait), 0, "the first message");
        for _ in 0..QUICK_MESSAGES {
            wait.sleep(std::future::ready(())).await;
        }
        assert_eq!(wait.busy_poll(|| Some(7)), Some(7));
        assert!(polls(&mut wait) > 0);
        assert_eq!(polls(&mut wait), 0, "nothing came");
        wait.quick_messages = QUICK_MESSAGES;
        wait.sleep(tokio::time::sleep(BUSY_POLL_DURATION * 2)).await;
        assert_eq!(polls(&mut wait), 0, "a message came late");
    }

    #[test]
    fn a_busy_machine_is_not_polled_on() {
        let mut wait = MessageWait { quick_messages: QUICK_MESSAGES, has_other_processor: true };
        let mut polls = 0;
        let found: Option<()> = wait.busy_poll(|| {
            polls += 1;
            std::thread::sleep(MAX_POLL_GAP * 2);
            None
        });
        assert_eq!((found, polls), (None, 1));
        let mut alone = MessageWait { quick_messages: QUICK_MESSAGES, has_other_processor: false };
        assert_eq!(alone.busy_poll(|| Some(())), None);
    }
}
