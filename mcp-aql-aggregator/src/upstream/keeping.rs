//! Keeps a server running: starts it, learns its tools, starts it again, and says what it does.

use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use chrono::Utc;
use tokio::time::Instant;

use super::connection::{Connection, Learnt};
use super::stats::Stats;
use super::{Failure, Shared, Status, Told, What};
use crate::ask::{NoPlan, Problem};

/// Before it is started again, a server is left so long, then twice as long, and so on,
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// up to this.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A connection that held so long was no failed start.
const HELD: Duration = Duration::from_secs(10);
/// Tools are learnt again no sooner than this, however often a server says that they changed.
const BETWEEN_LESSONS: Duration = Duration::from_millis(500);
/// A server that answered nothing lately has so long to answer a ping.
const TO_PING: Duration = Duration::from_secs(2);

impl Shared {
    pub(super) fn set(&self, what: What) {
        let server = &self.config.name;
        match &what {
            What::Ready(_) => {
                self.told().failure = None;
                tracing::info!(parent: &self.span, server, "ready");
            }
            What::Failed(failure) => {
                // What cannot start is tried for ever: it is told once.
                if self.told().failure.replace(*failure) != Some(*failure) {
                    tracing::warn!(parent: &self.span, server, %failure, "failed");
                }
            }
            What::Unfit(failure) => {
                tracing::info!(parent: &self.span, server, why = %failure, "not asked");
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

    /// Keeps the cause of a failure for whoever checks the configuration.
    pub(super) fn note(&self, cause: &str) {
        self.stats.notes.add(cause);
    }

    /// Has queries go by what was learnt.
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
            tracing::warn!(parent: &self.span, server, problem, "cannot be asked as configured");
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
        let mut pause = FIRST_PAUSE;
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
                    // Nothing will ever be asked of it.
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
                    let has_held = since.elapsed() >= HELD;
                    if has_held {
                        pause = FIRST_PAUSE;
                    }
                    // What ends now and then is started again at once, what ends again and again is not; and
                    // a session that is over says nothing of its server.
                    let has_served = self.stats.calls.load(Relaxed) > served;
                    if is_expired || has_held || has_served && pause == FIRST_PAUSE {
                        if !is_expired {
                            let server = &self.config.name;
                            tracing::warn!(server, failure = %why, "starts again");
                            pause = FIRST_PAUSE * 2;
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
            // For whoever then asks why.
            self.last_words.are_heard().await;
            self.set(What::Failed(failure));
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.closing.cancelled() => return,
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Has a connection used until it is over, and says why it is.
    async fn keep(&self, connection: &mut Connection) -> Failure {
        loop {
            let next_lesson = connection.learnt_at() + self.to_learn;
            tokio::select! {
                why = connection.ended() => return why,
                () = self.closing.cancelled() => return Failure::Closed,
                () = self.doubted.notified() => {
                    if !connection.answers_ping(TO_PING).await {
                        self.note("ping: no answer");
                        return Failure::Exited;
                    }
                }
                () = connection.tools_changed() => {
                    // Until it is known what they are now, none is called: one may write.
                    self.set(What::Starting);
                    if let Err(why) = self.learn_again(connection).await {
                        return why;
                    }
                }
                () = self.outdated.notified() => self.look_again(connection).await,
                () = tokio::time::sleep_until(next_lesson), if connection.is_http() => {
                    self.look_again(connection).await;
                }
            }
        }
    }

    async fn learn_again(&self, connection: &mut Connection) -> Result<(), Failure> {
        let learning = async {
            tokio::time::sleep_until(connection.learnt_at() + BETWEEN_LESSONS).await;
            connection.learn_again(self).await
        };
        tokio::select! {
            learned = learning => learned?,
            () = self.closing.cancelled() => return Err(Failure::Closed),
        }
        self.set_learnt(connection.learnt());
        Ok(())
    }

    /// Learns the tools again where nothing says that they changed: if that fails, all stays as it was.
    async fn look_again(&self, connection: &mut Connection) {
        if let Err(failure) = self.learn_again(connection).await {
            let server = &self.config.name;
            tracing::debug!(server, %failure, "its tools are not known anew");
        }
    }
}
