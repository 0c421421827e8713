use mcp_aql::prelude::*;

fn main() {
    let _ = Adapter::builder("tasks").opentelemetry_from_env().build();
}
