//! The `input` of UPDATE operations.
//!
//! Absent, `null` and a value are three different states at every depth:
//!
//! ```json
//! { "title": "New title", "due": null }
//! ```
//!
//! This input sets `title`, removes `due` and keeps all other fields. A decoded input merges without failing.
//!
//! | part | purpose |
//! |---|---|
//! | [`UpdateInput`] | implemented by `#[derive(UpdateInput)]`: the fields and their accessors |
//! | [`Update`] | one decoded `input`, ready to be merged |
//! | [`merge_json`] | the same merge for plain JSON |
//! | [`IfMatch`] | the version that a resource must still have |
//! | [`rule`] | the rule for merging a field, chosen by its type |
//!
//! Source: MCP-AQL §4.5 (REQ-UPD-01 to REQ-UPD-12), §9.3.2 (REQ-CON-02, REQ-CON-03).

mod change;
mod decode;
mod document;
mod field;
mod if_match;
mod json;
mod path;
pub mod rule;

pub use change::{FieldChange, Update};
#[doc(hidden)]
pub use document::{DocumentEdit, DocumentMember};
pub use field::{UpdateField, field_specs};
pub use if_match::IfMatch;
pub use json::merge_json;
pub use path::InputPath;
pub use rule::FieldAccessor;

pub use crate::schema::spec::{InputFieldSpec, InputSpec, MapValueSpec, Merge};

use serde_json::Value;

use crate::error::OperationError;
use crate::operation::Call;

/// A resource whose fields an UPDATE operation may change. Derive it with `#[derive(UpdateInput)]`.
///
/// You rarely need a manual implementation. It looks like this:
///
/// ```
/// use mcp_aql::update::rule::{Opt, Replace};
/// use mcp_aql::update::{InputSpec, FieldAccessor, Update, UpdateField, UpdateInput, field_specs};
/// use schemars::JsonSchema;
/// use serde_json::json;
///
/// #[derive(JsonSchema)]
/// struct Note {
///     note_id: String,
///     title: String,
///     colour: Option<String>,
/// }
///
/// impl UpdateInput for Note {
///     const FIELDS: &'static [UpdateField<Self>] = &[
///         UpdateField::new(
///             &FieldAccessor::<_, String, Replace>::new(|note| &mut note.title),
///             "title",
///             "Short title.",
///         ),
///         UpdateField::new(
///             &FieldAccessor::<_, Option<String>, Opt<Replace>>::new(|note| &mut note.colour),
///             "colour",
///             "Colour of the paper.",
///         ),
///     ];
///     const INPUT: InputSpec =
///         InputSpec::of::<Self>(&field_specs::<Self, 2>()).identifiers(&["note_id"]);
/// }
///
/// let mut note = Note {
///     note_id: "n-1".into(),
///     title: "Milk".into(),
///     colour: Some("yellow".into()),
/// };
/// Update::from_json(json!({ "colour": null }))?.merge_into(&mut note);
/// assert_eq!((note.title.as_str(), note.colour), ("Milk", None));
/// # let _ = note.note_id;
/// # Ok::<(), mcp_aql::OperationError>(())
/// ```
///
/// Source: REQ-UPD-04, REQ-UPD-10.
#[diagnostic::on_unimplemented(
    message = "the fields of `{Self}` cannot be updated",
    label = "does not implement `UpdateInput`",
    note = "write `#[derive(UpdateInput)]` above the resource `{Self}`; it needs `serde::Deserialize` \
            and `JsonSchema` as well"
)]
pub trait UpdateInput: schemars::JsonSchema + Sized + 'static {
    /// The fields that may change, with their accessors.
    const FIELDS: &'static [UpdateField<Self>];

    /// The table for validation and introspection. Its fields are the [`field_specs`] of `FIELDS`.
    const INPUT: InputSpec;
}

/// A decoded change of one field of `T`.
pub(super) trait ErasedPatch<T>: Send + Sync {
    fn apply(self: Box<Self>, value: Value, target: &mut T);
    fn boxed_clone(&self) -> Box<dyn ErasedPatch<T>>;
}

impl Call {
    /// Returns the `input` of an UPDATE operation.
    ///
    /// # Errors
    ///
    /// Returns the same error as [`param`](Self::param).
    pub fn input<T: UpdateInput>(&mut self) -> Result<Update<T>, OperationError> {
        let argument = self.next()?;
        Update::decode(argument.value.unwrap_or_default())
    }
}
