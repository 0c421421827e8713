//! Renews the leases of running executions, and ends executions whose owner is gone.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream;
use tokio::time::Instant;

use super::Core;
use super::execution_store::RecordUpdate;
use super::running::{RunningExecution, StopReason};
use crate::store::StoreError;
use crate::util::clock::after;
use crate::util::{lock, spawn};

/// Minimum time between two searches for executions of crashed processes and for expired records.
pub(super) const SWEEP_INTERVAL: Duration = Duration::from_secs(10 * 60);
/// Number of leases renewed concurrently.
const CONCURRENT_RENEWALS: usize = 16;

/// Renews leases until no execution is running.
pub(super) async fn renew_leases(core: Arc<Core>) {
    /// Resets the flag of the registry if a runtime drops this task while it shuts down. Otherwise no later execution
    /// would start a new task.
    struct RenewalGuard<'a> {
        core: &'a Core,
        done: bool,
    }
    impl Drop for RenewalGuard<'_> {
        fn drop(&mut self) {
            if !self.done {
                self.core.running.mark_renewal_stopped();
            }
        }
    }
    let mut guard = RenewalGuard { core: &core, done: false };
    while !core.running.stop_renewal_if_idle() {
        tokio::time::sleep(core.options.lease / 3).await;
        let all = core.running.all();
        stream::iter(all)
            .for_each_concurrent(CONCURRENT_RENEWALS, |live| {
                let core = &core;
                async move { core.renew(&live).await }
            })
            .await;
    }
    // A new task may already be renewing the leases.
    guard.done = true;
}

impl Core {
    /// Renews the lease of an execution, saves its progress, and checks if it should stop.
    pub(super) async fn renew(&self, live: &RunningExecution) {
        let lease = self.options.lease;
        let renewed = self
            .store
            .update(&live.id, |record, now| {
                if !record.is_held_by(&live.ownership) {
                    return RecordUpdate::Leave(None);
                }
                record.lease_until = after(now, lease);
                record.progress = live.progress();
                RecordUpdate::Write(Some(record.cancel_requested))
            })
            .await;
        match renewed {
            Ok(Some(Some(stop))) => {
                *live.renewed() = Instant::now();
                if stop {
                    live.request_stop(StopReason::Requested);
                }
            }
            Ok(_) => live.fenced.cancel(),
            Err(error) => {
                if error.outage().is_none() {
                    tracing::warn!(%error, execution = live.id, "cannot renew a lease");
                }
                // After the lease has expired, another process may have ended or restarted the execution. If the
                // function has already ended, its outcome is kept.
                if live.renewed().elapsed() >= lease {
                    live.fenced.cancel();
                }
            }
        }
    }

    /// Removes expired records and ends the executions of crashed processes, in a separate task. This happens at the
    /// first use, and at the first one after each [`SWEEP_INTERVAL`].
    pub(super) fn sweep(self: &Arc<Self>) {
        if tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        let now = self.store.now();
        {
            let mut swept = lock(&self.swept);
            if swept.is_some_and(|at| at <= now && after(at, SWEEP_INTERVAL) > now) {
                return;
            }
            *swept = Some(now);
        }
        let core = Arc::clone(self);
        spawn(async move {
            if let Err(error) = core.sweep_twice().await {
                // Makes the next use try again.
                *lock(&core.swept) = None;
                if error.outage().is_none() {
                    tracing::warn!(%error, "cannot check for executions of processes that have ended");
                }
            }
        });
    }

    /// Removes expired records and ends the executions of crashed processes. Executions with a valid lease are checked
    /// again after the lease has expired.
    async fn sweep_twice(&self) -> Result<(), StoreError> {
        const SWEEP_MARGIN: Duration = Duration::from_millis(100);
        self.store.services.store().await?.purge(self.store.now()).await?;
        let runs_here = |id: &str, attempt| self.running.runs_attempt(id, attempt);
        let Some(until) = self.store.sweep(&runs_here).await? else { return Ok(()) };
        let remaining = (until - self.store.now()).to_std().unwrap_or_default();
        tokio::select! {
            () = tokio::time::sleep(remaining + SWEEP_MARGIN) => {}
            () = self.stopping.cancelled() => return Ok(()),
        }
        self.store.sweep(&runs_here).await.map(drop)
    }
}
