//! The size budget for incomplete requests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tokio_util::sync::CancellationToken;

use mcp_aql_core::internal::util::lock;

/// A limit on the total size of all requests being received.
///
/// At the limit, the oldest request with an incomplete body is aborted. Otherwise clients that never finish their
/// requests could block all others.
#[derive(Debug)]
pub(crate) struct BodyBudget {
    limit: usize,
    held: Mutex<HeldBodies>,
}

#[derive(Debug, Default)]
struct HeldBodies {
    bytes: usize,
    /// The requests by age, starting with the oldest.
    bodies: BTreeMap<u64, HeldBody>,
    next: u64,
}

#[derive(Debug)]
struct HeldBody {
    bytes: usize,
    is_complete: bool,
    /// Canceled when the request is aborted. Aborted requests no longer count.
    aborted: CancellationToken,
}

/// The share of one request. Dropping it releases the bytes.
#[derive(Debug)]
pub(crate) struct BodyShare {
    budget: Arc<BodyBudget>,
    number: u64,
    aborted: CancellationToken,
}

impl BodyBudget {
    /// Creates a budget of `limit` bytes, or of `longest` bytes if that is more, so that a single request always fits.
    pub(crate) fn new(limit: usize, longest: usize) -> Arc<Self> {
        Arc::new(Self { limit: limit.max(longest), held: Mutex::default() })
    }

    /// Starts counting a request.
    pub(crate) fn share(self: &Arc<Self>) -> BodyShare {
        let aborted = CancellationToken::new();
        let mut held = lock(&self.held);
        let number = held.next;
        held.next += 1;
        let body = HeldBody { bytes: 0, is_complete: false, aborted: aborted.clone() };
        held.bodies.insert(number, body);
        BodyShare { budget: Arc::clone(self), number, aborted }
    }
}

impl BodyShare {
    /// Adds bytes of the request. Returns `false` if the budget is exhausted and no other request is incomplete.
    pub(crate) fn add(&self, bytes: usize) -> bool {
        let mut held = lock(&self.budget.held);
        let held = &mut *held;
        while held.bytes.saturating_add(bytes) > self.budget.limit {
            let oldest = held.bodies.iter_mut().find(|(number, body)| {
                **number != self.number
                    && body.bytes > 0
                    && !body.is_complete
                    && !body.aborted.is_cancelled()
            });
            let Some((_, oldest)) = oldest else { return false };
            held.bytes = held.bytes.saturating_sub(oldest.bytes);
            oldest.bytes = 0;
            oldest.aborted.cancel();
        }
        if let Some(body) = held.bodies.get_mut(&self.number) {
            held.bytes += bytes;
            body.bytes += bytes;
        }
        true
    }

    /// Marks the body as complete. A complete request is no longer aborted.
    pub(crate) fn complete(&self) {
        if let Some(body) = lock(&self.budget.held).bodies.get_mut(&self.number) {
            body.is_complete = true;
        }
    }

    /// Returns the token of the request. It is canceled when the request is aborted in favor of another one.
    pub(crate) fn aborted(&self) -> &CancellationToken {
        &self.aborted
    }
}

impl Drop for BodyShare {
    fn drop(&mut self) {
        let mut held = lock(&self.budget.held);
        if let Some(body) = held.bodies.remove(&self.number) {
            held.bytes = held.bytes.saturating_sub(body.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_incomplete_body_makes_room() {
        let budget = BodyBudget::new(10, 4);
        let [one, two, three, four] = [(); 4].map(|()| budget.share());
        assert!(one.add(4) && two.add(4));
        one.complete();
        assert!(three.add(2) && three.add(2), "the second one makes room");
        let aborted = [&one, &two, &three].map(|share| share.aborted().is_cancelled());
        assert_eq!(aborted, [false, true, false]);
        three.complete();
        assert!(!four.add(3), "what is complete is kept");
        drop(one);
        assert!(four.add(3));
        drop((two, three, four));
        assert_eq!(lock(&budget.held).bytes, 0);
        assert_eq!(BodyBudget::new(1, 4).limit, 4, "the longest request fits");
    }
}
