//! Executions started by checks, and the operations on them.

use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::adapter::Operation;
use crate::call::Exchange;
use crate::cases::Cases;
use crate::category::Category;
use crate::run::Run;

/// The execution states of the protocol.
pub(super) const CORE: [&str; 5] = ["pending", "running", "completed", "failed", "cancelled"];

const FINAL: [&str; 3] = ["completed", "failed", "cancelled"];

/// Interval between two state queries.
const STATE_QUERY_INTERVAL: Duration = Duration::from_millis(10);

/// Maximum number of state queries for one execution.
const MAX_STATE_QUERIES: usize = 400;

/// An operation that starts executions, with the operations on these.
#[derive(Clone, Copy)]
pub(super) struct Starter<'a> {
    run: &'a Run,
    cases: &'a Cases,
    pub(super) operation: &'a Operation,
    pub(super) steering: Steering<'a>,
}

/// The operations on executions.
#[derive(Clone, Copy)]
pub(super) struct Steering<'a> {
    pub(super) read: Option<&'a Operation>,
    pub(super) cancel: Option<&'a Operation>,
    pub(super) retry: Option<&'a Operation>,
}

/// Returns `true` if an operation acts on an existing execution.
pub(super) fn is_on_one(operation: &Operation) -> bool {
    operation.parameter("execution_id").is_some_and(|id| id.required)
}

pub(super) fn steering(run: &Run) -> Steering<'_> {
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

pub(super) fn lifecycle(operation: &Operation) -> Option<&Value> {
    operation.details().get("lifecycle")
}

pub(super) fn supports(operation: &Operation, what: &str) -> bool {
    lifecycle(operation).and_then(|lifecycle| lifecycle.get(what)) == Some(&Value::Bool(true))
}

/// Returns the operations that document a lifecycle.
pub(super) fn starters<'r>(run: &'r Run, cases: &'r Cases) -> Vec<Starter<'r>> {
    let steering = steering(run);
    let with_lifecycle = run.adapter.operations.iter().filter(|operation| {
        operation.category == Some(Category::Execute) && lifecycle(operation).is_some()
    });
    cases.some_or_not_applicable(
        with_lifecycle.map(|operation| Starter { run, cases, operation, steering }),
        "no EXECUTE operation documents a lifecycle",
    )
}

/// Returns the operations that document a lifecycle with this feature.
pub(super) fn supporting<'r>(run: &'r Run, feature: &str, cases: &'r Cases) -> Vec<Starter<'r>> {
    let starters = starters(run, cases).into_iter();
    cases.some_or_not_applicable(
        starters.filter(|starter| supports(starter.operation, feature)),
        format!("no operation documents `{feature}`"),
    )
}

pub(super) fn member<'v>(exchange: &'v Exchange, name: &str) -> Option<&'v str> {
    exchange.data()?.get(name)?.as_str()
}

/// An execution started by a check.
pub(super) struct Execution<'a> {
    pub(super) starter: Starter<'a>,
    pub(super) id: String,
    pub(super) begun: Exchange,
}

impl<'a> Starter<'a> {
    /// Starts an execution.
    pub(super) async fn begin(self) -> Option<Execution<'a>> {
        let Self { run, cases, .. } = self;
        run.permits(self.operation, cases)?;
        let params = run.to_run(self.operation, cases).await?;
        let mut begun = run.act(self.operation, params.clone(), cases).await?;
        // The reply may show an existing execution. A second call decides whether the operation starts new ones.
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
            cases.skip_without(format!(
                "an execution of `{name}`, which returned {}: add parameters under [params.{name}]",
                begun.summary(),
                name = self.operation.name,
            ));
            return None;
        };
        Some(Execution { starter: self, id, begun })
    }
}

impl Execution<'_> {
    pub(super) async fn call(&self, operation: &Operation) -> Option<Exchange> {
        let params = Map::from_iter([("execution_id".to_owned(), self.id.clone().into())]);
        self.starter.run.call(operation, params, self.starter.cases).await
    }

    pub(super) async fn look(&self) -> Option<Exchange> {
        let Some(read) = self.starter.steering.read else {
            let what = "a READ operation with a parameter `execution_id`";
            self.starter.cases.skip_without(what);
            return None;
        };
        self.call(read).await
    }

    /// Queries the state until it is final or time runs out. Returns all replies.
    pub(super) async fn follow(&self) -> Option<Vec<Exchange>> {
        let mut seen = vec![self.begun.clone()];
        let until = Instant::now() + self.starter.run.settings.limits.request;
        for _ in 0..MAX_STATE_QUERIES {
            let is_over = seen.last().and_then(|last| member(last, "status")).is_none_or(is_final);
            if is_over || Instant::now() >= until {
                break;
            }
            if seen.len() > 1 {
                tokio::time::sleep(STATE_QUERY_INTERVAL).await;
            }
            seen.push(self.look().await?);
        }
        Some(seen)
    }

    /// Queries the state until it is final. Returns the last reply, or skips the case if time runs out.
    pub(super) async fn end(&self) -> Option<Exchange> {
        let last = self.follow().await?.pop()?;
        if member(&last, "status").is_some_and(is_final) {
            return Some(last);
        }
        let name = &self.starter.operation.name;
        self.starter.cases.skip_without(format!("an execution of `{name}` that ends"));
        None
    }
}

pub(super) fn is_final(status: &str) -> bool {
    FINAL.contains(&status)
}
