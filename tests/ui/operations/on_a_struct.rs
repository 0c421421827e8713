use mcp_aql::operations;

/// All tasks.
#[operations]
#[derive(Debug)]
struct Tasks;

fn main() {
    let _ = Tasks;
}
