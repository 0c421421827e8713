//! Checks of executions: operations that continue after their call returns.

mod forms;

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::{Body, Check, later, of_level_2 as check, should};
use crate::adapter::Operation;
use crate::call::Exchange;
use crate::cases::{Cases, Finding, Skip};
use crate::category::Category;
use crate::pages;
use crate::run::{Run, arguments};

pub(super) const CHECKS: &[Check] = &[
    should(check(
        "lifecycle.stated",
        "An EXECUTE operation that returns an execution documents its lifecycle",
        &["REQ-LIF-09"],
        Body::Every(forms::stated),
    )),
    should(check(
        "lifecycle.state_form",
        "The state of an execution has `execution_id` and `status`, and its times are instants",
        &["REQ-LIF-04"],
        Body::Every(forms::state_form),
    )),
    should(check(
        "lifecycle.progress_form",
        "`progress` of a state has a percentage, a number of a total, or a message",
        &["REQ-LIF-06"],
        Body::Every(forms::progress_form),
    )),
    should(check(
        "lifecycle.error_form",
        "A failed execution has an `error` in the form of other failures",
        &["REQ-LIF-05"],
        Body::Every(forms::error_form),
    )),
    should(check(
        "lifecycle.core_states",
        "Documented states include those of the protocol",
        &["REQ-LIF-01"],
        Body::Learned(forms::core_states),
    )),
    check(
        "lifecycle.states",
        "Executions are only in documented states",
        &["REQ-LIF-07"],
        Body::Changes(later!(states)),
    ),
    should(check(
        "lifecycle.readable",
        "A READ operation returns the state of an execution",
        &["REQ-CLS-01"],
        Body::Changes(later!(readable)),
    )),
    should(check(
        "lifecycle.listed",
        "A list of executions contains the executions of the session",
        &["REQ-CLS-01", "REQ-LIF-04"],
        Body::Changes(later!(listed)),
    )),
    check(
        "lifecycle.transitions",
        "State transitions follow the protocol",
        &["REQ-LIF-02"],
        Body::Changes(later!(transitions)),
    ),
    check(
        "lifecycle.terminal",
        "Final states do not change",
        &["REQ-LIF-03"],
        Body::Changes(later!(terminal)),
    ),
    check(
        "lifecycle.cancel",
        "A cancelled execution reaches the state cancelled",
        &["REQ-LIF-02", "REQ-LIF-08"],
        Body::Changes(later!(cancel)),
    ),
    should(check(
        "lifecycle.claims",
        "`lifecycle` correctly states support for cancelling, retrying and progress",
        &["REQ-LIF-09", "REQ-LIF-11"],
        Body::Changes(later!(claims)),
    )),
    check(
        "lifecycle.retry",
        "Only failed executions can be retried",
        &["REQ-LIF-02", "REQ-LIF-03"],
        Body::Changes(later!(retry)),
    ),
    should(check(
        "lifecycle.progress",
        "Progress notifications have the token of the call and MCP's form, and never decrease",
        &["REQ-MCP-13", "REQ-MCP-14"],
        Body::Alone(later!(progress)),
    )),
];

/// The states of the protocol.
const CORE: [&str; 5] = ["pending", "running", "completed", "failed", "cancelled"];
const FINAL: [&str; 3] = ["completed", "failed", "cancelled"];
/// The interval between two state queries.
const STATE_QUERY_INTERVAL: Duration = Duration::from_millis(10);
/// The maximum number of state queries.
const MAX_STATE_QUERIES: usize = 400;

/// An operation that starts executions, and the operations on these.
#[derive(Clone, Copy)]
struct Starter<'a> {
    operation: &'a Operation,
    steering: Steering<'a>,
}

/// The operations on executions.
#[derive(Clone, Copy)]
struct Steering<'a> {
    read: Option<&'a Operation>,
    cancel: Option<&'a Operation>,
    retry: Option<&'a Operation>,
}

/// Whether an operation acts on an existing execution.
fn is_on_one(operation: &Operation) -> bool {
    operation.parameter("execution_id").is_some_and(|id| id.required)
}

fn steering(run: &Run) -> Steering<'_> {
    let find = |is_read: bool, verbs: &[&str]| {
        run.adapter.operations.iter().find(|operation| {
            let verb = operation.name.split('_').next().unwrap_or_default();
            operation.is_read() == is_read
                && is_on_one(operation)
                && (verbs.is_empty() || verbs.contains(&verb))
        })
    };
    Steering {
        read: find(true, &[]),
        cancel: find(false, &["cancel", "stop", "abort", "kill"]),
        retry: find(false, &["retry", "restart", "rerun", "repeat"]),
    }
}

fn lifecycle(operation: &Operation) -> Option<&Value> {
    operation.details().get("lifecycle")
}

fn supports(operation: &Operation, what: &str) -> bool {
    lifecycle(operation).and_then(|lifecycle| lifecycle.get(what)) == Some(&Value::Bool(true))
}

/// The operations that document a lifecycle.
fn starters<'r>(run: &'r Run, cases: &Cases) -> Vec<Starter<'r>> {
    let steering = steering(run);
    let with_lifecycle = run.adapter.operations.iter().filter(|operation| {
        operation.category == Some(Category::Execute) && lifecycle(operation).is_some()
    });
    let starters: Vec<_> =
        with_lifecycle.map(|operation| Starter { operation, steering }).collect();
    if starters.is_empty() {
        cases.not_applicable("no EXECUTE operation documents a lifecycle");
    }
    starters
}

fn member<'v>(exchange: &'v Exchange, name: &str) -> Option<&'v str> {
    exchange.data()?.get(name)?.as_str()
}

/// An execution that a check started.
struct Execution<'a> {
    starter: Starter<'a>,
    id: String,
    begun: Exchange,
}

impl<'a> Starter<'a> {
    /// Starts an execution.
    async fn begin(self, run: &Run, cases: &Cases) -> Option<Execution<'a>> {
        if let Some(why) = run.forbids(self.operation) {
            cases.skip(why);
            return None;
        }
        let params = run.to_run(self.operation, cases).await?;
        let mut begun = run.act(self.operation, params.clone(), cases).await?;
        // The reply may show an existing execution, unless two calls return two executions.
        let is_own = |begun: &Exchange| {
            let id = begun.data().and_then(|data| data.get("execution_id"));
            id.is_none_or(|id| run.resources().has_started(id))
        };
        if !is_own(&begun) {
            let again = run.act(self.operation, params, cases).await?;
            if is_own(&again) {
                begun = again;
            }
        }
        let Some(id) = member(&begun, "execution_id").map(str::to_owned) else {
            cases.skip(Skip::NoFixture(format!(
                "an execution of `{name}`, which returned {}: add parameters under [params.{name}]",
                begun.summary(),
                name = self.operation.name,
            )));
            return None;
        };
        Some(Execution { starter: self, id, begun })
    }
}

/// Starts an execution if possible, so that there is one to list.
pub(super) async fn begin_any(run: &Run) {
    let unheard = Cases::default();
    for starter in starters(run, &unheard) {
        if starter.begin(run, &unheard).await.is_some() {
            return;
        }
    }
}

impl Execution<'_> {
    async fn call(&self, run: &Run, operation: &Operation, cases: &Cases) -> Option<Exchange> {
        let params = Map::from_iter([("execution_id".to_owned(), self.id.clone().into())]);
        run.call(operation, params, cases).await
    }

    async fn look(&self, run: &Run, cases: &Cases) -> Option<Exchange> {
        let Some(read) = self.starter.steering.read else {
            cases.skip(Skip::NoFixture(
                "a READ operation with a parameter `execution_id`".to_owned(),
            ));
            return None;
        };
        self.call(run, read, cases).await
    }

    /// Queries the state until it is final or time runs out, and returns all replies.
    async fn follow(&self, run: &Run, cases: &Cases) -> Option<Vec<Exchange>> {
        let mut seen = vec![self.begun.clone()];
        let until = Instant::now() + run.settings.limits.request;
        for _ in 0..MAX_STATE_QUERIES {
            let is_over = seen.last().and_then(|last| member(last, "status")).is_none_or(is_final);
            if is_over || Instant::now() >= until {
                break;
            }
            if seen.len() > 1 {
                tokio::time::sleep(STATE_QUERY_INTERVAL).await;
            }
            seen.push(self.look(run, cases).await?);
        }
        Some(seen)
    }

    /// Queries the state until it is final, and returns the last reply. Skips the case if time runs out.
    async fn end(&self, run: &Run, cases: &Cases) -> Option<Exchange> {
        let last = self.follow(run, cases).await?.pop()?;
        if member(&last, "status").is_some_and(is_final) {
            return Some(last);
        }
        cases.skip(Skip::NoFixture(format!(
            "an execution of `{}` that ends",
            self.starter.operation.name
        )));
        None
    }
}

fn is_final(status: &str) -> bool {
    FINAL.contains(&status)
}

async fn states(run: &Run, cases: &Cases) {
    for starter in starters(run, cases) {
        let operation = starter.operation;
        let documented = lifecycle(operation).and_then(|lifecycle| lifecycle.get("states"));
        let documented: Vec<_> = documented
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let Some(execution) = starter.begin(run, cases).await else { continue };
        for seen in execution.follow(run, cases).await.unwrap_or_default() {
            let Some(status) = member(&seen, "status") else { continue };
            // The states of the protocol are always known.
            cases.expect(documented.contains(&status) || CORE.contains(&status), || {
                Finding::of(
                    &seen,
                    &operation.name,
                    "a `status` that `lifecycle.states` lists",
                    "list every state that an execution can be in",
                )
            });
        }
    }
}

async fn readable(run: &Run, cases: &Cases) {
    for starter in starters(run, cases) {
        let Some(execution) = starter.begin(run, cases).await else { continue };
        let Some(looked) = execution.look(run, cases).await else { continue };
        let name = &starter.operation.name;
        let is_it = member(&looked, "execution_id") == Some(execution.id.as_str())
            && member(&looked, "operation").is_none_or(|reported| reported == name);
        cases.expect(is_it, || {
            Finding::of(
                &looked,
                looked.operation(),
                format!("the state of the execution `{}` of `{name}`", execution.id),
                "return the state of the requested execution",
            )
        });
    }
}

async fn listed(run: &Run, cases: &Cases) {
    let starters = starters(run, cases);
    let had_any = !starters.is_empty();
    let list = run.adapter.reads().find(|operation| {
        operation.name.ends_with("_executions") && operation.required().next().is_none()
    });
    let Some(list) = list else {
        if had_any {
            cases.not_applicable("no READ operation lists executions");
        }
        return;
    };
    for starter in starters {
        let Some(execution) = starter.begin(run, cases).await else { continue };
        let Some(all) = run.call(list, Map::new(), cases).await else { continue };
        let items = all.data().and_then(pages::items).unwrap_or_default();
        let is_it = |item: &&Value| item.get("execution_id").is_some_and(|id| *id == execution.id);
        cases.expect(items.iter().any(is_it), || {
            Finding::of(
                &all,
                &list.name,
                format!(
                    "an item with the `execution_id` \"{}\", which was just started",
                    execution.id
                ),
                "list the executions of the session as items, the newest first",
            )
        });
    }
}

/// Whether an execution may get from one state to another, possibly through others.
fn may_become(from: &str, to: &str, is_retried: bool) -> bool {
    match (from, to) {
        // Custom states may change to any state, but final states may not.
        (from, to) if from == to => true,
        ("failed", to) if is_retried => to != "pending",
        (from, _) if is_final(from) => false,
        ("running", "pending") => false,
        _ => true,
    }
}

async fn transitions(run: &Run, cases: &Cases) {
    for starter in starters(run, cases) {
        let Some(execution) = starter.begin(run, cases).await else { continue };
        let Some(mut seen) = execution.follow(run, cases).await else { continue };
        // One more query finds executions that leave a final state.
        seen.extend(execution.look(run, cases).await);
        let states: Vec<_> = seen.iter().filter_map(|seen| member(seen, "status")).collect();
        let is_retried = supports(starter.operation, "supports_retry");
        let fault = states.windows(2).position(|pair| match pair {
            [from, to] => !may_become(from, to, is_retried),
            _ => false,
        });
        if fault.is_none() && states.windows(2).all(|pair| pair.first() == pair.last()) {
            cases.skip(Skip::NoFixture(format!(
                "an execution of `{}` that changes its state in time",
                starter.operation.name
            )));
            continue;
        }
        let reported = fault.and_then(|at| seen.get(at + 1)).or(seen.last());
        cases.expect(fault.is_none(), || Finding {
            received: json!(states),
            sent: reported.map(Exchange::sent).unwrap_or_default(),
            ..Finding::of(
                &execution.begun,
                &starter.operation.name,
                "pending, then running, then completed, failed or cancelled, in this order",
                "allow forward transitions only",
            )
        });
    }
}

async fn terminal(run: &Run, cases: &Cases) {
    for starter in starters(run, cases) {
        let Some(execution) = starter.begin(run, cases).await else { continue };
        let Some(end) = execution.end(run, cases).await else { continue };
        let tried = match starter.steering.cancel {
            Some(cancel) => execution.call(run, cancel, cases).await,
            None => None,
        };
        let Some(after) = execution.look(run, cases).await else { continue };
        let status = |exchange: &Exchange| member(exchange, "status").map(str::to_owned);
        // Cancelling a finished execution may return its final state or fail.
        let is_reported =
            tried.as_ref().is_none_or(|tried| !tried.succeeded() || status(tried) == status(&end));
        cases.expect(status(&after) == status(&end) && is_reported, || Finding {
            received: json!([tried.as_ref().map(Exchange::received), after.received()]),
            ..Finding::of(
                tried.as_ref().unwrap_or(&after),
                &starter.operation.name,
                format!(
                    "still {}, because the execution was finished",
                    status(&end).unwrap_or_default()
                ),
                "reject cancelling a finished execution, and keep its state",
            )
        });
    }
}

async fn cancel(run: &Run, cases: &Cases) {
    let all = starters(run, cases);
    let had_any = !all.is_empty();
    let starters: Vec<_> =
        all.into_iter().filter(|starter| supports(starter.operation, "supports_cancel")).collect();
    if had_any && starters.is_empty() {
        cases.not_applicable("no operation documents `supports_cancel`");
    }
    for starter in starters {
        let Some(cancel) = starter.steering.cancel else {
            cases.skip(Skip::NoFixture(format!(
                "an operation with a required parameter `execution_id` that cancels executions of `{}`",
                starter.operation.name
            )));
            continue;
        };
        let Some(execution) = starter.begin(run, cases).await else { continue };
        let Some(cancelled) = execution.call(run, cancel, cases).await else { continue };
        let Some(end) = execution.follow(run, cases).await.and_then(|mut seen| seen.pop()) else {
            continue;
        };
        let status = member(&end, "status").unwrap_or_default();
        // The execution may have finished before it was cancelled.
        let was_over = cancelled.failure().is_some()
            || member(&cancelled, "status")
                .is_some_and(|reported| reported == status && is_final(reported));
        if cancelled.succeeded() && !is_final(status) {
            // Cancelling may take some time in a custom state.
            cases.skip(Skip::NoFixture(format!(
                "an execution of `{}` that stops in time after cancelling",
                starter.operation.name
            )));
            continue;
        }
        let holds = status == "cancelled" || (was_over && is_final(status));
        cases.expect(holds, || Finding {
            received: json!([cancelled.received(), end.received()]),
            ..Finding::of(
                &cancelled,
                &starter.operation.name,
                "the state cancelled in time, or a failure because it was finished",
                "stop a cancelled execution, and report the state cancelled from then on",
            )
        });
    }
}

async fn claims(run: &Run, cases: &Cases) {
    for starter in starters(run, cases) {
        let operation = starter.operation;
        let reported = lifecycle(operation).cloned().unwrap_or_default();
        let steering = starter.steering;
        for (claim, means) in
            [("supports_cancel", steering.cancel), ("supports_retry", steering.retry)]
        {
            cases.expect(means.is_some() || !supports(operation, claim), || {
                Finding::shown(
                    format!("{}: lifecycle.{claim}", operation.name),
                    reported.clone(),
                    "false, or an operation with a required `execution_id` for it",
                    "claim only features with an operation",
                )
            });
        }
        begins_one(run, starter, cases).await;
        reports(run, starter, cases).await;
        let Some(cancel) = steering.cancel else { continue };
        let Some(execution) = starter.begin(run, cases).await else { continue };
        let Some(tried) = execution.call(run, cancel, cases).await else { continue };
        let Some(looked) = execution.look(run, cases).await else { continue };
        // A finished execution does not show whether cancelling works.
        let is_running = member(&looked, "status").is_some_and(|status| !is_final(status));
        let was_cancelled =
            tried.succeeded() && (is_running || member(&looked, "status") == Some("cancelled"));
        let claimed = supports(operation, "supports_cancel");
        cases.expect(
            if claimed { !(tried.failure().is_some() && is_running) } else { !was_cancelled },
            || Finding {
                received: json!([tried.received(), looked.received()]),
                ..Finding::of(
                    &tried,
                    format!("{}: lifecycle.supports_cancel", operation.name),
                    match claimed {
                        true => "a cancelled execution, because it was running and `lifecycle` claims support",
                        false => "a failure, because `lifecycle` denies support",
                    },
                    "state the real support in `lifecycle`",
                )
            },
        );
    }
}

/// Checks that an operation without progress reporting reports no progress.
async fn reports(run: &Run, starter: Starter<'_>, cases: &Cases) {
    if supports(starter.operation, "progress_reporting") {
        return;
    }
    let Some(execution) = starter.begin(run, cases).await else { return };
    let Some(seen) = execution.follow(run, cases).await else { return };
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
            "a state without `progress`, because `lifecycle` denies support",
            "state the real support in `lifecycle`",
        )
    });
}

/// Checks that an operation with a lifecycle returns an execution.
async fn begins_one(run: &Run, starter: Starter<'_>, cases: &Cases) {
    if let Some(why) = run.forbids(starter.operation) {
        return cases.skip(why);
    }
    let Some(params) = run.to_run(starter.operation, cases).await else { return };
    let Some(begun) = run.act(starter.operation, params, cases).await else { return };
    // A rejected call does not start an execution.
    if !begun.succeeded() {
        return;
    }
    let holds = member(&begun, "execution_id").is_some() && member(&begun, "status").is_some();
    cases.expect(holds, || {
        Finding::of(
            &begun,
            &starter.operation.name,
            "`execution_id` and `status`: because introspection documents a lifecycle",
            "omit `lifecycle` if the call returns its result directly",
        )
    });
}

async fn retry(run: &Run, cases: &Cases) {
    let all = starters(run, cases);
    let had_any = !all.is_empty();
    let starters: Vec<_> =
        all.into_iter().filter(|starter| supports(starter.operation, "supports_retry")).collect();
    if had_any && starters.is_empty() {
        cases.not_applicable("no operation documents `supports_retry`");
    }
    for starter in starters {
        let Some(retry) = starter.steering.retry else {
            cases.skip(Skip::NoFixture(format!(
                "an operation with a required parameter `execution_id` that retries executions of `{}`",
                starter.operation.name
            )));
            continue;
        };
        let Some(execution) = starter.begin(run, cases).await else { continue };
        let Some(end) = execution.end(run, cases).await else { continue };
        let status = member(&end, "status").unwrap_or_default().to_owned();
        let Some(again) = execution.call(run, retry, cases).await else { continue };
        let Some(after) = execution.look(run, cases).await else { continue };
        if status == "failed" {
            cases.expect(again.succeeded(), || {
                Finding::of(
                    &again,
                    &starter.operation.name,
                    "a success, because the execution has failed and can be retried",
                    "change the state from failed to running",
                )
            });
            continue;
        }
        let is_left = member(&after, "status") == Some(status.as_str());
        cases.expect(!again.succeeded() && is_left, || Finding {
            received: json!([again.received(), after.received()]),
            ..Finding::of(
                &again,
                &starter.operation.name,
                format!(
                    "a failure and still {status}, because only failed executions can be retried"
                ),
                "retry failed executions only",
            )
        });
    }
}

async fn progress(run: &Run, cases: &Cases) {
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
