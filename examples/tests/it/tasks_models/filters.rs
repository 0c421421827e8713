//! Models the query language on JSON rows, written from the book and the specification.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDate, Utc};
use fastrand::Rng;
use serde_json::{Map, Value, json};

use super::random::{WORDS, chance, day, one, text};

/// How the values of a field are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Status,
    Number,
    Texts,
    Day,
    Instant,
    Flag,
}

/// The fields that filters use.
const FILTERED: [(&str, Kind); 7] = [
    ("title", Kind::Text),
    ("status", Kind::Status),
    ("priority", Kind::Number),
    ("tags", Kind::Texts),
    ("due_date", Kind::Day),
    ("created_at", Kind::Instant),
    ("_computed.is_overdue", Kind::Flag),
];

const STATUSES: [&str; 3] = ["todo", "doing", "done"];

/// The fields that sorts use.
pub(crate) const SORTED: [(&str, Kind); 6] = [
    ("title", Kind::Text),
    ("status", Kind::Status),
    ("priority", Kind::Number),
    ("due_date", Kind::Day),
    ("created_at", Kind::Instant),
    ("updated_at", Kind::Instant),
];

/// A sort key: the field, its kind, and `true` for descending order.
pub(crate) type Key = (&'static str, Kind, bool);

/// Returns the value of a field. Supports the computed field, too.
fn value(row: &Value, path: &str) -> Value {
    match path {
        "_computed.is_overdue" => {
            let today = Utc::now().date_naive();
            let late = row["due_date"].as_str().is_some_and(|due| parse_day(due) < today);
            json!(late && row["status"] != "done")
        }
        path => row[path].clone(),
    }
}

fn parse_day(text: &str) -> NaiveDate {
    text.parse().expect("a day")
}

fn parse_instant(text: &str) -> DateTime<Utc> {
    DateTime::parse_from_rfc3339(text).expect("an instant").to_utc()
}

fn compare(kind: Kind, left: &Value, right: &Value) -> Ordering {
    let texts = || (left.as_str().expect("text"), right.as_str().expect("text"));
    match kind {
        Kind::Text | Kind::Texts => texts().0.as_bytes().cmp(texts().1.as_bytes()),
        Kind::Status => {
            let place = |name: &str| STATUSES.iter().position(|status| *status == name);
            place(texts().0).cmp(&place(texts().1))
        }
        Kind::Number => left.as_f64().partial_cmp(&right.as_f64()).expect("numbers"),
        Kind::Day => parse_day(texts().0).cmp(&parse_day(texts().1)),
        Kind::Instant => parse_instant(texts().0).cmp(&parse_instant(texts().1)),
        Kind::Flag => left.as_bool().cmp(&right.as_bool()),
    }
}

/// Returns `true` if the row matches the filter.
pub(crate) fn holds(row: &Value, filter: &Value) -> bool {
    filter.as_object().expect("an object").iter().all(|(name, asked)| match name.as_str() {
        "and" => asked.as_array().unwrap().iter().all(|filter| holds(row, filter)),
        "or" => asked.as_array().unwrap().iter().any(|filter| holds(row, filter)),
        "not" => !holds(row, asked),
        path => {
            let (_, kind) = FILTERED.iter().find(|(name, _)| *name == path).expect("a field");
            let value = value(row, path);
            match asked {
                Value::Object(tests) => {
                    tests.iter().all(|(operator, operand)| test(*kind, &value, operator, operand))
                }
                Value::Array(_) => test(*kind, &value, "in", asked),
                _ if *kind == Kind::Texts => test(*kind, &value, "contains", asked),
                _ => test(*kind, &value, "eq", asked),
            }
        }
    })
}

fn test(kind: Kind, value: &Value, operator: &str, operand: &Value) -> bool {
    let entries = match value {
        Value::Null => Vec::new(),
        Value::Array(entries) => entries.clone(),
        value => vec![value.clone()],
    };
    let any = |wanted: &dyn Fn(Ordering) -> bool| {
        entries.iter().any(|entry| wanted(compare(kind, entry, operand)))
    };
    let any_text = |wanted: &dyn Fn(&str, &str) -> bool| {
        entries.iter().any(|entry| wanted(entry.as_str().unwrap(), operand.as_str().unwrap()))
    };
    match operator {
        "eq" if operand.is_null() => entries.is_empty(),
        "eq" => any(&Ordering::is_eq),
        "ne" => !test(kind, value, "eq", operand),
        "in" => {
            let operands = operand.as_array().unwrap();
            operands.iter().any(|operand| test(kind, value, "eq", operand))
        }
        "nin" => !test(kind, value, "in", operand),
        "gt" => any(&Ordering::is_gt),
        "gte" => any(&Ordering::is_ge),
        "lt" => any(&Ordering::is_lt),
        "lte" => any(&Ordering::is_le),
        "contains" if kind == Kind::Texts => any(&Ordering::is_eq),
        "contains" => any_text(&|value, part| value.contains(part)),
        "starts_with" => any_text(&|value, part| value.starts_with(part)),
        "exists" => entries.is_empty() != (operand == true),
        other => panic!("{other} is not an operator"),
    }
}

/// Returns a random filter for these rows.
pub(crate) fn filter(random: &mut Rng, rows: &[Value], depth: usize) -> Value {
    let mut members = Map::new();
    for _ in 0..random.usize(..3) {
        let (path, kind) = *one(random, &FILTERED);
        members.insert(path.to_owned(), condition(random, rows, kind));
    }
    if depth > 0 && chance(random, 40) {
        let group = match *one(random, &["and", "or", "not"]) {
            "not" => ("not".to_owned(), filter(random, rows, depth - 1)),
            name => {
                let count = random.usize(1..=3);
                let all: Vec<_> = (0..count).map(|_| filter(random, rows, depth - 1)).collect();
                (name.to_owned(), json!(all))
            }
        };
        members.insert(group.0, group.1);
    }
    Value::Object(members)
}

/// Returns a random condition on a field: a value, a list of values, or operators.
fn condition(random: &mut Rng, rows: &[Value], kind: Kind) -> Value {
    let nullable = |random: &mut Rng, kind| {
        if chance(random, 12) { Value::Null } else { operand(random, rows, kind) }
    };
    let list = |random: &mut Rng, least: usize| -> Value {
        (0..random.usize(least..=3)).map(|_| nullable(random, kind)).collect()
    };
    match (random.u8(..3), kind) {
        (0, Kind::Texts) => operand(random, rows, kind),
        (0, _) => nullable(random, kind),
        // A condition must not be an empty list.
        (1, kind) if kind != Kind::Flag => list(random, 1),
        _ => {
            let operators: &[&str] = match kind {
                Kind::Text => &["eq", "ne", "in", "nin", "contains", "starts_with", "exists"],
                Kind::Status => &["eq", "ne", "in", "nin", "exists"],
                Kind::Texts => &["contains", "in", "nin", "exists"],
                Kind::Flag => &["eq", "ne", "exists"],
                Kind::Number | Kind::Day | Kind::Instant => {
                    &["eq", "ne", "gt", "gte", "lt", "lte", "in", "nin", "exists"]
                }
            };
            let count = random.usize(1..=2);
            let tests = (0..count).map(|_| {
                let operator = *one(random, operators);
                let operand = match operator {
                    "exists" => json!(random.bool()),
                    "in" | "nin" => list(random, 0),
                    "eq" | "ne" => nullable(random, kind),
                    "contains" | "starts_with" if kind == Kind::Text => {
                        let text = text(random);
                        json!(text[..random.usize(1..=text.len())])
                    }
                    _ => operand(random, rows, kind),
                };
                (operator.to_owned(), operand)
            });
            Value::Object(tests.collect())
        }
    }
}

/// Returns a random value for a comparison. Often it is a value of one of the rows.
fn operand(random: &mut Rng, rows: &[Value], kind: Kind) -> Value {
    let row = one(random, rows).clone();
    match kind {
        Kind::Text if random.bool() => row["title"].clone(),
        Kind::Text => json!(text(random)),
        Kind::Status => json!(one(random, &STATUSES)),
        Kind::Number => json!(random.i64(0..7)),
        Kind::Texts => match row["tags"].as_array() {
            Some(tags) if !tags.is_empty() => one(random, tags).clone(),
            _ => json!(text(random)),
        },
        Kind::Day => json!(day(random)),
        Kind::Instant => {
            let instant = parse_instant(row["created_at"].as_str().unwrap());
            let hours = random.i32(-12..=12);
            let offset = chrono::FixedOffset::east_opt(hours * 3600).unwrap();
            json!(instant.with_timezone(&offset).to_rfc3339())
        }
        Kind::Flag => json!(random.bool()),
    }
}

/// Returns zero to three sort keys for different fields.
pub(crate) fn keys(random: &mut Rng) -> Vec<Key> {
    let mut fields = SORTED.to_vec();
    random.shuffle(&mut fields);
    fields.truncate(random.usize(..4));
    fields.into_iter().map(|(path, kind)| (path, kind, random.bool())).collect()
}

/// Returns the parameter `sort` for these keys.
pub(crate) fn sort(keys: &[Key]) -> Value {
    let key = |(path, _, down): &Key| json!({ "field": path, "order": if *down { "desc" } else { "asc" } });
    keys.iter().map(key).collect()
}

/// Compares two rows. Missing values come last in either direction. Ties are broken by the identifier.
fn order(left: &Value, right: &Value, keys: &[Key]) -> Ordering {
    let by_keys = keys.iter().map(|(path, kind, down)| {
        match (left[*path].is_null(), right[*path].is_null()) {
            (false, false) => {
                let order = compare(*kind, &left[*path], &right[*path]);
                if *down { order.reverse() } else { order }
            }
            (left, right) => left.cmp(&right),
        }
    });
    let by_id = || left["task_id"].as_str().cmp(&right["task_id"].as_str());
    by_keys.into_iter().find(|order| order.is_ne()).unwrap_or_else(by_id)
}

/// A word or a quoted phrase of a search.
#[derive(PartialEq)]
struct SearchTerm {
    words: Vec<String>,
    quoted: bool,
}

/// Splits a search query into words and phrases, in lower case and without repetitions.
fn terms(query: &str) -> Vec<SearchTerm> {
    let mut terms = Vec::new();
    for (place, part) in query.split('"').enumerate() {
        let quoted = place % 2 == 1;
        let found = words(part);
        let found =
            if quoted { vec![found] } else { found.into_iter().map(|word| vec![word]).collect() };
        for term in found.into_iter().map(|words| SearchTerm { words, quoted }) {
            if !term.words.is_empty() && !terms.contains(&term) {
                terms.push(term);
            }
        }
    }
    terms
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(|sign: char| !sign.is_ascii_alphanumeric());
    words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

/// Returns the score of a row for a search query. A row with the score 0 is not found.
///
/// A word counts 2 if a field contains it, and 1 if a field only contains a longer word that begins with it. A phrase
/// counts 2 per word if a field contains all of its words in sequence.
pub(crate) fn score(row: &Value, query: &str) -> u64 {
    let terms = terms(query);
    let of_field = |texts: &[Vec<String>]| {
        let of_term = |SearchTerm { words, quoted }: &SearchTerm| {
            let stands = |text: &Vec<String>| text.windows(words.len()).any(|part| part == words);
            if texts.iter().any(stands) {
                return 2 * words.len() as u64;
            }
            let begins = |word: &String| word.starts_with(&words[0]);
            u64::from(!quoted && texts.iter().flatten().any(begins))
        };
        terms.iter().map(of_term).sum::<u64>()
    };
    let texts = |value: &Value| match value {
        Value::Null => Vec::new(),
        Value::Array(all) => all.iter().map(|text| words(text.as_str().unwrap())).collect(),
        text => vec![words(text.as_str().unwrap())],
    };
    ["title", "description", "tags"].iter().map(|path| of_field(&texts(&row[*path]))).sum()
}

/// Returns a random search query of one to three words. Some are quoted phrases.
pub(crate) fn query(random: &mut Rng) -> String {
    let words = text(random);
    if chance(random, 30) {
        format!("\"{words}\"")
    } else if chance(random, 20) {
        // Use only the beginning of a word.
        let word = *one(random, &WORDS);
        word[..random.usize(1..=word.len())].trim_end_matches('-').to_owned()
    } else {
        words
    }
}

/// Returns the rows that a request finds, in their order.
pub(crate) fn found(
    rows: &[Value],
    query: Option<&str>,
    filter: &Value,
    keys: &[Key],
) -> Vec<Value> {
    let matches =
        |row: &&Value| query.is_none_or(|query| score(row, query) > 0) && holds(row, filter);
    let mut found: Vec<Value> = rows.iter().filter(matches).cloned().collect();
    let default = [("created_at", Kind::Instant, false)];
    match query {
        Some(query) if keys.is_empty() => found.sort_by(|left, right| {
            score(right, query).cmp(&score(left, query)).then_with(|| order(left, right, &[]))
        }),
        _ => {
            let keys = if keys.is_empty() { &default[..] } else { keys };
            found.sort_by(|left, right| order(left, right, keys));
        }
    }
    found
}

/// Evaluates an aggregate expression over rows.
pub(crate) fn aggregate(rows: &[Value], expression: &Value) -> Value {
    let mut functions = expression.as_object().unwrap().clone();
    let group = functions.remove("group_by");
    let of = |rows: &[&Value]| {
        if functions.len() == 1 {
            let (name, operand) = functions.iter().next().unwrap();
            return function(rows, name, operand);
        }
        functions
            .iter()
            .map(|(name, operand)| (name.clone(), function(rows, name, operand)))
            .collect()
    };
    let Some(path) = group.as_ref().and_then(Value::as_str) else {
        return of(&rows.iter().collect::<Vec<_>>());
    };
    let mut groups: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    for row in rows {
        let key = row[path].as_str().map_or_else(|| row[path].to_string(), str::to_owned);
        groups.entry(key).or_default().push(row);
    }
    groups.into_iter().map(|(key, rows)| (key, of(&rows))).collect()
}

fn function(rows: &[&Value], name: &str, operand: &Value) -> Value {
    let Some(path) = operand.as_str() else { return json!(rows.len()) };
    let kind = SORTED.iter().find(|(name, _)| *name == path).expect("a field").1;
    let mut values: Vec<&Value> =
        rows.iter().map(|row| &row[path]).filter(|value| !value.is_null()).collect();
    values.sort_by(|left, right| compare(kind, left, right));
    let sum = || values.iter().map(|value| value.as_u64().expect("a whole number")).sum::<u64>();
    match name {
        "sum" => json!(sum()),
        "avg" if values.is_empty() => Value::Null,
        "avg" => json!(sum() as f64 / values.len() as f64),
        "min" => values.first().map_or(Value::Null, |value| (*value).clone()),
        "max" => values.last().map_or(Value::Null, |value| (*value).clone()),
        other => panic!("{other} is not a function"),
    }
}
