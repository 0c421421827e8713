//! Waits for the end of an execution, and reports its progress to the caller.

use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout_at};

use super::Executions;
use super::payload::Progress;
use super::status::Status;
use crate::operation::{CallScope, Context};
use crate::store::StoreError;

/// How often the store is read while an execution runs in another process.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Longer than any process runs, and short enough to be added to the current time without overflow.
const UNLIMITED: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// Reports the progress of an execution to a caller (REQ-MCP-15).
struct ProgressReporter<'a> {
    context: &'a Context,
    last: Option<(f64, Option<String>)>,
}

impl ProgressReporter<'_> {
    async fn report(&mut self, status: Status, progress: Option<&Progress>) {
        /// Added to a report without an advance, because MCP requires that progress grows.
        const MIN_STEP: f64 = 0.001;
        if !self.context.wants_progress() {
            return;
        }
        let Some(mut done) = share(status, progress) else { return };
        let message = progress.and_then(Progress::message).map(str::to_owned);
        if let Some((last, last_message)) = &self.last
            && done <= *last
        {
            if message == *last_message {
                return;
            }
            done = last + MIN_STEP;
        }
        let text = message.clone().unwrap_or_else(|| status.as_str().to_owned());
        self.last = Some((done, message));
        self.context.progress(done, Some(100.0), text).await;
    }
}

/// Returns the progress in percent.
fn share(status: Status, progress: Option<&Progress>) -> Option<f64> {
    match status {
        Status::Pending => Some(0.0),
        Status::Running => {
            let share =
                80.0_f64.mul_add(progress.and_then(Progress::ratio).unwrap_or_default(), 10.0);
            // One digit is enough for people who read it.
            Some((share * 10.0).round() / 10.0)
        }
        Status::Completed => Some(100.0),
        // Only a completed execution reaches 100.
        Status::Failed | Status::Cancelled => None,
    }
}

impl Executions {
    /// Waits for the end of an execution, and reports its progress to the caller. Returns early if the caller cancels.
    /// Check before the call that the caller may see the execution.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    #[doc(hidden)]
    pub async fn wait_for_end(&self, id: &str, scope: CallScope) -> Result<(), StoreError> {
        self.wait(id, &Context::of_call(scope, None), UNLIMITED).await
    }

    /// Waits for the end of an execution, until the caller cancels or the time is over.
    pub(crate) async fn wait(
        &self,
        id: &str,
        context: &Context,
        timeout: Duration,
    ) -> Result<(), StoreError> {
        let deadline = Instant::now() + timeout;
        let mut reporter = ProgressReporter { context, last: None };
        loop {
            if let Some(live) = self.core.running.get(id) {
                let mut updates = live.updates.subscribe();
                loop {
                    let now = updates.borrow_and_update().clone();
                    reporter.report(now.status, now.progress.as_ref()).await;
                    tokio::select! {
                        biased;
                        () = live.over.cancelled() => break,
                        () = context.cancelled() => return Ok(()),
                        () = sleep_until(deadline) => return Ok(()),
                        _ = updates.changed() => {}
                    }
                }
                continue;
            }
            let Some(record) = self.core.get(id).await? else { return Ok(()) };
            reporter.report(record.status, record.progress.as_ref()).await;
            if record.status.is_final() || Instant::now() >= deadline {
                return Ok(());
            }
            let given_up =
                timeout_at(deadline.min(Instant::now() + POLL_INTERVAL), context.cancelled());
            if given_up.await.is_ok() {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::Advance;

    #[test]
    fn states_map_to_shares_of_a_hundred() {
        // REQ-MCP-15, choice C-64
        let mut half = Progress::default();
        half.advance(Advance { done: Some(2.0), total: Some(4.0), message: None });
        let mut third = Progress::default();
        third.advance(Advance { done: Some(1.0), total: Some(3.0), message: None });
        for (status, progress, expected) in [
            (Status::Pending, None, Some(0.0)),
            (Status::Running, None, Some(10.0)),
            (Status::Running, Some(&half), Some(50.0)),
            (Status::Running, Some(&third), Some(36.7)),
            (Status::Completed, Some(&half), Some(100.0)),
            (Status::Failed, Some(&half), None),
            (Status::Cancelled, None, None),
        ] {
            assert_eq!(share(status, progress), expected, "{status:?}");
        }
    }
}
