//! Holds the counters and upstream limits of an adapter as data.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::counter::{Counter, Micros};
use super::declaration::Span;

/// Tolerated difference between the clocks of processes that share a store. A clock further behind is treated as set
/// back.
const MAX_CLOCK_DIFFERENCE: Micros = 60 * 1_000_000;

/// All counters and upstream limits of an adapter. They are stored as one record, so that a call updates all of them
/// with one write:
///
/// ```json
/// { "newest": 1700000000000000, "counters": { "global:minute": { "s": [[1700000000000000, 3]] } } }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ledger {
    /// Time of the latest change.
    newest: Micros,
    counters: BTreeMap<String, LedgerEntry<Counter>>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    upstream: BTreeMap<String, LedgerEntry<Upstream>>,
    #[serde(skip)]
    damage: Damage,
}

/// Describes how much of a record is unreadable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Damage {
    #[default]
    None,
    /// Some entries are unreadable.
    Some,
    /// The record as a whole is unreadable. It is never overwritten, so that an operator can repair it.
    All,
}

/// An entry of the ledger.
///
/// An entry can be unreadable because a later version wrote it or because it was edited by hand. It is kept as it is,
/// and affects only the limits that use it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum LedgerEntry<T> {
    Known(T),
    Unreadable(Value),
}

impl<T> LedgerEntry<T> {
    fn known(&self) -> Option<&T> {
        match self {
            Self::Known(known) => Some(known),
            Self::Unreadable(_) => None,
        }
    }

    fn known_mut(&mut self) -> Option<&mut T> {
        match self {
            Self::Known(known) => Some(known),
            Self::Unreadable(_) => None,
        }
    }
}

/// The state of a limit as reported by a wrapped API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Upstream {
    /// No call is sent before this time.
    #[serde(default)]
    blocked_until: Micros,
    /// Number of calls that the API still accepts, minus those admitted since its report, and the time when the
    /// number expires.
    #[serde(default)]
    left: Option<(u64, Micros)>,
}

impl Ledger {
    /// Parses a record.
    pub(crate) fn read(text: &str) -> Self {
        let Ok(mut ledger) = serde_json::from_str::<Self>(text) else {
            return Self { damage: Damage::All, ..Self::default() };
        };
        let sound = ledger.counters.values().all(|kept| kept.known().is_some())
            && ledger.upstream.values().all(|kept| kept.known().is_some());
        ledger.damage = if sound { Damage::None } else { Damage::Some };
        ledger
    }

    /// Returns `true` if the counter or the upstream limit with this id is unreadable.
    pub(crate) fn is_unreadable(&self, id: &str) -> bool {
        match self.damage {
            Damage::None => false,
            Damage::Some => {
                self.counters.get(id).is_some_and(|kept| kept.known().is_none())
                    || self.upstream.get(id).is_some_and(|kept| kept.known().is_none())
            }
            Damage::All => true,
        }
    }

    /// Returns `true` if the record as a whole is unreadable.
    pub(crate) fn is_lost(&self) -> bool {
        self.damage == Damage::All
    }

    /// Returns the current time of the ledger. It never decreases.
    ///
    /// If `now` is earlier than the latest change, but within the tolerated clock difference, returns the time of
    /// that change. If `now` is even earlier, the clock was set back. All entries are then moved back by the same
    /// amount, so that none of them expires too early.
    pub(crate) fn time(&mut self, now: Micros) -> Micros {
        let ahead = self.newest - now;
        if ahead <= MAX_CLOCK_DIFFERENCE {
            return now.max(self.newest);
        }
        for counter in self.counters.values_mut().filter_map(LedgerEntry::known_mut) {
            counter.move_back(ahead, now);
        }
        for upstream in self.upstream.values_mut().filter_map(LedgerEntry::known_mut) {
            upstream.blocked_until -= ahead;
            if let Some((_, until)) = &mut upstream.left {
                *until -= ahead;
            }
        }
        self.newest = now;
        now
    }

    pub(crate) fn counter(&self, id: &str) -> Option<&Counter> {
        self.counters.get(id)?.known()
    }

    pub(crate) fn used(&self, id: &str, span: Span, now: Micros) -> u64 {
        self.counter(id).map_or(0, |counter| counter.used(span, now))
    }

    pub(crate) fn add(&mut self, id: &str, span: Span, now: Micros, amount: u64) {
        self.newest = self.newest.max(now);
        match self.counters.get_mut(id) {
            Some(LedgerEntry::Known(counter)) => counter.add(span, now, amount),
            // Calls that this entry would count are rejected.
            Some(LedgerEntry::Unreadable(_)) => {}
            None => {
                let mut counter = Counter::new(span);
                counter.add(span, now, amount);
                self.counters.insert(id.to_owned(), LedgerEntry::Known(counter));
            }
        }
    }

    /// Subtracts an amount added at the time `at`. Returns `true` if it was still counted.
    pub(crate) fn subtract(&mut self, id: &str, span: Span, at: Micros, amount: u64) -> bool {
        let counter = self.counters.get_mut(id).and_then(LedgerEntry::known_mut);
        counter.is_some_and(|counter| counter.subtract(span, at, amount))
    }

    fn upstream(&self, id: &str) -> Option<&Upstream> {
        self.upstream.get(id)?.known()
    }

    fn upstream_mut(&mut self, id: &str) -> Option<&mut Upstream> {
        let kept = self.upstream.entry(id.to_owned());
        kept.or_insert_with(|| LedgerEntry::Known(Upstream::default())).known_mut()
    }

    /// Returns the time before which no call may be sent, or `None` if calls are not blocked.
    pub(crate) fn blocked_until(&self, id: &str, now: Micros) -> Option<Micros> {
        let upstream = self.upstream(id)?;
        let spent = upstream.left.filter(|(left, _)| *left == 0).map(|(_, until)| until);
        spent.into_iter().chain([upstream.blocked_until]).filter(|until| *until > now).max()
    }

    /// Returns the number of calls that the API still accepts, or `None` if it has not reported one.
    pub(crate) fn remaining(&self, id: &str, now: Micros) -> Option<u64> {
        self.upstream(id)?.left.filter(|(_, until)| *until > now).map(|(left, _)| left)
    }

    /// Subtracts one call from the number of calls that the API still accepts.
    pub(crate) fn subtract_remaining_call(&mut self, id: &str) {
        let upstream = self.upstream.get_mut(id).and_then(LedgerEntry::known_mut);
        if let Some((left, _)) = upstream.and_then(|it| it.left.as_mut()) {
            *left = left.saturating_sub(1);
        }
    }

    /// Records that the API accepts no calls before the time `until`.
    pub(crate) fn block(&mut self, id: &str, now: Micros, until: Micros) {
        self.newest = self.newest.max(now);
        if let Some(upstream) = self.upstream_mut(id) {
            upstream.blocked_until = upstream.blocked_until.max(until);
        }
    }

    /// Records the number of calls that the API accepts until it resets the limit, or until the number expires.
    pub(crate) fn record_remaining(
        &mut self,
        id: &str,
        now: Micros,
        left: u64,
        until: Micros,
        reset: bool,
    ) {
        /// Tolerated difference between two reset times, because responses arrive late and seconds are rounded.
        const RESET_TOLERANCE: Micros = 2_000_000;
        self.newest = self.newest.max(now);
        let Some(upstream) = self.upstream_mut(id) else { return };
        // Calls in progress are subtracted here, but the API has not counted them yet. Within one window of the API,
        // the smaller number is therefore more accurate.
        let left = match upstream.left {
            Some((known, end)) if reset && end > now && until <= end + RESET_TOLERANCE => {
                known.min(left)
            }
            _ => left,
        };
        upstream.left = Some((left, until));
    }

    /// Removes entries that do not affect any decision after `now`.
    pub(crate) fn remove_expired(&mut self, now: Micros) {
        self.counters
            .retain(|_, kept| kept.known().is_none_or(|counter| !counter.is_empty_from(now)));
        self.upstream.retain(|_, kept| {
            kept.known().is_none_or(|upstream| {
                upstream.blocked_until > now || upstream.left.is_some_and(|(_, until)| until > now)
            })
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate_limits::declaration::Window;

    const SECOND: Micros = 1_000_000;
    const HOUR: Span = Span::Sliding(Window::Hour);

    #[test]
    fn time_stands_still_for_a_clock_that_is_a_little_behind() {
        let mut ledger = Ledger::default();
        ledger.add("a", HOUR, 1_000 * SECOND, 1);
        assert_eq!(ledger.time(990 * SECOND), 1_000 * SECOND);
        assert_eq!(ledger.time(1_010 * SECOND), 1_010 * SECOND);
    }

    #[test]
    fn a_clock_that_was_set_back_takes_along_what_was_counted() {
        // REQ-RATE-01
        let mut ledger = Ledger::default();
        ledger.add("a", HOUR, 90_000 * SECOND, 1);
        ledger.add("a", HOUR, 90_100 * SECOND, 1);
        ledger.block("a", 90_100 * SECOND, 90_130 * SECOND);
        assert_eq!(ledger.time(50_000 * SECOND), 50_000 * SECOND);
        assert_eq!(ledger.used("a", HOUR, 50_000 * SECOND), 2);
        assert_eq!(ledger.used("a", HOUR, 53_500 * SECOND), 1);
        assert_eq!(ledger.used("a", HOUR, 53_600 * SECOND), 0);
        assert_eq!(ledger.blocked_until("a", 50_000 * SECOND), Some(50_030 * SECOND));
    }

    #[test]
    fn what_an_api_says_holds_until_it_says_otherwise() {
        // REQ-RATE-09
        let mut ledger = Ledger::default();
        ledger.record_remaining("a", 0, 5, 60 * SECOND, true);
        ledger.subtract_remaining_call("a");
        assert_eq!(ledger.remaining("a", 0), Some(4));
        // This response belongs to an earlier call.
        ledger.record_remaining("a", SECOND, 5, 60 * SECOND, true);
        assert_eq!(ledger.remaining("a", SECOND), Some(4));
        ledger.record_remaining("a", SECOND, 9, 120 * SECOND, true);
        assert_eq!(ledger.remaining("a", SECOND), Some(9));
        ledger.record_remaining("a", SECOND, 0, 120 * SECOND, true);
        assert_eq!(ledger.blocked_until("a", SECOND), Some(120 * SECOND));
        assert_eq!(ledger.blocked_until("a", 120 * SECOND), None);
        ledger.remove_expired(120 * SECOND);
        assert_eq!(ledger, Ledger { newest: SECOND, ..Ledger::default() });
    }

    #[test]
    fn what_is_kept_is_read_again() {
        let mut ledger = Ledger::default();
        ledger.add("global:hour", HOUR, 7 * SECOND, 3);
        ledger.add("cost_per_month", Span::Month, 7 * SECOND, 5);
        ledger.block("global:hour", 7 * SECOND, 9 * SECOND);
        let text = serde_json::to_string(&ledger).unwrap();
        assert_eq!(Ledger::read(&text), ledger);
        assert!(!ledger.is_unreadable("global:hour"));
    }

    #[test]
    fn what_cannot_be_read_stays_as_it_is_and_is_told() {
        // REQ-RATE-01
        let text = r#"{"newest":7,"counters":{"a":{"s":[[7,1]]},"b":{"z":[]}},"upstream":{"c":5}}"#;
        let mut ledger = Ledger::read(text);
        for (id, unreadable) in [("a", false), ("b", true), ("c", true), ("d", false)] {
            assert_eq!(ledger.is_unreadable(id), unreadable, "{id}");
        }
        ledger.add("b", HOUR, 8, 1);
        ledger.block("c", 8, 9);
        ledger.record_remaining("c", 8, 1, 9, true);
        ledger.remove_expired(8);
        ledger.time(-90 * SECOND);
        let kept = serde_json::to_value(&ledger).unwrap();
        assert_eq!(kept["counters"]["b"], serde_json::json!({ "z": [] }));
        assert_eq!(kept["upstream"]["c"], 5);
        assert!(Ledger::read("[]").is_unreadable("a") && Ledger::read("[]").is_lost());
    }
}
