//! Previews of calls, for the question that a user confirms.

use serde::Serialize;

use crate::error::OperationError;
use crate::vocab::digest;

/// Describes what a call would do, before the user is asked to confirm it. Return it from the function named by
/// `#[operation(preview = …)]`.
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
    /// Hash of what the confirmation is bound to.
    fingerprint: Option<String>,
}

impl Preview {
    /// Asks this question instead of the declared one. At most 2,000 characters are allowed. The confirmation is
    /// valid as long as the question stays the same.
    pub fn new(question: impl Into<String>) -> Self {
        let question = question.into();
        Self { fingerprint: Some(digest(question.as_bytes())), question: Some(question) }
    }

    /// Keeps the declared question. The confirmation does not depend on any state. Return it if you add nothing.
    pub fn unchanged() -> Self {
        Self::default()
    }

    /// Binds the confirmation to this state instead of the wording of the question. Pass the identifiers and versions
    /// of what the call would change. If the state differs when the confirmed call arrives, the user is asked again.
    /// If the state cannot be serialized as JSON, the confirmation is bound to the question only.
    ///
    /// The state may change once more before your function runs. Use
    /// [`Context::is_as_confirmed`](crate::Context::is_as_confirmed) in the function to compare it again.
    #[must_use]
    pub fn of_state(mut self, state: &(impl Serialize + ?Sized)) -> Self {
        if let Ok(state) = serde_json::to_vec(state) {
            self.fingerprint = Some(digest(&state));
        }
        self
    }

    /// Returns the question, or `None` if the declared one is kept.
    pub(crate) fn question(&self) -> Option<&str> {
        self.question.as_deref()
    }

    /// Returns the hash of what the confirmation is bound to.
    pub(crate) fn fingerprint(&self) -> Option<&str> {
        self.fingerprint.as_deref()
    }
}

/// Implemented for the types that a preview function may return: a [`Preview`], a question, or a `Result` with one of
/// them. An error rejects the call before the user is asked.
#[diagnostic::on_unimplemented(
    message = "a preview function cannot return `{Self}`",
    note = "return `Preview`, or `Result<Preview, E>` with an error that operations can return"
)]
pub trait IntoPreview {
    /// Converts the returned value.
    ///
    /// # Errors
    ///
    /// Returns the error with which the call should fail.
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
