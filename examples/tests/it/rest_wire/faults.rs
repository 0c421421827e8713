//! Tests errors of the parcel service, slow responses, and callers that disconnect.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::upstream::{SECRET, Upstream, parcel};
use super::{CREATE, DELETE, READ, UPDATE};
use crate::support::mcp::Mcp;

async fn in_front_of(url: &str, patience: &str) -> Mcp {
    let arguments = ["--upstream", url, "--patience", patience];
    Mcp::start("rest", &arguments, &[("MCP_AQL_LOG", "info")]).await
}

fn id(parcel_id: &str) -> Value {
    json!({"parcel_id": parcel_id})
}

fn new(reference: &str) -> Value {
    let recipient = json!({"name": "Ada", "street": "Main Street 1", "city": "London"});
    json!({"reference": reference, "weight_g": 900, "recipient": recipient})
}

/// Asserts that the error reveals nothing of the service's messages or implementation.
fn assert_discreet(error: &Value) {
    let text = error.to_string();
    for leak in [SECRET, "srv", "IoError", "Ignore", "127.0.0.1", "Connect", "<html>"] {
        assert!(!text.contains(leak), "{leak}: {text}");
    }
    let message = error["message"].as_str().unwrap();
    assert!(!mcp_aql::testing::leaks_internals(message), "{message}");
}

#[tokio::test]
async fn every_status_has_its_code_without_the_text_of_the_service() {
    // REQ-ERR-04, REQ-ERR-07, REQ-ERR-08, REQ-MCP-10, REQ-MCP-11
    let (_upstream, url) = Upstream::start().await;
    let rest = in_front_of(&url, "60").await;
    let table = [
        (400, "VALIDATION_INVALID_TYPE"),
        (401, "PERMISSION_DENIED"),
        (402, "VALIDATION_INVALID_TYPE"),
        (403, "PERMISSION_DENIED"),
        (404, "NOT_FOUND_RESOURCE"),
        (405, "VALIDATION_INVALID_TYPE"),
        (409, "CONFLICT_ALREADY_EXISTS"),
        (410, "VALIDATION_INVALID_TYPE"),
        (412, "CONFLICT_VERSION_MISMATCH"),
        (418, "VALIDATION_INVALID_TYPE"),
        (422, "VALIDATION_INVALID_TYPE"),
        (429, "RATE_LIMIT_EXCEEDED"),
        (500, "INTERNAL_ERROR"),
        (501, "INTERNAL_ERROR"),
        (502, "INTERNAL_ERROR"),
        (503, "INTERNAL_ERROR"),
        (504, "INTERNAL_ERROR"),
        (599, "INTERNAL_ERROR"),
        (300, "INTERNAL_ERROR"),
    ];
    for (status, code) in table {
        let parcel_id = format!("p-{status}");
        let change = json!({"parcel_id": parcel_id, "input": {"note": null}, "if_match": "v7"});
        for (tool, operation, params) in [
            (READ, "get_parcel", id(&parcel_id)),
            (CREATE, "create_parcel", new(&parcel_id)),
            (UPDATE, "update_parcel", change),
            (DELETE, "delete_parcel", id(&parcel_id)),
        ] {
            let changes = matches!(operation, "update_parcel" | "delete_parcel");
            let code = if status == 409 && changes { "PERMISSION_DENIED" } else { code };
            let error = rest.error(tool, operation, params).await;
            assert_eq!(error["code"], code, "{operation}, {status}: {error}");
            assert_discreet(&error);
        }
    }
    let error = rest.error(READ, "get_parcel", id("p-429")).await;
    assert_eq!(error["details"]["retry_after_seconds"], 17);
    let log = rest.close().await;
    assert!(log.contains(SECRET), "the log has what the service said: {log}");
    for (status, _) in table {
        let line = format!("GET /api/parcels/p-{status}: status {status}");
        assert!(log.contains(&line), "{line}: {log}");
    }
}

#[tokio::test]
async fn rate_limits_of_the_service_are_respected() {
    // REQ-RATE-01, REQ-RATE-09
    let (upstream, url) = Upstream::start().await;
    let rest = in_front_of(&url, "60").await;
    let error = rest.error(READ, "get_position", id("p-429")).await;
    assert_eq!(error["code"], "RATE_LIMIT_EXCEEDED");
    assert_eq!(error["details"]["retry_after_seconds"], 17);
    assert_discreet(&error);
    assert_eq!(upstream.requests().len(), 1);
    let error = rest.error(READ, "get_position", id(parcel::FINE)).await;
    assert_eq!(error["code"], "RATE_LIMIT_EXCEEDED");
    let seconds = error["details"]["retry_after_seconds"].as_u64().unwrap();
    assert!((1..=17).contains(&seconds), "{error}");
    assert_eq!(upstream.requests().len(), 1, "nothing was sent");
    rest.data(READ, "get_parcel", id(parcel::FINE)).await;
    rest.close().await;
}

#[tokio::test]
async fn invalid_answers_are_errors_of_the_service() {
    // REQ-ERR-04, REQ-ERR-07
    let (upstream, url) = Upstream::start().await;
    let rest = in_front_of(&url, "60").await;
    for parcel_id in
        [parcel::NO_JSON, parcel::WRONG_JSON, parcel::ENDLESS, parcel::BREAKS_OFF, parcel::MOVED]
    {
        let error = rest.error(READ, "get_parcel", id(parcel_id)).await;
        assert_eq!(error["code"], "INTERNAL_ERROR", "{parcel_id}");
        assert_discreet(&error);
    }
    assert_eq!(upstream.requests().len(), 5, "a redirection is not followed");
    let fine = rest.data(READ, "get_parcel", id(parcel::FINE)).await;
    assert_eq!(fine["parcel"]["_etag"], "v7");
    assert!(!fine.to_string().contains(SECRET), "fields that nobody knows are not passed on");
    let log = rest.close().await;
    assert!(log.contains("the answer has more than 1048576 bytes"), "{log}");

    // No process listens on port 1.
    let rest = in_front_of("http://127.0.0.1:1/", "60").await;
    let error = rest.error(READ, "list_parcels", json!({})).await;
    assert_eq!(error["code"], "INTERNAL_ERROR");
    assert_discreet(&error);
    assert!(rest.close().await.contains("GET /parcels: the service cannot be reached"));
}

#[tokio::test]
async fn a_complaint_is_parsed_and_only_known_parts_are_forwarded() {
    // REQ-ERR-09
    let (_upstream, url) = Upstream::start().await;
    let rest = in_front_of(&url, "60").await;
    for (parcel_id, code, name) in [
        (parcel::TOO_HEAVY, "VALIDATION_INVALID_VALUE", Some("weight_g")),
        (parcel::NO_PHONE, "VALIDATION_MISSING_PARAM", Some("recipient.phone")),
        (parcel::ODD_COMPLAINT, "VALIDATION_INVALID_TYPE", None),
    ] {
        let error = rest.error(CREATE, "create_parcel", new(parcel_id)).await;
        assert_eq!(error["code"], code);
        assert_eq!(error["details"]["param_name"].as_str(), name);
        assert_discreet(&error);
        let change = json!({"parcel_id": parcel_id, "input": {"weight_g": 1}});
        let error = rest.error(UPDATE, "update_parcel", change).await;
        let name = name.map(|name| format!("input.{name}"));
        assert_eq!(error["details"]["param_name"].as_str(), name.as_deref());
    }
    rest.close().await;
}

#[tokio::test]
async fn an_update_goes_out_as_a_merge_patch() {
    // REQ-UPD-10, REQ-UPD-11
    let (upstream, url) = Upstream::start().await;
    let rest = in_front_of(&url, "60").await;
    let input = json!({"note": null, "recipient": {"city": "Paris", "phone": null}});
    let params = json!({"parcel_id": parcel::FINE, "input": input, "if_match": "v7"});
    rest.data(UPDATE, "update_parcel", params).await;
    let params = json!({"parcel_id": parcel::FINE, "input": {"weight_g": 5}});
    rest.data(UPDATE, "update_parcel", params).await;
    let requests = upstream.requests();
    assert_eq!((requests[0].method.as_str(), &*requests[0].path), ("PATCH", "/api/parcels/p-1"));
    assert_eq!(requests[0].headers["content-type"], "application/merge-patch+json");
    assert_eq!(requests[0].headers["if-match"], "\"v7\"");
    assert_eq!(serde_json::from_slice::<Value>(&requests[0].body).unwrap(), input);
    assert!(!requests[1].headers.contains_key("if-match"));
    rest.close().await;
}

#[tokio::test]
async fn a_slow_answer_times_out() {
    let (upstream, url) = Upstream::start().await;
    let rest = in_front_of(&url, "1").await;
    let started = Instant::now();
    let change = json!({"parcel_id": parcel::NEVER_ANSWERS, "input": {"note": null}});
    for (tool, operation, params) in
        [(READ, "get_parcel", id(parcel::NEVER_ANSWERS)), (UPDATE, "update_parcel", change)]
    {
        let error = rest.error(tool, operation, params).await;
        assert_eq!(error["code"], "INTERNAL_ERROR");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("within '1' seconds"), "{message}");
        assert_discreet(&error);
    }
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
    rest.data(READ, "get_parcel", id(parcel::FINE)).await;
    // Closing the connection aborts the request at the service.
    upstream.ended((1, 2)).await;
    rest.close().await;
}

#[tokio::test]
async fn a_cancelled_read_ends_its_request() {
    let (upstream, url) = Upstream::start().await;
    let rest = in_front_of(&url, "600").await;
    let handle = rest.begin(READ, "get_parcel", id(parcel::NEVER_ANSWERS)).await;
    upstream.reached().await;
    assert_eq!(upstream.ends(), (0, 0));
    handle.cancel(None).await.unwrap();
    upstream.ended((0, 1)).await;
    rest.data(READ, "get_parcel", id(parcel::FINE)).await;
    rest.close().await;
}

#[tokio::test]
async fn a_change_that_was_sent_runs_to_its_end() {
    let (upstream, url) = Upstream::start().await;
    let rest = in_front_of(&url, "60").await;
    let change = json!({"parcel_id": parcel::SLOW, "input": {"note": null}});
    let handle = rest.begin(UPDATE, "update_parcel", change).await;
    upstream.reached().await;
    handle.cancel(None).await.unwrap();
    upstream.ended((1, 0)).await;
    rest.close().await;
}
