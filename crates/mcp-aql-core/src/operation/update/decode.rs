//! Decodes a JSON object into changes of a resource's fields.

use mcp_aql_protocol::ErrorCode;
use mcp_aql_protocol::probable_parameter;
use serde_json::{Map, Value};

use super::{ErasedPatch, InputPath, UpdateInput};
use crate::error::OperationError;
use crate::schema::spec::InputSpec;

/// The decoded changes of the fields of a `T`. The n-th change belongs to the n-th member of the JSON object, so
/// merging needs no lookup by name.
#[doc(hidden)]
pub struct Changes<T>(Vec<DecodedChange<T>>);

struct DecodedChange<T> {
    name: &'static str,
    patch: Box<dyn ErasedPatch<T>>,
}

impl<T> Clone for Changes<T> {
    fn clone(&self) -> Self {
        let copies = self.0.iter();
        Self(
            copies
                .map(|it| DecodedChange { name: it.name, patch: it.patch.boxed_clone() })
                .collect(),
        )
    }
}

impl<T> Changes<T> {
    pub(super) fn names(&self) -> impl ExactSizeIterator<Item = &'static str> {
        self.0.iter().map(|change| change.name)
    }

    /// Merges the changes into `target`. `members` must be the object from which the changes were decoded.
    pub(super) fn merge(self, members: Map<String, Value>, target: &mut T) {
        for (change, (_, value)) in self.0.into_iter().zip(members) {
            change.patch.apply(value, target);
        }
    }
}

impl<T: UpdateInput> Changes<T> {
    /// Decodes every member. Fails without partial results.
    pub(super) fn decode(
        members: &Map<String, Value>,
        path: &InputPath<'_>,
    ) -> Result<Self, OperationError> {
        let decode = |(name, value): (&String, &Value)| {
            let path = path.member(name)?;
            let field = T::FIELDS
                .iter()
                .find(|field| field.spec.parameter.name == name)
                .ok_or_else(|| unknown(&T::INPUT, name, &path))?;
            let patch = field.accessor.decode(value, &path)?;
            Ok(DecodedChange { name: field.spec.parameter.name, patch })
        };
        members.iter().map(decode).collect::<Result<_, _>>().map(Self)
    }
}

/// Creates the error for a member other than an updatable field (REQ-UPD-05, REQ-UPD-06, choice G-04).
fn unknown(spec: &InputSpec, name: &str, path: &InputPath<'_>) -> OperationError {
    let path = path.inside_input();
    if spec.read_only.contains(&name) {
        return OperationError::new(
            ErrorCode::ValidationReadOnlyField,
            format!("Field '{path}' is read-only. Leave it out of 'input'"),
        )
        .with_detail("fields", vec![path]);
    }
    let message = if spec.identifiers.contains(&name) {
        format!(
            "Field '{path}' identifies the resource and cannot change. It belongs next to 'input', not inside it"
        )
    } else if let Some(near) = probable_parameter(name, spec.names().collect::<Vec<_>>()) {
        format!("Unknown field '{path}' in 'input'. Did you mean '{near}'?")
    } else {
        let valid = spec.names().collect::<Vec<_>>().join(", ");
        format!("Unknown field '{path}' in 'input'. Valid fields: {valid}")
    };
    OperationError::new(ErrorCode::ValidationUnknownField, message)
        .with_detail("unknown_fields", vec![path])
        .with_detail("valid_fields", spec.names().collect::<Vec<_>>())
}
