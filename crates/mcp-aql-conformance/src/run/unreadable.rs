//! Requests that an adapter may be unable to read, and whether it answered them.

use super::Run;
use crate::sync::lock;

/// The requests that an adapter may be unable to read.
#[derive(Debug, Default, Clone)]
pub(crate) struct UnreadableRequests {
    /// The number of those with a reply.
    pub(crate) answered: usize,
    /// The descriptions of those without a reply.
    pub(crate) silent: Vec<String>,
}

impl Run {
    /// Records whether the adapter answered a request that it may be unable to read.
    pub(crate) fn note_unreadable(&self, what: &str, is_answered: bool) {
        let mut requests = lock(&self.unreadable);
        if is_answered {
            requests.answered += 1;
        } else {
            requests.silent.push(what.to_owned());
        }
    }

    /// The requests so far that the adapter may be unable to read.
    pub(crate) fn unreadable(&self) -> UnreadableRequests {
        lock(&self.unreadable).clone()
    }
}
