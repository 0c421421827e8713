//! Interrupts a run: ends its calls and removes the items it created.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::Runner;
use crate::cases::Cases;
use crate::report::Report;
use crate::run::Run;

/// Maximum wait for replies to calls sent before the interruption. Without the reply, the identifier of a created item
/// is unknown and the item cannot be removed.
const REPLY_TIMEOUT: Duration = Duration::from_secs(2);
/// Time for removing the items of the run after the interruption.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(5);

/// The collected cases of each check.
pub(super) type CasesByCheck = BTreeMap<&'static str, Arc<Cases>>;

/// Copies the cases of each check.
pub(super) fn copy_cases(cases: &CasesByCheck) -> CasesByCheck {
    cases.iter().map(|(check, cases)| (*check, Arc::new(cases.copy()))).collect()
}

/// A flag for the interruption of a run.
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
        // `self` owns the sender, so waiting cannot fail because the sender was dropped.
        let _ = self.0.subscribe().wait_for(|is_interrupted| *is_interrupted).await;
    }
}

impl Runner {
    /// Runs all checks until `interruption` completes.
    ///
    /// After an interruption, the run ends its checks. It then removes the items it created if the settings allow that,
    /// for up to about 10 seconds. The report contains the results so far, and [`Report::interrupted`] is `true`.
    ///
    /// ```no_run
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// use std::time::Duration;
    ///
    /// use mcp_aql_conformance::{CommandTarget, Runner, Settings};
    ///
    /// let target = CommandTarget::new("tasks", ["--db", "test.db"]);
    /// let runner = Runner::new(target, Settings::default().allow_all());
    /// let report = runner.run_until(tokio::time::sleep(Duration::from_secs(60))).await;
    /// println!("{}", report.text(false));
    /// # }
    /// ```
    pub async fn run_until(&self, interruption: impl Future<Output = ()>) -> Report {
        let whole = self.interruptible(interruption, |runner| async move { runner.whole().await });
        self.judge(&whole.await)
    }

    /// Runs `work` with a runner, and interrupts this runner when `interruption` completes.
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

    /// Returns `true` if the run was interrupted.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interruption.is_set()
    }

    /// Waits for the calls of a run until they end or the run is interrupted.
    ///
    /// After an interruption, the run makes no further calls. If replies to earlier calls do not arrive in time, the
    /// work is dropped.
    ///
    /// Returns `None` if the work ended without an interruption, and otherwise the result of `so_far`, called at the
    /// time of the interruption. Later results are unusable: without replies, checks report violations that the adapter
    /// does not have.
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
        // A timeout needs no handling, because the result is the same.
        let _ = tokio::time::timeout(REPLY_TIMEOUT, work).await;
        run.stop_calls(false);
        Some(so_far)
    }

    /// Removes the items of a run, in a shorter time if it is interrupted. Returns descriptions of the remaining items
    /// with the reasons.
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
