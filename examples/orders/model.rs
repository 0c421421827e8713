//! Orders, and the commands that each status allows.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcp_aql::prelude::*;
use serde::{Deserialize, Serialize};

/// An order.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, UpdateInput)]
pub(crate) struct Order {
    /// Number of the order.
    #[resource(id)]
    pub(crate) order_id: u64,
    /// Address to which the order is sent.
    #[param(min_length = 1, max_length = 200)]
    #[resource(search)]
    pub(crate) address: String,
    /// State of the order. Commands change it.
    #[resource(read_only, filter)]
    pub(crate) status: Status,
    /// Price in cents.
    #[resource(read_only, filter, sort, numeric)]
    pub(crate) total: u32,
    /// Refunded part of the price in cents.
    #[resource(read_only, filter)]
    pub(crate) refunded: u32,
}

/// State of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    /// Paid, and not sent.
    Paid,
    /// Sent to the customer.
    Shipped,
    /// Cancelled before it was sent.
    Cancelled,
}

impl Status {
    /// Returns the commands that this status allows.
    fn commands(self) -> &'static [&'static str] {
        match self {
            Self::Paid => &["ship_order", "cancel_order", "refund_payment"],
            Self::Shipped => &["refund_payment"],
            Self::Cancelled => &[],
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Paid => "paid",
            Self::Shipped => "shipped",
            Self::Cancelled => "cancelled",
        })
    }
}

impl Order {
    /// Returns an error if the order's status does not allow `command`. The error lists the allowed commands.
    pub(crate) fn require(&self, command: &str) -> Result<(), OperationError> {
        let possible = self.status.commands();
        if possible.contains(&command) {
            return Ok(());
        }
        Err(OperationError::wrong_state("order", self.status, possible))
    }

    /// Refunds a part of the price. Returns an error if more than the rest would be refunded.
    pub(crate) fn refund(&mut self, amount: u32) -> Result<(), OperationError> {
        let rest = self.total.saturating_sub(self.refunded);
        if amount > rest {
            let expected = format!("must be {rest} or less: the amount not refunded yet");
            return Err(OperationError::invalid_value("amount", expected));
        }
        self.refunded = self.refunded.saturating_add(amount);
        Ok(())
    }
}

/// All orders, by number. Clones share the same orders.
#[derive(Debug, Clone, Default)]
pub(crate) struct Orders(Arc<Mutex<BTreeMap<u64, Order>>>);

impl Orders {
    pub(crate) fn open(&self) -> MutexGuard<'_, BTreeMap<u64, Order>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Applies `change` to one order and returns the changed order.
    pub(crate) fn change(
        &self,
        order_id: u64,
        change: impl FnOnce(&mut Order) -> Result<(), OperationError>,
    ) -> Result<Order, OperationError> {
        let mut orders = self.open();
        let order = orders.get_mut(&order_id);
        let order = order.ok_or_else(|| OperationError::not_found("order", order_id))?;
        change(order)?;
        Ok(order.clone())
    }
}
