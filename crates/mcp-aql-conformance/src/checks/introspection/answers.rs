//! Checks of `introspect` replies that the learning phase does not read.

use serde_json::{Value, json};

use crate::adapter::naming;
use crate::cases::{Cases, Finding};
use crate::category::Category;
use crate::run::Run;

pub(super) async fn introspect_itself(run: &Run, cases: &Cases) {
    let params = json!({ "query": "operations", "name": "introspect" });
    let Some(exchange) = run.introspect(params, cases).await else { return };
    let stated = exchange.data().and_then(|data| data.get("operation")).unwrap_or(&Value::Null);
    let renamed = naming::renamed(stated, &run.adapter.name_member);
    let details = renamed.as_ref().unwrap_or(stated);
    let is_listed = run.adapter.operations.iter().any(|operation| operation.name == "introspect");
    if details.is_null() && !is_listed {
        return cases.not_applicable("`introspect` is not in the list of operations");
    }
    let parameter = |name: &str| {
        let list = details.get("parameters").and_then(Value::as_array).into_iter().flatten();
        list.into_iter().find(|parameter| parameter.get("name").is_some_and(|it| it == name))
    };
    let is_required = |name: &str| parameter(name)?.get("required")?.as_bool();
    let is_text =
        |name: &str| parameter(name).and_then(|it| it.get("type")).is_some_and(|it| it == "string");
    let words = parameter("query").and_then(|it| it.get("enum")).and_then(Value::as_array);
    // Without an enum, the description may list the values.
    let has_words = words.is_none_or(|words| {
        ["operations", "types"].iter().all(|word| words.iter().any(|it| it == word))
    });
    // The checks of forms report a missing category.
    let is_read =
        details.get("semantic_category").is_none_or(|category| category == Category::Read.as_str());
    let holds = is_read
        && is_required("query") == Some(true)
        && is_required("name") == Some(false)
        && is_text("query")
        && is_text("name")
        && has_words;
    cases.expect(holds, || Finding::of(&exchange, "introspect"));
}

pub(super) async fn stable(run: &Run, cases: &Cases) {
    let again = [
        (json!({ "query": "operations" }), &run.adapter.operations_reply),
        (json!({ "query": "types" }), &run.adapter.types_reply),
    ];
    let details = run.adapter.operations.iter().take(1).map(|operation| {
        (json!({ "query": "operations", "name": operation.name }), &operation.reply)
    });
    let again: Vec<_> = again.into_iter().chain(details).collect();
    let Some(other) = run.spare(cases).await else { return };
    for (params, before) in again {
        let here = run.introspect(params.clone(), cases).await;
        let there = cases.if_answered(run.introspect_on(&other, params).await);
        for (exchange, place) in [(here, "later"), (there, "in another session")] {
            let Some(exchange) = exchange else { continue };
            let now = exchange.body().cloned().unwrap_or_default();
            cases.expect(lasting(&now) == lasting(before), || {
                Finding::of(&exchange, format!("introspect, repeated {place}"))
                    .expected(format!("the same reply as before: {before}"))
            });
        }
    }
    run.give_back(other);
}

/// Removes the parts of a reply that belong to one session or request: the session id, and `_meta` with ids, times and
/// durations.
fn lasting(reply: &Value) -> Value {
    let mut reply = reply.clone();
    if let Some(Value::Object(protocol)) = reply.pointer_mut("/data/_protocol") {
        protocol.remove("session_id");
    }
    for place in ["", "/data"] {
        if let Some(Value::Object(members)) = reply.pointer_mut(place) {
            members.retain(|name, _| name != "_meta" && !is_of_request(name));
        }
    }
    reply
}

/// Returns `true` if a member belongs to one request, in any spelling: `requestId`, `request_id`, `durationMs`.
fn is_of_request(name: &str) -> bool {
    let plain: String =
        name.chars().filter(|letter| *letter != '_').flat_map(char::to_lowercase).collect();
    let names =
        ["requestid", "traceid", "correlationid", "timestamp", "time", "duration", "durationms"];
    names.contains(&plain.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignores_members_of_one_request() {
        let reply = |id: u32, name: &str| {
            json!({
                "success": true,
                "data": { "operations": [{ "name": name }], "request_id": id },
                "_meta": { "requestId": id, "durationMs": id, "timestamp": id.to_string() },
                "durationMs": id,
            })
        };
        assert_eq!(lasting(&reply(1, "get_bed")), lasting(&reply(2, "get_bed")));
        assert_ne!(lasting(&reply(1, "get_bed")), lasting(&reply(1, "list_beds")));
    }
}
