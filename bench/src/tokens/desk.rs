//! The service desk of a shop: sixteen operations on customers, orders and products. The data never changes, so every
//! run has the same replies.

use mcp_aql::AdapterBuilder;
use mcp_aql::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A postal address.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, UpdateInput)]
struct Address {
    /// Street and house number.
    street: String,
    /// Town.
    city: String,
    /// Two letters.
    #[param(pattern = "^[A-Z]{2}$")]
    country: String,
    /// Postal code.
    zip: String,
}

/// The data of a customer that the desk may change.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, UpdateInput)]
struct Customer {
    /// Home address.
    address: Address,
    /// Email address.
    #[param(max_length = 200)]
    email: String,
}

/// The data of an order that the desk may change until the order is shipped.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, UpdateInput)]
struct Order {
    /// Delivery address.
    address: Address,
    /// The payment method of the customer that pays.
    payment_id: String,
}

/// Why an order is cancelled.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Reason {
    /// The customer has changed their mind.
    NoLongerNeeded,
    /// The customer ordered the wrong thing.
    OrderedByMistake,
}

/// Find a customer by email address.
#[operation(category = "READ", example = { "email": "ada@example.org" })]
fn find_customer_by_email(
    /// Email address of the account.
    email: String,
) -> Value {
    found(&email)
}

/// Find a customer by name and postal code, if the email address is unknown.
#[operation(category = "READ")]
fn find_customer_by_name(
    /// First name.
    first_name: String,
    /// Last name.
    last_name: String,
    /// Postal code.
    zip: String,
) -> Value {
    found(&format!("{first_name} {last_name} {zip}"))
}

fn found(_by: &str) -> Value {
    json!({ "customer_id": "c-1042" })
}

/// Get the address, the payment methods and the orders of a customer.
#[operation(category = "READ")]
fn get_customer(
    /// The customer.
    customer_id: String,
) -> Value {
    json!({
        "customer_id": customer_id,
        "name": { "first_name": "Ada", "last_name": "Jansen" },
        "email": "ada@example.org",
        "address": address(),
        "payment_methods": [
            { "payment_id": "card-77", "kind": "credit_card", "brand": "visa", "last_four": "4242" },
            { "payment_id": "gift-12", "kind": "gift_card", "balance": 80.5 },
        ],
        "orders": ["o-5581", "o-5602", "o-5617"],
    })
}

/// Get the items, the status, the payments and the delivery of an order.
#[operation(category = "READ", example = { "order_id": "o-5581" })]
fn get_order(
    /// The order.
    order_id: String,
) -> Value {
    order(&order_id, "pending")
}

/// Get the variants of a product, with options, price and availability.
#[operation(category = "READ")]
fn get_product(
    /// The product.
    product_id: String,
) -> Value {
    json!({
        "product_id": product_id,
        "name": "Desk lamp",
        "variants": [
            { "item_id": "i-301", "options": { "color": "black", "power": "battery" }, "available": true, "price": 41.5 },
            { "item_id": "i-302", "options": { "color": "white", "power": "battery" }, "available": false, "price": 41.5 },
            { "item_id": "i-303", "options": { "color": "black", "power": "usb" }, "available": true, "price": 46.0 },
            { "item_id": "i-304", "options": { "color": "white", "power": "usb" }, "available": true, "price": 46.0 },
        ],
    })
}

/// Get one variant of a product.
#[operation(category = "READ")]
fn get_item(
    /// The variant.
    item_id: String,
) -> Value {
    json!({ "item_id": item_id, "product_id": "p-17", "available": true, "price": 46.0 })
}

/// List the names of all products with their identifiers.
#[operation(category = "READ")]
fn list_products() -> Value {
    json!([
        { "product_id": "p-11", "name": "Bookshelf" },
        { "product_id": "p-17", "name": "Desk lamp" },
        { "product_id": "p-23", "name": "Office chair" },
        { "product_id": "p-31", "name": "Keyboard" },
    ])
}

/// Calculate the value of an expression, such as a price difference.
#[operation(category = "READ")]
fn calculate_amount(
    /// Numbers, `+`, `-`, `*`, `/` and parentheses.
    #[param(max_length = 200)]
    expression: String,
) -> Value {
    json!({ "expression": expression, "value": 4.5 })
}

/// Cancel an order that is not shipped. The payment is returned to the payment method within seven days.
#[operation(category = "EXECUTE", danger(level = "reversible", reasons = ["The order can be placed again"]))]
fn cancel_order(
    /// The order.
    order_id: String,
    /// Why the customer cancels.
    reason: Reason,
) -> Value {
    let _ = reason;
    order(&order_id, "cancelled")
}

/// Return items of a delivered order. The customer gets a label by email.
#[operation(category = "EXECUTE", danger(level = "reversible", reasons = ["The return can be called off"]))]
fn return_items(
    /// The order.
    order_id: String,
    /// The items that the customer returns.
    #[param(min_items = 1)]
    item_ids: Vec<String>,
    /// The payment method that gets the refund: the original one, or a gift card.
    payment_id: String,
) -> Value {
    let _ = (item_ids, payment_id);
    order(&order_id, "return_requested")
}

/// Exchange items of a delivered order for other variants of the same products. Only once per order.
#[operation(category = "EXECUTE", danger(level = "reversible", reasons = ["The exchange can be called off"]))]
fn exchange_items(
    /// The order.
    order_id: String,
    /// The items that the customer sends back.
    #[param(min_items = 1)]
    item_ids: Vec<String>,
    /// The variant for each of them, in the same order.
    #[param(min_items = 1)]
    new_item_ids: Vec<String>,
    /// The payment method for the difference in price.
    payment_id: String,
) -> Value {
    let _ = (item_ids, new_item_ids, payment_id);
    order(&order_id, "exchange_requested")
}

/// Replace items of an order that is not shipped by other variants of the same products. Only once per order.
#[operation(category = "EXECUTE", danger(level = "reversible", reasons = ["The items can be replaced again"]))]
fn replace_items(
    /// The order.
    order_id: String,
    /// The items to replace.
    #[param(min_items = 1)]
    item_ids: Vec<String>,
    /// The variant for each of them, in the same order.
    #[param(min_items = 1)]
    new_item_ids: Vec<String>,
    /// The payment method for the difference in price.
    payment_id: String,
) -> Value {
    let _ = (item_ids, new_item_ids, payment_id);
    order(&order_id, "pending")
}

/// Hand the customer over to a person, if no operation can help.
#[operation(category = "EXECUTE", danger(level = "reversible", reasons = ["The person can hand back"]))]
fn transfer_customer(
    /// Summary of the request.
    #[param(min_length = 1, max_length = 1000)]
    summary: String,
) -> Value {
    json!({ "transferred": true, "summary": summary })
}

/// Change the address or the email address of a customer.
#[operation(category = "UPDATE", example = { "customer_id": "c-1042", "input": { "email": "ada@example.com" } })]
fn update_customer(
    /// The customer.
    customer_id: String,
    input: Update<Customer>,
) -> Value {
    let _ = input;
    json!({ "customer_id": customer_id, "email": "ada@example.org", "address": address() })
}

/// Change the address or the payment method of an order that is not shipped.
#[operation(category = "UPDATE", example = { "order_id": "o-5581", "input": { "payment_id": "gift-12" } })]
fn update_order(
    /// The order.
    order_id: String,
    input: Update<Order>,
) -> Value {
    let _ = input;
    order(&order_id, "pending")
}

/// Add a note to an order, which the warehouse reads.
#[operation(category = "CREATE", example = { "order_id": "o-5581", "text": "Leave it with the neighbours" })]
fn add_note(
    /// The order.
    order_id: String,
    /// Text of the note.
    #[param(min_length = 1, max_length = 500)]
    text: String,
) -> Value {
    json!({ "order_id": order_id, "notes": [text] })
}

fn address() -> Value {
    json!({ "street": "12 Canal Street", "city": "Utrecht", "country": "NL", "zip": "3511" })
}

fn order(order_id: &str, status: &str) -> Value {
    json!({
        "order_id": order_id,
        "customer_id": "c-1042",
        "status": status,
        "address": address(),
        "items": [
            {
                "item_id": "i-301", "product_id": "p-17", "name": "Desk lamp", "price": 41.5,
                "options": { "color": "black", "power": "battery" },
            },
            {
                "item_id": "i-412", "product_id": "p-31", "name": "Keyboard", "price": 120.0,
                "options": { "layout": "us", "switches": "linear" },
            },
        ],
        "payments": [{ "payment_id": "card-77", "amount": 161.5, "kind": "payment" }],
        "tracking": [],
    })
}

/// Returns a builder of the service desk. You can add more operations to it.
pub(super) fn builder() -> AdapterBuilder {
    Adapter::builder("desk")
        .without_config()
        .operation(find_customer_by_email {})
        .operation(find_customer_by_name {})
        .operation(get_customer {})
        .operation(get_order {})
        .operation(get_product {})
        .operation(get_item {})
        .operation(list_products {})
        .operation(calculate_amount {})
        .operation(cancel_order {})
        .operation(return_items {})
        .operation(exchange_items {})
        .operation(replace_items {})
        .operation(transfer_customer {})
        .operation(update_customer {})
        .operation(update_order {})
        .operation(add_note {})
}
