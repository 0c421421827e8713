//! The lifecycle of a server: start, discovery, restart and status.

use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use chrono::Utc;
use tokio::time::Instant;

use super::connection::{Connection, Learnt};
use super::stats::Stats;
use super::{Failure, Shared, Status, Told, What};
use crate::ask::{NoPlan, Problem};

/// The pause before the first restart; it doubles with each further failure.
const MIN_RESTART_PAUSE: Duration = Duration::from_millis(250);
/// The maximum pause before a restart.
const MAX_RESTART_PAUSE: Duration = Duration::from_secs(30);
/// The time after which a connection counts as a successful start.
const STABLE_AFTER: Duration = Duration::from_secs(10);
/// The minimum time between two discoveries, however often the server announces changes.
const MIN_DISCOVERY_INTERVAL: Duration = Duration::from_millis(500);
/// The time limit for a ping after several failures.
const PING_TIMEOUT: Duration = Duration::from_secs(2);

impl Shared {
    pub(super) fn set(&self, what: What) {
        let server = &self.config.name;
        match &what {
            What::Ready(_) => {
                self.told().failure = None;
                tracing::info!(parent: &self.span, server, "ready");
            }
            What::Failed(failure) => {
                // A repeated failure to start is logged once.
                if self.told().failure.replace(*failure) != Some(*failure) {
                    tracing::warn!(parent: &self.span, server, %failure, "failed");
                }
            }
            What::Unfit(failure) => {
                tracing::info!(parent: &self.span, server, why = %failure, "not queried");
            }
            What::Idle | What::Starting => {}
        }
        self.status.send_modify(|status| {
            let is_same = match (&status.what, &what) {
                (What::Ready(_), What::Ready(_)) => true,
                (What::Unfit(one), What::Unfit(other)) => one == other,
                _ => false,
            };
            let since = if is_same { status.since } else { Utc::now() };
            *status = Status { what, since };
        });
    }

    pub(super) fn told(&self) -> std::sync::MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the cause of a failure for the operator.
    pub(super) fn note(&self, cause: &str) {
        self.stats.notes.add(cause);
    }

    /// Applies the result of discovery.
    fn set_learnt(&self, learnt: Learnt) {
        let problems = match &learnt {
            Ok(live) => live.plan.problems(),
            Err(NoPlan::Configured(problems)) => problems,
            Err(_) => &[],
        };
        let problems: Vec<_> = problems.iter().map(Problem::in_brief).collect();
        let is_new = {
            let mut told = self.told();
            told.no_plan = learnt.as_ref().err().cloned();
            let is_new = told.problems != problems;
            told.problems.clone_from(&problems);
            is_new
        };
        let server = &self.config.name;
        for problem in problems.iter().filter(|_| is_new) {
            tracing::warn!(parent: &self.span, server, problem, "configured call cannot be made");
        }
        self.set(match learnt {
            Ok(live) => What::Ready(live),
            Err(_) => What::Unfit(Failure::NoQueryTool),
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
            self.set(What::Starting);
            Stats::count(&self.stats.starts, 1);
            let opened = tokio::select! {
                opened = Connection::open(self) => opened,
                () = self.closing.cancelled() => return,
            };
            let failure = match opened {
                Ok(mut connection) => {
                    self.waited.store(0, Relaxed);
                    self.set_learnt(connection.learnt());
                    // The server will never be called.
                    if connection.learnt().is_err() && !connection.may_change() {
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
                    let has_held = since.elapsed() >= STABLE_AFTER;
                    if has_held {
                        pause = MIN_RESTART_PAUSE;
                    }
                    // A server that exits occasionally is restarted at once; one that exits
                    // repeatedly is not. An expired session says nothing about the server.
                    let has_served = self.stats.calls.load(Relaxed) > served;
                    if is_expired || has_held || has_served && pause == MIN_RESTART_PAUSE {
                        if !is_expired {
                            let server = &self.config.name;
                            tracing::warn!(server, failure = %why, "restarting");
                            pause = MIN_RESTART_PAUSE * 2;
                        }
                        continue;
                    }
                    why
                }
                Err(failure @ (Failure::Loop | Failure::Plain)) => {
                    return self.set(What::Unfit(failure));
                }
                Err(failure) => failure,
            };
            // The last lines of standard error should be available with the status.
            self.last_words.are_heard().await;
            self.set(What::Failed(failure));
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.closing.cancelled() => return,
            }
            pause = (pause * 2).min(MAX_RESTART_PAUSE);
        }
    }

    /// Serves queries over a connection until it ends, and returns the reason.
    async fn keep(&self, connection: &mut Connection) -> Failure {
        loop {
            let next_discovery = connection.learnt_at() + self.to_learn;
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
                    // No tool is called until the new list is known, because one may write.
                    self.set(What::Starting);
                    if let Err(why) = self.learn_again(connection).await {
                        return why;
                    }
                }
                () = self.outdated.notified() => self.look_again(connection).await,
                () = tokio::time::sleep_until(next_discovery), if connection.is_http() => {
                    self.look_again(connection).await;
                }
            }
        }
    }

    async fn learn_again(&self, connection: &mut Connection) -> Result<(), Failure> {
        let learning = async {
            tokio::time::sleep_until(connection.learnt_at() + MIN_DISCOVERY_INTERVAL).await;
            connection.learn_again(self).await
        };
        tokio::select! {
            learned = learning => learned?,
            () = self.closing.cancelled() => return Err(Failure::Closed),
        }
        self.set_learnt(connection.learnt());
        Ok(())
    }

    /// Discovers the tools again without an announced change. After a failure, the previous result
    /// stays.
    async fn look_again(&self, connection: &mut Connection) {
        if let Err(failure) = self.learn_again(connection).await {
            let server = &self.config.name;
            tracing::debug!(server, %failure, "repeated discovery failed");
        }
    }
}
