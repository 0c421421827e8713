//! The gates before an operation: danger and trust, policies, confirmation. What passes them is a
//! [`Permit`], and nothing runs without one.

use crate::error::OperationError;
use crate::operation::{Argument, Context, RegisteredOperation};
use crate::request::Credentials;
use crate::services::Services;

/// That the gates let a call pass. Only the gatekeeper makes one, and dispatch takes it.
#[derive(Debug)]
pub(crate) struct Permit(());

/// Decides which calls may run.
pub(crate) struct Gatekeeper {
    services: std::sync::Arc<Services>,
}

/// A call at the gate: routed and valid (REQ-GATE-02).
pub(crate) struct Visitor<'a> {
    pub(crate) operation: &'a RegisteredOperation,
    pub(crate) arguments: &'a [Argument],
    /// The tokens that the call brings.
    pub(crate) credentials: &'a Credentials,
    pub(crate) context: &'a Context,
}

impl Gatekeeper {
    pub(crate) fn new(services: std::sync::Arc<Services>) -> Self {
        Self { services }
    }

    /// Lets a call pass or says why not (REQ-GATE-01).
    pub(crate) async fn admit(&self, visitor: Visitor<'_>) -> Result<Permit, OperationError> {
        let _ = (&self.services, visitor);
        Ok(Permit(()))
    }
}
