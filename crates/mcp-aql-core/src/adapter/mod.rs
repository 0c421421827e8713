//! The adapter: all operations, called in the same process or through a transport.

mod assemble;
mod builder;
mod builder_gates;
mod command_line;
mod config;
mod entries;
mod http_table;
mod internals;
mod parts;
mod rebuild;
mod serving;
mod settings;

use std::sync::{Arc, Once};
use std::time::Duration;

use http::Extensions;
use mcp_aql_protocol::SizeLimits;
use serde_json::{Map, Value};

pub use builder::AdapterBuilder;
#[cfg(any(test, feature = "test-util"))]
pub use config::test_util as config_test_util;
pub use http_table::HttpTable;
pub(crate) use parts::Parts;
pub use settings::{Settings, default_description_budget};

use crate::call::Pipeline;
use crate::error::OperationError;
use crate::error::build_error::BuildError;
use crate::extension::Service;
use crate::introspection::catalog::Catalog;
use crate::operation::{CallScope, Context, OperationSpec};
use crate::request::Arguments;
use crate::response::{OperationResult, PendingReply, Reply};
use crate::router::{Endpoint, EndpointMode, EndpointProfile};
use crate::util::future::erased;

/// An MCP-AQL adapter: operations with everything that the protocol requires around them.
///
/// It is cheap to clone. Clones share operations and state.
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
    /// The operations that are listed.
    catalog: Arc<Catalog>,
    /// The values that belong to every call through this clone.
    extensions: Extensions,
    /// How long a server waits at its end for running calls.
    drain_timeout: Duration,
}

struct AdapterState {
    parts: Arc<Parts>,
    settings: Settings,
    pipeline: Pipeline,
    /// Completed once the notices of the settings are in the log.
    notices_logged: Once,
    /// The values of extensions.
    values: Extensions,
    /// The work of extensions while the adapter serves clients.
    services: Vec<Box<dyn Service>>,
}

impl Adapter {
    /// Starts a builder of an adapter with this name, which clients see as the server's name.
    pub fn builder(name: impl Into<String>) -> AdapterBuilder {
        AdapterBuilder::new(name.into())
    }

    /// Calls an operation in this process with all checks of a client's call. There is no session, and any
    /// endpoint is right.
    ///
    /// `params` is the `params` object of a request. Other values are refused.
    pub async fn call(&self, operation: &str, params: Value) -> OperationResult {
        let mut arguments = Map::new();
        arguments.insert("operation".to_owned(), operation.into());
        arguments.insert("params".to_owned(), params);
        let reply = self.handle(Endpoint::Unified, arguments, CallScope::default()).await;
        OperationResult::from_json(&reply.text)
    }

    /// Returns a clone whose calls all have this value, which operations read with
    /// [`Context::extension`](crate::Context::extension): the caller on the other side of a stream, or the user that
    /// started a program on standard input and output. A value of the same type that belongs to a single
    /// request takes precedence.
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

    /// Adds the values that belong to every call through this clone.
    fn extended(&self, mut scope: CallScope) -> CallScope {
        if !self.extensions.is_empty() {
            let of_request = std::mem::replace(&mut scope.extensions, self.extensions.clone());
            scope.extensions.extend(of_request);
        }
        scope
    }

    /// Handles a tool call from a transport: the endpoint that received it, its arguments, and the caller. The arguments are
    /// JSON as it was sent, or the members of an object, which have lost repeated members and excess digits.
    ///
    /// The arguments are read at once, and the call starts when the future is polled. It never fails: the reply contains
    /// every error (REQ-RQ-08). Invalid UTF-8 and lone surrogates in JSON fail with `VALIDATION_INVALID_ENCODING` and their
    /// position (REQ-ENC-01). JSON beyond the size limit is not parsed. Repeated members and numbers beyond 64 bits are
    /// refused.
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
            erased(async move { inner.pipeline.handle(received, endpoint, context, form).await });
        PendingReply::new(operation, reply)
    }

    /// The reply to a request that could not be read.
    #[doc(hidden)]
    pub fn refuse(&self, error: OperationError, scope: &CallScope) -> Reply {
        self.inner.pipeline.reply_to_unreadable(error, &self.extended(scope.clone()))
    }

    /// The reply in place of the one of a call, which the transport cannot send. Observers have already seen the call.
    #[doc(hidden)]
    pub fn replace_reply(&self, error: OperationError, scope: &CallScope) -> Reply {
        self.inner.pipeline.unobserved_failure(error, scope)
    }

    /// Revokes an unused confirmation token. Returns whether it existed (REQ-TOK-12).
    ///
    /// # Errors
    /// `INTERNAL_ERROR` when the store fails.
    pub async fn revoke_confirmation(&self, token: &str) -> Result<bool, OperationError> {
        self.inner.pipeline.gatekeeper.revoke(token).await
    }

    /// Revokes all confirmation tokens of this adapter, for example after a change of its configuration,
    /// and what was [confirmed for a session](crate::Policy::for_session) with this adapter and its clones
    /// (REQ-TOK-12).
    ///
    /// # Errors
    /// `INTERNAL_ERROR` when the store fails.
    pub async fn revoke_confirmations(&self) -> Result<(), OperationError> {
        self.inner.pipeline.gatekeeper.revoke_all().await
    }

    /// The adapter's name.
    pub fn name(&self) -> &str {
        &self.inner.parts.name
    }

    /// The adapter's own version.
    pub fn version(&self) -> &str {
        &self.inner.parts.version
    }

    /// The offered tools.
    pub fn mode(&self) -> EndpointMode {
        self.inner.settings.mode
    }

    /// The profile of endpoint families in use.
    pub fn profile(&self) -> &EndpointProfile {
        &self.registry().profile
    }

    /// Logs the notices of the settings once, when the log exists. The command line sets up its log after
    /// the adapter is built.
    #[doc(hidden)]
    pub fn log_notices(&self) {
        if !tracing::enabled!(tracing::Level::WARN) {
            return;
        }
        self.inner.notices_logged.call_once(|| {
            for notice in &self.inner.settings.notices {
                tracing::warn!("{}", mcp_aql_text::visible_lines(notice));
            }
        });
    }

    /// The limits in use.
    pub fn limits(&self) -> &SizeLimits {
        &self.inner.settings.limits
    }

    /// The tables of all operations, starting with `introspect`.
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
