use mcp_aql::prelude::*;

/// Pay a part of the price back.
#[operation]
fn refund_payment() {}

fn main() {}
