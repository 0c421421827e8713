//! Implementations of [`ColumnValue`] for scalar types.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::rc::Rc;
use std::sync::Arc;

use chrono::{DateTime, NaiveDate, TimeZone, Utc};
use mcp_aql_core::internal::schema::unsupported_instant;

use super::values::ColumnValue;
use crate::capture::{float, widened};
use crate::grouping::{Groups, Sum};
use crate::value::{Scalar, ValueKind};

/// The number of operands up to which linear search is faster than binary search.
const MAX_LINEAR_SEARCH: usize = 8;

/// Returns `true` if one of the sorted operands is equal.
#[inline]
fn among<O: Copy>(sorted: &[O], order: impl Fn(O) -> Ordering) -> bool {
    if sorted.len() <= MAX_LINEAR_SEARCH {
        sorted.iter().any(|operand| order(*operand).is_eq())
    } else {
        sorted.binary_search_by(|operand| order(*operand)).is_ok()
    }
}

/// Implements the trait for types compared by value, such as integers and dates.
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

/// Implements the trait for floats. As in JSON, NaN and infinities are missing values.
macro_rules! floats {
    ($($ty:ty: |$number:ident| $operand:expr, $scalar:expr;)*) => {
        $(impl ColumnValue for $ty {
            const KIND: ValueKind = ValueKind::Number;
            const OPTIONAL: bool = false;

            fn is_there(&self) -> bool {
                self.is_finite()
            }

            type Operand<'a> = $ty;

            #[inline]
            fn operand(scalar: &Scalar) -> Option<$ty> {
                match scalar {
                    Scalar::Float($number) => Some($operand),
                    _ => None,
                }
            }

            #[inline]
            fn is(&self, bound: $ty, wanted: impl Fn(Ordering) -> bool) -> bool {
                self.is_finite() && wanted((*self + 0.0).total_cmp(&bound))
            }

            #[inline]
            fn is_one_of(&self, sorted: &[$ty]) -> bool {
                let value = *self + 0.0;
                value.is_finite() && among(sorted, |operand| operand.total_cmp(&value))
            }

            #[inline]
            fn order(&self, other: &Self) -> Ordering {
                (*self + 0.0).total_cmp(&(*other + 0.0))
            }

            fn scalar(&self) -> Scalar {
                let $number = *self;
                float($scalar)
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

floats! {
    // Compared as the `f32` shown in replies, so that a request that repeats 0.1 finds the same number.
    f32: |number| *number as f32, widened(number);
    f64: |number| *number, number;
}

/// Implements the trait for string types.
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
                if sorted.len() <= MAX_LINEAR_SEARCH {
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

/// Parses an RFC 3339 instant with any UTC offset. Only the instants that callers can write are accepted.
pub(crate) fn instant_of(text: &str) -> Option<DateTime<Utc>> {
    let instant = DateTime::parse_from_rfc3339(text).ok()?.to_utc();
    unsupported_instant(&instant).is_none().then_some(instant)
}
