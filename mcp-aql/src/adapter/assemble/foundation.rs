//! The services of an adapter: its store, its audit log and its safety loop.

use std::sync::Arc;

use crate::adapter::{Parts, Settings};
#[cfg(feature = "safety")]
use crate::audit::AuditSink;
use crate::audit::{Audit, AuditFile, AuditStore};
use crate::file_access::{ForbiddenAccess, exposures};
use crate::gatekeeper::Trust;
use crate::operation::{Handler, OperationSpec};
#[cfg(feature = "safety")]
use crate::safety_loop::{self, LoopMode, RecentAudit, SafetyCore};
use crate::services::Services;
use crate::store::Ready;
#[cfg(feature = "safety")]
use crate::store::SqliteStore;
use crate::store::{MemoryStore, Store};

/// The services on which the stages of a call depend.
pub(super) struct Foundation {
    pub(super) services: Arc<Services>,
    #[cfg(feature = "safety")]
    pub(super) safety: Option<Arc<SafetyCore>>,
}

impl Foundation {
    /// Opens the store and the audit log, and prepares the safety loop.
    pub(super) fn new(parts: &Parts, settings: &mut Settings, problems: &mut Vec<String>) -> Self {
        #[cfg(feature = "safety")]
        let prepared = settings
            .safety
            .as_ref()
            .map(|safety| (RecentAudit::default(), safety.compile(problems)));
        let store = store(parts, settings, problems);
        let ready = Arc::default();
        #[cfg_attr(not(feature = "safety"), expect(unused_mut))]
        let mut audit = audit(parts, settings, (&store, &ready), problems);
        #[cfg(feature = "safety")]
        audit.sinks.extend(
            prepared.as_ref().map(|(recent, _)| Arc::new(recent.clone()) as Arc<dyn AuditSink>),
        );
        let services = Arc::new(Services::new(store, settings.time.clone(), audit).sharing(ready));
        #[cfg(feature = "safety")]
        let safety = settings.safety.as_ref().zip(prepared).map(|(safety, (recent, rules))| {
            Arc::new(SafetyCore::new(safety, rules, recent, Arc::clone(&services)))
        });
        Self {
            services,
            #[cfg(feature = "safety")]
            safety,
        }
    }

    /// The operations of the safety loop.
    pub(super) fn reserved_operations(&self) -> Vec<(OperationSpec, Handler)> {
        #[cfg(feature = "safety")]
        return self.safety.as_ref().map(safety_loop::operations).unwrap_or_default();
        #[cfg(not(feature = "safety"))]
        Vec::new()
    }
}

/// The store for the state of gates, executions and the safety loop.
fn store(parts: &Parts, settings: &Settings, problems: &mut Vec<String>) -> Arc<dyn Store> {
    if let Some(store) = &parts.store {
        return Arc::clone(store);
    }
    #[cfg(feature = "safety")]
    if settings.safety.as_ref().is_some_and(|safety| safety.current_mode() != LoopMode::Disabled) {
        match SqliteStore::in_user_state(&parts.name) {
            Ok(store) => return Arc::new(store),
            Err(error) => problems.push(format!(
                "the safety loop has no place for its state: {error}; add a `.store(…)`"
            )),
        }
    }
    #[cfg(not(feature = "safety"))]
    let _ = (settings, problems);
    Arc::new(MemoryStore::default())
}

/// The audit log with its sinks.
fn audit(
    parts: &Parts,
    settings: &mut Settings,
    (store, ready): (&Arc<dyn Store>, &Arc<Ready>),
    problems: &mut Vec<String>,
) -> Audit {
    let mut sinks = parts.audit_sinks.clone();
    if let Some(path) = &settings.audit_log {
        match AuditFile::open(path) {
            Ok(file) => {
                sinks.push(Arc::new(file));
                let found = exposures(path, ForbiddenAccess::Write).into_iter();
                settings.notices.extend(
                    found.map(|it| format!("the audit log is not safe from other users: {it}")),
                );
            }
            Err(error) => problems
                .push(format!("the audit log `{}` cannot be opened: {error}", path.display())),
        }
    }
    let time = settings.time.clone();
    if settings.audit_in_store {
        let (store, ready) = (Arc::clone(store), Arc::clone(ready));
        sinks.push(Arc::new(AuditStore::new(store, ready, time.clone(), settings.audit_keep)));
    } else if settings.audit_keep.is_some() {
        problems.push(
            "`audit_keep` is about the audit log in the store, and there is none: add \
             `.audit_in_store(true)`"
                .to_owned(),
        );
    }
    let trust = settings.gate.trust.as_ref().map(Trust::level).unwrap_or_default();
    Audit { adapter: parts.name.clone(), trust, time, sinks }
}
