//! End-to-end tests of `rest`, with well-behaved and faulty services.

mod faults;
mod operations;
mod upstream;

const CREATE: &str = "mcp_aql_create";
const READ: &str = "mcp_aql_read";
const UPDATE: &str = "mcp_aql_update";
const DELETE: &str = "mcp_aql_delete";
