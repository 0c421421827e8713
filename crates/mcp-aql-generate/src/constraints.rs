//! The constraints of parameters, from the types and checks of columns.

use serde_json::Value as Json;

use crate::expression::{Check, Rule};
use crate::table::{Column, ColumnKind};

/// Adds the length of the column's type to its checks, and makes bounds of whole numbers without a gap. Checks that no
/// value satisfies are left out.
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
    if is_possible(&all) { all } else { Vec::new() }
}

/// The bounds of a column with these numbers, 0 and 1 for a flag, unless others are between them.
#[expect(clippy::cast_precision_loss, reason = "larger bounds are left out")]
fn bounds(kind: &ColumnKind, numbers: &[i64]) -> Option<[Rule; 2]> {
    let (least, most) = (*numbers.first()?, *numbers.last()?);
    let has_all = usize::try_from(most.checked_sub(least)?).ok()? == numbers.len() - 1;
    // A fractional number may be between two whole ones.
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

/// Whether a default satisfies the checks.
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
        Rule::OneOf(_) | Rule::OneNumberOf(_) => true,
    })
}

/// Whether some value satisfies the checks.
fn is_possible(rules: &[Check]) -> bool {
    let bounds = |lower: bool| {
        rules.iter().filter_map(move |Check { rule, .. }| match (rule, lower) {
            (Rule::Minimum { bound, .. }, true) | (Rule::Maximum { bound, .. }, false) => {
                Some(*bound)
            }
            (Rule::MinLength(length), true) | (Rule::MaxLength(length), false) => {
                Some((*length).into())
            }
            _ => None,
        })
    };
    let least = bounds(true).fold(f64::NEG_INFINITY, f64::max);
    let most = bounds(false).fold(f64::INFINITY, f64::min);
    least < most || (least - most).abs() < f64::EPSILON
}

/// The options of `#[param(…)]` that follow from the type and the checks of a column.
pub(crate) fn params(
    kind: &ColumnKind,
    variants: &[(String, String)],
    rules: &[Check],
) -> Vec<String> {
    let mut params = Vec::new();
    if !variants.is_empty() {
        return params;
    }
    let is_text = matches!(kind, ColumnKind::Text { .. });
    for Check { rule, .. } in rules {
        let param = match *rule {
            Rule::MinLength(length) if is_text => format!("min_length = {length}"),
            Rule::MaxLength(length) if is_text => format!("max_length = {length}"),
            Rule::Minimum { bound, is_strict } => match limit(kind, bound, is_strict, 1) {
                Some(limit) => format!("minimum = {limit}"),
                None => continue,
            },
            Rule::Maximum { bound, is_strict } => match limit(kind, bound, is_strict, -1) {
                Some(limit) => format!("maximum = {limit}"),
                None => continue,
            },
            _ => continue,
        };
        let name = param.split(' ').next().unwrap_or_default();
        // The check is at least as strict as the type.
        params.retain(|known: &String| !known.starts_with(name));
        params.push(param);
    }
    params
}

/// The inclusive bound of a number, if there is one. `step` leads away from a strict bound.
fn limit(kind: &ColumnKind, bound: f64, is_strict: bool, step: i64) -> Option<String> {
    /// The largest whole number that each program holds exactly.
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
        // A strict bound itself is refused by the database.
        ColumnKind::Number(_) => Some(format!("{bound:?}")),
        _ => None,
    }
}
