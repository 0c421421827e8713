//! Return types of operations, and how their data becomes a reply.

use std::marker::PhantomData;
use std::sync::Arc;

use mcp_aql_protocol::ErrorCode;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Call, Context, LateWarning};
use crate::error::OperationError;
use crate::paging::{FitResult, PageSpace, cut_warning, fit_page, measure_frame};
use crate::request::{too_large, write_json};
use crate::spec::{ReturnsSpec, Unused};
use crate::vocab::ReplyLimits;
use crate::warning::Warning;

/// What running an operation comes to: the success half of the reply, or an error.
pub type Outcome = Result<Payload, OperationError>;

impl ReturnsSpec {
    /// What a function of this return type gives. Let the second argument be inferred: `_`.
    pub const fn of<R: OperationReturn<M>, M>() -> Self {
        R::RETURNS
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
    const RETURNS: ReturnsSpec = ReturnsSpec::of_data::<T>();
}

#[diagnostic::do_not_recommend]
impl<T: Serialize + JsonSchema> OperationReturn<Plain> for T {
    const RETURNS: ReturnsSpec = ReturnsSpec::of_data::<T>();

    fn write(self, payload: Payload) -> Outcome {
        payload.with(&self)
    }
}

#[diagnostic::do_not_recommend]
impl<T: Serialize + JsonSchema, E: Into<OperationError>> OperationReturn<Fallible>
    for Result<T, E>
{
    const RETURNS: ReturnsSpec = ReturnsSpec::of_data::<T>();

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
    /// The call, whose warnings are in the reply too.
    context: Option<Context>,
    late_warnings: Vec<Arc<dyn LateWarning>>,
    /// The warning that goes with it: a page that was cut to fit.
    warning: Option<Box<Warning>>,
}

/// Where a reply's text comes from.
#[derive(Debug)]
enum Text {
    /// A serializer wrote it.
    Written(Vec<u8>),
    /// It was kept ready.
    Ready(String),
}

fn is_too_large(error: &OperationError) -> bool {
    error.code() == ErrorCode::ValidationPayloadTooLarge
}

/// What every success starts with.
pub(crate) const SUCCESS: &str = r#"{"success":true,"data":"#;

impl Payload {
    pub(crate) fn new(envelope: Envelope, limits: ReplyLimits) -> Self {
        Self {
            text: Text::Written(Vec::new()),
            envelope,
            limits,
            context: None,
            late_warnings: Vec::new(),
            warning: None,
        }
    }

    /// The warnings of this call need room in the reply.
    pub(crate) fn beside(self, context: Context) -> Self {
        Self { context: Some(context), ..self }
    }

    /// These warnings, which are known once the result is written, need room in the reply.
    pub(crate) fn with_late_warnings(self, late_warnings: Vec<Arc<dyn LateWarning>>) -> Self {
        Self { late_warnings, ..self }
    }

    /// The warning that goes with the data.
    pub(crate) fn take_warning(&mut self) -> Option<Warning> {
        self.warning.take().map(|warning| *warning)
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
        let begun = text.len();
        let mut written = write_json(&mut text, data, depth, self.limits);
        let fits = match &written {
            Ok(()) => self.has_room(text.len()),
            Err(error) => !is_too_large(error),
        };
        if !fits {
            // A page can be cut where the reply has no more room.
            let begin = text.get(..begun).unwrap_or_default().to_vec();
            match self.fit(&begin, data, depth) {
                Some(Ok((cut, warning))) => {
                    (text, written, self.warning) = (cut, Ok(()), Some(Box::new(warning)));
                }
                Some(Err(error)) if written.is_err() || self.limits.room == self.limits.bytes => {
                    written = Err(error);
                }
                _ => {}
            }
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

    /// The closing braces of the reply.
    fn closing(&self) -> usize {
        1 + usize::from(self.envelope != Envelope::Bare)
    }

    /// The bytes behind the data: closing braces, and the warnings with the one of a page that is cut.
    fn behind(&self, cut: Option<&Warning>) -> usize {
        let Some(context) = self.context.as_ref().filter(|_| self.limits.has_warnings) else {
            return self.closing();
        };
        let mut warnings = context.warnings();
        cut.into_iter().for_each(|warning| warnings.push(warning.clone()));
        self.late_warnings
            .iter()
            .filter_map(|late| late.warning())
            .for_each(|warning| warnings.push(warning));
        self.closing() + warnings.reply_bytes()
    }

    /// Whether a reply with data up to this length has room for what follows.
    fn has_room(&self, length: usize) -> bool {
        // Nearly every reply is far from the limit, and its warnings need not be measured.
        const FAR: usize = 64 << 10;
        let is_far = length.saturating_add(FAR) < self.limits.room && self.has_no_warnings();
        is_far || length.saturating_add(self.behind(None)) <= self.limits.room
    }

    fn has_no_warnings(&self) -> bool {
        self.late_warnings.is_empty()
            && self.context.as_ref().is_none_or(Context::has_no_warnings)
    }

    /// Serializes a result again that has no room behind `begin`, with the page in it cut. Returns `None`
    /// if there is no page in it that can be cut.
    fn fit<T: Serialize + ?Sized>(
        &self,
        begin: &[u8],
        data: &T,
        depth: usize,
    ) -> Option<Result<(Vec<u8>, Warning), OperationError>> {
        let limits = self.limits;
        let write = || {
            let mut text = begin.to_vec();
            write_json(&mut text, data, depth, limits).map(|()| text)
        };
        let frame = measure_frame(|| write().ok())?;
        let mut behind = self.behind(Some(&cut_warning(1, 0, 0)));
        loop {
            let around = frame.bytes + behind;
            let room = PageSpace {
                bytes: limits.room.checked_sub(around)?,
                alone: limits.bytes.checked_sub(around)?,
                depth: limits.depth.saturating_sub(frame.depth),
            };
            match fit_page(room, write) {
                (Ok(text), Some(FitResult::Cut(warning))) => {
                    let needed = self.behind(Some(&warning));
                    if needed <= behind {
                        return Some(Ok((text, warning)));
                    }
                    behind = needed;
                }
                (_, Some(FitResult::TooMany(size))) => {
                    let bytes = limits.bytes;
                    let error = too_large("response_size", bytes, bytes.saturating_add(1), "bytes");
                    return Some(Err(error.with_detail("fitting_page_size", size)));
                }
                _ => return None,
            }
        }
    }

    /// A payload that is JSON text already: [`SUCCESS`] and the data behind it.
    pub(crate) fn ready(text: String, limits: ReplyLimits) -> Self {
        Self { text: Text::Ready(text), ..Self::new(Envelope::Bare, limits) }
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
