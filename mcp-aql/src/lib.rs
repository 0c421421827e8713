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
mod build_error;
mod call;
mod catalog;
mod clock;
mod concurrency;
#[cfg(feature = "console")]
mod console;
mod error;
mod execution;
#[cfg_attr(
    not(all(feature = "limits", feature = "safety", any(feature = "stdio", feature = "http"))),
    expect(dead_code, reason = "an extension or a transport that uses it is switched off")
)]
mod extension;
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
#[cfg_attr(
    not(all(feature = "limits", feature = "safety")),
    expect(dead_code, reason = "an extension that uses it is switched off")
)]
#[cfg_attr(
    not(feature = "limits"),
    expect(unused_imports, reason = "the extension that uses them is switched off")
)]
pub mod gatekeeper;
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
mod safety_extension;
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
/// The words of the protocol: categories, error codes, levels, limits and reserved names.
pub mod protocol {
    pub use mcp_aql_protocol::{
        DANGER_PATTERNS, DangerLevel, EndpointPermissions, ErrorCode, LimitOutOfRange, Limits,
        PROTOCOL_VERSION, RESERVED_OPERATIONS, SemanticCategory, TrustLevel, UnknownLevel,
    };
}
pub mod store;
/// The tables of operations. The macros write them; code that generates operations without the macros writes them
/// by hand.
pub mod table {
    pub use crate::error::IntoOperationError;
    pub use crate::operation::{
        Call, DataKey, ExampleSpec, Method, Operation, OperationReturn, OperationSpec, Operations,
        Outcome, ParamGroup, ParameterEntry,
    };
    pub use crate::spec::{
        DangerSpec, DefaultSpec, ElementSpec, InputFieldSpec, InputSpec, LifecycleSpec, Merge,
        ParameterSpec, ParameterType, ReturnsSpec, SharedState, StateSpec,
    };
    pub use crate::warning::Deprecation;
}
pub mod testing;
/// What a transport passes to [`Adapter::handle`] and receives from it.
pub mod transport {
    /// The type of [`CallScope::cancellation`].
    #[doc(no_inline)]
    pub use tokio_util::sync::CancellationToken;

    pub use crate::operation::{CallScope, Extensions, ProgressSink};
    pub use crate::response::{ErrorDetail, Reply};
    pub use crate::router::{Endpoint, Family};
}
pub mod update;

pub use adapter::{Adapter, AdapterBuilder};
pub use build_error::BuildError;
pub use clock::TimeSource;
pub use concurrency::Concurrency;
pub use error::{OperationError, OrInternal};
pub use execution::ExecutionOptions;
pub use future::BoxFuture;
pub use gatekeeper::{Policy, Trust};
pub use main_error::{Error, Result};
#[cfg(feature = "http")]
pub use mcp::HttpOptions;
#[doc = include_str!("macro_docs/update_input.md")]
pub use mcp_aql_derive::UpdateInput;
pub use mcp_aql_protocol::{DangerLevel, ErrorCode, Limits, SemanticCategory, TrustLevel};
#[cfg(not(feature = "query"))]
#[doc(hidden)]
pub use missing_feature::{CollectionQuery, Fields, RelationshipGraph, RelationshipQuery};
pub use operation::{Context, ExecutionContext, Operations, ParamGroup, State};
pub use paging::Page;
#[cfg(feature = "query")]
pub use query::{CollectionQuery, Fields, RelationshipQuery, Resource};
pub use response::OperationResult;
pub use router::{EndpointMode, EndpointProfile};
pub use session::Session;
pub use update::{IfMatch, Update, UpdateInput};
pub use warning::{Severity, Warning};

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
