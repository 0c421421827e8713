//! The parts of an adapter before any configuration.

use std::sync::Arc;

use super::settings::Settings;
use crate::audit::AuditSink;
use crate::operation::{Handler, OperationSpec, StateMap};
use crate::router::EndpointProfile;
use crate::store::Store;

/// The parts of an adapter as passed to the builder.
pub(crate) struct Parts {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) instructions: Option<String>,
    pub(crate) operations: Vec<(OperationSpec, Handler)>,
    pub(crate) states: Arc<StateMap>,
    pub(crate) doubled_states: Vec<&'static str>,
    pub(crate) profiles: Vec<EndpointProfile>,
    /// The store; `None` selects a suitable one.
    pub(crate) store: Option<Arc<dyn Store>>,
    pub(crate) audit_sinks: Vec<Arc<dyn AuditSink>>,
    /// The settings of the builder.
    pub(crate) settings: Settings,
}
