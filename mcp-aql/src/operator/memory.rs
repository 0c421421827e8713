//! A channel that collects requests, for tests.

use std::sync::{Arc, Mutex, MutexGuard};

use super::{ChannelError, HumanChannel, HumanRequest};
use crate::future::BoxFuture;
use crate::sync::lock;

/// Collects requests instead of showing them: for tests of agents.
///
/// Clones share the collected requests.
///
/// ```
/// use mcp_aql::operator::MemoryChannel;
///
/// let people = MemoryChannel::default();
/// assert!(people.requests().is_empty());
/// assert!(people.last_code().is_none());
/// ```
#[derive(Debug, Clone, Default)]
pub struct MemoryChannel(Arc<Mutex<Seen>>);

#[derive(Debug, Default)]
struct Seen {
    requests: Vec<HumanRequest>,
    withdrawn: Vec<String>,
}

impl MemoryChannel {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        lock(&self.0)
    }

    /// Returns all requests so far, oldest first.
    pub fn requests(&self) -> Vec<HumanRequest> {
        self.seen().requests.clone()
    }

    /// Returns the ids of the withdrawn requests.
    pub fn withdrawn(&self) -> Vec<String> {
        self.seen().withdrawn.clone()
    }

    /// Returns the code of the newest request.
    pub fn last_code(&self) -> Option<String> {
        self.seen().requests.last().map(|request| request.code.reveal().to_owned())
    }
}

impl HumanChannel for MemoryChannel {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn present<'a>(&'a self, request: &'a HumanRequest) -> BoxFuture<'a, Result<(), ChannelError>> {
        self.seen().requests.push(request.clone());
        Box::pin(std::future::ready(Ok(())))
    }

    fn withdraw<'a>(&'a self, id: &'a str) -> BoxFuture<'a, ()> {
        self.seen().withdrawn.push(id.to_owned());
        Box::pin(std::future::ready(()))
    }
}
