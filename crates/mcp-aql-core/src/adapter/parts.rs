//! The parts of an adapter before any configuration.

use std::sync::Arc;

use super::settings::Settings;
use crate::observe::audit::{AuditObserver, AuditSink};
use crate::observe::observers::Observers;
use crate::operation::{Handler, OperationSpec, StateMap};
use crate::router::EndpointProfile;
use crate::store::StateStore;

/// The parts of an adapter as passed to the builder.
pub struct Parts {
    /// The name of the adapter.
    pub name: String,
    pub(crate) version: String,
    /// The instructions for models, after the general ones.
    pub instructions: Option<String>,
    pub(crate) operations: Vec<(OperationSpec, Handler)>,
    pub(crate) states: Arc<StateMap>,
    /// The problems that the builder found.
    pub(crate) problems: Vec<String>,
    pub(crate) profiles: Vec<EndpointProfile>,
    /// The store; `None` selects a suitable one.
    pub(crate) store: Option<Arc<dyn StateStore>>,
    pub(crate) audit_sinks: Vec<Arc<dyn AuditSink>>,
    pub(crate) audit_observers: Vec<Arc<dyn AuditObserver>>,
    pub(crate) observers: Observers,
    /// The settings of the builder.
    pub(crate) settings: Settings,
}
