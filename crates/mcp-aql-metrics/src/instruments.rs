//! The counters and histograms of calls, executions, confirmations, sessions and the store.

use std::sync::OnceLock;
use std::time::Duration;

use mcp_aql_core::Session;
use mcp_aql_core::audit::{Confirmation, ConfirmationStep, ConfirmedBy};
use mcp_aql_core::internal::observe::{CallEvent, Recorder, StoreAccess};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::labels::{
    CallLabels, ConfirmationLabels, EndLabels, ErrorLabels, OTHER, OperationLabels, StateLabels,
    StoreLabels,
};

/// Upper bounds of the buckets for calls, in seconds.
const CALL_BUCKETS: [f64; 14] =
    [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0];
/// Upper bounds of the buckets for executions, in seconds. Executions run in the background and can take hours.
const EXECUTION_BUCKETS: [f64; 10] =
    [0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3_600.0, 14_400.0];
/// Upper bounds of the buckets for store accesses, in seconds.
const STORE_BUCKETS: [f64; 10] =
    [0.000_1, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.05, 0.25, 1.0, 5.0];

/// Creates histograms with these bucket bounds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Buckets(&'static [f64]);

impl MetricConstructor<Histogram> for Buckets {
    fn new_metric(&self) -> Histogram {
        Histogram::new(self.0.iter().copied())
    }
}

type Histograms<L> = Family<L, Histogram, Buckets>;

/// The instruments of an adapter. Clones share the same values.
#[derive(Clone)]
pub(crate) struct Instruments {
    calls: Family<CallLabels, Counter>,
    errors: Family<ErrorLabels, Counter>,
    call_duration: Histograms<OperationLabels>,
    executions_started: Family<OperationLabels, Counter>,
    executions_ended: Family<EndLabels, Counter>,
    execution_duration: Histograms<OperationLabels>,
    confirmations: Family<ConfirmationLabels, Counter>,
    store_duration: Histograms<StoreLabels>,
    store_errors: Family<StoreLabels, Counter>,
    sessions: Gauge,
    sessions_opened: Counter,
    /// Number of unfinished executions of this process, by state. Updated whenever the page is rendered.
    pub(crate) executions: Family<StateLabels, Gauge>,
}

impl Instruments {
    pub(crate) fn new() -> Self {
        Self {
            calls: Family::default(),
            errors: Family::default(),
            call_duration: Family::new_with_constructor(Buckets(&CALL_BUCKETS)),
            executions_started: Family::default(),
            executions_ended: Family::default(),
            execution_duration: Family::new_with_constructor(Buckets(&EXECUTION_BUCKETS)),
            confirmations: Family::default(),
            store_duration: Family::new_with_constructor(Buckets(&STORE_BUCKETS)),
            store_errors: Family::default(),
            sessions: Gauge::default(),
            sessions_opened: Counter::default(),
            executions: Family::default(),
        }
    }

    /// Registers the instruments. The registry appends `_total` to the names of counters.
    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register("calls", "Calls of operations", self.calls.clone());
        registry.register("errors", "Calls that were rejected or failed", self.errors.clone());
        registry.register(
            "call_duration_seconds",
            "Time from a decoded request to its reply",
            self.call_duration.clone(),
        );
        registry.register(
            "executions_started",
            "Executions that have started",
            self.executions_started.clone(),
        );
        registry.register(
            "executions_ended",
            "Executions that have ended",
            self.executions_ended.clone(),
        );
        registry.register(
            "execution_duration_seconds",
            "Time from the start of an execution to its end",
            self.execution_duration.clone(),
        );
        registry.register(
            "executions",
            "Executions of operations of this process that have not ended, without agents of the safety loop",
            self.executions.clone(),
        );
        registry.register(
            "confirmations",
            "Steps of confirmations, and who confirms",
            self.confirmations.clone(),
        );
        registry.register(
            "store_duration_seconds",
            "Time of an access to the store of the adapter's state",
            self.store_duration.clone(),
        );
        // Create the error counters with the value 0: Prometheus cannot see the increase from 0 to 1 if a counter
        // only appears with its first error.
        for access in StoreAccess::ALL {
            self.store_errors.get_or_create_owned(&StoreLabels { access: access.as_str() });
        }
        registry.register(
            "store_errors",
            "Accesses to the store that have failed",
            self.store_errors.clone(),
        );
        registry.register("sessions", "Open sessions", self.sessions.clone());
        registry.register(
            "sessions_opened",
            "Sessions that were opened",
            self.sessions_opened.clone(),
        );
    }
}

/// Decrements the number of open sessions when the session ends. It is part of the session's state, so it is dropped
/// together with the session.
#[derive(Default)]
struct SessionEnd(OnceLock<OpenSession>);

struct OpenSession(Gauge);

impl Drop for OpenSession {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Recorder for Instruments {
    fn call_ended(&self, event: &CallEvent<'_>) {
        let operation = event.operation.unwrap_or(OTHER);
        let outcome = event.outcome.as_str();
        let seconds = event.duration.as_secs_f64();
        if event.execution_id.is_some() {
            self.executions_ended.get_or_create(&EndLabels { operation, outcome }).inc();
            let duration = self.execution_duration.get_or_create(&OperationLabels { operation });
            return duration.observe(seconds);
        }
        let category = event.category.map_or(OTHER, |category| category.as_str());
        self.calls.get_or_create(&CallLabels { operation, category, outcome }).inc();
        self.call_duration.get_or_create(&OperationLabels { operation }).observe(seconds);
        if let Some(code) = event.code {
            let code = code.as_str();
            self.errors.get_or_create(&ErrorLabels { operation, code }).inc();
        }
    }

    fn execution_started(&self, operation: &'static str) {
        self.executions_started.get_or_create(&OperationLabels { operation }).inc();
    }

    fn confirmation(&self, confirmation: Confirmation) {
        let step = match confirmation.step {
            ConfirmationStep::Asked => "asked",
            ConfirmationStep::Approved => "approved",
            ConfirmationStep::Refused => "refused",
        };
        let by = match confirmation.by {
            ConfirmedBy::Token => "token",
            ConfirmedBy::User => "user",
            ConfirmedBy::Person => "person",
        };
        self.confirmations.get_or_create(&ConfirmationLabels { step, by }).inc();
    }

    fn store_accessed(&self, access: StoreAccess, duration: Duration, is_failed: bool) {
        let labels = StoreLabels { access: access.as_str() };
        self.store_duration.get_or_create(&labels).observe(duration.as_secs_f64());
        if is_failed {
            self.store_errors.get_or_create(&labels).inc();
        }
    }

    fn session_opened(&self, session: &Session) {
        self.sessions_opened.inc();
        let end = session.state::<SessionEnd>();
        end.0.get_or_init(|| {
            self.sessions.inc();
            OpenSession(self.sessions.clone())
        });
    }
}
