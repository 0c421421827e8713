//! The decoded `input` of an UPDATE operation.

use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::decode::Changes;
use super::json::{merge_json, object_in};
use super::{InputPath, UpdateInput};
use crate::error::OperationError;
use crate::schema::spec::{InputSpec, MapValueSpec, Merge};

/// The `input` of an UPDATE operation: checked, decoded, and ready to be merged into a `T`.
///
/// Take it as an argument of your function, load the resource, and call [`merge_into`](Self::merge_into):
///
/// ```
/// use mcp_aql::{Update, UpdateInput};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
/// use serde_json::json;
///
/// #[derive(Deserialize, JsonSchema, UpdateInput)]
/// struct Task {
///     /// Short title.
///     title: String,
///     /// When it is due.
///     due: Option<String>,
/// }
///
/// let mut task = Task { title: "Milk".into(), due: Some("2031-05-06".into()) };
/// let input: Update<Task> = Update::from_json(json!({"due": null}))?;
/// assert_eq!(input.changed_fields().collect::<Vec<_>>(), ["due"]);
///
/// input.merge_into(&mut task);
/// assert_eq!((task.title.as_str(), task.due), ("Milk", None));
/// # Ok::<(), mcp_aql::OperationError>(())
/// ```
///
/// Source: MCP-AQL §4.5 (REQ-UPD-01, REQ-UPD-07 to REQ-UPD-11).
pub struct Update<T> {
    input: Map<String, Value>,
    changes: Changes<T>,
    /// The table of `T`. Methods that use it need no bound on `T`. If a type does not implement [`UpdateInput`], the
    /// compiler then reports this only once, where the operation's macro requires it.
    table: &'static InputSpec,
}

/// The change that an [`Update`] makes to a field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FieldChange<'a> {
    /// The field is absent from `input` and stays unchanged.
    Keep,
    /// The field is `null` in `input` and is removed.
    Remove,
    /// The field gets this value, or is merged with it.
    Set(&'a Value),
}

impl<T: UpdateInput> Update<T> {
    /// Decodes an `input` that passed validation. It rejects the same inputs as validation, but does not check
    /// constraints and only reports the first mistake.
    pub(crate) fn decode(input: Value) -> Result<Self, OperationError> {
        match input {
            Value::Object(input) => {
                let changes = Changes::decode(&input, &InputPath::ROOT)?;
                Ok(Self { input, changes, table: const { &T::INPUT } })
            }
            other => Err(InputPath::ROOT.not_an_object(&other)),
        }
    }

    /// Decodes an `input` outside a call, for example in a test or from a queue.
    ///
    /// Types, names and `null` are checked. The constraints of fields are not checked, because this is part of
    /// validating a call.
    ///
    /// # Errors
    ///
    /// Returns:
    ///
    /// - `VALIDATION_INVALID_TYPE` if `input`, or a member merged by key or field, is not an object.
    /// - `VALIDATION_UNKNOWN_FIELD` for an unknown field or an identifier.
    /// - `VALIDATION_READ_ONLY_FIELD` for a field that only the adapter may set.
    /// - `VALIDATION_INVALID_VALUE` for a value that the field's type rejects, and for `null` if the field cannot be
    ///   removed.
    pub fn from_json(input: Value) -> Result<Self, OperationError> {
        Self::decode(input)
    }
}

impl<T> Update<T> {
    /// Merges the input into `target`. This cannot fail, so `target` is never left half changed (REQ-UPD-07 to
    /// REQ-UPD-11).
    ///
    /// To merge the same input more than once, for example in a retry loop, merge a clone.
    pub fn merge_into(self, target: &mut T) {
        self.changes.merge(self.input, target);
    }

    /// Merges the input into the JSON of a resource. Use this if your backend stores JSON. The result is the same as
    /// that of [`merge_into`](Self::merge_into), without the removed fields.
    pub fn apply_to_json(self, target: &mut Value) {
        apply_fields(self.table, target, self.input);
    }

    /// Returns `true` if the update changes nothing.
    pub fn is_empty(&self) -> bool {
        self.input.is_empty()
    }

    /// Returns the names of the top-level fields in `input`, regardless of whether they are set, merged or removed.
    /// The names come from the resource's table, so you can safely use them as column names.
    pub fn changed_fields(&self) -> impl ExactSizeIterator<Item = &'static str> {
        self.changes.names()
    }

    /// Returns the dotted paths of all set or removed values, for example `metadata.author`. A value that replaces
    /// the stored one is a single path.
    pub fn changed_paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        field_paths(self.table, "", &self.input, &mut paths);
        paths
    }

    /// Returns `true` if `input` contains this top-level field.
    pub fn contains(&self, field: &str) -> bool {
        self.input.contains_key(field)
    }

    /// Returns the JSON of this top-level field in `input`. It is `null` if the field is removed.
    pub fn get(&self, field: &str) -> Option<&Value> {
        self.input.get(field)
    }

    /// Returns the change of this top-level field.
    pub fn change(&self, field: &str) -> FieldChange<'_> {
        match self.input.get(field) {
            None => FieldChange::Keep,
            Some(Value::Null) => FieldChange::Remove,
            Some(value) => FieldChange::Set(value),
        }
    }

    /// Converts the input into a JSON merge patch (RFC 7396). Use this for an API that accepts `PATCH` with
    /// `application/merge-patch+json`. [`Serialize`] produces the same JSON.
    ///
    /// A merge patch cannot replace an object completely. If the type has such a field, for example an enum with
    /// data, the API merges it.
    pub fn to_merge_patch(&self) -> Value {
        Value::Object(self.input.clone())
    }

    /// Returns the fields in `input` with their JSON.
    #[doc(hidden)]
    pub fn into_fields(self) -> Map<String, Value> {
        self.input
    }

    /// Converts the input like [`to_merge_patch`](Self::to_merge_patch), without copying it.
    pub fn into_merge_patch(self) -> Value {
        Value::Object(self.input)
    }
}

impl<T> Clone for Update<T> {
    fn clone(&self) -> Self {
        Self { input: self.input.clone(), changes: self.changes.clone(), table: self.table }
    }
}

/// Shows only the names of fields, because values may be secrets.
impl<T> fmt::Debug for Update<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.changed_fields().collect();
        formatter.debug_struct("Update").field("changes", &names).finish_non_exhaustive()
    }
}

impl<T> Serialize for Update<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.input.serialize(serializer)
    }
}

/// Merges fields by their table. Recursion is bounded by the maximum depth of decoding.
fn apply_fields(spec: &InputSpec, target: &mut Value, patch: Map<String, Value>) {
    apply_members(target, patch, |name| spec.field(name).map_or(Merge::Replace, |it| it.merge));
}

fn apply_members(target: &mut Value, patch: Map<String, Value>, merge_of: impl Fn(&str) -> Merge) {
    let Some(members) = object_in(target) else { return };
    for (name, value) in patch {
        if value.is_null() {
            members.remove(&name);
        } else {
            let merge = merge_of(&name);
            apply(merge, members.entry(name).or_insert(Value::Null), value);
        }
    }
}

fn apply(merge: Merge, target: &mut Value, value: Value) {
    match (merge, value) {
        (Merge::Json, value) => merge_json(target, value),
        (Merge::Keys(element), Value::Object(patch)) => {
            apply_members(target, patch, |_| element.merge);
        }
        (Merge::Fields(table), Value::Object(patch)) => apply_fields(&table(), target, patch),
        (_, value) => *target = value,
    }
}

fn field_paths(
    spec: &InputSpec,
    prefix: &str,
    members: &Map<String, Value>,
    paths: &mut Vec<String>,
) {
    for (name, value) in members {
        let merge = spec.field(name).map_or(Merge::Replace, |field| field.merge);
        value_paths(merge, format!("{prefix}{name}"), value, paths);
    }
}

fn value_paths(merge: Merge, path: String, value: &Value, paths: &mut Vec<String>) {
    let members = match value {
        Value::Object(members) if !members.is_empty() => members,
        _ => return paths.push(path),
    };
    match merge {
        Merge::Replace => paths.push(path),
        Merge::Fields(table) => field_paths(&table(), &format!("{path}."), members, paths),
        Merge::Keys(MapValueSpec { merge, .. }) => {
            for (name, value) in members {
                value_paths(*merge, format!("{path}.{name}"), value, paths);
            }
        }
        Merge::Json => {
            for (name, value) in members {
                value_paths(Merge::Json, format!("{path}.{name}"), value, paths);
            }
        }
    }
}
