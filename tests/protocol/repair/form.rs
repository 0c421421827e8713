//! Generates values for the forms in error messages, such as `{ field, order?: 'asc'|'desc' }`.

use serde_json::{Map, Value, json};

/// Generates a value of a form. Keeps members that the caller has already sent, and omits other optional ones:
///
/// ```text
/// { field, order?: 'asc'|'desc' } and the sent value { "field": "name" } → { "field": "name" }
/// ```
pub(super) fn value_of(form: &str, sent: &Value) -> Value {
    let mut pool = Map::new();
    collect(sent, &mut pool);
    let mut text = form.trim();
    // The form may follow the name of its type. An example may follow other words.
    if let Some(start) = text.find(['{', '[']).filter(|start| !text[..*start].contains(['\'', '/']))
    {
        text = &text[start..];
    }
    let mut parser = Parser { text, pool: &pool, sent };
    parser.union()
}

/// Collects all members of a value, at every depth.
fn collect(value: &Value, pool: &mut Map<String, Value>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                pool.entry(name.clone()).or_insert_with(|| value.clone());
                collect(value, pool);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, pool)),
        _ => {}
    }
}

struct Parser<'a> {
    text: &'a str,
    pool: &'a Map<String, Value>,
    sent: &'a Value,
}

impl Parser<'_> {
    fn skip(&mut self, sign: &str) -> bool {
        self.text = self.text.trim_start();
        let rest = self.text.strip_prefix(sign);
        self.text = rest.unwrap_or(self.text);
        rest.is_some()
    }

    /// Parses several forms. Returns the value that keeps most of the sent members.
    fn union(&mut self) -> Value {
        let mut forms = vec![self.one()];
        while self.skip("or ") {
            forms.push(self.one());
        }
        let kept = |value: &Value| {
            let members = value.as_object().into_iter().flatten();
            members.filter(|(name, value)| self.pool.get(*name) == Some(value)).count()
        };
        let most = forms.iter().map(kept).max().unwrap_or(0);
        let place = forms.iter().position(|form| kept(form) == most).unwrap_or(0);
        forms.swap_remove(place)
    }

    fn one(&mut self) -> Value {
        if self.skip("{") {
            return self.object();
        }
        if self.skip("[") {
            let mut items = vec![self.union()];
            while self.skip(",") {
                items.push(self.union());
            }
            self.skip("]");
            return Value::Array(items);
        }
        if self.skip("'") {
            return self.choice();
        }
        if self.skip("/") {
            let end = self.text.find("/").unwrap_or(self.text.len());
            let pattern = self.text[..end].to_owned();
            self.text = self.text.get(end + 1..).unwrap_or_default();
            return json!(text_matching(&pattern));
        }
        let end = self.text.find([',', '}', ']', ':']).unwrap_or(self.text.len());
        let end = self.text.find(" or ").map_or(end, |or| or.min(end));
        let word = self.text[..end].trim().to_owned();
        self.text = &self.text[end..];
        scalar(&word, self.sent)
    }

    /// Parses choices such as `'a'|'b'`, after the first quotation mark. Prefers a sent value if it is one of the
    /// choices.
    fn choice(&mut self) -> Value {
        let mut values = Vec::new();
        loop {
            let end = self.text.find('\'').unwrap_or(self.text.len());
            values.push(self.text[..end].to_owned());
            self.text = self.text.get(end + 1..).unwrap_or_default();
            if !self.skip("|") || !self.skip("'") {
                break;
            }
        }
        let sent = self.sent.as_str().unwrap_or_default().trim_start_matches('-');
        let listed = values.iter().find(|value| *value == sent);
        json!(listed.unwrap_or(&values[0]))
    }

    fn object(&mut self) -> Value {
        let mut members = Map::new();
        while !self.skip("}") && !self.text.is_empty() {
            if self.skip("…") || self.skip(",") {
                continue;
            }
            let quoted = self.skip("'");
            let end = if quoted {
                self.text.find('\'')
            } else {
                self.text.find([',', ':', ' ', '?', '}'])
            };
            let end = end.unwrap_or(self.text.len());
            let name = self.text[..end].to_owned();
            self.text = &self.text[end..];
            if quoted {
                self.skip("'");
            }
            let optional = self.skip("?");
            let value = if self.skip(":") { self.union() } else { json!("text") };
            let is_map = name.starts_with('[');
            match self.pool.get(&name) {
                Some(sent) => drop(members.insert(name, sent.clone())),
                None if !optional && !is_map => drop(members.insert(name, value)),
                None => {}
            }
        }
        Value::Object(members)
    }
}

/// Generates a scalar from a description: `integer, 1 to 5`, `string, one of: a, b`, `date such as 'x'`.
pub(super) fn scalar(words: &str, sent: &Value) -> Value {
    if let Some((_, list)) = words.split_once("one of: ") {
        let values: Vec<_> = list.split(", ").map(str::trim).collect();
        let sent = sent.as_str().unwrap_or_default();
        return json!(values.iter().find(|value| **value == sent).unwrap_or(&values[0]));
    }
    if let Some((_, example)) = words.split_once("such as '") {
        return json!(example.split('\'').next().unwrap_or_default());
    }
    if let Some((_, pattern)) = words.split_once("matching '") {
        return json!(text_matching(pattern.trim_end_matches('\'')));
    }
    if words.contains("characters") {
        return json!("x".repeat(first_number(words).unwrap_or(1)));
    }
    if let Some((least, _)) = words.split_once("..") {
        return json!(least.trim().parse::<i64>().unwrap_or(0));
    }
    match words.split([',', ' ']).next().unwrap_or_default() {
        "true" => json!(true),
        "number" if words.contains('.') => json!(first_decimal(words)),
        "integer" | "number" => json!(first_number(words).unwrap_or(1)),
        "boolean" => json!(true),
        "null" => Value::Null,
        "array" => json!([]),
        "object" => json!({}),
        _ => json!("text"),
    }
}

/// Returns the first number with a fraction, such as `0.5`.
pub(super) fn first_decimal(words: &str) -> Option<f64> {
    words.split([' ', ',']).filter(|word| word.contains('.')).find_map(|word| word.parse().ok())
}

fn first_number(words: &str) -> Option<usize> {
    words.split(|each: char| !each.is_ascii_digit()).find_map(|word| word.parse().ok())
}

/// Generates a string for a simple pattern of literals, classes, `\d` and repetitions.
pub(super) fn text_matching(pattern: &str) -> String {
    let mut text = String::new();
    let mut rest = pattern.trim_start_matches('^').trim_end_matches('$');
    while let Some(first) = rest.chars().next() {
        let (unit, after) = match first {
            '[' => {
                let end = rest.find(']').unwrap_or(rest.len() - 1);
                (rest[1..].chars().next().unwrap_or('x'), &rest[end + 1..])
            }
            '\\' => ('1', &rest[2.min(rest.len())..]),
            other => (other, &rest[other.len_utf8()..]),
        };
        let (count, after) = match after.strip_prefix('{').and_then(|it| it.split_once('}')) {
            Some((count, after)) => (first_number(count).unwrap_or(1), after),
            None => match after.strip_prefix(['+', '*']) {
                Some(after) => (1, after),
                None => match after.strip_prefix('?') {
                    Some(after) => (0, after),
                    None => (1, after),
                },
            },
        };
        text.extend(std::iter::repeat_n(unit, count));
        rest = after;
    }
    text
}
