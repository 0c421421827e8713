//! Limits the effects of a run: calls that it cannot undo, items that it creates, and the time for creating them.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::Run;
use crate::adapter::Operation;
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

/// Measured durations of calls.
#[derive(Debug, Default)]
pub(super) struct CallTimes {
    calls: AtomicU64,
    /// Total duration of all calls, divided by the number of concurrent ones, in microseconds.
    micros: AtomicU64,
    /// `true` for each operation with a first call longer than `SLOW_CALL`.
    ///
    /// Later calls are not considered. They also take long if many run at once, so the choice of operations would
    /// depend on the load.
    slow: Mutex<BTreeMap<String, bool>>,
}

/// Duration above which a call is slow, probably because its operation waits for another server. A slow operation is
/// used only if no other one is suitable.
const SLOW_CALL: Duration = Duration::from_secs(2);

impl CallTimes {
    /// Adds a call with this duration. `concurrent` is the number of calls running at the same time.
    pub(super) fn add(&self, took: Duration, concurrent: usize) {
        let micros = took.as_micros() / concurrent.max(1) as u128;
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.micros.fetch_add(u64::try_from(micros).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Records the duration of the first call of an operation.
    pub(super) fn note(&self, operation: &str, took: Duration) {
        lock(&self.slow).entry(operation.to_owned()).or_insert(took > SLOW_CALL);
    }

    /// Returns `true` if the first call of an operation was slow.
    fn is_slow(&self, operation: &str) -> bool {
        lock(&self.slow).get(operation).copied().unwrap_or(false)
    }

    /// Returns the mean time per call, taking concurrency into account.
    fn mean(&self) -> Duration {
        let calls = self.calls.load(Ordering::Relaxed).max(1);
        Duration::from_micros(self.micros.load(Ordering::Relaxed) / calls)
    }
}

/// Number of pending calls by operation.
type CallCounts = BTreeMap<String, usize>;

/// Pending calls of limited operations and of operations that create items. Drop it once the calls have ended, because
/// they count until then.
pub(crate) struct PendingCalls<'r> {
    counts: &'r Mutex<CallCounts>,
    calls: CallCounts,
}

impl<'r> PendingCalls<'r> {
    /// Adds calls to these counts.
    fn add(counts: &'r Mutex<CallCounts>, calls: &[(&Operation, usize)]) -> Self {
        let mut pending = lock(counts);
        for (operation, count) in calls {
            *pending.entry(operation.name.clone()).or_default() += count;
        }
        let calls = calls.iter().map(|(operation, count)| (operation.name.clone(), *count));
        Self { counts, calls: calls.collect() }
    }
}

impl Drop for PendingCalls<'_> {
    fn drop(&mut self) {
        let mut pending = lock(self.counts);
        for (operation, calls) in &self.calls {
            if let Some(count) = pending.get_mut(operation) {
                *count = count.saturating_sub(*calls);
            }
        }
    }
}

fn is_create(operation: &Operation) -> bool {
    operation.category == Some(Category::Create)
}

fn count_of(counts: &Mutex<CallCounts>, operation: &Operation) -> usize {
    lock(counts).get(&operation.name).copied().unwrap_or_default()
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
        let items = arguments.get("operations").and_then(Value::as_array);
        let items = items.map_or(std::slice::from_ref(arguments), Vec::as_slice);
        let mut called: Vec<(&Operation, usize)> = Vec::new();
        for item in items {
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
                let pending = count_of(&self.pending, operation);
                if done + pending + count > self.settings.max_irreversible {
                    return Ok(None);
                }
            }
        }
        Ok(Some(PendingCalls::add(&self.pending, calls)))
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
        Ok(PendingCalls::add(&self.pending_refused, &called))
    }

    /// Returns the number of items that the pending calls of a CREATE operation may create.
    fn pending_creations(&self, create: &Operation) -> usize {
        count_of(&self.pending, create) + count_of(&self.pending_refused, create)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_call_decides_whether_an_operation_is_slow() {
        let times = CallTimes::default();
        times.note("browse_beds", Duration::from_secs(7));
        times.note("browse_beds", Duration::from_millis(20));
        times.note("list_beds", Duration::from_millis(20));
        times.note("list_beds", Duration::from_secs(7));
        let is_slow = ["browse_beds", "list_beds", "get_bed"].map(|name| times.is_slow(name));
        assert_eq!(is_slow, [true, false, false]);
    }
}
