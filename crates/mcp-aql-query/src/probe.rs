//! Selects the column of a field by its type: a native column for known types, otherwise a captured
//! one. An inherent constant takes precedence over one of a trait, so `Probe::<A>::COLUMN` is the
//! former where its bounds hold. Only generated code uses this, with concrete types.

use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::Serialize;

use super::columns::{CapturedColumn, Column, ColumnValue, FieldAccess, NativeColumn};
use super::resource::{ComputedFields, Resource};
use super::resource_spec::FieldSpec;

/// Selects the column of the field that `A` accesses.
#[derive(Debug)]
pub struct Probe<A>(PhantomData<A>);

impl<A: FieldAccess> Probe<A>
where
    A::Value: ColumnValue + Serialize,
{
    /// The column.
    pub const COLUMN: &'static dyn Column<A::Row> = &NativeColumn::<A>::NEW;
    /// Whether this crate knows the type.
    pub const NATIVE: bool = true;
    /// Whether the values are ordered.
    pub const ORDERED: bool = A::Value::KIND.is_ordered() && !A::Value::LIST;
    /// Whether the values can be added.
    pub const NUMERIC: bool = A::Value::KIND.is_numeric() && !A::Value::LIST;
    /// Whether the values are text.
    pub const TEXT: bool = matches!(A::Value::KIND, crate::ValueKind::Text);
    /// Whether the values are lists.
    pub const LIST: bool = A::Value::LIST;
}

/// The constants for every other type.
pub trait Fallback {
    /// The resource.
    type Row: 'static;
    /// The column.
    const COLUMN: &'static dyn Column<Self::Row>;
    /// Whether this crate knows the type.
    const NATIVE: bool = false;
    /// Whether the values are ordered: see [`OrderProbe`].
    const ORDERED: bool = false;
    /// Whether the values can be added: determined later by the schema.
    const NUMERIC: bool = true;
    /// Whether the values are text: determined later by the schema.
    const TEXT: bool = true;
    /// Whether the values are lists: determined later by the schema.
    const LIST: bool = false;
}

impl<A: FieldAccess> Fallback for Probe<A>
where
    A::Value: Serialize + JsonSchema,
{
    type Row = A::Row;
    const COLUMN: &'static dyn Column<A::Row> = &CapturedColumn::<A>::NEW;
}

/// Determines whether a type is ordered.
#[derive(Debug)]
pub struct OrderProbe<V>(PhantomData<V>);

impl<V: Ord> OrderProbe<V> {
    /// The type is ordered.
    pub const KNOWN: bool = true;
}

/// The constant for a type without an order.
pub trait NoOrder {
    /// The type is not ordered.
    const KNOWN: bool = false;
}

impl<V> NoOrder for OrderProbe<V> {}

/// Whether a field can be sorted by: either this crate knows its type's order, or the type declares
/// one.
pub const fn is_ordered(native: bool, ordered: bool, known: bool) -> bool {
    if native { ordered } else { known }
}

/// Determines the computed fields of a resource.
#[derive(Debug)]
pub struct ComputedProbe<T>(PhantomData<T>);

impl<T: ComputedFields> ComputedProbe<T> {
    /// The computed fields.
    pub const FIELDS: &'static [FieldSpec<T>] = T::COMPUTED;
}

/// The constant for a resource without computed fields.
pub trait NoComputed {
    /// The resource.
    type Row: 'static;
    /// No computed fields.
    const FIELDS: &'static [FieldSpec<Self::Row>] = &[];
}

impl<T: Resource> NoComputed for ComputedProbe<T> {
    type Row = T;
}
