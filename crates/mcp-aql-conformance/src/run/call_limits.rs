//! Limits of the calls whose effects the run cannot undo, of the items that it creates, and of the time in
//! which it creates them.

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

/// The interval in which a call asks whether other calls of its operation have ended.
const WAIT_INTERVAL: Duration = Duration::from_millis(5);
/// The number of calls to remove an item: one for the confirmation, and one for the removal.
const CALLS_PER_REMOVAL: u32 = 2;
/// The time that the removal takes in addition to its calls.
const REMOVAL_MARGIN: Duration = Duration::from_secs(1);

/// The measured time of calls.
#[derive(Debug, Default)]
pub(super) struct CallTimes {
    calls: AtomicU64,
    /// The time of all calls, divided by the number of concurrent ones, in microseconds.
    micros: AtomicU64,
    /// Whether the first call of each operation took longer than `SLOW_CALL`. Later calls also take long if
    /// many of them run at once, and would make the choice of operations depend on the load.
    slow: Mutex<BTreeMap<String, bool>>,
}

/// The time of a call above which its operation is not used where any other one is suitable, because it waits
/// for another server.
const SLOW_CALL: Duration = Duration::from_secs(2);

impl CallTimes {
    /// Adds a call that took this time beside others.
    pub(super) fn add(&self, took: Duration, concurrent: usize) {
        let micros = took.as_micros() / concurrent.max(1) as u128;
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.micros.fetch_add(u64::try_from(micros).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Notes the operation of a call that took this time.
    pub(super) fn note(&self, operation: &str, took: Duration) {
        lock(&self.slow).entry(operation.to_owned()).or_insert(took > SLOW_CALL);
    }

    /// Whether the first call of an operation took long.
    fn is_slow(&self, operation: &str) -> bool {
        lock(&self.slow).get(operation).copied().unwrap_or(false)
    }

    /// The mean time for one of many concurrent calls.
    fn mean(&self) -> Duration {
        let calls = self.calls.load(Ordering::Relaxed).max(1);
        Duration::from_micros(self.micros.load(Ordering::Relaxed) / calls)
    }
}

/// The number of calls of each operation that have not ended.
type CallCounts = BTreeMap<String, usize>;

/// Calls of limited operations, and of those that create items, that have not ended. They count until this is
/// dropped.
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
    /// Whether the run cannot undo the effect of an operation: it creates items that the run cannot remove,
    /// or it acts on nothing that the run has created.
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

    /// Whether the run may delete what a CREATE operation creates.
    pub(super) fn can_remove_from(&self, create: &Operation) -> bool {
        let mut kinds = self.resources().kinds().iter();
        kinds.any(|kind| {
            let delete = kind.operation(&self.adapter, Role::Delete);
            kind.create == create.name && delete.is_some_and(|it| self.forbids(it).is_none())
        })
    }

    /// The operations of a call with the number of their items.
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
    /// The reason why the call may not be made.
    pub(crate) async fn within_limits(&self, arguments: &Value) -> Result<PendingCalls<'_>, Skip> {
        let mut called = self.called(arguments);
        called.retain(|(operation, _)| is_create(operation) || self.is_irreversible(operation));
        // The calls before may belong to a check that goes on only after this call.
        let until = Instant::now() + self.settings.limits.request;
        loop {
            if let Some(pending) = self.add_pending(&called)? {
                return Ok(pending);
            }
            if Instant::now() >= until {
                return Err(Skip::Limited(
                    "other calls that have not ended may reach the limits under [limits]"
                        .to_owned(),
                ));
            }
            tokio::time::sleep(WAIT_INTERVAL).await;
        }
    }

    /// Counts calls as pending if they keep the limits even if all other pending calls succeed.
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

    /// Counts a request that must be rejected. An adapter that does not reject it runs the operation. It does
    /// not wait for other calls, and other calls do not wait for it because of its irreversible effects: most
    /// adapters reject it.
    ///
    /// # Errors
    /// The reason why the request may not be sent.
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

    /// The number of items that the pending calls of a CREATE operation may create.
    fn pending_creations(&self, create: &Operation) -> usize {
        count_of(&self.pending, create) + count_of(&self.pending_refused, create)
    }

    /// Whether the limit does not allow so many more items that a CREATE operation creates.
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

    /// Returns an error if the run may not create so many more items, or needs the remaining time to remove
    /// those that it has created.
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

    /// The exercised READ operations except `introspect`, first those that answer fast.
    pub(crate) fn reads_by_time(&self) -> Vec<&Operation> {
        let mut reads: Vec<_> = self.adapter.reads().collect();
        reads.sort_by_key(|operation| self.call_times.is_slow(&operation.name));
        reads
    }

    /// The estimated time to remove the run's items.
    pub(crate) fn removal_time(&self) -> Duration {
        let items = u32::try_from(self.resources().left_count()).unwrap_or(u32::MAX);
        if items == 0 {
            return Duration::ZERO;
        }
        let calls = items.saturating_mul(CALLS_PER_REMOVAL);
        let time_per_call = self.call_times.mean().max(self.pacer.interval().unwrap_or_default());
        time_per_call.saturating_mul(calls).saturating_add(REMOVAL_MARGIN)
    }

    /// The time limit of the run, which is longer if the adapter limits the rate of calls.
    pub(super) fn end(&self) -> Instant {
        self.pacer.prolonged(self.until, self.settings.limits.run)
    }

    /// The reason to skip a case for which there is no time.
    pub(crate) fn out_of_time(&self) -> Skip {
        Skip::CutShort(self.pacer.out_of_time(self.settings.limits.run))
    }

    /// The time at which the checks must end, so that there is time to remove the run's items.
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
