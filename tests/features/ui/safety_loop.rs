use mcp_aql::prelude::*;
use mcp_aql::safety_loop::SafetyLoop;

fn main() {
    let _ = Adapter::builder("tasks").safety_loop(SafetyLoop::new()).build();
}
