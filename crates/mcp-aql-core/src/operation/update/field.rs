//! The fields that an UPDATE operation may change, and their table entries.

use serde_json::Value;

use super::rule::{ErasedAccessor, FieldAccessor, Rule};
use super::{InputPath, UpdateInput};
use crate::error::warning::Deprecation;
use crate::schema::constraint::Constraint;
use crate::schema::spec::{InputFieldSpec, MapValueSpec, ParameterSpec};

/// An updatable field of the resource `T`: its table entry and its accessor.
pub struct UpdateField<T: 'static> {
    pub(super) spec: InputFieldSpec,
    pub(super) accessor: &'static dyn ErasedAccessor<T>,
}

impl<T: 'static> UpdateField<T> {
    /// Creates a field with this accessor. The type of the accessor determines the merge rule.
    pub const fn new<V: 'static, R: Rule<V>>(
        accessor: &'static FieldAccessor<T, V, R>,
        name: &'static str,
        description: &'static str,
    ) -> Self {
        Self { spec: InputFieldSpec::of::<V, R>(name, description), accessor }
    }

    /// Sets the constraints on the value beyond its type.
    #[must_use]
    pub const fn constraints(mut self, constraints: &'static [Constraint]) -> Self {
        self.spec.parameter.constraints = constraints;
        self
    }

    /// Marks the value as a secret.
    #[must_use]
    pub const fn sensitive(mut self) -> Self {
        self.spec.parameter.sensitive = true;
        self
    }

    /// Marks the field as deprecated.
    #[must_use]
    pub const fn deprecated(mut self, deprecation: Deprecation) -> Self {
        self.spec.parameter.deprecated = Some(deprecation);
        self
    }

    /// Confirms that replacing the whole value is intended.
    #[must_use]
    pub const fn allow_replace(mut self) -> Self {
        self.spec.allow_replace = true;
        self
    }
}

impl InputFieldSpec {
    /// Describes a field of type `V` with the merge rule `R`.
    pub const fn of<V, R: Rule<V>>(name: &'static str, description: &'static str) -> Self {
        let mut parameter = ParameterSpec::optional::<()>(name, description);
        parameter.schema = R::SCHEMA;
        parameter.rejection = rejection::<V, R>;
        Self { parameter, removable: R::REMOVABLE, merge: R::MERGE, allow_replace: false }
    }
}

/// Returns the error of the field's type about a change.
fn rejection<V, R: Rule<V>>(change: &Value) -> Option<String> {
    R::decode(change, &InputPath::ROOT).err().map(|error| error.message().to_owned())
}

impl MapValueSpec {
    /// Describes values of type `V` with the merge rule `R`.
    pub const fn of<V, R: Rule<V>>() -> Self {
        Self { schema: R::SCHEMA, merge: R::MERGE }
    }
}

/// Returns the table entries of the `N` fields of `T`.
///
/// This does not compile unless `N` is the number of `T::FIELDS`.
pub const fn field_specs<T: UpdateInput, const N: usize>() -> [InputFieldSpec; N] {
    const { assert!(T::FIELDS.len() == N, "`N` is not the number of `FIELDS`") }
    let mut field_specs = [InputFieldSpec::NONE; N];
    let mut open: &mut [InputFieldSpec] = &mut field_specs;
    let mut fields = T::FIELDS;
    while let ([spec, more_specs @ ..], [field, more_fields @ ..]) = (open, fields) {
        *spec = field.spec;
        open = more_specs;
        fields = more_fields;
    }
    field_specs
}
