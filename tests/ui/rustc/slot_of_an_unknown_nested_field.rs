use mcp_aql::prelude::*;
use serde::Deserialize;

/// A customer.
#[derive(Clone, Deserialize, JsonSchema, UpdateInput)]
struct Customer {
    /// Name.
    name: String,
    /// Where parcels go.
    address: Option<Box<Address>>,
}

/// An address.
#[derive(Clone, Default, Deserialize, JsonSchema, UpdateInput)]
struct Address {
    /// Street and number.
    street: String,
    /// Town.
    city: String,
    /// Code of the door.
    #[param(sensitive)]
    code: String,
}

/// Change a customer.
#[operation(category = "UPDATE", danger(confirmation_message = "Move {id} to {input.address.ctiy}?"))]
fn update_customer(
    /// Which one.
    id: u32,
    input: Update<Customer>,
) {
    drop((id, input));
}

fn main() {
    mcp_aql_tests::register(update_customer {}); // must not add a second error
}
