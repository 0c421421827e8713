//! The groups and sums of aggregates.

use std::collections::HashMap;

use chrono::Datelike as _;

use super::value::Scalar;

/// Assigns consecutive numbers to groups.
#[derive(Debug, Default)]
pub struct Groups {
    pub(super) keys: Vec<Scalar>,
    texts: HashMap<String, u32>,
    others: HashMap<Vec<u8>, u32>,
    /// The last group found for each [`hint`], a cache in front of the maps. It is empty before the first
    /// group.
    recent: Vec<u32>,
}

/// The number of hints: large enough for few collisions, small enough for a processor's L1 cache.
const HINTS: usize = 1 << HINT_BITS;
const HINT_BITS: u32 = 12;

/// Reduces a hash to a small number that few different values share.
///
/// The hash needs no secret key: a client that provokes collisions only reaches the maps behind the cache,
/// and these use secret keys.
#[inline]
fn hint(mixed: u64) -> usize {
    (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - HINT_BITS)) as usize
}

/// Returns the hint of a string, computed from both of its ends because most strings differ there.
#[inline]
fn text_hint(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (start, end) = match (bytes.first_chunk(), bytes.last_chunk()) {
        (Some(start), Some(end)) => (u64::from_le_bytes(*start), u64::from_le_bytes(*end)),
        _ => match (bytes.first_chunk(), bytes.last_chunk()) {
            (Some(start), Some(end)) => {
                (u32::from_le_bytes(*start).into(), u32::from_le_bytes(*end).into())
            }
            _ => (bytes.iter().fold(0, |all, byte| (all << 8) | u64::from(*byte)), 0),
        },
    };
    hint(start ^ end.rotate_left(29) ^ bytes.len() as u64)
}

/// Returns the hint of any other value.
#[inline]
fn value_hint(value: &Scalar) -> usize {
    match value {
        Scalar::Int(value) => hint(*value as u64),
        Scalar::Date(date) => hint(u64::from(date.num_days_from_ce().unsigned_abs())),
        Scalar::Instant(instant) => hint(instant.timestamp_micros().unsigned_abs()),
        Scalar::Float(value) => hint(value.to_bits()),
        Scalar::Bool(value) => usize::from(*value),
        Scalar::Null
        | Scalar::Text(_)
        | Scalar::Bytes(_)
        | Scalar::RawText(_)
        | Scalar::Stored(_) => 0,
    }
}

impl Groups {
    /// Returns the number of a string's group.
    #[inline]
    pub(crate) fn of_text(&mut self, text: &str) -> u32 {
        let hint = text_hint(text);
        match self.seen(hint) {
            Some((place, Scalar::Text(key))) if key == text => place,
            _ => self.find_text(hint, text),
        }
    }

    /// Returns the number of a value's group.
    #[inline]
    pub(crate) fn of(&mut self, value: Scalar) -> u32 {
        let hint = value_hint(&value);
        match self.seen(hint) {
            Some((place, key)) if *key == value => place,
            _ => self.find(hint, value),
        }
    }

    #[inline]
    fn seen(&self, hint: usize) -> Option<(u32, &Scalar)> {
        let place = *self.recent.get(hint)?;
        Some((place, self.keys.get(place as usize)?))
    }

    fn find_text(&mut self, hint: usize, text: &str) -> u32 {
        let place = match self.texts.get(text) {
            Some(place) => *place,
            None => {
                let place = self.add(Scalar::from(text.to_owned()));
                self.texts.insert(text.to_owned(), place);
                place
            }
        };
        self.remember(hint, place);
        place
    }

    fn find(&mut self, hint: usize, value: Scalar) -> u32 {
        let key = super::cursor::pack(std::slice::from_ref(&value));
        let place = match self.others.get(&key) {
            Some(place) => *place,
            None => {
                let place = self.add(value);
                self.others.insert(key, place);
                place
            }
        };
        self.remember(hint, place);
        place
    }

    fn remember(&mut self, hint: usize, place: u32) {
        if self.recent.is_empty() {
            self.recent.resize(HINTS, u32::MAX);
        }
        if let Some(recent) = self.recent.get_mut(hint) {
            *recent = place;
        }
    }

    fn add(&mut self, key: Scalar) -> u32 {
        self.keys.push(key);
        (self.keys.len() - 1) as u32
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }
}

/// A sum with an exact result for integers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sum {
    count: u64,
    int: i128,
    float: f64,
    /// The accumulated rounding error of `float`.
    lost: f64,
    is_float: bool,
}

impl Sum {
    #[inline]
    pub(crate) fn add_int(&mut self, number: i128) {
        self.count += 1;
        self.int = self.int.saturating_add(number);
    }

    /// Adds a number with compensated summation (Neumaier).
    #[inline]
    pub(crate) fn add_float(&mut self, number: f64) {
        self.count += 1;
        self.is_float = true;
        let sum = self.float + number;
        self.lost += if self.float.abs() >= number.abs() {
            (self.float - sum) + number
        } else {
            (number - sum) + self.float
        };
        self.float = sum;
    }

    /// Returns the sum. It is not finite if it exceeds the range of floats.
    pub(super) fn total(&self) -> Scalar {
        if self.is_float {
            Scalar::Float(self.float + self.lost + 0.0)
        } else {
            Scalar::Int(self.int)
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a mean is a number with a fraction")]
    pub(super) fn mean(&self) -> Scalar {
        if self.count == 0 {
            return Scalar::Null;
        }
        let total = if self.is_float { self.float + self.lost } else { self.int as f64 };
        Scalar::Float(total / self.count as f64 + 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_compensate_rounding() {
        // REQ-AGG-02
        let of = |numbers: &[f64]| {
            let mut sum = Sum::default();
            numbers.iter().for_each(|number| sum.add_float(*number));
            sum
        };
        assert_eq!(of(&[1e16, 1.0, -1e16]).total(), Scalar::Float(1.0));
        assert_eq!(of(&[0.1; 10]).total(), Scalar::Float(1.0));
        assert_eq!(of(&[0.1; 10]).mean(), Scalar::Float(0.1));
        assert_eq!(of(&[]).total(), Scalar::Int(0));
        assert_eq!(of(&[]).mean(), Scalar::Null);
        for value in [of(&[f64::MAX, f64::MAX]).total(), of(&[f64::MAX, f64::MAX]).mean()] {
            assert!(matches!(value, Scalar::Float(value) if !value.is_finite()), "{value:?}");
        }
        let mut whole = Sum::default();
        [u64::MAX, u64::MAX, 2].iter().for_each(|number| whole.add_int((*number).into()));
        assert_eq!(whole.total(), Scalar::Int(36_893_488_147_419_103_232));
    }

    #[test]
    fn each_value_has_its_group() {
        // REQ-AGG-04
        let mut groups = Groups::default();
        let names: Vec<_> = (0..20).map(|number| number.to_string()).collect();
        for _ in 0..2 {
            for (place, name) in (0..).zip(&names) {
                assert_eq!(groups.of_text(name), place);
            }
        }
        assert_eq!(groups.of(Scalar::Null), 20);
        assert_eq!(groups.of(Scalar::Null), 20);
        let mut groups = Groups::default();
        for _ in 0..2 {
            for number in 0..20_u32 {
                assert_eq!(groups.of(Scalar::Int(number.into())), number);
            }
        }
        assert_eq!(groups.of(Scalar::Bool(true)), 20);
        assert_eq!(groups.len(), 21);
    }
    #[test]
    fn values_that_share_a_hint_have_groups_of_their_own() {
        // REQ-AGG-04
        let name = |number| format!("the same start {number:04} and the same end");
        assert_eq!(text_hint(&name(1)), text_hint(&name(2)));
        assert_eq!(text_hint(""), text_hint(""));
        let mut groups = Groups::default();
        for _ in 0..2 {
            for number in 0..20 {
                assert_eq!(groups.of_text(&name(number)), number);
            }
        }
        // Twice as many values as hints, so some values share one.
        let mut groups = Groups::default();
        for _ in 0..2 {
            for number in 0..2 * HINTS as u32 {
                assert_eq!(groups.of(Scalar::Int(number.into())), number);
            }
        }
        assert_eq!(groups.of_text("1"), 2 * HINTS as u32, "a text is no number");
    }
}
