//! A naive implementation of the query language on JSON rows, to compare with. It was written from the language's
//! description and shares no code with the runtime.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDate, Utc};
use serde_json::{Map, Value, json};

use super::garden::Plant;

/// How the values of a field are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Number,
    Text,
    Choice(&'static [&'static str]),
    Bool,
    Day,
    Instant,
}

/// A field of the garden with its options.
pub(crate) struct Field {
    pub(crate) path: &'static str,
    pub(crate) form: Form,
    pub(crate) list: bool,
    pub(crate) sort: bool,
    pub(crate) group: bool,
    pub(crate) numeric: bool,
    pub(crate) whole: bool,
}

const KINDS: Form = Form::Choice(&["tree", "shrub", "herb"]);
const HEALTH: Form = Form::Choice(&["not_well", "fine", "at_its_best"]);

const fn field(path: &'static str, form: Form, marks: &[u8]) -> Field {
    let mut field =
        Field { path, form, list: false, sort: false, group: false, numeric: false, whole: false };
    let mut place = 0;
    while place < marks.len() {
        match marks[place] {
            b'l' => field.list = true,
            b's' => field.sort = true,
            b'g' => field.group = true,
            b'n' => field.numeric = true,
            _ => field.whole = true,
        }
        place += 1;
    }
    field
}

/// All filterable fields.
pub(crate) const FIELDS: &[Field] = &[
    field("plant_id", Form::Number, b"sw"),
    field("name", Form::Text, b"s"),
    field("note", Form::Text, b""),
    field("kind", KINDS, b"sg"),
    field("health", HEALTH, b"sg"),
    field("rank", Form::Number, b"sgnw"),
    field("change", Form::Number, b"snw"),
    field("height", Form::Number, b"sn"),
    field("mass", Form::Number, b"sn"),
    field("rare", Form::Bool, b"g"),
    field("tags", Form::Text, b"l"),
    field("fruits", Form::Number, b"lw"),
    field("planted", Form::Day, b"sg"),
    field("seen_at", Form::Instant, b"s"),
    field("bed.zone", Form::Text, b"sg"),
    field("bed.moisture", Form::Number, b"sn"),
    field("bed.soil.acidity", Form::Number, b"snw"),
    field("_computed.age_days", Form::Number, b"snw"),
    field("_computed.is_tall", Form::Bool, b"g"),
];

const SEARCHED: [&str; 4] = ["name", "note", "tags", "bed.zone"];

pub(crate) fn known(path: &str) -> &'static Field {
    FIELDS.iter().find(|field| field.path == path).expect("a field")
}

/// Converts a plant to a JSON row with all computed fields.
pub(crate) fn row(plant: &Plant) -> Value {
    let mut row = serde_json::to_value(plant).expect("a plant is JSON");
    row["_computed"] = json!({
        "age_days": plant.age_days(), "sign": plant.sign(), "is_tall": plant.is_tall(),
    });
    row
}

pub(crate) fn at<'a>(row: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(row, |value, name| value.get(name).unwrap_or(&Value::Null))
}

fn instant(value: &Value) -> DateTime<Utc> {
    let text = value.as_str().expect("text");
    DateTime::parse_from_rfc3339(text).expect("an instant").to_utc()
}

/// Compares a value with an operand. If the operand is a date, all points in time on that day (in UTC) are equal to it.
fn compare_to(form: Form, value: &Value, operand: &Value) -> Ordering {
    match operand.as_str().map(str::parse::<NaiveDate>) {
        Some(Ok(day)) if matches!(form, Form::Instant) => instant(value).date_naive().cmp(&day),
        _ => compare(form, value, operand),
    }
}

/// Compares two values, neither of them missing.
fn compare(form: Form, left: &Value, right: &Value) -> Ordering {
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    match form {
        Form::Number => match (left.as_i64(), right.as_i64()) {
            (Some(left), Some(right)) => left.cmp(&right),
            _ => left.as_f64().partial_cmp(&right.as_f64()).expect("numbers"),
        },
        Form::Text => text(left).as_bytes().cmp(text(right).as_bytes()),
        Form::Choice(names) => {
            let rank =
                |value: &Value| names.iter().position(|name| value == name).expect("a choice");
            rank(left).cmp(&rank(right))
        }
        Form::Bool => left.as_bool().cmp(&right.as_bool()),
        Form::Day => text(left).cmp(&text(right)),
        Form::Instant => instant(left).cmp(&instant(right)),
    }
}

/// Returns the values of a field: none, one, or all entries of a list.
fn values<'a>(row: &'a Value, field: &Field) -> Vec<&'a Value> {
    match at(row, field.path) {
        Value::Null => Vec::new(),
        Value::Array(entries) => entries.iter().collect(),
        value => vec![value],
    }
}

fn passes(row: &Value, field: &Field, operator: &str, operand: &Value) -> bool {
    let values = values(row, field);
    let any = |test: &dyn Fn(&Value) -> bool| values.iter().any(|value| test(value));
    let same = |operand: &Value| any(&|value| compare_to(field.form, value, operand).is_eq());
    let order = |wanted: &dyn Fn(Ordering) -> bool| {
        any(&|value| wanted(compare_to(field.form, value, operand)))
    };
    let text = |test: &dyn Fn(&str, &str) -> bool| {
        any(&|value| test(value.as_str().expect("text"), operand.as_str().expect("text")))
    };
    let one_of = || {
        operand.as_array().expect("a list").iter().any(|each| match each {
            Value::Null => values.is_empty(),
            each => same(each),
        })
    };
    match operator {
        "exists" => values.is_empty() != (operand == true),
        "eq" if operand.is_null() => values.is_empty(),
        "ne" if operand.is_null() => !values.is_empty(),
        "eq" => same(operand),
        "ne" => !same(operand),
        "gt" => order(&Ordering::is_gt),
        "gte" => order(&Ordering::is_ge),
        "lt" => order(&Ordering::is_lt),
        "lte" => order(&Ordering::is_le),
        "contains" if field.list => same(operand),
        "contains" => text(&|value, part| value.contains(part)),
        "starts_with" => text(&|value, part| value.starts_with(part)),
        "in" => one_of(),
        "nin" => !one_of(),
        other => panic!("{other} is no operator"),
    }
}

/// Returns `true` if the row matches the filter.
pub(crate) fn holds(row: &Value, filter: &Value) -> bool {
    filter.as_object().expect("an object").iter().all(|(key, value)| {
        let each = || value.as_array().expect("a list").iter();
        match (key.as_str(), value) {
            ("and", _) => each().all(|filter| holds(row, filter)),
            ("or", _) => each().any(|filter| holds(row, filter)),
            ("not", _) => !holds(row, value),
            (path, Value::Object(tests)) => {
                tests.iter().all(|(operator, operand)| passes(row, known(path), operator, operand))
            }
            (path, Value::Array(_)) => passes(row, known(path), "in", value),
            (path, _) if known(path).list => passes(row, known(path), "contains", value),
            (path, _) => passes(row, known(path), "eq", value),
        }
    })
}

/// Converts a string to lower case, with a space before and after each word. The rows of these tests are ASCII.
fn fold_text(text: &str) -> String {
    let words: Vec<_> = text
        .split(|each: char| !each.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    if words.is_empty() { String::new() } else { format!(" {} ", words.join(" ")) }
}

/// Returns the score of a row for a search. A row with the score 0 is not found.
pub(crate) fn score(row: &Value, query: &str) -> u64 {
    let mut terms = Vec::new();
    for (index, part) in query.split('"').enumerate() {
        let words: Vec<String> = fold_text(part).split_whitespace().map(str::to_owned).collect();
        let found = if index % 2 == 1 {
            vec![(words.join(" "), true)]
        } else {
            words.into_iter().map(|word| (word, false)).collect()
        };
        for term in found {
            if !term.0.is_empty() && !terms.contains(&term) {
                terms.push(term);
            }
        }
    }
    let of_field = |path: &str| {
        let text: String = values(row, known(path))
            .iter()
            .map(|value| fold_text(value.as_str().expect("text")))
            .collect();
        let of_term = |(words, phrase): &(String, bool)| {
            if text.contains(&format!(" {words} ")) {
                2 * words.split(' ').count() as u64
            } else {
                u64::from(!phrase && text.contains(&format!(" {words}")))
            }
        };
        terms.iter().map(of_term).sum::<u64>()
    };
    SEARCHED.iter().map(|path| of_field(path)).sum()
}

/// Compares two rows by paths, with `true` for descending order. Missing values come last.
pub(crate) fn order(left: &Value, right: &Value, keys: &[(&str, bool)]) -> Ordering {
    for (path, descending) in keys {
        let (one, other) = (at(left, path), at(right, path));
        let order = match (one.is_null(), other.is_null()) {
            (false, false) => {
                let order = compare(known(path).form, one, other);
                if *descending { order.reverse() } else { order }
            }
            (one, other) => one.cmp(&other),
        };
        if order.is_ne() {
            return order;
        }
    }
    at(left, "plant_id").as_u64().cmp(&at(right, "plant_id").as_u64())
}

fn compute(rows: &[&Value], function: &str, operand: &Value) -> Value {
    if function == "count" {
        return json!(rows.len());
    }
    let field = known(operand.as_str().expect("a path"));
    let values: Vec<&Value> =
        rows.iter().map(|row| at(row, field.path)).filter(|value| !value.is_null()).collect();
    let best = |wanted: Ordering| {
        let better = |one: &Value, other: &Value| compare(field.form, one, other) == wanted;
        values.iter().fold(Value::Null, |best, value| {
            if best.is_null() || better(value, &best) { (*value).clone() } else { best }
        })
    };
    let whole: i128 = values.iter().filter_map(|value| value.as_i64()).map(i128::from).sum();
    let float: f64 = values.iter().filter_map(|value| value.as_f64()).sum();
    match function {
        "sum" if field.whole || values.is_empty() => json!(i64::try_from(whole).expect("small")),
        "sum" => json!(float),
        "avg" if values.is_empty() => Value::Null,
        "avg" => json!(float / values.len() as f64),
        "min" => best(Ordering::Less),
        "max" => best(Ordering::Greater),
        other => panic!("{other} is no function"),
    }
}

/// Evaluates an aggregate expression.
pub(crate) fn aggregate(rows: &[&Value], expression: &Map<String, Value>) -> Value {
    let functions: Vec<_> =
        expression.iter().filter(|(name, value)| *name != "group_by" && **value != false).collect();
    let result = |rows: &[&Value]| match functions.as_slice() {
        [(function, operand)] => compute(rows, function, operand),
        several => several
            .iter()
            .map(|(name, operand)| ((*name).clone(), compute(rows, name, operand)))
            .collect(),
    };
    let Some(path) = expression.get("group_by").and_then(Value::as_str) else {
        return result(rows);
    };
    let mut groups: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    for row in rows {
        let key = match at(row, path) {
            Value::String(text) if text == "null" => "\"null\"".to_owned(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        groups.entry(key).or_default().push(row);
    }
    groups.into_iter().map(|(key, rows)| (key, result(&rows))).collect()
}

/// Reduces a row to these paths.
pub(crate) fn pick(row: &Value, paths: &[&str]) -> Value {
    part(row, paths).expect("a row is an object")
}

/// Returns the part of a value at these paths. Returns `None` for plain values, and for lists without a matching part.
/// Missing values stay.
fn part(value: &Value, paths: &[&str]) -> Option<Value> {
    match value {
        Value::Object(members) => {
            let mut picked = Map::new();
            for (name, value) in members {
                let inner: Vec<_> = paths
                    .iter()
                    .filter_map(|path| match path.split_once('.') {
                        None if path == name => Some(None),
                        Some((head, rest)) if head == name => Some(Some(rest)),
                        _ => None,
                    })
                    .collect();
                let shown = if inner.contains(&None) {
                    Some(value.clone())
                } else if inner.is_empty() {
                    None
                } else {
                    let inner: Vec<_> = inner.into_iter().flatten().collect();
                    part(value, &inner)
                };
                picked.extend(shown.map(|shown| (name.clone(), shown)));
            }
            Some(Value::Object(picked))
        }
        Value::Array(entries) => {
            let parts: Vec<_> = entries.iter().filter_map(|entry| part(entry, paths)).collect();
            (entries.is_empty() || !parts.is_empty()).then_some(Value::Array(parts))
        }
        Value::Null => Some(Value::Null),
        _ => None,
    }
}
