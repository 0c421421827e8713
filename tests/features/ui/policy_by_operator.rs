use mcp_aql::Policy;
use mcp_aql::prelude::*;

fn main() {
    let _ = Adapter::builder("tasks").policy(Policy::confirm("delete_task").by_operator()).build();
}
