//! Conditions on floating-point fields.
//!
//! Other programs can store numbers with more digits than the field has, or outside of its range. A condition
//! compares such a number as it is shown: rounded to the precision of the field.

use sea_query::{Alias, Expr, ExprTrait as _};

use super::condition::joined;
use super::context::Source;
use super::dialect::{Dialect, Form};
use crate::plan::Test;
use crate::value::Scalar;

impl Source {
    /// Returns the condition of a test of a floating-point field, or `None` for other fields.
    pub(super) fn float_test(&self, dialect: Dialect, test: &Test) -> Option<Expr> {
        if self.form != Form::Number || self.typed.is_some() {
            return None;
        }
        if !self.info.single {
            return self.double_test(dialect, test);
        }
        let condition = self.single_test(dialect, test)?;
        Some(match self.is_allowed(dialect) {
            Some(is_allowed) => condition.and(is_allowed),
            None => condition,
        })
    }

    /// Returns the condition of a test of a 32-bit number, as a range of the numbers in the column.
    fn single_test(&self, dialect: Dialect, test: &Test) -> Option<Expr> {
        let range = |value: &Scalar| Some(RoundingRange::of(float(value)?));
        let at_least = |bound: f64, inclusive: bool| {
            let (column, bound) = (self.column.clone(), operand(dialect, bound));
            if inclusive { column.gte(bound) } else { column.gt(bound) }
        };
        let at_most = |bound: f64, inclusive: bool| {
            let (column, bound) = (self.column.clone(), operand(dialect, bound));
            if inclusive { column.lte(bound) } else { column.lt(bound) }
        };
        let inside = |range: RoundingRange| {
            at_least(range.from, range.inclusive).and(at_most(range.to, range.inclusive))
        };
        Some(match test {
            Test::Equals(value) => inside(range(value)?),
            Test::AnyOf(values) => {
                joined(values.iter().filter_map(range).map(inside).collect(), false)
            }
            Test::Above { bound, inclusive } => {
                let range = range(bound)?;
                let start = if *inclusive { range.from } else { range.to };
                at_least(start, range.inclusive == *inclusive)
            }
            Test::Below { bound, inclusive } => {
                let range = range(bound)?;
                let end = if *inclusive { range.to } else { range.from };
                at_most(end, range.inclusive == *inclusive)
            }
            _ => return None,
        })
    }

    /// Returns the condition of a test of a 64-bit number.
    ///
    /// An index can find the first comparison. Its bound is a `numeric` in PostgreSQL, because PostgreSQL would
    /// convert each number of a `numeric` column to the type of the bound, and this conversion may fail. The
    /// second comparison is exact:
    ///
    /// ```sql
    /// "price" >= CAST('9.999999999999998e0' AS numeric) AND CAST(CASE … END AS double precision) > $2
    /// ```
    fn double_test(&self, dialect: Dialect, test: &Test) -> Option<Expr> {
        let number = self.as_double(dialect);
        let near = |bound: f64| bound.is_finite().then(|| operand(dialect, bound));
        let from = |bound: f64| near(bound.next_down()).map(|it| self.column.clone().gte(it));
        let to = |bound: f64| near(bound.next_up()).map(|it| self.column.clone().lte(it));
        let (rough, exact): (Vec<_>, _) = match test {
            Test::Equals(value) => {
                let value = float(value)?;
                (vec![from(value), to(value)], number.eq(Expr::val(value)))
            }
            Test::AnyOf(values) => {
                let values = values.iter().map(float).collect::<Option<Vec<_>>>()?;
                let least = values.iter().copied().reduce(f64::min)?;
                let largest = values.iter().copied().reduce(f64::max)?;
                let exact = number.is_in(values.into_iter().map(Expr::val));
                (vec![from(least), to(largest)], exact)
            }
            Test::Above { bound, inclusive } => {
                let bound = float(bound)?;
                let value = Expr::val(bound);
                let exact = if *inclusive { number.gte(value) } else { number.gt(value) };
                (vec![from(bound)], exact)
            }
            Test::Below { bound, inclusive } => {
                let bound = float(bound)?;
                let value = Expr::val(bound);
                let exact = if *inclusive { number.lte(value) } else { number.lt(value) };
                (vec![to(bound)], exact)
            }
            _ => return None,
        };
        Some(joined(rough.into_iter().flatten().chain([exact]).collect(), true))
    }
}

const fn float(value: &Scalar) -> Option<f64> {
    match value {
        Scalar::Float(value) => Some(*value),
        _ => None,
    }
}

/// Returns an operand that the database compares with numbers of any type without converting them.
fn operand(dialect: Dialect, number: f64) -> Expr {
    match dialect {
        Dialect::Sqlite => Expr::val(number),
        Dialect::Postgres => Expr::val(format!("{number:e}")).cast_as(Alias::new("numeric")),
    }
}

/// The numbers that round to one 32-bit number.
#[derive(Debug)]
struct RoundingRange {
    from: f64,
    to: f64,
    /// If `true`, the bounds round to the number, too. This is the case for every second number.
    inclusive: bool,
}

impl RoundingRange {
    #[expect(clippy::cast_possible_truncation, reason = "the field has 32 bits")]
    fn of(value: f64) -> Self {
        let number = value as f32;
        Self {
            from: middle(number.next_down(), number),
            to: middle(number, number.next_up()),
            inclusive: number.to_bits() & 1 == 0,
        }
    }
}

/// Returns the number in the middle between two neighbours. It is exact.
fn middle(lower: f32, upper: f32) -> f64 {
    /// The number after the largest one, if the exponent had no limit: 2¹²⁸.
    const BEYOND_RANGE: f64 = 340_282_366_920_938_463_463_374_607_431_768_211_456.0;
    let wide = |number: f32| match number.is_infinite() {
        true => BEYOND_RANGE.copysign(number.into()),
        false => number.into(),
    };
    f64::midpoint(wide(lower), wide(upper))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::RoundingRange;

    proptest! {
        #[test]
        #[expect(clippy::cast_possible_truncation, reason = "the rounding is under test")]
        fn a_range_contains_what_rounds_to_its_number(
            number in any::<f32>().prop_filter("a number", |number| number.is_finite()),
            step in -3_i64..4,
        ) {
            let number = number + 0.0;
            let range = RoundingRange::of(number.into());
            for bound in [range.from, range.to, number.into()] {
                // Numbers around the bounds. The steps may leave the range at zero.
                let other = f64::from_bits(bound.to_bits().wrapping_add_signed(step));
                prop_assume!(other.is_finite());
                let is_inside = if range.inclusive {
                    (range.from..=range.to).contains(&other)
                } else {
                    range.from < other && other < range.to
                };
                prop_assert_eq!(is_inside, other as f32 == number, "{} {:?}", other, range);
            }
        }
    }
}
