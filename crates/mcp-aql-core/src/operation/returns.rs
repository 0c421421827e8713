//! Return types of operations, and how their data becomes a reply.

use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Call, Outcome, ReplyWriter};
use crate::error::OperationError;
use crate::schema::spec::{ReturnsSpec, Unused};

impl ReturnsSpec {
    /// The description of the result of a function with this return type. The second type argument is
    /// inferred: `_`.
    pub const fn of<R: OperationReturn<M>, M>() -> Self {
        R::RETURNS
    }
}

/// A return type of an operation's function: data that implements `Serialize` and `JsonSchema`, or a
/// `Result` of it whose error converts into [`OperationError`].
///
/// `M` distinguishes the two forms and is always inferred.
#[diagnostic::on_unimplemented(
    message = "an operation cannot return `{Self}`",
    label = "not something an operation can return",
    note = "return data that derives `Serialize` and `JsonSchema`, or a `Result` of such data",
    note = "the error of a `Result` must convert into `OperationError`: derive it with `#[derive(OperationError)]`; for an error of another crate write `.or_internal()?`"
)]
pub trait OperationReturn<M> {
    /// The type of the data, for introspection.
    const RETURNS: ReturnsSpec;

    /// Writes the data into the reply.
    ///
    /// # Errors
    /// The operation's own error, or `INTERNAL_ERROR` when the data cannot be serialized.
    fn write(self, writer: ReplyWriter<'_>) -> Outcome;
}

/// Marks data that is returned as such.
#[derive(Debug, Clone, Copy)]
pub struct Plain(());

/// Marks a `Result`.
#[derive(Debug, Clone, Copy)]
pub struct Fallible(());

/// Selects the form of a function's return type `R` in generated code: [`Fallible`] for every
/// `Result`, also behind an alias, and [`Plain`] for any other type.
///
/// A `Result` of serializable types is serializable itself. Inference by [`OperationReturn`] would
/// therefore accept `Result<u8, String>` as data and answer an `Err` as a success. Here the inherent
/// constant takes precedence over the one of [`PlainForm`], also where the error type is
/// serializable.
#[derive(Debug)]
pub struct ReturnForm<R>(PhantomData<fn() -> R>);

impl<T, E> ReturnForm<Result<T, E>> {
    /// The form of a `Result`.
    pub const FORM: Fallible = Fallible(());
}

/// The form of types other than `Result`, see [`ReturnForm`].
pub trait PlainForm {
    /// The form of data.
    const FORM: Plain = Plain(());
}

impl<R> PlainForm for ReturnForm<R> {}

impl Plain {
    /// The description of the function's result.
    pub const fn returns<R: PlainReturn>(self) -> ReturnsSpec {
        R::RETURNS
    }

    /// Writes what the function returned into the reply.
    ///
    /// # Errors
    /// `INTERNAL_ERROR` when the data cannot be serialized.
    pub fn reply<R: PlainReturn>(self, call: Call, returned: R) -> Outcome {
        call.finish(|writer| returned.write(writer))
    }
}

impl Fallible {
    /// The description of the function's result.
    pub const fn returns<R: FallibleReturn>(self) -> ReturnsSpec {
        R::RETURNS
    }

    /// Writes what the function returned into the reply.
    ///
    /// # Errors
    /// The function's own error, or `INTERNAL_ERROR` when the data cannot be serialized.
    pub fn reply<R: FallibleReturn>(self, call: Call, returned: R) -> Outcome {
        call.finish(|writer| returned.write(writer))
    }
}

/// A return type that is data.
pub trait PlainReturn {
    /// The type of the data, for introspection.
    const RETURNS: ReturnsSpec;

    /// Writes the data into the reply.
    ///
    /// # Errors
    /// `INTERNAL_ERROR` when the data cannot be serialized.
    fn write(self, writer: ReplyWriter<'_>) -> Outcome;
}

impl<T> PlainReturn for T
where
    ReplyData: Writes<T>,
    ReplyData: Describes<Written<T>>,
{
    const RETURNS: ReturnsSpec = <ReplyData as Describes<Written<T>>>::RETURNS;

    fn write(self, writer: ReplyWriter<'_>) -> Outcome {
        <ReplyData as Writes<T>>::write(&self, writer)
    }
}

/// A return type that is a `Result`.
pub trait FallibleReturn {
    /// The type of the data, for introspection.
    const RETURNS: ReturnsSpec;

    /// Writes the data into the reply.
    ///
    /// # Errors
    /// The function's own error, or `INTERNAL_ERROR` when the data cannot be serialized.
    fn write(self, writer: ReplyWriter<'_>) -> Outcome;
}

// The bounds are on the parts of a `Result`, and the impl is for any type, so that the compiler reports
// the part that lacks a trait and suggests no other implementation.
impl<R: ResultParts> FallibleReturn for R
where
    ReplyData: Writes<R::Data>,
    ReplyData: Describes<Written<R::Data>>,
    R::Error: ReturnedError,
{
    const RETURNS: ReturnsSpec = <ReplyData as Describes<Written<R::Data>>>::RETURNS;

    fn write(self, writer: ReplyWriter<'_>) -> Outcome {
        let data = self.into_result().map_err(Into::into)?;
        <ReplyData as Writes<R::Data>>::write(&data, writer)
    }
}

/// The two types of a `Result`.
pub trait ResultParts {
    /// The type of the data.
    type Data;
    /// The type of the error.
    type Error;

    /// The value itself.
    ///
    /// # Errors
    /// The value's own.
    fn into_result(self) -> Result<Self::Data, Self::Error>;
}

impl<T, E> ResultParts for Result<T, E> {
    type Data = T;
    type Error = E;

    fn into_result(self) -> Self {
        self
    }
}

/// The error type of an operation's `Result`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the error of an operation: it does not convert into `OperationError`",
    label = "the error type `{Self}` does not convert into `OperationError`",
    note = "for an error type of your own write `#[derive(OperationError)]` above it, or implement `From<{Self}>` for `OperationError`",
    note = "for a type of another crate return `Result<…, OperationError>` and convert where the error arises: `.or_internal()?` for a failure of the adapter, `.map_err(|error| OperationError::new(ErrorCode::…, …))?` for one that the caller can mend"
)]
pub trait ReturnedError: Into<OperationError> {}

#[diagnostic::do_not_recommend]
impl<E: Into<OperationError>> ReturnedError for E {}

/// Carries the requirements of a result's data. They are on a type of their own, so that each message
/// names the data's type and one missing trait.
#[derive(Debug)]
pub struct ReplyData(());

/// The data type `T`, once it is known that it can be written. Without `Serialize` the projection
/// fails and a missing `JsonSchema` is not reported as well: the first message names both traits.
type Written<T> = <ReplyData as Writes<T>>::Data;

/// `T` can be written into a reply.
#[diagnostic::on_unimplemented(
    message = "an operation cannot return `{T}`: it does not implement `Serialize`",
    label = "`Serialize` is missing on `{T}`",
    note = "for a type of your own write `#[derive(serde::Serialize, JsonSchema)]` above it; a list, map or `Option` has the traits that its content has",
    note = "for a type of another crate enable its feature `serde`, or wrap it in a type of your own that implements both"
)]
pub trait Writes<T> {
    /// `T`.
    type Data;

    /// Writes the data into the reply.
    ///
    /// # Errors
    /// `INTERNAL_ERROR` when the data cannot be serialized.
    fn write(data: &T, writer: ReplyWriter<'_>) -> Outcome;
}

#[diagnostic::do_not_recommend]
impl<T: Serialize> Writes<T> for ReplyData {
    type Data = T;

    fn write(data: &T, writer: ReplyWriter<'_>) -> Outcome {
        writer.write(data)
    }
}

#[diagnostic::do_not_recommend]
impl<T, U: Unused> Writes<T> for U {
    type Data = T;

    fn write(_: &T, _: ReplyWriter<'_>) -> Outcome {
        Err(OperationError::internal("no type implements this"))
    }
}

/// `T` can be described by introspection.
#[diagnostic::on_unimplemented(
    message = "an operation cannot return `{T}`: it does not implement `JsonSchema`",
    label = "`JsonSchema` is missing on `{T}`",
    note = "for a type of your own write `#[derive(JsonSchema)]` above it; a list, map or `Option` has the traits that its content has",
    note = "for a type of another crate enable the feature of `schemars` that implements it, such as `chrono04`, `jiff02`, `url2` or `uuid1`, or wrap it in a type of your own, see the book's chapter on parameters"
)]
pub trait Describes<T> {
    /// The type of the data, for introspection.
    const RETURNS: ReturnsSpec;
}

#[diagnostic::do_not_recommend]
impl<T: JsonSchema> Describes<T> for ReplyData {
    const RETURNS: ReturnsSpec = ReturnsSpec::of_data::<T>();
}

#[diagnostic::do_not_recommend]
impl<T: Serialize + JsonSchema> OperationReturn<Plain> for T {
    const RETURNS: ReturnsSpec = ReturnsSpec::of_data::<T>();

    fn write(self, writer: ReplyWriter<'_>) -> Outcome {
        writer.write(&self)
    }
}

#[diagnostic::do_not_recommend]
impl<T: Serialize + JsonSchema, E: Into<OperationError>> OperationReturn<Fallible>
    for Result<T, E>
{
    const RETURNS: ReturnsSpec = ReturnsSpec::of_data::<T>();

    fn write(self, writer: ReplyWriter<'_>) -> Outcome {
        writer.write(&self.map_err(Into::into)?)
    }
}

impl Call {
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
        self.finish(|writer| returned.write(writer))
    }
}
