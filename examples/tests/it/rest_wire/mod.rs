//! End-to-end tests of `rest`, with its own parcel service and with a faulty one.

mod faults;
mod operations;
mod upstream;

const CREATE: &str = "mcp_aql_create";
const READ: &str = "mcp_aql_read";
const UPDATE: &str = "mcp_aql_update";
const DELETE: &str = "mcp_aql_delete";
