//! Derives the constraints of parameters from the types and CHECK constraints of columns.
//!
//! ```text
//! CHECK (priority BETWEEN 1 AND 5) → #[param(minimum = 1, maximum = 5)]
//! ```

use serde_json::Value as Json;

use crate::expression::{Check, Rule};
use crate::table::{Column, ColumnKind};

/// Returns the constraints of a column: its checks and the length of its type.
///
/// A check that lists consecutive integers becomes a minimum and a maximum. If no value can satisfy the checks, all of
/// them are omitted.
pub(crate) fn of_column(column: &Column, rules: &[Check]) -> Vec<Check> {
    let length = match column.kind {
        ColumnKind::Text { max_length: Some(length) } => {
            Some(Check { column: column.name.clone(), rule: Rule::MaxLength(length) })
        }
        _ => None,
    };
    let mut all: Vec<_> = length.into_iter().collect();
    for check in rules {
        let rules = match &check.rule {
            Rule::OneNumberOf(numbers) => bounds(&column.kind, numbers),
            _ => None,
        };
        let rules = rules.map_or_else(|| vec![check.rule.clone()], Vec::from);
        all.extend(rules.into_iter().map(|rule| Check { column: column.name.clone(), rule }));
    }
    if is_possible(&column.kind, &all) { all } else { Vec::new() }
}

/// Returns the bounds of a column whose values are these numbers, such as 0 and 1 for a flag. Returns `None` if the
/// numbers have a gap.
#[expect(clippy::cast_precision_loss, reason = "larger bounds are left out")]
fn bounds(kind: &ColumnKind, numbers: &[i128]) -> Option<[Rule; 2]> {
    let (least, most) = (*numbers.first()?, *numbers.last()?);
    let has_all = usize::try_from(most.checked_sub(least)?).ok()? == numbers.len() - 1;
    // A fractional column could contain a number between two integers.
    (has_all && matches!(kind, ColumnKind::Integer(_))).then_some([
        Rule::Minimum { bound: least as f64, is_strict: false },
        Rule::Maximum { bound: most as f64, is_strict: false },
    ])
}

/// Returns `true` if the type or a constraint of the field expresses a check of its column.
pub(crate) fn express(kind: &ColumnKind, rule: &Rule) -> bool {
    match rule {
        Rule::Minimum { bound, is_strict } => limit(kind, *bound, *is_strict, 1).is_some(),
        Rule::Maximum { bound, is_strict } => limit(kind, *bound, *is_strict, -1).is_some(),
        Rule::MinLength(_) | Rule::MaxLength(_) | Rule::OneOf(_) => {
            matches!(kind, ColumnKind::Text { .. })
        }
        Rule::OneNumberOf(numbers) => {
            *kind == ColumnKind::Boolean || bounds(kind, numbers).is_some()
        }
    }
}

/// Returns `true` if a default satisfies the checks.
#[expect(clippy::cast_precision_loss, clippy::float_cmp, reason = "the database compares again")]
pub(crate) fn allow(value: &Json, rules: &[Check]) -> bool {
    let number = match value {
        Json::String(text) => text.parse().ok(),
        other => other.as_f64(),
    };
    let length = value.as_str().and_then(|text| u32::try_from(text.chars().count()).ok());
    rules.iter().all(|Check { rule, .. }| match rule {
        Rule::Minimum { bound, is_strict } => {
            number.is_none_or(|number: f64| number > *bound || !is_strict && number >= *bound)
        }
        Rule::Maximum { bound, is_strict } => {
            number.is_none_or(|number: f64| number < *bound || !is_strict && number <= *bound)
        }
        Rule::MinLength(least) => length.is_none_or(|length| length >= *least),
        Rule::MaxLength(most) => length.is_none_or(|length| length <= *most),
        // These numbers have a gap. Numbers without a gap have become bounds.
        Rule::OneNumberOf(numbers) => {
            number.is_none_or(|number| numbers.iter().any(|known| *known as f64 == number))
        }
        Rule::OneOf(_) => true,
    })
}

/// Returns `true` if any value satisfies the options derived from the checks.
fn is_possible(kind: &ColumnKind, rules: &[Check]) -> bool {
    let (mut least, mut most) = (f64::NEG_INFINITY, f64::INFINITY);
    for Check { rule, .. } in rules {
        match param(kind, rule).map(|(name, bound)| (name, bound.parse::<f64>())) {
            Some(("minimum" | "min_length", Ok(bound))) => least = least.max(bound),
            Some(("maximum" | "max_length", Ok(bound))) => most = most.min(bound),
            _ => {}
        }
    }
    least <= most
}

/// Returns the name and the value of the option for a check.
fn param(kind: &ColumnKind, rule: &Rule) -> Option<(&'static str, String)> {
    let is_text = matches!(kind, ColumnKind::Text { .. });
    Some(match *rule {
        Rule::MinLength(length) if is_text => ("min_length", length.to_string()),
        Rule::MaxLength(length) if is_text => ("max_length", length.to_string()),
        Rule::Minimum { bound, is_strict } => ("minimum", limit(kind, bound, is_strict, 1)?),
        Rule::Maximum { bound, is_strict } => ("maximum", limit(kind, bound, is_strict, -1)?),
        _ => return None,
    })
}

/// Returns the options of `#[param(…)]` for the type and the checks of a column.
pub(crate) fn params(
    kind: &ColumnKind,
    variants: &[(String, String)],
    rules: &[Check],
) -> Vec<String> {
    let mut params = Vec::new();
    if !variants.is_empty() {
        return params;
    }
    for (name, bound) in rules.iter().filter_map(|check| param(kind, &check.rule)) {
        // The check is at least as strict as the type, so it replaces the option.
        params.retain(|known: &String| !known.starts_with(name));
        params.push(format!("{name} = {bound}"));
    }
    params
}

/// Returns the inclusive bound of a number, if there is one. `step` is 1 for a minimum and -1 for a maximum, and moves
/// a strict bound inwards.
fn limit(kind: &ColumnKind, bound: f64, is_strict: bool, step: i64) -> Option<String> {
    /// The largest integer that every program represents exactly: 2⁵³ − 1.
    const LARGEST: f64 = 9_007_199_254_740_991.0;
    if bound.abs() > LARGEST {
        return None;
    }
    match kind {
        ColumnKind::Integer(bytes) => {
            let whole = if step > 0 { bound.ceil() } else { bound.floor() };
            #[expect(clippy::cast_possible_truncation, reason = "it is whole and small")]
            let mut limit = whole as i64;
            #[expect(clippy::float_cmp, reason = "both are exact")]
            if is_strict && whole == bound {
                limit += step;
            }
            let fits = match bytes {
                2 => i16::try_from(limit).is_ok(),
                4 => i32::try_from(limit).is_ok(),
                _ => true,
            };
            fits.then(|| limit.to_string())
        }
        // The option cannot express a strict bound of a fraction. The database itself rejects the bound.
        ColumnKind::Number(_) => Some(format!("{bound:?}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{allow, of_column, params};
    use crate::expression::checks;
    use crate::table::{Column, ColumnKind};

    fn column(kind: ColumnKind) -> Column {
        Column {
            name: "n".to_owned(),
            kind,
            is_nullable: true,
            default: None,
            is_numbered: false,
            is_generated: false,
            comment: None,
            note: None,
            numeric_type: None,
        }
    }

    #[test]
    fn bounds_that_no_number_satisfies_are_left_out() {
        let (whole, fraction) = (ColumnKind::Integer(4), ColumnKind::Number(8));
        for (kind, sql, expected) in [
            (&whole, "n > 5 AND n < 7", &["minimum = 6", "maximum = 6"][..]),
            (&whole, "n > 5 AND n < 6", &[]),
            (&whole, "n >= 0.5 AND n <= 0.7", &[]),
            (&fraction, "n >= 0.5 AND n <= 0.7", &["minimum = 0.5", "maximum = 0.7"]),
            (&fraction, "n > 0.7 AND n < 0.5", &[]),
            // The length of a number does not limit the number.
            (&whole, "n < 2 AND length(n) > 2", &["maximum = 1"]),
        ] {
            let rules = of_column(&column(kind.clone()), &checks(sql).unwrap());
            assert_eq!(params(kind, &[], &rules), expected, "{sql}");
        }
    }

    #[test]
    fn a_default_is_among_the_numbers_of_its_check() {
        for (kind, sql, allowed, refused) in [
            (ColumnKind::Integer(8), "n IN (9223372036854775808, 1)", json!(1), json!(3)),
            (ColumnKind::Integer(8), "n IN (1, 2, 5)", json!("5"), json!("3")),
            (ColumnKind::Number(8), "n IN (0, 1)", json!(1.0), json!(0.5)),
        ] {
            let rules = of_column(&column(kind), &checks(sql).unwrap());
            assert!(allow(&allowed, &rules), "{sql}");
            assert!(!allow(&refused, &rules), "{sql}");
        }
    }
}
