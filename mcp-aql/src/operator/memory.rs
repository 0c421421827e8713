use std::sync::{Arc, Mutex, MutexGuard};

use super::{ChannelError, HumanChannel, HumanRequest};
use crate::future::BoxFuture;
use crate::sync::lock;

/// Collects what people would be asked: for tests of what agents do.
///
/// Clones share what they collect.
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

    /// Every request so far, the oldest first.
    pub fn requests(&self) -> Vec<HumanRequest> {
        self.seen().requests.clone()
    }

    /// The ids of the requests that were taken back.
    pub fn withdrawn(&self) -> Vec<String> {
        self.seen().withdrawn.clone()
    }

    /// The code of the newest request.
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
