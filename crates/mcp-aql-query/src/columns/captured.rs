//! Columns of all types without a native column, compared in their serialized form.
//!
//! Names of enum variants are borrowed from the program, so most values need no allocation.

use std::cmp::Ordering;
use std::marker::PhantomData;

use chrono::NaiveDate;
use serde::Serialize;
use serde_json::Value;

use super::native::{missing, turned};
use super::scalar_values::instant_of;
use super::variant::{VariantCache, answers, numbers};
use super::{
    Column, ColumnType, FieldAccess, Matcher, each_in_group, priority, retain_passed, retain_rows,
    row_at,
};
use crate::capture::{self, capture};
use crate::field_info::FieldInfo;
use crate::grouping::{Groups, Sum};
use crate::plan::Test;
use crate::value::{Scalar, ValueKind};

/// The column of a field whose type only implements `Serialize`.
#[derive(Debug)]
pub struct CapturedColumn<A>(PhantomData<fn() -> A>);

impl<A> CapturedColumn<A> {
    /// The only value of this type.
    pub const NEW: Self = Self(PhantomData);
}

/// Converts a value to the kind of the field, for example the string `2031-05-06` to a date.
fn adapted(value: Scalar, kind: ValueKind) -> Scalar {
    match (value, kind) {
        (Scalar::Text(text), ValueKind::Date) => {
            text.parse::<NaiveDate>().map_or(Scalar::Null, Scalar::Date)
        }
        (Scalar::Text(text), ValueKind::Instant) => {
            instant_of(&text).map_or(Scalar::Null, Scalar::Instant)
        }
        #[expect(clippy::cast_precision_loss, reason = "numbers are compared as JSON has them")]
        (Scalar::Int(value), ValueKind::Number) => Scalar::Float(value as f64),
        (value, _) => value,
    }
}

/// Compares two values of a field.
fn order(left: &Scalar, right: &Scalar, info: &FieldInfo) -> Ordering {
    match (left, right) {
        (Scalar::Text(left), Scalar::Text(right)) if info.kind == ValueKind::Choice => {
            info.rank(left).cmp(&info.rank(right))
        }
        _ => left.order(right),
    }
}

/// Compares two values of a field. Missing values come last.
fn order_with_missing(
    left: &Scalar,
    right: &Scalar,
    descending: bool,
    info: &FieldInfo,
) -> Ordering {
    missing(!left.is_null(), !right.is_null())
        .unwrap_or_else(|| turned(order(left, right, info), descending))
}

/// Prepares a test for binary search by sorting its operands.
fn ready(test: &Test) -> Test {
    let mut test = test.clone();
    if let Test::AnyOf(values) = &mut test {
        values.sort_by(Scalar::order);
    }
    test
}

fn passes(value: &Scalar, test: &Test) -> bool {
    if value.is_null() {
        return false;
    }
    let text = |test: &dyn Fn(&str) -> bool| match value {
        Scalar::Text(text) => test(text),
        _ => false,
    };
    match test {
        Test::Exists => true,
        Test::Equals(bound) => value == bound,
        // `ready` has sorted the operands.
        Test::AnyOf(values) => values.binary_search_by(|each| each.order(value)).is_ok(),
        Test::Above { bound, inclusive } => {
            let order = value.order(bound);
            order.is_gt() || (*inclusive && order.is_eq())
        }
        Test::Below { bound, inclusive } => {
            let order = value.order(bound);
            order.is_lt() || (*inclusive && order.is_eq())
        }
        Test::Contains(part) => text(&|text| text.contains(part.as_str())),
        Test::StartsWith(start) => text(&|text| text.starts_with(start.as_str())),
    }
}

impl<A: FieldAccess> CapturedColumn<A>
where
    A::Value: Serialize,
{
    fn capture(row: &A::Row, kind: ValueKind) -> Option<capture::CapturedValue> {
        Some(match A::with(row, capture)? {
            capture::CapturedValue::One(value) => capture::CapturedValue::One(adapted(value, kind)),
            capture::CapturedValue::Many(values) => capture::CapturedValue::Many(
                values.into_iter().map(|value| adapted(value, kind)).collect(),
            ),
        })
    }

    fn one(row: &A::Row, kind: ValueKind) -> Scalar {
        match Self::capture(row, kind) {
            Some(capture::CapturedValue::One(value)) => value,
            _ => Scalar::Null,
        }
    }
}

impl<A: FieldAccess> CapturedColumn<A>
where
    A::Value: Serialize,
{
    /// Keeps the selected rows that pass a test of the enum variant. The test runs once per variant, not once
    /// per row.
    fn retain_variants(
        rows: &[&A::Row],
        selected: &mut Vec<u32>,
        passes: impl Fn(&A::Row) -> bool,
    ) {
        let passed = answers(&numbers::<A>(rows, selected), |place| {
            let row = selected.get(place).and_then(|place| row_at(rows, *place));
            row.is_some_and(&passes)
        });
        retain_passed(selected, &passed);
    }
}

/// A test of an enum field.
struct ChoiceMatcher<A> {
    test: Test,
    way: PhantomData<fn() -> A>,
}

impl<A: FieldAccess<Value: Serialize>> Matcher<A::Row> for ChoiceMatcher<A> {
    fn matches(&self, row: &A::Row) -> bool {
        passes(&CapturedColumn::<A>::one(row, ValueKind::Choice), &self.test)
    }

    fn retain(&self, rows: &[&A::Row], selected: &mut Vec<u32>) {
        CapturedColumn::<A>::retain_variants(rows, selected, |row| self.matches(row));
    }

    fn priority(&self) -> u8 {
        match self.test {
            Test::Equals(_) => priority::EQUAL,
            Test::AnyOf(_) => priority::ONE_OF,
            _ => priority::RANGE,
        }
    }
}

impl<A: FieldAccess> Column<A::Row> for CapturedColumn<A>
where
    A::Value: Serialize,
{
    fn column_type(&self) -> Option<ColumnType> {
        None
    }

    fn matcher(&self, test: &Test, info: &FieldInfo) -> Box<dyn Matcher<A::Row>> {
        let (test, kind) = (ready(test), info.kind);
        if kind == ValueKind::Choice && !info.list {
            return Box::new(ChoiceMatcher::<A> { test, way: PhantomData });
        }
        Box::new(move |row: &A::Row| match Self::capture(row, kind) {
            Some(capture::CapturedValue::One(value)) => passes(&value, &test),
            // A null entry counts as an entry.
            Some(capture::CapturedValue::Many(values)) if test == Test::Exists => {
                !values.is_empty()
            }
            Some(capture::CapturedValue::Many(values)) => {
                values.iter().any(|value| passes(value, &test))
            }
            None => false,
        })
    }

    fn order(&self, left: &A::Row, right: &A::Row, descending: bool, info: &FieldInfo) -> Ordering {
        let (left, right) = (Self::one(left, info.kind), Self::one(right, info.kind));
        order_with_missing(&left, &right, descending, info)
    }

    fn order_to(
        &self,
        row: &A::Row,
        bound: &Scalar,
        descending: bool,
        info: &FieldInfo,
    ) -> Ordering {
        order_with_missing(&Self::one(row, info.kind), bound, descending, info)
    }

    fn keep(
        &self,
        rows: &[&A::Row],
        selected: &mut Vec<u32>,
        worst: &A::Row,
        descending: bool,
        reversed: bool,
        info: &FieldInfo,
    ) {
        let worst = Self::one(worst, info.kind);
        let keeps = |row: &A::Row| {
            let order = self.order_to(row, &worst, descending, info);
            if reversed { order.is_ge() } else { order.is_le() }
        };
        if info.kind == ValueKind::Choice {
            Self::retain_variants(rows, selected, keeps);
        } else {
            retain_rows(rows, selected, keeps);
        }
    }

    fn scalar(&self, row: &A::Row, info: &FieldInfo) -> Scalar {
        Self::one(row, info.kind)
    }

    fn json(&self, row: &A::Row) -> Result<Value, serde_json::Error> {
        A::with(row, |value| serde_json::to_value(value))
    }

    fn texts(&self, row: &A::Row, take: &mut dyn FnMut(&str)) {
        let mut take = |value: &Scalar| {
            if let Scalar::Text(text) = value {
                take(text);
            }
        };
        match A::with(row, capture) {
            Some(capture::CapturedValue::One(value)) => take(&value),
            Some(capture::CapturedValue::Many(values)) => values.iter().for_each(take),
            None => {}
        }
    }

    fn groups(
        &self,
        rows: &[&A::Row],
        selected: &[u32],
        info: &FieldInfo,
        groups: &mut Groups,
        into: &mut Vec<u32>,
    ) {
        let mut known = VariantCache::new();
        let numbers = numbers::<A>(rows, selected).into_iter();
        into.extend(numbers.zip(selected).filter_map(|(number, place)| {
            let row = row_at(rows, *place)?;
            Some(known.of(number, || match Self::one(row, info.kind) {
                Scalar::Text(text) => groups.of_text(&text),
                other => groups.of(other),
            }))
        }));
    }

    fn sum(
        &self,
        rows: &[&A::Row],
        selected: &[u32],
        groups: &[u32],
        info: &FieldInfo,
        sums: &mut [Sum],
    ) {
        each_in_group(rows, selected, groups, sums, |row, sum| match Self::one(row, info.kind) {
            Scalar::Int(number) => sum.add_int(number),
            Scalar::Float(number) => sum.add_float(number),
            _ => {}
        });
    }

    fn extremes(
        &self,
        rows: &[&A::Row],
        selected: &[u32],
        groups: &[u32],
        info: &FieldInfo,
        extremes: &mut [Scalar],
        largest: bool,
    ) {
        each_in_group(rows, selected, groups, extremes, |row, extreme| {
            let value = Self::one(row, info.kind);
            let better = turned(order(&value, extreme, info), largest).is_lt();
            if !value.is_null() && (extreme.is_null() || better) {
                *extreme = value;
            }
        });
    }
}
