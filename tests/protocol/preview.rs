//! Tests previews: an operation describes its effect before the call is confirmed.

use std::sync::{Arc, Mutex};

use mcp_aql::gatekeeper::Preview;
use mcp_aql::prelude::*;
use mcp_aql::{OperationResult, operations};
use serde_json::{Value, json};

/// Orders, with `true` for shipped ones.
#[derive(Clone, Default)]
struct Orders(Arc<Mutex<Vec<(u32, bool)>>>);

impl Orders {
    fn open(&self) -> Vec<u32> {
        self.0.lock().unwrap().iter().filter(|(_, shipped)| !shipped).map(|(id, _)| *id).collect()
    }
}

#[operations]
impl Orders {
    /// Cancel an order.
    #[operation(
        category = "DELETE",
        rationale = "a cancelled order is removed",
        danger(level = "destructive", confirmation_message = "Cancel order {order_id}?"),
        preview = preview_cancel
    )]
    async fn cancel_order(
        &self,
        context: Context,
        /// The order.
        order_id: u32,
    ) -> Result<u32, mcp_aql::OperationError> {
        let _ = context;
        self.0.lock().unwrap().retain(|(id, _)| *id != order_id);
        Ok(order_id)
    }

    /// Delete all orders that are not shipped.
    #[operation(category = "DELETE", danger(level = "destructive"), preview = Orders::preview_open)]
    fn delete_open_orders(State(orders): State<Self>) -> usize {
        let open = orders.open();
        orders.0.lock().unwrap().retain(|(id, _)| !open.contains(id));
        open.len()
    }
}

impl Orders {
    async fn preview_cancel(
        &self,
        context: Context,
        order_id: u32,
    ) -> Result<Preview, mcp_aql::OperationError> {
        assert_eq!(context.operation(), "cancel_order");
        let orders = self.0.lock().unwrap();
        match orders.iter().find(|(id, _)| *id == order_id) {
            None => Err(mcp_aql::OperationError::not_found("order", order_id.to_string())),
            Some((_, true)) => Err(mcp_aql::OperationError::permission_denied("it is shipped")),
            Some(_) => Ok(Preview::unchanged()),
        }
    }

    async fn preview_open(State(orders): State<Self>) -> Preview {
        let open = orders.open();
        Preview::new(format!("Delete {} orders?", open.len())).of_state(&open)
    }
}

/// Delete the archive.
#[operation(category = "DELETE", danger(level = "destructive"), preview = preview_archive)]
fn delete_archive(
    /// The year.
    year: u16,
) -> u16 {
    year
}

/// Describes the deletion of an archive.
async fn preview_archive(year: u16) -> Result<String, mcp_aql::OperationError> {
    assert!(year != 1999, "a bug in the preview");
    if year < 2000 {
        return Err(mcp_aql::OperationError::internal("a fault"));
    }
    Ok(format!("Delete the archive of {year}?"))
}

fn shop(orders: &[(u32, bool)]) -> (Adapter, Orders) {
    let shop = Orders::default();
    shop.0.lock().unwrap().extend(orders);
    let adapter = Adapter::builder("shop")
        .operations(shop.clone())
        .state(shop.clone())
        .without_config()
        .build()
        .unwrap();
    (adapter, shop)
}

/// Returns the token and the question of a call that requires a confirmation.
fn asked(result: &OperationResult) -> (Value, Value) {
    let error = result.error().unwrap_or_else(|| panic!("{result:?}"));
    assert_eq!(error.code, "CONFIRMATION_REQUIRED", "{error:?}");
    (error.details["confirmation_token"].clone(), error.details["confirmation_message"].clone())
}

#[tokio::test]
async fn a_call_that_would_fail_is_refused_before_anybody_is_asked() {
    // REQ-GATE-03
    let (adapter, _) = shop(&[(1, false), (2, true)]);
    for (order_id, code) in [(2, "PERMISSION_DENIED"), (3, "NOT_FOUND_RESOURCE")] {
        let refused = adapter.call("cancel_order", json!({ "order_id": order_id })).await;
        assert_eq!(refused.code(), Some(code), "{refused:?}");
        assert!(!refused.error().unwrap().details.contains_key("confirmation_token"));
    }
    let (_, question) = asked(&adapter.call("cancel_order", json!({ "order_id": 1 })).await);
    assert_eq!(question, "Cancel order 1?");
}

#[tokio::test]
async fn a_confirmation_is_for_what_the_question_showed() {
    // REQ-TOK-03
    let (adapter, orders) = shop(&[(1, false), (2, true)]);
    let (token, question) = asked(&adapter.call("delete_open_orders", json!({})).await);
    assert_eq!(question, "Delete 1 orders?");
    // Before the confirmation, more orders arrive.
    orders.0.lock().unwrap().extend([(3, false), (4, false)]);
    let changed = adapter.call("delete_open_orders", json!({ "_confirmation": token })).await;
    let (second, question) = asked(&changed);
    assert_eq!(question, "Delete 3 orders?");
    assert_ne!(token, second);
    let error = changed.error().unwrap();
    assert_eq!(error.details["state_changed"], true);
    assert!(error.message.contains("has changed since its confirmation"), "{}", error.message);
    assert_eq!(orders.open().len(), 3, "the call has run");
    let done = adapter.call("delete_open_orders", json!({ "_confirmation": second })).await;
    assert_eq!(done.data(), 3);
    // A used token is always reported as used, in any state of the orders.
    let again = adapter.call("delete_open_orders", json!({ "_confirmation": second })).await;
    assert_eq!(again.code(), Some("TOKEN_ALREADY_USED"));
}

#[tokio::test]
async fn a_used_token_tells_more_than_the_preview_of_what_is_gone() {
    // REQ-TOK-07
    let (adapter, orders) = shop(&[(1, false)]);
    let (token, _) = asked(&adapter.call("cancel_order", json!({ "order_id": 1 })).await);
    let confirmed = json!({ "order_id": 1, "_confirmation": token });
    assert_eq!(adapter.call("cancel_order", confirmed.clone()).await.data(), 1);
    assert_eq!(orders.open().len(), 0);
    let again = adapter.call("cancel_order", confirmed).await;
    assert_eq!(again.code(), Some("TOKEN_ALREADY_USED"), "{again:?}");
    // An unknown token gives no information about this call, so the preview's error is reported.
    let other = json!({ "order_id": 2, "_confirmation": "tok_unknown" });
    assert_eq!(adapter.call("cancel_order", other).await.code(), Some("NOT_FOUND_RESOURCE"));
}

/// Delete the queue.
#[operation(
    category = "DELETE",
    danger(level = "destructive"),
    preview = preview_queue,
    timeout_seconds = 2
)]
fn delete_queue() {}

/// A preview that never returns.
async fn preview_queue() -> Preview {
    std::future::pending().await
}

#[tokio::test(start_paused = true)]
async fn a_preview_has_the_limits_of_its_operation() {
    // REQ-TOK-17
    let adapter = Adapter::builder("queue").operation(delete_queue {}).without_config();
    let late = adapter.build().unwrap().call("delete_queue", json!({})).await;
    assert_eq!(late.error().unwrap().details["timeout_seconds"], 2.0, "{late:?}");
    // A caller over the limit of tokens is rejected before the preview runs.
    let (adapter, _) = shop(&[(1, false)]);
    for _ in 0..120 {
        asked(&adapter.call("cancel_order", json!({ "order_id": 1 })).await);
    }
    let refused = adapter.call("cancel_order", json!({ "order_id": 404 })).await;
    assert_eq!(refused.code(), Some("RATE_LIMIT_EXCEEDED"), "{refused:?}");
}

#[tokio::test]
async fn the_text_of_the_question_counts_without_a_state() {
    let adapter = Adapter::builder("archive").operation(delete_archive {}).without_config();
    let adapter = adapter.build().unwrap();
    let (token, question) = asked(&adapter.call("delete_archive", json!({ "year": 2020 })).await);
    assert_eq!(question, "Delete the archive of 2020?");
    let confirmed = json!({ "year": 2020, "_confirmation": token });
    assert_eq!(adapter.call("delete_archive", confirmed).await.data(), 2020);
    for year in [1998, 1999] {
        let failed = adapter.call("delete_archive", json!({ "year": year })).await;
        assert_eq!(failed.code(), Some("INTERNAL_ERROR"), "{year}");
    }
}
