//! Registered operations, prepared for calls.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Composites, Envelope, Handler, OperationSpec, Parameter};
use crate::caller::principal::Principal;
use crate::schema::spec::ClaimSpec;

/// A registered operation: its table, prepared for validation and calls.
pub struct RegisteredOperation {
    /// Table of the operation.
    pub spec: OperationSpec,
    pub(crate) name: Arc<str>,
    /// Scope that callers need.
    pub(crate) scope: Option<Arc<str>>,
    /// Endpoint family of the operation.
    pub(crate) endpoint: Arc<str>,
    /// Parameters, in the order of the table.
    pub parameters: Vec<Parameter>,
    /// Position of the result in the reply.
    pub envelope: Envelope,
    /// Implementation of the operation.
    pub handler: Handler,
    /// A note that this adapter adds to the description.
    pub(crate) note: Option<String>,
    /// A note about the gates, added to the description.
    pub(crate) gate_note: Option<String>,
    /// Composite arguments.
    pub composites: Composites,
    /// Replaces other names of parameters that the protocol allows.
    pub(crate) rename_params: Option<RenameParams>,
}

impl RegisteredOperation {
    /// Returns the scope that callers need.
    pub fn scope(&self) -> Option<&str> {
        self.scope.as_deref()
    }

    /// Returns the scope that callers need, if the principal does not have it.
    pub fn missing_scope(&self, principal: &Principal) -> Option<&str> {
        self.scope.as_deref().filter(|scope| !principal.has_scope(scope))
    }

    /// Returns the first claim passed to the function that the caller does not have with the type of the argument.
    pub(crate) fn missing_claim(&self, principal: Option<&Principal>) -> Option<&'static str> {
        let value = |name| principal.and_then(|principal| principal.claim(name));
        let lacks =
            |claim: &&ClaimSpec| !(claim.accepts)(value(claim.name).unwrap_or(&Value::Null));
        self.spec.claims.iter().find(lacks).map(|claim| claim.name)
    }
}

/// Replaces other names of parameters by those of the operation's table.
pub(crate) type RenameParams = fn(&mut Map<String, Value>);
