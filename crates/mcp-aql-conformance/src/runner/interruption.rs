//! The interruption of a run: it ends its calls and removes what it created.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::Runner;
use crate::cases::Cases;
use crate::report::Report;
use crate::run::Run;

/// The time for the replies to calls that were sent before the interruption. Without a reply, the identifiers of
/// created items are unknown.
const REPLY_TIMEOUT: Duration = Duration::from_secs(2);
/// The time to remove the run's items after the interruption.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(5);

/// The collected cases of each check.
pub(super) type CasesByCheck = BTreeMap<&'static str, Arc<Cases>>;

/// Copies the cases of each check.
pub(super) fn copy_cases(cases: &CasesByCheck) -> CasesByCheck {
    cases.iter().map(|(check, cases)| (*check, Arc::new(cases.copy()))).collect()
}

/// Whether a run is interrupted.
#[derive(Debug, Clone, Default)]
pub(super) struct Interruption(Arc<watch::Sender<bool>>);

impl Interruption {
    fn set(&self) {
        self.0.send_replace(true);
    }

    pub(super) fn is_set(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until the run is interrupted.
    pub(super) async fn wait(&self) {
        // The sender cannot be dropped while this borrows it.
        let _ = self.0.subscribe().wait_for(|is_interrupted| *is_interrupted).await;
    }
}

impl Runner {
    /// Runs all checks until this future completes. In that case, the run ends its checks and removes what it
    /// created, as far as it may and within about 10 seconds. The report is then [`Report::interrupted`] and has
    /// the results so far.
    pub async fn run_until(&self, interruption: impl Future<Output = ()>) -> Report {
        let whole = self.interruptible(interruption, |runner| async move { runner.whole().await });
        self.judge(&whole.await)
    }

    /// Does the work of a runner that is interrupted when this future completes.
    pub(crate) async fn interruptible<F: Future>(
        &self,
        interruption: impl Future<Output = ()>,
        work: impl FnOnce(Self) -> F,
    ) -> F::Output {
        let interrupted = Interruption::default();
        let mut work = pin!(work(Self { interruption: interrupted.clone(), ..self.clone() }));
        tokio::select! {
            biased;
            () = interruption => {
                interrupted.set();
                work.await
            }
            result = &mut work => result,
        }
    }

    /// Whether the run was interrupted.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interruption.is_set()
    }

    /// Waits for the calls of a run. After an interruption, the run makes no calls, and the work is dropped if
    /// the replies to earlier calls do not arrive in time. In this case, returns what the second function
    /// returned at the interruption, because checks without replies find faults that the adapter does not have.
    pub(crate) async fn until_interrupted<T>(
        &self,
        run: &Run,
        work: impl Future<Output = ()>,
        so_far: impl FnOnce() -> T,
    ) -> Option<T> {
        let mut work = pin!(work);
        tokio::select! {
            biased;
            () = &mut work => return None,
            () = self.interruption.wait() => {}
        }
        let so_far = so_far();
        run.stop_calls(true);
        // The result is the same if the time is over.
        let _ = tokio::time::timeout(REPLY_TIMEOUT, work).await;
        run.stop_calls(false);
        Some(so_far)
    }

    /// Removes the items of a run, within a shorter time if it is interrupted. Returns the remaining ones with
    /// the reasons.
    pub(crate) async fn clear_up(&self, run: &Run) -> Vec<String> {
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
