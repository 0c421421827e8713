//! Cancels a call on behalf of its caller.

use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

/// Cancels a call whose caller no longer waits for it. All clones cancel the same call.
///
/// A transport puts one into the scope of a call and cancels it when the client disconnects:
///
/// ```
/// use mcp_aql::transport::{CallScope, Cancellation};
///
/// let cancellation = Cancellation::default();
/// let scope = CallScope { cancellation: Some(cancellation.clone()), ..CallScope::default() };
/// cancellation.cancel();
/// assert!(scope.cancellation.unwrap().is_cancelled());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Cancellation {
    /// The token is created when it is first needed. Most calls return before a caller cancels them or an operation
    /// waits for the cancellation, so they never need one.
    token: Arc<OnceLock<CancellationToken>>,
}

impl Cancellation {
    /// Cancels the call.
    pub fn cancel(&self) {
        self.token().cancel();
    }

    /// Returns `true` if the call is canceled.
    pub fn is_cancelled(&self) -> bool {
        self.token.get().is_some_and(CancellationToken::is_cancelled)
    }

    /// Waits until the call is canceled.
    pub async fn cancelled(&self) {
        self.token().cancelled().await;
    }

    /// Returns `true` if this value has no other owner and was never canceled or watched. It can then be reused for
    /// another call.
    #[doc(hidden)]
    pub fn is_unused(&mut self) -> bool {
        Arc::get_mut(&mut self.token).is_some_and(|token| token.get().is_none())
    }

    fn token(&self) -> &CancellationToken {
        self.token.get_or_init(CancellationToken::new)
    }
}

/// Cancels a call with this token.
impl From<CancellationToken> for Cancellation {
    fn from(token: CancellationToken) -> Self {
        Self { token: Arc::new(token.into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn clones_cancel_the_same_call() {
        let cancellation = Cancellation::default();
        let watched = cancellation.clone();
        assert!(!watched.is_cancelled());
        let (_, ()) = tokio::join!(async { cancellation.cancel() }, watched.cancelled());
        assert!(watched.is_cancelled());
        let token = CancellationToken::new();
        let child = Cancellation::from(token.child_token());
        token.cancel();
        assert!(child.is_cancelled());
    }

    #[test]
    fn a_cancellation_that_is_kept_or_was_watched_serves_no_other_call() {
        let mut cancellation = Cancellation::default();
        assert!(cancellation.is_unused());
        let kept = cancellation.clone();
        assert!(!cancellation.is_unused());
        drop(kept);
        assert!(cancellation.is_unused());
        drop(cancellation.cancelled());
        assert!(cancellation.is_unused());
        cancellation.cancel();
        assert!(!cancellation.is_unused());
    }
}
