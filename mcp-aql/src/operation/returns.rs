use std::sync::Arc;

use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;

use super::SchemaFn;
use crate::error::{ErrorCode, OperationError};
use crate::request::write_json;
use crate::vocab::Limits;

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
    note = "the error of a `Result` must convert into `OperationError`: derive it with `#[derive(OperationError)]`; for an error of another crate write `.map_err(OperationError::internal)?`"
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
#[derive(Debug)]
pub struct Plain(());

/// Marks a `Result`.
#[derive(Debug)]
pub struct Fallible(());

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
    limits: Limits,
    measured: bool,
}

/// Where a reply's text comes from.
#[derive(Debug)]
enum Text {
    /// A serializer wrote it.
    Written(Vec<u8>),
    /// It was kept ready.
    Ready(String),
}

/// What every success starts with.
pub(crate) const SUCCESS: &str = r#"{"success":true,"data":"#;

impl Payload {
    pub(crate) fn new(envelope: Envelope, limits: Limits) -> Self {
        Self { text: Text::Written(Vec::new()), envelope, limits, measured: false }
    }

    /// Whether its data is known to keep to the limits.
    pub(crate) fn is_measured(&self) -> bool {
        self.measured
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
        write_json(&mut text, data, depth, &self.limits).map_err(|error| match error.code() {
            ErrorCode::ValidationPayloadTooLarge => error.with_detail("operation_ran", true),
            _ => error,
        })?;
        if self.envelope != Envelope::Bare {
            text.push(b'}');
        }
        self.text = Text::Written(text);
        self.measured = true;
        Ok(self)
    }

    /// A payload that is JSON text already: [`SUCCESS`] and the data behind it.
    pub(crate) fn ready(text: String, measured: bool) -> Self {
        let text = Text::Ready(text);
        Self { text, envelope: Envelope::Bare, limits: Limits::default(), measured }
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
