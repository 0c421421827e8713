//! Property tests: random events in two processes with a shared store. The rules of the state machine are checked after
//! each event.

use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::FutureExt as _;
use mcp_aql_protocol::TrustLevel;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::value::RawValue;

use super::execution_store::{ExecutionStore, RecordUpdate};
use super::options::ExecutionOptions;
use super::output_budget::OutputBudget;
use super::payload::ExecutionError;
use super::record::{Ending, ExecutionRecord, Ownership};
use super::status::Status;
use crate::error::OperationError;
use crate::observe::audit::Audit;
use crate::services::Services;
use crate::store::MemoryState;
use crate::util::clock::{TimeSource, after};

const LEASE: Duration = Duration::from_secs(10);

/// An event in the life of an execution. The number identifies the process.
#[derive(Debug, Clone)]
enum Event {
    Start(usize),
    Renew(usize),
    Complete(usize),
    Fail(usize),
    Stop(usize),
    AskToStop,
    Retry(usize),
    Read(usize),
    Crash(usize),
    Clock(i64),
}

fn event() -> impl Strategy<Value = Event> {
    let process = 0..2_usize;
    prop_oneof![
        process.clone().prop_map(Event::Start),
        process.clone().prop_map(Event::Renew),
        process.clone().prop_map(Event::Complete),
        process.clone().prop_map(Event::Fail),
        process.clone().prop_map(Event::Stop),
        Just(Event::AskToStop),
        process.clone().prop_map(Event::Retry),
        process.clone().prop_map(Event::Read),
        process.prop_map(Event::Crash),
        (-15..25_i64).prop_map(Event::Clock),
    ]
}

/// A process, with the execution it believes to be running.
struct Process {
    store: ExecutionStore,
    name: String,
    runs: Option<Ownership>,
}

struct World {
    clock: Arc<AtomicI64>,
    processes: Vec<Process>,
}

const ID: &str = "exec_1";

fn ready<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("a store in memory never waits")
}

impl World {
    fn new() -> Self {
        let clock = Arc::new(AtomicI64::new(0));
        let store = Arc::new(MemoryState::default());
        let epoch: DateTime<Utc> = "2031-05-06T07:00:00Z".parse().unwrap();
        let time = {
            let clock = Arc::clone(&clock);
            TimeSource::new(move || epoch + TimeDelta::seconds(clock.load(Ordering::SeqCst)))
        };
        let process = |number: usize| {
            let audit = Audit {
                adapter: "beds".to_owned(),
                trust: TrustLevel::Untested,
                time: time.clone(),
                sinks: Vec::new(),
                observers: Vec::new(),
            };
            let store: Arc<dyn crate::store::StateStore> = Arc::<MemoryState>::clone(&store);
            let services = Arc::new(Services::new(store, time.clone(), audit));
            let store = ExecutionStore {
                services,
                adapter: "beds".to_owned(),
                keep: Duration::from_secs(86_400),
                budget: OutputBudget::new(&ExecutionOptions::new()),
            };
            Process { store, name: format!("p-{number}"), runs: None }
        };
        let mut world = Self { clock, processes: vec![process(0), process(1)] };
        let first = &mut world.processes[0];
        let lease_until = after(first.store.now(), LEASE);
        let pending =
            ExecutionRecord::pending("beds", "execute_watering", &first.name, lease_until);
        let record = ExecutionRecord { params: Some(serde_json::Map::new()), ..pending };
        ready(first.store.insert(ID, &record)).unwrap();
        first.runs = Some(Ownership { owner: first.name.clone(), attempt: 1 });
        world
    }

    /// Returns the record as stored.
    fn raw(&self) -> ExecutionRecord {
        let store = &self.processes[0].store;
        ready(store.update(ID, |record, _| RecordUpdate::Leave(record.clone()))).unwrap().unwrap()
    }

    fn change(&self, process: usize, ending: Option<Ending>) -> bool {
        let process = &self.processes[process];
        let Some(ownership) = &process.runs else { return true };
        let changed = process.store.update(ID, |record, now| {
            if !record.is_held_by(ownership) {
                return RecordUpdate::Leave(false);
            }
            let made = match ending.clone() {
                Some(ending) => record.finish(ending, now).is_ok(),
                None => {
                    record.lease_until = after(now, LEASE);
                    true
                }
            };
            if made { RecordUpdate::Write(true) } else { RecordUpdate::Leave(false) }
        });
        ready(changed).unwrap().unwrap()
    }

    fn happen(&mut self, event: &Event) {
        match event {
            Event::Start(process) => {
                let process = &self.processes[*process];
                let Some(ownership) = process.runs.clone() else { return };
                let started = process.store.update(ID, |record, now| {
                    if record.is_held_by(&ownership) && record.start(now).is_ok() {
                        RecordUpdate::Write(())
                    } else {
                        RecordUpdate::Leave(())
                    }
                });
                ready(started).unwrap();
            }
            Event::Renew(process) => {
                // A fenced process stops.
                if !self.change(*process, None) {
                    self.processes[*process].runs = None;
                }
            }
            Event::Complete(process) => {
                let result = RawValue::from_string("7".to_owned()).unwrap();
                self.change(*process, Some(Ending::Completed(result)));
                self.processes[*process].runs = None;
            }
            Event::Fail(process) => {
                let error = ExecutionError::of(&OperationError::not_found("bed", "b"));
                self.change(*process, Some(Ending::Failed(error)));
                self.processes[*process].runs = None;
            }
            Event::Stop(process) => {
                self.change(*process, Some(Ending::Cancelled));
                self.processes[*process].runs = None;
            }
            Event::AskToStop => {
                let asked = self.processes[1].store.update(ID, |record, _| {
                    if record.status.is_final() {
                        return RecordUpdate::Leave(());
                    }
                    record.cancel_requested = true;
                    RecordUpdate::Write(())
                });
                ready(asked).unwrap();
            }
            Event::Retry(process) => {
                let process = &mut self.processes[*process];
                let name = process.name.clone();
                let params = ready(process.store.output(ID)).unwrap().and_then(|it| it.params);
                let retried = process.store.update(ID, |record, now| {
                    match record.retry(&name, None, now, LEASE) {
                        Ok(()) => {
                            record.params.clone_from(&params);
                            RecordUpdate::Write(Some(record.attempt))
                        }
                        Err(_) => RecordUpdate::Leave(None),
                    }
                });
                if let Some(attempt) = ready(retried).unwrap().unwrap() {
                    process.runs = Some(Ownership { owner: name, attempt });
                }
            }
            Event::Read(process) => {
                let process = &self.processes[*process];
                let runs = |_: &str, attempt| {
                    process.runs.as_ref().is_some_and(|ownership| ownership.attempt == attempt)
                };
                ready(process.store.get(ID, &runs)).unwrap();
            }
            Event::Crash(process) => self.processes[*process].runs = None,
            Event::Clock(seconds) => {
                self.clock.fetch_add(*seconds, Ordering::SeqCst);
            }
        }
    }
}

fn is_allowed(before: &ExecutionRecord, after: &ExecutionRecord) -> bool {
    use Status::{Cancelled, Completed, Failed, Pending, Running};
    match (before.status, after.status) {
        (same, other) if same == other => before.attempt == after.attempt,
        (Failed, Running) => after.attempt == before.attempt + 1,
        // An execution that ends before its start was written is started in the same update.
        (Pending, Running | Cancelled) | (Running, Completed | Failed | Cancelled) => {
            before.attempt == after.attempt
        }
        (Pending, Completed | Failed) => {
            before.attempt == after.attempt && after.started_at.is_some()
        }
        _ => false,
    }
}

fn cases(usual: u32) -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig {
        cases: cases.unwrap_or(usual),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Set `PROPTEST_CASES` to run more cases. With `--nocapture`, the test prints the number of events.
#[test]
fn no_event_leads_where_none_may_lead() {
    // REQ-LIF-02, REQ-LIF-03, REQ-LIF-10
    let begun = std::time::Instant::now();
    let (happened, transitions) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let mut runner = TestRunner::new(cases(1_000));
    let tried = runner.run(&proptest::collection::vec(event(), 1..50), |events| {
        let mut world = World::new();
        let mut after = world.raw();
        for event in &events {
            let before = after;
            world.happen(event);
            after = world.raw();
            let moved = before.status != after.status;
            transitions.fetch_add(usize::from(moved), Ordering::Relaxed);
            prop_assert!(is_allowed(&before, &after), "{event:?}: {before:?} to {after:?}");
            prop_assert_eq!(after.status.is_final(), after.finished_at.is_some());
            prop_assert_eq!(after.status == Status::Failed, after.error.is_some());
            // The output is stored separately, and only while a caller can need it.
            let output = ready(world.processes[0].store.output(ID)).unwrap();
            let output =
                output.map_or((false, false), |it| (it.result.is_some(), it.params.is_some()));
            let kept = (after.status == Status::Completed, after.status == Status::Failed);
            prop_assert_eq!((output, after.output_bytes > 0), (kept, kept.0 || kept.1));
            prop_assert_eq!(after.params.is_some(), !after.status.is_final());
            prop_assert!(after.result.is_none());
            if after.status.is_final() && before.status == after.status {
                prop_assert_eq!(
                    serde_json::to_string(&before).unwrap(),
                    serde_json::to_string(&after).unwrap(),
                    "{:?} changed what was over",
                    event
                );
            }
            let holders = world
                .processes
                .iter()
                .filter(|process| process.runs.as_ref().is_some_and(|it| after.is_held_by(it)));
            prop_assert!(holders.count() <= 1);
        }
        // Both processes have crashed. Once their leases have expired, one read ends the execution.
        for process in &mut world.processes {
            process.runs = None;
        }
        world.clock.fetch_add(1_000, Ordering::SeqCst);
        let found = ready(world.processes[1].store.get(ID, &|_, _| false)).unwrap().unwrap();
        prop_assert!(found.status.is_final(), "{found:?}");
        prop_assert!(world.raw().status.is_final());
        happened.fetch_add(events.len(), Ordering::Relaxed);
        Ok(())
    });
    if let Err(error) = tried {
        panic!("{error}\n{runner}");
    }
    eprintln!("{happened:?} events, {transitions:?} transitions in {:?}", begun.elapsed());
    assert!(transitions.into_inner() > 100, "too little happened");
}

#[test]
fn of_many_retries_one_is_made() {
    // REQ-LIF-02
    let mut world = World::new();
    world.happen(&Event::Fail(0));
    let won = Mutex::new(0);
    std::thread::scope(|scope| {
        for process in world.processes.iter().cycle().take(64) {
            let won = &won;
            scope.spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                let retried = runtime.block_on(process.store.update(ID, |record, now| {
                    match record.retry(&process.name, None, now, LEASE) {
                        Ok(()) => RecordUpdate::Write(true),
                        Err(_) => RecordUpdate::Leave(false),
                    }
                }));
                *won.lock().unwrap() += u32::from(retried.unwrap().unwrap());
            });
        }
    });
    assert_eq!(*won.lock().unwrap(), 1);
    assert_eq!(world.raw().attempt, 2);
}
