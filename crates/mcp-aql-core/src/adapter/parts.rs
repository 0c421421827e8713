//! The values passed to the builder of an adapter, before any configuration.

use std::sync::Arc;

use super::settings::Settings;
use crate::observe::audit::{AuditObserver, AuditSink};
use crate::observe::observers::Observers;
use crate::operation::{Handler, OperationSpec, StateMap};
use crate::router::EndpointProfile;
use crate::store::StateStore;

/// The values passed to the builder. An adapter keeps them, so that it can be built again with other settings.
pub struct Parts {
    /// Name of the adapter.
    pub name: String,
    pub(crate) version: String,
    /// Instructions for models. They follow the general instructions.
    pub instructions: Option<String>,
    pub(crate) operations: Vec<(OperationSpec, Handler)>,
    pub(crate) states: Arc<StateMap>,
    /// Problems found by the builder.
    pub(crate) problems: Vec<String>,
    pub(crate) profiles: Vec<EndpointProfile>,
    /// The author's store. With `None`, the adapter selects a suitable one.
    pub(crate) store: Option<Arc<dyn StateStore>>,
    pub(crate) audit_sinks: Vec<Arc<dyn AuditSink>>,
    pub(crate) audit_observers: Vec<Arc<dyn AuditObserver>>,
    pub(crate) observers: Observers,
    /// Settings of the builder.
    pub(crate) settings: Settings,
}
