//! The context of a call: caller, session, cancellation, progress and warnings.

use std::fmt;
use std::sync::{Arc, Mutex};

use http::Extensions;
use serde::Serialize;

use super::{Advance, Cancellation, ExecutionContext};
use crate::caller::call_origin::CallOrigin;
use crate::caller::elicitation::Elicitation;
use crate::caller::principal::Principal;
use crate::caller::session::Session;
use crate::error::OperationError;
use crate::error::warning::{Warning, Warnings};
use crate::util::BoxFuture;
use crate::util::lock;
use crate::vocab::digest;

/// The context of a call. Use it to learn who is calling, to react to cancellation, to report progress and to add
/// warnings.
///
/// Add an argument of this type to your function if you need it. It does not become a parameter of the operation.
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
    call: Arc<CallContext>,
}

struct CallContext {
    scope: CallScope,
    warnings: Mutex<Warnings>,
    usage: Mutex<super::Usage>,
    /// The execution of a call that runs in the background. It stores progress and warnings.
    execution: Option<ExecutionContext>,
    /// Stores the limits reported by wrapped APIs. `None` for a call without an adapter.
    upstream: Option<Arc<dyn super::UpstreamMemory>>,
    /// Hash of the state shown to the user before the call was confirmed.
    confirmed_state: Mutex<Option<String>>,
}

/// Receives progress. The MCP server sends progress to the client, and a test can collect it.
pub trait ProgressSink: Send + Sync + 'static {
    /// Reports that `done` of `total` steps are complete.
    fn report<'a>(
        &'a self,
        done: f64,
        total: Option<f64>,
        message: Option<String>,
    ) -> BoxFuture<'a, ()>;
}

/// Properties of a call provided by its transport.
#[derive(Clone, Default)]
pub struct CallScope {
    /// Session of the caller. `None` if the connection has none.
    pub session: Option<Session>,
    /// Canceled when the caller no longer waits. `None` if the caller cannot cancel. The end of the session cancels
    /// the call as well.
    pub cancellation: Option<Cancellation>,
    /// Receiver of progress. `None` if the caller did not request progress.
    pub progress: Option<Arc<dyn ProgressSink>>,
    /// Asks the caller's user for a confirmation. `None` if the client does not support it.
    pub elicitation: Option<Elicitation>,
    /// The client's name for this request, from `_meta`. Use it as a label in logs, never as an identity
    /// (REQ-SES-05).
    pub client_request_id: Option<String>,
    /// Size of the request in bytes. `None` if the transport does not know it.
    pub request_bytes: Option<usize>,
    /// Values of the transport or the embedding program, at most one of each type. [`Context::extension`] returns
    /// them. Over HTTP, these are the extensions of the request.
    pub extensions: Extensions,
    /// The request that the call belongs to, with its trace context. It is set for an adapter that traces or logs its
    /// calls.
    pub origin: Option<Arc<CallOrigin>>,
}

impl CallScope {
    /// Returns the authenticated caller. It is one of the extensions.
    pub fn principal(&self) -> Option<&Principal> {
        self.extensions.get()
    }

    /// Returns `true` if the caller no longer waits, because it has canceled the call or its session has ended.
    pub(crate) fn is_cancelled(&self) -> bool {
        let has_ended = || self.session.as_ref().is_some_and(Session::has_ended);
        self.cancellation.as_ref().is_some_and(|caller| caller.is_cancelled() || has_ended())
    }

    /// Waits until the caller cancels the call or its session ends. Never completes for a caller that cannot cancel.
    pub async fn cancelled(&self) {
        match (&self.cancellation, &self.session) {
            (Some(caller), Some(session)) => {
                tokio::select! {
                    () = caller.cancelled() => {}
                    () = session.ended() => {}
                }
            }
            (Some(caller), None) => caller.cancelled().await,
            (None, _) => std::future::pending().await,
        }
    }
}

impl From<Cancellation> for CallScope {
    fn from(cancellation: Cancellation) -> Self {
        Self { cancellation: Some(cancellation), ..Self::default() }
    }
}

impl fmt::Debug for CallScope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("CallScope")
            .field("session", &self.session)
            .field("client_request_id", &self.client_request_id)
            .finish_non_exhaustive()
    }
}

impl Context {
    /// Creates the context of a call whose operation is not known yet.
    #[doc(hidden)]
    pub fn new(scope: CallScope) -> Self {
        Self::of_call(scope, None)
    }

    /// Creates the context of a call. `upstream` stores the limits reported by wrapped APIs.
    pub(crate) fn of_call(
        scope: CallScope,
        upstream: Option<Arc<dyn super::UpstreamMemory>>,
    ) -> Self {
        Self::with("", scope, None, upstream)
    }

    /// Creates the context of the same call for an execution. Its caller no longer waits, so it has no cancellation,
    /// progress and elicitation.
    pub(crate) fn of_execution(&self, execution: ExecutionContext) -> Self {
        let scope = CallScope {
            cancellation: None,
            progress: None,
            elicitation: None,
            ..self.scope().clone()
        };
        let context =
            Self::with(self.operation, scope, Some(execution), self.call.upstream.clone());
        context.confirm_state(lock(&self.call.confirmed_state).clone());
        context
    }

    fn with(
        operation: &'static str,
        scope: CallScope,
        execution: Option<ExecutionContext>,
        upstream: Option<Arc<dyn super::UpstreamMemory>>,
    ) -> Self {
        let (warnings, usage, confirmed_state) = <_>::default();
        let call = CallContext { scope, warnings, usage, execution, upstream, confirmed_state };
        Self { operation, call: Arc::new(call) }
    }

    /// Records the hash of the state shown to the user before the call was confirmed.
    pub(crate) fn confirm_state(&self, hash: Option<String>) {
        *lock(&self.call.confirmed_state) = hash;
    }

    /// Returns `true` if a state equals the one shown before this call was confirmed. The preview has bound the
    /// confirmation to that state with [`Preview::of_state`](super::Preview::of_state). Also returns `true` for a
    /// call without a confirmation.
    ///
    /// The state may change after the last preview and before your function runs. If your function reads the state
    /// again in the transaction of its change, compare it there:
    ///
    /// ```
    /// # use mcp_aql::{Context, OperationError};
    /// fn delete(context: &Context, version: u64) -> Result<(), OperationError> {
    ///     if !context.is_as_confirmed(&version) {
    ///         return Err(OperationError::changed_since_confirmation("task"));
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn is_as_confirmed(&self, state: &(impl Serialize + ?Sized)) -> bool {
        let confirmed = lock(&self.call.confirmed_state);
        confirmed
            .as_ref()
            .is_none_or(|hash| serde_json::to_vec(state).is_ok_and(|state| digest(&state) == *hash))
    }

    /// Returns the context of the same call with its operation.
    pub(crate) fn of(&self, operation: &'static str) -> Self {
        Self { operation, ..self.clone() }
    }

    pub(crate) fn scope(&self) -> &CallScope {
        &self.call.scope
    }

    /// Returns the name of the operation.
    pub fn operation(&self) -> &str {
        self.operation
    }

    /// Returns the caller's session, or `None` if the client has no connection of its own.
    pub fn session(&self) -> Option<&Session> {
        self.call.scope.session.as_ref()
    }

    /// Returns the authenticated caller. Returns `None` for calls over standard input and output and for calls of
    /// this process, because these are not authenticated.
    pub fn principal(&self) -> Option<&Principal> {
        self.call.scope.principal()
    }

    /// Returns a digest of the caller's claims, such as its tenant.
    pub(crate) fn claims_digest(&self) -> Option<&str> {
        self.principal()?.claims_digest()
    }

    /// Returns the account that executions belong to: the principal with all of its sessions, or otherwise the session.
    pub(crate) fn execution_account(&self) -> Option<&str> {
        self.principal().map(Principal::account).or_else(|| self.session().map(Session::id))
    }

    /// Returns the account that confirmation tokens belong to: the session, or otherwise the principal.
    pub(crate) fn account(&self) -> Option<&str> {
        self.session().map(Session::id).or_else(|| self.principal().map(Principal::account))
    }

    /// Returns the caller's session. Use this instead of [`session`](Self::session) if your operation needs one.
    ///
    /// # Errors
    ///
    /// Returns `PERMISSION_DENIED` if the client has no session.
    pub fn require_session(&self) -> Result<&Session, OperationError> {
        self.session().ok_or_else(|| {
            OperationError::permission_denied(
                "this operation needs a session, but the connection has none. Connect over stdio, or over \
                 HTTP with sessions",
            )
        })
    }

    /// Returns the client's name for this request, from `_meta`. Use it as a label in logs, never as an identity
    /// (REQ-SES-05).
    pub fn client_request_id(&self) -> Option<&str> {
        self.call.scope.client_request_id.as_deref()
    }

    /// Returns a value that the transport or the embedding program attached to this call, for example the
    /// authenticated user.
    ///
    /// Such values are the extensions of an HTTP request, set by middleware, or those of
    /// [`Adapter::with_extension`](crate::Adapter::with_extension). They never come from a client's `_meta`. Calls of
    /// a batch and executions have the values of their request. A retried execution has those of the retry.
    ///
    /// ```
    /// use mcp_aql::prelude::*;
    /// use serde_json::json;
    ///
    /// #[derive(Clone)]
    /// struct User(&'static str);
    ///
    /// /// Return the name of the caller.
    /// #[operation(category = "READ")]
    /// fn get_user(context: Context) -> Option<&'static str> {
    ///     context.extension::<User>().map(|user| user.0)
    /// }
    ///
    /// # fn main() -> mcp_aql::Result<()> {
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let adapter = Adapter::builder("users").operation(get_user {}).build()?;
    /// let adapter = adapter.with_extension(User("Ada"));
    /// assert_eq!(adapter.call("get_user", json!({})).await.data(), "Ada");
    /// # Ok(()) }) }
    /// ```
    pub fn extension<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.call.scope.extensions.get()
    }

    /// Returns `true` if the caller has given up on this call. In an execution, returns `true` if it should stop, see
    /// [`ExecutionContext::is_cancelled`].
    pub fn is_cancelled(&self) -> bool {
        match &self.call.execution {
            Some(execution) => execution.is_cancelled(),
            None => self.call.scope.is_cancelled(),
        }
    }

    /// Waits until the caller gives up on this call, or until this execution should stop.
    pub async fn cancelled(&self) {
        match &self.call.execution {
            Some(execution) => execution.cancelled().await,
            None => self.call.scope.cancelled().await,
        }
    }

    /// Returns `true` if the call runs in the background.
    pub(crate) fn is_execution(&self) -> bool {
        self.call.execution.is_some()
    }

    /// Returns `true` if [`progress`](Self::progress) has a receiver. Check it if the message is expensive to build.
    pub fn wants_progress(&self) -> bool {
        self.call.scope.progress.is_some() || self.call.execution.is_some()
    }

    /// Reports that `done` of `total` steps are complete. Has no effect if the caller did not request progress
    /// (REQ-MCP-13 to REQ-MCP-16). In an execution, this sets the execution's progress.
    ///
    /// ```
    /// # use mcp_aql::Context;
    /// async fn import(context: &Context, files: &[String]) {
    ///     for (done, file) in files.iter().enumerate() {
    ///         context.progress(done as f64, Some(files.len() as f64), format!("reading {file}")).await;
    ///     }
    /// }
    /// ```
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

    /// Adds a warning to the reply. It is only sent if the operation succeeds.
    ///
    /// Equal warnings are merged, and a reply has at most ten, the most urgent first (REQ-WRN-10, REQ-WRN-11). The
    /// warnings of an execution become part of its state once it has ended, even if it failed.
    pub fn warn(&self, warning: Warning) {
        match &self.call.execution {
            Some(execution) => execution.warn(warning),
            None => {
                lock(&self.call.warnings).push(warning);
            }
        }
    }

    /// Returns the usage reported since the last call of this method, and resets it.
    pub(crate) fn take_usage(&self) -> super::Usage {
        std::mem::take(&mut *lock(&self.call.usage))
    }

    /// Adds to the usage that this call reports.
    #[doc(hidden)]
    pub fn add_usage(&self, usage: super::Usage) {
        lock(&self.call.usage).add(usage);
    }

    /// Returns the storage for limits reported by wrapped APIs.
    #[doc(hidden)]
    pub fn upstream(&self) -> Option<&dyn super::UpstreamMemory> {
        self.call.upstream.as_deref()
    }

    /// Returns the warnings added until now.
    pub(crate) fn warnings(&self) -> Warnings {
        lock(&self.call.warnings).clone()
    }

    pub(crate) fn has_no_warnings(&self) -> bool {
        lock(&self.call.warnings).is_empty()
    }

    #[doc(hidden)]
    pub fn take_warnings(&self) -> Warnings {
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
