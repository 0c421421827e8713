//! Counts the replies to requests that an adapter may be unable to read.

use super::Run;
use crate::sync::lock;

/// The requests that an adapter may be unable to read.
#[derive(Debug, Default, Clone)]
pub(crate) struct UnreadableRequests {
    /// Number of such requests with a reply.
    pub(crate) answered: usize,
    /// Descriptions of such requests without a reply.
    pub(crate) silent: Vec<String>,
}

impl Run {
    /// Records a request that the adapter may be unable to read, and if the adapter replied.
    pub(crate) fn note_unreadable(&self, what: &str, is_answered: bool) {
        let mut requests = lock(&self.unreadable);
        if is_answered {
            requests.answered += 1;
        } else {
            requests.silent.push(what.to_owned());
        }
    }

    /// Returns the requests so far that the adapter may be unable to read.
    pub(crate) fn unreadable(&self) -> UnreadableRequests {
        lock(&self.unreadable).clone()
    }
}
