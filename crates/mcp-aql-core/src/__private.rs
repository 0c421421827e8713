//! Items for generated code only: not part of the public interface.

pub use crate::observe::log_targets::{CALLS, QUOTING_TARGETS};
pub use crate::operation::{Fallible, Payload, Plain, PlainForm, ReturnForm};
pub use crate::schema::spec::{optional, required};
pub use ::schemars;
pub use ::serde_json;

use std::error::Error;
use std::fmt;
use std::marker::PhantomData;

use serde::Serialize;
use serde_json::Value;

use crate::OperationError;
use crate::error::echo;
use crate::operation::update::{InputFieldSpec, Merge, UpdateInput};
use crate::table::{InputSpec, ParameterSpec};
use crate::text::{ConstText, const_eq};

/// Stops the build when `input` can change what identifies the resource, with a message that can
/// name it.
///
/// Source: MCP-AQL §4.5.3 (REQ-UPD-06).
#[track_caller]
pub const fn check_identifier(parameter: &str, input: &InputSpec, message: &str) {
    let mut fields = input.fields;
    while let [field, rest @ ..] = fields {
        assert!(!const_eq(parameter.as_bytes(), field.parameter.name.as_bytes()), "{}", message);
        fields = rest;
    }
}

/// Stops the build when none of the groups brings a parameter of this name. A group without parameters
/// is one with faults of its own.
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

/// Stops the build when an example gives none of these names to a parameter of a group that every call
/// must give.
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

/// Stops the build when `input` has no field of this name. An input without fields is one with faults of
/// its own.
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

/// The table of the fields at a path inside of an UPDATE's `input`. The path is `()` or a [`FieldStep`].
/// `#[derive(UpdateInput)]` implements it for the fields that may be structs of their own. It has no associated type,
/// because the type of a field may be private.
#[diagnostic::on_unimplemented(
    message = "the fields inside of the fields of `{Self}` are not known while compiling",
    label = "needed by a confirmation message",
    note = "write `#[derive(UpdateInput)]` above `{Self}`, or show the whole field"
)]
pub trait InputAt<Path> {
    /// The table.
    const INPUT: InputSpec;
}

impl<T: UpdateInput> InputAt<()> for T {
    const INPUT: InputSpec = <T as UpdateInput>::INPUT;
}

/// A path that starts with the field of this index: for a field of type `Option<Box<T>>`, with the fields of `T`.
#[derive(Debug)]
pub struct FieldStep<const INDEX: usize, Rest>(PhantomData<Rest>);

/// A placeholder of a confirmation message: `{input.address.city}`.
#[derive(Debug, Clone, Copy)]
pub struct InputSlot<'a> {
    /// The whole path.
    pub path: &'a str,
    /// The path of the object: `input.address`.
    pub object: &'a str,
    /// The name of its field.
    pub field: &'a str,
    /// Whether the path continues inside of the field.
    pub goes_on: bool,
}

/// Returns the index of the field that a confirmation message shows. Stops the build if the field does not exist or is
/// a secret. An input without fields has faults of its own.
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

/// Returns the message about a field that does not exist, with those that do.
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

/// The number of fields that a message may show.
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

/// A field of an error as a detail for the client.
pub fn detail<T: Serialize + ?Sized>(value: &T) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// As [`detail`], shortened where it is a long text: it repeats what a caller wrote.
pub fn echoed<T: Serialize + ?Sized>(value: &T) -> Value {
    match detail(value) {
        Value::String(text) => echo(&text).into(),
        other => other,
    }
}

/// A field of an error as the text of a template's slot, shortened where it is long. A field without
/// `Display` is written as the detail of this name would be.
#[derive(Debug)]
pub struct Slot<'a, T: ?Sized>(pub &'a T);

/// A slot of a type with `Display`.
pub trait SlotOfDisplay {
    /// The text.
    fn text(self) -> String;
}

impl<T: fmt::Display + ?Sized> SlotOfDisplay for Slot<'_, T> {
    fn text(self) -> String {
        echo(&self.0.to_string())
    }
}

/// Stands in for [`SlotOfDisplay`], as [`DropCause`] does for [`KeepCause`].
pub trait SlotOfDetail {
    /// The text.
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

/// The code of a variant without one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no error, and a variant of it has no code",
    label = "has no code",
    note = "write `#[operation_error(code = \"…\")]` above the variant, or make `{Self}` an error that can be logged with `#[derive(Debug, thiserror::Error)]`"
)]
pub trait Unmapped {
    /// `INTERNAL_ERROR` with this cause.
    fn internal(self) -> OperationError;
}

#[diagnostic::do_not_recommend]
impl<E: Into<Box<dyn Error + Send + Sync>>> Unmapped for E {
    fn internal(self) -> OperationError {
        OperationError::internal(self)
    }
}

/// `INTERNAL_ERROR` with this cause.
pub fn internal<E: Unmapped>(error: E) -> OperationError {
    error.internal()
}

/// A literal detail, as JSON text that the macro has checked.
pub fn literal(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// An error on its way into the log, if it can be a cause.
#[derive(Debug)]
pub struct Cause<E>(pub E);

/// Keeps an error as the cause of another.
pub trait KeepCause {
    /// Gives `error` this cause.
    fn of(self, error: OperationError) -> OperationError;
}

impl<E: Error + Send + Sync + 'static> KeepCause for Cause<E> {
    fn of(self, error: OperationError) -> OperationError {
        error.with_cause(self.0)
    }
}

/// Stands in for [`KeepCause`] where the type is no `Error`: method look-up tries the value before
/// a reference to it.
pub trait DropCause {
    /// Leaves `error` as it is.
    fn of(self, error: OperationError) -> OperationError;
}

impl<E> DropCause for &Cause<E> {
    fn of(self, error: OperationError) -> OperationError {
        error
    }
}

/// An error of type `E` on its way out of `main`.
#[derive(Debug)]
pub struct Exit<E>(PhantomData<fn(E)>);

impl<E> Exit<E> {
    /// The only value.
    pub const NEW: Self = Self(PhantomData);
}

/// Takes an error out of `main` with its own words and causes.
pub trait ExitAsIs<E> {
    /// The error that `main` returns.
    fn with(self, error: E) -> crate::Error;
}

impl<E: Error + Send + Sync + 'static> ExitAsIs<E> for Exit<E> {
    fn with(self, error: E) -> crate::Error {
        crate::Error::other(error)
    }
}

/// Stands in for [`ExitAsIs`] where the type is no `Error`, as [`DropCause`] does for [`KeepCause`]:
/// the words are those that clients read.
pub trait ExitMapped<E> {
    /// The error that `main` returns.
    fn with(self, error: E) -> crate::Error;
}

impl<E: Into<OperationError>> ExitMapped<E> for &Exit<E> {
    fn with(self, error: E) -> crate::Error {
        crate::Error::other(error.into())
    }
}
