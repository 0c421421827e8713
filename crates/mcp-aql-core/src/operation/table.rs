//! Registered operations, prepared for calls.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{
    Call, Composites, Envelope, ExecutionCall, OperationEntry, OperationSpec, Outcome, Parameter,
    Preview, PreviewFunction,
};
use crate::caller::principal::Principal;
use crate::error::OperationError;
use crate::schema::spec::ClaimSpec;
use crate::util::BoxFuture;

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

/// The implementation of an operation.
#[derive(Clone)]
pub enum Handler {
    /// The built-in operation `introspect`.
    Introspect,
    /// A built-in operation on executions.
    Execution(ExecutionCall),
    /// A function of the author.
    Function(Arc<dyn Run>),
}

/// A function with its receiver. The trait erases the type of the receiver.
pub trait Run: Send + Sync {
    /// Runs the function.
    fn run(&self, call: Call) -> BoxFuture<'_, Outcome>;

    /// Previews a call before the user is asked to confirm it, see `PreviewFunction`.
    fn preview(
        &self,
        call: &mut dyn FnMut() -> Call,
    ) -> Option<BoxFuture<'_, Result<Preview, OperationError>>> {
        let _ = call;
        None
    }
}

/// A function with its receiver.
struct BoundMethod<S: 'static> {
    receiver: Arc<S>,
    call: for<'a> fn(&'a S, Call) -> BoxFuture<'a, Outcome>,
    preview: Option<PreviewFunction<S>>,
}

impl<S: Send + Sync + 'static> Run for BoundMethod<S> {
    fn run(&self, call: Call) -> BoxFuture<'_, Outcome> {
        (self.call)(&self.receiver, call)
    }

    fn preview(
        &self,
        call: &mut dyn FnMut() -> Call,
    ) -> Option<BoxFuture<'_, Result<Preview, OperationError>>> {
        self.preview.map(|preview| preview(&self.receiver, call()))
    }
}

impl Handler {
    pub(crate) fn of<S: Send + Sync + 'static>(
        receiver: Arc<S>,
        method: &OperationEntry<S>,
    ) -> Self {
        Self::Function(Arc::new(BoundMethod {
            receiver,
            call: method.call,
            preview: method.preview,
        }))
    }
}
