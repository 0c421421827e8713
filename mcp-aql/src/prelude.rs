//! The usual imports of an adapter.
//!
//! ```
//! use mcp_aql::prelude::*;
//! ```
//!
//! The traits in this module add methods to [`Adapter`] and its builder, for example `Adapter::run` and
//! `Adapter::serve`. If such a method is not found, import the prelude.

#[cfg(feature = "cli")]
pub use mcp_aql_cli::command::RunAdapter;
#[cfg(feature = "safety")]
pub use mcp_aql_safety::{ByOperator, WithSafetyLoop, operator::OperatorAccess};
#[cfg(feature = "http")]
pub use mcp_aql_server::ServeHttp;
pub use mcp_aql_server::{ServeStdio, ServeStream};
#[cfg(feature = "opentelemetry")]
pub use mcp_aql_telemetry::WithOpenTelemetry;
pub use schemars::JsonSchema;

#[cfg(not(feature = "query"))]
pub use crate::missing_feature::WithResources;
#[cfg(not(all(
    feature = "cli",
    feature = "http",
    feature = "opentelemetry",
    feature = "safety"
)))]
pub use crate::missing_feature::*;
pub use crate::query::PageInfo;
pub use crate::query::RelationshipGraph;
pub use crate::resource::{Create, CreateInput};
#[cfg(feature = "query")]
pub use crate::resource::{WithResources, WithRules};
pub use crate::{
    Adapter, CollectionQuery, Context, ErrorCode, ExecutionContext, Fields, IfMatch,
    OperationError, OrInternal, Page, ParamGroup, RelationshipQuery, Resource, Session, Severity,
    State, Update, UpdateInput, Warning, computed_fields, operation, operations,
};
