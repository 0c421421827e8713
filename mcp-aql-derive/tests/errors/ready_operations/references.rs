use mcp_aql::prelude::*;
use serde::{Deserialize, Serialize};

/// A customer, to which nothing refers.
#[derive(Clone, Serialize, Deserialize, JsonSchema, Resource)]
struct Customer {
    /// Number of the customer.
    #[resource(id)]
    customer_id: u32,
    /// Number of the region.
    #[resource(references = "region")]
    region_id: u32,
}

/// An order.
#[derive(Clone, Serialize, Deserialize, JsonSchema, Resource)]
#[resource(operations(get, list))]
struct Order {
    /// Number of the order.
    #[resource(id)]
    order_id: u32,
    /// Customer who has ordered.
    #[resource(references = "Customer")]
    customer_id: u32,
    /// Customer who has ordered, again.
    #[resource(references = "customer")]
    customer: u32,
    /// Weight of the order.
    #[resource(references = "weight")]
    weight: f64,
    /// Whether the order is paid.
    #[resource(references)]
    paid: bool,
    /// Password of the order.
    #[resource(references = "password")]
    #[serde(skip)]
    password: String,
}

fn main() {}
