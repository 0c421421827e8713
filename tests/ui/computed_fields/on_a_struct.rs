use mcp_aql::computed_fields;

#[computed_fields]
struct Task;

fn main() {}
