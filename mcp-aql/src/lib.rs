//! Annotate Rust functions, get a conforming MCP-AQL adapter: an MCP server with at most five
//! tools, however many operations it has.
//!
//! ```
//! use mcp_aql::prelude::*;
//! use serde_json::json;
//!
//! /// Tell how long a text is.
//! #[operation(category = "READ")]
//! fn measure_text(
//!     /// The text.
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
//! | to … | see |
//! |---|---|
//! | turn functions into operations | [`operation`](macro@operation), [`operations`](macro@operations), [`ParamGroup`](derive@ParamGroup) |
//! | list, search, filter, count resources | [`query`] (feature `query`) |
//! | change resources | [`UpdateInput`](derive@UpdateInput), [`Update`], [`IfMatch`] |
//! | report errors | [`OperationError`](derive@OperationError), [`ErrorCode`], [`OrInternal`] |
//! | know who calls | [`auth`] |
//! | inspect the call | [`Context`], [`Session`], [`State`], [`Warning`] |
//! | put an adapter together | [`Adapter::builder`], [`AdapterBuilder`] |
//! | supervise agents | `safety_loop`, `operator` (feature `safety`) |
//! | run it | `Adapter::run` and `cli`, `Adapter::router`, [`Adapter::serve`](transport::ServeStream::serve), [`Adapter::call`] |
//! | test it | [`testing`] |
//! | document it | `docs`, on the command line and as a module |
//!
//! # Features
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
/// Needs the feature `query`.
#[cfg(not(feature = "query"))]
pub use mcp_aql_derive::{Resource, computed_fields};
#[cfg(not(feature = "query"))]
#[doc(hidden)]
pub use missing_feature::{CollectionQuery, Fields, RelationshipQuery};

mod missing_feature;
pub mod prelude;

/// The gates that a call must pass: trust, policies and confirmation.
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

/// The audit log: a record of each call that changes something, and of the decisions about it.
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

/// Who calls: the authenticated caller, and the scopes that it needs.
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

/// Collection queries: the query language, its executors and the argument types of operations.
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

/// The inputs of resources, and resources with ready operations.
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

/// The state of adapters and where it is kept.
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

/// What a transport passes to [`Adapter::handle`] and receives from it, and the built-in transports.
pub mod transport {
    #[doc(inline)]
    pub use mcp_aql_core::transport::*;
    #[cfg(feature = "http")]
    #[doc(inline)]
    pub use mcp_aql_server::ServeHttp;
    #[doc(inline)]
    pub use mcp_aql_server::{McpTools, RpcError, ServeStdio, ServeStream, Shutdown};
}
