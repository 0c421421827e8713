//! The same fifty operations twice: as an mcp-aql adapter and as discrete rmcp tools. Kinds, docs and
//! store are shared, so that only the framework differs.

mod kinds;

pub mod aql;
pub mod rmcp;
pub mod store;
