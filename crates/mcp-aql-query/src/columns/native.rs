//! Columns of types known to this crate, compared without serialization.

use std::cmp::Ordering;
use std::marker::PhantomData;

use serde::Serialize;
use serde_json::Value;

use super::values::ColumnValue;
use super::{
    Column, ColumnType, FieldAccess, Matcher, each_in_group, priority, retain_rows, row_at,
};
use crate::field_info::FieldInfo;
use crate::grouping::{Groups, Sum};
use crate::plan::Test;
use crate::value::Scalar;

/// The column of a field with a known type.
#[derive(Debug)]
pub struct NativeColumn<A>(PhantomData<fn() -> A>);

impl<A> NativeColumn<A> {
    /// The only value of this type.
    pub const NEW: Self = Self(PhantomData);
}

/// Compares by presence. A row without a value comes last in both directions. Returns `None` if both rows
/// have a value.
pub(super) fn missing(left: bool, right: bool) -> Option<Ordering> {
    match (left, right) {
        (true, true) => None,
        (false, false) => Some(Ordering::Equal),
        (true, false) => Some(Ordering::Less),
        (false, true) => Some(Ordering::Greater),
    }
}

/// Reverses the order if `descending` is `true`.
pub(super) fn turned(order: Ordering, descending: bool) -> Ordering {
    if descending { order.reverse() } else { order }
}

/// Compares two values. Missing ones come last.
#[inline]
fn order_present<V: ColumnValue>(left: &V, right: &V, descending: bool) -> Ordering {
    missing(left.is_there(), right.is_there())
        .unwrap_or_else(|| turned(left.order(right), descending))
}

/// A test for equality.
struct EqualMatcher<A> {
    operand: Scalar,
    way: PhantomData<fn() -> A>,
}

impl<A: FieldAccess<Value: ColumnValue>> Matcher<A::Row> for EqualMatcher<A> {
    fn matches(&self, row: &A::Row) -> bool {
        A::Value::operand(&self.operand)
            .is_some_and(|operand| A::with(row, |value| value.equals(operand)))
    }

    fn retain(&self, rows: &[&A::Row], selected: &mut Vec<u32>) {
        match A::Value::operand(&self.operand) {
            Some(operand) => {
                retain_rows(rows, selected, |row| A::with(row, |value| value.equals(operand)));
            }
            None => selected.clear(),
        }
    }

    fn priority(&self) -> u8 {
        priority::EQUAL
    }
}

/// A test with an order relation, such as `gt` or `lte`.
struct BoundMatcher<A, F> {
    bound: Scalar,
    wanted: F,
    way: PhantomData<fn() -> A>,
}

impl<A, F> Matcher<A::Row> for BoundMatcher<A, F>
where
    A: FieldAccess<Value: ColumnValue>,
    F: Fn(Ordering) -> bool + Send + Sync,
{
    fn matches(&self, row: &A::Row) -> bool {
        A::Value::operand(&self.bound)
            .is_some_and(|bound| A::with(row, |value| value.is(bound, &self.wanted)))
    }

    fn retain(&self, rows: &[&A::Row], selected: &mut Vec<u32>) {
        match A::Value::operand(&self.bound) {
            Some(bound) => retain_rows(rows, selected, |row| {
                A::with(row, |value| value.is(bound, &self.wanted))
            }),
            None => selected.clear(),
        }
    }

    fn priority(&self) -> u8 {
        priority::RANGE
    }
}

/// A test for one of several operands.
struct OneOfMatcher<A> {
    /// Sorted, for binary search.
    operands: Vec<Scalar>,
    way: PhantomData<fn() -> A>,
}

impl<A: FieldAccess<Value: ColumnValue>> OneOfMatcher<A> {
    fn new(mut operands: Vec<Scalar>) -> Self {
        operands.sort_by(Scalar::order);
        Self { operands, way: PhantomData }
    }

    fn ready(&self) -> Vec<<A::Value as ColumnValue>::Operand<'_>> {
        self.operands.iter().filter_map(A::Value::operand).collect()
    }
}

impl<A: FieldAccess<Value: ColumnValue>> Matcher<A::Row> for OneOfMatcher<A> {
    fn matches(&self, row: &A::Row) -> bool {
        A::with(row, |value| {
            self.operands.iter().filter_map(A::Value::operand).any(|operand| value.equals(operand))
        })
    }

    fn retain(&self, rows: &[&A::Row], selected: &mut Vec<u32>) {
        let operands = self.ready();
        retain_rows(rows, selected, |row| A::with(row, |value| value.is_one_of(&operands)));
    }

    fn priority(&self) -> u8 {
        priority::ONE_OF
    }
}

impl<A: FieldAccess> NativeColumn<A>
where
    A::Value: ColumnValue,
{
    fn order_of(row: &A::Row, bound: &Scalar, descending: bool) -> Ordering {
        A::with(row, |value| {
            missing(value.is_there(), !bound.is_null()).unwrap_or_else(|| {
                let is = |wanted: fn(Ordering) -> bool| {
                    A::Value::operand(bound).is_some_and(|operand| value.is(operand, wanted))
                };
                // Values only support tests against an operand, so the order is found by two tests.
                let order = if is(Ordering::is_lt) {
                    Ordering::Less
                } else if is(Ordering::is_eq) {
                    Ordering::Equal
                } else {
                    Ordering::Greater
                };
                turned(order, descending)
            })
        })
    }

    /// Implements [`Column::keep`]. The constants avoid testing the direction for each row.
    fn keep_by<const DESCENDING: bool, const REVERSED: bool>(
        rows: &[&A::Row],
        selected: &mut Vec<u32>,
        worst: &A::Row,
    ) {
        A::with(worst, |worst| {
            retain_rows(rows, selected, |row| {
                let order = A::with(row, |value| order_present(value, worst, DESCENDING));
                if REVERSED { order.is_ge() } else { order.is_le() }
            });
        });
    }

    fn bounded<F>(bound: Scalar, wanted: F) -> Box<dyn Matcher<A::Row>>
    where
        F: Fn(Ordering) -> bool + Send + Sync + 'static,
    {
        Box::new(BoundMatcher::<A, F> { bound, wanted, way: PhantomData })
    }
}

impl<A: FieldAccess> Column<A::Row> for NativeColumn<A>
where
    A::Value: ColumnValue + Serialize,
{
    fn column_type(&self) -> Option<ColumnType> {
        let (kind, list, optional) = (A::Value::KIND, A::Value::LIST, A::Value::OPTIONAL);
        Some(ColumnType { kind, list, optional })
    }

    fn matcher(&self, test: &Test, _: &FieldInfo) -> Box<dyn Matcher<A::Row>> {
        match test.clone() {
            Test::Exists => Box::new(|row: &A::Row| A::with(row, A::Value::is_there)),
            Test::Equals(operand) => Box::new(EqualMatcher::<A> { operand, way: PhantomData }),
            Test::AnyOf(values) => Box::new(OneOfMatcher::<A>::new(values)),
            Test::Above { bound, inclusive: true } => Self::bounded(bound, |it| it.is_ge()),
            Test::Above { bound, inclusive: false } => Self::bounded(bound, |it| it.is_gt()),
            Test::Below { bound, inclusive: true } => Self::bounded(bound, |it| it.is_le()),
            Test::Below { bound, inclusive: false } => Self::bounded(bound, |it| it.is_lt()),
            Test::Contains(part) => Box::new(move |row: &A::Row| {
                A::with(row, |value| value.has_text(|text| text.contains(part.as_str())))
            }),
            Test::StartsWith(start) => Box::new(move |row: &A::Row| {
                A::with(row, |value| value.has_text(|text| text.starts_with(start.as_str())))
            }),
        }
    }

    fn order(&self, left: &A::Row, right: &A::Row, descending: bool, _: &FieldInfo) -> Ordering {
        A::with(left, |left| A::with(right, |right| order_present(left, right, descending)))
    }

    fn order_to(&self, row: &A::Row, bound: &Scalar, descending: bool, _: &FieldInfo) -> Ordering {
        Self::order_of(row, bound, descending)
    }

    fn keep(
        &self,
        rows: &[&A::Row],
        selected: &mut Vec<u32>,
        worst: &A::Row,
        descending: bool,
        reversed: bool,
        _: &FieldInfo,
    ) {
        match (descending, reversed) {
            (false, false) => Self::keep_by::<false, false>(rows, selected, worst),
            (false, true) => Self::keep_by::<false, true>(rows, selected, worst),
            (true, false) => Self::keep_by::<true, false>(rows, selected, worst),
            (true, true) => Self::keep_by::<true, true>(rows, selected, worst),
        }
    }

    fn scalar(&self, row: &A::Row, _: &FieldInfo) -> Scalar {
        A::with(row, A::Value::scalar)
    }

    fn json(&self, row: &A::Row) -> Result<Value, serde_json::Error> {
        A::with(row, |value| serde_json::to_value(value))
    }

    fn texts(&self, row: &A::Row, take: &mut dyn FnMut(&str)) {
        A::with(row, |value| value.texts(take));
    }

    fn groups(
        &self,
        rows: &[&A::Row],
        selected: &[u32],
        _: &FieldInfo,
        groups: &mut Groups,
        into: &mut Vec<u32>,
    ) {
        let rows = selected.iter().filter_map(|place| row_at(rows, *place));
        into.extend(rows.map(|row| A::with(row, |value| value.group(groups))));
    }

    fn sum(
        &self,
        rows: &[&A::Row],
        selected: &[u32],
        groups: &[u32],
        _: &FieldInfo,
        sums: &mut [Sum],
    ) {
        each_in_group(rows, selected, groups, sums, |row, sum| {
            A::with(row, |value| value.add_to(sum));
        });
    }

    fn extremes(
        &self,
        rows: &[&A::Row],
        selected: &[u32],
        groups: &[u32],
        _: &FieldInfo,
        extremes: &mut [Scalar],
        largest: bool,
    ) {
        let better = if largest { Ordering::is_gt } else { Ordering::is_lt };
        each_in_group(rows, selected, groups, extremes, |row, extreme| {
            A::with(row, |value| {
                let improves =
                    || A::Value::operand(extreme).is_some_and(|extreme| value.is(extreme, better));
                if value.is_there() && (extreme.is_null() || improves()) {
                    *extreme = value.scalar();
                }
            });
        });
    }
}
