//! The usual imports of an adapter: `use mcp_aql::prelude::*;`.

pub use crate::query::PageInfo;
pub use crate::query::RelationshipGraph;
pub use crate::{
    Adapter, CollectionQuery, Context, ErrorCode, ExecutionContext, Fields, IfMatch,
    OperationError, OrInternal, Page, ParamGroup, RelationshipQuery, Resource, Session, Severity,
    State, Update, UpdateInput, Warning, computed_fields, operation, operations,
};
pub use schemars::JsonSchema;
