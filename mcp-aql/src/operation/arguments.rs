use std::sync::Arc;

use serde_json::Value;

use super::{
    Context, Envelope, ExecutionContext, OperationReturn, Outcome, ParamGroup, Payload, State,
    StateMap,
};
use crate::error::OperationError;
use crate::spec::{ParameterType, SharedState};
use crate::update::{Update, UpdateInput};
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
    #[cfg(feature = "query")]
    pub(crate) queries: crate::query::ReadQueries,
}

/// A parameter of the call: its name and, unless it was left out, its value.
#[derive(Debug)]
pub(crate) struct Argument {
    pub(crate) name: &'static str,
    pub(crate) value: Option<Value>,
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

    /// The next arguments, as a group.
    ///
    /// # Errors
    /// As [`param`](Self::param).
    pub fn group<G: ParamGroup>(&mut self) -> Result<G, OperationError> {
        G::decode(self)
    }

    /// The `input` of an UPDATE operation.
    ///
    /// # Errors
    /// As [`param`](Self::param).
    pub fn input<T: UpdateInput>(&mut self) -> Result<Update<T>, OperationError> {
        let argument = self.next()?;
        Update::decode(argument.value.unwrap_or_default())
    }

    /// The next query, such as a [`CollectionQuery`](crate::query::CollectionQuery).
    ///
    /// # Errors
    /// `INTERNAL_ERROR` when the operation's table lists none, or another.
    #[cfg(feature = "query")]
    pub fn query<Q: crate::query::QueryArgument>(&mut self) -> Result<Q, OperationError> {
        let (query, parameters) = self
            .queries
            .next::<Q>()
            .ok_or_else(|| OperationError::internal("the operation's table lists another query"))?;
        for _ in 0..parameters {
            self.next()?;
        }
        Ok(query)
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

    /// Turns what the function returned into the reply.
    ///
    /// The form of `returned` is inferred. A `Result` whose error type is serializable and has a JSON
    /// schema, such as `Result<u8, String>`, is data to this method. Convert the error into an
    /// [`OperationError`] first, as in `call.reply(result.or_internal())`. Generated code does not depend on
    /// this inference.
    ///
    /// # Errors
    /// The operation's own error.
    pub fn reply<R: OperationReturn<M>, M>(self, returned: R) -> Outcome {
        self.finish(|payload| returned.write(payload))
    }

    /// Writes the reply, and adds the warnings that only a written reply shows.
    pub(crate) fn finish(self, write: impl FnOnce(Payload) -> Outcome) -> Outcome {
        let context = self.context;
        let payload = Payload::new(self.envelope, self.limits).beside(context.clone());
        #[cfg(feature = "query")]
        let payload = payload.of_queries(self.queries.open_paths.clone());
        let written = write(payload);
        #[cfg(feature = "query")]
        let written = written.map_err(|error| self.queries.explain(error));
        let mut payload = written?;
        payload.take_warning().into_iter().for_each(|warning| context.warn(warning));
        #[cfg(feature = "query")]
        self.queries.warnings_of_reply().for_each(|warning| context.warn(warning));
        Ok(payload)
    }

    fn next(&mut self) -> Result<Argument, OperationError> {
        self.arguments.next().ok_or_else(|| {
            OperationError::internal("the operation's table lists too few parameters")
        })
    }
}
