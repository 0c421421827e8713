//! Limits the effects of a run: calls that it cannot undo, items that it creates, and the time for creating them.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::Run;
use crate::adapter::Operation;
use crate::budget::PendingCalls;
use crate::call::calls_in;
use crate::cases::Skip;
use crate::category::Category;
use crate::resources::{EXECUTION, RESERVED, Role};
use crate::sync::lock;

/// Interval between checks if other calls of the same operation have ended.
const WAIT_INTERVAL: Duration = Duration::from_millis(5);
/// Number of calls to remove an item: one to request the confirmation token, and one to remove.
const CALLS_PER_REMOVAL: u32 = 2;
/// Time for the removal in addition to its calls.
const REMOVAL_MARGIN: Duration = Duration::from_secs(1);

fn is_create(operation: &Operation) -> bool {
    operation.category == Some(Category::Create)
}

impl Run {
    /// Returns `true` if the run cannot undo the effect of an operation.
    ///
    /// Such an operation creates items that the run cannot remove, or acts on no item created by the run.
    pub(crate) fn is_irreversible(&self, operation: &Operation) -> bool {
        let acts_on_items = |operation: &Operation| {
            operation.parameters.iter().any(|parameter| {
                parameter.name == EXECUTION
                    || self.resources().meant(&operation.name, &parameter.name).next().is_some()
            })
        };
        match operation.category {
            Some(Category::Create) => {
                !RESERVED.contains(&operation.name.as_str()) && !self.can_remove_from(operation)
            }
            Some(Category::Update | Category::Delete) => false,
            Some(Category::Read) => !operation.is_read(),
            Some(Category::Execute) | None => !acts_on_items(operation),
        }
    }

    /// Returns `true` if the run may delete the items created by a CREATE operation.
    pub(super) fn can_remove_from(&self, create: &Operation) -> bool {
        let mut kinds = self.resources().kinds().iter();
        kinds.any(|kind| {
            let delete = kind.operation(&self.adapter, Role::Delete);
            kind.create == create.name && delete.is_some_and(|it| self.forbids(it).is_none())
        })
    }

    /// Returns the operations of a call with the number of their items.
    fn called(&self, arguments: &Value) -> Vec<(&Operation, usize)> {
        let mut called: Vec<(&Operation, usize)> = Vec::new();
        for item in calls_in(arguments) {
            let name = item.get("operation").and_then(Value::as_str).unwrap_or_default();
            let Some(operation) = self.adapter.operation(name) else { continue };
            match called.iter_mut().find(|(known, _)| known.name == name) {
                Some((_, count)) => *count += 1,
                None => called.push((operation, 1)),
            }
        }
        called
    }

    /// Waits until a call may be made within the limits. The limits count only successful calls.
    ///
    /// # Errors
    ///
    /// Returns the reason why the call may not be made.
    pub(crate) async fn within_limits(&self, arguments: &Value) -> Result<PendingCalls<'_>, Skip> {
        let mut called = self.called(arguments);
        called.retain(|(operation, _)| is_create(operation) || self.is_irreversible(operation));
        // Do not wait forever: the pending calls may belong to a check that continues only after this call.
        let until = Instant::now() + self.settings.limits.request;
        loop {
            if let Some(pending) = self.add_pending(&called)? {
                return Ok(pending);
            }
            if Instant::now() >= until {
                return Err(Skip::Limited(
                    "calls in progress may use up the limits under [limits]".to_owned(),
                ));
            }
            tokio::time::sleep(WAIT_INTERVAL).await;
        }
    }

    /// Counts calls as pending if the limits hold even if all other pending calls succeed.
    fn add_pending(&self, calls: &[(&Operation, usize)]) -> Result<Option<PendingCalls<'_>>, Skip> {
        let _turn = lock(&self.limits_turn);
        for (operation, count) in calls {
            if is_create(operation) {
                self.may_create_more(operation, *count)?;
                if self.exceeds_created(operation, count + self.pending_creations(operation)) {
                    return Ok(None);
                }
            }
            if self.is_irreversible(operation) {
                self.is_below_limit(&operation.name, *count)?;
                let done = self.resources().effects_of(&operation.name);
                let pending = self.pending.of(operation);
                if done + pending + count > self.settings.max_irreversible {
                    return Ok(None);
                }
            }
        }
        Ok(Some(self.pending.add(calls)))
    }

    /// Counts a request that must be rejected. If the adapter does not reject it, the operation runs.
    ///
    /// Most adapters reject it, so the request does not wait for other calls. Its irreversible effects do not make
    /// other calls wait, either.
    ///
    /// # Errors
    ///
    /// Returns the reason why the request may not be sent.
    pub(super) fn count_refused(&self, arguments: &Value) -> Result<PendingCalls<'_>, Skip> {
        let mut called = self.called(arguments);
        let _turn = lock(&self.limits_turn);
        for (operation, count) in &called {
            if is_create(operation) {
                self.may_create_more(operation, count + self.pending_creations(operation))?;
            }
            if self.is_irreversible(operation) {
                self.is_below_limit(&operation.name, *count)?;
            }
        }
        called.retain(|(operation, _)| is_create(operation));
        Ok(self.pending_refused.add(&called))
    }

    /// Returns the number of items that the pending calls of a CREATE operation may create.
    fn pending_creations(&self, create: &Operation) -> usize {
        self.pending.of(create) + self.pending_refused.of(create)
    }

    /// Returns `true` if creating this number of further items would exceed the limit of a CREATE operation.
    fn exceeds_created(&self, create: &Operation, count: usize) -> bool {
        let kind = self.resources().kinds().iter().find(|kind| kind.create == create.name);
        kind.is_some_and(|kind| {
            self.resources().left_of(&kind.name) + count > self.settings.max_created
        })
    }

    pub(super) fn is_below_limit(&self, operation: &str, count: usize) -> Result<(), Skip> {
        let max = self.settings.max_irreversible;
        if self.resources().effects_of(operation) + count <= max {
            return Ok(());
        }
        Err(Skip::Limited(format!(
            "`{operation}` was called successfully {max} times, and the run cannot undo its effects; \
             `irreversible_calls` under [limits] allows more"
        )))
    }

    /// Checks that the run may create this number of further items.
    ///
    /// # Errors
    ///
    /// Returns the reason if the limit of items is reached, or if the remaining time is needed to remove items.
    pub(super) fn may_create_more(&self, create: &Operation, count: usize) -> Result<(), Skip> {
        if self.exceeds_created(create, count) {
            let max = self.settings.max_created;
            return Err(Skip::Limited(format!(
                "`{}` may create at most {max} items that exist at the same time; `created_items` under \
                 [limits] allows more",
                create.name
            )));
        }
        if Instant::now() < self.deadline() {
            return Ok(());
        }
        Err(self.out_of_time())
    }

    /// Returns the exercised READ operations except `introspect`, fast ones first.
    pub(crate) fn reads_by_time(&self) -> Vec<&Operation> {
        let mut reads: Vec<_> = self.adapter.reads().collect();
        reads.sort_by_key(|operation| self.call_times.is_slow(&operation.name));
        reads
    }

    /// Estimates the time to remove the items of the run.
    pub(crate) fn removal_time(&self) -> Duration {
        let items = u32::try_from(self.resources().left_count()).unwrap_or(u32::MAX);
        if items == 0 {
            return Duration::ZERO;
        }
        let calls = items.saturating_mul(CALLS_PER_REMOVAL);
        let time_per_call = self.call_times.mean().max(self.pacer.interval().unwrap_or_default());
        time_per_call.saturating_mul(calls).saturating_add(REMOVAL_MARGIN)
    }

    /// Returns the end of the run. The end is later if the adapter limits the rate of calls.
    pub(super) fn end(&self) -> Instant {
        self.pacer.prolonged(self.until, self.settings.limits.run)
    }

    /// Returns the reason to skip a case without enough remaining time.
    pub(crate) fn out_of_time(&self) -> Skip {
        Skip::CutShort(self.pacer.out_of_time(self.settings.limits.run))
    }

    /// Returns the time at which the checks must end. The rest is reserved for removing the items of the run.
    pub(crate) fn deadline(&self) -> Instant {
        let end = self.end();
        end.checked_sub(self.removal_time()).unwrap_or(end)
    }
}
