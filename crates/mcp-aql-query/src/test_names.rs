//! The names of `mcp-aql` used by the macros, for the unit tests of this crate.

pub use mcp_aql_core::{
    Adapter, BoxFuture, Context, ErrorCode, OperationError, OperationResult, Operations,
    SemanticCategory, constraint, operations, table, transport,
};

/// Stands for `mcp_aql::query`.
pub mod query {
    pub use crate::*;
}

/// Stands for `mcp_aql::prelude`.
pub mod prelude {
    pub use mcp_aql_core::*;
    pub use schemars::JsonSchema;

    pub use crate::{
        CollectionQuery, Fields, RelationshipGraph, RelationshipQuery, Resource, computed_fields,
    };
}
