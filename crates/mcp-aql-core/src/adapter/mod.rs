//! The adapter: holds all operations, and handles calls from this process and from transports.

mod assemble;
mod builder;
mod builder_gates;
mod config;
mod internals;
mod rebuild;
mod serving;
mod settings;
mod settings_list;

use std::sync::{Arc, Once};

use http::Extensions;
use mcp_aql_protocol::SizeLimits;
use serde_json::{Map, Value};

pub use builder::AdapterBuilder;
#[cfg(any(test, feature = "test-util"))]
pub use config::test_util as config_test_util;
pub use settings::{
    HttpSettings, Settings, check_value, default_description_budget, flag_defaults, flag_keys,
};

use crate::call::Pipeline;
use crate::error::OperationError;
use crate::error::build_error::BuildError;
use crate::extension::Service;
use crate::introspection::catalog::Catalog;
use crate::observe::audit::{AuditObserver, AuditSink};
use crate::observe::observers::Observers;
use crate::operation::{CallScope, Context, Handler, OperationSpec, StateMap};
use crate::request::Arguments;
use crate::response::{OperationResult, PendingReply, Reply};
use crate::router::{Endpoint, EndpointMode, EndpointProfile};
use crate::store::StateStore;
use crate::util::erased;

/// An MCP-AQL adapter. It holds your operations, and handles validation, gates, executions and introspection for them.
///
/// Build one with [`Adapter::builder`]. Then serve it over a transport, or call operations directly with
/// [`call`](Self::call). Cloning is cheap. Clones share operations and state.
///
/// ```
/// use mcp_aql::prelude::*;
/// use serde_json::json;
///
/// /// Double a number.
/// #[operation(category = "READ", rationale = "it computes and stores nothing")]
/// fn double(
///     /// The number.
///     #[param(maximum = 1000)]
///     number: i64,
/// ) -> i64 {
///     number * 2
/// }
///
/// # fn main() -> mcp_aql::Result<()> {
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let adapter = Adapter::builder("numbers").operation(double {}).build()?;
/// let result = adapter.call("double", json!({ "number": 21 })).await;
/// assert_eq!(result.data(), 42);
///
/// let result = adapter.call("double", json!({ "nubmer": 21 })).await;
/// assert_eq!(result.code(), Some("VALIDATION_MISSING_PARAM"));
/// # Ok(()) }) }
/// ```
#[derive(Clone)]
pub struct Adapter {
    inner: Arc<AdapterState>,
    /// Operations listed by this clone.
    catalog: Arc<Catalog>,
    /// Values added to every call through this clone.
    extensions: Extensions,
    settings: Arc<Settings>,
}

struct AdapterState {
    parts: Arc<Parts>,
    pipeline: Pipeline,
    /// Completed once the notices of the settings have been logged.
    notices_logged: Once,
    /// Values added by extensions.
    values: Extensions,
    /// Work of extensions while the adapter serves clients.
    services: Vec<Box<dyn Service>>,
}

/// The values passed to the builder. An adapter keeps them, so that it can be built again with other settings.
pub struct Parts {
    /// Name of the adapter.
    pub name: String,
    pub(crate) version: String,
    /// Instructions for models. They follow the general instructions.
    pub instructions: Option<String>,
    pub(crate) operations: Vec<(OperationSpec, Handler)>,
    pub(crate) states: Arc<StateMap>,
    /// Problems found by the builder.
    pub(crate) problems: Vec<String>,
    pub(crate) profiles: Vec<EndpointProfile>,
    /// The author's store. With `None`, the adapter selects a suitable one.
    pub(crate) store: Option<Arc<dyn StateStore>>,
    pub(crate) audit_sinks: Vec<Arc<dyn AuditSink>>,
    pub(crate) audit_observers: Vec<Arc<dyn AuditObserver>>,
    pub(crate) observers: Observers,
    /// Settings of the builder.
    pub(crate) settings: Settings,
}

impl Adapter {
    /// Creates a builder. Clients see `name` as the name of the server.
    pub fn builder(name: impl Into<String>) -> AdapterBuilder {
        AdapterBuilder::new(name.into())
    }

    /// Calls an operation in this process, with the same checks as for a client's call. The call has no session, and
    /// you do not need to choose an endpoint.
    ///
    /// `params` is the `params` object of a request. Any other JSON value is rejected.
    pub async fn call(&self, operation: &str, params: Value) -> OperationResult {
        let mut arguments = Map::new();
        arguments.insert("operation".to_owned(), operation.into());
        arguments.insert("params".to_owned(), params);
        let reply = self.handle(Endpoint::Unified, arguments, CallScope::default()).await;
        OperationResult::from_json(&reply.text)
    }

    /// Returns a clone that adds a value to all of its calls. Your operations read it with
    /// [`Context::extension`](crate::Context::extension). Use it for the caller on the other side of a stream, or for
    /// the user who started a program on standard input and output. A value of the same type in a single request takes
    /// precedence.
    ///
    /// ```
    /// # use mcp_aql::prelude::*;
    /// #[derive(Clone)]
    /// struct User(String);
    ///
    /// # async fn serve(adapter: Adapter, stream: tokio::io::DuplexStream) -> mcp_aql::Result<()> {
    /// // For each connection, after its user is known:
    /// adapter.with_extension(User("Ada".to_owned())).serve(stream).await
    /// # }
    /// ```
    #[must_use]
    pub fn with_extension<T: Clone + Send + Sync + 'static>(&self, value: T) -> Self {
        let mut adapter = self.clone();
        adapter.extensions.insert(value);
        adapter
    }

    /// Adds the values of this clone to the scope of a call. Values of the request take precedence.
    fn extended(&self, mut scope: CallScope) -> CallScope {
        if !self.extensions.is_empty() {
            let of_request = std::mem::replace(&mut scope.extensions, self.extensions.clone());
            scope.extensions.extend(of_request);
        }
        scope
    }

    /// Handles a tool call. Use this to write your own transport. Pass the endpoint of the called tool, its arguments,
    /// and the properties of the caller.
    ///
    /// Pass the arguments as JSON bytes if you can. The members of a parsed object have already lost repeated members
    /// and excess digits.
    ///
    /// The arguments are read immediately, and the call starts when you poll the future. The future never fails: the
    /// reply contains every error (REQ-RQ-08). Invalid UTF-8 and lone surrogates fail with
    /// `VALIDATION_INVALID_ENCODING`, and the error contains their position (REQ-ENC-01). JSON beyond the size limit is
    /// not parsed. Repeated members and numbers beyond 64 bits are rejected.
    ///
    /// ```
    /// # use mcp_aql::transport::{CallScope, Endpoint};
    /// # use mcp_aql::{Adapter, ErrorCode};
    /// # fn main() -> mcp_aql::Result<()> {
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let adapter = Adapter::builder("empty").build()?;
    /// let arguments = r#"{"operation":"introspect","params":{"query":"\ud800"}}"#;
    /// let reply = adapter.handle(Endpoint::Unified, arguments, CallScope::default()).await;
    /// assert_eq!(reply.code, Some(ErrorCode::ValidationInvalidEncoding));
    /// # Ok(()) }) }
    /// ```
    pub fn handle<'a>(
        &self,
        endpoint: Endpoint,
        arguments: impl Into<Arguments<'a>>,
        scope: CallScope,
    ) -> PendingReply {
        let arguments = arguments.into();
        let mut scope = self.extended(scope);
        scope.request_bytes = arguments.bytes().or(scope.request_bytes);
        let Arguments { content, form } = arguments;
        let inner = Arc::clone(&self.inner);
        let received = inner.pipeline.receive(endpoint, content, &scope);
        let operation = received.operation();
        let context = Context::of_call(scope, inner.pipeline.upstream.clone());
        let reply =
            erased(async move { inner.pipeline.answer(received, endpoint, context, form).await });
        PendingReply::new(operation, reply)
    }

    /// Builds the reply to a request that cannot be read.
    #[doc(hidden)]
    pub fn failure_reply(&self, error: OperationError, scope: &CallScope) -> Reply {
        self.inner.pipeline.reply_to_unreadable(error, &self.extended(scope.clone()))
    }

    /// Builds a reply to replace one that the transport cannot send. Observers have already received the event of the
    /// call.
    #[doc(hidden)]
    pub fn replace_reply(&self, error: OperationError, scope: &CallScope) -> Reply {
        self.inner.pipeline.unobserved_failure(error, scope)
    }

    /// Revokes an unused confirmation token. Returns `true` if the token existed (REQ-TOK-12).
    ///
    /// # Errors
    ///
    /// Returns `INTERNAL_ERROR` if the store fails.
    pub async fn revoke_confirmation(&self, token: &str) -> Result<bool, OperationError> {
        self.inner.pipeline.gatekeeper.revoke(token).await
    }

    /// Revokes all confirmation tokens of this adapter, and all confirmations [given for a
    /// session](crate::Policy::for_session) with this adapter and its clones. Call this after you change the
    /// configuration of the adapter (REQ-TOK-12).
    ///
    /// # Errors
    ///
    /// Returns `INTERNAL_ERROR` if the store fails.
    pub async fn revoke_confirmations(&self) -> Result<(), OperationError> {
        self.inner.pipeline.gatekeeper.revoke_all().await
    }

    /// Returns the adapter's name.
    pub fn name(&self) -> &str {
        &self.inner.parts.name
    }

    /// Returns the version set with [`AdapterBuilder::version`].
    pub fn version(&self) -> &str {
        &self.inner.parts.version
    }

    /// Returns the mode. It determines the offered tools.
    pub fn mode(&self) -> EndpointMode {
        self.settings.mode
    }

    /// Returns the profile of endpoint families in use.
    pub fn profile(&self) -> &EndpointProfile {
        &self.registry().profile
    }

    /// Logs the notices of the settings once, as soon as a subscriber exists. The command line sets up its log after
    /// the adapter is built, so this function is called again when serving begins.
    #[doc(hidden)]
    pub fn log_notices(&self) {
        if !tracing::enabled!(tracing::Level::WARN) {
            return;
        }
        self.inner.notices_logged.call_once(|| {
            for notice in &self.settings.notices {
                tracing::warn!("{}", mcp_aql_text::visible_lines(notice));
            }
        });
    }

    /// Returns the limits in use.
    pub fn limits(&self) -> &SizeLimits {
        &self.settings.limits
    }

    /// Returns the tables of all operations, starting with `introspect`.
    pub fn operations(&self) -> impl Iterator<Item = &OperationSpec> {
        self.registry().entries.iter().map(|entry| &entry.operation.spec)
    }
}

impl std::fmt::Debug for Adapter {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Adapter")
            .field("name", &self.name())
            .field("operations", &self.registry().entries.len())
            .finish_non_exhaustive()
    }
}
