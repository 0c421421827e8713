//! Renews the leases of running executions, and ends those whose owner is gone.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream;
use tokio::time::Instant;

use super::Core;
use super::ledger::Verdict;
use super::live::{Live, Why};
use crate::clock::after;

/// The number of leases that are renewed concurrently.
const SIDE_BY_SIDE: usize = 16;

/// Renews leases as long as any execution runs.
pub(super) async fn keep(core: Arc<Core>) {
    /// Resets the registry's flag if a runtime that shuts down drops this task early.
    struct Kept<'a> {
        core: &'a Core,
        done: bool,
    }
    impl Drop for Kept<'_> {
        fn drop(&mut self) {
            if !self.done {
                self.core.lives.abandon();
            }
        }
    }
    let mut kept = Kept { core: &core, done: false };
    while !core.lives.rest() {
        tokio::time::sleep(core.options.lease / 3).await;
        let all = core.lives.all();
        stream::iter(all)
            .for_each_concurrent(SIDE_BY_SIDE, |live| {
                let core = &core;
                async move { core.renew(&live).await }
            })
            .await;
    }
    // Another task may renew the leases by now.
    kept.done = true;
}

impl Core {
    /// Renews the lease of an execution, saves its progress, and reads whether it should stop.
    pub(super) async fn renew(&self, live: &Live) {
        let lease = self.options.lease;
        let renewed = self
            .ledger
            .update(&live.id, |record, now| {
                if !record.is_held_by(&live.hold) {
                    return Verdict::Leave(None);
                }
                record.lease_until = after(now, lease);
                record.progress = live.progress();
                Verdict::Write(Some(record.cancel_requested))
            })
            .await;
        match renewed {
            Ok(Some(Some(stop))) => {
                *live.renewed() = Instant::now();
                if stop {
                    live.ask(Why::Asked);
                }
            }
            Ok(_) => live.fenced.cancel(),
            Err(error) => {
                tracing::warn!(%error, execution = live.id, "cannot renew a lease");
                // The lease has expired: another process may have ended or restarted the execution.
                if live.renewed().elapsed() >= lease {
                    live.fenced.cancel();
                }
            }
        }
    }

    /// Ends the executions of processes that are gone, once per process. Executions whose lease is still
    /// valid are checked again after it has expired.
    pub(super) async fn sweep(self: &Arc<Self>) {
        let swept = self.swept.get_or_try_init(|| async {
            let runs_here = |id: &str, attempt| self.lives.runs(id, attempt);
            let until = self.ledger.sweep(&runs_here).await?;
            if let Some(until) = until {
                let core = Arc::clone(self);
                tokio::spawn(async move { core.sweep_later(until).await });
            }
            Ok::<_, crate::store::StoreError>(())
        });
        if let Err(error) = swept.await {
            tracing::warn!(%error, "cannot check for executions of processes that are gone");
        }
    }

    async fn sweep_later(&self, until: chrono::DateTime<chrono::Utc>) {
        const AFTER: Duration = Duration::from_millis(100);
        let left = (until - self.ledger.now()).to_std().unwrap_or_default();
        tokio::select! {
            () = tokio::time::sleep(left + AFTER) => {}
            () = self.stopping.cancelled() => return,
        }
        let runs_here = |id: &str, attempt| self.lives.runs(id, attempt);
        if let Err(error) = self.ledger.sweep(&runs_here).await {
            tracing::warn!(%error, "cannot check for executions of processes that are gone");
        }
    }
}
