use std::sync::{Mutex, MutexGuard, PoisonError};

/// What the mutex holds, also after somebody has panicked with it: a panic is one caller's, and ends
/// nothing for the others.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
