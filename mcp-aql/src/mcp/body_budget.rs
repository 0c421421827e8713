//! How many bytes of unfinished requests are held at once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tokio_util::sync::CancellationToken;

use crate::sync::lock;

/// A bound on the bytes of all requests that are being received.
///
/// When the bound is reached, the request whose body has been incomplete for longest is given up, so that
/// clients which never finish their requests cannot keep others out.
#[derive(Debug)]
pub(super) struct BodyBudget {
    limit: usize,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    bytes: usize,
    /// By their age, the oldest first.
    bodies: BTreeMap<u64, Body>,
    next: u64,
}

#[derive(Debug)]
struct Body {
    bytes: usize,
    is_complete: bool,
    /// Cancelled when the request is given up, from when on it no longer counts.
    given_up: CancellationToken,
}

/// The share of one request, which is returned when this value is dropped.
#[derive(Debug)]
pub(super) struct BodyShare {
    budget: Arc<BodyBudget>,
    number: u64,
    given_up: CancellationToken,
}

impl BodyBudget {
    /// A budget of this many bytes, of which one request can take up to `longest`.
    pub(super) fn new(limit: usize, longest: usize) -> Arc<Self> {
        Arc::new(Self { limit: limit.max(longest), held: Mutex::default() })
    }

    /// Begins to count a request.
    pub(super) fn share(self: &Arc<Self>) -> BodyShare {
        let given_up = CancellationToken::new();
        let mut held = lock(&self.held);
        let number = held.next;
        held.next += 1;
        let body = Body { bytes: 0, is_complete: false, given_up: given_up.clone() };
        held.bodies.insert(number, body);
        BodyShare { budget: Arc::clone(self), number, given_up }
    }
}

impl BodyShare {
    /// Counts further bytes of the request. Returns false when the budget is exhausted and no other
    /// request is incomplete.
    pub(super) fn add(&self, bytes: usize) -> bool {
        let mut held = lock(&self.budget.held);
        let held = &mut *held;
        while held.bytes.saturating_add(bytes) > self.budget.limit {
            let oldest = held.bodies.iter_mut().find(|(number, body)| {
                **number != self.number
                    && body.bytes > 0
                    && !body.is_complete
                    && !body.given_up.is_cancelled()
            });
            let Some((_, oldest)) = oldest else { return false };
            held.bytes = held.bytes.saturating_sub(oldest.bytes);
            oldest.bytes = 0;
            oldest.given_up.cancel();
        }
        if let Some(body) = held.bodies.get_mut(&self.number) {
            held.bytes += bytes;
            body.bytes += bytes;
        }
        true
    }

    /// The body is here to its end, and the request is not given up any more.
    pub(super) fn complete(&self) {
        if let Some(body) = lock(&self.budget.held).bodies.get_mut(&self.number) {
            body.is_complete = true;
        }
    }

    /// Cancelled when the request is given up in favour of another one.
    pub(super) fn given_up(&self) -> &CancellationToken {
        &self.given_up
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
        let given_up = [&one, &two, &three].map(|share| share.given_up().is_cancelled());
        assert_eq!(given_up, [false, true, false]);
        three.complete();
        assert!(!four.add(3), "what is complete is kept");
        drop(one);
        assert!(four.add(3));
        drop((two, three, four));
        assert_eq!(lock(&budget.held).bytes, 0);
        assert_eq!(BodyBudget::new(1, 4).limit, 4, "the longest request fits");
    }
}
