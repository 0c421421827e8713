//! Validates calendar dates.

/// The message for a date that does not exist. An example follows it.
pub(crate) const NO_DAY: &str = "is not a valid date: write one in the form";

/// Returns `true` if `text` is an existing date in the form `YYYY-MM-DD`.
pub(crate) fn is_date(text: &str) -> bool {
    let mut parts = text.split('-');
    let mut part = |width: usize| {
        let digits = parts.next()?;
        let plain = digits.len() == width && digits.bytes().all(|byte| byte.is_ascii_digit());
        if plain { digits.parse::<u32>().ok() } else { None }
    };
    let (Some(year), Some(month), Some(day)) = (part(4), part(2), part(2)) else {
        return false;
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return false,
    };
    parts.next().is_none() && (1..=days).contains(&day)
}

#[cfg(test)]
mod tests {
    use super::is_date;

    #[test]
    fn only_days_that_exist_are_dates() {
        for (text, expected) in [
            ("2031-05-06", true),
            ("2028-02-29", true),
            ("2031-02-29", false),
            ("2031-13-01", false),
            ("2031-5-6", false),
            ("2031-05-06-07", false),
            ("next year", false),
            ("", false),
        ] {
            assert_eq!(is_date(text), expected, "{text}");
        }
    }
}
