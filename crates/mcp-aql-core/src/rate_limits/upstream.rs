//! Reads the limits that a wrapped API reports in the headers of its responses.

use std::time::{SystemTime, UNIX_EPOCH};

use chrono::DateTime;

use super::counter::Micros;

const SECOND: Micros = 1_000_000;
/// Maximum time for which one response blocks calls.
const MAX_BLOCK_MICROS: Micros = 86_400 * SECOND;

/// Returns the value of a header. Names are compared case-insensitively.
pub(crate) fn header<'a>(headers: &[(&str, &'a str)], name: &str) -> Option<&'a str> {
    let found = headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.trim())
}

/// Returns the time in `Retry-After`. The value is a number of seconds from now, or a date (RFC 9110).
pub(crate) fn retry_after(headers: &[(&str, &str)], now: Micros) -> Option<Micros> {
    let value = header(headers, "retry-after")?;
    let at = match value.parse::<Micros>() {
        Ok(seconds) => now.saturating_add(seconds.max(0).saturating_mul(SECOND)),
        Err(_) => date(value)?,
    };
    Some(bounded(at, now))
}

/// Returns the time in a reset header. APIs send seconds from now, seconds or milliseconds since 1970, or a date:
///
/// ```text
/// 30               30 seconds from now
/// 1935817230       seconds since 1970
/// 1935817230000    milliseconds since 1970
/// ```
pub(crate) fn reset(value: &str, now: Micros) -> Option<Micros> {
    // Smaller numbers are durations: a window of 30 years is as implausible as a clock in the 1970s.
    const SINCE_1970: f64 = 1e9;
    const IN_MILLISECONDS: f64 = 1e11;
    let at = match value.parse::<f64>() {
        Ok(number) if !number.is_finite() || number < 0.0 => return None,
        Ok(number) if number >= IN_MILLISECONDS => (number * 1e3).ceil() as Micros,
        Ok(number) if number >= SINCE_1970 => (number * 1e6).ceil() as Micros,
        Ok(number) => now.saturating_add((number * 1e6).ceil() as Micros),
        Err(_) => date(value)?,
    };
    Some(bounded(at, now))
}

/// Returns the number of remaining calls in a header.
pub(crate) fn remaining(value: &str) -> Option<u64> {
    let number = value.parse::<f64>().ok()?;
    // Some APIs send fractions or negative numbers.
    number.is_finite().then(|| number.max(0.0).floor() as u64)
}

fn bounded(at: Micros, now: Micros) -> Micros {
    at.clamp(now, now.saturating_add(MAX_BLOCK_MICROS))
}

fn date(text: &str) -> Option<Micros> {
    if let Ok(date) = httpdate::parse_http_date(text) {
        return micros(date);
    }
    DateTime::parse_from_rfc3339(text).ok().map(|date| date.timestamp_micros())
}

fn micros(at: SystemTime) -> Option<Micros> {
    Micros::try_from(at.duration_since(UNIX_EPOCH).ok()?.as_micros()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2031-05-06T07:00:00Z
    const NOW: Micros = 1_935_817_200 * SECOND;

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        // REQ-RATE-09
        for (value, expected) in [
            ("12", Some(NOW + 12 * SECOND)),
            ("0", Some(NOW)),
            ("-5", Some(NOW)),
            ("Tue, 06 May 2031 07:00:30 GMT", Some(NOW + 30 * SECOND)),
            ("Tuesday, 06-May-31 07:00:30 GMT", Some(NOW + 30 * SECOND)),
            ("Tue May  6 07:00:30 2031", Some(NOW + 30 * SECOND)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(NOW)),
            ("99999999999999999", Some(NOW + MAX_BLOCK_MICROS)),
            ("soon", None),
        ] {
            assert_eq!(retry_after(&[("Retry-AFTER", value)], NOW), expected, "{value}");
        }
        assert_eq!(retry_after(&[("x", "12")], NOW), None);
    }

    #[test]
    fn resets_come_in_many_forms() {
        // REQ-RATE-09
        for (value, expected) in [
            ("30", Some(NOW + 30 * SECOND)),
            ("0.5", Some(NOW + SECOND / 2)),
            ("1935817230", Some(NOW + 30 * SECOND)),
            ("1935817230000", Some(NOW + 30 * SECOND)),
            ("2031-05-06T07:00:30Z", Some(NOW + 30 * SECOND)),
            ("Tue, 06 May 2031 07:00:30 GMT", Some(NOW + 30 * SECOND)),
            ("NaN", None),
            ("-1", None),
            ("later", None),
        ] {
            assert_eq!(reset(value, NOW), expected, "{value}");
        }
        for (value, expected) in
            [("7", Some(7)), ("7.9", Some(7)), ("-1", Some(0)), ("inf", None), ("many", None)]
        {
            assert_eq!(remaining(value), expected, "{value}");
        }
    }
}
