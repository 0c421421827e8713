//! Tests the operations with the parcel service that the example starts itself.

use serde_json::{Value, json};

use super::{CREATE, DELETE, READ, UPDATE};
use crate::support::mcp::Mcp;

async fn rest() -> Mcp {
    Mcp::start("rest", &[], &[]).await
}

fn parcel(reference: &str, weight_g: u32) -> Value {
    json!({
        "reference": reference, "weight_g": weight_g,
        "recipient": {"name": "Ada", "street": "Main Street 1", "city": "London"},
    })
}

#[tokio::test]
async fn tools_are_those_of_every_adapter() {
    // REQ-EPT-05, REQ-EPT-12
    let rest = rest().await;
    let tools: Vec<_> = rest.tools().await.into_iter().map(|tool| tool.name).collect();
    assert_eq!(tools, [CREATE, READ, UPDATE, DELETE, "mcp_aql_execute"]);
    let data = rest.data(READ, "introspect", json!({"query": "operations"})).await;
    let operations: Vec<_> =
        data["operations"].as_array().unwrap().iter().skip(1).map(|it| &it["name"]).collect();
    assert_eq!(
        operations,
        [
            "create_parcel",
            "list_parcels",
            "get_parcel",
            "get_position",
            "update_parcel",
            "delete_parcel"
        ]
    );
    rest.close().await;
}

#[tokio::test]
async fn the_wrong_endpoint_is_refused() {
    // REQ-EPT-03, REQ-EPT-04
    let rest = rest().await;
    for (tool, operation, params) in [
        (READ, "create_parcel", parcel("order-20", 900)),
        (CREATE, "list_parcels", json!({})),
        (UPDATE, "get_parcel", json!({"parcel_id": "p-4"})),
        (DELETE, "get_position", json!({"parcel_id": "p-4"})),
        (READ, "update_parcel", json!({"parcel_id": "p-4", "input": {"note": null}})),
        (UPDATE, "delete_parcel", json!({"parcel_id": "p-4"})),
    ] {
        let error = rest.error(tool, operation, params).await;
        assert_eq!(error["code"], "VALIDATION_ENDPOINT_MISMATCH", "{operation}");
    }
    let parcels = rest.data(READ, "list_parcels", json!({})).await;
    assert_eq!(parcels["items"].as_array().unwrap().len(), 4, "nothing has run");
    rest.close().await;
}

#[tokio::test]
async fn a_parcel_is_handed_in_changed_and_withdrawn() {
    // REQ-UPD-08, REQ-UPD-10, REQ-UPD-11, REQ-CON-02, REQ-CON-03
    let rest = rest().await;
    let created = rest.data(CREATE, "create_parcel", parcel("order-20", 900)).await;
    let id = &created["parcel"]["parcel_id"];
    assert_eq!((id, &created["parcel"]["_etag"]), (&json!("p-5"), &json!("1")));
    assert_eq!(rest.data(READ, "get_parcel", json!({"parcel_id": id})).await, created);

    let input =
        json!({"recipient": {"street": "Side Street 2", "phone": "+44 20"}, "note": "bell"});
    let params = json!({"parcel_id": id, "input": input, "if_match": "1"});
    let changed = rest.data(UPDATE, "update_parcel", params.clone()).await["parcel"].take();
    let recipient = json!({
        "name": "Ada", "street": "Side Street 2", "city": "London", "phone": "+44 20",
    });
    assert_eq!((&changed["recipient"], &changed["note"]), (&recipient, &json!("bell")));
    assert_eq!(changed["_etag"], "2");

    let error = rest.error(UPDATE, "update_parcel", params).await;
    assert_eq!(error["code"], "CONFLICT_VERSION_MISMATCH");
    assert_eq!(error["details"]["expected_version"], "1");
    assert_eq!(error["details"]["actual_version"], "2");

    let params = json!({"parcel_id": id, "input": {"note": null, "recipient": {"phone": null}}});
    let changed = rest.data(UPDATE, "update_parcel", params).await["parcel"].take();
    assert!(changed.get("note").is_none() && changed["recipient"].get("phone").is_none());
    assert_eq!(changed["recipient"]["street"], "Side Street 2");

    let deleted = rest.data(DELETE, "delete_parcel", json!({"parcel_id": id})).await;
    assert_eq!(deleted["deleted"]["parcel_id"], *id);
    let error = rest.error(READ, "get_parcel", json!({"parcel_id": id})).await;
    assert_eq!(error["message"], "Resource 'parcel' not found: 'p-5'");
    let parcels = rest.data(READ, "list_parcels", json!({})).await;
    assert_eq!(parcels["items"].as_array().unwrap().len(), 4);
    rest.close().await;
}

#[tokio::test]
async fn refusals_of_the_service_have_messages_of_the_protocol() {
    // REQ-ERR-02, REQ-ERR-08, REQ-ERR-09
    let rest = rest().await;
    let change = |input: Value| json!({"parcel_id": "p-4", "input": input});
    for (tool, operation, params, code, says) in [
        (CREATE, "create_parcel", parcel("order-11", 900), "CONFLICT_ALREADY_EXISTS", "'order-11'"),
        (CREATE, "create_parcel", parcel("o-1", 30_001), "VALIDATION_INVALID_VALUE", "'weight_g'"),
        (
            CREATE,
            "create_parcel",
            parcel("o-1", 20_001),
            "VALIDATION_MISSING_PARAM",
            "'recipient.phone'",
        ),
        (
            UPDATE,
            "update_parcel",
            change(json!({"weight_g": 30_001})),
            "VALIDATION_INVALID_VALUE",
            "'input.weight_g'",
        ),
        (
            UPDATE,
            "update_parcel",
            json!({"parcel_id": "p-1", "input": {"note": null}}),
            "PERMISSION_DENIED",
            "no longer waiting",
        ),
        (
            DELETE,
            "delete_parcel",
            json!({"parcel_id": "p-1"}),
            "PERMISSION_DENIED",
            "no longer waiting",
        ),
        (READ, "get_position", json!({"parcel_id": "p-9"}), "NOT_FOUND_RESOURCE", "'p-9'"),
        (READ, "get_position", json!({"parcel_id": "p-3"}), "INTERNAL_ERROR", "HTTP status 500"),
    ] {
        let error = rest.error(tool, operation, params).await;
        assert_eq!(error["code"], code, "{operation}: {error}");
        assert!(error["message"].as_str().unwrap().contains(says), "{says}: {error}");
    }
    for _ in 0..3 {
        let data = rest.data(READ, "get_position", json!({"parcel_id": "p-1"})).await;
        assert_eq!(data["position"], json!({"place": "Dover", "km_to_go": 125}));
    }
    let error = rest.error(READ, "get_position", json!({"parcel_id": "p-1"})).await;
    assert_eq!(error["code"], "RATE_LIMIT_EXCEEDED");
    let seconds = error["details"]["retry_after_seconds"].as_u64().unwrap();
    assert!((1..=60).contains(&seconds), "{error}");
    rest.close().await;
}

#[tokio::test]
async fn invalid_values_are_rejected_before_a_request_is_sent() {
    let rest = rest().await;
    for id in ["p-1/position", "../p-1", "p-", "P-1", "p-1\r\nx: y"] {
        let error = rest.error(READ, "get_parcel", json!({"parcel_id": id})).await;
        assert_eq!(error["code"], "VALIDATION_INVALID_VALUE", "{id}");
    }
    for version in ["1\r\nx: y", "a\"b", "a b", "ä"] {
        let params = json!({"parcel_id": "p-4", "input": {"note": null}, "if_match": version});
        let error = rest.error(UPDATE, "update_parcel", params).await;
        assert_eq!(error["details"]["param_name"], "if_match", "{version}: {error}");
    }
    rest.close().await;
}
