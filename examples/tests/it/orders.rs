//! Tests of `orders`: commands of a business as operations.

#[path = "../../orders/adapter.rs"]
mod adapter;
#[path = "../../orders/model.rs"]
mod model;

use mcp_aql::prelude::*;
use serde_json::{Value, json};

/// Returns an adapter with one order.
async fn shop() -> Adapter {
    let adapter = adapter::builder().without_config().build().unwrap();
    let created =
        adapter.call("create_order", json!({ "address": "1 High Street", "total": 1_999 })).await;
    assert_eq!(created.data()["order"]["order_id"], 1);
    adapter
}

async fn order(adapter: &Adapter, operation: &str, params: Value) -> Value {
    adapter.call(operation, params).await.data()["order"].clone()
}

#[tokio::test]
async fn commands_are_execute_and_return_the_order() {
    // REQ-CLS-01, REQ-CLS-02, REQ-RSP-11
    let adapter = shop().await;
    let listed = adapter.call("introspect", json!({ "query": "operations" })).await;
    let operations = listed.data()["operations"].as_array().unwrap().clone();
    for command in ["ship_order", "cancel_order", "refund_payment"] {
        let entry = operations.iter().find(|it| it["name"] == command).unwrap();
        assert_eq!(entry["semantic_category"], "EXECUTE", "{entry}");
    }
    let is_of_executions = |entry: &&Value| entry["name"].to_string().contains("execution");
    assert_eq!(operations.iter().find(is_of_executions), None, "no command is an execution");
    let refunded = order(&adapter, "refund_payment", json!({ "order_id": 1, "amount": 500 })).await;
    assert_eq!(refunded["refunded"], 500);
    let cancelled =
        order(&adapter, "cancel_order", json!({ "order_id": 1, "reason": "Ordered twice" })).await;
    assert_eq!(
        (&cancelled["status"], &cancelled["refunded"]),
        (&json!("cancelled"), &json!(1_999))
    );
}

#[tokio::test]
async fn a_command_in_the_wrong_state_names_the_possible_ones() {
    // REQ-ERR-01, REQ-ERR-02, REQ-ERR-05
    let adapter = shop().await;
    adapter.call("ship_order", json!({ "order_id": 1 })).await;
    let cancel = json!({ "order_id": 1, "reason": "Ordered twice" });
    let refused = adapter.call("cancel_order", cancel).await;
    let error = refused.error().unwrap();
    assert_eq!(error.code, "CONFLICT_VERSION_MISMATCH");
    assert_eq!(
        error.message,
        "The 'order' is in state 'shipped'. This state does not allow the operation. Possible: 'refund_payment'"
    );
    let details = json!({
        "resource_type": "order", "state": "shipped", "possible": ["refund_payment"],
    });
    assert_eq!(json!(error.details), details);
    let refund = json!({ "order_id": 1, "amount": 2_000 });
    let refused = adapter.call("refund_payment", refund).await;
    assert_eq!(refused.error().unwrap().code, "VALIDATION_INVALID_VALUE");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_adapter_conforms() {
    // REQ-CLS-08
    let adapter = adapter::builder().without_config().build().unwrap();
    mcp_aql::testing::assert_conforms(&adapter).await;
}
