//! Tracks the uses of sessions, to evict idle ones. rmcp does not limit the number of sessions.

use std::sync::{Arc, Mutex};

use futures_util::{Stream, StreamExt as _};
use mcp_aql_core::internal::util::lock;
use tokio::time::Instant;

/// The uses of one session: running requests, and replies and streams that its client reads.
pub(crate) struct SessionUsage(Mutex<Usage>);

struct Usage {
    current: usize,
    /// If `true`, the session has served a request after `initialize`.
    has_served: bool,
    /// The end of the last use. Initially, the time at which the session was opened.
    used_at: Instant,
    /// If `true`, the session was evicted and can no longer be used.
    is_evicted: bool,
}

impl Usage {
    fn eviction_rank(&self) -> Option<EvictionRank> {
        let idle = self.current == 0 && !self.is_evicted;
        idle.then_some(EvictionRank { has_served: self.has_served, used_at: self.used_at })
    }
}

/// The rank of an idle session for eviction. The lowest rank is evicted first, and each use changes the rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EvictionRank {
    has_served: bool,
    used_at: Instant,
}

/// A use of a session. Dropping this value ends the use.
pub(crate) struct InUse(Arc<SessionUsage>);

impl SessionUsage {
    /// Returns the usage of a session being opened, and the use that lasts until the session is open.
    pub(crate) fn opening() -> (Arc<Self>, InUse) {
        let usage =
            Usage { current: 1, has_served: false, used_at: Instant::now(), is_evicted: false };
        let usage = Arc::new(Self(Mutex::new(usage)));
        (Arc::clone(&usage), InUse(usage))
    }

    /// Starts a use by a request or a stream. Returns `None` if the session was evicted.
    pub(crate) fn begin(self: &Arc<Self>) -> Option<InUse> {
        let mut usage = lock(&self.0);
        if usage.is_evicted {
            return None;
        }
        usage.current += 1;
        usage.has_served = true;
        Some(InUse(Arc::clone(self)))
    }

    /// Returns the rank of the session for eviction, if it is idle.
    pub(crate) fn eviction_rank(&self) -> Option<EvictionRank> {
        lock(&self.0).eviction_rank()
    }

    /// Evicts the session, unless it was used since it had this rank. Returns `true` if it was evicted.
    pub(crate) fn evict(&self, rank: &EvictionRank) -> bool {
        // A call in the meantime may have started background work.
        let mut usage = lock(&self.0);
        let is_unused = usage.eviction_rank().as_ref() == Some(rank);
        usage.is_evicted |= is_unused;
        is_unused
    }
}

/// Returns the idle sessions in the order of their eviction: the least recently used one is the first.
///
/// If sessions without any request hold more than an eighth of the limit, they come before all others. A client that
/// only opens sessions then evicts its own ones, and new clients do not evict each other.
pub(crate) fn by_idleness<S>(
    sessions: Vec<S>,
    limit: usize,
    usage: impl Fn(&S) -> &SessionUsage,
) -> Vec<(EvictionRank, S)> {
    let ranked = |session: S| Some((usage(&session).eviction_rank()?, session));
    let mut idle: Vec<_> = sessions.into_iter().filter_map(ranked).collect();
    let unserved = idle.iter().filter(|(rank, _)| !rank.has_served).count();
    let unserved_first = unserved > (limit / 8).max(1);
    idle.sort_by_key(|(rank, _)| (unserved_first && rank.has_served, rank.used_at));
    idle
}

/// Counts a stream as a use of its session while the client reads it.
pub(crate) fn counted<T>(
    events: impl Stream<Item = T> + Send + Sync + 'static,
    in_use: InUse,
) -> impl Stream<Item = T> + Send + Sync + 'static {
    events.inspect(move |_| {
        let _ = &in_use;
    })
}

impl Drop for InUse {
    fn drop(&mut self) {
        let mut usage = lock(&self.0.0);
        usage.current = usage.current.saturating_sub(1);
        usage.used_at = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_session_unused_for_longest_is_evicted_first() {
        let mut opening = Vec::new();
        for _ in 0..4 {
            opening.push(SessionUsage::opening());
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        let usages: Vec<_> = opening.iter().map(|(usage, _)| Arc::clone(usage)).collect();
        let order = || {
            let all: Vec<(usize, Arc<SessionUsage>)> = usages.iter().cloned().enumerate().collect();
            let idle = by_idleness(all, 8, |(_, usage)| usage);
            idle.into_iter().map(|(_, (it, _))| it).collect::<Vec<_>>()
        };
        let rank = |it: usize| usages[it].eviction_rank();
        assert!(order().is_empty(), "a session that is being opened is in use");
        for (_, use_of) in opening {
            drop(use_of);
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        assert_eq!(order(), [0, 1, 2, 3]);
        drop(usages[1].begin());
        tokio::time::advance(Duration::from_secs(1)).await;
        drop(usages[0].begin());
        assert_eq!(order(), [2, 3, 1, 0]);
        let before = rank(2).unwrap();
        let running = usages[2].begin();
        assert_eq!(order(), [3, 1, 0]);
        assert!(!usages[2].evict(&before), "a session in use was evicted");
        drop(running);
        assert!(!usages[2].evict(&before), "a session was evicted that was used meanwhile");
        let after = rank(2).unwrap();
        assert!(usages[2].evict(&after) && !usages[2].evict(&after));
        assert!(usages[2].begin().is_none() && order() == [3, 1, 0]);
    }

    #[tokio::test(start_paused = true)]
    async fn sessions_without_requests_come_first_if_they_hold_more_than_an_eighth() {
        let mut sessions = Vec::new();
        for has_served in [true, true, false, false] {
            let (usage, opening) = SessionUsage::opening();
            drop(opening);
            if has_served {
                drop(usage.begin());
            }
            sessions.push(usage);
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        let first = |limit: usize| {
            let idle = by_idleness(sessions.iter().collect(), limit, |usage| usage);
            let (_, first) = idle.first().unwrap();
            sessions.iter().position(|usage| Arc::ptr_eq(usage, first)).unwrap()
        };
        assert_eq!((first(16), first(15)), (0, 2));
    }
}
