//! Tests of executions in two processes with a shared store.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use mcp_aql_protocol::{SizeLimits, TrustLevel};
use tokio::time::{Instant, sleep};

use super::execution_store::{ExecutionStore, RecordUpdate};
use super::output::DropScope;
use super::*;
use crate::error::OperationError;
use crate::observe::audit::Audit;
use crate::operation::{
    CallScope, Context, Envelope, ExecutionContext, OperationReturn as _, Outcome, ReplyWriter,
};
use crate::store::hooked::{Hook, Hooked, HookedCall};
use crate::store::{Change, Expected, MemoryState, NewRecord, StateStore};
use crate::util::clock::TimeSource;
use crate::vocab::ReplyLimits;

const SECOND: Duration = Duration::from_secs(1);

/// Returns a wall clock that follows tokio's paused clock.
fn time() -> TimeSource {
    let epoch: DateTime<Utc> = "2031-05-06T07:00:00Z".parse().unwrap();
    let start = Instant::now();
    TimeSource::new(move || epoch + TimeDelta::from_std(start.elapsed()).unwrap())
}

fn process<S: StateStore>(store: &Arc<S>, time: &TimeSource) -> Executions {
    process_with(store, time, ExecutionOptions::new())
}

fn process_with<S: StateStore>(
    store: &Arc<S>,
    time: &TimeSource,
    options: ExecutionOptions,
) -> Executions {
    let audit = Audit {
        adapter: "beds".to_owned(),
        trust: TrustLevel::Untested,
        time: time.clone(),
        sinks: Vec::new(),
        observers: Vec::new(),
    };
    let store: Arc<dyn StateStore> = Arc::<S>::clone(store);
    let services = Arc::new(Services::new(store, time.clone(), audit));
    Executions::new(services, "beds".to_owned(), options)
}

fn new<'a>(process: &Executions, operation: &'a str) -> NewExecution<'a> {
    NewExecution {
        operation,
        principal: None,
        session: None,
        slot: process.slot(None).unwrap(),
        params: Some(Map::new()),
        secret: false,
        starts_immediately: false,
        audit_params: None,
    }
}

fn works<F>(function: impl FnOnce(ExecutionContext) -> F + Send + 'static) -> Work
where
    F: Future<Output = Outcome> + Send + 'static,
{
    Box::new(move |execution, begin| {
        Box::pin(async move {
            begin.mark_started().await?;
            function(execution).await
        })
    })
}

fn seven() -> Outcome {
    7_u8.write(ReplyWriter::new(&Envelope::Bare, ReplyLimits::new(&SizeLimits::default())))
}

/// Returns a result of this size.
fn large(bytes: usize) -> Outcome {
    let writer = ReplyWriter::new(&Envelope::Bare, ReplyLimits::new(&SizeLimits::default()));
    "x".repeat(bytes).write(writer)
}

async fn status(executions: &Executions, id: &str) -> Status {
    executions.get(id).await.unwrap().unwrap().status
}

/// Returns the result of a completed execution.
async fn result(executions: &Executions, id: &str) -> String {
    let mut record = executions.get(id).await.unwrap().unwrap();
    assert_eq!((record.status, record.result.is_none()), (Status::Completed, true));
    executions.read_output(id, &mut record).await.unwrap();
    record.result.unwrap().get().to_owned()
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_renewed_as_long_as_it_runs() {
    // REQ-LIF-02
    let (store, time) = (Arc::<MemoryState>::default(), time());
    let (here, there) = (process(&store, &time), process(&store, &time));
    let work = works(|_| async {
        sleep(1_000 * SECOND).await;
        seven()
    });
    let id = here.begin(new(&here, "execute_watering"), work).await.unwrap();
    for _ in 0..99 {
        sleep(10 * SECOND).await;
        assert_eq!(status(&there, &id).await, Status::Running);
    }
    sleep(11 * SECOND).await;
    assert_eq!(result(&there, &id).await, "7");
}

#[tokio::test(start_paused = true)]
async fn another_process_may_stop_it() {
    // REQ-LIF-02, REQ-LIF-08
    let (store, time) = (Arc::<MemoryState>::default(), time());
    let (here, there) = (process(&store, &time), process(&store, &time));
    let work = works(|execution| async move {
        execution.progress(1.0, 4.0, "north").await;
        execution.cancelled().await;
        seven()
    });
    let id = here.begin(new(&here, "execute_watering"), work).await.unwrap();
    sleep(SECOND).await;
    assert!(there.request_stop(&id).await.unwrap());
    let context = Context::new(CallScope::default());
    there.wait(&id, &context, there.stop_timeout()).await.unwrap();
    let record = there.get(&id).await.unwrap().unwrap();
    assert_eq!(record.status, Status::Cancelled);
    assert_eq!(record.progress.unwrap().ratio(), Some(0.25), "the last progress is kept");
    assert!(!there.request_stop(&id).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn whoever_was_taken_for_gone_stops_and_writes_nothing() {
    // REQ-LIF-03
    let (store, time) = (Arc::<MemoryState>::default(), time());
    let (here, there) = (process(&store, &time), process(&store, &time));
    let finished = Arc::new(AtomicBool::new(false));
    let work = works({
        let finished = Arc::clone(&finished);
        |_| async move {
            sleep(60 * SECOND).await;
            finished.store(true, Ordering::SeqCst);
            seven()
        }
    });
    let id = here.begin(new(&here, "execute_watering"), work).await.unwrap();
    sleep(SECOND).await;
    // Simulates a suspended process.
    let slept = here.core.store.update(&id, |record, now| {
        record.lease_until = now - TimeDelta::seconds(1);
        RecordUpdate::Write(())
    });
    slept.await.unwrap();
    let record = there.get(&id).await.unwrap().unwrap();
    assert_eq!(record.status, Status::Failed);
    assert_eq!(record.error.unwrap().details()["reason"], "interrupted");
    let work = works(|_| async { seven() });
    let failed = there.get(&id).await.unwrap().unwrap();
    let place = (None, there.slot(None).unwrap());
    assert!(there.start_retry(&id, &failed, place, work).await.unwrap());
    sleep(100 * SECOND).await;
    assert!(!finished.load(Ordering::SeqCst), "the first attempt went on");
    let record = here.get(&id).await.unwrap().unwrap();
    assert_eq!((record.status, record.attempt), (Status::Completed, 2));
    assert!(here.core.running.all().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_a_crash_left_behind_ends_without_a_reader() {
    // REQ-LIF-10
    let (store, time) = (Arc::<MemoryState>::default(), time());
    let (here, there) = (process(&store, &time), process(&store, &time));
    let work = works(|_| async {
        sleep(1_000 * SECOND).await;
        seven()
    });
    let id = here.begin(new(&here, "execute_watering"), work).await.unwrap();
    sleep(SECOND).await;
    // Simulates a crash: the tasks are gone, and the record is unchanged.
    for live in here.core.running.all() {
        live.fenced.cancel();
    }
    there.recover();
    sleep(5 * SECOND).await;
    let raw = async || {
        let read = there.core.store.update(&id, |record, _| RecordUpdate::Leave(record.status));
        read.await.unwrap().unwrap()
    };
    assert_eq!(raw().await, Status::Running, "its lease still stands");
    sleep(10 * SECOND).await;
    assert_eq!(raw().await, Status::Failed);
}

#[tokio::test(start_paused = true)]
async fn a_crash_is_noticed_by_a_process_that_has_run_for_long() {
    // REQ-LIF-10
    let (store, time) = (Arc::<MemoryState>::default(), time());
    let (here, there) = (process(&store, &time), process(&store, &time));
    there.recover();
    sleep(SECOND).await;
    let forever = works(|_| std::future::pending());
    let id = here.begin(new(&here, "execute_watering"), forever).await.unwrap();
    sleep(SECOND).await;
    for live in here.core.running.all() {
        live.fenced.cancel();
    }
    sleep(lease::SWEEP_INTERVAL).await;
    let work = works(|_| async { seven() });
    there.begin(new(&there, "execute_watering"), work).await.unwrap();
    sleep(SECOND).await;
    let read = there.core.store.update(&id, |record, _| RecordUpdate::Leave(record.status));
    assert_eq!(read.await.unwrap().unwrap(), Status::Failed);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_adapter_is_the_end_of_what_runs() {
    // REQ-LIF-10
    let (store, time) = (Arc::<MemoryState>::default(), time());
    let (here, there) = (process(&store, &time), process(&store, &time));
    let forever = || works(|_| std::future::pending());
    let id = here.begin(new(&here, "execute_watering"), forever()).await.unwrap();
    sleep(SECOND).await;
    let begun = Instant::now();
    here.end(EndScope::EndedSessions).await;
    assert_eq!(status(&here, &id).await, Status::Running, "it has no session");
    here.end(EndScope::All).await;
    assert_eq!(begun.elapsed(), 5 * SECOND, "the grace period");
    assert_eq!(status(&there, &id).await, Status::Cancelled);

    let id = here.begin(new(&here, "execute_watering"), forever()).await.unwrap();
    sleep(SECOND).await;
    drop(here);
    sleep(6 * SECOND).await;
    assert_eq!(status(&there, &id).await, Status::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn what_is_over_is_forgotten_after_its_time() {
    // REQ-LIF-04
    let (store, time) = (Arc::<MemoryState>::default(), time());
    let here = process(&store, &time);
    let done = || works(|_| async { seven() });
    let id = here.begin(new(&here, "execute_watering"), done()).await.unwrap();
    sleep(23 * 3_600 * SECOND).await;
    assert_eq!(status(&here, &id).await, Status::Completed);
    sleep(2 * 3_600 * SECOND).await;
    assert!(here.get(&id).await.unwrap().is_none());
    here.begin(new(&here, "execute_watering"), done()).await.unwrap();
    sleep(SECOND).await;
    for collection in ["executions", "execution_outputs", "execution_sizes"] {
        let kept = StateStore::list(&*store, collection, None, None, 9).await.unwrap();
        assert_eq!(kept.len(), 1, "{collection}: the old one is gone for good");
    }
}

/// Returns the ids of the executions whose outputs are stored.
async fn kept(store: &MemoryState) -> Vec<String> {
    let outputs = StateStore::list(store, "execution_outputs", None, None, 999).await.unwrap();
    outputs.into_iter().map(|output| output.key).collect()
}

#[tokio::test(start_paused = true)]
async fn the_results_that_ended_first_are_dropped_first() {
    // REQ-LIF-04
    /// Size of a result. Three of them exceed the smallest budget.
    const BYTES: usize = 400_000;
    // The limits, the callers of the executions in the order of their ends, and the executions whose outputs are kept.
    for (all, per_caller, callers, expected) in [
        (9 << 20, 1 << 20, "aaaa", &[2, 3][..]),
        (9 << 20, 1 << 20, "babaaa", &[0, 2, 4, 5]),
        (1 << 20, 9 << 20, "abcd", &[2, 3]),
        (1 << 20, 1 << 20, "aaab", &[2, 3]),
        // A caller that uses little keeps its output, although it is the oldest.
        (2 << 20, 1 << 20, "abbccdd", &[0, 2, 4, 5, 6]),
        (2 << 20, 1 << 20, "bbcacdd", &[1, 3, 4, 5, 6]),
    ] {
        let (store, time) = (Arc::<MemoryState>::default(), time());
        let options = ExecutionOptions::new().keep_bytes(all).keep_bytes_per_caller(per_caller);
        let here = process_with(&store, &time, options);
        let mut ids = Vec::new();
        // The first execution to start is the last one to end.
        for (number, caller) in callers.char_indices().rev() {
            let work = works(move |_| async move {
                sleep(u32::try_from(20 + number).unwrap() * SECOND).await;
                large(BYTES)
            });
            let new = NewExecution {
                principal: Some(Principal::new("issuer", &caller.to_string())),
                ..new(&here, "execute_watering")
            };
            ids.insert(0, here.begin(new, work).await.unwrap());
            sleep(Duration::from_millis(2)).await;
        }
        sleep(100 * SECOND).await;
        let kept = kept(&store).await;
        let found: Vec<_> = (0..ids.len()).filter(|number| kept.contains(&ids[*number])).collect();
        assert_eq!(found, expected, "{callers}");
        for (number, id) in ids.iter().enumerate() {
            let record = here.get(id).await.unwrap().unwrap();
            assert_eq!(record.output_dropped, !expected.contains(&number), "{callers} {number}");
        }
        let sizes = StateStore::list(&*store, "execution_sizes", None, None, 99).await.unwrap();
        assert_eq!(sizes.len(), ids.len(), "{callers}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_executions_that_ended_first_are_removed_first() {
    // REQ-LIF-04
    /// The executions that the smallest budget keeps of a caller.
    const KEPT: usize = 256;
    /// The executions after which a process checks the budget.
    const INTERVAL: usize = KEPT / 8;
    let (store, time) = (Arc::<MemoryState>::default(), time());
    let options = ExecutionOptions::new().keep_bytes_per_caller(1 << 20);
    let here = process_with(&store, &time, options);
    let begin = async |caller: &str, work: Work| {
        let principal = Some(Principal::new("issuer", caller));
        let new = NewExecution { principal, ..new(&here, "execute_watering") };
        let id = here.begin(new, work).await.unwrap();
        sleep(Duration::from_millis(2)).await;
        id
    };
    let of_other = begin("bo", works(|_| async { seven() })).await;
    let running = begin("ada", works(|_| std::future::pending())).await;
    let mut ended = Vec::new();
    for number in 0..400 {
        // Every second execution has no output.
        let work = works(move |execution| async move {
            if number % 2 == 0 {
                execution.cancelled().await;
            }
            seven()
        });
        let id = begin("ada", work).await;
        if number % 2 == 0 {
            assert!(here.request_stop(&id).await.unwrap());
            sleep(Duration::from_millis(2)).await;
        }
        ended.push(id);
    }
    for collection in ["executions", "execution_sizes"] {
        let kept = StateStore::list(&*store, collection, None, None, 999).await.unwrap();
        assert!((KEPT..KEPT + INTERVAL + 2).contains(&kept.len()), "{collection}: {}", kept.len());
    }
    assert!(kept(&store).await.len() <= KEPT / 2 + INTERVAL);
    assert_eq!(status(&here, &running).await, Status::Running);
    assert_eq!(result(&here, &of_other).await, "7", "another caller's");
    for (number, id) in ended.iter().enumerate() {
        let found = here.get(id).await.unwrap();
        let is_kept = number + KEPT >= ended.len();
        assert!(found.is_some() || !is_kept, "{number}");
        assert!(found.is_none() || number + KEPT + INTERVAL >= ended.len(), "{number}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_that_is_larger_than_the_budget_can_be_read() {
    // REQ-LIF-04
    let (store, time) = (Arc::<MemoryState>::default(), time());
    let options = ExecutionOptions::new().keep_bytes(1 << 20).keep_bytes_per_caller(1 << 20);
    let here = process_with(&store, &time, options);
    for _ in 0..3 {
        let work = works(|_| async { large(2 << 20) });
        let id = here.begin(new(&here, "execute_watering"), work).await.unwrap();
        sleep(SECOND).await;
        assert_eq!(kept(&store).await, [id], "only the newest");
    }
}

/// Delays the next write if it is set.
#[derive(Default)]
struct SlowWrite(AtomicBool);

impl Hook for SlowWrite {
    type Held = ();

    async fn before(&self, access: HookedCall) -> Result<(), StoreError> {
        if access == HookedCall::Write && self.0.swap(false, Ordering::SeqCst) {
            sleep(20 * SECOND).await;
        }
        Ok(())
    }
}

/// Runs an execution that fails. Returns its id, its record and the key of its output.
async fn failed(executions: &Executions) -> (String, ExecutionRecord, String) {
    let work = works(|_| async { Err(OperationError::not_found("bed", "b")) });
    let id = executions.begin(new(executions, "execute_watering"), work).await.unwrap();
    sleep(SECOND).await;
    let mut record = executions.get(&id).await.unwrap().unwrap();
    let key = ExecutionStore::size_key(&id, &record).unwrap();
    executions.read_output(&id, &mut record).await.unwrap();
    (id, record, key)
}

#[tokio::test(start_paused = true)]
async fn the_output_of_a_retry_is_not_dropped_in_place_of_an_older_one() {
    // REQ-LIF-04
    const SIZES: &str = "execution_sizes";
    let (store, time) = (Arc::new(Hooked::new(SlowWrite::default())), time());
    let here = process(&store, &time);
    let (id, record, old) = failed(&here).await;
    let work = works(|_| async {
        sleep(10 * SECOND).await;
        seven()
    });
    let place = (None, here.slot(None).unwrap());
    assert!(here.start_retry(&id, &record, place, work).await.unwrap());
    sleep(SECOND).await;
    // The size was read before the retry. The retry ends between the read and the write of `drop_ended`.
    store.hook.0.store(true, Ordering::SeqCst);
    here.core.store.drop_ended(&old, DropScope::Output).await.unwrap();
    assert_eq!(result(&here, &id).await, "7");
    // The same after the end of the retry.
    let stale = Change::put(SIZES, &old, Expected::Any, NewRecord::new("{}"));
    assert!(store.write(vec![stale]).await.unwrap());
    here.core.store.drop_ended(&old, DropScope::Output).await.unwrap();
    assert_eq!(result(&here, &id).await, "7");
    let sizes = store.list(SIZES, None, None, 9).await.unwrap();
    assert!(sizes.len() == 1 && sizes[0].key != old, "{sizes:?}");
}

#[tokio::test(start_paused = true)]
async fn a_damaged_record_does_not_stop_the_budget() {
    // REQ-LIF-04
    let (store, time) = (Arc::<MemoryState>::default(), time());
    let run = async |here: &Executions| {
        let work = works(|_| async { large(400_000) });
        let id = here.begin(new(here, "execute_watering"), work).await.unwrap();
        sleep(SECOND).await;
        id
    };
    let here = process(&store, &time);
    let ids = [run(&here).await, run(&here).await, run(&here).await];
    let damage = Change::put("executions", &ids[1], Expected::Any, NewRecord::new("damaged"));
    assert!(StateStore::write(&*store, vec![damage]).await.unwrap());
    let options = ExecutionOptions::new().keep_bytes_per_caller(1 << 20);
    let newest = run(&process_with(&store, &time, options)).await;
    assert_eq!(kept(&store).await, [newest, ids[2].clone()], "the newest two");
    let sizes = StateStore::list(&*store, "execution_sizes", None, None, 9).await.unwrap();
    assert_eq!(sizes.len(), 3, "those of the damaged record are gone");
}

#[tokio::test(start_paused = true)]
async fn a_retry_keeps_the_parameters_that_it_was_validated_with() {
    // REQ-LIF-02
    let (store, time) = (Arc::<MemoryState>::default(), time());
    let here = process(&store, &time);
    let (id, record, output) = failed(&here).await;
    here.core.store.drop_ended(&output, DropScope::Output).await.unwrap();
    let work = works(|_| async { Err(OperationError::not_found("bed", "b")) });
    let place = (None, here.slot(None).unwrap());
    assert!(here.start_retry(&id, &record, place, work).await.unwrap());
    sleep(SECOND).await;
    let mut again = here.get(&id).await.unwrap().unwrap();
    here.read_output(&id, &mut again).await.unwrap();
    assert_eq!((again.attempt, again.params), (2, Some(Map::new())));
}

/// Makes every access fail while it is set.
#[derive(Default)]
struct Outage(AtomicBool);

impl Hook for Outage {
    type Held = ();

    async fn before(&self, _: HookedCall) -> Result<(), StoreError> {
        match self.0.load(Ordering::SeqCst) {
            true => Err(StoreError::failed("connection refused")),
            false => Ok(()),
        }
    }
}

impl Outage {
    fn set(&self, fails: bool) {
        self.0.store(fails, Ordering::SeqCst);
    }
}

#[tokio::test(start_paused = true)]
async fn an_outcome_survives_an_outage_that_is_longer_than_the_lease() {
    // REQ-LIF-02, REQ-LIF-03
    let (store, time) = (Arc::new(Hooked::new(Outage::default())), time());
    let (here, there) = (process(&store, &time), process(&store, &time));
    let begin = async |length: u32| {
        let work = works(move |_| async move {
            sleep(length * SECOND).await;
            seven()
        });
        here.begin(new(&here, "execute_watering"), work).await.unwrap()
    };
    let (early, late) = (begin(5).await, begin(60).await);
    sleep(SECOND).await;
    store.hook.set(true);
    for _ in 0..50 {
        sleep(SECOND).await;
        assert!(there.get(&early).await.is_err() && here.get(&early).await.is_err());
    }
    store.hook.set(false);
    // The lease has expired long ago, but the other process leaves the execution to its owner.
    let record = there.get(&early).await.unwrap().unwrap();
    assert_eq!(record.status, Status::Running);
    assert_eq!(status(&here, &early).await, Status::Running);
    sleep(SECOND).await;
    for process in [&here, &there] {
        assert_eq!(result(process, &early).await, "7");
    }
    // A function that had not ended by then was dropped, because another process could have retried it.
    sleep(10 * SECOND).await;
    let record = there.get(&late).await.unwrap().unwrap();
    assert_eq!(record.error.unwrap().details()["reason"], "interrupted");
    assert!(here.core.running.all().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_process_that_starts_during_an_outage_ends_what_a_crash_left_behind() {
    // REQ-LIF-10
    let (store, time) = (Arc::new(Hooked::new(Outage::default())), time());
    let (here, there) = (process(&store, &time), process(&store, &time));
    let forever = works(|_| std::future::pending());
    let id = here.begin(new(&here, "execute_watering"), forever).await.unwrap();
    sleep(SECOND).await;
    for live in here.core.running.all() {
        live.fenced.cancel();
    }
    store.hook.set(true);
    assert!(there.get(&id).await.is_err());
    sleep(20 * SECOND).await;
    assert!(there.get(&id).await.is_err());
    store.hook.set(false);
    assert_eq!(status(&there, &id).await, Status::Running);
    sleep(11 * SECOND).await;
    // Nothing reads the execution, so the check of the start is repeated.
    let read = there.core.store.update(&id, |record, _| RecordUpdate::Leave(record.status));
    assert_eq!(read.await.unwrap().unwrap(), Status::Failed);
}
