use mcp_aql::computed_fields;

#[computed_fields]
fn age_days() -> i64 {
    7
}

fn main() {}
