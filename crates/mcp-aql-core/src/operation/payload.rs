//! The success part of a reply.

use std::sync::Arc;

use crate::error::OperationError;
use crate::vocab::ReplyForm;

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
pub struct Payload {
    text: String,
    form: ReplyForm,
}

/// The beginning of every success.
pub(crate) const SUCCESS: &str = r#"{"success":true,"data":"#;
/// The same as the beginning of a JSON string.
pub(crate) const QUOTED_SUCCESS: &str = r#""{\"success\":true,\"data\":"#;

impl Payload {
    /// Creates a payload from JSON text: [`SUCCESS`] and the data after it.
    pub(crate) fn new(text: String) -> Self {
        Self { text, form: ReplyForm::Plain }
    }

    /// Creates a payload from the beginning of a JSON string that contains the text.
    pub(crate) fn quoted(text: String) -> Self {
        Self { text, form: ReplyForm::Quoted }
    }

    /// The size of the text in bytes.
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// The form of the text.
    pub(crate) fn form(&self) -> ReplyForm {
        self.form
    }

    /// The reply's text up to and including `data`, without the closing brace.
    pub(crate) fn into_text(self) -> String {
        self.text
    }

    /// The reply's text like [`into_text`](Self::into_text), in its plain form.
    pub(crate) fn into_plain_text(self) -> String {
        match self.form {
            ReplyForm::Plain => self.text,
            // A string of this module always parses.
            ReplyForm::Quoted => serde_json::from_str(&(self.text + "\"")).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocab::quote;

    #[test]
    fn a_quoted_payload_has_a_plain_form() {
        let mut quoted = b"\"".to_vec();
        quote(&mut quoted, SUCCESS.as_bytes());
        assert_eq!(QUOTED_SUCCESS.as_bytes(), quoted);
        let payload = Payload::quoted(format!(r#"{QUOTED_SUCCESS}{{\"a\":\"\\n\"}}"#));
        assert_eq!(payload.into_plain_text(), format!(r#"{SUCCESS}{{"a":"\n"}}"#));
    }
}
