//! The success part of a reply.

use std::sync::Arc;

use crate::error::OperationError;

/// The result of running an operation: the success part of the reply, or an error.
pub type Outcome = Result<Payload, OperationError>;

/// The position of a result in `data`, determined when the adapter is built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Envelope {
    /// `data` is the result.
    Bare,
    /// `data` is an object with the result under this name.
    Key(Arc<str>),
}

/// The success part of a reply as JSON text.
#[derive(Debug)]
pub struct Payload(String);

/// The beginning of every success.
pub const SUCCESS: &str = r#"{"success":true,"data":"#;

impl Payload {
    /// Creates a payload from JSON text: [`SUCCESS`] and the data after it.
    pub(crate) fn new(text: String) -> Self {
        Self(text)
    }

    /// The reply's text up to and including `data`, without the closing brace.
    pub(crate) fn into_text(self) -> String {
        self.0
    }
}
