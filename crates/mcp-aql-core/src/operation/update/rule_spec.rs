//! Derives table entries of fields from their merge rules.

use serde_json::Value;

use super::InputPath;
use super::rule::Rule;
use crate::schema::spec::{InputFieldSpec, MapValueSpec, ParameterSpec};

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
