use mcp_aql::prelude::*;
use serde::{Deserialize, Serialize};

/// An order.
#[derive(Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations(
    create(nam = "add_order"),
    get(danger(level = "safe")),
    list(name = "listOrders"),
    update(danger(level = "safe")),
    delete(danger(
        level = "dangerous",
        confirmation_message = "Delete {order_id} of {custommer}, {address}, {pin}, {}?",
    )),
))]
struct Order {
    /// Number of the order.
    #[resource(id)]
    order_id: u32,
    /// Name of the customer.
    customer: String,
    /// Address of the customer.
    address: serde_json::Map<String, serde_json::Value>,
    /// Digits that open the locker.
    #[param(sensitive)]
    pin: String,
}

fn main() {}
