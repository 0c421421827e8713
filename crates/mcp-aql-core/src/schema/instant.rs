//! The instants that callers can send.

use chrono::{DateTime, Datelike as _, Timelike as _, Utc};

/// Returns the reason why an instant is not accepted although its string is valid RFC 3339.
///
/// Every store must be able to hold and to sort an accepted instant. Stores keep instants in UTC, the format has four
/// digits for the year, and databases do not know leap seconds.
pub fn unsupported_instant(instant: &DateTime<Utc>) -> Option<&'static str> {
    const SECOND_NANOSECONDS: u32 = 1_000_000_000;
    // `chrono` represents a leap second by more nanoseconds than a second has.
    if instant.nanosecond() >= SECOND_NANOSECONDS {
        return Some("must not be in a leap second: seconds go from 00 to 59");
    }
    let is_in_range = (0..10_000).contains(&instant.year());
    (!is_in_range).then_some("must be from 0000-01-01T00:00:00Z to 9999-12-31T23:59:59.999999999Z")
}
