//! The connections of a run: the main one, which is reopened if the adapter closes it, and a pool of others for checks
//! that need a session of their own.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::Instant;

use super::Run;
use crate::adapter::Adapter;
use crate::call::Exchange;
use crate::cases::{Cases, Skip};
use crate::sync::lock;
use crate::wire::{Connection, NoResponse};

/// Number of consecutive requests without a reply after which the adapter counts as unresponsive.
const MAX_CONSECUTIVE_TIMEOUTS: usize = 3;

/// Maximum number of times that a closed connection is reopened.
const MAX_REOPENED: usize = 3;

/// Tracks connections closed by the adapter, and requests without a reply.
#[derive(Debug, Default)]
pub(super) struct Health {
    /// Number of consecutive requests without a reply.
    silent: usize,
    /// Time when the last of them timed out.
    silent_since: Option<Instant>,
    reopened: usize,
    /// Reason why the adapter no longer replies, if it does not.
    lost: Option<NoResponse>,
    /// Reasons why the adapter closed connections.
    pub(super) deaths: Vec<String>,
}

impl Health {
    /// Counts consecutive calls without a reply.
    pub(super) fn note(&mut self, exchange: &Exchange, started: Instant) {
        match exchange.no_response() {
            // Concurrent timeouts count as one.
            Some(NoResponse::TimedOut(limit))
                if self.silent_since.is_none_or(|since| started >= since) =>
            {
                self.silent += 1;
                self.silent_since = Some(Instant::now());
                if self.silent >= MAX_CONSECUTIVE_TIMEOUTS {
                    self.lost = Some(NoResponse::TimedOut(*limit));
                }
            }
            Some(_) => {}
            None => {
                self.silent = 0;
                self.silent_since = None;
            }
        }
    }
}

impl Run {
    /// Returns the connection. Reopens it if the adapter has closed it.
    pub(crate) async fn connection(&self) -> Result<Arc<Connection>, NoResponse> {
        if let Some(lost) = self.health().lost.clone() {
            return Err(lost);
        }
        if self.is_over() {
            return Err(NoResponse::OutOfTime(self.pacer.out_of_time(self.settings.limits.run)));
        }
        let current = Arc::clone(&*self.connection.read().await);
        let Some(why) = current.ended() else { return Ok(current) };
        let mut place = self.connection.write().await;
        if place.ended().is_none() {
            return Ok(Arc::clone(&*place));
        }
        {
            let mut health = self.health();
            health.deaths.push(why.to_string());
            health.reopened += 1;
            if health.reopened > MAX_REOPENED || !matches!(why, NoResponse::Closed(_)) {
                health.lost = Some(why.clone());
                return Err(why);
            }
        }
        match self.open().await {
            Ok(opened) => {
                *place = Arc::new(opened);
                Ok(Arc::clone(&*place))
            }
            Err(lost) => {
                self.health().lost = Some(lost.clone());
                Err(lost)
            }
        }
    }

    /// Returns `true` if the time for calls is over.
    pub(crate) fn is_over(&self) -> bool {
        Instant::now() >= self.prolonged.get().copied().unwrap_or_else(|| self.end())
    }

    /// Stops further calls, or allows calls again.
    pub(crate) fn stop_calls(&self, is_stopped: bool) {
        self.is_stopped.store(is_stopped, Ordering::Relaxed);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// Extends the time for calls, even beyond the time limit of the run.
    pub(crate) fn prolong(&self, by: Duration) {
        self.prolonged.get_or_init(|| self.end().max(Instant::now() + by));
    }

    /// Returns the maximum number of concurrent requests.
    pub(crate) fn at_once(&self) -> usize {
        self.adapter.at_once(self.settings.in_flight)
    }

    /// Opens another connection with its own session.
    pub(crate) async fn open(&self) -> Result<Connection, NoResponse> {
        let limit = self.settings.limits.request;
        Connection::open(&*self.target, self.asked_mode, &self.tap, limit).await
    }

    /// Returns a connection that no other check uses, or skips the case. Reuses a connection if possible, because
    /// starting an adapter may be slow. Call [`give_back`](Self::give_back) at the end of the check.
    pub(crate) async fn spare(&self, cases: &Cases) -> Option<Connection> {
        loop {
            let kept = lock(&self.spares).pop();
            match kept {
                Some(kept) if kept.ended().is_none() => {
                    kept.reset();
                    return Some(kept);
                }
                Some(_) => {}
                None => {
                    let opened = self.open().await;
                    return cases
                        .ok_or_skip(opened.map_err(|lost| Skip::CutShort(lost.to_string())));
                }
            }
        }
    }

    /// Returns a spare connection to the pool for other checks.
    pub(crate) fn give_back(&self, connection: Connection) {
        if connection.ended().is_none() {
            lock(&self.spares).push(connection);
        }
    }

    /// Returns the reasons why the adapter closed connections.
    pub(crate) fn deaths(&self) -> Vec<String> {
        self.health().deaths.clone()
    }

    /// Returns the reason why the adapter no longer replies, if it does not.
    pub(crate) fn no_response(&self) -> Option<NoResponse> {
        self.health().lost.clone()
    }

    pub(super) fn health(&self) -> std::sync::MutexGuard<'_, Health> {
        lock(&self.health)
    }

    /// Closes all connections and returns the learned adapter.
    pub(crate) async fn close(self) -> Adapter {
        let spares = std::mem::take(&mut *lock(&self.spares));
        for spare in spares {
            spare.close().await;
        }
        if let Some(connection) = Arc::into_inner(self.connection.into_inner()) {
            connection.close().await;
        }
        self.adapter
    }
}
