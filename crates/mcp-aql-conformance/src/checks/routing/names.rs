//! Checks of calls with unknown and malformed names of operations.

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::call::{Exchange, Reply};
use crate::cases::{Cases, Finding};
use crate::run::Run;

pub(super) async fn unknown_operation(run: &Run, cases: &Cases) {
    for tool in &run.adapter.endpoints {
        let name = run.absent_operation();
        let exchange =
            run.refused(&tool.name, json!({ "operation": name, "params": {} }), cases).await;
        let Some(exchange) = exchange else { continue };
        let is_refused = exchange.failure().is_some_and(|failure| {
            failure.code == "NOT_FOUND_OPERATION" && failure.message.contains(&name)
        });
        cases.expect(is_refused, || {
            Finding::of(
                &exchange,
                &tool.name,
                format!("a failure NOT_FOUND_OPERATION whose message names '{name}'"),
                "look the operation up first, and return \
                 {\"success\": false, \"error\": {\"code\": \"NOT_FOUND_OPERATION\", …}}",
            )
        });
    }
}

/// Whether a call was rejected in any form. An MCP library may reject requests that violate the tool's
/// schema.
fn is_refused(exchange: &Exchange) -> bool {
    match &exchange.reply {
        Reply::Result { raw, .. } => {
            exchange.failure().is_some()
                || raw.get("isError").is_some_and(|flag| *flag == Value::Bool(true))
        }
        Reply::Protocol { .. } => true,
        Reply::NoResponse(_) => false,
    }
}

async fn refuses(run: &Run, arguments: Value, expected: &str, mend: &str, cases: &Cases) {
    for tool in &run.adapter.endpoints {
        let exchange = run.refused(&tool.name, arguments.clone(), cases).await;
        let Some(exchange) = exchange else { continue };
        cases.expect(is_refused(&exchange), || Finding::of(&exchange, &tool.name, expected, mend));
    }
}

pub(super) async fn missing_operation(run: &Run, cases: &Cases) {
    for arguments in [json!({}), json!({ "params": {} })] {
        refuses(
            run,
            arguments,
            "a failure such as VALIDATION_MISSING_PARAM for `operation`",
            "reject requests without an operation",
            cases,
        )
        .await;
    }
}

pub(super) async fn operation_not_string(run: &Run, cases: &Cases) {
    for operation in [json!(7), json!(true), json!(null), json!([]), json!({ "name": "x" })] {
        refuses(
            run,
            json!({ "operation": operation, "params": {} }),
            "a failure such as VALIDATION_INVALID_TYPE for `operation`",
            "accept only strings for `operation`, without conversions",
            cases,
        )
        .await;
    }
}

pub(super) async fn malformed_names(run: &Run, cases: &Cases) {
    // The names resemble an operation that would succeed.
    let near = "introspect";
    let names = [
        String::new(),
        " ".to_owned(),
        format!(" {near}"),
        format!("{near} "),
        format!("{near}\n"),
        format!("{near}-"),
        format!("_{near}"),
        format!("../{near}"),
        "7".to_owned(),
        "a".repeat(2_000),
    ];
    join_all(names.into_iter().map(|name| async move {
        let arguments = json!({ "operation": name, "params": { "query": "types" } });
        let exchange = run.refused(&run.adapter.introspect, arguments, cases).await;
        let Some(exchange) = exchange else { return };
        cases.expect(exchange.failure().is_some(), || {
            Finding::of(
                &exchange,
                format!("{name:?}"),
                "a structured failure",
                "compare names exactly, without trimming or guessing",
            )
        });
    }))
    .await;
}

pub(super) async fn case_sensitive(run: &Run, cases: &Cases) {
    let variants = run.adapter.operations.iter().flat_map(|operation| {
        let hyphens = operation.name.replace('_', "-");
        [operation.name.to_ascii_uppercase(), hyphens].map(|name| (operation, name))
    });
    join_all(variants.map(|(operation, name)| async move {
        if run.adapter.operation(&name).is_some() {
            return;
        }
        let params = json!({ run.absent_parameter(operation): true });
        let arguments = json!({ "operation": name, "params": params });
        let Some(exchange) = run.refused(&operation.tool, arguments, cases).await else { return };
        // A name with hyphens may be rejected for its form.
        let is_malformed =
            name.contains('-') && exchange.code().is_some_and(|code| !code.ends_with("_PARAM"));
        let is_unknown = exchange.code() == Some("NOT_FOUND_OPERATION") || is_malformed;
        cases.expect(is_unknown, || {
            Finding::of(
                &exchange,
                &operation.name,
                format!("NOT_FOUND_OPERATION, because `{name}` is not `{}`", operation.name),
                "compare names of operations case-sensitively",
            )
        });
    }))
    .await;
}
