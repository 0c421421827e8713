use std::marker::PhantomData;
use std::sync::Arc;

use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;

use super::{Call, SchemaFn, Warning};
use crate::error::{ErrorCode, OperationError};
#[cfg(feature = "query")]
use crate::query::Room;
use crate::request::write_json;
use crate::vocab::ReplyLimits;

/// What running an operation comes to: the success half of the reply, or an error.
pub type Outcome = Result<Payload, OperationError>;

/// The type of a result, for introspection.
#[derive(Debug, Clone, Copy)]
pub struct ReturnsSpec {
    schema: SchemaFn,
}

impl ReturnsSpec {
    /// What a function of this return type gives. Let the second argument be inferred: `_`.
    pub const fn of<R: OperationReturn<M>, M>() -> Self {
        R::RETURNS
    }

    /// The type's JSON schema.
    pub(crate) const fn schema(&self) -> SchemaFn {
        self.schema
    }

    /// The result is described by this schema and wrapped as [`DataKey`](super::DataKey) says.
    const fn wrapped<T: JsonSchema>() -> Self {
        Self { schema: SchemaGenerator::subschema_for::<T> }
    }
}

/// What an operation's function may return: data that can be serialized and described, or a
/// `Result` of it whose error converts into [`OperationError`].
///
/// `M` tells the two forms apart and is always inferred.
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
    fn write(self, payload: Payload) -> Outcome;
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
        call.finish(|payload| returned.write(payload))
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
        call.finish(|payload| returned.write(payload))
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
    fn write(self, payload: Payload) -> Outcome;
}

impl<T> PlainReturn for T
where
    ReplyData: Writes<T>,
    ReplyData: Describes<Written<T>>,
{
    const RETURNS: ReturnsSpec = <ReplyData as Describes<Written<T>>>::RETURNS;

    fn write(self, payload: Payload) -> Outcome {
        <ReplyData as Writes<T>>::write(&self, payload)
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
    fn write(self, payload: Payload) -> Outcome;
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

    fn write(self, payload: Payload) -> Outcome {
        let data = self.into_result().map_err(Into::into)?;
        <ReplyData as Writes<R::Data>>::write(&data, payload)
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
    fn write(data: &T, payload: Payload) -> Outcome;
}

#[diagnostic::do_not_recommend]
impl<T: Serialize> Writes<T> for ReplyData {
    type Data = T;

    fn write(data: &T, payload: Payload) -> Outcome {
        payload.with(data)
    }
}

/// Implemented by no type. A second implementation that never applies makes the compiler report the
/// trait itself with its message, not a requirement of the only implementation.
pub trait Unused {}

#[diagnostic::do_not_recommend]
impl<T, U: Unused> Writes<T> for U {
    type Data = T;

    fn write(_: &T, _: Payload) -> Outcome {
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
    const RETURNS: ReturnsSpec = ReturnsSpec::wrapped::<T>();
}

#[diagnostic::do_not_recommend]
impl<T: Serialize + JsonSchema> OperationReturn<Plain> for T {
    const RETURNS: ReturnsSpec = ReturnsSpec::wrapped::<T>();

    fn write(self, payload: Payload) -> Outcome {
        payload.with(&self)
    }
}

#[diagnostic::do_not_recommend]
impl<T: Serialize + JsonSchema, E: Into<OperationError>> OperationReturn<Fallible>
    for Result<T, E>
{
    const RETURNS: ReturnsSpec = ReturnsSpec::wrapped::<T>();

    fn write(self, payload: Payload) -> Outcome {
        payload.with(&self.map_err(Into::into)?)
    }
}

/// How `data` holds a result; settled when the adapter is built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Envelope {
    /// `data` is the result.
    Bare,
    /// `data` is an object with the result under this name.
    Key(Arc<str>),
}

/// The success half of a reply, as JSON text that grows: the result is serialized straight into it.
#[derive(Debug)]
pub struct Payload {
    text: Text,
    envelope: Envelope,
    limits: ReplyLimits,
    /// The warning that goes with it: a page that was cut to fit.
    warning: Option<Warning>,
}

/// Where a reply's text comes from.
#[derive(Debug)]
enum Text {
    /// A serializer wrote it.
    Written(Vec<u8>),
    /// It was kept ready.
    Ready(String),
}

/// Room for what a reply has behind a page that was cut: closing braces and warnings.
#[cfg(feature = "query")]
const AROUND_PAGE: usize = 4_096;

fn is_too_large(error: &OperationError) -> bool {
    error.code() == ErrorCode::ValidationPayloadTooLarge
}

/// What every success starts with.
pub(crate) const SUCCESS: &str = r#"{"success":true,"data":"#;

impl Payload {
    pub(crate) fn new(envelope: Envelope, limits: ReplyLimits) -> Self {
        Self { text: Text::Written(Vec::new()), envelope, limits, warning: None }
    }

    /// The warning that goes with the data.
    pub(crate) fn take_warning(&mut self) -> Option<Warning> {
        self.warning.take()
    }

    /// Serializes the result into the reply.
    fn with<T: Serialize + ?Sized>(mut self, data: &T) -> Outcome {
        // Most results fit, and allocators have blocks of this size at hand.
        let mut text = Vec::with_capacity(512);
        text.extend_from_slice(SUCCESS.as_bytes());
        let mut depth = 1;
        if let Envelope::Key(key) = &self.envelope {
            // Keys are public names: nothing in them needs escaping.
            text.extend_from_slice(b"{\"");
            text.extend_from_slice(key.as_bytes());
            text.extend_from_slice(b"\":");
            depth += 1;
        }
        #[cfg(feature = "query")]
        let begun = text.len();
        #[cfg_attr(not(feature = "query"), expect(unused_mut, reason = "pages are cut below"))]
        let mut written = write_json(&mut text, data, depth, self.limits);
        #[cfg(feature = "query")]
        if written.as_ref().is_err_and(is_too_large) {
            // A page can be cut where the reply has no more room.
            let limits = self.limits;
            let room = Room {
                bytes: limits.bytes.saturating_sub(begun + AROUND_PAGE),
                depth: limits.depth.saturating_sub(depth),
            };
            (written, self.warning) = room.cut(|| {
                text.truncate(begun);
                write_json(&mut text, data, depth, limits)
            });
        }
        written.map_err(|error| match is_too_large(&error) {
            true => error.with_detail("operation_ran", true),
            false => error,
        })?;
        if self.envelope != Envelope::Bare {
            text.push(b'}');
        }
        self.text = Text::Written(text);
        Ok(self)
    }

    /// A payload that is JSON text already: [`SUCCESS`] and the data behind it.
    pub(crate) fn ready(text: String, limits: ReplyLimits) -> Self {
        Self { text: Text::Ready(text), envelope: Envelope::Bare, limits, warning: None }
    }

    /// The reply's text up to and including `data`, without the closing brace.
    pub(crate) fn into_text(self) -> String {
        match self.text {
            Text::Ready(text) => text,
            // serde_json writes UTF-8, and so does everything else in here: nothing is replaced.
            Text::Written(text) => String::from_utf8(text)
                .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
        }
    }
}
