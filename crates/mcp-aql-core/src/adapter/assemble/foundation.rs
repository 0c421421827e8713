//! Opens the store and the audit log of an adapter, and starts its extensions.

use std::sync::Arc;

use crate::adapter::{Parts, Settings};
use crate::config::file_access::{ForbiddenAccess, exposures};
use crate::extension::StartedExtension;
use crate::gatekeeper::Trust;
use crate::observe::audit::{Audit, AuditFile, AuditStore};
use crate::observe::recorder::{RecordedStore, RecorderSlot};
use crate::services::Services;
use crate::store::{MemoryState, MonitoredStore, Ready, StateStore};

/// Services that the stages of a call use, with the extensions started on them.
pub(super) struct Foundation {
    pub(super) services: Arc<Services>,
    pub(super) extensions: Vec<Box<dyn StartedExtension>>,
}

impl Foundation {
    /// Opens the store and the audit log, and starts the extensions.
    pub(super) fn new(
        parts: &Parts,
        settings: &mut Settings,
        recorder: &RecorderSlot,
        problems: &mut Vec<String>,
    ) -> Self {
        let prepared: Vec<_> =
            settings.extensions.iter().map(|extension| extension.prepare(problems)).collect();
        let store = RecordedStore::new(store(parts, settings, problems), recorder.clone());
        let store = Arc::new(MonitoredStore::new(Arc::new(store)));
        let ready = Arc::default();
        let mut audit = audit(parts, settings, (&store, &ready), problems);
        audit.observers.push(Arc::new(recorder.clone()));
        audit.sinks.extend(prepared.iter().filter_map(|extension| extension.audit_sink()));
        let services = Arc::new(Services::sharing(store, ready, settings.time.clone(), audit));
        let extensions = prepared.into_iter().map(|extension| extension.start(&services)).collect();
        Self { services, extensions }
    }
}

/// Returns the store for the state of gates, executions and extensions: the author's, the default of an extension, or a
/// store in memory.
fn store(parts: &Parts, settings: &Settings, problems: &mut Vec<String>) -> Arc<dyn StateStore> {
    if let Some(store) = &parts.store {
        return Arc::clone(store);
    }
    let mut extensions = settings.extensions.iter();
    extensions
        .find_map(|extension| extension.default_store(&parts.name, problems))
        .unwrap_or_else(|| Arc::new(MemoryState::default()))
}

/// Creates the audit log with its destinations: the author's sinks, the file, and the store.
fn audit(
    parts: &Parts,
    settings: &mut Settings,
    (store, ready): (&Arc<MonitoredStore>, &Arc<Ready>),
    problems: &mut Vec<String>,
) -> Audit {
    let mut sinks = parts.audit_sinks.clone();
    if let Some(path) = &settings.audit_log {
        match AuditFile::open(path) {
            Ok(file) => {
                sinks.push(Arc::new(file));
                let found = exposures(&path.path(), ForbiddenAccess::Write).into_iter();
                settings.notices.extend(
                    found.map(|it| format!("the audit log is not safe from other users: {it}")),
                );
            }
            Err(error) => problems.push(format!(
                "the audit log `{}` cannot be opened: {error}",
                path.path().display()
            )),
        }
    }
    let time = settings.time.clone();
    if settings.audit_in_store {
        let (store, ready) = (Arc::clone(store), Arc::clone(ready));
        sinks.push(Arc::new(AuditStore::new(store, ready, time.clone(), settings.audit_retention)));
    } else if settings.audit_retention.is_some() {
        problems.push(
            "`audit_retention` only applies to an audit log in the store, but the adapter has none: add \
             `.audit_in_store(true)`"
                .to_owned(),
        );
    }
    let trust = settings.gate.trust.as_ref().map(Trust::level).unwrap_or_default();
    let observers = parts.audit_observers.clone();
    Audit { adapter: parts.name.clone(), trust, time, sinks, observers }
}
