//! The trait of types compared without serialization, with its implementations for optional values and lists.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashSet};
use std::hash::BuildHasher;

use crate::grouping::{Groups, Sum};
use crate::value::{Scalar, ValueKind};

/// A type whose values are read without serializing them.
pub trait ColumnValue: 'static {
    /// The kind of the values, or of the entries of a list.
    const KIND: ValueKind;
    /// If `true`, the values are lists.
    const LIST: bool = false;
    /// If `true`, the value can be missing.
    const OPTIONAL: bool = false;

    /// Returns `true` if there is a value, or a list with at least one entry.
    fn is_there(&self) -> bool {
        true
    }

    /// A prepared operand of a comparison.
    type Operand<'a>: Copy;

    /// Prepares an operand of a request. Returns `None` if no value of this type can equal it.
    fn operand(scalar: &Scalar) -> Option<Self::Operand<'_>>;

    /// Returns `true` if the value, or an entry, compares with `bound` as `wanted`.
    fn is(&self, bound: Self::Operand<'_>, wanted: impl Fn(Ordering) -> bool) -> bool;

    /// Returns `true` if the value, or an entry, equals the operand.
    #[inline]
    fn equals(&self, operand: Self::Operand<'_>) -> bool {
        self.is(operand, Ordering::is_eq)
    }

    /// Returns `true` if the value, or an entry, is one of the sorted operands.
    fn is_one_of(&self, sorted: &[Self::Operand<'_>]) -> bool;

    /// Returns `true` if the string, or an entry, passes the test.
    fn has_text(&self, _test: impl Fn(&str) -> bool) -> bool {
        false
    }

    /// Compares two values. A missing value equals any other.
    fn order(&self, other: &Self) -> Ordering;

    /// Returns the value, or null for lists.
    fn scalar(&self) -> Scalar;

    /// Calls `_take` with each string.
    fn texts(&self, _take: &mut dyn FnMut(&str)) {}

    /// Adds the number to a sum.
    fn add_to(&self, _sum: &mut Sum) {}

    /// Returns the index of the value's group.
    fn group(&self, groups: &mut Groups) -> u32 {
        groups.of(self.scalar())
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

/// Implements the trait for lists. A list passes a test if one entry passes.
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
