//! Tests how the runner learns adapters with unusual introspection.
//!
//! Deviations in form are read leniently and reported once. Unreadable parts block the checks that depend on them.

mod adapter;
mod causes;
mod schema_rejections;
mod shared_causes;

use std::collections::BTreeSet;

use adapter::{Change, calls, change_body, target};
use mcp_aql_conformance::report::CheckReport;
use mcp_aql_conformance::{Report, Runner, Settings, Verdict};
use serde_json::{Value, json};

/// Runs the checks without permissions.
async fn run(change: Change) -> Report {
    Runner::new(target(change).0, settings()).run().await
}

/// Returns settings for the checks of level 1.
///
/// The adapter rejects no request for its size or depth. Level 2 would wait for such rejections.
fn settings() -> Settings {
    Settings::default().level(1)
}

fn faultless(_: &Value, _: &mut Value) {}

fn check<'a>(report: &'a Report, id: &str) -> &'a CheckReport {
    report.checks().find(|check| check.id == id).unwrap_or_else(|| panic!("no check {id}"))
}

fn found(report: &Report) -> BTreeSet<&str> {
    let is_found = |check: &&CheckReport| matches!(check.verdict, Verdict::Fail | Verdict::Warn);
    report.checks().filter(is_found).map(|check| check.id.as_str()).collect()
}

fn blocked(report: &Report) -> BTreeSet<&str> {
    let blocked = report.checks().filter(|check| check.verdict == Verdict::Blocked);
    blocked.map(|check| check.id.as_str()).collect()
}

/// Returns the report, and the checks with findings because of this change.
///
/// Checks that the unchanged adapter fails as well are left out.
async fn caused(change: Change) -> (Report, BTreeSet<String>) {
    let usual = run(faultless).await;
    let report = run(change).await;
    let new = found(&report).difference(&found(&usual)).map(|id| (*id).to_owned()).collect();
    (report, new)
}

fn ids(ids: &[impl ToString]) -> BTreeSet<String> {
    ids.iter().map(ToString::to_string).collect()
}

/// Changes the replies of `introspect` with details of an operation.
fn change_details(request: &Value, response: &mut Value, change: impl Fn(&mut Value)) {
    if calls(request, "introspect") {
        change_body(response, |body| {
            if let Some(details) = body.pointer_mut("/data/operation").filter(|it| it.is_object()) {
                change(details);
            }
        });
    }
}

/// Changes the entries of the list of operations in replies of `introspect`.
fn change_list(request: &Value, response: &mut Value, change: impl Fn(&mut Value)) {
    if calls(request, "introspect") {
        change_body(response, |body| {
            let list = body.pointer_mut("/data/operations").and_then(Value::as_array_mut);
            list.into_iter().flatten().for_each(change);
        });
    }
}

/// Renames the member `name` in all objects, like an adapter with its own vocabulary.
fn rename(value: &mut Value) {
    match value {
        Value::Object(members) => {
            if let Some(name) = members.remove("name") {
                members.insert("element_name".to_owned(), name);
            }
            members.values_mut().for_each(rename);
        }
        Value::Array(items) => items.iter_mut().for_each(rename),
        _ => {}
    }
}

#[tokio::test]
async fn the_scripted_adapter_has_no_failure_and_nothing_is_blocked() {
    let report = run(faultless).await;
    // The adapter has no limits, and its failures have few details.
    let is_left_out = |id: &str| id.starts_with("limits.") || id == "errors.details";
    let is_failed =
        |check: &&CheckReport| check.verdict == Verdict::Fail && !is_left_out(&check.id);
    let failed = report.checks().filter(is_failed);
    let failed: Vec<_> = failed.map(|check| (&check.id, &check.findings[0])).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert_eq!(blocked(&report), BTreeSet::new());
}

#[tokio::test]
async fn names_under_another_member_are_read() {
    // REQ-INT-03, REQ-INT-09, REQ-INT-13
    let (report, new) = caused(|request, response| {
        if calls(request, "introspect") {
            change_body(response, |body| {
                body.get_mut("data").into_iter().for_each(rename);
                let list = body.pointer_mut("/data/operations").and_then(Value::as_array_mut);
                for entry in list.into_iter().flatten().filter_map(Value::as_object_mut) {
                    entry.remove("semantic_category");
                    let family = entry["endpoint"].as_str().map(str::to_uppercase);
                    entry.insert("endpoint".to_owned(), family.into());
                }
            });
        }
    })
    .await;
    let forms = [
        "introspection.details_form",
        "introspection.list_agrees_with_details",
        "introspection.list_form",
        "introspection.parameter_form",
        "introspection.type_details_form",
        "introspection.types_form",
    ];
    assert_eq!(new, ids(&forms));
    assert_eq!(blocked(&report), BTreeSet::new());
    let usual = run(faultless).await;
    for id in ["parameters.enum", "parameters.unknown_nested", "updates.input_required"] {
        let (now, before) = (report.checks(), usual.checks());
        let verdict = |mut checks: Box<dyn Iterator<Item = &CheckReport>>| {
            checks.find(|check| check.id == id).map(|check| (check.verdict, check.passed))
        };
        assert_eq!(verdict(Box::new(now)), verdict(Box::new(before)), "{id}");
    }
}

#[tokio::test]
async fn a_missing_tool_follows_from_the_endpoint() {
    // REQ-INT-09, REQ-INT-11
    let without_tool: Change = |request, response| {
        change_details(request, response, |details| {
            details.as_object_mut().and_then(|details| details.remove("mcpTool"));
        });
    };
    let (report, new) = caused(without_tool).await;
    assert_eq!(new, ids(&["introspection.details_form"]));
    assert_eq!(check(&report, "parameters.enum").verdict, Verdict::Pass);
    let (target, called) = target(without_tool);
    Runner::new(target, settings().allow_all()).run().await;
    let called = called.lock().expect("the run is over");
    assert!(called.len() > 50 && !called.iter().any(String::is_empty), "{called:?}");
}

#[tokio::test]
async fn a_tool_that_does_not_follow_blocks_calls_and_is_never_empty() {
    // REQ-INT-09
    let without_tool: Change = |request, response| {
        let change = |members: &mut Value| {
            for member in ["mcpTool", "endpoint", "semantic_category"] {
                members.as_object_mut().and_then(|members| members.remove(member));
            }
        };
        change_details(request, response, change);
        change_list(request, response, change);
    };
    let (target, called) = target(without_tool);
    let report = Runner::new(target, settings().allow_all()).run().await;
    let called = called.lock().expect("the run is over");
    assert!(!called.iter().any(String::is_empty), "{called:?}");
    let check = check(&report, "parameters.enum");
    assert_eq!(check.verdict, Verdict::Blocked, "{check:#?}");
    assert_eq!(check.blocked_by[0].check, "introspection.details_form");
}

#[tokio::test]
async fn unread_details_block_what_depends_on_them() {
    // REQ-INT-09
    let (report, new) = caused(|request, response| {
        change_details(request, response, |details| *details = Value::Null);
    })
    .await;
    // `introspect` has no details either.
    assert_eq!(new, ids(&["introspection.details_form", "introspection.introspect_itself"]));
    let root = check(&report, "introspection.details_form");
    let blocked = blocked(&report);
    assert!(root.blocks > 40 && root.blocks <= blocked.len(), "{} {}", root.blocks, blocked.len());
    for id in ["parameters.enum", "updates.merge", "pagination.first", "danger.confirmed"] {
        let is_there = report.checks().any(|check| check.id == id);
        assert!(
            !is_there || blocked.contains(id),
            "{id} is not blocked: {:#?}",
            check(&report, id)
        );
    }
    // The reports must not ask for a permission: the adapter has no EXECUTE operation.
    for check in report.checks() {
        let said = check.skipped.keys().chain(&check.not_applicable);
        for said in said.map(String::as_str) {
            assert!(!said.contains("--allow execute"), "{}: {said}", check.id);
            assert!(!said.contains("no UPDATE operation"), "{}: {said}", check.id);
        }
    }
    let named = |obstacle: &&String| obstacle.contains("introspection.details_form");
    assert_eq!(report.obstacles.iter().filter(named).count(), 1, "{:#?}", report.obstacles);
}

#[tokio::test]
async fn an_error_that_is_a_text_is_one_finding() {
    // REQ-RSP-04, REQ-ERR-01
    let (report, new) = caused(|_, response| {
        change_body(response, |body| {
            if body["success"] == false {
                body["error"] = body["error"]["message"].take();
            }
        });
    })
    .await;
    assert_eq!(new, ids(&["errors.form"]));
    for id in [
        "parameters.enum",
        "parameters.unknown_nested",
        "parameters.wrong_type",
        "routing.wrong_endpoint",
    ] {
        assert_eq!(check(&report, id).verdict, Verdict::Pass, "{id}: {:#?}", check(&report, id));
    }
    // These checks expect a certain code, or any code at all.
    for id in ["errors.registry", "introspection.bad_query", "routing.unknown_operation"] {
        assert_eq!(check(&report, id).verdict, Verdict::Blocked, "{id}: {:#?}", check(&report, id));
    }
    let causes: BTreeSet<_> =
        report.checks().flat_map(|check| &check.blocked_by).map(|by| by.check.as_str()).collect();
    assert_eq!(causes, BTreeSet::from(["errors.form"]));
}

#[tokio::test]
async fn failures_in_plain_text_and_as_json_rpc_errors_are_failures() {
    // REQ-MCP-09, REQ-MCP-12
    let plain: Change = |_, response| {
        let mut message = None;
        change_body(response, |body| {
            if body["success"] == false {
                message = body["error"]["message"].as_str().map(str::to_owned);
            }
        });
        if let Some(text) = message {
            let content = json!([{ "type": "text", "text": text }]);
            response["result"] = json!({ "content": content, "isError": true });
        }
    };
    let protocol: Change = |_, response| {
        let mut message = Value::Null;
        change_body(response, |body| {
            if body["success"] == false {
                message = body["error"]["message"].clone();
            }
        });
        if message.is_string() {
            response["error"] = json!({ "code": -32602, "message": message });
            response.as_object_mut().and_then(|response| response.remove("result"));
        }
    };
    for (change, by) in [(plain, "wire.one_text_item"), (protocol, "wire.protocol_errors")] {
        let (report, new) = caused(change).await;
        assert_eq!(new, ids(&[by]));
        for id in ["parameters.enum", "parameters.unknown_nested"] {
            assert_eq!(
                check(&report, id).verdict,
                Verdict::Pass,
                "{id}: {:#?}",
                check(&report, id)
            );
        }
        let check = check(&report, "routing.unknown_operation");
        assert_eq!(check.verdict, Verdict::Blocked, "{check:#?}");
        assert_eq!(check.blocked_by[0].check, by);
    }
}

#[tokio::test]
async fn a_failure_with_details_differs_in_them() {
    // REQ-INT-28
    let (report, _) = caused(|request, response| {
        if request["params"]["arguments"]["params"]["query"] == "conformance_probe_of_nothing" {
            change_body(response, |body| body["error"]["details"] = json!({ "query": "types" }));
        }
    })
    .await;
    let finding = &check(&report, "introspection.bad_query").findings[0];
    let paths: Vec<_> = finding.differences.iter().map(|it| it.path.as_str()).collect();
    assert_eq!(paths, ["/error/details"], "{finding:#?}");
}

#[tokio::test]
async fn introspection_of_another_form_blocks_all_but_the_wire_and_the_tools() {
    // REQ-INT-01, REQ-INT-02
    let (report, new) = caused(|request, response| {
        if calls(request, "introspect") {
            change_body(response, |body| {
                *body = json!({ "success": false, "error": {
                    "code": "VALIDATION_UNKNOWN_PARAM", "message": "unknown parameter: query",
                } });
            });
        }
    })
    .await;
    assert_eq!(new, ids(&["introspection.list_form"]));
    assert_eq!((report.exit_code(), report.conformance_level), (1, 0));
    assert_eq!(check(&report, "introspection.list_form").found, 1);
    for id in ["wire.one_text_item", "wire.stays_open", "tools.input_schema", "tools.endpoint"] {
        assert_eq!(check(&report, id).verdict, Verdict::Pass, "{id}");
    }
    let usual = run(faultless).await;
    let usual = found(&usual);
    for check in report.checks().filter(|check| !usual.contains(check.id.as_str())) {
        let is_own = ["wire.", "tools."].iter().any(|area| check.id.starts_with(area));
        let is_every = check.passed > 0 && check.found == 0;
        assert!(
            is_own
                || is_every
                || check.id == "introspection.list_form"
                || check.verdict == Verdict::Blocked,
            "{check:#?}"
        );
    }
}

#[tokio::test]
async fn a_plain_server_is_one_finding() {
    // REQ-EPT-01, REQ-MCP-12
    let renamed: Change = |request, response| {
        if request["method"] == "tools/list" {
            for tool in response["result"]["tools"].as_array_mut().into_iter().flatten() {
                tool["name"] =
                    json!(tool["name"].as_str().map(|name| name.replace("mcp_aql", "garden")));
            }
        }
    };
    let without_tools: Change = |request, response| {
        if request["method"] == "tools/list" {
            response["error"] = json!({ "code": -32601, "message": "unknown method" });
            response.as_object_mut().and_then(|response| response.remove("result"));
        }
    };
    for (change, told) in [(renamed, "`garden_create`"), (without_tools, "-32601")] {
        let (target, called) = target(change);
        let report = Runner::new(target, settings()).run().await;
        assert_eq!(found(&report), BTreeSet::from(["tools.endpoint"]));
        assert_eq!((report.exit_code(), report.conformance_level), (1, 0));
        assert!(report.is_reached() && report.modes.is_empty());
        let root = check(&report, "tools.endpoint");
        assert!(root.findings[0].expected.contains(told), "{root:#?}");
        assert_eq!(root.blocks, report.summary.blocked);
        let summary = report.summary;
        assert_eq!((summary.passed, summary.failed, summary.warnings), (4, 1, 0), "{summary:?}");
        assert_eq!((summary.skipped, summary.not_applicable), (0, 0), "{summary:?}");
        assert_eq!(report.obstacles.len(), 1, "{:#?}", report.obstacles);
        assert!(called.lock().expect("the run is over").is_empty(), "no tool is called");
        for shown in [report.text(false), report.html(), report.junit()] {
            assert!(
                shown.contains("tools.endpoint")
                    && (shown.contains("locked by") || shown.contains("blocks ")),
                "{shown}"
            );
        }
    }
}

#[tokio::test]
async fn unlisted_tools_are_reported() {
    // REQ-MCP-20
    let error: Change = |request, response| {
        if request["method"] == "tools/list" {
            if request["params"].get("cursor").is_none() {
                response["result"]["nextCursor"] = json!("2");
            } else {
                response.as_object_mut().and_then(|response| response.remove("result"));
                response["error"] = json!({ "code": -32000, "message": "no page" });
            }
        }
    };
    let endless: Change = |request, response| {
        if request["method"] == "tools/list" {
            response["result"]["nextCursor"] = json!("more");
            if request["params"].get("cursor").is_some() {
                response["result"]["tools"] = json!([]);
            }
        }
    };
    for (change, why) in [
        (error, "further tools: `tools/list` returned the JSON-RPC error -32000: no page"),
        (endless, "further tools: `tools/list` has more than 100 pages"),
    ] {
        let report = Runner::new(target(change).0, settings().category("routing")).run().await;
        assert_eq!(report.outside_run, [why]);
        assert!(report.text(false).contains(why));
    }
    let report = Runner::new(target(faultless).0, settings().category("routing")).run().await;
    assert!(report.outside_run.is_empty(), "{:?}", report.outside_run);
}
