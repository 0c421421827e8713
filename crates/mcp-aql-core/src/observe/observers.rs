//! Holds the observers and the tracer of an adapter.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::observe::call_event::CallEvent;
use crate::observe::call_tracer::CallTracer;
use crate::observe::recorder::RecorderSlot;

/// The functions that observe the calls of an adapter, its tracer, and its recorder.
#[derive(Clone, Default)]
pub(crate) struct Observers {
    functions: Vec<Arc<Observer>>,
    tracer: Option<Arc<dyn CallTracer>>,
    /// Recorder that the operator may add after the adapter was built.
    pub(crate) recorder: RecorderSlot,
}

type Observer = dyn Fn(&CallEvent<'_>) + Send + Sync;

impl Observers {
    pub(crate) fn add(&mut self, observer: impl Fn(&CallEvent<'_>) + Send + Sync + 'static) {
        self.functions.push(Arc::new(observer));
    }

    pub(crate) fn set_tracer(&mut self, tracer: Arc<dyn CallTracer>) {
        self.tracer = Some(tracer);
    }

    pub(crate) fn tracer(&self) -> Option<&Arc<dyn CallTracer>> {
        self.tracer.as_ref()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.functions.is_empty() && self.tracer.is_none() && self.recorder.get().is_none()
    }

    /// Calls all observers. If one panics, the call and the other observers are not affected.
    pub(crate) fn notify(&self, event: &CallEvent<'_>) {
        if let Some(recorder) = self.recorder.get() {
            recorder.call_ended(event);
        }
        for observer in &self.functions {
            if catch_unwind(AssertUnwindSafe(|| observer(event))).is_err() {
                tracing::error!(operation = event.operation, "a call observer panicked");
            }
        }
    }
}

impl fmt::Debug for Observers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Observers")
            .field("functions", &self.functions.len())
            .field("tracer", &self.tracer.is_some())
            .field("recorder", &self.recorder)
            .finish()
    }
}
