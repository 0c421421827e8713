use mcp_aql::prelude::*;
use serde::{Deserialize, Serialize};

use mcp_aql::resource::MemoryRecords;

/// An order.
#[derive(Clone, Serialize, Deserialize, JsonSchema, Resource)]
#[resource(operations(get, list))]
struct Order {
    /// Number of the order.
    #[resource(id)]
    order_id: u32,
}

fn main() {
    let orders = MemoryRecords::<Order>::new();
    let _ = Adapter::builder("shop").resources(orders);
}
