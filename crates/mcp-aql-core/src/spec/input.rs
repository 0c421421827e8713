//! The table of an UPDATE operation's `input`.
use schemars::{JsonSchema, SchemaGenerator};

use super::ParameterSpec;
use super::schema::SchemaFn;

/// The fields that `input` may contain for a resource type: the table behind validation and
/// introspection of UPDATE operations (REQ-UPD-04, REQ-UPD-12). `#[derive(UpdateInput)]` generates
/// it.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct InputSpec {
    /// The JSON schema of the resource type, whose name introspection uses.
    pub schema: SchemaFn,
    /// The fields that may change, in declaration order.
    pub fields: &'static [InputFieldSpec],
    /// Fields that identify the resource: parameters beside `input`, never part of it (REQ-UPD-06).
    pub identifiers: &'static [&'static str],
    /// Fields that only the adapter writes, such as `created_at` or `_version`.
    pub read_only: &'static [&'static str],
}

impl InputSpec {
    /// The table of the resource type `T`.
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

    /// The field of this name, if it may change.
    pub fn field(&self, name: &str) -> Option<&'static InputFieldSpec> {
        self.fields.iter().find(|field| field.parameter.name == name)
    }

    /// The names of the fields that may change, in declaration order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.fields.iter().map(|field| field.parameter.name)
    }
}

/// One field that may change.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct InputFieldSpec {
    /// Name, description, constraints and the schema of the type without its `Option`. `required`
    /// and `default` are not used.
    pub parameter: ParameterSpec,
    /// Whether `null` removes the field (REQ-UPD-10).
    pub removable: bool,
    /// How a value merges with the stored one.
    pub merge: Merge,
    /// Whether the author chose [`Merge::Replace`] for an object with `#[update_input(replace)]`,
    /// so that `build()` does not report it.
    pub allow_replace: bool,
}

impl InputFieldSpec {
    /// A placeholder for array initialisation.
    pub(crate) const NONE: Self = Self {
        parameter: ParameterSpec::optional::<()>("", ""),
        removable: false,
        merge: Merge::Replace,
        allow_replace: false,
    };
}

/// How a value of `input` merges with the stored one.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Merge {
    /// The value replaces the stored one: scalars, arrays, enums (REQ-UPD-07, REQ-UPD-09).
    Replace,
    /// A map: keys merge one by one, `null` removes a key (REQ-UPD-08).
    Keys(&'static MapValueSpec),
    /// Fields merge one by one: a struct that derives `UpdateInput` too (REQ-UPD-08).
    Fields(fn() -> InputSpec),
    /// JSON of any shape: objects merge key by key at every depth, `null` removes a key, anything
    /// else replaces (REQ-UPD-07 to REQ-UPD-10).
    Json,
}

/// The values of a map.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct MapValueSpec {
    /// The schema of one value.
    pub schema: SchemaFn,
    /// How a value merges with the one stored under its key.
    pub merge: Merge,
}
