//! The lifecycle of a server: start, discovery, restart and status.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use chrono::Utc;
use mcp_aql_core::internal::util::lock;
use tokio::time::Instant;

use super::connection::{Connection, DiscoveryResult};
use super::stats::Stats;
use super::{Failure, LoggedState, RunState, Shared, Status};
use crate::ask::{NoPlan, Problem};

/// Pause before the first restart. It doubles with each further failure.
const MIN_RESTART_PAUSE: Duration = Duration::from_millis(250);
/// Maximum pause before a restart.
const MAX_RESTART_PAUSE: Duration = Duration::from_secs(30);
/// Time after which a connection counts as a successful start.
const STABLE_AFTER: Duration = Duration::from_secs(10);
/// Minimum time between two discoveries, because a server may announce changes without end.
const MIN_DISCOVERY_INTERVAL: Duration = Duration::from_millis(500);
/// Time limit for a ping after several failures.
const PING_TIMEOUT: Duration = Duration::from_secs(2);

impl Shared {
    pub(super) fn set(&self, state: RunState) {
        let server = &self.config.name;
        match &state {
            RunState::Ready(_) => {
                self.logged().failure = None;
                tracing::info!(parent: &self.span, server, "ready");
            }
            RunState::Failed(failure) => {
                // A repeated failure to start is logged once.
                if self.logged().failure.replace(*failure) != Some(*failure) {
                    tracing::warn!(parent: &self.span, server, %failure, "failed");
                }
            }
            RunState::Unusable(failure) => {
                tracing::info!(parent: &self.span, server, why = %failure, "not queried");
            }
            RunState::Idle | RunState::Starting => {}
        }
        self.status.send_modify(|status| {
            let is_same = match (&status.state, &state) {
                (RunState::Ready(_), RunState::Ready(_)) => true,
                (RunState::Unusable(one), RunState::Unusable(other)) => one == other,
                _ => false,
            };
            let since = if is_same { status.since } else { Utc::now() };
            *status = Status { state, since };
        });
    }

    pub(super) fn logged(&self) -> std::sync::MutexGuard<'_, LoggedState> {
        lock(&self.logged)
    }

    /// Records the cause of a failure for the operator.
    pub(super) fn note(&self, cause: &str) {
        self.stats.causes.add(cause);
    }

    /// Applies the result of discovery.
    fn apply_discovery(&self, discovered: DiscoveryResult) {
        let problems = match &discovered {
            Ok(live) => live.plan.problems(),
            Err(NoPlan::Configured(problems)) => problems,
            Err(_) => &[],
        };
        let problems: Vec<_> = problems.iter().map(Problem::in_brief).collect();
        let is_new = {
            let mut logged = self.logged();
            logged.no_plan = discovered.as_ref().err().cloned();
            let is_new = logged.problems != problems;
            logged.problems.clone_from(&problems);
            is_new
        };
        let server = &self.config.name;
        for problem in problems.iter().filter(|_| is_new) {
            tracing::warn!(parent: &self.span, server, problem, "configured call cannot be made");
        }
        self.set(match discovered {
            Ok(live) => RunState::Ready(live),
            Err(_) => RunState::Unusable(Failure::NoQueryTool),
        });
    }

    /// Keeps the server running until it is closed.
    pub(super) async fn run(&self) {
        tokio::select! {
            () = self.wanted.notified() => {}
            () = self.closing.cancelled() => return,
        }
        let mut pause = MIN_RESTART_PAUSE;
        loop {
            self.set(RunState::Starting);
            Stats::count(&self.stats.starts, 1);
            let opened = tokio::select! {
                opened = Connection::open(self) => opened,
                () = self.closing.cancelled() => return,
            };
            let failure = match opened {
                Ok(mut connection) => {
                    self.waited.store(0, Relaxed);
                    self.apply_discovery(connection.discovered());
                    // No tool can be called, and that will not change.
                    if connection.discovered().is_err() && !connection.may_change() {
                        return connection.close(Failure::NoQueryTool, self).await;
                    }
                    let since = Instant::now();
                    let served = self.stats.calls.load(Relaxed);
                    let why = self.keep(&mut connection).await;
                    let is_expired = connection.is_expired();
                    connection.close(why, self).await;
                    if self.closing.is_cancelled() {
                        return;
                    }
                    if since.elapsed() >= STABLE_AFTER {
                        pause = MIN_RESTART_PAUSE;
                    }
                    // A server that exits occasionally is restarted at once, but not one that exits
                    // repeatedly. An expired session says nothing about the server.
                    let has_served = self.stats.calls.load(Relaxed) > served;
                    if is_expired {
                        continue;
                    }
                    if pause == MIN_RESTART_PAUSE && (has_served || since.elapsed() >= STABLE_AFTER)
                    {
                        tracing::warn!(server = self.config.name, failure = %why, "restarting");
                        pause = MIN_RESTART_PAUSE * 2;
                        continue;
                    }
                    why
                }
                Err(failure @ (Failure::Loop | Failure::Plain)) => {
                    return self.set(RunState::Unusable(failure));
                }
                Err(failure) => failure,
            };
            // The status is shown with the last lines of standard error, so these are read first.
            self.stderr_tail.wait_until_read().await;
            self.set(RunState::Failed(failure));
            if self.closing.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
                return;
            }
            pause = (pause * 2).min(MAX_RESTART_PAUSE);
        }
    }

    /// Serves queries over a connection until it ends, and returns the reason.
    async fn keep(&self, connection: &mut Connection) -> Failure {
        loop {
            let next_discovery = connection.discovered_at() + self.discovery_interval;
            tokio::select! {
                why = connection.ended() => return why,
                () = self.closing.cancelled() => return Failure::Closed,
                () = self.doubted.notified() => {
                    if !connection.answers_ping(PING_TIMEOUT).await {
                        self.note("ping: no answer");
                        return Failure::Exited;
                    }
                }
                () = connection.tools_changed() => {
                    // No tool is called until the new list is known, because a tool may now write.
                    self.set(RunState::Starting);
                    if let Err(why) = self.rediscover(connection).await {
                        return why;
                    }
                }
                () = self.outdated.notified() => self.try_rediscover(connection).await,
                () = tokio::time::sleep_until(next_discovery), if connection.is_http() => {
                    self.try_rediscover(connection).await;
                }
            }
        }
    }

    async fn rediscover(&self, connection: &mut Connection) -> Result<(), Failure> {
        let discovery_run = async {
            tokio::time::sleep_until(connection.discovered_at() + MIN_DISCOVERY_INTERVAL).await;
            connection.rediscover(self).await
        };
        tokio::select! {
            discovered = discovery_run => discovered?,
            () = self.closing.cancelled() => return Err(Failure::Closed),
        }
        self.apply_discovery(connection.discovered());
        Ok(())
    }

    /// Discovers the tools again although no change was announced. After a failure, the previous
    /// result stays.
    async fn try_rediscover(&self, connection: &mut Connection) {
        if let Err(failure) = self.rediscover(connection).await {
            let server = &self.config.name;
            tracing::debug!(server, %failure, "repeated discovery failed");
        }
    }
}
