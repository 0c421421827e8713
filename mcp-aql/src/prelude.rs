//! What an adapter's file imports: `use mcp_aql::prelude::*;`.

pub use crate::{
    Adapter, Context, ErrorCode, ExecutionContext, IfMatch, OperationError, OrInternal, Page,
    PageInfo, ParamGroup, Session, Severity, State, Update, UpdateInput, Warning, operation,
    operations,
};
#[cfg(feature = "query")]
pub use crate::{
    CollectionQuery, Fields, RelationshipGraph, RelationshipQuery, Resource, computed_fields,
};
pub use schemars::JsonSchema;
