//! The argument of a CREATE operation: the fields that callers set.

use std::fmt;
use std::ops::{Deref, DerefMut};

use serde_json::Value;

pub use crate::macros::CreateInput;

use crate::error::OperationError;
use crate::operation::{Call, ParamGroup};
use crate::schema::Argument;
use crate::schema::spec::ParameterSpec;
use crate::vocab::json_type;

/// A resource that callers can create. Derive it with
/// [`#[derive(CreateInput)]`](derive@crate::operation::resource::CreateInput).
///
/// Source: MCP-AQL §4.2 (REQ-RQ-07, REQ-RQ-11).
#[diagnostic::on_unimplemented(
    message = "callers cannot create a `{Self}`",
    label = "does not implement `CreateInput`",
    note = "write `#[derive(CreateInput)]` above `{Self}`"
)]
pub trait CreateInput: Sized + 'static {
    /// The fields that callers set, accessible by name.
    type Fields: Send + 'static;

    /// The values of all other fields. These are the identifier, the fields marked `#[resource(read_only)]`, and
    /// those that serde skips. A single field has its own type; several are a tuple in the order of declaration.
    type Rest;

    /// The parameters of the fields, in the order of declaration.
    const PARAMETERS: &'static [ParameterSpec];

    /// Takes the values of the parameters from a call.
    ///
    /// # Errors
    ///
    /// Returns an error if a value passes the checks of the table but does not fit the type of its field.
    fn decode(call: &mut Call) -> Result<Self::Fields, OperationError>;

    /// Builds the resource.
    fn complete(fields: Self::Fields, rest: Self::Rest) -> Self;
}

/// The fields of a new resource `T`. Use it as the argument of a CREATE operation: each field becomes a parameter
/// with its doc comment, constraints and default.
///
/// You can access the fields by name, for example `input.title`. Call [`into_resource`](Self::into_resource) to add
/// the fields that callers do not set.
///
/// ```
/// use mcp_aql::prelude::*;
/// use serde::Serialize;
///
/// /// A book.
/// #[derive(Serialize, JsonSchema, CreateInput)]
/// struct Book {
///     /// Number of the book.
///     #[resource(id)]
///     book_id: u32,
///     /// Title of the book.
///     #[param(min_length = 1, max_length = 200)]
///     title: String,
///     /// Number of copies.
///     #[param(minimum = 0, default = 1)]
///     copies: u8,
/// }
///
/// /// Add a book.
/// #[operation(category = "CREATE", example = { "title": "Emma" })]
/// fn add_book(input: Create<Book>) -> Book {
///     input.into_resource(7)
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> mcp_aql::Result<()> {
/// let adapter = Adapter::builder("library").operation(add_book {}).build()?;
/// let added = adapter.call("add_book", serde_json::json!({ "title": "Emma" })).await;
/// assert_eq!(added.data()["book"]["copies"], 1);
/// let refused = adapter.call("add_book", serde_json::json!({ "title": "" })).await;
/// assert!(refused.error().is_some());
/// # Ok(()) }
/// ```
pub struct Create<T: CreateInput> {
    fields: T::Fields,
}

impl<T: CreateInput> Create<T> {
    /// Creates the argument from its fields. Use this to call your function without an adapter.
    pub const fn new(fields: T::Fields) -> Self {
        Self { fields }
    }

    /// Creates the argument from JSON. Use this to call your function without an adapter, for example in a test.
    ///
    /// Omitted fields get their defaults. Types are checked, but constraints are not.
    ///
    /// ```
    /// # use mcp_aql::prelude::*;
    /// # use serde::Serialize;
    /// # /// A note.
    /// # #[derive(Serialize, JsonSchema, CreateInput)]
    /// # struct Note {
    /// #     /// Number of the note.
    /// #     #[resource(id)]
    /// #     note_id: u64,
    /// #     /// The text.
    /// #     text: String,
    /// #     /// Labels.
    /// #     #[param(default = [])]
    /// #     labels: Vec<String>,
    /// # }
    /// let input = Create::<Note>::from_json(serde_json::json!({ "text": "Milk" }))?;
    /// assert_eq!((input.text.as_str(), input.labels.len()), ("Milk", 0));
    /// assert!(Create::<Note>::from_json(serde_json::json!({ "labels": [] })).is_err());
    /// # Ok::<(), OperationError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns `VALIDATION_INVALID_TYPE` if the value is not an object, and `VALIDATION_INVALID_VALUE` if a field is
    /// missing or has another type.
    pub fn from_json(fields: Value) -> Result<Self, OperationError> {
        let Value::Object(mut fields) = fields else {
            return Err(OperationError::invalid_type("fields", "object", json_type(&fields)));
        };
        let mut arguments = Vec::with_capacity(T::PARAMETERS.len());
        for spec in T::PARAMETERS {
            // `null` counts as a missing value, as in a call.
            let sent = fields
                .remove(spec.name)
                .filter(|value| spec.required || spec.refuses_null || !value.is_null());
            let value = match (sent, spec.default) {
                (Some(value), _) => Some(value),
                (None, Some(default)) => Some(default.value().map_err(OperationError::internal)?),
                (None, None) => None,
            };
            arguments.push(Argument { name: spec.name, value });
        }
        T::decode(&mut Call::of_arguments(arguments)).map(Self::new)
    }

    /// Builds the resource. `rest` contains the fields that callers do not set.
    pub fn into_resource(self, rest: T::Rest) -> T {
        T::complete(self.fields, rest)
    }

    /// Returns the fields.
    pub fn into_fields(self) -> T::Fields {
        self.fields
    }
}

impl<T: CreateInput> Deref for Create<T> {
    type Target = T::Fields;

    fn deref(&self) -> &T::Fields {
        &self.fields
    }
}

impl<T: CreateInput> DerefMut for Create<T> {
    fn deref_mut(&mut self) -> &mut T::Fields {
        &mut self.fields
    }
}

impl<T: CreateInput> fmt::Debug for Create<T> {
    /// Hides the values, because they may be secrets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Create").finish_non_exhaustive()
    }
}

#[diagnostic::do_not_recommend]
impl<T: CreateInput> ParamGroup for Create<T> {
    const PARAMETERS: &'static [ParameterSpec] = T::PARAMETERS;

    fn decode(call: &mut Call) -> Result<Self, OperationError> {
        T::decode(call).map(Self::new)
    }
}
