use mcp_aql::prelude::*;
use serde::{Deserialize, Serialize};

/// An order.
#[derive(Clone, Serialize, Deserialize, JsonSchema, Resource)]
#[resource(operations(get(), list(example = [1]), delete(danger(level = "harmless"), level = "dangerous")))]
struct Order {
    /// Number of the order.
    #[resource(id)]
    order_id: u32,
}

fn main() {}
