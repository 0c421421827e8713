use std::sync::Arc;

use super::{Call, Composites, Envelope, ExecutionCall, Method, OperationSpec, Outcome, Parameter};
use crate::future::BoxFuture;

/// An operation as the adapter holds it: its table, ready to check and to run.
pub(crate) struct RegisteredOperation {
    pub(crate) spec: OperationSpec,
    pub(crate) name: Arc<str>,
    /// The endpoint family that it belongs to.
    pub(crate) endpoint: Arc<str>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) envelope: Envelope,
    pub(crate) handler: Handler,
    /// What its description says besides, of this adapter.
    pub(crate) note: Option<String>,
    /// The note on its gates for its description.
    pub(crate) gate_note: Option<String>,
    pub(crate) composites: Composites,
}

/// What runs an operation.
#[derive(Clone)]
pub(crate) enum Handler {
    /// The built-in `introspect`.
    Introspect,
    /// One of those that steer executions.
    Execution(ExecutionCall),
    /// The author's function.
    Function(Arc<dyn Run>),
}

/// A function whose receiver's type is forgotten.
pub(crate) trait Run: Send + Sync {
    fn run(&self, call: Call) -> BoxFuture<'_, Outcome>;
}

/// A function with its receiver.
struct Bound<S: 'static> {
    receiver: Arc<S>,
    call: for<'a> fn(&'a S, Call) -> BoxFuture<'a, Outcome>,
}

impl<S: Send + Sync + 'static> Run for Bound<S> {
    fn run(&self, call: Call) -> BoxFuture<'_, Outcome> {
        (self.call)(&self.receiver, call)
    }
}

impl Handler {
    pub(crate) fn of<S: Send + Sync + 'static>(receiver: Arc<S>, method: &Method<S>) -> Self {
        Self::Function(Arc::new(Bound { receiver, call: method.call }))
    }
}
