use std::fmt;
use std::sync::{Arc, Mutex};

use tokio_util::sync::CancellationToken;

use super::{Advance, ExecutionContext};
use crate::error::OperationError;
use crate::future::BoxFuture;
use crate::session::Session;
use crate::sync::lock;
use crate::warning::{Warning, Warnings};

/// What an operation may know and do beyond its parameters: who calls, whether the caller still
/// waits, how far the work is, what the caller should be warned of.
///
/// As an argument of an operation it is no parameter.
///
/// ```
/// use mcp_aql::prelude::*;
///
/// /// Count the words of a text.
/// #[operation(category = "READ")]
/// async fn count_words(
///     context: Context,
///     /// The text.
///     text: String,
/// ) -> usize {
///     if text.is_empty() {
///         context.warn(Warning::new("VALIDATION_EMPTY_TEXT_WARNING", "The text is empty"));
///     }
///     text.split_whitespace().count()
/// }
/// ```
#[derive(Clone)]
pub struct Context {
    operation: &'static str,
    call: Arc<Inner>,
    /// Where it is remembered what wrapped APIs say; none for a call that no adapter runs.
    #[cfg(feature = "limits")]
    upstream: Option<Arc<dyn super::UpstreamMemory>>,
}

struct Inner {
    scope: CallScope,
    warnings: Mutex<Warnings>,
    #[cfg(feature = "limits")]
    usage: Mutex<super::Usage>,
    /// Of a call that runs in the background: nobody waits for it, and its progress is kept.
    execution: Option<ExecutionContext>,
}

/// Where progress goes. The `mcp` module sends it to the client; a test may collect it.
pub trait ProgressSink: Send + Sync + 'static {
    /// Tells the caller that `done` of `total` steps are behind us.
    fn report<'a>(
        &'a self,
        done: f64,
        total: Option<f64>,
        message: Option<String>,
    ) -> BoxFuture<'a, ()>;
}

/// What a transport knows of a call.
#[derive(Clone, Default)]
pub struct CallScope {
    /// The caller's session, if the connection has one.
    pub session: Option<Session>,
    /// Cancelled when the caller no longer waits; `None` for one who cannot say so.
    pub cancellation: Option<CancellationToken>,
    /// Where progress goes, if the caller asked for it.
    pub progress: Option<Arc<dyn ProgressSink>>,
    /// What the client calls this request in `_meta`: a label for logs, never an identity
    /// (REQ-SES-05).
    pub label: Option<String>,
}

impl CallScope {
    /// Whether the caller gave up.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancellation.as_ref().is_some_and(CancellationToken::is_cancelled)
    }
}

impl fmt::Debug for CallScope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("CallScope")
            .field("session", &self.session)
            .field("label", &self.label)
            .finish_non_exhaustive()
    }
}

impl Context {
    /// Of a call whose operation is not known yet.
    pub(crate) fn new(scope: CallScope) -> Self {
        Self::with("", scope, None)
    }

    /// Of a call that runs in the background, as an execution.
    pub(crate) fn of_execution(
        operation: &'static str,
        session: Option<Session>,
        label: Option<String>,
        execution: ExecutionContext,
    ) -> Self {
        let scope = CallScope { session, label, ..CallScope::default() };
        Self::with(operation, scope, Some(execution))
    }

    fn with(
        operation: &'static str,
        scope: CallScope,
        execution: Option<ExecutionContext>,
    ) -> Self {
        let call = Inner {
            scope,
            warnings: Mutex::default(),
            #[cfg(feature = "limits")]
            usage: Mutex::default(),
            execution,
        };
        Self {
            operation,
            call: Arc::new(call),
            #[cfg(feature = "limits")]
            upstream: None,
        }
    }

    /// Of the same call, now that its operation is known.
    pub(crate) fn of(&self, operation: &'static str) -> Self {
        Self { operation, ..self.clone() }
    }

    pub(crate) fn scope(&self) -> &CallScope {
        &self.call.scope
    }

    /// The operation that runs.
    pub fn operation(&self) -> &str {
        self.operation
    }

    /// The caller's session, or `None` where the client has no connection of its own.
    pub fn session(&self) -> Option<&Session> {
        self.call.scope.session.as_ref()
    }

    /// The caller's session, or the error that says why there is none.
    ///
    /// # Errors
    /// `PERMISSION_DENIED` where the client has no session.
    pub fn require_session(&self) -> Result<&Session, OperationError> {
        self.session().ok_or_else(|| {
            OperationError::permission_denied(
                "this operation needs a session, and the connection has none; \
                 connect over stdio or over HTTP with sessions",
            )
        })
    }

    /// What the client calls this request in its `_meta`. A label for logs, never an identity
    /// (REQ-SES-05).
    pub fn label(&self) -> Option<&str> {
        self.call.scope.label.as_deref()
    }

    /// Whether the caller gave up on this call. In an execution: whether it should stop, as
    /// [`ExecutionContext::is_cancelled`].
    pub fn is_cancelled(&self) -> bool {
        match &self.call.execution {
            Some(execution) => execution.is_cancelled(),
            None => self.call.scope.is_cancelled(),
        }
    }

    /// Waits until the caller gives up on this call, or this execution should stop.
    pub async fn cancelled(&self) {
        match (&self.call.execution, &self.call.scope.cancellation) {
            (Some(execution), _) => execution.cancelled().await,
            (None, Some(token)) => token.cancelled().await,
            (None, None) => std::future::pending().await,
        }
    }

    /// Whether anyone listens to [`progress`](Self::progress).
    pub fn wants_progress(&self) -> bool {
        self.call.scope.progress.is_some() || self.call.execution.is_some()
    }

    /// Tells the caller that `done` of `total` steps are behind us. Does nothing when the caller did
    /// not ask (REQ-MCP-13 to REQ-MCP-16). In an execution it is the execution's progress.
    pub async fn progress(&self, done: f64, total: Option<f64>, message: impl Into<String>) {
        if let Some(execution) = &self.call.execution {
            let message = Some(message.into()).filter(|message| !message.is_empty());
            return execution.advance(Advance { done: Some(done), total, message }).await;
        }
        if let Some(sink) = &self.call.scope.progress {
            let message = Some(message.into()).filter(|message| !message.is_empty());
            sink.report(done, total, message).await;
        }
    }

    /// Adds a warning to the reply, if the operation succeeds. Equal warnings become one, and at
    /// most ten reach the caller, the most urgent first (REQ-WRN-10, REQ-WRN-11). In an execution they
    /// are part of its state once it has ended, however it did.
    pub fn warn(&self, warning: Warning) {
        match &self.call.execution {
            Some(execution) => execution.warn(warning),
            None => {
                lock(&self.call.warnings).push(warning);
            }
        }
    }

    /// Tells what the call used of a wrapped API, once it is known. It is counted in the quotas when the
    /// operation is done, whether it succeeds or not; several reports add up.
    ///
    /// ```
    /// use mcp_aql::limits::Usage;
    /// use mcp_aql::prelude::*;
    ///
    /// /// Translate a text.
    /// #[operation(category = "READ", rationale = "it computes and stores nothing")]
    /// async fn translate(
    ///     context: Context,
    ///     /// The text.
    ///     text: String,
    /// ) -> String {
    ///     let (translated, tokens) = (text.to_uppercase(), 12);
    ///     context.report_usage(Usage::tokens(tokens).cost(0.02));
    ///     translated
    /// }
    /// ```
    #[cfg(feature = "limits")]
    pub fn report_usage(&self, usage: super::Usage) {
        lock(&self.call.usage).add(usage);
    }

    /// What has been reported since the last time that somebody asked.
    #[cfg(feature = "limits")]
    pub(crate) fn take_usage(&self) -> super::Usage {
        std::mem::take(&mut *lock(&self.call.usage))
    }

    /// The same, with a place to remember what wrapped APIs say.
    #[cfg(feature = "limits")]
    pub(crate) fn remembering(self, upstream: Arc<dyn super::UpstreamMemory>) -> Self {
        Self { upstream: Some(upstream), ..self }
    }

    /// Tells what a wrapped HTTP API answered: its status and headers, as names and values.
    ///
    /// `Retry-After` of a 429 or 503, and the headers that the adapter's limits name, are remembered in
    /// the store: calls that these limits count are refused before they run while the API said so. Where
    /// no limit counts the operation, calls of this operation alone are.
    ///
    /// ```
    /// # use mcp_aql::{Context, OperationError};
    /// async fn ask(context: &Context, status: u16) -> Result<(), OperationError> {
    ///     let headers = [("Retry-After", "12"), ("X-RateLimit-Remaining", "0")];
    ///     context.upstream_answered(status, &headers).await
    /// }
    /// ```
    ///
    /// # Errors
    /// `RATE_LIMIT_EXCEEDED` for the status 429; `INTERNAL_ERROR` when the store fails.
    ///
    /// Source: adapter/rate-limiting §4.2 (REQ-RATE-01, REQ-RATE-09).
    #[cfg(feature = "limits")]
    pub async fn upstream_answered(
        &self,
        status: u16,
        headers: &[(&str, &str)],
    ) -> Result<(), OperationError> {
        match &self.upstream {
            Some(upstream) => upstream.answered(self.operation, status, headers).await,
            None if status == 429 => Err(OperationError::from_http_status(status, "")),
            None => Ok(()),
        }
    }

    /// The warnings so far.
    pub(crate) fn warnings(&self) -> Warnings {
        lock(&self.call.warnings).clone()
    }

    pub(crate) fn has_no_warnings(&self) -> bool {
        lock(&self.call.warnings).is_empty()
    }

    pub(crate) fn take_warnings(&self) -> Warnings {
        std::mem::take(&mut *lock(&self.call.warnings))
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Context")
            .field("operation", &self.operation)
            .field("session", &self.call.scope.session)
            .finish_non_exhaustive()
    }
}
