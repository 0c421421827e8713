//! The context of the checks: one adapter in one mode, and the calls that checks make.

mod call_limits;
mod calls;
mod connections;
mod list_cache;
mod observations;
mod permissions;
mod planned_use;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use serde_json::Value;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

use self::connections::Health;
use self::list_cache::ListCache;
use self::observations::UnreadableRequests;
use crate::adapter::{Adapter, Operation};
use crate::budget::{self, CallCounts, CallTimes, Pacer};
use crate::call::Exchange;
use crate::cases::{CaseResults, Cases};
use crate::category::Mode;
use crate::leaks;
use crate::learn::LearnError;
use crate::resources::Resources;
use crate::secrets::Secrets;
use crate::settings::Settings;
use crate::wire::{Connection, Samples, Tap, Target};

pub(crate) use self::calls::arguments;
pub(crate) use self::planned_use::PlannedUse;

/// Maximum number of concurrent cases of one check.
const CASES_AT_ONCE: usize = 16;

/// Memory limit of one walk, in KiB.
pub(crate) const MAX_WALK_KIB: usize = 12 << 10;

/// Memory limit of all concurrent walks, in KiB.
pub(crate) const MAX_WALKS_KIB: usize = 48 << 10;

/// A check that examines every call.
pub(crate) type ExchangeCheck = fn(&Run, &Exchange, &Cases);

/// The context of checks: the learned adapter, and methods for permitted calls.
pub(crate) struct Run {
    /// The learned adapter.
    pub(crate) adapter: Adapter,
    /// Permissions and fixtures.
    pub(crate) settings: Arc<Settings>,
    target: Arc<dyn Target>,
    asked_mode: Option<Mode>,
    tap: Arc<Tap>,
    connection: tokio::sync::RwLock<Arc<Connection>>,
    /// Measured durations of calls.
    call_times: CallTimes,
    /// Pending calls of operations with limits.
    pending: CallCounts,
    /// Pending requests that would create something but must be rejected.
    pending_refused: CallCounts,
    /// Serializes comparing calls with the limits and counting them.
    limits_turn: Mutex<()>,
    /// Connections in addition to the main one, at present unused.
    spares: Mutex<Vec<Connection>>,
    room: Semaphore,
    /// Paces the calls to an adapter with a rate limit.
    pub(crate) pacer: Arc<Pacer>,
    /// Limits requests of several megabytes to one at a time.
    heavy: Semaphore,
    /// Memory available to all walks through collections, in KiB.
    pub(crate) room_for_walks: Semaphore,
    /// Lists shared by checks while the data stay unchanged.
    pub(crate) lists: ListCache,
    pub(crate) until: Instant,
    /// If `true`, no further calls are made.
    is_stopped: AtomicBool,
    /// Extended deadline for calls.
    prolonged: OnceLock<Instant>,
    health: Mutex<Health>,
    /// Values in results by the name of their parameter.
    harvest: Mutex<BTreeMap<String, Vec<Value>>>,
    /// Values that identify no item, by operation and parameter.
    missing_ids: Mutex<BTreeMap<(String, String), Vec<Value>>>,
    /// File paths in errors that no request contained.
    paths: Mutex<Samples>,
    /// If `true`, results or introspection contain file paths, too. Paths are then a subject of the adapter, not a
    /// leak.
    shows_paths: AtomicBool,
    /// A string that finds items, by the search operation.
    search_texts: Mutex<BTreeMap<String, Value>>,
    /// The first operation that required confirmation.
    asks: OnceLock<String>,
    /// Operations that ran, or would have run on an existing item.
    let_run: Mutex<BTreeSet<String>>,
    /// CREATE operations called by the run to have items to read.
    planted: Mutex<BTreeSet<String>>,
    /// The resources, and the items that the run created.
    resources: Resources,
    /// If `true`, a READ operation outside the sample has a form that no exercised operation has.
    has_form_outside_sample: bool,
    /// The first reason why the error of a failure could not be read.
    unread_error: OnceLock<(&'static str, &'static str)>,
    /// Requests that the adapter may be unable to read.
    unreadable: Mutex<UnreadableRequests>,
    /// The checks that examine every call.
    every: Vec<(ExchangeCheck, Arc<Cases>)>,
}

impl std::fmt::Debug for Run {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Run").field("adapter", &self.adapter.name()).finish_non_exhaustive()
    }
}

/// The parts from which a run is built.
pub(crate) struct RunParts {
    pub(crate) adapter: Adapter,
    pub(crate) settings: Arc<Settings>,
    pub(crate) target: Arc<dyn Target>,
    pub(crate) asked_mode: Option<Mode>,
    pub(crate) tap: Arc<Tap>,
    pub(crate) connection: Connection,
    pub(crate) pacer: Arc<Pacer>,
    pub(crate) until: Instant,
    pub(crate) every: Vec<(ExchangeCheck, Arc<Cases>)>,
}

impl Run {
    pub(crate) fn new(parts: RunParts) -> Self {
        let RunParts {
            mut adapter,
            settings,
            target,
            asked_mode,
            tap,
            connection,
            pacer,
            until,
            every,
        } = parts;
        let at_once = adapter.at_once(settings.in_flight);
        let has_form_outside_sample =
            budget::select_operations(&mut adapter, &settings.file, settings.max_operations);
        let resources = Resources::of(&adapter, &settings.file);
        let shows_paths = adapter
            .operations
            .iter()
            .any(|operation| leaks::path(&operation.details().to_string()).is_some());
        Self {
            adapter,
            settings,
            target,
            asked_mode,
            tap,
            connection: tokio::sync::RwLock::new(Arc::new(connection)),
            call_times: CallTimes::default(),
            pending: CallCounts::default(),
            pending_refused: CallCounts::default(),
            limits_turn: Mutex::default(),
            spares: Mutex::default(),
            room: Semaphore::new(at_once),
            pacer,
            heavy: Semaphore::new(1),
            room_for_walks: Semaphore::new(MAX_WALKS_KIB),
            lists: ListCache::default(),
            until,
            is_stopped: AtomicBool::new(false),
            prolonged: OnceLock::new(),
            health: Mutex::default(),
            harvest: Mutex::default(),
            missing_ids: Mutex::default(),
            search_texts: Mutex::default(),
            shows_paths: AtomicBool::new(shows_paths),
            paths: Mutex::default(),
            asks: OnceLock::new(),
            let_run: Mutex::default(),
            planted: Mutex::default(),
            resources,
            has_form_outside_sample,
            unread_error: OnceLock::new(),
            unreadable: Mutex::default(),
            every,
        }
    }

    /// Waits for the turn of a check with requests of maximum size. Several of them at once would take much memory.
    pub(crate) async fn heavy(&self) -> Option<SemaphorePermit<'_>> {
        self.heavy.acquire().await.ok()
    }

    /// Returns the resources, and the items that the run created.
    pub(crate) fn resources(&self) -> &Resources {
        &self.resources
    }

    /// Returns `true` if a READ operation outside the sample may have a feature that no exercised operation has.
    pub(crate) const fn has_form_outside_sample(&self) -> bool {
        self.has_form_outside_sample
    }

    /// Returns the secrets that reports must not contain.
    pub(crate) fn secrets(&self) -> &Secrets {
        self.tap.secrets()
    }

    /// Returns the statistics of all messages so far.
    pub(crate) fn seen(&self) -> crate::wire::MessageStatistics {
        self.tap.seen()
    }

    /// Returns a name that no operation has.
    pub(crate) fn absent_operation(&self) -> String {
        let mut name = "get_conformance_probe".to_owned();
        while self.adapter.operation(&name).is_some() {
            name.push('x');
        }
        name
    }

    /// Returns a name that no parameter of this operation has.
    pub(crate) fn absent_parameter(&self, operation: &Operation) -> String {
        let mut name = "conformance_probe".to_owned();
        while operation.parameter(&name).is_some() {
            name.push('x');
        }
        name
    }
}

/// Runs all futures, some of them concurrently.
///
/// The futures are collected first: a lazy iterator would make the returned future not `Send`.
pub(crate) fn do_all<F: Future<Output = ()>>(jobs: impl IntoIterator<Item = F>) -> All<F> {
    let jobs: Vec<F> = jobs.into_iter().collect();
    stream::iter(jobs).for_each_concurrent(CASES_AT_ONCE, std::convert::identity)
}

type All<F> = stream::ForEachConcurrent<stream::Iter<std::vec::IntoIter<F>>, F, fn(F) -> F>;

/// The results of one mode.
pub(crate) struct ModeResults {
    pub(crate) adapter: Adapter,
    pub(crate) asked: Option<Mode>,
    pub(crate) collected: BTreeMap<&'static str, CaseResults>,
    /// Items that the run created and could not remove.
    pub(crate) left_behind: Vec<String>,
    /// Operations with at least one successful call.
    pub(crate) called: BTreeSet<String>,
}

/// The results of all modes.
pub(crate) struct RunResults {
    pub(crate) surfaces: Vec<ModeResults>,
    /// Reasons why modes could not be learned. The mode `None` is the adapter as started.
    pub(crate) unlearned: Vec<(Option<Mode>, LearnError)>,
    /// Results of checks that compare modes.
    pub(crate) collected: BTreeMap<&'static str, CaseResults>,
    pub(crate) took: Duration,
    /// If `true`, the run was interrupted and results are missing.
    pub(crate) is_interrupted: bool,
}
