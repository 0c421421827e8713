use mcp_aql_protocol::ErrorCode;
use serde_json::{Map, Value};

use super::rule::ErasedPatch;
use super::{Path, UpdateInput};
use crate::error::OperationError;
use crate::spec::InputSpec;
use mcp_aql_protocol::nearest_name;

/// The changes to the fields of a `T`, decoded from a JSON object and parallel to its members: the
/// n-th change belongs to the n-th member. So merging looks no name up again.
#[doc(hidden)]
pub struct Changes<T>(Vec<FieldChange<T>>);

struct FieldChange<T> {
    name: &'static str,
    patch: Box<dyn ErasedPatch<T>>,
}

impl<T> Clone for Changes<T> {
    fn clone(&self) -> Self {
        let copies = self.0.iter();
        Self(
            copies.map(|it| FieldChange { name: it.name, patch: it.patch.boxed_clone() }).collect(),
        )
    }
}

impl<T> Changes<T> {
    pub(super) fn names(&self) -> impl ExactSizeIterator<Item = &'static str> {
        self.0.iter().map(|change| change.name)
    }

    /// Merges into `target`. `members` are those that the changes were decoded from.
    pub(super) fn merge(self, members: Map<String, Value>, target: &mut T) {
        for (change, (_, value)) in self.0.into_iter().zip(members) {
            change.patch.apply(value, target);
        }
    }
}

impl<T: UpdateInput> Changes<T> {
    /// Decodes every member, or none.
    pub(super) fn decode(
        members: &Map<String, Value>,
        path: &Path<'_>,
    ) -> Result<Self, OperationError> {
        let decode = |(name, value): (&String, &Value)| {
            let path = path.member(name)?;
            let field = T::FIELDS
                .iter()
                .find(|field| field.spec.parameter.name == name)
                .ok_or_else(|| unknown(&T::INPUT, name, &path))?;
            let patch = field.slot.decode(value, &path)?;
            Ok(FieldChange { name: field.spec.parameter.name, patch })
        };
        members.iter().map(decode).collect::<Result<_, _>>().map(Self)
    }
}

/// A member that is no updatable field (REQ-UPD-05, REQ-UPD-06, choice G-04).
fn unknown(spec: &InputSpec, name: &str, path: &Path<'_>) -> OperationError {
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
            "Field '{path}' identifies the resource and cannot change. Give it beside 'input', not \
             inside"
        )
    } else if let Some(near) = nearest_name(name, spec.names()) {
        format!("Unknown field '{path}' in 'input'. Did you mean '{near}'?")
    } else {
        format!("Unknown field '{path}' in 'input'")
    };
    OperationError::new(ErrorCode::ValidationUnknownField, message)
        .with_detail("unknown_fields", vec![path])
        .with_detail("valid_fields", spec.names().collect::<Vec<_>>())
}
