use std::sync::Arc;

use serde_json::Value;

use super::{Call, Composites, Envelope, ExecutionCall, Method, OperationSpec, Outcome};
use crate::future::BoxFuture;
use crate::shape::Shape;
use crate::spec::{InputSpec, ParameterSpec};

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

/// A parameter, ready to check.
pub(crate) struct Parameter {
    pub(crate) name: Arc<str>,
    pub(crate) spec: ParameterSpec,
    pub(crate) shape: Shape,
    pub(crate) default: Option<Value>,
    /// The fields of an UPDATE's `input`.
    pub(crate) input: Option<InputSpec>,
    /// What it is for, where the table's text does not say.
    pub(crate) description: Option<String>,
    /// The type to show, where the form does not tell.
    pub(crate) type_name: Option<String>,
}

impl Parameter {
    /// What the parameter is for.
    pub(crate) fn description(&self) -> &str {
        self.description.as_deref().unwrap_or(self.spec.description)
    }

    /// Whether the author's own type accepts a value, field by field for an UPDATE's `input`. A type such
    /// as `IpAddr` accepts less than its schema says.
    pub(crate) fn accepts(&self, value: &Value) -> bool {
        let (Some(input), Value::Object(changes)) = (&self.input, value) else {
            return (self.spec.accepts)(value);
        };
        let accepts = |(name, change): (&String, &Value)| {
            input.field(name).is_none_or(|field| (field.parameter.accepts)(change))
        };
        changes.iter().all(accepts)
    }
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
