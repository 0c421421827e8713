use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream;
use tokio::time::Instant;

use super::Core;
use super::ledger::Verdict;
use super::live::{Live, Why};
use crate::clock::after;

/// Leases that are renewed side by side.
const SIDE_BY_SIDE: usize = 16;

/// Renews leases as long as anything runs.
pub(super) async fn keep(core: Arc<Core>) {
    /// A runtime that shuts down drops this task before others.
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
    // Somebody else may keep them by now.
    kept.done = true;
}

impl Core {
    /// Says that an execution is alive and how far it is, and hears whether it should stop.
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
                tracing::warn!(%error, execution = live.id, "a lease cannot be renewed");
                // By now another process may run it.
                if live.renewed().elapsed() >= lease {
                    live.fenced.cancel();
                }
            }
        }
    }

    /// Ends what processes that are gone have left behind, once; what may still turn out to be left
    /// behind is looked at again when its lease has run out.
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
            tracing::warn!(%error, "what was left behind cannot be looked for");
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
            tracing::warn!(%error, "what was left behind cannot be looked for");
        }
    }
}
