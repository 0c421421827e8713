//! An operation with the gates before its calls.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use super::{Gate, PermissionPlan};
use crate::operation::RegisteredOperation;

/// A registered operation with the gates before its calls.
pub struct GatedOperation {
    pub(crate) registered: RegisteredOperation,
    /// The decision of trust, danger and policies on its calls.
    pub permission: PermissionPlan,
    /// The gates that examine its calls. No gate does until the adapter has determined them.
    pub(crate) gates: OperationGates,
}

/// The gates that examine the calls of an operation.
#[derive(Default)]
pub(crate) struct OperationGates {
    /// The gates, in their order.
    pub(super) gates: Vec<Arc<dyn Gate>>,
    /// Whether a gate reads the arguments of calls.
    pub(crate) read_arguments: bool,
}

impl GatedOperation {
    /// Whether a stage after validation reads the arguments, including those of composite arguments.
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
