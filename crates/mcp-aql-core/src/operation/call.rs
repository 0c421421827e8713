//! A validated call, and the function that it is passed to.

use std::sync::Arc;

use mcp_aql_protocol::SizeLimits;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{
    CallScope, CompositeValues, Context, Envelope, ExecutionCall, ExecutionContext, Outcome,
    Preview, ReplyWriter, State, StateMap,
};
use crate::caller::principal::Principal;
use crate::error::OperationError;
use crate::schema::Argument;
use crate::schema::spec::{ParameterType, SharedState};
use crate::util::BoxFuture;
use crate::vocab::ReplyLimits;

/// A validated call. Generated code takes the arguments from it in the order of the operation's table, and then
/// passes the function's result to it.
#[derive(Debug)]
pub struct Call {
    pub(crate) arguments: std::vec::IntoIter<Argument>,
    pub(crate) context: Context,
    pub(crate) states: Arc<StateMap>,
    pub(crate) envelope: Envelope,
    pub(crate) limits: ReplyLimits,
    /// The execution of a call that runs in the background.
    pub(crate) execution: Option<ExecutionContext>,
    /// `None` for an operation without composite arguments.
    pub(crate) composites: Option<Box<CompositeValues>>,
}

impl Call {
    /// Creates a call with these arguments, without a client.
    pub(crate) fn of_arguments(arguments: Vec<Argument>) -> Self {
        Self {
            arguments: arguments.into_iter(),
            context: Context::new(CallScope::default()),
            states: Arc::default(),
            envelope: Envelope::Bare,
            limits: ReplyLimits::new(&SizeLimits::default()),
            execution: None,
            composites: None,
        }
    }

    /// Creates the call of a preview. It has no composite arguments.
    pub(crate) fn of_preview(
        arguments: Vec<Argument>,
        context: Context,
        states: Arc<StateMap>,
    ) -> Self {
        Self { context, states, ..Self::of_arguments(arguments) }
    }

    /// Returns the next argument. The client sent it, or it has a default.
    ///
    /// # Errors
    ///
    /// Returns `VALIDATION_INVALID_VALUE` if the value passes the checks of the table but the type's own
    /// `Deserialize` rejects it.
    pub fn param<T: ParameterType>(&mut self) -> Result<T, OperationError> {
        let argument = self.next()?;
        let name = argument.name;
        let value = argument.value.unwrap_or_default();
        T::deserialize(value).map_err(|error| OperationError::refused_by_type(name, &error))
    }

    /// Returns the next argument, or `None` if it was not sent.
    ///
    /// # Errors
    ///
    /// Returns the same error as [`param`](Self::param).
    pub fn optional<T: ParameterType>(&mut self) -> Result<Option<T>, OperationError> {
        let argument = self.next()?;
        let name = argument.name;
        argument
            .value
            .map(|value| {
                T::deserialize(value).map_err(|error| OperationError::refused_by_type(name, &error))
            })
            .transpose()
    }

    /// Returns the next composite argument, for example a `CollectionQuery`.
    ///
    /// # Errors
    ///
    /// Returns `INTERNAL_ERROR` if the operation's table lists no such argument, or another one.
    pub fn composite<T: 'static>(&mut self) -> Result<T, OperationError> {
        let (value, parameters) =
            self.composites.as_mut().and_then(|composites| composites.next::<T>()).ok_or_else(
                || OperationError::internal("the operation's table lists another type"),
            )?;
        for _ in 0..parameters {
            self.next()?;
        }
        Ok(value)
    }

    /// Returns the shared state of type `T`.
    ///
    /// # Errors
    ///
    /// Returns `INTERNAL_ERROR` if no such state is registered. `build()` prevents this for every operation whose
    /// table lists the state.
    pub fn state<T: SharedState>(&self) -> Result<State<T>, OperationError> {
        self.states.get::<T>().map(State).ok_or_else(|| {
            OperationError::internal("a state is missing from the operation's table")
        })
    }

    /// Returns the context of the call.
    pub fn context(&self) -> Context {
        self.context.clone()
    }

    /// Returns the value of a claim of the authenticated caller.
    ///
    /// # Errors
    ///
    /// Returns `PERMISSION_DENIED` if the caller is not authenticated, or has no such claim of this type.
    pub fn claim<T: DeserializeOwned>(&self, name: &str) -> Result<T, OperationError> {
        let principal = self.context.principal();
        let claim = principal.and_then(|principal| principal.claim(name));
        T::deserialize(claim.unwrap_or(&Value::Null)).map_err(|_| missing_claim(principal, name))
    }

    /// Returns the execution of the call.
    ///
    /// # Errors
    ///
    /// Returns `INTERNAL_ERROR` if the operation's table declares no lifecycle.
    pub fn execution(&self) -> Result<ExecutionContext, OperationError> {
        self.execution
            .clone()
            .ok_or_else(|| OperationError::internal("the operation's table declares no lifecycle"))
    }

    /// Writes the reply, and adds the warnings that depend on the written reply.
    pub(crate) fn finish(self, write: impl FnOnce(ReplyWriter<'_>) -> Outcome) -> Outcome {
        let context = &self.context;
        let writer = ReplyWriter::new(&self.envelope, self.limits).with_context(context);
        let Some(composites) = self.composites else { return write(writer) };
        let written = write(writer.with_composites(&composites));
        let payload = written.map_err(|error| composites.explain(error))?;
        composites.warnings_of_reply().for_each(|warning| context.warn(warning));
        Ok(payload)
    }

    pub(crate) fn next(&mut self) -> Result<Argument, OperationError> {
        self.arguments.next().ok_or_else(|| {
            OperationError::internal("the operation's table lists too few parameters")
        })
    }
}

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

/// Previews a call before the user is asked to confirm it. Returns what the call would do, or the error with which it
/// would fail.
pub(crate) type PreviewFunction<S> =
    for<'a> fn(&'a S, Call) -> BoxFuture<'a, Result<Preview, OperationError>>;

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
    /// Creates the handler of a function with its receiver.
    pub(crate) fn bound<S: Send + Sync + 'static>(
        receiver: Arc<S>,
        call: for<'a> fn(&'a S, Call) -> BoxFuture<'a, Outcome>,
        preview: Option<PreviewFunction<S>>,
    ) -> Self {
        Self::Function(Arc::new(BoundMethod { receiver, call, preview }))
    }
}

/// Returns the error for a caller without a claim that an operation needs, or with a value of another type.
pub(crate) fn missing_claim(principal: Option<&Principal>, name: &str) -> OperationError {
    OperationError::permission_denied(match principal {
        Some(_) => "the caller's identity lacks a claim required by this operation",
        None => "this operation only serves authenticated callers",
    })
    .with_detail("required_claim", name)
}
