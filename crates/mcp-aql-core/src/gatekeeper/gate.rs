//! The trait of gates, the tickets that they issue, and the operations that they examine.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use super::{GateRequest, PermissionPlan};
use crate::error::OperationError;
use crate::operation::RegisteredOperation;
use crate::store::Change;
use crate::util::BoxFuture;

/// The position of a gate in the order of all gates. A call only reaches a gate if all earlier gates have admitted it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum GateStage {
    /// Checks if the caller may act at all.
    Caller,
    /// Checks trust, danger and policies.
    Permission,
    /// Checks the limit on executions.
    Capacity,
    /// Checks rate limits and quotas.
    RateLimits,
    /// Checks that the call is confirmed.
    Confirmation,
}

/// Which calls of an operation a gate examines. Determined when the adapter is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GatePlan {
    /// No call.
    Never,
    /// Every call. The arguments do not matter.
    Always,
    /// Every call. The decision depends on the arguments.
    ByArguments,
}

/// Decides if a valid call may run, and reserves the resources that the call will consume.
pub trait Gate: Send + Sync {
    /// Returns the position of this gate in the order of all gates.
    fn stage(&self) -> GateStage;

    /// Returns which calls of an operation this gate examines.
    fn plan(&self, operation: &RegisteredOperation, permission: &PermissionPlan) -> GatePlan;

    /// Returns `true` if this call can be rejected or needs a ticket. Called before [`admit`](Self::admit), without
    /// I/O, so that most calls need no future. Override it if you can decide from the request alone.
    fn concerns(&self, _request: &GateRequest<'_>) -> bool {
        true
    }

    /// Admits a call, or rejects it with an error. Returns a ticket if the call consumes something.
    fn admit<'a>(
        &'a self,
        request: GateRequest<'a>,
    ) -> BoxFuture<'a, Result<Option<Box<dyn Ticket + 'a>>, OperationError>>;
}

/// Represents the resources consumed by a call, such as a confirmation token or a unit of a rate limit. All tickets of
/// a call are committed together or not at all.
pub trait Ticket: Send + Sync {
    /// Reserves resources outside of the store's transaction, such as a unit of a counter in memory.
    fn reserve(&mut self) -> BoxFuture<'_, Result<(), OperationError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Returns the changes that consume this ticket. Called again after a conflicting write. You must then read the
    /// records again, because their versions have changed.
    fn changes(&mut self) -> BoxFuture<'_, Result<Vec<Change>, OperationError>>;

    /// Completes the ticket once its changes have been written: audit entries, grants, warnings.
    fn complete(&mut self) -> BoxFuture<'_, ()>;

    /// Returns `true` if the gate has waited for a person. The other gates then examine the call again, because their
    /// decisions may be minutes old.
    fn has_waited(&self) -> bool {
        false
    }

    /// Returns the [reserved](Self::reserve) resources, if there are any, so that they can be released.
    fn into_reservation(self: Box<Self>) -> Option<Box<dyn Reservation>> {
        None
    }
}

/// A reserved resource. It is released if the call does not run.
pub trait Reservation: Send + Sync {
    /// Releases the resource.
    fn release(self: Box<Self>) -> BoxFuture<'static, ()>;
}

/// Proves that all gates have admitted a call. Only the gatekeeper creates a permit, and no call runs without one.
#[must_use]
pub(crate) struct Permit {
    pub(super) reservations: Vec<Box<dyn Reservation>>,
}

impl Permit {
    /// Releases the reserved resources, because the call does not run.
    pub(crate) async fn release(self) {
        for reservation in self.reservations {
            reservation.release().await;
        }
    }
}

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
