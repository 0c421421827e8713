//! Checks of canceling and retrying executions, and of the documented support for both.

use serde_json::json;

use super::execution::{Starter, is_final, lifecycle, member, starters, supporting, supports};
use crate::call::Exchange;
use crate::cases::{Cases, Finding};
use crate::run::Run;

pub(super) async fn cancel(run: &Run, cases: &Cases) {
    for starter in supporting(run, "supports_cancel", cases) {
        let Some(cancel) = starter.steering.cancel else {
            cases.skip_without(format!(
                "an operation with a required parameter `execution_id` that cancels executions of \
                 `{}`",
                starter.operation.name
            ));
            continue;
        };
        let Some(execution) = starter.begin().await else { continue };
        let Some(cancelled) = execution.call(cancel).await else { continue };
        let Some(end) = execution.follow().await.and_then(|mut seen| seen.pop()) else {
            continue;
        };
        let status = member(&end, "status").unwrap_or_default();
        // The execution may have finished before it was canceled.
        let was_over = cancelled.failure().is_some()
            || member(&cancelled, "status")
                .is_some_and(|reported| reported == status && is_final(reported));
        if cancelled.succeeded() && !is_final(status) {
            // Cancellation may take some time in a custom state.
            cases.skip_without(format!(
                "an execution of `{}` that stops in time after cancelling",
                starter.operation.name
            ));
            continue;
        }
        let holds = status == "cancelled" || (was_over && is_final(status));
        cases.expect(holds, || {
            Finding::of(&cancelled, &starter.operation.name)
                .received(json!([cancelled.received(), end.received()]))
        });
    }
}

pub(super) async fn claims(run: &Run, cases: &Cases) {
    for starter in starters(run, cases) {
        let operation = starter.operation;
        let reported = lifecycle(operation).cloned().unwrap_or_default();
        let steering = starter.steering;
        for (claim, means) in
            [("supports_cancel", steering.cancel), ("supports_retry", steering.retry)]
        {
            cases.expect(means.is_some() || !supports(operation, claim), || {
                Finding::shown(format!("{}: lifecycle.{claim}", operation.name), reported.clone())
                    .expected("false, or an operation with a required `execution_id` for it")
                    .fix("claim only features for which an operation exists")
            });
        }
        begins_one(run, starter, cases).await;
        reports(starter, cases).await;
        let Some(cancel) = steering.cancel else { continue };
        let Some(execution) = starter.begin().await else { continue };
        let Some(tried) = execution.call(cancel).await else { continue };
        let Some(looked) = execution.look().await else { continue };
        // A finished execution does not show whether cancellation works.
        let is_running = member(&looked, "status").is_some_and(|status| !is_final(status));
        let was_cancelled =
            tried.succeeded() && (is_running || member(&looked, "status") == Some("cancelled"));
        let claimed = supports(operation, "supports_cancel");
        cases.expect(
            if claimed { !(tried.failure().is_some() && is_running) } else { !was_cancelled },
            || {
                Finding::of(&tried, format!("{}: lifecycle.supports_cancel", operation.name))
                    .expected(match claimed {
                        true => {
                            "a cancelled execution, because it was running and `lifecycle` claims \
                             support"
                        }
                        false => "a failure, because `lifecycle` denies support",
                    })
                    .received(json!([tried.received(), looked.received()]))
            },
        );
    }
}

/// Checks that an operation without progress reporting reports no progress.
async fn reports(starter: Starter<'_>, cases: &Cases) {
    if supports(starter.operation, "progress_reporting") {
        return;
    }
    let Some(execution) = starter.begin().await else { return };
    let Some(seen) = execution.follow().await else { return };
    let progress = |state: &&Exchange| {
        state
            .data()
            .and_then(|data| data.get("progress"))
            .is_some_and(|reported| !reported.is_null())
    };
    let reporting = seen.iter().find(progress);
    cases.expect(reporting.is_none(), || {
        Finding::of(
            reporting.unwrap_or(&execution.begun),
            format!("{}: lifecycle.progress_reporting", starter.operation.name),
        )
        .expected("a state without `progress`, because `lifecycle` denies support")
    });
}

/// Checks that an operation with a lifecycle returns an execution.
async fn begins_one(run: &Run, starter: Starter<'_>, cases: &Cases) {
    let Some(()) = run.permits(starter.operation, cases) else { return };
    let Some(params) = run.to_run(starter.operation, cases).await else { return };
    let Some(begun) = run.act(starter.operation, params, cases).await else { return };
    // A rejected call does not start an execution.
    if !begun.succeeded() {
        return;
    }
    let holds = member(&begun, "execution_id").is_some() && member(&begun, "status").is_some();
    cases.expect(holds, || {
        Finding::of(&begun, &starter.operation.name)
            .expected("`execution_id` and `status`, because introspection documents a lifecycle")
            .fix("omit `lifecycle` if the call returns its result directly")
    });
}

pub(super) async fn retry(run: &Run, cases: &Cases) {
    for starter in supporting(run, "supports_retry", cases) {
        let Some(retry) = starter.steering.retry else {
            cases.skip_without(format!(
                "an operation with a required parameter `execution_id` that retries executions of \
                 `{}`",
                starter.operation.name
            ));
            continue;
        };
        let Some(execution) = starter.begin().await else { continue };
        let Some(end) = execution.end().await else { continue };
        let status = member(&end, "status").unwrap_or_default().to_owned();
        let Some(again) = execution.call(retry).await else { continue };
        let Some(after) = execution.look().await else { continue };
        if status == "failed" {
            cases.expect_success(&again, true, || {
                Finding::of(&again, &starter.operation.name)
                    .expected("a success, because the execution has failed and can be retried")
            });
            continue;
        }
        let is_left = member(&after, "status") == Some(status.as_str());
        cases.expect(!again.succeeded() && is_left, || {
            Finding::of(&again, &starter.operation.name)
                .expected(format!(
                    "a failure and an execution that is still {status}, because only failed \
                     executions can be retried"
                ))
                .fix("retry failed executions only")
                .received(json!([again.received(), after.received()]))
        });
    }
}
