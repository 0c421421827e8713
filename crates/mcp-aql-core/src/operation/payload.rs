//! The success part of a reply, as JSON.

use std::sync::Arc;

use crate::error::OperationError;
use crate::vocab::ReplyForm;

/// The result of running an operation: the success part of the reply, or an error.
pub type Outcome = Result<Payload, OperationError>;

/// The position of a result in `data`. It is determined when the adapter is built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Envelope {
    /// `data` is the result.
    Bare,
    /// `data` is an object with the result under this name.
    Key(Arc<str>),
}

/// The success part of a reply as JSON.
#[derive(Debug)]
pub struct Payload {
    text: String,
    form: ReplyForm,
}

/// The beginning of every successful reply.
pub(crate) const SUCCESS: &str = r#"{"success":true,"data":"#;
/// [`SUCCESS`] as the beginning of a JSON string.
pub(crate) const QUOTED_SUCCESS: &str = r#""{\"success\":true,\"data\":"#;

impl Payload {
    /// Creates a payload from JSON: [`SUCCESS`] and the data after it.
    pub(crate) fn new(text: String) -> Self {
        Self { text, form: ReplyForm::Plain }
    }

    /// Creates a payload from the beginning of a JSON string, whose content is the reply.
    pub(crate) fn quoted(text: String) -> Self {
        Self { text, form: ReplyForm::Quoted }
    }

    /// Returns the size of the JSON in bytes.
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// Returns the form of the JSON.
    pub(crate) fn form(&self) -> ReplyForm {
        self.form
    }

    /// Returns the JSON of the reply up to and including `data`, without the closing brace.
    pub(crate) fn into_text(self) -> String {
        self.text
    }

    /// Returns the same as [`into_text`](Self::into_text), always in the plain form.
    pub(crate) fn into_plain_text(self) -> String {
        match self.form {
            ReplyForm::Plain => self.text,
            // This always parses, because only this crate writes quoted payloads.
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
