//! Build MCP servers with few tools and many operations.
//!
//! You annotate Rust functions and structs. The macros turn their signatures and doc comments into a static table, and
//! an [`Adapter`] serves it as an MCP server with at most five tools: create, read, update, delete, execute. A model
//! looks up the parameters of an operation with `introspect` when it needs them.
//!
//! Import [`prelude`], annotate a function, and add it to a builder:
//!
//! ```
//! use mcp_aql::prelude::*;
//! use serde_json::json;
//!
//! /// Count the characters of a string.
//! #[operation(category = "READ")]
//! fn measure_text(
//!     /// The string to measure.
//!     #[param(max_length = 1000)]
//!     text: String,
//! ) -> usize {
//!     text.chars().count()
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> mcp_aql::Result<()> {
//! let adapter = Adapter::builder("texts").operation(measure_text {}).build()?;
//! let result = adapter.call("measure_text", json!({ "text": "Ship it" })).await;
//! assert_eq!(result.data(), 7);
//! # Ok(()) }
//! ```
//!
//! In a program, replace `adapter.call(…)` with `adapter.run().await` (feature `cli`), and start it with `serve` for
//! MCP over standard input and output. See [`testing`] for tests of whole adapters.
//!
//! # Where to find things
//!
//! | to … | see |
//! |---|---|
//! | turn functions into operations | [`operation`](macro@operation), [`operations`](macro@operations), [`ParamGroup`](derive@ParamGroup) |
//! | list, search, filter, count resources | [`query`] (feature `query`) |
//! | change resources | [`UpdateInput`](derive@UpdateInput), [`Update`], [`IfMatch`] |
//! | report errors | [`OperationError`](derive@OperationError), [`ErrorCode`], [`OrInternal`] |
//! | know who calls | [`auth`] |
//! | inspect the call | [`Context`], [`Session`], [`State`], [`Warning`] |
//! | build an adapter | [`Adapter::builder`], [`AdapterBuilder`] |
//! | supervise agents | `safety_loop`, `operator` (feature `safety`) |
//! | run it | `Adapter::run` and `cli`, `Adapter::router`, [`Adapter::serve`](transport::ServeStream::serve), [`Adapter::call`] |
//! | test it | [`testing`] |
//! | document it | `docs`, on the command line and as a module |
//!
//! # Features
//!
//! If your code uses an item of a disabled feature, the compiler names the feature and prints the line for your
//! `Cargo.toml`.
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `cli` | yes | `Adapter::run`: the adapter's command line and `docs` |
//! | `http` | no | MCP over streamable HTTP: `serve --http`, and an axum router to embed |
//! | `jwt` | no | `auth::JwtAuthenticator`: authentication with JSON Web Tokens; enables `http` |
//! | `query` | no | the query language, in memory and as SQL: `derive(Resource)`, `CollectionQuery`, `Fields`, `RelationshipQuery`, `resource::SqlStore` |
//! | `safety` | no | the safety loop, challenges, and the channels to operators; enables `sqlite` |
//! | `console` | no | a web page for operators, on loopback; enables `safety` and `http` |
//! | `sqlite` | no | `store::SqliteState`: state in a file; with `query` also `resource::RusqliteDatabase`; needs Rust 1.89 |
//! | `postgres` | no | `store::PostgresState`: state that several machines share; with `query` also `resource::PostgresDatabase` |
//! | `opentelemetry` | no | spans and metrics of calls: `AdapterBuilder::opentelemetry_from_env` |
//! | `metrics` | no | `observe::Metrics`, `serve --metrics`: a page of metrics for Prometheus; enables `http` |
//! | `conformance` | no | `testing::assert_conforms`: the conformance runner in an adapter's own tests |

#[doc(inline)]
pub use mcp_aql_core::macros::operation;
#[doc(inline)]
pub use mcp_aql_core::{
    Adapter, AdapterBuilder, BoxFuture, BuildError, Concurrency, Context, DangerLevel,
    EndpointMode, EndpointProfile, Error, ErrorCode, ExecutionContext, ExecutionOptions, IfMatch,
    OperationError, OperationResult, Operations, OrInternal, Page, ParamGroup, Policy, Result,
    SemanticCategory, Session, Severity, SizeLimits, State, TrustLevel, Update, UpdateInput,
    Warning, constraint, encoding, operations, protocol, table, update,
};
#[cfg(feature = "http")]
#[doc(inline)]
pub use mcp_aql_server::HttpOptions;
#[doc(inline)]
pub use mcp_aql_server::testing;

#[cfg(feature = "cli")]
#[doc(inline)]
pub use mcp_aql_cli::{command as cli, docs};
#[doc(inline)]
pub use mcp_aql_core::rate_limits;
#[cfg(feature = "query")]
#[doc(inline)]
pub use mcp_aql_query::{
    __private, CollectionQuery, Fields, RelationshipQuery, Resource, computed_fields,
};
#[cfg(feature = "safety")]
#[doc(inline)]
pub use mcp_aql_safety::{operator, safety_loop};

#[cfg(not(feature = "query"))]
#[doc(hidden)]
pub use mcp_aql_core::__private;
/// The macros for resources. They require the feature `query`.
#[cfg(not(feature = "query"))]
pub use mcp_aql_derive::{Resource, computed_fields};
#[cfg(not(feature = "query"))]
#[doc(hidden)]
pub use missing_feature::{CollectionQuery, Fields, RelationshipQuery};

mod missing_feature;
pub mod prelude;

/// Gates: the rules that decide whether a call runs, needs a confirmation or is rejected.
///
/// Every operation has a danger level, and destructive operations need a confirmation by default. Use a [`Policy`] to
/// change this for some operations, or [`Trust`](gatekeeper::Trust) to declare how far the adapter itself was tested.
///
/// ```
/// use mcp_aql::gatekeeper::Condition;
/// use mcp_aql::{Adapter, Policy};
///
/// // A deletion needs a confirmation. With `force`, it is always rejected.
/// let builder = Adapter::builder("tasks")
///     .policy(Policy::confirm("delete_*"))
///     .policy(Policy::deny("delete_*").when(Condition::equals("force", true)));
/// ```
pub mod gatekeeper {
    pub use mcp_aql_core::Policy;
    #[doc(inline)]
    pub use mcp_aql_core::internal::gatekeeper::{
        Certification, Condition, Permission, Trust, TrustChange, TrustError, ValidationReport,
    };
    #[doc(inline)]
    pub use mcp_aql_core::internal::operation::Preview;
    #[cfg(feature = "safety")]
    #[doc(inline)]
    pub use mcp_aql_safety::ByOperator;
}

/// The audit log.
///
/// The audit log records each call, the decision of the gates and the reason for it. Its lines are `tracing` events.
/// You can also append them to a file:
///
/// ```
/// use mcp_aql::Adapter;
///
/// let builder = Adapter::builder("tasks").audit_log("audit.jsonl");
/// ```
///
/// Implement [`AuditSink`](audit::AuditSink) to send them elsewhere.
pub mod audit {
    #[doc(inline)]
    pub use mcp_aql_core::audit::*;
}

/// Everything that reports calls: events, the log, metrics and traces. The audit log is in [`audit`].
pub mod observe {
    #[doc(inline)]
    pub use mcp_aql_core::internal::observe::{CallEvent, CallOutcome, LogFormat};
    #[cfg(feature = "metrics")]
    #[doc(inline)]
    pub use mcp_aql_metrics::Metrics;
    #[cfg(feature = "opentelemetry")]
    #[doc(inline)]
    pub use mcp_aql_telemetry::{TraceIds, WithOpenTelemetry, trace_ids, trace_layer};
}

/// Authenticated callers, and the scopes that they need.
///
/// An authenticator of the HTTP server, or your own middleware, attaches a [`Principal`](auth::Principal) to each
/// request. [`Access`](auth::Access) decides which scopes an operation requires.
///
/// ```
/// use mcp_aql::Adapter;
/// use mcp_aql::auth::Access;
///
/// // Callers need `shop:read` for READ operations, `shop:create` for CREATE operations, and so on.
/// let builder = Adapter::builder("orders").access(Access::new().prefix("shop"));
/// ```
pub mod auth {
    #[doc(inline)]
    pub use mcp_aql_core::internal::caller::Principal;
    #[doc(inline)]
    pub use mcp_aql_core::internal::config::Access;
    #[cfg(feature = "jwt")]
    #[doc(inline)]
    pub use mcp_aql_server::auth::{Algorithm, JwtAuthenticator, JwtOptions, KeySource};
    #[cfg(feature = "http")]
    #[doc(inline)]
    pub use mcp_aql_server::auth::{AuthenticationError, Authenticator, StaticTokens};
}

/// The query language: search, filters, sorting, aggregation and pages as one argument of an operation.
///
/// Take a `CollectionQuery<T>` as an argument, and run it on rows in memory or as SQL. You rarely need this for rows in
/// a store of the module [`resource`], because the generated operations accept queries already.
///
/// Everything except [`Page`], [`PageInfo`](query::PageInfo) and [`CursorKey`](query::CursorKey) requires
/// the feature `query`.
pub mod query {
    pub use mcp_aql_core::Page;
    #[cfg(not(feature = "query"))]
    #[doc(inline)]
    pub use mcp_aql_core::internal::paging::{CursorKey, PageInfo};
    #[cfg(feature = "query")]
    #[doc(inline)]
    pub use mcp_aql_query::*;

    #[cfg(not(feature = "query"))]
    #[doc(hidden)]
    pub use crate::missing_feature::RelationshipGraph;
}

/// Resources: structs whose fields become the parameters of CREATE and UPDATE operations.
///
/// Use [`Create`](resource::Create) as the argument of an operation that you write yourself. With the feature `query`,
/// `#[resource(operations)]` and a store generate the operations to create, get, list, search, update and delete.
///
/// Everything except [`Create`](resource::Create) and [`CreateInput`](resource::CreateInput) requires the feature
/// `query`.
pub mod resource {
    #[doc(inline)]
    pub use mcp_aql_core::resource::*;
    #[cfg(feature = "query")]
    #[doc(inline)]
    pub use mcp_aql_query::records::*;
    #[cfg(feature = "query")]
    #[doc(inline)]
    pub use mcp_aql_query::sql::{
        AccessMode, Database, DatabaseError, PostgresReport, RecordChange, SqlStore, Transaction,
        Violation, WaitLimits,
    };
    #[cfg(all(feature = "query", feature = "postgres"))]
    #[doc(inline)]
    pub use mcp_aql_query::sql::{PostgresDatabase, PostgresTransaction};
    #[cfg(all(feature = "query", feature = "sqlite"))]
    #[doc(inline)]
    pub use mcp_aql_query::sql::{
        RusqliteDatabase, RusqliteTransaction, rusqlite_driver as rusqlite,
    };
}

/// Stores for the adapter's own state, such as confirmation tokens, executions and blocks.
///
/// By default this state is kept in memory and lost with the process. Choose another store to keep it, or to share it
/// between processes:
///
/// ```
/// use mcp_aql::Adapter;
/// use mcp_aql::store::MemoryState;
///
/// let builder = Adapter::builder("tasks").store(MemoryState::default());
/// ```
pub mod store {
    #[doc(inline)]
    pub use mcp_aql_core::store::*;
    #[cfg(feature = "postgres")]
    #[doc(inline)]
    pub use mcp_aql_stores::PostgresState;
    #[cfg(feature = "sqlite")]
    #[doc(inline)]
    pub use mcp_aql_stores::SqliteState;
}

/// The built-in transports, and the types for a transport of your own.
///
/// You rarely need the types: `run`, `serve_stdio`, `serve_http` and `serve` cover the common cases. A transport of
/// your own passes each request to [`Adapter::handle`]:
///
/// ```
/// use mcp_aql::Adapter;
/// use mcp_aql::transport::{CallScope, Endpoint};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> mcp_aql::Result<()> {
/// let adapter = Adapter::builder("empty").build()?;
/// let arguments = r#"{"operation":"introspect","params":{"query":"operations"}}"#;
/// let reply = adapter.handle(Endpoint::Unified, arguments, CallScope::default()).await;
/// assert_eq!(reply.code, None);
/// # Ok(()) }
/// ```
pub mod transport {
    #[doc(inline)]
    pub use mcp_aql_core::transport::*;
    #[cfg(feature = "http")]
    #[doc(inline)]
    pub use mcp_aql_server::{HttpSettings, ServeHttp};
    #[doc(inline)]
    pub use mcp_aql_server::{McpTools, RpcError, ServeStdio, ServeStream, Shutdown};
}
