//! The same fifty operations twice: as an mcp-aql adapter and as discrete rmcp tools. Kinds, docs and
//! store are shared, so that only the framework differs.

mod kinds;

pub mod aql;
pub mod rmcp;
pub mod store;

/// What `create_task` takes.
pub const TASK: &str = r#"{"title":"Write the report","status":"doing","priority":2,
    "assignee":"Ada","due_date":"2031-05-06"}"#;
