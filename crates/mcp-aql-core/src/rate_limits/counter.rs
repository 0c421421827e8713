//! Counts amounts in sliding windows and calendar months.

use std::collections::VecDeque;

use chrono::{DateTime, Datelike as _, NaiveDate, Utc};
use serde::{Deserialize, Serialize};

use super::declaration::{Span, Window};

/// A point in time, in microseconds since 1970.
pub(crate) type Micros = i64;

/// Number of parts of a window. Amounts are stored per part instead of per call, so that a counter stays small.
///
/// All amounts of a part leave the window together, when the last of them does. The count in a window is therefore
/// never too low, and a call waits at most a sixtieth of the window longer than necessary.
const WINDOW_PARTS: i64 = 60;

/// The amount used in a time span. A counter of 3 in a sliding window is stored as:
///
/// ```json
/// { "s": [[1700000000000000, 3]] }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Counter {
    /// The time of the last amount and the sum of all amounts, for each part of the window.
    #[serde(rename = "s")]
    Sliding(VecDeque<(Micros, u64)>),
    /// The month, counted from the year 0, and the sum of its amounts.
    #[serde(rename = "m")]
    Month(i32, u64),
}

impl Counter {
    pub(crate) fn new(span: Span) -> Self {
        match span {
            Span::Sliding(_) => Self::Sliding(VecDeque::new()),
            Span::Month => Self::Month(0, 0),
        }
    }

    /// Returns the amount used in the span that ends now. A counter of the other variant counts as empty. It comes
    /// from an earlier configuration.
    pub(crate) fn used(&self, span: Span, now: Micros) -> u64 {
        match (self, span) {
            (Self::Sliding(parts), Span::Sliding(window)) => {
                counting(parts, window, now).fold(0, |sum, (_, count)| sum.saturating_add(*count))
            }
            (Self::Month(month, used), Span::Month) if *month == month_of(now) => *used,
            _ => 0,
        }
    }

    pub(crate) fn add(&mut self, span: Span, now: Micros, amount: u64) {
        match (&mut *self, span) {
            (Self::Sliding(parts), Span::Sliding(window)) => {
                let gone = parts.len() - counting(parts, window, now).count();
                parts.drain(..gone);
                let width = window.micros() / WINDOW_PARTS;
                match parts.back_mut() {
                    Some((last, count)) if last.div_euclid(width) == now.div_euclid(width) => {
                        *last = now;
                        *count = count.saturating_add(amount);
                    }
                    _ => parts.push_back((now, amount)),
                }
            }
            (Self::Month(month, used), Span::Month) => {
                let this = month_of(now);
                let before = if *month == this { *used } else { 0 };
                (*month, *used) = (this, before.saturating_add(amount));
            }
            _ => {
                *self = Self::new(span);
                self.add(span, now, amount);
            }
        }
    }

    /// Subtracts an amount added at the time `at`. Returns `true` if it was still counted.
    ///
    /// The part keeps its end even if the subtracted amount was its last one, so the count stays on the safe side.
    pub(crate) fn subtract(&mut self, span: Span, at: Micros, amount: u64) -> bool {
        match (&mut *self, span) {
            (Self::Sliding(parts), Span::Sliding(window)) => {
                let width = window.micros() / WINDOW_PARTS;
                let same =
                    |(last, _): &(Micros, u64)| last.div_euclid(width) == at.div_euclid(width);
                let Some(place) = parts.iter().position(same) else { return false };
                match parts.get_mut(place) {
                    Some((_, count)) if *count > amount => *count -= amount,
                    _ => drop(parts.remove(place)),
                }
                true
            }
            (Self::Month(month, used), Span::Month) if *month == month_of(at) => {
                *used = used.saturating_sub(amount);
                true
            }
            _ => false,
        }
    }

    /// Returns when the used amount will have fallen to `maximum` if nothing is added.
    pub(crate) fn time_at_most(&self, maximum: u64, span: Span, now: Micros) -> Micros {
        let mut used = self.used(span, now);
        match (self, span) {
            _ if used <= maximum => now,
            (Self::Sliding(parts), Span::Sliding(window)) => {
                for (last, count) in counting(parts, window, now) {
                    used = used.saturating_sub(*count);
                    if used <= maximum {
                        return last + window.micros();
                    }
                }
                now + window.micros()
            }
            _ => end_of_month(month_of(now)),
        }
    }

    /// Returns when the used amount will decrease next, or `None` if it is 0.
    pub(crate) fn next_decrease(&self, span: Span, now: Micros) -> Option<Micros> {
        let used = self.used(span, now);
        (used > 0).then(|| self.time_at_most(used - 1, span, now))
    }

    /// Moves all amounts back in time, because the clock was set back. `now` is the new time.
    pub(crate) fn move_back(&mut self, by: Micros, now: Micros) {
        match self {
            Self::Sliding(parts) => parts.iter_mut().for_each(|(last, _)| *last -= by),
            Self::Month(month, _) => *month = (*month).min(month_of(now)),
        }
    }

    /// Returns `true` if the counter is empty at `now` and later.
    pub(crate) fn is_empty_from(&self, now: Micros) -> bool {
        match self {
            Self::Sliding(parts) => {
                parts.back().is_none_or(|(last, _)| last + Window::Day.micros() <= now)
            }
            Self::Month(month, _) => *month < month_of(now),
        }
    }
}

/// Returns the parts that still count in the window that ends now.
fn counting(
    parts: &VecDeque<(Micros, u64)>,
    window: Window,
    now: Micros,
) -> impl Iterator<Item = &(Micros, u64)> {
    parts.iter().skip_while(move |(last, _)| last + window.micros() <= now)
}

fn month_of(now: Micros) -> i32 {
    let date = instant(now).date_naive();
    // `month0` is at most 11.
    date.year() * 12 + i32::try_from(date.month0()).unwrap_or_default()
}

fn end_of_month(month: i32) -> Micros {
    let next = month + 1;
    let number = u32::try_from(next.rem_euclid(12)).unwrap_or_default() + 1;
    NaiveDate::from_ymd_opt(next.div_euclid(12), number, 1)
        .and_then(|date| date.and_hms_opt(0, 0, 0))
        .map_or(Micros::MAX, |start| start.and_utc().timestamp_micros())
}

/// Converts a point in time to `DateTime`.
pub(crate) fn instant(at: Micros) -> DateTime<Utc> {
    DateTime::from_timestamp_micros(at).unwrap_or(DateTime::<Utc>::MAX_UTC)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: Micros = 1_000_000;
    const MINUTE: Span = Span::Sliding(Window::Minute);

    fn at(text: &str) -> Micros {
        text.parse::<DateTime<Utc>>().unwrap().timestamp_micros()
    }

    #[test]
    fn what_was_counted_leaves_the_window_after_its_length() {
        let mut counter = Counter::new(MINUTE);
        counter.add(MINUTE, 0, 1);
        counter.add(MINUTE, 10 * SECOND, 2);
        assert_eq!(counter.used(MINUTE, 60 * SECOND - 1), 3);
        assert_eq!(counter.used(MINUTE, 60 * SECOND), 2);
        assert_eq!(counter.time_at_most(2, MINUTE, 20 * SECOND), 60 * SECOND);
        assert_eq!(counter.time_at_most(1, MINUTE, 20 * SECOND), 70 * SECOND);
        assert_eq!(counter.time_at_most(3, MINUTE, 20 * SECOND), 20 * SECOND);
        assert_eq!(counter.next_decrease(MINUTE, 70 * SECOND), None);
    }

    #[test]
    fn calls_of_one_part_leave_with_its_last() {
        let mut counter = Counter::new(MINUTE);
        counter.add(MINUTE, 0, 1);
        counter.add(MINUTE, SECOND - 1, 1);
        assert_eq!(counter.used(MINUTE, 60 * SECOND), 2);
        assert_eq!(counter.used(MINUTE, 61 * SECOND - 1), 0);
    }

    #[test]
    fn months_are_those_of_the_calendar() {
        // REQ-RATE-05
        let mut counter = Counter::new(Span::Month);
        counter.add(Span::Month, at("2031-12-31T23:59:59Z"), 7);
        assert_eq!(counter.used(Span::Month, at("2031-12-01T00:00:00Z")), 7);
        assert_eq!(counter.used(Span::Month, at("2032-01-01T00:00:00Z")), 0);
        let resets = counter.time_at_most(6, Span::Month, at("2031-12-31T23:59:59Z"));
        assert_eq!(resets, at("2032-01-01T00:00:00Z"));
        assert!(counter.is_empty_from(resets));
        counter.add(Span::Month, resets, 1);
        counter.move_back(SECOND, at("2031-12-31T23:59:59Z"));
        assert_eq!(counter.used(Span::Month, at("2031-12-31T23:59:59Z")), 1);
    }

    #[test]
    fn what_is_taken_back_was_never_there() {
        // REQ-RATE-01
        let mut counter = Counter::new(MINUTE);
        counter.add(MINUTE, 0, 1);
        counter.add(MINUTE, 10 * SECOND, 2);
        assert!(counter.subtract(MINUTE, 10 * SECOND + 5, 1), "of the same part");
        assert_eq!(counter.used(MINUTE, 10 * SECOND), 2);
        assert!(counter.subtract(MINUTE, 0, 1));
        assert_eq!(counter.time_at_most(0, MINUTE, 10 * SECOND), 70 * SECOND);
        assert!(!counter.subtract(MINUTE, 0, 1), "it is gone already");
        assert!(!counter.subtract(Span::Month, 0, 1));
        assert_eq!(counter.used(MINUTE, 10 * SECOND), 1);
        let mut counter = Counter::new(Span::Month);
        counter.add(Span::Month, at("2031-12-31T23:59:59Z"), 7);
        assert!(counter.subtract(Span::Month, at("2031-12-01T00:00:00Z"), 3));
        assert!(!counter.subtract(Span::Month, at("2031-11-30T00:00:00Z"), 3));
        assert_eq!(counter.used(Span::Month, at("2031-12-31T23:59:59Z")), 4);
    }

    proptest! {
        /// Compares the counter with a list of all calls. The counter must never be lower than the amount in the
        /// window, must not count an amount that left the window more than a part ago, and must store few parts.
        #[test]
        fn a_counter_is_exact_to_a_part(
            steps in proptest::collection::vec((0..3 * SECOND, 1..5_u64), 1..400),
        ) {
            let mut counter = Counter::new(MINUTE);
            let mut calls = Vec::new();
            let mut now = 0;
            for (wait, amount) in steps {
                now += wait;
                counter.add(MINUTE, now, amount);
                calls.push((now, amount));
                let later = now + wait;
                let since = |oldest: Micros| {
                    calls.iter().filter(|(at, _)| *at > oldest).map(|(_, amount)| amount).sum()
                };
                let (least, maximum): (u64, u64) =
                    (since(later - 60 * SECOND), since(later - 61 * SECOND));
                let used = counter.used(MINUTE, later);
                prop_assert!(least <= used && used <= maximum, "{least} <= {used} <= {maximum}");
                let Counter::Sliding(parts) = &counter else { unreachable!() };
                prop_assert!(parts.len() <= 61);
            }
        }
    }
}
