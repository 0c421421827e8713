//! The running requests of a session, so that clients can cancel them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use mcp_aql_core::internal::operation::Cancellation;
use mcp_aql_core::internal::util::lock;

/// The running requests, by the canonical form of their ids.
///
/// Each request also has a unique number, because a client may use one id for several requests at the same time.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    running: Mutex<BTreeMap<Arc<str>, SameIdCalls>>,
    next: AtomicI64,
}

/// The requests with one id. There is only one unless a client uses an id twice concurrently. Such a client gets both
/// answers, in any order.
#[derive(Debug)]
struct SameIdCalls {
    one: CancellableCall,
    others: Vec<CancellableCall>,
}

#[derive(Debug)]
struct CancellableCall {
    number: i64,
    cancellation: Cancellation,
}

impl Calls {
    fn running(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, SameIdCalls>> {
        lock(&self.running)
    }

    pub(crate) fn begin(&self, id: &Arc<str>, cancellation: Cancellation) -> i64 {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let one = CancellableCall { number, cancellation };
        let mut running = self.running();
        match running.get_mut(id) {
            Some(twins) => twins.others.push(one),
            None => {
                running.insert(Arc::clone(id), SameIdCalls { one, others: Vec::new() });
            }
        }
        number
    }

    /// Removes a request. Returns `true` if the client has not canceled it and still expects its answer.
    pub(crate) fn end(&self, id: &str, number: i64) -> bool {
        let mut running = self.running();
        let Some(SameIdCalls { one, others }) = running.get_mut(id) else { return false };
        if one.number != number {
            let place = others.iter().position(|other| other.number == number);
            return place.map(|place| others.swap_remove(place)).is_some();
        }
        match others.pop() {
            Some(other) => *one = other,
            None => {
                running.remove(id);
            }
        }
        true
    }

    /// Cancels all requests with this id and returns their numbers.
    pub(crate) fn cancel(&self, id: &str) -> Vec<i64> {
        let Some(SameIdCalls { one, others }) = self.running().remove(id) else {
            return Vec::new();
        };
        let cancel = |request: CancellableCall| {
            request.cancellation.cancel();
            request.number
        };
        std::iter::once(one).chain(others).map(cancel).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(calls: &Calls, id: &str) -> (i64, Cancellation) {
        let cancellation = Cancellation::default();
        (calls.begin(&Arc::from(id), cancellation.clone()), cancellation)
    }

    #[test]
    fn an_id_that_is_used_twice_at_once_is_answered_twice() {
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let calls = Calls::default();
            let begun = [(); 3].map(|()| begin(&calls, "7").0);
            for place in order {
                assert!(calls.end("7", begun[place]), "{order:?}");
                assert!(!calls.end("7", begun[place]), "{order:?}");
            }
            assert!(calls.running().is_empty());
        }
    }

    #[test]
    fn a_cancelled_id_is_not_answered() {
        let calls = Calls::default();
        let (one, first) = begin(&calls, "7");
        let (two, second) = begin(&calls, "7");
        let (other, _) = begin(&calls, "8");
        assert_eq!(calls.cancel("7"), [one, two]);
        assert!(first.is_cancelled() && second.is_cancelled());
        assert!(calls.cancel("7").is_empty());
        let (three, third) = begin(&calls, "7");
        assert!(!calls.end("7", one) && !calls.end("7", two));
        assert!(calls.end("7", three) && !third.is_cancelled());
        assert!(calls.end("8", other));
    }
}
