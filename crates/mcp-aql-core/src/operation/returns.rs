//! Return types of operations, and the conversion of their data into replies.
//!
//! Generated code selects the form of a return type with [`ReturnForm`]. Operations written by hand use
//! [`OperationReturn`] and let the compiler infer the form.

use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Call, Outcome, ReplyWriter};
use crate::error::OperationError;
use crate::schema::spec::{ReturnsSpec, Unused};

impl ReturnsSpec {
    /// Describes the result of a function with this return type. The second type argument is inferred; write `_`.
    pub const fn of<R: OperationReturn<M>, M>() -> Self {
        R::RETURNS
    }
}

/// A return type of an operation's function. It is implemented for data that implements `Serialize` and `JsonSchema`,
/// and for a `Result` of such data whose error converts into [`OperationError`].
///
/// `M` distinguishes the two cases and is always inferred.
#[diagnostic::on_unimplemented(
    message = "an operation cannot return `{Self}`",
    label = "not something an operation can return",
    note = "return data that derives `Serialize` and `JsonSchema`, or a `Result` of such data",
    note = "the error of a `Result` must convert into `OperationError`: derive it with `#[derive(OperationError)]`; for an error of another crate write `.or_internal()?`"
)]
pub trait OperationReturn<M> {
    /// Type of the data, for introspection.
    const RETURNS: ReturnsSpec;

    /// Writes the data into the reply.
    ///
    /// # Errors
    ///
    /// Returns the operation's own error, or `INTERNAL_ERROR` if the data cannot be serialized.
    fn write(self, writer: ReplyWriter<'_>) -> Outcome;
}

/// Marks plain data as a return type.
#[derive(Debug, Clone, Copy)]
pub struct Plain(());

/// Marks a `Result` as a return type.
#[derive(Debug, Clone, Copy)]
pub struct Fallible(());

/// Selects the form of a function's return type `R` in generated code: [`Fallible`] for every `Result`, even behind
/// an alias, and [`Plain`] for any other type.
///
/// This selection is necessary because a `Result` of serializable types is serializable itself. Inference with
/// [`OperationReturn`] would therefore accept `Result<u8, String>` as data and reply to an `Err` with a success. The
/// inherent constant of this type takes precedence over that of [`PlainForm`], even if the error type is serializable.
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
    /// Describes the function's result.
    pub const fn returns<R: PlainReturn>(self) -> ReturnsSpec {
        R::RETURNS
    }

    /// Writes the returned value into the reply.
    ///
    /// # Errors
    ///
    /// Returns `INTERNAL_ERROR` if the data cannot be serialized.
    pub fn reply<R: PlainReturn>(self, call: Call, returned: R) -> Outcome {
        call.finish(|writer| returned.write(writer))
    }
}

impl Fallible {
    /// Describes the function's result.
    pub const fn returns<R: FallibleReturn>(self) -> ReturnsSpec {
        R::RETURNS
    }

    /// Writes the returned value into the reply.
    ///
    /// # Errors
    ///
    /// Returns the function's own error, or `INTERNAL_ERROR` if the data cannot be serialized.
    pub fn reply<R: FallibleReturn>(self, call: Call, returned: R) -> Outcome {
        call.finish(|writer| returned.write(writer))
    }
}

/// Implemented for plain data as a return type.
pub trait PlainReturn {
    /// Type of the data, for introspection.
    const RETURNS: ReturnsSpec;

    /// Writes the data into the reply.
    ///
    /// # Errors
    ///
    /// Returns `INTERNAL_ERROR` if the data cannot be serialized.
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

/// Implemented for a `Result` as a return type.
pub trait FallibleReturn {
    /// Type of the data, for introspection.
    const RETURNS: ReturnsSpec;

    /// Writes the data into the reply.
    ///
    /// # Errors
    ///
    /// Returns the function's own error, or `INTERNAL_ERROR` if the data cannot be serialized.
    fn write(self, writer: ReplyWriter<'_>) -> Outcome;
}

// The bounds are on the parts of a `Result`, and the impl is for any type. The compiler then reports the part that
// lacks a trait, and does not suggest another implementation.
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

/// The two type arguments of a `Result`.
pub trait ResultParts {
    /// Type of the data.
    type Data;
    /// Type of the error.
    type Error;

    /// Returns the value as a `Result`.
    ///
    /// # Errors
    ///
    /// Returns the error contained in the value.
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
    note = "for a type of another crate return `Result<…, OperationError>` and convert where the error arises: `.or_internal()?` for a failure of the adapter, `.map_err(|error| OperationError::new(ErrorCode::…, …))?` for one that the caller can correct"
)]
pub trait ReturnedError: Into<OperationError> {}

#[diagnostic::do_not_recommend]
impl<E: Into<OperationError>> ReturnedError for E {}

/// Carries the requirements on a result's data. They are bounds on this type instead of the data's type, so that each
/// error message names the data's type and one missing trait.
#[derive(Debug)]
pub struct ReplyData(());

/// The data type `T`, once the compiler knows that it can be written. If `Serialize` is missing, this projection
/// fails, and the compiler does not also report a missing `JsonSchema`: the first message names both traits.
type Written<T> = <ReplyData as Writes<T>>::Data;

/// Implemented if `T` can be written into a reply.
#[diagnostic::on_unimplemented(
    message = "an operation cannot return `{T}`: it does not implement `Serialize`",
    label = "`Serialize` is missing on `{T}`",
    note = "for a type of your own write `#[derive(serde::Serialize, JsonSchema)]` above it; a list, map or `Option` has the traits that its content has",
    note = "for a type of another crate enable its feature `serde`, or wrap it in a type of your own that implements both"
)]
pub trait Writes<T> {
    /// The type `T`.
    type Data;

    /// Writes the data into the reply.
    ///
    /// # Errors
    ///
    /// Returns `INTERNAL_ERROR` if the data cannot be serialized.
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

/// Implemented if introspection can describe `T`.
#[diagnostic::on_unimplemented(
    message = "an operation cannot return `{T}`: it does not implement `JsonSchema`",
    label = "`JsonSchema` is missing on `{T}`",
    note = "for a type of your own write `#[derive(JsonSchema)]` above it; a list, map or `Option` has the traits that its content has",
    note = "for a type of another crate enable the feature of `schemars` that implements it, such as `chrono04`, `jiff02`, `url2` or `uuid1`, or wrap it in a type of your own, see the book's chapter on parameters"
)]
pub trait Describes<T> {
    /// Type of the data, for introspection.
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
    /// Converts the value returned by the function into the reply. Use this in an operation written by hand.
    ///
    /// The form of `returned` is inferred. A `Result` whose error type is serializable and has a JSON schema, such as
    /// `Result<u8, String>`, is data to this method. Convert the error into an [`OperationError`] first, for example
    /// with `call.reply(result.or_internal())`. Generated code does not depend on this inference.
    ///
    /// # Errors
    ///
    /// Returns the operation's own error.
    pub fn reply<R: OperationReturn<M>, M>(self, returned: R) -> Outcome {
        self.finish(|writer| returned.write(writer))
    }
}
