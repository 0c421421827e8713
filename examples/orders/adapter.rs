//! The operations on orders. Use UPDATE if your operation changes stored fields, and EXECUTE if it is a command with
//! business rules, such as `cancel_order`.

use mcp_aql::AdapterBuilder;
use mcp_aql::prelude::*;
use mcp_aql::query::SelectedFields;

use super::model::{Order, Orders, Status};

/// Create a paid order.
#[operation(category = "CREATE", example = { "address": "1 High Street", "total": 1999 })]
fn create_order(
    State(orders): State<Orders>,
    /// Address to which the order is sent.
    #[param(min_length = 1, max_length = 200)]
    address: String,
    /// Price in cents.
    #[param(minimum = 1, maximum = 1_000_000)]
    total: u32,
) -> Order {
    let mut orders = orders.open();
    let order_id = orders.last_key_value().map_or(1, |(last, _)| last + 1);
    let order = Order { order_id, address, status: Status::Paid, total, refunded: 0 };
    orders.insert(order_id, order.clone());
    order
}

/// List orders.
#[operation(category = "READ")]
fn list_orders(
    State(orders): State<Orders>,
    query: CollectionQuery<Order>,
) -> Result<Page<Order>, OperationError> {
    query.run(orders.open().values())
}

/// Get one order.
#[operation(category = "READ", example = { "order_id": 1 })]
fn get_order(
    State(orders): State<Orders>,
    /// Number of the order.
    order_id: u64,
    fields: Fields<Order>,
) -> Result<SelectedFields<Order>, OperationError> {
    orders.change(order_id, |_| Ok(())).map(|order| fields.of(order))
}

/// Change the address of an order.
#[operation(
    category = "UPDATE",
    example = { "order_id": 1, "input": { "address": "2 High Street" } },
)]
fn update_order(
    State(orders): State<Orders>,
    /// Number of the order.
    order_id: u64,
    input: Update<Order>,
) -> Result<Order, OperationError> {
    orders.change(order_id, |order| {
        input.merge_into(order);
        Ok(())
    })
}

/// Send an order to the customer.
#[operation(category = "EXECUTE", example = { "order_id": 1 })]
fn ship_order(
    State(orders): State<Orders>,
    /// Number of the order.
    order_id: u64,
) -> Result<Order, OperationError> {
    orders.change(order_id, |order| {
        order.require("ship_order")?;
        order.status = Status::Shipped;
        Ok(())
    })
}

/// Cancel an order that was not sent yet, and refund its price.
#[operation(category = "EXECUTE", example = { "order_id": 1, "reason": "Ordered twice" })]
fn cancel_order(
    State(orders): State<Orders>,
    /// Number of the order.
    order_id: u64,
    /// Reason, shown to the customer.
    #[param(min_length = 1, max_length = 200)]
    reason: String,
) -> Result<Order, OperationError> {
    // A real shop would send the reason to the customer here.
    let _ = reason;
    orders.change(order_id, |order| {
        order.require("cancel_order")?;
        order.status = Status::Cancelled;
        order.refunded = order.total;
        Ok(())
    })
}

/// Refund a part of an order's price.
#[operation(category = "EXECUTE", example = { "order_id": 1, "amount": 500 })]
fn refund_payment(
    State(orders): State<Orders>,
    /// Number of the order.
    order_id: u64,
    /// Amount in cents.
    #[param(minimum = 1, maximum = 1_000_000)]
    amount: u32,
) -> Result<Order, OperationError> {
    orders.change(order_id, |order| {
        order.require("refund_payment")?;
        order.refund(amount)
    })
}

/// Returns a builder of the adapter, without any orders. Tests add their own.
pub(crate) fn builder() -> AdapterBuilder {
    Adapter::builder("orders")
        .version(env!("CARGO_PKG_VERSION"))
        .state(Orders::default())
        .operation(create_order {})
        .operation(list_orders {})
        .operation(get_order {})
        .operation(update_order {})
        .operation(ship_order {})
        .operation(cancel_order {})
        .operation(refund_payment {})
}
