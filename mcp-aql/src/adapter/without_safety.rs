//! Stands in for the safety loop of an adapter if the feature `safety` is off.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Parts, Settings};
use crate::approvals::Approvals;
use crate::audit::AuditSink;
use crate::operation::{Handler, OperationSpec};
use crate::router::Entry;
use crate::services::Services;
use crate::store::Store;

/// The advice for operations that a person must confirm.
pub(super) const CHANNEL_ADVICE: &str = "switch on the cargo feature `safety`";

/// The safety loop before the services exist that it uses.
pub(super) struct PreparedSafety;

impl PreparedSafety {
    pub(super) fn new(_: &Settings, _: &mut Vec<String>) -> Self {
        Self
    }

    pub(super) fn audit_sink(&self) -> Option<Arc<dyn AuditSink>> {
        None
    }

    pub(super) fn start(self, _: &Settings, _: &Arc<Services>) -> Safety {
        Safety
    }
}

/// The safety loop, which the adapter does not have.
pub(crate) struct Safety;

impl Safety {
    pub(super) fn operations(&self) -> Vec<(OperationSpec, Handler)> {
        Vec::new()
    }

    pub(super) fn set_operations<'a>(&self, _: impl Iterator<Item = &'a Entry>) {}

    pub(super) fn approvals(&self) -> Option<Arc<dyn Approvals>> {
        None
    }
}

/// Returns `false`: without the safety loop there are no channels.
pub(super) fn reaches_people(_: &Settings) -> bool {
    false
}

/// Returns `None`: the state may be kept in memory.
pub(super) fn default_store(
    _: &Parts,
    _: &Settings,
    _: &mut Vec<String>,
) -> Option<Arc<dyn Store>> {
    None
}

/// Returns `None`: there are no operations of the safety loop.
pub(super) fn note(_: &OperationSpec, _: &Settings) -> Option<String> {
    None
}

/// Returns `None`: the adapter does not have the capability.
pub(super) fn capability(_: &Settings) -> Option<(String, Value)> {
    None
}

/// Changes nothing: there are no operations of the safety loop.
pub(super) fn accept_literal_names(_: &str, _: &mut Map<String, Value>) {}
