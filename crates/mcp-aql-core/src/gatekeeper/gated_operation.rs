//! An operation together with its gates.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use super::{Gate, PermissionPlan};
use crate::operation::RegisteredOperation;

/// A registered operation together with its gates.
pub struct GatedOperation {
    pub(crate) registered: RegisteredOperation,
    /// Permission of its calls by trust, danger and policies.
    pub permission: PermissionPlan,
    /// Gates that examine its calls. Empty until the adapter has determined them.
    pub(crate) gates: OperationGates,
}

/// The gates that examine the calls of an operation.
#[derive(Default)]
pub(crate) struct OperationGates {
    /// The gates in order.
    pub(super) gates: Vec<Arc<dyn Gate>>,
    /// If `true`, a gate reads the arguments of calls.
    pub(crate) read_arguments: bool,
}

impl GatedOperation {
    /// Returns `true` if a stage after validation reads the arguments, including those of composite arguments.
    pub(crate) fn needs_whole_arguments(&self) -> bool {
        self.gates.read_arguments || self.spec.lifecycle.is_some()
    }
}

impl Deref for GatedOperation {
    type Target = RegisteredOperation;

    fn deref(&self) -> &RegisteredOperation {
        &self.registered
    }
}

impl DerefMut for GatedOperation {
    fn deref_mut(&mut self) -> &mut RegisteredOperation {
        &mut self.registered
    }
}
