//! Tests that one cause is one finding: checks that would only find it again are blocked.

use mcp_aql_conformance::Verdict;
use serde_json::json;

use super::adapter::{Change, calls, change_body};
use super::{caused, check, ids};

/// Turns failures with this code into successes of `list_beds`.
fn accept(response: &mut serde_json::Value, code: &str) {
    change_body(response, |body| {
        if body["error"]["code"] == code && body["error"]["details"]["param_name"] != "params" {
            *body = json!({ "success": true, "data": { "items": [{ "bed_id": "north 1" }] } });
        }
    });
}

#[tokio::test]
async fn a_missing_protocol_is_one_finding() {
    // REQ-INT-04, REQ-INT-06, REQ-ENC-14, REQ-CON-01
    let (report, new) = caused(|request, response| {
        if calls(request, "introspect") {
            change_body(response, |body| {
                let data = body.get_mut("data").and_then(serde_json::Value::as_object_mut);
                data.and_then(|data| data.remove("_protocol"));
            });
        }
    })
    .await;
    assert_eq!(new, ids(&["introspection.protocol_form"]));
    for id in [
        "introspection.concurrency_stated",
        "introspection.limits_stated",
        "introspection.protocol_stated",
        "introspection.protocol_values",
    ] {
        let check = check(&report, id);
        assert_eq!(check.verdict, Verdict::Blocked, "{check:#?}");
        assert_eq!(check.blocked_by[0].check, "introspection.protocol_form");
    }
}

#[tokio::test]
async fn ignored_unknown_names_are_not_found_name_by_name() {
    // REQ-UNK-01, REQ-UNK-04, REQ-INT-21
    let (report, new) = caused(|request, response| {
        if calls(request, "list_beds") {
            accept(response, "VALIDATION_UNKNOWN_PARAM");
        }
    })
    .await;
    let found = ["parameters.unknown_nested", "parameters.unknown_top_level"];
    assert_eq!(new, ids(&found));
    let check = check(&report, "parameters.undocumented");
    assert_eq!(check.blocked_by[0].check, "parameters.unknown_nested", "{check:#?}");
}

#[tokio::test]
async fn accepted_wrong_types_do_not_show_places_or_orders() {
    // REQ-RQ-03, REQ-RQ-07
    let (report, new) = caused(|request, response| {
        if calls(request, "list_beds") {
            accept(response, "VALIDATION_INVALID_TYPE");
        }
    })
    .await;
    assert_eq!(new, ids(&["parameters.wrong_type"]));
    for id in ["parameters.nested_wins", "parameters.order", "parameters.top_level"] {
        let check = check(&report, id);
        assert_eq!(check.blocked_by[0].check, "parameters.wrong_type", "{check:#?}");
    }
}

#[tokio::test]
async fn failures_that_are_reported_as_successes_are_one_finding() {
    // REQ-RSP-03
    let report_as_success: Change = |request, response| {
        if calls(request, "list_beds") {
            change_body(response, |body| {
                if body["success"] == false {
                    let error = &body["error"];
                    let data = json!({ "error": error["message"], "code": error["code"] });
                    *body = json!({ "success": true, "data": data });
                }
            });
        }
    };
    let (report, new) = caused(report_as_success).await;
    assert_eq!(new, ids(&["shapes.failure"]));
    for id in ["parameters.enum", "parameters.unknown_nested", "shapes.collection_items"] {
        let check = check(&report, id);
        assert_eq!(check.blocked_by[0].check, "shapes.failure", "{check:#?}");
    }
}
