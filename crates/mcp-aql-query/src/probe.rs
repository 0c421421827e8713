//! Selects the column of a field by its type: a native column for known types, otherwise a captured one.
//!
//! An inherent constant takes precedence over one of a trait. `Probe::<A>::COLUMN` is therefore the native
//! column if its bounds hold. This only works with concrete types, so only generated code uses it.

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
    /// `true`, because this crate knows the type.
    pub const NATIVE: bool = true;
    /// If `true`, the values are ordered.
    pub const ORDERED: bool = A::Value::KIND.is_ordered() && !A::Value::LIST;
    /// If `true`, the values can be added.
    pub const NUMERIC: bool = A::Value::KIND.is_numeric() && !A::Value::LIST;
    /// If `true`, the values are strings.
    pub const TEXT: bool = matches!(A::Value::KIND, crate::ValueKind::Text);
    /// If `true`, the values are lists.
    pub const LIST: bool = A::Value::LIST;
}

/// The constants for every other type.
pub trait Fallback {
    /// The resource.
    type Row: 'static;
    /// The column.
    const COLUMN: &'static dyn Column<Self::Row>;
    /// `false`, because this crate does not know the type.
    const NATIVE: bool = false;
    /// `false`. [`OrderProbe`] determines whether the values are ordered.
    const ORDERED: bool = false;
    /// `true`, so that the macros accept the field. The schema determines later whether the values can be added.
    const NUMERIC: bool = true;
    /// `true`, so that the macros accept the field. The schema determines later whether the values are strings.
    const TEXT: bool = true;
    /// `false`, until the schema shows that the values are lists.
    const LIST: bool = false;
}

impl<A: FieldAccess> Fallback for Probe<A>
where
    A::Value: Serialize + JsonSchema,
{
    type Row = A::Row;
    const COLUMN: &'static dyn Column<A::Row> = &CapturedColumn::<A>::NEW;
}

/// Determines whether a type implements `Ord`.
#[derive(Debug)]
pub struct OrderProbe<V>(PhantomData<V>);

impl<V: Ord> OrderProbe<V> {
    /// `true`, because the type is ordered.
    pub const KNOWN: bool = true;
}

/// The constant for a type without an order.
pub trait NoOrder {
    /// `false`, because the type is not ordered.
    const KNOWN: bool = false;
}

impl<V> NoOrder for OrderProbe<V> {}

/// Returns `true` if a field can be sorted by: this crate knows its type's order, or the type implements
/// `Ord`.
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
    /// An empty list, because there are no computed fields.
    const FIELDS: &'static [FieldSpec<Self::Row>] = &[];
}

impl<T: Resource> NoComputed for ComputedProbe<T> {
    type Row = T;
}
