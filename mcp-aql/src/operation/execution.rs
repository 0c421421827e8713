use std::fmt;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::BoxFuture;

/// What a long-running operation knows of its execution: its id, whether it should stop, and where
/// it tells how far it is.
///
/// As an argument of an operation with `lifecycle(…)` it is no parameter.
#[derive(Clone)]
pub struct ExecutionContext(Arc<Inner>);

struct Inner {
    id: String,
    attempt: u32,
    cancellation: CancellationToken,
    progress: Arc<dyn ExecutionSink>,
}

/// How far an execution is (REQ-LIF-06).
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Advance {
    pub(crate) done: Option<f64>,
    pub(crate) total: Option<f64>,
    pub(crate) message: Option<String>,
}

/// Where an execution's progress goes.
pub(crate) trait ExecutionSink: Send + Sync + 'static {
    fn advance(&self, advance: Advance) -> BoxFuture<'_, ()>;
}

impl ExecutionContext {
    pub(crate) fn new(
        id: String,
        attempt: u32,
        cancellation: CancellationToken,
        progress: Arc<dyn ExecutionSink>,
    ) -> Self {
        Self(Arc::new(Inner { id, attempt, cancellation, progress }))
    }

    /// The execution's id, as `get_execution` takes it.
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// 1, and one more with each retry.
    pub fn attempt(&self) -> u32 {
        self.0.attempt
    }

    /// Whether the execution should stop. One that does not is ended after a grace period.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancellation.is_cancelled()
    }

    /// Waits until the execution should stop.
    pub async fn cancelled(&self) {
        self.0.cancellation.cancelled().await;
    }

    /// Tells that `done` of `total` steps are behind us.
    pub async fn progress(&self, done: f64, total: f64, message: impl Into<String>) {
        let message = Some(message.into()).filter(|message| !message.is_empty());
        let advance = Advance { done: Some(done), total: Some(total), message };
        self.0.progress.advance(advance).await;
    }

    /// Tells what is being done where no number could.
    pub async fn status(&self, message: impl Into<String>) {
        let advance = Advance { message: Some(message.into()), ..Advance::default() };
        self.0.progress.advance(advance).await;
    }
}

impl fmt::Debug for ExecutionContext {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ExecutionContext({})", self.0.id)
    }
}
