//! A channel that collects requests, for tests.

use std::sync::{Arc, Mutex, MutexGuard};

use mcp_aql_core::BoxFuture;
use mcp_aql_core::internal::util::lock;

use super::{ChannelError, HumanChannel, HumanRequest};

/// Collects requests instead of showing them. Use it in tests of agents.
///
/// Clones share the collected requests, so you can pass one clone to the safety loop and read the requests from
/// another.
///
/// ```
/// use mcp_aql::operator::MemoryChannel;
///
/// let people = MemoryChannel::default();
/// assert!(people.requests().is_empty());
/// assert!(people.last_code().is_none());
/// ```
#[derive(Debug, Clone, Default)]
pub struct MemoryChannel(Arc<Mutex<CollectedRequests>>);

#[derive(Debug, Default)]
struct CollectedRequests {
    requests: Vec<HumanRequest>,
    withdrawn: Vec<String>,
}

impl MemoryChannel {
    fn collected(&self) -> MutexGuard<'_, CollectedRequests> {
        lock(&self.0)
    }

    /// Returns all requests so far, from oldest to newest.
    pub fn requests(&self) -> Vec<HumanRequest> {
        self.collected().requests.clone()
    }

    /// Returns the ids of the withdrawn requests.
    pub fn withdrawn(&self) -> Vec<String> {
        self.collected().withdrawn.clone()
    }

    /// Returns the code of the newest request.
    pub fn last_code(&self) -> Option<String> {
        self.collected().requests.last().map(|request| request.code.reveal().to_owned())
    }
}

impl HumanChannel for MemoryChannel {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn present<'a>(&'a self, request: &'a HumanRequest) -> BoxFuture<'a, Result<(), ChannelError>> {
        self.collected().requests.push(request.clone());
        Box::pin(std::future::ready(Ok(())))
    }

    fn withdraw<'a>(&'a self, id: &'a str) -> BoxFuture<'a, ()> {
        self.collected().withdrawn.push(id.to_owned());
        Box::pin(std::future::ready(()))
    }
}
