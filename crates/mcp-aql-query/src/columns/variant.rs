//! Reads the index of an enum variant from its serialization.
//!
//! Serde passes the variant's index in the enum, so a result computed for a variant is reused without
//! comparing names. Comparing names would cost an unpredictable branch per row.

// The error for a value other than a unit variant.
use std::fmt::Error as NotAVariant;

use serde::ser::{Impossible, Serialize, Serializer};

use super::{FieldAccess, row_at};

/// The index of a unit variant, and the name of its enum.
#[derive(Debug, Clone, Copy)]
struct Variant {
    number: u32,
    of: &'static str,
}

#[inline]
fn variant<V: Serialize + ?Sized>(value: &V) -> Option<Variant> {
    value.serialize(VariantSerializer).ok()
}

/// The index for all other values, and for variants beyond the limit.
///
/// A set of indexes fits into a `u64`, so there are 64 of them.
const OTHER_INDEX: u8 = 63;

/// Returns the variant indexes of the selected rows.
///
/// A type may serialize as one of several enums. Variants of another enum than the first row's count as other
/// values.
#[inline]
pub(super) fn numbers<A: FieldAccess<Value: Serialize>>(
    rows: &[&A::Row],
    selected: &[u32],
) -> Vec<u8> {
    let variant_of = |row: &A::Row| A::with(row, variant);
    let first = selected.first().and_then(|place| variant_of(row_at(rows, *place)?));
    let Some(Variant { of, .. }) = first else { return vec![OTHER_INDEX; selected.len()] };
    let number = |row: &A::Row| match variant_of(row) {
        Some(variant) if std::ptr::eq(variant.of, of) => {
            u8::try_from(variant.number).map_or(OTHER_INDEX, |number| number.min(OTHER_INDEX))
        }
        _ => OTHER_INDEX,
    };
    if selected.len() == rows.len() {
        rows.iter().map(|row| number(row)).collect()
    } else {
        selected.iter().map(|place| row_at(rows, *place).map_or(OTHER_INDEX, number)).collect()
    }
}

/// Evaluates a test for many rows, once for each variant that occurs. Rows with other values are tested one
/// by one.
pub(super) fn answers(numbers: &[u8], mut ask: impl FnMut(usize) -> bool) -> Vec<bool> {
    let there = numbers.iter().fold(0, |all, number| all | bit(*number));
    let known = (0..OTHER_INDEX).filter(|number| there & bit(*number) != 0);
    let yes = known.fold(0, |all, number| {
        let place = numbers.iter().position(|other| *other == number);
        if place.is_some_and(&mut ask) { all | bit(number) } else { all }
    });
    if there & bit(OTHER_INDEX) == 0 {
        return numbers.iter().map(|number| yes & bit(*number) != 0).collect();
    }
    let answer = |(place, number): (usize, &u8)| match *number {
        OTHER_INDEX => ask(place),
        known => yes & bit(known) != 0,
    };
    numbers.iter().enumerate().map(answer).collect()
}

/// Returns the bit of an index in a set.
#[inline]
fn bit(number: u8) -> u64 {
    1_u64.wrapping_shl(number.into())
}

/// Results computed for the first variants of an enum.
pub(super) struct VariantCache<K>([Option<K>; OTHER_INDEX as usize]);

impl<K: Copy> VariantCache<K> {
    pub(super) const fn new() -> Self {
        Self([None; OTHER_INDEX as usize])
    }

    /// Returns the result for a variant. It is computed with `find` on first use.
    #[inline]
    pub(super) fn of(&mut self, number: u8, find: impl FnOnce() -> K) -> K {
        let slot = self.0.get_mut(number as usize);
        if let Some(Some(what)) = &slot {
            return *what;
        }
        let what = find();
        if let Some(slot) = slot {
            *slot = Some(what);
        }
        what
    }
}

struct VariantSerializer;

/// Implements the serializer's methods for all values except unit variants.
macro_rules! refused {
    ($($method:ident($($ty:ty),*) -> $out:ty;)*) => {
        $(#[inline]
        fn $method(self, $(_: $ty),*) -> Result<$out, NotAVariant> {
            Err(NotAVariant)
        })*
    };
}

type Never = Impossible<Variant, NotAVariant>;

impl Serializer for VariantSerializer {
    type Ok = Variant;
    type Error = NotAVariant;
    type SerializeSeq = Never;
    type SerializeTuple = Never;
    type SerializeTupleStruct = Never;
    type SerializeTupleVariant = Never;
    type SerializeMap = Never;
    type SerializeStruct = Never;
    type SerializeStructVariant = Never;

    #[inline]
    fn serialize_unit_variant(
        self,
        of: &'static str,
        number: u32,
        _: &'static str,
    ) -> Result<Variant, NotAVariant> {
        Ok(Variant { number, of })
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Variant, NotAVariant> {
        value.serialize(self)
    }

    #[inline]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Variant, NotAVariant> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<Variant, NotAVariant> {
        Err(NotAVariant)
    }

    refused! {
        serialize_none() -> Variant;
        serialize_bool(bool) -> Variant;
        serialize_i8(i8) -> Variant;
        serialize_i16(i16) -> Variant;
        serialize_i32(i32) -> Variant;
        serialize_i64(i64) -> Variant;
        serialize_i128(i128) -> Variant;
        serialize_u8(u8) -> Variant;
        serialize_u16(u16) -> Variant;
        serialize_u32(u32) -> Variant;
        serialize_u64(u64) -> Variant;
        serialize_u128(u128) -> Variant;
        serialize_f32(f32) -> Variant;
        serialize_f64(f64) -> Variant;
        serialize_char(char) -> Variant;
        serialize_str(&str) -> Variant;
        serialize_bytes(&[u8]) -> Variant;
        serialize_unit() -> Variant;
        serialize_unit_struct(&'static str) -> Variant;
        serialize_seq(Option<usize>) -> Never;
        serialize_tuple(usize) -> Never;
        serialize_tuple_struct(&'static str, usize) -> Never;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Never;
        serialize_map(Option<usize>) -> Never;
        serialize_struct(&'static str, usize) -> Never;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Never;
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize;

    use super::*;

    #[derive(Serialize)]
    enum State {
        Open,
        Done,
        Named(u8),
    }

    #[derive(Serialize)]
    enum Mood {
        Good,
    }

    /// Serializes as one of two enums.
    #[derive(Serialize)]
    #[serde(untagged)]
    enum Either {
        State(Option<State>),
        Mood(Mood),
        Text(String),
    }

    struct Itself;

    impl FieldAccess for Itself {
        type Row = Either;
        type Value = Either;

        fn with<R>(row: &Either, take: impl FnOnce(&Either) -> R) -> R {
            take(row)
        }
    }

    #[test]
    fn variants_have_numbers_and_nothing_else_has() {
        let rows = [
            Either::State(Some(State::Done)),
            Either::State(Some(State::Open)),
            Either::State(Some(State::Named(1))),
            Either::State(None),
            Either::Mood(Mood::Good),
            Either::Text("Open".to_owned()),
        ];
        let rows: Vec<_> = rows.iter().collect();
        assert_eq!(
            numbers::<Itself>(&rows, &[0, 1, 2, 3, 4, 5]),
            [1, 0, OTHER_INDEX, OTHER_INDEX, OTHER_INDEX, OTHER_INDEX]
        );
        assert_eq!(numbers::<Itself>(&rows, &[4, 1]), [0, OTHER_INDEX], "an enum of another name");
        assert_eq!(numbers::<Itself>(&rows, &[5, 1]), [OTHER_INDEX, OTHER_INDEX]);
    }

    #[test]
    fn rows_of_one_variant_are_asked_once() {
        let mut asked = Vec::new();
        let odd = |place: usize, asked: &mut Vec<usize>| {
            asked.push(place);
            place % 2 == 1
        };
        let numbers = [0, 5, 0, OTHER_INDEX - 1, 5];
        let passed = answers(&numbers, |place| odd(place, &mut asked));
        assert_eq!(passed, [false, true, false, true, true]);
        assert_eq!(asked, [0, 1, 3]);
        // Rows with other values are tested one by one.
        asked.clear();
        let numbers = [1, OTHER_INDEX, OTHER_INDEX, 1];
        let passed = answers(&numbers, |place| odd(place, &mut asked));
        assert_eq!(passed, [false, true, false, false]);
        assert_eq!(asked, [0, 1, 2]);
        assert!(answers(&[], |_| true).is_empty());
    }

    #[test]
    fn results_are_computed_once() {
        let mut known = VariantCache::new();
        assert_eq!(known.of(3, || 'a'), 'a');
        assert_eq!(known.of(3, || unreachable!("it is known")), 'a');
        assert_eq!(known.of(4, || 'b'), 'b');
        assert_eq!(known.of(OTHER_INDEX, || 'c'), 'c');
        assert_eq!(known.of(OTHER_INDEX, || 'd'), 'd', "others differ");
    }
}
