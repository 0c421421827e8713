//! A call as the function of an operation sees it.

use std::sync::Arc;

use super::{
    CompositeValues, Context, Envelope, ExecutionContext, Outcome, Payload, State, StateMap,
};
use crate::argument::Argument;
use crate::error::OperationError;
use crate::spec::{ParameterType, SharedState};
use crate::vocab::ReplyLimits;

/// One validated call on its way into a function. Generated code takes the arguments out of it one
/// by one, in the order of the operation's table, and hands the function's result back to it.
#[derive(Debug)]
pub struct Call {
    pub(crate) arguments: std::vec::IntoIter<Argument>,
    pub(crate) context: Context,
    pub(crate) states: Arc<StateMap>,
    pub(crate) envelope: Envelope,
    pub(crate) limits: ReplyLimits,
    /// Of a call that runs in the background.
    pub(crate) execution: Option<ExecutionContext>,
    pub(crate) composites: CompositeValues,
}

impl std::fmt::Debug for StateMap {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("StateMap")
    }
}

impl Call {
    /// The next argument, which is there or has a default.
    ///
    /// # Errors
    /// `VALIDATION_INVALID_VALUE` when the value passes the table's checks and the type still
    /// refuses it, as a hand-written `Deserialize` may.
    pub fn param<T: ParameterType>(&mut self) -> Result<T, OperationError> {
        let argument = self.next()?;
        let name = argument.name;
        let value = argument.value.unwrap_or_default();
        T::deserialize(value).map_err(|error| OperationError::refused_by_type(name, &error))
    }

    /// The next argument, if the call gives it.
    ///
    /// # Errors
    /// As [`param`](Self::param).
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

    /// The next composite argument, such as a [`CollectionQuery`](crate::query::CollectionQuery).
    ///
    /// # Errors
    /// `INTERNAL_ERROR` when the operation's table lists none, or another.
    pub fn composite<T: 'static>(&mut self) -> Result<T, OperationError> {
        let (value, parameters) = self
            .composites
            .next::<T>()
            .ok_or_else(|| OperationError::internal("the operation's table lists another type"))?;
        for _ in 0..parameters {
            self.next()?;
        }
        Ok(value)
    }

    /// The shared state of type `T`.
    ///
    /// # Errors
    /// `INTERNAL_ERROR` when no such state was registered, which `build()` rules out for every
    /// operation whose table lists it.
    pub fn state<T: SharedState>(&self) -> Result<State<T>, OperationError> {
        self.states.get::<T>().map(State).ok_or_else(|| {
            OperationError::internal("a state is missing from the operation's table")
        })
    }

    /// What the function may know of the call beyond its parameters.
    pub fn context(&self) -> Context {
        self.context.clone()
    }

    /// What a long-running operation knows of its execution.
    ///
    /// # Errors
    /// `INTERNAL_ERROR` when the operation's table declares no lifecycle.
    pub fn execution(&self) -> Result<ExecutionContext, OperationError> {
        self.execution
            .clone()
            .ok_or_else(|| OperationError::internal("the operation's table declares no lifecycle"))
    }

    /// Writes the reply, and adds the warnings that only a written reply shows.
    pub(crate) fn finish(self, write: impl FnOnce(Payload) -> Outcome) -> Outcome {
        let context = self.context;
        let payload = Payload::new(self.envelope, self.limits).beside(context.clone());
        let payload = payload.with_late_warnings(self.composites.late_warnings.clone());
        let written = write(payload);
        let mut payload = written.map_err(|error| self.composites.explain(error))?;
        payload.take_warning().into_iter().for_each(|warning| context.warn(warning));
        self.composites.warnings_of_reply().for_each(|warning| context.warn(warning));
        Ok(payload)
    }

    pub(crate) fn next(&mut self) -> Result<Argument, OperationError> {
        self.arguments.next().ok_or_else(|| {
            OperationError::internal("the operation's table lists too few parameters")
        })
    }
}
