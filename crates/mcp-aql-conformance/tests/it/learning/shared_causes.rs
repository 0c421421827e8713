//! Tests that findings of several checks about one deviation have one cause, so a report shows the deviation once.

use std::collections::BTreeSet;

use mcp_aql_conformance::report::CheckReport;
use mcp_aql_conformance::{Report, Runner, Settings, Verdict};
use serde_json::{Value, json};

use super::adapter::{Change, calls, change_body, target};
use super::{caused, change_details, change_list, check, found, ids, rename, run};

/// Returns the causes of all findings of these checks.
fn causes<'a>(report: &'a Report, ids: &BTreeSet<String>) -> BTreeSet<&'a str> {
    let checks = report.checks().filter(|check| ids.contains(&check.id));
    checks.flat_map(|check| &check.findings).map(|finding| finding.cause.as_str()).collect()
}

/// Runs one check without permissions.
async fn run_check(id: &str, change: Change) -> CheckReport {
    let report = Runner::new(target(change).0, Settings::default().check(id)).run().await;
    check(&report, id).clone()
}

#[tokio::test]
async fn names_under_another_member_are_one_cause() {
    // REQ-INT-03, REQ-INT-09, REQ-INT-13, REQ-INT-16, REQ-INT-18
    let (report, new) = caused(|request, response| {
        if calls(request, "introspect") {
            change_body(response, |body| body.get_mut("data").into_iter().for_each(rename));
        }
    })
    .await;
    let forms = ["details_form", "list_form", "parameter_form", "type_details_form", "types_form"];
    assert_eq!(new, ids(&forms.map(|form| format!("introspection.{form}"))));
    assert_eq!(causes(&report, &new).len(), 1);
    let fix = &check(&report, "introspection.list_form").findings[0].fix;
    assert!(fix.contains("`name` instead of `element_name`"), "{fix}");
}

#[tokio::test]
async fn a_missing_category_is_one_cause() {
    // REQ-INT-03, REQ-INT-09
    fn remove(members: &mut Value) {
        members.as_object_mut().and_then(|members| members.remove("semantic_category"));
    }
    let (report, new) = caused(|request, response| {
        change_details(request, response, remove);
        change_list(request, response, remove);
    })
    .await;
    assert_eq!(new, ids(&["introspection.details_form", "introspection.list_form"]));
    assert_eq!(causes(&report, &new).len(), 1);
}

#[tokio::test]
async fn two_deviations_of_one_value_are_two_causes_and_one_failed_case() {
    // REQ-INT-03
    let (report, _) = caused(|request, response| {
        change_list(request, response, |entry| {
            entry["version"] = json!(1);
            entry.as_object_mut().and_then(|entry| entry.remove("semantic_category"));
        });
    })
    .await;
    let check = check(&report, "introspection.list_form");
    assert_eq!((check.found, check.findings.len()), (3, 2), "{check:#?}");
}

#[tokio::test]
async fn metadata_of_every_result_is_one_cause() {
    // REQ-RSP-07, REQ-INT-28
    let (report, new) = caused(|_, response| {
        change_body(response, |body| body["_meta"] = json!({ "request_id": "r" }));
    })
    .await;
    let found = ["introspection.success_form", "shapes.failure"];
    assert!(new.is_superset(&ids(&found)), "{new:?}");
    assert_eq!(causes(&report, &ids(&found)).len(), 1);
}

#[tokio::test]
async fn the_flag_of_errors_is_one_cause_with_subjects() {
    // REQ-MCP-10, REQ-MCP-11
    let report = run(|_, response| {
        let mut is_unknown = false;
        change_body(response, |body| is_unknown = body["error"]["code"] == "NOT_FOUND_OPERATION");
        if is_unknown {
            response["result"]["isError"] = json!(true);
        }
    })
    .await;
    let findings = &check(&report, "wire.is_error").findings;
    assert_eq!(findings.len(), 1, "{findings:#?}");
    let subjects = findings[0].alike.iter().chain([&findings[0].subject]);
    assert!(
        findings[0].count > 1 && subjects.into_iter().all(|it| !it.is_empty()),
        "{findings:#?}"
    );
}

#[tokio::test]
async fn equal_messages_with_internals_are_shown_once() {
    // REQ-ERR-04
    let check = run_check("errors.no_internals", |_, response| {
        change_body(response, |body| {
            if body["success"] == false {
                let message = "zone.trim is not a function";
                body["error"] = json!({ "code": "INTERNAL_ERROR", "message": message });
            }
        });
    })
    .await;
    assert_eq!(check.findings[0].received.as_array().map(Vec::len), Some(1), "{check:#?}");
}

#[tokio::test]
async fn messages_of_errors_that_are_texts_do_not_pass_unread() {
    // REQ-CNF-09
    let report = run(|_, response| {
        change_body(response, |body| {
            if body["success"] == false {
                body["error"] = json!("TypeError: zone is undefined");
            }
        });
    })
    .await;
    let found = found(&report);
    assert!(found.contains("errors.form"), "{found:?}");
    let check = check(&report, "errors.official_patterns");
    assert_eq!((check.passed, check.verdict), (0, Verdict::Blocked), "{check:#?}");
}

#[tokio::test]
async fn summaries_of_another_form_are_not_reported_as_wrong_numbers() {
    // REQ-AGG-01, REQ-AGG-04
    let check = run_check("aggregates.count", |request, response| {
        change_details(request, response, |details| {
            if details["name"] == "list_beds" {
                let parameter = json!({ "name": "aggregate", "type": "object", "required": false });
                details["parameters"]
                    .as_array_mut()
                    .into_iter()
                    .for_each(|it| it.push(parameter.clone()));
            }
        });
        if calls(request, "list_beds")
            && !request["params"]["arguments"]["params"]["aggregate"].is_null()
        {
            change_body(response, |body| {
                *body = json!({ "success": true, "data": { "items": [{ "bed_id": "north 1" }] } });
            });
        }
    })
    .await;
    assert_eq!(check.verdict, Verdict::Warn, "{check:#?}");
    let finding = &check.findings[0];
    assert!(finding.expected.contains("`data.aggregations`"), "{finding:#?}");
    assert!(finding.fix.contains("labels"), "{finding:#?}");
}

#[tokio::test]
async fn gates_are_unknown_without_the_protocol() {
    // REQ-INT-07, REQ-DNG-04
    let check = run_check("danger.stated", |request, response| {
        if calls(request, "introspect") {
            change_body(response, |body| {
                let data = body.get_mut("data").and_then(Value::as_object_mut);
                data.and_then(|data| data.remove("_protocol"));
            });
        }
    })
    .await;
    assert_eq!(check.verdict, Verdict::Blocked, "{check:#?}");
    assert_eq!(check.blocked_by[0].check, "introspection.protocol_form");
}

#[tokio::test]
async fn calls_that_need_no_operation_are_judged_without_a_list() {
    // REQ-RQ-01, REQ-ERR-10, REQ-MCP-12
    let refuse: Change = |request, response| {
        if calls(request, "introspect") {
            change_body(response, |body| {
                *body = json!({ "success": false, "error": {
                    "code": "VALIDATION_UNKNOWN_PARAM", "message": "unknown parameter: query",
                } });
            });
        }
    };
    for id in [
        "robustness.invalid_lines",
        "robustness.request_ids",
        "robustness.unknown_method",
        "routing.missing_operation",
        "routing.operation_not_string",
        "routing.unknown_operation",
    ] {
        let check = run_check(id, refuse).await;
        assert_eq!((check.verdict, check.found), (Verdict::Pass, 0), "{check:#?}");
    }
}

#[tokio::test]
async fn labels_that_name_a_tool_as_well_are_labels() {
    // REQ-MCP-02
    fn change_labels(request: &Value, response: &mut Value, label: &str) {
        if request["method"] == "tools/list" {
            for tool in response["result"]["tools"].as_array_mut().into_iter().flatten() {
                let text = tool["description"].as_str().unwrap_or_default();
                tool["description"] = text.replace("Discover required parameters:", label).into();
            }
        }
    }
    let with_tool = run_check("tools.description_labels", |request, response| {
        change_labels(request, response, "Discover required parameters with mcp_aql_read:");
    });
    assert_eq!(with_tool.await.verdict, Verdict::Pass);
    let without = run_check("tools.description_labels", |request, response| {
        change_labels(request, response, "Parameters:");
    });
    assert_eq!(without.await.verdict, Verdict::Warn);
}
