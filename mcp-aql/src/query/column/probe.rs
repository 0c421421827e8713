//! Picks the column of a field by its type: the types that this crate knows, or whatever serializes.
//! An inherent constant comes before one of a trait, so `Probe::<A>::COLUMN` is the former wherever
//! its bounds hold. Only generated code names these, for types that are known where it stands.

use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Access, Captured, Column, ColumnValue, Native};
use crate::query::resource::{ComputedFields, FieldSpec, Resource};

/// Asks for the column of what `A` leads to.
#[derive(Debug)]
pub struct Probe<A>(PhantomData<A>);

impl<A: Access> Probe<A>
where
    A::Value: ColumnValue + Serialize,
{
    /// The column.
    pub const COLUMN: &'static dyn Column<A::Row> = &Native::<A>::NEW;
    /// Whether this crate knows the type.
    pub const NATIVE: bool = true;
    /// Whether one value can come before another.
    pub const ORDERED: bool = A::Value::KIND.is_ordered() && !A::Value::LIST;
    /// Whether the values can be added.
    pub const NUMERIC: bool = A::Value::KIND.is_numeric() && !A::Value::LIST;
    /// Whether it has words.
    pub const TEXT: bool = matches!(A::Value::KIND, crate::query::ValueKind::Text);
    /// Whether it is a list.
    pub const LIST: bool = A::Value::LIST;
}

/// The answer for every other type.
pub trait Fallback {
    /// The resource.
    type Row: 'static;
    /// The column.
    const COLUMN: &'static dyn Column<Self::Row>;
    /// Whether this crate knows the type.
    const NATIVE: bool = false;
    /// Whether one value can come before another: see [`OrderProbe`].
    const ORDERED: bool = false;
    /// Whether the values can be added: the schema tells later.
    const NUMERIC: bool = true;
    /// Whether it has words: the schema tells later.
    const TEXT: bool = true;
    /// Whether it is a list: the schema tells later.
    const LIST: bool = false;
}

impl<A: Access> Fallback for Probe<A>
where
    A::Value: Serialize + JsonSchema,
{
    type Row = A::Row;
    const COLUMN: &'static dyn Column<A::Row> = &Captured::<A>::NEW;
}

/// Asks whether a type has an order.
#[derive(Debug)]
pub struct OrderProbe<V>(PhantomData<V>);

impl<V: Ord> OrderProbe<V> {
    /// It has.
    pub const KNOWN: bool = true;
}

/// The answer for a type without one.
pub trait NoOrder {
    /// It has none.
    const KNOWN: bool = false;
}

impl<V> NoOrder for OrderProbe<V> {}

/// Whether a field can be sorted by: this crate knows its type's order, or the type says that it
/// has one.
pub const fn is_ordered(native: bool, ordered: bool, known: bool) -> bool {
    if native { ordered } else { known }
}

/// Asks what is computed of a resource.
#[derive(Debug)]
pub struct ComputedProbe<T>(PhantomData<T>);

impl<T: ComputedFields> ComputedProbe<T> {
    /// The values.
    pub const FIELDS: &'static [FieldSpec<T>] = T::COMPUTED;
}

/// The answer where nothing is.
pub trait NoComputed {
    /// The resource.
    type Row: 'static;
    /// No values.
    const FIELDS: &'static [FieldSpec<Self::Row>] = &[];
}

impl<T: Resource> NoComputed for ComputedProbe<T> {
    type Row = T;
}
