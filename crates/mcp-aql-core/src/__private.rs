//! Items used only by generated code. They are not part of the public interface and may change in every version.
//!
//! Each expansion imports this module once, as `__rt`, so it re-exports everything that the macros name.

pub use crate::constraint::{Bound, Constraint, EnumValue, Format};
pub use crate::observe::logging::{CALLS, QUOTING_TARGETS};
pub use crate::operation::resource::CreateInput;
pub use crate::operation::update::{
    FieldAccessor, IfMatch, UpdateField, UpdateInput, field_specs, rule,
};
pub use crate::operation::{Fallible, Payload, Plain, PlainForm, ReturnForm};
pub use crate::schema::spec::{optional, required};
pub use crate::table::{
    Call, ClaimSpec, DangerSpec, DataKey, DefaultSpec, Deprecation, ExampleSpec, InputSpec,
    IntoPreview, LifecycleSpec, Operation, OperationEntry, OperationSpec, Operations, ParamGroup,
    ParameterEntry, ParameterSpec, StateSpec,
};
pub use crate::{DangerLevel, Error, ErrorCode, OperationError, SemanticCategory};
pub use ::schemars;
pub use ::serde_json;

use std::error;
use std::fmt;
use std::marker::PhantomData;

use serde::Serialize;
use serde_json::Value;

use crate::error::echo;
use crate::table::{InputFieldSpec, Merge};
use crate::text::{ConstText, const_eq};

/// Fails the build with `message` if `input` can change the parameter that identifies the resource.
///
/// The message names the parameter, because the macro composes it. Source: MCP-AQL §4.5.3 (REQ-UPD-06).
#[track_caller]
pub const fn check_identifier(parameter: &str, input: &InputSpec, message: &str) {
    let mut fields = input.fields;
    while let [field, rest @ ..] = fields {
        assert!(!const_eq(parameter.as_bytes(), field.parameter.name.as_bytes()), "{}", message);
        fields = rest;
    }
}

/// Fails the build with `message` if none of the groups has a parameter called `name`.
///
/// A group without parameters counts as a match. Its own errors were reported already, and a second error for the
/// same mistake would only distract.
#[track_caller]
pub const fn check_known(name: &str, groups: &[&[ParameterSpec]], message: &str) {
    let mut rest = groups;
    let mut found = false;
    while let [group, more @ ..] = rest {
        found |= group.is_empty() || has(group, name);
        rest = more;
    }
    assert!(found, "{}", message);
}

/// Fails the build with `message` if an example omits a required parameter of a group. `names` are the parameters
/// that the example sets.
#[track_caller]
pub const fn check_given(group: &[ParameterSpec], names: &[&str], message: &str) {
    let mut parameters = group;
    while let [parameter, rest @ ..] = parameters {
        let mut given = !parameter.required;
        let mut left = names;
        while let [name, more @ ..] = left {
            given |= const_eq(name.as_bytes(), parameter.name.as_bytes());
            left = more;
        }
        assert!(given, "{}", message);
        parameters = rest;
    }
}

/// Fails the build with `message` if `input` has no field called `name`. An input without fields counts as a match,
/// because its own errors were reported already.
#[track_caller]
pub const fn check_field(name: &str, input: &InputSpec, message: &str) {
    let mut found = input.fields.is_empty();
    let mut fields = input.fields;
    while let [field, rest @ ..] = fields {
        found |= const_eq(name.as_bytes(), field.parameter.name.as_bytes());
        fields = rest;
    }
    assert!(found, "{}", message);
}

/// The table of the fields at a path inside an UPDATE's `input`.
///
/// The path is `()` for the input itself, or a [`FieldStep`] that leads to one of its fields.
/// `#[derive(UpdateInput)]` implements this trait for fields whose types may derive `UpdateInput` themselves. The
/// trait has no associated type, because the type of a field may be private.
#[diagnostic::on_unimplemented(
    message = "the nested fields of `{Self}` are not known at compile time",
    label = "needed by a confirmation message",
    note = "write `#[derive(UpdateInput)]` above `{Self}`, or show the whole field"
)]
pub trait InputAt<Path> {
    /// The table at the end of the path.
    const INPUT: InputSpec;
}

impl<T: UpdateInput> InputAt<()> for T {
    const INPUT: InputSpec = <T as UpdateInput>::INPUT;
}

/// A path that starts with the field at index `INDEX` and continues with `Rest`. If the field has the type
/// `Option<Box<T>>`, `Rest` starts at the fields of `T`.
#[derive(Debug)]
pub struct FieldStep<const INDEX: usize, Rest>(PhantomData<Rest>);

/// A placeholder of a confirmation message, for example `{input.address.city}`.
#[derive(Debug, Clone, Copy)]
pub struct InputSlot<'a> {
    /// Whole path: `input.address.city`.
    pub path: &'a str,
    /// Path of the object: `input.address`.
    pub object: &'a str,
    /// Name of the field in this object: `city`.
    pub field: &'a str,
    /// If `true`, the path continues inside the field.
    pub goes_on: bool,
}

/// Returns the index of the field that a confirmation message shows.
///
/// Fails the build if the field does not exist or is a secret. An input without fields is accepted, because its own
/// errors were reported already.
#[track_caller]
pub const fn shown_field(slot: InputSlot<'_>, input: &InputSpec) -> usize {
    let mut index = 0;
    let mut fields = input.fields;
    while let [field, rest @ ..] = fields {
        if const_eq(slot.field.as_bytes(), field.parameter.name.as_bytes()) {
            check_shown(slot, field);
            return index;
        }
        index += 1;
        fields = rest;
    }
    assert!(input.fields.is_empty(), "{}", no_field(slot, input).as_str());
    0
}

#[track_caller]
const fn check_shown(slot: InputSlot<'_>, field: &InputFieldSpec) {
    let text = ConstText::new().push("`{").push(slot.path).push("}` ");
    let secret =
        text.push("would show a `sensitive` field in the confirmation message: leave it out");
    assert!(!field.parameter.sensitive, "{}", secret.as_str());
    let text = ConstText::new().push("`{").push(slot.path).push("}` shows a part of `");
    let text = text.push(slot.object).push(".").push(slot.field);
    let text = text.push("`, which has no fields of its own in an update: write `{");
    let part = text.push(slot.object).push(".").push(slot.field).push("}`");
    assert!(!slot.goes_on || matches!(field.merge, Merge::Fields(_)), "{}", part.as_str());
}

/// Returns the error message for a field that does not exist. The message lists the fields that do.
const fn no_field(slot: InputSlot<'_>, input: &InputSpec) -> ConstText {
    let mut text = ConstText::new()
        .push("`{")
        .push(slot.path)
        .push("}` is not a field that `input` can change: ");
    let mut separator = "write ";
    let mut fields = input.fields;
    if count_shown(fields) == 0 {
        return text.push("leave it out, no field may be shown");
    }
    while let [field, rest @ ..] = fields {
        if !field.parameter.sensitive {
            let name = field.parameter.name;
            text =
                text.push(separator).push("`{").push(slot.object).push(".").push(name).push("}`");
            separator = if count_shown(rest) > 1 { ", " } else { " or " };
        }
        fields = rest;
    }
    text
}

/// Returns the number of fields that a message may show.
const fn count_shown(fields: &[InputFieldSpec]) -> usize {
    match fields {
        [] => 0,
        [first, rest @ ..] => !first.parameter.sensitive as usize + count_shown(rest),
    }
}

const fn has(group: &[ParameterSpec], name: &str) -> bool {
    match group {
        [] => false,
        [first, rest @ ..] => const_eq(name.as_bytes(), first.name.as_bytes()) || has(rest, name),
    }
}

/// Converts a field of an error into a detail of the reply.
pub fn detail<T: Serialize + ?Sized>(value: &T) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// Converts a field of an error like [`detail`], and shortens a long string. Use it for values that repeat the
/// caller's input.
pub fn echoed<T: Serialize + ?Sized>(value: &T) -> Value {
    match detail(value) {
        Value::String(text) => echo(&text).into(),
        other => other,
    }
}

/// A field of an error, to be inserted into a message template.
///
/// Long values are shortened. A field without `Display` is written as [`detail`] would write it. The two traits below
/// select the method with autoref specialization.
#[derive(Debug)]
pub struct Slot<'a, T: ?Sized>(pub &'a T);

/// Formats a slot whose type has `Display`.
pub trait SlotOfDisplay {
    /// Returns the string to insert.
    fn text(self) -> String;
}

impl<T: fmt::Display + ?Sized> SlotOfDisplay for Slot<'_, T> {
    fn text(self) -> String {
        echo(&self.0.to_string())
    }
}

/// Formats a slot whose type has no `Display`. It stands in for [`SlotOfDisplay`] in the same way as [`DropCause`]
/// stands in for [`KeepCause`].
pub trait SlotOfDetail {
    /// Returns the string to insert.
    fn text(self) -> String;
}

impl<T: Serialize + ?Sized> SlotOfDetail for &Slot<'_, T> {
    fn text(self) -> String {
        match detail(self.0) {
            Value::String(text) => echo(&text),
            other => echo(&other.to_string()),
        }
    }
}

/// Converts a variant without a code of its own into an `OperationError`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an error, but a variant of it has no code",
    label = "has no code",
    note = "write `#[operation_error(code = \"…\")]` above the variant, or make `{Self}` an error that can be logged with `#[derive(Debug, thiserror::Error)]`"
)]
pub trait Unmapped {
    /// Returns `INTERNAL_ERROR` with this error as its cause.
    fn internal(self) -> OperationError;
}

#[diagnostic::do_not_recommend]
impl<E: Into<Box<dyn error::Error + Send + Sync>>> Unmapped for E {
    fn internal(self) -> OperationError {
        OperationError::internal(self)
    }
}

/// Returns `INTERNAL_ERROR` with this error as its cause.
pub fn internal<E: Unmapped>(error: E) -> OperationError {
    error.internal()
}

/// Parses a literal detail. The macro has checked that it is valid JSON.
pub fn literal(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// An error to be logged as the cause of another error, if its type allows it.
#[derive(Debug)]
pub struct Cause<E>(pub E);

/// Attaches an error to another error as its cause.
pub trait KeepCause {
    /// Returns `error` with this cause.
    fn of(self, error: OperationError) -> OperationError;
}

impl<E: error::Error + Send + Sync + 'static> KeepCause for Cause<E> {
    fn of(self, error: OperationError) -> OperationError {
        error.with_cause(self.0)
    }
}

/// Discards an error whose type does not implement `Error`. Generated code calls `of` without knowing the type:
/// method lookup prefers [`KeepCause`], implemented for the value, and tries this trait, implemented for a reference,
/// afterwards.
pub trait DropCause {
    /// Returns `error` unchanged.
    fn of(self, error: OperationError) -> OperationError;
}

impl<E> DropCause for &Cause<E> {
    fn of(self, error: OperationError) -> OperationError {
        error
    }
}

/// Converts an error of type `E` into the error that `main` returns.
#[derive(Debug)]
pub struct Exit<E>(PhantomData<fn(E)>);

impl<E> Exit<E> {
    /// The only value of this type.
    pub const NEW: Self = Self(PhantomData);
}

/// Keeps the message and the causes of an error that leaves `main`.
pub trait ExitAsIs<E> {
    /// Returns the error for `main`.
    fn with(self, error: E) -> Error;
}

impl<E: error::Error + Send + Sync + 'static> ExitAsIs<E> for Exit<E> {
    fn with(self, error: E) -> Error {
        Error::other(error)
    }
}

/// Converts an error whose type does not implement `Error`, with the message that clients would read. It stands in
/// for [`ExitAsIs`] in the same way as [`DropCause`] stands in for [`KeepCause`].
pub trait ExitMapped<E> {
    /// Returns the error for `main`.
    fn with(self, error: E) -> Error;
}

impl<E: Into<OperationError>> ExitMapped<E> for &Exit<E> {
    fn with(self, error: E) -> Error {
        Error::other(error.into())
    }
}
