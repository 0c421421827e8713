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
//! | make operations of functions | [`operation`](macro@operation), [`operations`](macro@operations), [`ParamGroup`](derive@ParamGroup) |
//! | list, search, filter, count resources | [`query`] (feature `query`) |
//! | change resources | [`UpdateInput`](derive@UpdateInput), [`Update`], [`IfMatch`] |
//! | fail | [`OperationError`](derive@OperationError), [`ErrorCode`], [`OrInternal`] |
//! | know the call | [`Context`], [`Session`], [`State`], [`Warning`] |
//! | put an adapter together | [`Adapter::builder`], [`AdapterBuilder`] |
//! | keep agents within bounds | `safety_loop`, `operator` (feature `safety`) |
//! | run it | `Adapter::run` and `cli`, `Adapter::router`, [`Adapter::serve`], [`Adapter::call`] |
//! | test it | [`testing`] |
//! | document it | `docs`, on the command line and as a module |
//!
//! # Features
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `stdio` | yes | MCP over standard input and output |
//! | `cli` | yes | `Adapter::run`: the adapter's command line and `docs`; brings `stdio` |
//! | `http` | no | MCP over streamable HTTP: `serve --http`, and an axum router to embed |
//! | `query` | no | the query language: `derive(Resource)`, `CollectionQuery`, `Fields`, `RelationshipQuery` |
//! | `sql` | no | its executor for SQLite and PostgreSQL; brings `query` |
//! | `safety` | no | the safety loop, challenges, and the people who answer them; brings `sqlite` |
//! | `console` | no | a web page on loopback for those people; brings `safety` and `http` |
//! | `sqlite` | no | `store::SqliteStore`: state in a file; needs Rust 1.89 |
//! | `postgres` | no | `store::PostgresStore`: state that several machines share |
//! | `limits` | no | rate limits and quotas: `AdapterBuilder::rate_limits` |
//! | `conformance` | no | `testing::assert_conforms`: the conformance runner in an adapter's own tests |

// Generated code names the runtime by its path, which must also exist inside this crate.
extern crate self as mcp_aql;

mod adapter;
#[cfg_attr(not(feature = "safety"), expect(dead_code, reason = "only the safety loop asks people"))]
mod approvals;
mod argument;
pub mod audit;
#[cfg_attr(not(feature = "limits"), expect(dead_code, reason = "only limits count calls"))]
mod call_limits;
mod clock;
mod concurrency;
#[cfg(feature = "console")]
mod console;
mod error;
mod execution;
#[cfg_attr(
    not(feature = "console"),
    expect(
        dead_code,
        reason = "only the console reads a private file, and only SQLite creates folders"
    )
)]
mod file_access;
mod further_query;
mod future;
mod gatekeeper;
#[cfg(feature = "safety")]
#[cfg_attr(
    not(feature = "console"),
    expect(dead_code, reason = "only the console counts and prints")
)]
mod human_channel;
mod introspection;
#[cfg(feature = "limits")]
pub mod limits;
mod log_targets;
mod main_error;
mod mcp;
mod missing_feature;
mod operation;
mod paging;
#[cfg(feature = "query")]
mod projection;
pub mod query;
mod redact;
mod request;
mod response;
mod router;
#[cfg(feature = "safety")]
pub mod safety_loop;
mod services;
mod session;
mod session_end;
mod shape;
mod spec;
#[cfg(any(feature = "stdio", feature = "http"))]
mod stop;
mod sync;
mod text;
mod tightening;
#[cfg_attr(not(feature = "sqlite"), expect(dead_code, reason = "only SQLite keeps state there"))]
mod user_directory;
mod validate;
mod vocab;
mod warning;

#[cfg(feature = "cli")]
pub mod cli;
pub mod constraint;
#[cfg(feature = "cli")]
pub mod docs;
pub mod encoding;
/// The operators: the requests that people receive, the channels that show them, and the possible
/// decisions.
///
/// A [`HumanChannel`](operator::HumanChannel) shows requests to people where no agent can read them:
/// approvals and the codes of challenges. An [`Operator`](operator::Operator) is the handle with which
/// people decide. Neither is reachable through MCP, so an agent cannot approve its own requests
/// (REQ-AUT-16).
#[cfg(feature = "safety")]
pub mod operator {
    #[cfg(feature = "console")]
    pub use crate::console::{Console, ConsoleLink};
    pub use crate::human_channel::*;
}
pub mod prelude;
pub mod store;
pub mod testing;
pub mod update;

pub use adapter::{Adapter, AdapterBuilder, BuildError};
pub use clock::TimeSource;
pub use concurrency::Concurrency;
pub use error::{IntoOperationError, OperationError, OrInternal};
pub use execution::ExecutionOptions;
pub use future::BoxFuture;
pub use gatekeeper::{
    Certification, Condition, Permission, Policy, Promotion, Trust, TrustError, ValidationReport,
};
pub use main_error::{Error, Result};
#[cfg(feature = "http")]
pub use mcp::HttpOptions;
#[doc = include_str!("macro_docs/update_input.md")]
pub use mcp_aql_derive::UpdateInput;
pub use mcp_aql_protocol::{
    DANGER_PATTERNS, DangerLevel, EndpointPermissions, ErrorCode, LimitOutOfRange, Limits,
    PROTOCOL_VERSION, RESERVED_OPERATIONS, SemanticCategory, TrustLevel, UnknownLevel,
};
#[cfg(not(feature = "query"))]
#[doc(hidden)]
pub use missing_feature::{CollectionQuery, Fields, RelationshipGraph, RelationshipQuery};
pub use operation::{
    Call, CallScope, Context, DataKey, ExampleSpec, ExecutionContext, Method, Operation,
    OperationReturn, OperationSpec, Operations, Outcome, ParamGroup, ParameterEntry, ProgressSink,
    State,
};
pub use paging::{CursorKey, Page, PageInfo};
#[cfg(feature = "query")]
pub use query::{
    CollectionQuery, Fields, Identified, RelationshipGraph, RelationshipQuery, RelationshipSource,
    Resource,
};
pub use response::{ErrorDetail, OperationResult, Reply};
pub use router::{Endpoint, EndpointMode, EndpointProfile, Family};
pub use session::Session;
pub use spec::{
    DangerSpec, DefaultSpec, ElementSpec, FieldSpec, InputSpec, LifecycleSpec, Merge,
    ParameterSpec, ParameterType, ReturnsSpec, SchemaFn, SharedState, StateSpec,
};
pub use text::leaks_internals;
/// The type of [`CallScope::cancellation`].
#[doc(no_inline)]
pub use tokio_util::sync::CancellationToken;
pub use update::{Change, IfMatch, Update, UpdateInput, merge_json};
pub use warning::{Deprecation, Severity, Warning};

#[doc = include_str!("macro_docs/operation.md")]
pub use mcp_aql_derive::operation;

#[doc = include_str!("macro_docs/operations.md")]
pub use mcp_aql_derive::operations;

#[doc = include_str!("macro_docs/param_group.md")]
pub use mcp_aql_derive::ParamGroup;

#[doc = include_str!("macro_docs/operation_error.md")]
pub use mcp_aql_derive::OperationError;

// Without the feature `query`, both derives report an error that names the feature.
#[cfg_attr(feature = "query", doc = include_str!("macro_docs/resource.md"))]
#[cfg_attr(not(feature = "query"), doc = "Needs the feature `query`.")]
pub use mcp_aql_derive::Resource;

#[cfg_attr(feature = "query", doc = include_str!("macro_docs/computed_fields.md"))]
#[cfg_attr(not(feature = "query"), doc = "Needs the feature `query`.")]
pub use mcp_aql_derive::computed_fields;

#[doc(hidden)]
pub mod __private;
