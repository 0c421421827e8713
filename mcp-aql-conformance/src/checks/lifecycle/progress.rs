//! Checks of progress notifications.

use serde_json::{Value, json};

use super::execution::{starters, supports};
use crate::cases::{Cases, Finding, Skip};
use crate::run::{Run, arguments};

pub(super) async fn progress(run: &Run, cases: &Cases) {
    const TOKEN: &str = "conformance-progress";
    let all = starters(run, cases);
    let had_any = !all.is_empty();
    let starters: Vec<_> = all
        .into_iter()
        .filter(|starter| supports(starter.operation, "progress_reporting"))
        .collect();
    if had_any && starters.is_empty() {
        cases.not_applicable("no operation documents `progress_reporting`");
    }
    for starter in starters {
        if let Some(why) = run.forbids(starter.operation) {
            cases.skip(why);
            continue;
        }
        let Some(params) = run.to_run(starter.operation, cases).await else { continue };
        let arguments = arguments(&starter.operation.name, params);
        if let Some(why) = run.ownership_skip_reason(starter.operation, &arguments) {
            cases.skip(why);
            continue;
        }
        // Adapters in memory may not know items of other sessions, so the check uses this one.
        let connection = match run.connection().await {
            Ok(connection) => connection,
            Err(lost) => return cases.skip(Skip::CutShort(lost.to_string())),
        };
        let _ = connection.take_notifications();
        let meta = json!({ "progressToken": TOKEN });
        let exchange = run.send(&starter.operation.tool, arguments, Some(meta)).await;
        if !exchange.succeeded() {
            cases.skip(Skip::NoFixture(format!("an execution of `{}`", starter.operation.name)));
            continue;
        }
        let notifications = connection.take_notifications();
        let reported: Vec<_> = notifications
            .iter()
            .filter(|message| {
                message.get("method").is_some_and(|it| it == "notifications/progress")
            })
            .collect();
        if reported.is_empty() {
            // Executions of less than a second need not report progress.
            cases.skip(Skip::NoFixture(format!(
                "an execution of `{}` that reports progress",
                starter.operation.name
            )));
            continue;
        }
        let number = |message: &Value| message.pointer("/params/progress").and_then(Value::as_f64);
        let is_formed = |message: &&Value| {
            let is = |name: &str, holds: fn(&Value) -> bool| {
                message.pointer("/params").and_then(|params| params.get(name)).is_some_and(holds)
            };
            message.pointer("/params/progressToken").is_some_and(|token| token == TOKEN)
                && is("progress", Value::is_number)
                && is("total", Value::is_number)
                && is("message", Value::is_string)
        };
        let grows = reported.windows(2).all(|pair| match pair {
            [one, other] => number(one) <= number(other),
            _ => true,
        });
        cases.expect(grows && reported.iter().all(is_formed), || Finding {
            received: json!(reported),
            ..Finding::of(
                &exchange,
                &starter.operation.name,
                format!("`notifications/progress` with the token \"{TOKEN}\", increasing `progress`, `total` and `message`"),
                "use the token of the call, and increase `progress`",
            )
        });
    }
}
