//! Checks of progress notifications.

use serde_json::{Value, json};

use super::execution::supporting;
use crate::adapter::Operation;
use crate::cases::{Cases, Finding, Skip};
use crate::run::{Run, arguments};

const TOKEN: &str = "conformance-progress";

pub(super) async fn progress(run: &Run, cases: &Cases) {
    for starter in supporting(run, "progress_reporting", cases) {
        let Some(arguments) = permitted(run, starter.operation, cases).await else { continue };
        // Adapters in memory may not know items of other sessions, so the check uses the connection of the run.
        let connection = match run.connection().await {
            Ok(connection) => connection,
            Err(lost) => return cases.skip(Skip::CutShort(lost.to_string())),
        };
        let within_limits = run.within_limits(&arguments).await;
        let Some(_pending) = cases.ok_or_skip(within_limits) else { continue };
        let _ = connection.take_notifications();
        let meta = json!({ "progressToken": TOKEN });
        let exchange = run.send(&starter.operation.tool, arguments, Some(meta)).await;
        if !exchange.succeeded() {
            cases.skip_without(format!("an execution of `{}`", starter.operation.name));
            continue;
        }
        let mut notifications = connection.take_notifications();
        notifications.retain(|message| {
            message.get("method").is_some_and(|it| it == "notifications/progress")
        });
        if notifications.is_empty() {
            // Executions of less than a second need not report progress.
            cases.skip_without(format!(
                "an execution of `{}` that reports progress",
                starter.operation.name
            ));
            continue;
        }
        let number = |message: &Value| message.pointer("/params/progress").and_then(Value::as_f64);
        let grows = notifications.windows(2).all(|pair| match pair {
            [one, other] => number(one) <= number(other),
            _ => true,
        });
        cases.expect(grows && notifications.iter().all(is_progress), || {
            Finding::of(&exchange, &starter.operation.name)
                .expected(format!(
                    "`notifications/progress` with the token \"{TOKEN}\", increasing `progress`, \
                 `total` and `message`"
                ))
                .received(json!(notifications))
        });
    }
}

/// Returns the arguments of a call that starts an execution. Skips the case if the call is not allowed.
async fn permitted(run: &Run, operation: &Operation, cases: &Cases) -> Option<Value> {
    run.permits(operation, cases)?;
    let arguments = arguments(&operation.name, run.to_run(operation, cases).await?);
    if let Some(why) = run.ownership_skip_reason(operation, &arguments) {
        cases.skip(why);
        return None;
    }
    Some(arguments)
}

/// Returns `true` if a notification has the token of the call and the form required by MCP.
fn is_progress(message: &Value) -> bool {
    let is = |name: &str, holds: fn(&Value) -> bool| {
        message.pointer("/params").and_then(|params| params.get(name)).is_some_and(holds)
    };
    message.pointer("/params/progressToken").is_some_and(|token| token == TOKEN)
        && is("progress", Value::is_number)
        && is("total", Value::is_number)
        && is("message", Value::is_string)
}
