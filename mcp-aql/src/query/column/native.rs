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

use super::{Access, Column, ColumnType, Matcher, haste, retain_rows, row_at};
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

    /// What values are compared with, ready to compare.
    type Operand<'a>: Copy;

    /// An operand of a request; none where nothing of this type is like it.
    fn operand(scalar: &Scalar) -> Option<Self::Operand<'_>>;

    /// The order of two operands.
    fn order_operands(left: Self::Operand<'_>, right: Self::Operand<'_>) -> Ordering;

    /// Whether the order of the value, or of an entry, and `bound` is as wanted.
    fn is(&self, bound: Self::Operand<'_>, wanted: impl Fn(Ordering) -> bool) -> bool;

    /// Whether the value, or an entry, is this.
    #[inline]
    fn equals(&self, operand: Self::Operand<'_>) -> bool {
        self.is(operand, Ordering::is_eq)
    }

    /// Whether the value, or an entry, is one of these, which are in order.
    fn is_one_of(&self, sorted: &[Self::Operand<'_>]) -> bool;

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
    ($($ty:ty, $kind:ident, $variant:ident($operand:ty), |$value:ident| $scalar:expr, |$sum:ident, $number:ident| $add:expr;)*) => {
        $(impl ColumnValue for $ty {
            const KIND: ValueKind = ValueKind::$kind;

            type Operand<'a> = $operand;

            #[inline]
            fn operand(scalar: &Scalar) -> Option<$operand> {
                match scalar {
                    Scalar::$variant(operand) => Some(*operand),
                    _ => None,
                }
            }

            #[inline]
            fn order_operands(left: $operand, right: $operand) -> Ordering {
                left.cmp(&right)
            }

            #[inline]
            fn is(&self, bound: $operand, wanted: impl Fn(Ordering) -> bool) -> bool {
                let $value = *self;
                wanted($scalar.cmp(&bound))
            }

            #[inline]
            fn is_one_of(&self, sorted: &[$operand]) -> bool {
                let $value = *self;
                let value = $scalar;
                among(sorted, |operand| operand.cmp(&value))
            }

            #[inline]
            fn order(&self, other: &Self) -> Ordering {
                self.cmp(other)
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
    bool, Boolean, Bool(bool), |value| value, |sum, number| ();
    i8, Integer, Int(i128), |value| i128::from(value), |sum, number| sum.add_int(number);
    i16, Integer, Int(i128), |value| i128::from(value), |sum, number| sum.add_int(number);
    i32, Integer, Int(i128), |value| i128::from(value), |sum, number| sum.add_int(number);
    i64, Integer, Int(i128), |value| i128::from(value), |sum, number| sum.add_int(number);
    u8, Integer, Int(i128), |value| i128::from(value), |sum, number| sum.add_int(number);
    u16, Integer, Int(i128), |value| i128::from(value), |sum, number| sum.add_int(number);
    u32, Integer, Int(i128), |value| i128::from(value), |sum, number| sum.add_int(number);
    u64, Integer, Int(i128), |value| i128::from(value), |sum, number| sum.add_int(number);
    // No platform has wider ones.
    isize, Integer, Int(i128), |value| value as i128, |sum, number| sum.add_int(number);
    usize, Integer, Int(i128), |value| value as i128, |sum, number| sum.add_int(number);
    NaiveDate, Date, Date(NaiveDate), |value| value, |sum, number| ();
}

/// So few operands are compared one by one, which is faster than halving.
const FEW: usize = 8;

/// Whether one of the operands, which are in order, is the same.
#[inline]
fn among<O: Copy>(sorted: &[O], order: impl Fn(O) -> Ordering) -> bool {
    if sorted.len() <= FEW {
        sorted.iter().any(|operand| order(*operand).is_eq())
    } else {
        sorted.binary_search_by(|operand| order(*operand)).is_ok()
    }
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

            type Operand<'a> = f64;

            #[inline]
            fn operand(scalar: &Scalar) -> Option<f64> {
                match scalar {
                    Scalar::Float(operand) => Some(*operand),
                    _ => None,
                }
            }

            #[inline]
            fn order_operands(left: f64, right: f64) -> Ordering {
                left.total_cmp(&right)
            }

            #[inline]
            fn is(&self, bound: f64, wanted: impl Fn(Ordering) -> bool) -> bool {
                self.is_finite() && wanted((f64::from(*self) + 0.0).total_cmp(&bound))
            }

            #[inline]
            fn is_one_of(&self, sorted: &[f64]) -> bool {
                let value = f64::from(*self) + 0.0;
                value.is_finite() && among(sorted, |operand| operand.total_cmp(&value))
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

            type Operand<'a> = &'a str;

            #[inline]
            fn operand(scalar: &Scalar) -> Option<&str> {
                match scalar {
                    Scalar::Text(operand) => Some(operand),
                    _ => None,
                }
            }

            #[inline]
            fn order_operands(left: &str, right: &str) -> Ordering {
                left.cmp(right)
            }

            #[inline]
            fn is(&self, bound: &str, wanted: impl Fn(Ordering) -> bool) -> bool {
                let text: &str = self;
                wanted(text.cmp(bound))
            }

            #[inline]
            fn equals(&self, operand: &str) -> bool {
                let text: &str = self;
                text == operand
            }

            #[inline]
            fn is_one_of(&self, sorted: &[&str]) -> bool {
                let text: &str = self;
                if sorted.len() <= FEW {
                    sorted.contains(&text)
                } else {
                    among(sorted, |operand| operand.cmp(text))
                }
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

    type Operand<'a> = DateTime<Utc>;

    #[inline]
    fn operand(scalar: &Scalar) -> Option<DateTime<Utc>> {
        match scalar {
            Scalar::Instant(operand) => Some(*operand),
            _ => None,
        }
    }

    #[inline]
    fn order_operands(left: DateTime<Utc>, right: DateTime<Utc>) -> Ordering {
        left.cmp(&right)
    }

    #[inline]
    fn is(&self, bound: DateTime<Utc>, wanted: impl Fn(Ordering) -> bool) -> bool {
        wanted(self.to_utc().cmp(&bound))
    }

    #[inline]
    fn is_one_of(&self, sorted: &[DateTime<Utc>]) -> bool {
        let value = self.to_utc();
        among(sorted, |operand| operand.cmp(&value))
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

    type Operand<'a> = V::Operand<'a>;

    #[inline]
    fn operand(scalar: &Scalar) -> Option<V::Operand<'_>> {
        V::operand(scalar)
    }

    #[inline]
    fn order_operands(left: V::Operand<'_>, right: V::Operand<'_>) -> Ordering {
        V::order_operands(left, right)
    }

    #[inline]
    fn is(&self, bound: V::Operand<'_>, wanted: impl Fn(Ordering) -> bool) -> bool {
        self.as_ref().is_some_and(|value| value.is(bound, wanted))
    }

    #[inline]
    fn equals(&self, operand: V::Operand<'_>) -> bool {
        self.as_ref().is_some_and(|value| value.equals(operand))
    }

    #[inline]
    fn is_one_of(&self, sorted: &[V::Operand<'_>]) -> bool {
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

            type Operand<'a> = V::Operand<'a>;

            fn operand(scalar: &Scalar) -> Option<V::Operand<'_>> {
                V::operand(scalar)
            }

            fn order_operands(left: V::Operand<'_>, right: V::Operand<'_>) -> Ordering {
                V::order_operands(left, right)
            }

            fn is(&self, bound: V::Operand<'_>, wanted: impl Fn(Ordering) -> bool) -> bool {
                self.iter().any(|value| value.is(bound, &wanted))
            }

            fn equals(&self, operand: V::Operand<'_>) -> bool {
                self.iter().any(|value| value.equals(operand))
            }

            fn is_one_of(&self, sorted: &[V::Operand<'_>]) -> bool {
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

/// A row without a value comes last; others compare.
#[inline]
fn order_present<V: ColumnValue>(left: &V, right: &V, descending: bool) -> Ordering {
    missing(left.is_there(), right.is_there())
        .unwrap_or_else(|| turned(left.order(right), descending))
}

/// A test for one operand.
struct Equal<A> {
    operand: Scalar,
    way: PhantomData<fn() -> A>,
}

impl<A: Access<Value: ColumnValue>> Matcher<A::Row> for Equal<A> {
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

    fn haste(&self) -> u8 {
        haste::EQUAL
    }
}

/// A test for an order.
struct Bounded<A, F> {
    bound: Scalar,
    wanted: F,
    way: PhantomData<fn() -> A>,
}

impl<A, F> Matcher<A::Row> for Bounded<A, F>
where
    A: Access<Value: ColumnValue>,
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

    fn haste(&self) -> u8 {
        haste::RANGE
    }
}

/// A test for one of several operands.
struct OneOf<A> {
    /// In their order.
    operands: Vec<Scalar>,
    way: PhantomData<fn() -> A>,
}

impl<A: Access<Value: ColumnValue>> OneOf<A> {
    fn new(mut operands: Vec<Scalar>) -> Self {
        operands.sort_by(Scalar::order);
        Self { operands, way: PhantomData }
    }

    fn ready(&self) -> Vec<<A::Value as ColumnValue>::Operand<'_>> {
        self.operands.iter().filter_map(A::Value::operand).collect()
    }
}

impl<A: Access<Value: ColumnValue>> Matcher<A::Row> for OneOf<A> {
    fn matches(&self, row: &A::Row) -> bool {
        A::with(row, |value| {
            self.operands
                .iter()
                .filter_map(A::Value::operand)
                .any(|operand| value.equals(operand))
        })
    }

    fn retain(&self, rows: &[&A::Row], selected: &mut Vec<u32>) {
        let operands = self.ready();
        retain_rows(rows, selected, |row| A::with(row, |value| value.is_one_of(&operands)));
    }

    fn haste(&self) -> u8 {
        haste::ONE_OF
    }
}

impl<A: Access> Native<A>
where
    A::Value: ColumnValue,
{
    fn order_of(row: &A::Row, bound: &Scalar, descending: bool) -> Ordering {
        A::with(row, |value| {
            missing(value.is_there(), !bound.is_null()).unwrap_or_else(|| {
                let is = |wanted: fn(Ordering) -> bool| {
                    A::Value::operand(bound).is_some_and(|operand| value.is(operand, wanted))
                };
                // What is not less and not the same is more.
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

    /// A loop for each direction, so that none asks for it row by row.
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
        Box::new(Bounded::<A, F> { bound, wanted, way: PhantomData })
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
            Test::Equals(operand) => Box::new(Equal::<A> { operand, way: PhantomData }),
            Test::AnyOf(values) => Box::new(OneOf::<A>::new(values)),
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

    fn order(
        &self,
        left: &A::Row,
        right: &A::Row,
        descending: bool,
        _: &FieldInfo,
    ) -> Ordering {
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
                let improves = || {
                    A::Value::operand(extreme).is_some_and(|extreme| value.is(extreme, better))
                };
                if value.is_there() && (extreme.is_null() || improves()) {
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
