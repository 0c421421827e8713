//! The trait of gates, and the tickets that they issue.

use super::{GateRequest, PermissionPlan};
use crate::error::OperationError;
use crate::operation::RegisteredOperation;
use crate::store::Change;
use crate::util::future::BoxFuture;

/// The place of a gate in the order of all gates. A gate is only reached by calls that the gates before it
/// admit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum GateStage {
    /// Whether the caller may act at all.
    Caller,
    /// Whether trust, danger and policies permit the call.
    Permission,
    /// Whether there is room for another execution.
    Capacity,
    /// Whether rate limits and quotas have a place for the call.
    SizeLimits,
    /// Whether the call is confirmed.
    Confirmation,
}

/// The calls of an operation that a gate examines, determined when the adapter is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GatePlan {
    /// No call.
    Never,
    /// Every call, whatever its arguments are.
    Always,
    /// Every call, depending on its arguments.
    ByArguments,
}

/// Decides whether a valid call may run, and reserves what running it will use up.
pub trait Gate: Send + Sync {
    /// The place of this gate in the order of all gates.
    fn stage(&self) -> GateStage;

    /// The calls of an operation that this gate examines.
    fn plan(&self, operation: &RegisteredOperation, permission: &PermissionPlan) -> GatePlan;

    /// Whether this call can be rejected or needs a ticket. It is checked first, without I/O.
    fn concerns(&self, _request: &GateRequest<'_>) -> bool {
        true
    }

    /// Admits a call, or rejects it with an error. The ticket, if there is one, is for what the call will
    /// use up.
    fn admit<'a>(
        &'a self,
        request: GateRequest<'a>,
    ) -> BoxFuture<'a, Result<Option<Box<dyn Ticket + 'a>>, OperationError>>;
}

/// What running a call will use up, such as a place in a limit or a confirmation token. All tickets of a
/// call are committed together or not at all.
pub trait Ticket: Send + Sync {
    /// Takes what cannot be part of the store's transaction, such as a place in a counter.
    fn reserve(&mut self) -> BoxFuture<'_, Result<(), OperationError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Returns the changes that use up this ticket. They are requested again after a conflicting write.
    fn changes(&mut self) -> BoxFuture<'_, Result<Vec<Change>, OperationError>>;

    /// Completes the ticket once its changes are written: audit entries, grants, warnings.
    fn complete(&mut self) -> BoxFuture<'_, ()>;

    /// Whether the gate has waited for a person. The other gates examine the call again then, because their answers may be
    /// minutes old.
    fn has_waited(&self) -> bool {
        false
    }

    /// Returns what was [reserved](Self::reserve), if anything was, so that it can be given back.
    fn into_reservation(self: Box<Self>) -> Option<Box<dyn Reservation>> {
        None
    }
}

/// A reserved place, which is given back if the call does not run.
pub trait Reservation: Send + Sync {
    /// Gives the place back.
    fn release(self: Box<Self>) -> BoxFuture<'static, ()>;
}

/// Proves that the gates have admitted a call. Only the gatekeeper creates one, and no call runs without it.
#[must_use]
pub(crate) struct Permit {
    pub(super) reservations: Vec<Box<dyn Reservation>>,
}

impl Permit {
    /// Gives back what the call would have used up, because it does not run.
    pub(crate) async fn release(self) {
        for reservation in self.reservations {
            reservation.release().await;
        }
    }
}
