//! The tables of parameters, including the fields of an UPDATE operation's `input`.

use schemars::{JsonSchema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{SchemaFn, Unused};
use crate::error::warning::Deprecation;
use crate::schema::constraint::Constraint;

/// The definition of a parameter. Validation, introspection and defaults use it (REQ-RQ-11, REQ-RQ-12).
///
/// ```
/// use mcp_aql::table::ParameterSpec;
/// use mcp_aql::constraint::Constraint;
///
/// const TITLE: ParameterSpec = ParameterSpec::required::<String>("title", "Short title.")
///     .constraints(&[Constraint::MinLength(1), Constraint::MaxLength(200)]);
/// assert!(TITLE.required);
/// ```
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ParameterSpec {
    /// Name in requests: `^[a-z][a-z0-9_]*$`.
    pub name: &'static str,
    /// Description.
    pub description: &'static str,
    /// If `true`, a call without the parameter is rejected.
    pub required: bool,
    /// Value used if a call omits the parameter.
    pub default: Option<DefaultSpec>,
    /// Constraints beyond the type.
    pub constraints: &'static [Constraint],
    /// If `true`, the value is a secret. It is masked by clients, redacted in logs and not repeated in replies.
    pub sensitive: bool,
    /// If `true`, `null` is rejected. Otherwise, `null` counts as an omitted optional parameter (REQ-ENC-15).
    pub refuses_null: bool,
    /// Deprecation, if callers should no longer use the parameter.
    pub deprecated: Option<Deprecation>,
    /// JSON schema of the type.
    pub schema: SchemaFn,
    /// Table of the resource contained in the values. Its constraints apply to them.
    pub(crate) resource: Option<fn() -> InputSpec>,
    /// A schema only known at run time. It replaces that of the type.
    pub(crate) json_schema: Option<&'static Value>,
    /// Returns the error of the type itself about a value. A type may be stricter than its schema.
    pub(crate) rejection: fn(&Value) -> Option<String>,
}

fn rejection<T: ParameterType>(value: &Value) -> Option<String> {
    T::deserialize(value.clone()).err().map(|error| error.to_string())
}

impl ParameterSpec {
    /// Creates a required parameter.
    pub const fn required<T: ParameterType>(name: &'static str, description: &'static str) -> Self {
        Self {
            name,
            description,
            required: true,
            default: None,
            constraints: &[],
            sensitive: false,
            refuses_null: false,
            deprecated: None,
            schema: SchemaGenerator::subschema_for::<T>,
            resource: None,
            json_schema: None,
            rejection: rejection::<T>,
        }
    }

    /// Creates an optional parameter. `T` is the type without the `Option`.
    pub const fn optional<T: ParameterType>(name: &'static str, description: &'static str) -> Self {
        let mut spec = Self::required::<T>(name, description);
        spec.required = false;
        spec
    }

    /// Sets a schema only known at run time.
    #[must_use]
    pub(crate) const fn json_schema(mut self, schema: &'static Value) -> Self {
        self.json_schema = Some(schema);
        self
    }

    /// Applies the constraints of a resource to the values. They have its type, or contain values of its type.
    #[doc(hidden)]
    #[must_use]
    pub const fn resource(mut self, resource: Option<fn() -> InputSpec>) -> Self {
        self.resource = resource;
        self
    }

    /// Sets the value used if a call omits the parameter (REQ-RQ-09). Also makes the parameter optional.
    #[must_use]
    pub const fn default(mut self, default: DefaultSpec) -> Self {
        self.default = Some(default);
        self.required = false;
        self
    }

    /// Sets the constraints beyond the type.
    #[must_use]
    pub const fn constraints(mut self, constraints: &'static [Constraint]) -> Self {
        self.constraints = constraints;
        self
    }

    /// Marks the value as a secret.
    #[must_use]
    pub const fn sensitive(mut self) -> Self {
        self.sensitive = true;
        self
    }

    /// Rejects `null`. Use this for parameters whose accidental omission would do harm.
    #[must_use]
    pub const fn refuse_null(mut self) -> Self {
        self.refuses_null = true;
        self
    }

    /// Marks the parameter as deprecated.
    #[must_use]
    pub const fn deprecated(mut self, deprecation: Deprecation) -> Self {
        self.deprecated = Some(deprecation);
        self
    }
}

/// The fields that the `input` of an UPDATE operation may contain for a resource type. Validation and introspection
/// use this table (REQ-UPD-04, REQ-UPD-12). `#[derive(UpdateInput)]` generates it for you.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct InputSpec {
    /// JSON schema of the resource type. Introspection uses its name.
    pub schema: SchemaFn,
    /// Fields that may change, in declaration order.
    pub fields: &'static [InputFieldSpec],
    /// Fields that identify the resource. They are parameters next to `input`, never part of it (REQ-UPD-06).
    pub identifiers: &'static [&'static str],
    /// Fields that only the adapter writes, for example `created_at` or `_version`.
    pub read_only: &'static [&'static str],
}

impl InputSpec {
    /// Creates the table of the resource type `T`.
    pub const fn of<T: JsonSchema>(fields: &'static [InputFieldSpec]) -> Self {
        Self {
            schema: SchemaGenerator::subschema_for::<T>,
            fields,
            identifiers: &[],
            read_only: &[],
        }
    }

    /// Sets the identifiers.
    #[must_use]
    pub const fn identifiers(mut self, names: &'static [&'static str]) -> Self {
        self.identifiers = names;
        self
    }

    /// Sets the read-only fields.
    #[must_use]
    pub const fn read_only(mut self, names: &'static [&'static str]) -> Self {
        self.read_only = names;
        self
    }

    /// Returns the field with this name, or `None` if it may not change.
    pub fn field(&self, name: &str) -> Option<&'static InputFieldSpec> {
        self.fields.iter().find(|field| field.parameter.name == name)
    }

    /// Returns the names of the changeable fields, in declaration order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.fields.iter().map(|field| field.parameter.name)
    }
}

/// A changeable field.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct InputFieldSpec {
    /// Name, description, constraints, and the schema of the type without its `Option`. `required` and `default` are
    /// not used.
    pub parameter: ParameterSpec,
    /// If `true`, `null` removes the field (REQ-UPD-10).
    pub removable: bool,
    /// Rule for merging a value with the stored one.
    pub merge: Merge,
    /// If `true`, the author chose [`Merge::Replace`] for an object with `#[update_input(replace)]`. `build()` then
    /// does not report it as a problem.
    pub allow_replace: bool,
}

impl InputFieldSpec {
    /// A placeholder for the initialization of arrays.
    pub(crate) const NONE: Self = Self {
        parameter: ParameterSpec::optional::<()>("", ""),
        removable: false,
        merge: Merge::Replace,
        allow_replace: false,
    };
}

/// A rule for merging a value of `input` with the stored one.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Merge {
    /// The value replaces the stored one: scalars, arrays, enums (REQ-UPD-07, REQ-UPD-09).
    Replace,
    /// A map. Keys are merged one by one, and `null` removes a key (REQ-UPD-08).
    Keys(&'static MapValueSpec),
    /// A struct that derives `UpdateInput` too. Its fields are merged one by one (REQ-UPD-08).
    Fields(fn() -> InputSpec),
    /// JSON of any shape. Objects are merged key by key at every depth, `null` removes a key, and any other value
    /// replaces the stored one (REQ-UPD-07 to REQ-UPD-10).
    Json,
}

/// The values of a map.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct MapValueSpec {
    /// Schema of one value.
    pub schema: SchemaFn,
    /// Rule for merging a value with the one stored under its key.
    pub merge: Merge,
}

/// Implemented for `fn(T)`, where `T` does not contain an unbound lifetime.
///
/// A type with an elided lifetime makes the pointer higher-ranked, and no implementation covers this. The bound of
/// [`ParameterType`] would reject such a type too, but with a message that names serde's internals.
#[diagnostic::on_unimplemented(
    message = "the type of a parameter must own its values, but this one has a lifetime",
    label = "the type borrows",
    note = "write owned types inside of it, such as `String` for `&str`, and remove its lifetime"
)]
pub trait OwnedParameter {}

#[diagnostic::do_not_recommend]
impl<T> OwnedParameter for fn(T) {}

#[diagnostic::do_not_recommend]
impl<F: Unused> OwnedParameter for F {}

/// Calls [`ParameterSpec::required`] in generated code. `F` is `fn(T)`.
pub const fn required<T: ParameterType, F: OwnedParameter>(
    name: &'static str,
    description: &'static str,
) -> ParameterSpec {
    ParameterSpec::required::<T>(name, description)
}

/// Calls [`ParameterSpec::optional`] in generated code. `F` is `fn(T)`.
pub const fn optional<T: ParameterType, F: OwnedParameter>(
    name: &'static str,
    description: &'static str,
) -> ParameterSpec {
    ParameterSpec::optional::<T>(name, description)
}

/// The value of an omitted parameter.
#[derive(Debug, Clone, Copy)]
pub enum DefaultSpec {
    /// A literal, as JSON.
    Json(&'static str),
    /// An expression, evaluated once when the adapter is built. It returns `Err` if the value does not convert to
    /// JSON.
    Expr(fn() -> Result<Value, serde_json::Error>),
}

impl DefaultSpec {
    /// Returns the value.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is not JSON.
    pub(crate) fn value(self) -> Result<Value, serde_json::Error> {
        match self {
            Self::Json(text) => serde_json::from_str(text),
            Self::Expr(make) => make(),
        }
    }
}

/// A type that a parameter can have. It is implemented for every type that implements `Deserialize` and `JsonSchema`.
///
/// ```
/// use mcp_aql::prelude::*;
/// use mcp_aql::table::ParameterType;
/// use serde::Deserialize;
///
/// /// Where the work on a task stands.
/// #[derive(Deserialize, JsonSchema)]
/// #[serde(rename_all = "snake_case")]
/// enum Status {
///     Todo,
///     Done,
/// }
///
/// /// Count the tasks that stand there.
/// #[operation(category = "READ")]
/// fn count_tasks(
///     /// Where they stand.
///     status: Status,
/// ) -> usize {
///     match status {
///         Status::Todo => 2,
///         Status::Done => 7,
///     }
/// }
///
/// fn is_parameter_type<T: ParameterType>() {}
/// is_parameter_type::<Status>();
/// is_parameter_type::<Vec<Status>>();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the type of a parameter",
    label = "cannot be decoded from JSON and described",
    note = "for a type of your own write `#[derive(serde::Deserialize, JsonSchema)]` above it, or `State<{Self}>` here if it is shared state; a list, map or `Option` has the traits that its content has",
    note = "for a type of another crate enable its feature `serde` and the feature of `schemars` that describes it, such as `chrono04`, `jiff02`, `url2` or `uuid1`; where there is none, wrap it in a type of your own: `#[derive(serde::Deserialize, JsonSchema)] struct Name(#[schemars(with = \"String\")] {Self})`"
)]
pub trait ParameterType: DeserializeOwned + JsonSchema {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema> ParameterType for T {}
