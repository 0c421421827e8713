//! What an adapter's file imports: `use mcp_aql::prelude::*;`.

pub use crate::{
    Adapter, Context, ErrorCode, IfMatch, OperationError, Page, PageInfo, ParamGroup, Session,
    Severity, State, Update, UpdateInput, Warning, operation, operations,
};
pub use schemars::JsonSchema;
