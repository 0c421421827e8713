//! The traits implemented by the macros: operations, sets of operations, and groups of parameters.

use std::sync::Arc;

use super::{Call, ExampleSpec, Handler, OperationSpec, Outcome, PreviewFunction};
use crate::error::OperationError;
use crate::schema::spec::{DangerSpec, ParameterSpec};
use crate::util::BoxFuture;

/// An operation of a receiver `S`: its table and its function.
pub struct OperationEntry<S: ?Sized + 'static> {
    /// Static table.
    pub spec: OperationSpec,
    /// Decodes the arguments and calls the function.
    pub call: for<'a> fn(&'a S, Call) -> BoxFuture<'a, Outcome>,
    /// Previews a call before the user is asked to confirm it.
    pub(crate) preview: Option<PreviewFunction<S>>,
}

impl<S: Send + Sync + 'static> OperationEntry<S> {
    /// Returns the function with its receiver.
    pub(crate) fn bound_to(&self, receiver: Arc<S>) -> Handler {
        Handler::bound(receiver, self.call, self.preview)
    }
}

impl<S: ?Sized> OperationEntry<S> {
    /// Creates an operation from its table and its function.
    pub const fn new(
        spec: OperationSpec,
        call: for<'a> fn(&'a S, Call) -> BoxFuture<'a, Outcome>,
    ) -> Self {
        Self { spec, call, preview: None }
    }

    /// Sets the preview of calls. It runs before the user is asked to confirm a call, and must not change anything.
    #[must_use]
    pub const fn preview(mut self, preview: PreviewFunction<S>) -> Self {
        self.preview = Some(preview);
        self
    }

    /// Replaces the declared danger. Keeps the question of a confirmation unless `danger` has one.
    #[doc(hidden)]
    #[must_use]
    pub const fn danger(mut self, danger: DangerSpec) -> Self {
        let question = self.spec.danger.confirmation_message;
        self.spec.danger = danger;
        if danger.confirmation_message.is_none() {
            self.spec.danger.confirmation_message = question;
        }
        self
    }

    /// Replaces the examples.
    #[doc(hidden)]
    #[must_use]
    pub const fn examples(mut self, examples: &'static [ExampleSpec]) -> Self {
        self.spec.examples = examples;
        self
    }
}

/// A free function with `#[operation]`. Register it with
/// [`AdapterBuilder::operation`](crate::AdapterBuilder::operation).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an operation",
    label = "not an operation",
    note = "write `#[operation(category = \"…\")]` above the function and register it as `name {{}}`; a method is registered with its type: `.operations(value)`"
)]
pub trait Operation: 'static {
    /// Table and function of the operation.
    const OPERATION: OperationEntry<()>;
}

/// A type whose methods are operations. Write `#[operations]` on its impl block to implement this trait, and register
/// a value of the type with [`AdapterBuilder::operations`](crate::AdapterBuilder::operations).
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no operations",
    label = "no operations",
    note = "write `#[operations]` above the impl block whose methods carry `#[operation(…)]`"
)]
pub trait Operations: Send + Sync + 'static {
    /// The operations in source order.
    const OPERATIONS: &'static [OperationEntry<Self>];

    /// The operations of further blocks, declared with `#[operations(block = name)]` and listed by
    /// `#[operations(blocks(name))]`.
    const FURTHER: &'static [&'static [OperationEntry<Self>]] = &[];
}

/// Parameters shared by several operations. Derive it with `#[derive(ParamGroup)]`. Each field becomes a parameter of
/// the operation (REQ-RQ-13, REQ-INT-26).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a group of parameters",
    label = "not a group of parameters",
    note = "derive `ParamGroup` on it, or remove `#[param(group)]` to use it as one parameter"
)]
pub trait ParamGroup: Sized {
    /// The parameters, in the order of the fields.
    const PARAMETERS: &'static [ParameterSpec];

    /// Takes the group's values from a call, in the same order.
    ///
    /// # Errors
    ///
    /// Returns an error if a value passes the checks of the table but does not fit the field's type.
    fn decode(call: &mut Call) -> Result<Self, OperationError>;
}

impl Call {
    /// Returns the next arguments as a group.
    ///
    /// # Errors
    ///
    /// Returns the same error as [`param`](Self::param).
    pub fn group<G: ParamGroup>(&mut self) -> Result<G, OperationError> {
        G::decode(self)
    }
}
