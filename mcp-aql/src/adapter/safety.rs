//! The safety loop of an adapter.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Adapter, Parts, Settings};
use crate::approvals::Approvals;
use crate::audit::AuditSink;
use crate::human_channel::Operator;
use crate::operation::{Handler, OperationSpec};
use crate::router::Entry;
use crate::safety_loop::{
    self, AgentPolicies, ApprovalQueue, LoopMode, RecentAudit, SafetyCore, SafetyLoop,
};
use crate::services::Services;
use crate::store::{SqliteStore, Store};

/// The advice for operations that a person must confirm.
pub(super) const CHANNEL_ADVICE: &str = "add `.safety_loop(…)` with a `.channel(…)`";

/// The safety loop before the services exist that it uses.
pub(super) struct PreparedSafety(Option<(RecentAudit, AgentPolicies)>);

impl PreparedSafety {
    /// Compiles the policies of the safety loop.
    pub(super) fn new(settings: &Settings, problems: &mut Vec<String>) -> Self {
        let safety = settings.safety.as_ref();
        Self(safety.map(|safety| (RecentAudit::default(), safety.compile(problems))))
    }

    /// The receiver of audit entries for the console.
    pub(super) fn audit_sink(&self) -> Option<Arc<dyn AuditSink>> {
        self.0.as_ref().map(|(recent, _)| Arc::new(recent.clone()) as _)
    }

    /// Starts the safety loop.
    pub(super) fn start(self, settings: &Settings, services: &Arc<Services>) -> Safety {
        let parts = settings.safety.as_ref().zip(self.0);
        Safety(parts.map(|(safety, (recent, policies))| {
            Arc::new(SafetyCore::new(safety, policies, recent, Arc::clone(services)))
        }))
    }
}

/// The safety loop, if the adapter has one.
pub(crate) struct Safety(Option<Arc<SafetyCore>>);

impl Safety {
    /// The operations of the safety loop.
    pub(super) fn operations(&self) -> Vec<(OperationSpec, Handler)> {
        self.0.as_ref().map(safety_loop::operations).unwrap_or_default()
    }

    /// Sets the danger levels of the author's operations.
    pub(super) fn set_operations<'a>(&self, own: impl Iterator<Item = &'a Entry>) {
        if let Some(core) = &self.0 {
            let levels = own.map(|own| (own.operation.spec.name.to_owned(), own.gate.danger));
            core.set_operations(levels.collect());
        }
    }

    /// The approvals by people.
    pub(super) fn approvals(&self) -> Option<Arc<dyn Approvals>> {
        self.0.clone().map(|core| core as _)
    }
}

/// Whether a channel of the safety loop reaches a person.
pub(super) fn reaches_people(settings: &Settings) -> bool {
    settings.safety.as_ref().is_some_and(SafetyLoop::reaches_people)
}

/// The store of an enabled safety loop whose adapter sets none: its blocks must outlive the process.
pub(super) fn default_store(
    parts: &Parts,
    settings: &Settings,
    problems: &mut Vec<String>,
) -> Option<Arc<dyn Store>> {
    settings.safety.as_ref().filter(|safety| safety.current_mode() != LoopMode::Disabled)?;
    match SqliteStore::in_user_state(&parts.name) {
        Ok(store) => Some(Arc::new(store)),
        Err(error) => {
            problems.push(format!(
                "the safety loop has no place for its state: {error}; add a `.store(…)`"
            ));
            None
        }
    }
}

/// The note of the safety loop for the description of one of its operations.
pub(super) fn note(spec: &OperationSpec, settings: &Settings) -> Option<String> {
    let safety = settings.safety.as_ref().filter(|_| spec.name == "record_execution_step");
    safety.map(SafetyLoop::summary)
}

/// The capability of the safety loop (REQ-LOOP-02, REQ-LOOP-03).
pub(super) fn capability(settings: &Settings) -> Option<(String, Value)> {
    let mode = settings.safety.as_ref()?.current_mode();
    Some(("execution_safety_loop".to_owned(), mode.as_str().into()))
}

/// Accepts other spellings of the parameters of the safety loop's operations.
pub(super) fn accept_literal_names(operation: &str, params: &mut Map<String, Value>) {
    safety_loop::accept_literal_names(operation, params);
}

impl Adapter {
    /// The handle for the operators of this adapter, if it has a safety loop. It can approve and unblock,
    /// so operations should not have access to it.
    pub fn operator(&self) -> Option<Operator> {
        let core = self.inner.safety.0.as_ref()?;
        Some(Operator(Arc::new(ApprovalQueue(Arc::clone(core)))))
    }
}

#[cfg(any(feature = "stdio", feature = "http"))]
impl Adapter {
    /// Logs a warning about channels that reach no person, before calls wait for one.
    pub(crate) fn warn_of_channels(&self) {
        if let Some(safety) = &self.inner.safety.0 {
            safety.warn_of_channels();
        }
    }
}

#[cfg(any(test, feature = "cli"))]
impl Adapter {
    /// The safety loop, if the adapter has one.
    pub(crate) fn safety(&self) -> Option<&Arc<SafetyCore>> {
        self.inner.safety.0.as_ref()
    }
}
