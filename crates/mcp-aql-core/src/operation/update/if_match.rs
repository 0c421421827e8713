//! The parameter `if_match` for optimistic concurrency control.

use std::fmt::Display;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::error::OperationError;
use crate::operation::{Call, ParamGroup};
use crate::schema::spec::ParameterSpec;

/// The optional parameter `if_match`: the version that a resource must still have. It prevents two callers from
/// overwriting each other's changes.
///
/// Return the version with the resource as `_version` (a counter or an instant) or `_etag` (an opaque string), and
/// keep it out of `input`:
///
/// ```
/// use mcp_aql::{ErrorCode, IfMatch};
///
/// #[derive(serde::Serialize)]
/// struct Task {
///     title: String,
///     #[serde(rename = "_version")] // with `#[resource(read_only)]` where `UpdateInput` is derived
///     version: u64,
/// }
///
/// let stored = Task { title: "Milk".into(), version: 3 };
/// assert!(IfMatch::any().check(&stored.version).is_ok());
/// assert!(IfMatch::new(3).check(&stored.version).is_ok());
///
/// let error = IfMatch::new(2).check(&stored.version).unwrap_err();
/// assert_eq!(error.code(), ErrorCode::ConflictVersionMismatch);
/// assert_eq!(error.details()["actual_version"], "3");
/// ```
///
/// A caller sends the version back next to `input`:
///
/// ```json
/// { "operation": "update_task", "params": { "task_id": "t-1", "if_match": 3, "input": { "title": "Milk" } } }
/// ```
///
/// `V` is the type of the version. The parameter only accepts its JSON type. A call without the parameter does not
/// compare versions. `null` is rejected, because a caller that sends it has lost the version and would overwrite the
/// changes of others.
///
/// Check the version before you change anything. Make the check and the write atomic: run them in one transaction, or
/// put the version into the `WHERE` clause.
///
/// Source: MCP-AQL §9.3.2 (REQ-CON-02, REQ-CON-03, choice C-25).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IfMatch<V = String> {
    expected: Option<V>,
}

impl<V> IfMatch<V> {
    /// Requires this version. Use this in tests; in a call, the argument is decoded for you.
    pub const fn new(version: V) -> Self {
        Self { expected: Some(version) }
    }

    /// Accepts any version, like a call without `if_match`.
    pub const fn any() -> Self {
        Self { expected: None }
    }

    /// Returns the version that the caller expects, or `None` if it sent none.
    pub const fn expected(&self) -> Option<&V> {
        self.expected.as_ref()
    }

    /// Compares the expected version with the stored one.
    ///
    /// # Errors
    ///
    /// Returns `CONFLICT_VERSION_MISMATCH` if the caller sent another version.
    pub fn check(&self, current: &V) -> Result<(), OperationError>
    where
        V: PartialEq + Display,
    {
        match &self.expected {
            Some(expected) if expected != current => {
                Err(OperationError::version_mismatch(expected, current))
            }
            _ => Ok(()),
        }
    }
}

#[diagnostic::do_not_recommend]
impl<V: DeserializeOwned + JsonSchema> ParamGroup for IfMatch<V> {
    const PARAMETERS: &'static [ParameterSpec] =
        &[ParameterSpec::optional::<V>("if_match", "Expected _version or _etag.").refuse_null()];

    fn decode(call: &mut Call) -> Result<Self, OperationError> {
        Ok(Self { expected: call.optional()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_aql_protocol::ErrorCode;

    #[test]
    fn another_version_is_a_conflict() {
        // REQ-CON-03
        let if_match = IfMatch::new("v1".to_owned());
        assert!(if_match.check(&"v1".to_owned()).is_ok());
        let error = if_match.check(&"v2".to_owned()).unwrap_err();
        assert_eq!(error.code(), ErrorCode::ConflictVersionMismatch);
        assert_eq!(error.details()["expected_version"], "v1");
    }

    #[test]
    fn a_call_may_leave_it_out() {
        // REQ-CON-03
        for (value, expected) in [(None, None), (Some(serde_json::json!(3)), Some(3))] {
            let argument = crate::schema::Argument { name: "if_match", value };
            let mut call = Call::of_arguments(vec![argument]);
            let if_match = IfMatch::<u64>::decode(&mut call).unwrap();
            assert_eq!(if_match.expected().copied(), expected);
        }
    }

    #[test]
    fn if_match_is_one_optional_parameter_of_the_versions_type() {
        // REQ-CON-03, choice C-25
        let [parameter] = <IfMatch<u64> as ParamGroup>::PARAMETERS else {
            panic!("one parameter");
        };
        assert_eq!((parameter.name, parameter.required), ("if_match", false));
        let schema = (parameter.schema)(&mut schemars::SchemaGenerator::default());
        assert_eq!(schema.get("type"), Some(&serde_json::json!("integer")));
    }
}
