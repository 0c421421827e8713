//! The agents of each session in this process.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, Weak};

use mcp_aql_core::internal::util::lock;

/// The agents of a session in one safety loop.
#[derive(Default)]
pub(super) struct SessionAgents {
    /// The normalized names of the executing agents.
    pub(super) executing: Mutex<BTreeSet<String>>,
    /// The agents blocked in this session, with a number for each block.
    pub(super) blocked: Mutex<BTreeMap<String, u64>>,
    pub(super) numbers: AtomicU64,
    /// If `true`, a task waits for the end of the session.
    pub(super) watched: AtomicBool,
}

/// The sessions of this process in which agents execute, by session id.
#[derive(Default)]
pub(super) struct WatchedSessions(Mutex<HashMap<String, Weak<SessionAgents>>>);

impl WatchedSessions {
    pub(super) fn insert(&self, session: &str, agents: &Arc<SessionAgents>) {
        let mut watched = lock(&self.0);
        watched.retain(|_, known| known.strong_count() > 0);
        watched.insert(session.to_owned(), Arc::downgrade(agents));
    }

    pub(super) fn get(&self, session: &str) -> Option<Arc<SessionAgents>> {
        lock(&self.0).get(session).and_then(Weak::upgrade)
    }
}
