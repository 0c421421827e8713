use mcp_aql::limits::RateLimits;
use mcp_aql::prelude::*;

fn main() {
    let _ = Adapter::builder("tasks").rate_limits(RateLimits::new()).build();
}
