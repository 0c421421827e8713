use serde_json::{Map, Value, json};

use crate::constraint::Bound;
use crate::operation::Parameter;
use crate::shape::{Checks, Faults, Kind, ObjectShape, Path, Shape, Shapes};

/// Parameters for a call that shows an operation, as JSON text in the table's order: the required
/// ones, and one field of `input`.
///
/// What comes out is checked like a client's call before it is published, so that every example is
/// valid (REQ-INT-15, REQ-INT-25).
pub(crate) fn sample_params(parameters: &[Parameter], shapes: &Shapes) -> String {
    let members: Vec<_> = parameters
        .iter()
        .filter(|parameter| parameter.spec.required)
        .map(|parameter| {
            // Names are public names: nothing in them needs escaping.
            let value = accepted_sample(parameter, shapes);
            format!(r#""{}":{value}"#, parameter.name)
        })
        .collect();
    format!("{{{}}}", members.join(","))
}

/// Whether a call made by [`sample_params`] says no more than the table beside it: plain values, lists
/// of them, and an `input` whose description names its fields. One with objects, or with anything
/// whose form is not in the table, shows what to send.
pub(crate) fn repeats_the_table(parameters: &[Parameter], shapes: &Shapes) -> bool {
    parameters
        .iter()
        .filter(|parameter| parameter.spec.required && parameter.input.is_none())
        .all(|parameter| is_plain(&parameter.shape, shapes, 0))
}

fn is_plain(shape: &Shape, shapes: &Shapes, depth: usize) -> bool {
    match &shape.resolve(shapes).kind {
        Kind::Boolean | Kind::Integer | Kind::Number | Kind::String => true,
        Kind::Array(items) => depth < 2 && is_plain(items, shapes, depth + 1),
        _ => false,
    }
}

/// A value for a parameter that its own type accepts, if one of the attempts makes one.
fn accepted_sample(parameter: &Parameter, shapes: &Shapes) -> Value {
    let make = |attempt| sample(&parameter.name, &parameter.shape, (shapes, attempt), 0);
    let fits = |value: &Value| {
        let mut faults = Faults::new();
        parameter.shape.check(value, Path::Root(&parameter.name), shapes, &mut faults);
        faults.is_empty() && parameter.accepts(value)
    };
    let first = make(Attempt::Telling);
    if fits(&first) {
        return first;
    }
    let unconstrained = TEXTS.into_iter().map(Attempt::Text);
    let further = unconstrained.chain(TEXTS.into_iter().map(Attempt::AnyText));
    further.chain(NUMBERS.into_iter().map(Attempt::Number)).map(make).find(fits).unwrap_or(first)
}

/// One way to choose values. A schema says little about types that accept only some texts or numbers.
#[derive(Clone, Copy)]
enum Attempt {
    /// A value that says what it is for.
    Telling,
    /// This text wherever the schema wants text and no more.
    Text(&'static str),
    /// This text wherever the schema wants text.
    AnyText(&'static str),
    /// This number wherever the schema wants one.
    Number(i64),
}

/// Texts that types of the standard library and of common crates read.
const TEXTS: [&str; 26] = [
    "192.0.2.1",
    "2001:db8::1",
    "192.0.2.1:8080",
    "[2001:db8::1]:8080",
    "192.0.2.0/24",
    "2031-05-06",
    "2031-05-06T10:30:00Z",
    "2031-05-06T10:30:00",
    "10:30:00",
    "PT1H",
    "1h",
    "67e55044-10b1-426f-9247-bb680e5fe0c8",
    "https://example.com/",
    "example.com",
    "ada@example.com",
    "1.2.3",
    "1",
    "1.5",
    "a",
    "A",
    "en",
    "EUR",
    "Europe/Berlin",
    "+4930123456",
    "#00aaff",
    "00ff",
];

/// Numbers that types with bounds of their own may accept.
const NUMBERS: [i64; 7] = [0, 2, 10, 100, 1_000, -1, 1_900_000_000];

fn sample(name: &str, shape: &Shape, (shapes, attempt): (&Shapes, Attempt), depth: usize) -> Value {
    let made = (shapes, attempt);
    let target = shape.resolve(shapes);
    // What the parameter adds to its type is the stricter of the two.
    let pick = |of: fn(&Checks) -> Option<Value>| of(&shape.checks).or_else(|| of(&target.checks));
    if let Some(value) = pick(|checks| checks.allowed.first().cloned()) {
        return value;
    }
    if depth > 8 {
        return Value::Null;
    }
    match &target.kind {
        Kind::Any | Kind::Never | Kind::Null | Kind::Named(_) => Value::Null,
        Kind::Boolean => Value::Bool(true),
        Kind::Integer => match attempt {
            Attempt::Number(number) => json!(number),
            _ => pick(whole_number).unwrap_or_else(|| json!(1)),
        },
        Kind::Number => match attempt {
            Attempt::Number(number) => json!(number),
            _ => pick(any_number).unwrap_or_else(|| json!(1.5)),
        },
        Kind::String => match (attempt, pick(text)) {
            (Attempt::AnyText(text), _) | (Attempt::Text(text), None) => json!(text),
            (_, Some(text)) => text,
            (_, None) => json!(word(name)),
        },
        Kind::Array(items) => {
            let least = shape.checks.min_items.or(target.checks.min_items).unwrap_or(1).max(1);
            let most = shape.checks.max_items.or(target.checks.max_items).unwrap_or(least);
            let count = least.min(most).min(16);
            vec![sample(name, items, made, depth + 1); count].into()
        }
        Kind::Tuple(parts) => {
            parts.iter().map(|part| sample(name, part, made, depth + 1)).collect()
        }
        Kind::Object(object) => sample_object(object, made, depth),
        Kind::Union(variants) => {
            variants.first().map_or(Value::Null, |variant| sample(name, variant, made, depth + 1))
        }
    }
}

fn sample_object(object: &ObjectShape, made: (&Shapes, Attempt), depth: usize) -> Value {
    let wanted: Vec<&String> = if object.merge.is_some() {
        object.order.iter().take(1).collect()
    } else {
        object
            .order
            .iter()
            .filter(|name| object.fields.get(*name).is_some_and(|field| field.required))
            .collect()
    };
    wanted
        .into_iter()
        .filter_map(|name| {
            let field = object.fields.get(name)?;
            Some((name.clone(), sample(name, &field.shape, made, depth + 1)))
        })
        .collect::<Map<_, _>>()
        .into()
}

fn whole_number(checks: &Checks) -> Option<Value> {
    let low = checks.minimum.or(checks.above).map(floor);
    let high = checks.maximum.or(checks.below).map(floor);
    if low.is_none() && high.is_none() {
        return None;
    }
    let low = low.unwrap_or(i128::MIN) + i128::from(checks.above.is_some());
    let high = high.unwrap_or(i128::MAX) - i128::from(checks.below.is_some());
    let number = 1_i128.clamp(low, high.max(low));
    i64::try_from(number).ok().map(Value::from)
}

fn any_number(checks: &Checks) -> Option<Value> {
    let low = checks.minimum.or(checks.above).map(as_float);
    let high = checks.maximum.or(checks.below).map(as_float);
    match (low, high) {
        (Some(low), Some(high)) => Some(json!(f64::midpoint(low, high))),
        (Some(low), None) => Some(json!(low + 1.0)),
        (None, Some(high)) => Some(json!(high - 1.0)),
        (None, None) => None,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "an example number, checked afterwards")]
fn floor(bound: Bound) -> i128 {
    match bound {
        Bound::Int(number) => number,
        Bound::Float(number) => number.floor() as i128,
    }
}

#[expect(clippy::cast_precision_loss, reason = "an example number, checked afterwards")]
fn as_float(bound: Bound) -> f64 {
    match bound {
        Bound::Int(number) => number as f64,
        Bound::Float(number) => number,
    }
}

/// Text for a constrained string; none when nothing constrains it.
fn text(checks: &Checks) -> Option<Value> {
    if let Some(format) = checks.format {
        return Some(format.example().into());
    }
    if let Some(pattern) = checks.patterns.first() {
        return fitting(pattern.as_str(), checks).map(Value::from);
    }
    if checks.min_length.is_none() && checks.max_length.is_none() {
        return None;
    }
    let mut text = "Example".to_owned();
    while text.chars().count() < checks.min_length.unwrap_or(0).min(4_096) {
        text.push_str(" text");
    }
    if let Some(most) = checks.max_length {
        text = text.chars().take(most).collect();
    }
    Some(text.into())
}

/// A telling value for a parameter of this name.
fn word(name: &str) -> String {
    match name.strip_suffix("_id") {
        Some(stem) => format!("{stem}-1"),
        None => "example".to_owned(),
    }
}

/// A text that matches a regular expression and is as long as it must be: what may repeat repeats
/// once, or more often, or not at all.
fn fitting(pattern: &str, checks: &Checks) -> Option<String> {
    let least = checks.min_length.unwrap_or(0);
    let most = checks.max_length.unwrap_or(usize::MAX);
    let often = u32::try_from(least.min(4_096)).unwrap_or(4_096);
    [1, 2, 3, often / 2, often, 0].into_iter().find_map(|times| {
        let text = matching(pattern, times)?;
        (least..=most).contains(&text.chars().count()).then_some(text)
    })
}

/// A text that matches a regular expression, where what may repeat does so this many times.
fn matching(pattern: &str, times: u32) -> Option<String> {
    let hir = regex_syntax::parse(pattern).ok()?;
    let mut text = String::new();
    write_match(&hir, times, &mut text)?;
    Some(text)
}

fn write_match(hir: &regex_syntax::hir::Hir, times: u32, text: &mut String) -> Option<()> {
    use regex_syntax::hir::{Class, HirKind};
    if text.len() > 4_096 {
        return None;
    }
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => text.push_str(std::str::from_utf8(&literal.0).ok()?),
        HirKind::Class(Class::Unicode(class)) => {
            // A letter or digit reads better than the first sign of a wide class.
            let wanted = ['a', 'A', '1'].into_iter().find(|wanted| {
                class.iter().any(|range| (range.start()..=range.end()).contains(wanted))
            });
            text.push(wanted.or_else(|| class.iter().next().map(|range| range.start()))?);
        }
        HirKind::Class(Class::Bytes(class)) => {
            text.push(char::from(class.iter().next()?.start()));
        }
        HirKind::Repetition(repetition) => {
            let most = repetition.max.unwrap_or(u32::MAX);
            for _ in 0..repetition.min.max(times).min(most).min(4_096) {
                write_match(&repetition.sub, times, text)?;
            }
        }
        HirKind::Capture(capture) => write_match(&capture.sub, times, text)?,
        HirKind::Concat(parts) => {
            for part in parts {
                write_match(part, times, text)?;
            }
        }
        HirKind::Alternation(choices) => write_match(choices.first()?, times, text)?,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_yield_text_that_matches() {
        for pattern in [
            "^bed_[0-9]+$",
            "^[a-z]{2,4}-\\d{3}$",
            "^(red|green)?$",
            "^.$",
            "[^a]",
            "^\\p{Greek}+$",
        ] {
            let text = matching(pattern, 1).unwrap();
            assert!(regex::Regex::new(pattern).unwrap().is_match(&text), "{pattern}: {text}");
        }
    }

    #[test]
    fn patterns_and_lengths_go_together() {
        // REQ-INT-25
        for (pattern, least, most) in
            [("^[a-z-]+$", 4, 200), ("^a?b*$", 0, 0), ("^x[0-9]{2,}$", 8, 9), ("^[a-z]+$", 0, 1)]
        {
            let checks =
                Checks { min_length: Some(least), max_length: Some(most), ..Checks::default() };
            let text = fitting(pattern, &checks).unwrap();
            assert!((least..=most).contains(&text.len()), "{pattern}: {text}");
            assert!(regex::Regex::new(pattern).unwrap().is_match(&text), "{pattern}: {text}");
        }
    }
}
