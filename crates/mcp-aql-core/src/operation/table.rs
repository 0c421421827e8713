//! Registered operations.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{
    Call, Composites, Envelope, ExecutionCall, OperationEntry, OperationSpec, Outcome, Parameter,
    Preview, PreviewFunction,
};
use crate::caller::principal::Principal;
use crate::error::OperationError;
use crate::util::future::BoxFuture;

/// A registered operation: its table, prepared for validation and calls.
pub struct RegisteredOperation {
    /// The table of the operation.
    pub spec: OperationSpec,
    pub(crate) name: Arc<str>,
    /// The scope that callers need.
    pub(crate) scope: Option<Arc<str>>,
    /// The operation's endpoint family.
    pub(crate) endpoint: Arc<str>,
    /// The parameters, in the order of the table.
    pub parameters: Vec<Parameter>,
    /// The form of the reply around the result.
    pub envelope: Envelope,
    /// The function.
    pub handler: Handler,
    /// A note of this adapter for the description.
    pub(crate) note: Option<String>,
    /// A note about the gates for the description.
    pub(crate) gate_note: Option<String>,
    /// The composite arguments.
    pub composites: Composites,
    /// Replaces other names of parameters that the protocol allows.
    pub(crate) rename_params: Option<RenameParams>,
}

impl RegisteredOperation {
    /// The scope that callers need.
    pub fn scope(&self) -> Option<&str> {
        self.scope.as_deref()
    }

    /// The scope that callers need and that the principal does not have.
    pub fn missing_scope(&self, principal: &Principal) -> Option<&str> {
        self.scope.as_deref().filter(|scope| !principal.has_scope(scope))
    }
}

/// Replaces other names of parameters by those of the operation's table.
pub(crate) type RenameParams = fn(&mut Map<String, Value>);

/// The implementation of an operation.
#[derive(Clone)]
pub enum Handler {
    /// The built-in `introspect`.
    Introspect,
    /// An operation on executions.
    Execution(ExecutionCall),
    /// The author's function.
    Function(Arc<dyn Run>),
}

/// A function with its receiver, without the receiver's type.
pub trait Run: Send + Sync {
    /// Runs the function.
    fn run(&self, call: Call) -> BoxFuture<'_, Outcome>;

    /// Looks at a call before anybody is asked to confirm it, see [`PreviewFunction`].
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
