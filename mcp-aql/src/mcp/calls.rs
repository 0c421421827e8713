use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

/// The calls that run, by the id of their request.
#[derive(Debug, Default)]
pub(super) struct Calls {
    running: Mutex<HashMap<Box<str>, (u64, CancellationToken)>>,
    next: AtomicU64,
}

impl Calls {
    fn running(&self) -> MutexGuard<'_, HashMap<Box<str>, (u64, CancellationToken)>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begin(&self, id: &str, cancellation: CancellationToken) -> u64 {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.running().insert(id.into(), (number, cancellation));
        number
    }

    /// Whether somebody still waits for the answer.
    pub(super) fn end(&self, id: &str, number: u64) -> bool {
        let mut running = self.running();
        // A client that uses an id twice at once gets both answers.
        match running.get(id) {
            Some((latest, _)) if *latest == number => running.remove(id).is_some(),
            Some(_) => true,
            None => false,
        }
    }

    /// Cancels a call. False when it is none of these.
    pub(super) fn cancel(&self, id: &str) -> bool {
        let found = self.running().remove(id);
        if let Some((_, cancellation)) = &found {
            cancellation.cancel();
        }
        found.is_some()
    }
}
