//! Cancels calls over HTTP: when their client disconnects, and when their session or the server ends.

use std::pin::pin;

use mcp_aql_core::internal::operation::Cancellation;
use tokio_util::sync::CancellationToken;

/// Cancels a call when it is dropped.
pub(super) struct CancelOnDrop(pub(super) Cancellation);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if !self.0.is_unused() {
            self.0.cancel();
        }
    }
}

/// Runs a call. Cancels it when the token is canceled, and still waits for its answer.
pub(crate) async fn run_cancellable<T>(
    call: impl Future<Output = T>,
    token: &CancellationToken,
    cancellation: &Cancellation,
) -> T {
    let mut call = pin!(call);
    tokio::select! {
        biased;
        answer = &mut call => return answer,
        () = token.cancelled() => cancellation.cancel(),
    }
    call.await
}
