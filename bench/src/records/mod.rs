//! Implements the same fifty operations twice: as an mcp-aql adapter and as discrete rmcp tools. The kinds of record,
//! the documentation and the store are shared, so that only the framework differs.

mod kinds;

pub mod aql;
pub mod rmcp;
pub mod store;

/// The params of `create_task`.
pub const TASK: &str = r#"{"title":"Write the report","status":"doing","priority":2,
    "assignee":"Ada","due_date":"2031-05-06"}"#;
