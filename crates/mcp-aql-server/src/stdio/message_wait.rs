//! Chooses how to wait for the next message, and polls the writer in the meantime.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::time::{Duration, Instant};

use futures_util::future::FusedFuture;

/// How long to poll for the next message after the answers were written. A program that calls one operation after
/// another sends the next message at once, and waking a processor that has just gone to sleep takes longer than a call:
/// without polling, a call of 10 µs took 34 µs.
const BUSY_POLL_DURATION: Duration = Duration::from_micros(100);
/// Time between two polls after which the machine counts as busy with other work.
const MAX_POLL_GAP: Duration = Duration::from_micros(20);
/// Number of consecutive quick messages required before polling starts.
const QUICK_MESSAGES: u32 = 2;

/// Decides whether to poll for the next message or to sleep until it arrives.
///
/// Slow messages or a busy machine disable polling, so that an idle connection uses no processor time.
#[derive(Debug)]
pub(super) struct MessageWait {
    /// Number of consecutive messages that arrived soon after the answer to the previous one.
    quick_messages: u32,
    /// If `true`, the machine has another processor to run the client while this one polls.
    has_other_processor: bool,
}

impl MessageWait {
    pub(super) fn new() -> Self {
        let processors = std::thread::available_parallelism();
        let has_other_processor = processors.is_ok_and(|count| count.get() > 1);
        Self { quick_messages: 0, has_other_processor }
    }

    /// Calls `poll` for a short time if the next message is likely to arrive soon. Returns its first result.
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

    /// Waits for the next message, and measures how long it takes to arrive.
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

/// Awaits a future. Each time it is polled, the writer is polled first.
pub(super) async fn while_writing<T>(
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

    /// Returns the number of polls for a message that never arrives.
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
