//! What a call would do, before anybody is asked to confirm it.

use serde::Serialize;

use crate::error::OperationError;
use crate::vocab::digest;

/// What a call would do, for the question before it is confirmed. The function that `#[operation(preview = …)]` names
/// returns it.
///
/// ```
/// use mcp_aql::gatekeeper::Preview;
///
/// let ids = ["t-1", "t-2"];
/// let preview = Preview::new(format!("Delete {} tasks?", ids.len())).of_state(&ids);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preview {
    question: Option<String>,
    /// The hash of what the question is about.
    fingerprint: Option<String>,
}

impl Preview {
    /// Asks this question instead of the declared one, with at most 2,000 characters. The confirmation is valid as long as the question stays the same.
    pub fn new(question: impl Into<String>) -> Self {
        let question = question.into();
        Self { fingerprint: Some(digest(question.as_bytes())), question: Some(question) }
    }

    /// Leaves the declared question. The confirmation does not depend on the state.
    pub fn unchanged() -> Self {
        Self::default()
    }

    /// Binds the confirmation to this state instead of the text of the question: the identifiers and versions of what the
    /// call would change. If the state differs when the confirmed call arrives, the user is asked again. A state that
    /// cannot be written as JSON binds the confirmation to nothing but the question.
    ///
    /// The state may change once more before the function runs:
    /// [`Context::is_as_confirmed`](crate::Context::is_as_confirmed) compares it in the function.
    #[must_use]
    pub fn of_state(mut self, state: &(impl Serialize + ?Sized)) -> Self {
        if let Ok(state) = serde_json::to_vec(state) {
            self.fingerprint = Some(digest(&state));
        }
        self
    }

    /// The question, if it replaces the declared one.
    pub(crate) fn question(&self) -> Option<&str> {
        self.question.as_deref()
    }

    /// The hash of what the confirmation is bound to.
    pub(crate) fn fingerprint(&self) -> Option<&str> {
        self.fingerprint.as_deref()
    }
}

/// What a preview function may return: a [`Preview`], a question, or a `Result` of one. An error refuses the call before
/// anybody is asked.
#[diagnostic::on_unimplemented(
    message = "a preview function cannot return `{Self}`",
    note = "return `Preview`, or `Result<Preview, E>` with an error that operations can return"
)]
pub trait IntoPreview {
    /// Converts the returned value.
    ///
    /// # Errors
    /// The error with which the call would fail.
    fn into_preview(self) -> Result<Preview, OperationError>;
}

impl IntoPreview for Preview {
    fn into_preview(self) -> Result<Preview, OperationError> {
        Ok(self)
    }
}

impl IntoPreview for String {
    fn into_preview(self) -> Result<Preview, OperationError> {
        Ok(Preview::new(self))
    }
}

impl<P: IntoPreview, E: Into<OperationError>> IntoPreview for Result<P, E> {
    fn into_preview(self) -> Result<Preview, OperationError> {
        self.map_err(Into::into)?.into_preview()
    }
}
