//! Columns of types that this crate knows: compared as they are, field by field.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BTreeSet, HashSet};
use std::hash::BuildHasher;
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::Arc;

use chrono::{DateTime, NaiveDate, TimeZone, Utc};
use serde::Serialize;
use serde_json::Value;

use super::{Access, Column, ColumnType, Matcher, row_at};
use crate::query::capture::float;
use crate::query::memory::{Groups, Sum};
use crate::query::model::FieldInfo;
use crate::query::plan::Test;
use crate::query::value::{Scalar, ValueKind};

/// A type that queries can look into without serializing it.
pub trait ColumnValue: 'static {
    /// The kind of its values, or of its entries.
    const KIND: ValueKind;
    /// It is a list.
    const LIST: bool = false;
    /// There may be none.
    const OPTIONAL: bool = false;

    /// Whether there is a value, or an entry.
    fn is_there(&self) -> bool {
        true
    }

    /// Whether the order of the value, or of an entry, and `bound` is as wanted.
    fn is(&self, bound: &Scalar, wanted: impl Fn(Ordering) -> bool) -> bool;

    /// Whether the value, or an entry, is one of these, which are in order.
    fn is_one_of(&self, sorted: &[Scalar]) -> bool;

    /// Whether the text, or an entry, passes.
    fn has_text(&self, _test: impl Fn(&str) -> bool) -> bool {
        false
    }

    /// The order of two values; what is missing is the same as anything.
    fn order(&self, other: &Self) -> Ordering;

    /// The value; a list has none.
    fn scalar(&self) -> Scalar;

    /// Each text.
    fn texts(&self, _take: &mut dyn FnMut(&str)) {}

    /// Adds the number.
    fn add_to(&self, _sum: &mut Sum) {}

    /// The group of the value.
    fn group(&self, groups: &mut Groups) -> u32 {
        groups.of(self.scalar())
    }
}

/// Types whose values are copied and compared.
macro_rules! plain {
    ($($ty:ty, $kind:ident, $variant:ident, |$value:ident| $scalar:expr, |$left:ident, $right:ident| $order:expr, |$sum:ident, $number:ident| $add:expr;)*) => {
        $(impl ColumnValue for $ty {
            const KIND: ValueKind = ValueKind::$kind;

            #[inline]
            fn is(&self, bound: &Scalar, wanted: impl Fn(Ordering) -> bool) -> bool {
                let $value = *self;
                match (bound, $scalar) {
                    (Scalar::$variant($right), $left) => wanted($order),
                    _ => false,
                }
            }

            #[inline]
            fn is_one_of(&self, sorted: &[Scalar]) -> bool {
                let $value = *self;
                let value = $scalar;
                sorted
                    .binary_search_by(|each| match (value, each) {
                        ($left, Scalar::$variant($right)) => $order.reverse(),
                        _ => Ordering::Less,
                    })
                    .is_ok()
            }

            #[inline]
            fn order(&self, other: &Self) -> Ordering {
                let $value = *self;
                let $left = $scalar;
                let $value = *other;
                let $right = &$scalar;
                $order
            }

            fn scalar(&self) -> Scalar {
                let $value = *self;
                Scalar::$variant($scalar)
            }

            #[inline]
            #[allow(unused_variables)]
            fn add_to(&self, $sum: &mut Sum) {
                let $value = *self;
                let $number = $scalar;
                $add
            }
        })*
    };
}

plain! {
    bool, Boolean, Bool, |value| value, |left, right| left.cmp(right), |sum, number| ();
    i8, Integer, Int, |value| i128::from(value), |left, right| left.cmp(right), |sum, number| sum.add_int(number);
    i16, Integer, Int, |value| i128::from(value), |left, right| left.cmp(right), |sum, number| sum.add_int(number);
    i32, Integer, Int, |value| i128::from(value), |left, right| left.cmp(right), |sum, number| sum.add_int(number);
    i64, Integer, Int, |value| i128::from(value), |left, right| left.cmp(right), |sum, number| sum.add_int(number);
    u8, Integer, Int, |value| i128::from(value), |left, right| left.cmp(right), |sum, number| sum.add_int(number);
    u16, Integer, Int, |value| i128::from(value), |left, right| left.cmp(right), |sum, number| sum.add_int(number);
    u32, Integer, Int, |value| i128::from(value), |left, right| left.cmp(right), |sum, number| sum.add_int(number);
    u64, Integer, Int, |value| i128::from(value), |left, right| left.cmp(right), |sum, number| sum.add_int(number);
    // No platform has wider ones.
    isize, Integer, Int, |value| value as i128, |left, right| left.cmp(right), |sum, number| sum.add_int(number);
    usize, Integer, Int, |value| value as i128, |left, right| left.cmp(right), |sum, number| sum.add_int(number);
    NaiveDate, Date, Date, |value| value, |left, right| left.cmp(right), |sum, number| ();
}

/// Numbers with a fraction. What is no number is missing, as in JSON.
macro_rules! floats {
    ($($ty:ty),*) => {
        $(impl ColumnValue for $ty {
            const KIND: ValueKind = ValueKind::Number;
            const OPTIONAL: bool = false;

            fn is_there(&self) -> bool {
                self.is_finite()
            }

            #[inline]
            fn is(&self, bound: &Scalar, wanted: impl Fn(Ordering) -> bool) -> bool {
                match bound {
                    Scalar::Float(bound) if self.is_finite() => {
                        wanted((f64::from(*self) + 0.0).total_cmp(bound))
                    }
                    _ => false,
                }
            }

            fn is_one_of(&self, sorted: &[Scalar]) -> bool {
                let value = float(f64::from(*self));
                !value.is_null() && sorted.binary_search_by(|each| each.order(&value)).is_ok()
            }

            #[inline]
            fn order(&self, other: &Self) -> Ordering {
                (f64::from(*self) + 0.0).total_cmp(&(f64::from(*other) + 0.0))
            }

            fn scalar(&self) -> Scalar {
                float(f64::from(*self))
            }

            #[inline]
            fn add_to(&self, sum: &mut Sum) {
                if self.is_finite() {
                    sum.add_float(f64::from(*self));
                }
            }
        })*
    };
}

floats!(f32, f64);

/// Types that hold text.
macro_rules! texts {
    ($($ty:ty),*) => {
        $(impl ColumnValue for $ty {
            const KIND: ValueKind = ValueKind::Text;

            #[inline]
            fn is(&self, bound: &Scalar, wanted: impl Fn(Ordering) -> bool) -> bool {
                match bound {
                    Scalar::Text(bound) => {
                        let text: &str = self;
                        wanted(text.cmp(bound))
                    }
                    _ => false,
                }
            }

            fn is_one_of(&self, sorted: &[Scalar]) -> bool {
                let text: &str = self;
                sorted
                    .binary_search_by(|each| match each {
                        Scalar::Text(each) => (**each).cmp(text),
                        _ => Ordering::Less,
                    })
                    .is_ok()
            }

            fn has_text(&self, test: impl Fn(&str) -> bool) -> bool {
                test(self)
            }

            #[inline]
            fn order(&self, other: &Self) -> Ordering {
                let (left, right): (&str, &str) = (self, other);
                left.cmp(right)
            }

            fn scalar(&self) -> Scalar {
                let text: &str = self;
                Scalar::from(text.to_owned())
            }

            fn texts(&self, take: &mut dyn FnMut(&str)) {
                take(self);
            }

            fn group(&self, groups: &mut Groups) -> u32 {
                groups.of_text(self)
            }
        })*
    };
}

texts!(String, Box<str>, Arc<str>, Rc<str>, Cow<'static, str>, &'static str);

impl<Z: TimeZone + 'static> ColumnValue for DateTime<Z> {
    const KIND: ValueKind = ValueKind::Instant;

    #[inline]
    fn is(&self, bound: &Scalar, wanted: impl Fn(Ordering) -> bool) -> bool {
        match bound {
            Scalar::Instant(bound) => wanted(self.to_utc().cmp(bound)),
            _ => false,
        }
    }

    fn is_one_of(&self, sorted: &[Scalar]) -> bool {
        let value = self.scalar();
        sorted.binary_search_by(|each| each.order(&value)).is_ok()
    }

    #[inline]
    fn order(&self, other: &Self) -> Ordering {
        self.cmp(other)
    }

    fn scalar(&self) -> Scalar {
        Scalar::Instant(self.to_utc())
    }
}

impl<V: ColumnValue> ColumnValue for Option<V> {
    const KIND: ValueKind = V::KIND;
    const LIST: bool = V::LIST;
    const OPTIONAL: bool = true;

    fn is_there(&self) -> bool {
        self.as_ref().is_some_and(V::is_there)
    }

    #[inline]
    fn is(&self, bound: &Scalar, wanted: impl Fn(Ordering) -> bool) -> bool {
        self.as_ref().is_some_and(|value| value.is(bound, wanted))
    }

    fn is_one_of(&self, sorted: &[Scalar]) -> bool {
        self.as_ref().is_some_and(|value| value.is_one_of(sorted))
    }

    fn has_text(&self, test: impl Fn(&str) -> bool) -> bool {
        self.as_ref().is_some_and(|value| value.has_text(test))
    }

    #[inline]
    fn order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Some(left), Some(right)) => left.order(right),
            _ => Ordering::Equal,
        }
    }

    fn scalar(&self) -> Scalar {
        self.as_ref().map_or(Scalar::Null, V::scalar)
    }

    fn texts(&self, take: &mut dyn FnMut(&str)) {
        if let Some(value) = self {
            value.texts(take);
        }
    }

    #[inline]
    fn add_to(&self, sum: &mut Sum) {
        if let Some(value) = self {
            value.add_to(sum);
        }
    }

    fn group(&self, groups: &mut Groups) -> u32 {
        match self {
            Some(value) => value.group(groups),
            None => groups.of(Scalar::Null),
        }
    }
}

/// Lists: one entry must pass.
macro_rules! lists {
    ($(impl[$($generics:tt)*] $ty:ty;)*) => {
        $(impl<$($generics)*> ColumnValue for $ty {
            const KIND: ValueKind = V::KIND;
            const LIST: bool = true;

            fn is_there(&self) -> bool {
                !self.is_empty()
            }

            fn is(&self, bound: &Scalar, wanted: impl Fn(Ordering) -> bool) -> bool {
                self.iter().any(|value| value.is(bound, &wanted))
            }

            fn is_one_of(&self, sorted: &[Scalar]) -> bool {
                self.iter().any(|value| value.is_one_of(sorted))
            }

            fn has_text(&self, test: impl Fn(&str) -> bool) -> bool {
                self.iter().any(|value| value.has_text(&test))
            }

            fn order(&self, _: &Self) -> Ordering {
                Ordering::Equal
            }

            fn scalar(&self) -> Scalar {
                Scalar::Null
            }

            fn texts(&self, take: &mut dyn FnMut(&str)) {
                self.iter().for_each(|value| value.texts(take));
            }
        })*
    };
}

lists! {
    impl[V: ColumnValue] Vec<V>;
    impl[V: ColumnValue] BTreeSet<V>;
    impl[V: ColumnValue, S: BuildHasher + 'static] HashSet<V, S>;
}

/// The column of a field whose type is known.
#[derive(Debug)]
pub struct Native<A>(PhantomData<fn() -> A>);

impl<A> Native<A> {
    /// The only value.
    pub const NEW: Self = Self(PhantomData);
}

/// A row without a value comes last, whatever the direction; `None` where both have one.
pub(super) fn missing(left: bool, right: bool) -> Option<Ordering> {
    match (left, right) {
        (true, true) => None,
        (false, false) => Some(Ordering::Equal),
        (true, false) => Some(Ordering::Less),
        (false, true) => Some(Ordering::Greater),
    }
}

/// An order, or its reverse.
pub(super) fn turned(order: Ordering, descending: bool) -> Ordering {
    if descending { order.reverse() } else { order }
}

/// So few operands are compared one by one.
fn sorted(values: &[Scalar]) -> Vec<Scalar> {
    let mut values = values.to_vec();
    values.sort_by(Scalar::order);
    values
}

impl<A: Access> Native<A>
where
    A::Value: ColumnValue,
{
    fn order_of(row: &A::Row, bound: &Scalar, descending: bool) -> Ordering {
        A::with(row, |value| {
            missing(value.is_there(), !bound.is_null()).unwrap_or_else(|| {
                // What is not less and not the same is more.
                let order = if value.is(bound, Ordering::is_lt) {
                    Ordering::Less
                } else if value.is(bound, Ordering::is_eq) {
                    Ordering::Equal
                } else {
                    Ordering::Greater
                };
                turned(order, descending)
            })
        })
    }
}

impl<A: Access> Column<A::Row> for Native<A>
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
            Test::Equals(bound) => Box::new(move |row: &A::Row| {
                A::with(row, |value| value.is(&bound, Ordering::is_eq))
            }),
            Test::AnyOf(values) => {
                let sorted = sorted(&values);
                Box::new(move |row: &A::Row| A::with(row, |value| value.is_one_of(&sorted)))
            }
            Test::Above { bound, inclusive: true } => Box::new(move |row: &A::Row| {
                A::with(row, |value| value.is(&bound, Ordering::is_ge))
            }),
            Test::Above { bound, inclusive: false } => Box::new(move |row: &A::Row| {
                A::with(row, |value| value.is(&bound, Ordering::is_gt))
            }),
            Test::Below { bound, inclusive: true } => Box::new(move |row: &A::Row| {
                A::with(row, |value| value.is(&bound, Ordering::is_le))
            }),
            Test::Below { bound, inclusive: false } => Box::new(move |row: &A::Row| {
                A::with(row, |value| value.is(&bound, Ordering::is_lt))
            }),
            Test::Contains(part) => Box::new(move |row: &A::Row| {
                A::with(row, |value| value.has_text(|text| text.contains(part.as_str())))
            }),
            Test::StartsWith(start) => Box::new(move |row: &A::Row| {
                A::with(row, |value| value.has_text(|text| text.starts_with(start.as_str())))
            }),
        }
    }

    fn order(&self, left: &A::Row, right: &A::Row, descending: bool, _: &FieldInfo) -> Ordering {
        A::with(left, |left| {
            A::with(right, |right| {
                missing(left.is_there(), right.is_there())
                    .unwrap_or_else(|| turned(left.order(right), descending))
            })
        })
    }

    fn order_to(&self, row: &A::Row, bound: &Scalar, descending: bool, _: &FieldInfo) -> Ordering {
        Self::order_of(row, bound, descending)
    }

    fn keep(
        &self,
        rows: &[&A::Row],
        selected: &mut Vec<u32>,
        bound: &Scalar,
        descending: bool,
        reversed: bool,
        _: &FieldInfo,
    ) {
        selected.retain(|place| {
            row_at(rows, *place).is_some_and(|row| {
                let order = Self::order_of(row, bound, descending);
                if reversed { order.is_ge() } else { order.is_le() }
            })
        });
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
        for (place, group) in selected.iter().zip(groups) {
            if let (Some(row), Some(sum)) = (row_at(rows, *place), sums.get_mut(*group as usize)) {
                A::with(row, |value| value.add_to(sum));
            }
        }
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
        for (place, group) in selected.iter().zip(groups) {
            let (Some(row), Some(extreme)) =
                (row_at(rows, *place), extremes.get_mut(*group as usize))
            else {
                continue;
            };
            A::with(row, |value| {
                let better = if largest { Ordering::is_gt } else { Ordering::is_lt };
                if value.is_there() && (extreme.is_null() || value.is(extreme, better)) {
                    *extreme = value.scalar();
                }
            });
        }
    }
}

/// An instant that is read from text, in any offset.
pub(crate) fn instant_of(text: &str) -> Option<DateTime<Utc>> {
    DateTime::parse_from_rfc3339(text).ok().map(|instant| instant.to_utc())
}
