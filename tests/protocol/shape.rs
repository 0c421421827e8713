//! Checks the form of replies, member by member. All tests use it for every reply.
//!
//! REQ-RSP-01 to REQ-RSP-07, REQ-RSP-09, REQ-WRN-01, REQ-WRN-02, REQ-BAT-03 to REQ-BAT-06

use mcp_aql::ErrorCode;
use mcp_aql::transport::Reply;
use serde_json::{Map, Value};

/// Parses a reply. Panics if it does not conform to the protocol.
pub(crate) fn checked(asked: &Value, reply: &Reply) -> Value {
    let value: Value = match serde_json::from_str(&reply.text) {
        Ok(value) => value,
        Err(error) => panic!("{asked}: the reply is no JSON: {error}: {}", reply.text),
    };
    let faults = faults(&value);
    assert!(faults.is_empty(), "{asked}: {faults:?} in {value}");
    let code = value["error"]["code"].as_str();
    assert_eq!(reply.code.map(ErrorCode::as_str), code, "{asked}");
    assert_eq!(reply.is_error(), code == Some("INTERNAL_ERROR"), "{asked}");
    value
}

/// Returns all violations in a reply.
///
/// If you add a member to replies, allow it in the function for its object below.
///
/// ```json
/// { "success": false, "error": { "code": "NOT_FOUND_RESOURCE" } }
/// ```
///
/// This reply has one violation: its error has no message.
pub(crate) fn faults(reply: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    result(reply, &mut faults, false);
    faults
}

fn result(reply: &Value, faults: &mut Vec<String>, in_batch: bool) {
    let Some(members) = reply.as_object() else {
        return faults.push("a result is an object".to_owned());
    };
    match members.get("success") {
        Some(Value::Bool(true)) => success(members, faults, in_batch),
        Some(Value::Bool(false)) => failure(members, faults),
        other => faults.push(format!("success is {other:?}")),
    }
}

fn success(members: &Map<String, Value>, faults: &mut Vec<String>, in_batch: bool) {
    if !members.contains_key("data") {
        faults.push("a success has data".to_owned());
    }
    // `_meta` would also be allowed, but the runtime does not use it.
    let allowed: &[&str] = if in_batch {
        &["success", "data"]
    } else {
        &["success", "data", "warnings", "results", "summary", "halted_at", "pending_operations"]
    };
    only(members, allowed, "a success", faults);
    if let Some(warnings) = members.get("warnings") {
        check_warnings(warnings, faults);
    }
    if members.contains_key("results") != members.contains_key("summary") {
        faults.push("results and summary go together".to_owned());
    }
    if let Some(results) = members.get("results") {
        batch(members, results, faults);
    }
}

fn failure(members: &Map<String, Value>, faults: &mut Vec<String>) {
    // `confirmation` and the deprecation members would also be allowed, but the runtime does not use them.
    only(members, &["success", "error"], "a failure", faults);
    let Some(error) = members.get("error").and_then(Value::as_object) else {
        return faults.push("a failure has an error".to_owned());
    };
    only(error, &["code", "message", "details"], "an error", faults);
    match error.get("code").and_then(Value::as_str) {
        Some(code) if ErrorCode::ALL.iter().any(|known| known.as_str() == code) => {}
        other => faults.push(format!("code {other:?} is not in the registry")),
    }
    if error.get("message").and_then(Value::as_str).is_none_or(str::is_empty) {
        faults.push("an error has a message".to_owned());
    }
    if error.get("details").is_some_and(|details| !details.is_object()) {
        faults.push("details is an object".to_owned());
    }
}

fn check_warnings(warnings: &Value, faults: &mut Vec<String>) {
    let Some(warnings) = warnings.as_array().filter(|list| (1..=10).contains(&list.len())) else {
        return faults.push("warnings is a list of one to ten".to_owned());
    };
    for warning in warnings {
        let Some(members) = warning.as_object() else {
            faults.push("a warning is an object".to_owned());
            continue;
        };
        only(members, &["code", "message", "details", "severity"], "a warning", faults);
        let code = members.get("code").and_then(Value::as_str).unwrap_or_default();
        let upper = |each: char| each.is_ascii_uppercase() || each.is_ascii_digit() || each == '_';
        if !code.starts_with(|first: char| first.is_ascii_uppercase()) || !code.chars().all(upper) {
            faults.push(format!("warning code {code:?}"));
        }
        if !members.get("message").is_some_and(Value::is_string) {
            faults.push("a warning has a message".to_owned());
        }
        if members.get("details").is_some_and(|details| !details.is_object()) {
            faults.push("a warning's details are an object".to_owned());
        }
        match members.get("severity").map(Value::as_str) {
            None | Some(Some("low" | "medium" | "high")) => {}
            other => faults.push(format!("severity {other:?}")),
        }
    }
}

fn batch(members: &Map<String, Value>, results: &Value, faults: &mut Vec<String>) {
    if members.get("data") != Some(&Value::Null) {
        faults.push("the data of a batch is null".to_owned());
    }
    let halted = members.get("halted_at");
    let Some(results) =
        results.as_array().filter(|results| halted.is_some() || !results.is_empty())
    else {
        return faults.push("results is a list".to_owned());
    };
    let mut succeeded = 0;
    for (index, item) in results.iter().enumerate() {
        let Some(item) = item.as_object() else {
            faults.push("an item is an object".to_owned());
            continue;
        };
        only(item, &["index", "operation", "result"], "an item", faults);
        if item.get("index").and_then(Value::as_u64) != Some(index as u64) {
            faults.push(format!("item {index} has index {:?}", item.get("index")));
        }
        if !item.get("operation").is_some_and(Value::is_string) {
            faults.push("an item names its operation".to_owned());
        }
        match item.get("result") {
            Some(of_item) => {
                result(of_item, faults, true);
                succeeded += usize::from(of_item["success"] == true);
            }
            None => faults.push("an item has a result".to_owned()),
        }
    }
    let total = results.len();
    let mut summary = serde_json::json!({
        "total": total, "succeeded": succeeded, "failed": total - succeeded,
    });
    if let Some(halted) = halted {
        let pending = members.get("pending_operations").and_then(Value::as_array);
        let pending = pending.map_or(0, Vec::len);
        summary["total"] = (total + 1 + pending).into();
        summary["halted"] = 1.into();
        summary["pending"] = pending.into();
        if members.contains_key("warnings") {
            faults.push("a halted batch has no warnings".to_owned());
        }
        if halted["index"] != total || !halted["operation"].is_string() {
            faults.push("a batch halts at the item behind its results".to_owned());
        }
        result(&halted["result"], faults, true);
    }
    if members.get("summary") != Some(&summary) {
        faults.push(format!("summary is {:?}", members.get("summary")));
    }
}

fn only(members: &Map<String, Value>, allowed: &[&str], of: &str, faults: &mut Vec<String>) {
    for name in members.keys().filter(|name| !allowed.contains(&name.as_str())) {
        faults.push(format!("{of} has no member {name:?}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn invalid_replies_are_detected() {
        let item = |result: Value| {
            json!({
                "success": true, "data": null,
                "results": [{ "index": 0, "operation": "a", "result": result }],
                "summary": { "total": 1, "succeeded": 1, "failed": 0 },
            })
        };
        assert!(faults(&item(json!({ "success": true, "data": 1 }))).is_empty());
        for reply in [
            json!([]),
            json!({ "data": 1 }),
            json!({ "success": "true", "data": 1 }),
            json!({ "success": true }),
            json!({ "success": true, "data": 1, "error": null }),
            json!({ "success": true, "data": 1, "warnings": [] }),
            json!({ "success": true, "data": 1, "warnings": [{ "code": "a", "message": "" }] }),
            json!({ "success": true, "data": 1, "warnings": [{ "code": "A", "message": "", "x": 1 }] }),
            json!({ "success": true, "data": 1, "results": [] }),
            json!({ "success": false }),
            json!({ "success": false, "data": 1, "error": { "code": "INTERNAL_ERROR", "message": "a" } }),
            json!({ "success": false, "error": { "code": "OTHER", "message": "a" } }),
            json!({ "success": false, "error": { "code": "INTERNAL_ERROR", "message": "" } }),
            json!({ "success": false, "error": { "code": "INTERNAL_ERROR", "message": "a", "x": 1 } }),
            json!({ "success": false, "error": { "code": "INTERNAL_ERROR", "message": "a", "details": [] } }),
            item(json!({ "success": true, "data": 1, "warnings": [] })),
            item(
                json!({ "success": false, "error": { "code": "INTERNAL_ERROR", "message": "a" } }),
            ),
        ] {
            assert!(!faults(&reply).is_empty(), "{reply}");
        }
    }
}
