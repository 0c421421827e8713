//! Small helpers for futures, locks and time.

pub mod clock;

use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::task::Poll;

use tokio::task::JoinHandle;

/// A boxed future. Its type does not name the function behind it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Boxes a future to hide its type. The compiler builds the body of an `async fn` again in every crate that awaits it,
/// together with everything awaited in it. Without the box, each program would compile the whole of this crate a second
/// time.
pub fn erased<'a, T>(future: impl Future<Output = T> + Send + 'a) -> BoxFuture<'a, T> {
    Box::pin(future)
}

/// Spawns a boxed future. For every type of future, tokio compiles the code of its tasks again, about 2,000 lines of
/// LLVM IR. Use [`tokio::spawn`] for the tasks of single calls, where the allocation matters.
pub fn spawn<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    tokio::spawn(erased(future))
}

/// Polls a future once.
pub async fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    std::future::poll_fn(|context| Poll::Ready(Pin::new(&mut *future).poll(context))).await
}

/// Locks the mutex, even if a thread panicked while it held the lock. Use this instead of `Mutex::lock`, because a
/// panic in one call must not affect other calls.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks for reading, like [`lock`].
pub fn read_lock<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

/// Locks for writing, like [`lock`].
pub fn write_lock<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}
