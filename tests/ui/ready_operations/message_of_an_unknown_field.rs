use mcp_aql::prelude::*;
use serde::{Deserialize, Serialize};

/// An order.
#[derive(Clone, Serialize, Deserialize, JsonSchema, Resource, UpdateInput)]
#[resource(operations(
    get,
    update(danger(level = "destructive", confirmation_message = "Send {order_id} to {input.costumer}?")),
))]
struct Order {
    /// Number of the order.
    #[resource(id)]
    order_id: u32,
    /// Name of the customer.
    customer: String,
    /// Notes.
    note: Option<String>,
}

fn main() {}
