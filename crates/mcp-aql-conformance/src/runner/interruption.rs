//! The interruption of a run: it ends its calls and removes what it created.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::Runner;
use crate::report::Report;
use crate::run::Run;

/// The time for the replies to calls that were sent before the interruption. Without a reply, the identifiers of
/// created items are unknown.
const REPLY_TIMEOUT: Duration = Duration::from_secs(2);
/// The time to remove the run's items after the interruption.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(7);

/// Returned when a run was interrupted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the run was interrupted")]
#[non_exhaustive]
pub struct Interrupted {
    /// Items that the run created and did not remove, with the reasons.
    pub left_behind: Vec<String>,
}

/// Whether a run is interrupted.
#[derive(Debug, Clone, Default)]
pub(super) struct Interruption(Arc<watch::Sender<bool>>);

impl Interruption {
    fn set(&self) {
        self.0.send_replace(true);
    }

    /// Waits until the run is interrupted.
    pub(super) async fn wait(&self) {
        // The sender cannot be dropped while this borrows it.
        let _ = self.0.subscribe().wait_for(|is_interrupted| *is_interrupted).await;
    }
}

impl Runner {
    /// Runs all checks until this future completes. In that case, the run makes no further calls and removes
    /// what it created, as far as it may and within about 10 seconds.
    ///
    /// # Errors
    /// [`Interrupted`] if the future completed before the run. There is no report then.
    pub async fn run_until(
        &self,
        interruption: impl Future<Output = ()>,
    ) -> Result<Report, Interrupted> {
        let interrupted = Interruption::default();
        let runner = Self { interruption: interrupted.clone(), ..self.clone() };
        let mut whole = pin!(runner.whole());
        tokio::select! {
            biased;
            () = interruption => interrupted.set(),
            whole = &mut whole => return Ok(self.judge(&whole)),
        }
        let whole = whole.await;
        let mut left_behind: Vec<_> =
            whole.surfaces.into_iter().flat_map(|mode| mode.left_behind).collect();
        left_behind.iter_mut().for_each(|left| self.secrets.mask(left));
        Err(Interrupted { left_behind })
    }

    /// Waits for a future of this run. After an interruption, the run makes no calls, and the future is dropped
    /// if the replies to earlier calls do not arrive in time.
    pub(super) async fn until_interrupted(&self, run: &Run, calls: impl Future<Output = ()>) {
        let mut calls = pin!(calls);
        tokio::select! {
            biased;
            () = &mut calls => return,
            () = self.interruption.wait() => {}
        }
        run.stop_calls(true);
        // The result is the same if the time is over.
        let _ = tokio::time::timeout(REPLY_TIMEOUT, calls).await;
        run.stop_calls(false);
    }

    /// Removes the items of a run, within a shorter time if it is interrupted. Returns the remaining ones with
    /// the reasons.
    pub(super) async fn clear_up(&self, run: &Run) -> Vec<String> {
        let time_is_over = async {
            self.interruption.wait().await;
            tokio::time::sleep(REMOVAL_TIMEOUT).await;
        };
        tokio::select! {
            biased;
            left = run.clear_up() => left,
            () = time_is_over => run.left_in_haste(),
        }
    }
}
