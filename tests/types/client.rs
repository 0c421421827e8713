//! A client that knows types only from introspection, and generates values for them.

use mcp_aql::Adapter;
use serde_json::{Map, Value, json};

/// Maximum depth of a value. A limit is needed, because a type may contain itself.
const MAX_DEPTH: usize = 6;
/// Maximum number of entries in a list or a map.
const MAX_ENTRIES: usize = 12;

/// Generates values for an operation's parameter, according to its introspection. There is one value for each variant
/// of each type, with all members and with only the required ones.
pub(crate) async fn values(adapter: &Adapter, operation: &str) -> Vec<Value> {
    let details = ask(adapter, json!({ "query": "operations", "name": operation })).await;
    let operation = &details["operation"];
    let mut values = described(adapter, &operation["parameters"][0], 0).await;
    for example in operation["examples"].as_array().into_iter().flatten() {
        values.push(example["request"]["params"]["value"].clone());
    }
    values
}

async fn ask(adapter: &Adapter, params: Value) -> Value {
    adapter.call("introspect", params).await.data().clone()
}

/// Generates values for a parameter, a field, or the items of a list.
async fn described(adapter: &Adapter, entry: &Value, depth: usize) -> Vec<Value> {
    if let Some(values) = entry["enum"].as_array() {
        return values.clone();
    }
    let mut all = Vec::new();
    let description = entry["description"].as_str().unwrap_or_default();
    for name in entry["type"].as_str().unwrap_or("any").split(" or ") {
        match name {
            "array" => all.extend(list(adapter, entry, description, depth).await),
            // An object whose items have a type is a map.
            "object" if entry.get("items").is_some() => {
                let values = Box::pin(described(adapter, &entry["items"], depth + 1)).await;
                let named = values.into_iter().take(MAX_ENTRIES).enumerate();
                let named = named.map(|(place, value)| (key(description, place), value));
                all.push(named.collect::<Map<_, _>>().into());
            }
            "object" => all.push(json!({})),
            "string" => all.push(text(entry)),
            "integer" | "number" => all.push(entry["minimum"].as_f64().map_or(json!(1), number)),
            "boolean" => all.push(json!(true)),
            "null" => all.push(Value::Null),
            "any" => all.push(json!({ "any": [1] })),
            name => all.extend(Box::pin(of_name(adapter, name, depth)).await),
        }
    }
    all
}

/// Generates a list, from the description of its items or from a sentence such as `Exactly 2 items: string,
/// boolean[].`.
async fn list(adapter: &Adapter, entry: &Value, description: &str, depth: usize) -> Option<Value> {
    let exactly = description.split("Exactly ").nth(1).and_then(|it| it.split_once(" items"));
    if let Some((_, names)) = exactly
        && let Some(names) = names.strip_prefix(": ")
    {
        let names = format!("[{}]", names.strip_suffix('.').unwrap());
        return Box::pin(of_name(adapter, &names, depth)).await.pop();
    }
    let items = match entry.get("items") {
        Some(items) => Box::pin(described(adapter, items, depth + 1)).await,
        None => vec![],
    };
    match exactly {
        Some((count, _)) => Some(items.into_iter().cycle().take(count.parse().unwrap()).collect()),
        None => Some(items.into_iter().take(MAX_ENTRIES).collect()),
    }
}

/// Generates a key of a map. The description may have a sentence such as `Keys match '^-?\\d+$'.`.
fn key(description: &str, place: usize) -> String {
    match description.split("Keys match '").nth(1).and_then(|it| it.split_once("'.")) {
        None => format!("k{place}"),
        Some(("^[A-Z]+$", _)) => "ABC".to_owned(),
        Some((pattern, _)) => {
            assert!(pattern.ends_with("\\d+$"), "{pattern}");
            place.to_string()
        }
    }
}

/// Generates values for the name of a type, for a list such as `integer[2]`, or for a tuple such as
/// `[string, boolean[]]`.
async fn of_name(adapter: &Adapter, name: &str, depth: usize) -> Vec<Value> {
    if let Some(text) = name.strip_prefix('\'').and_then(|it| it.strip_suffix('\'')) {
        return vec![json!(text)];
    }
    if let Some((name, rule)) = name.strip_suffix(')').and_then(|it| it.split_once(" (")) {
        let example = rule.split("such as '").nth(1).and_then(|it| it.split_once('\''));
        return match (name, example) {
            ("string", Some((example, _))) => vec![json!(example)],
            ("string", None) => vec![json!("ABC")],
            _ => Box::pin(described(adapter, &json!({ "type": name }), depth)).await,
        };
    }
    let is_count = |count: &str| count.bytes().all(|digit| digit.is_ascii_digit());
    let list = name.strip_suffix(']').and_then(|it| it.rsplit_once('['));
    if let Some((item, count)) = list.filter(|(item, count)| !item.is_empty() && is_count(count)) {
        let items = Box::pin(described(adapter, &json!({ "type": item }), depth + 1)).await;
        let count = count.parse().unwrap_or(items.len());
        return vec![items.into_iter().cycle().take(count).collect()];
    }
    if let Some(names) = name.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
        let mut items = Vec::new();
        for name in separated(names) {
            let entry = json!({ "type": name });
            match Box::pin(described(adapter, &entry, depth + 1)).await.into_iter().next() {
                Some(item) => items.push(item),
                // The item would exceed the maximum depth.
                None => return Vec::new(),
            }
        }
        return vec![items.into()];
    }
    of_type(adapter, name, depth).await
}

/// Splits a string at the commas outside of brackets.
fn separated(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut open = 0;
    for letter in text.chars() {
        match letter {
            '[' | '(' => open += 1,
            ']' | ')' => open -= 1,
            ',' if open == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut().unwrap().push(letter);
    }
    parts.iter().map(|part| part.trim().to_owned()).collect()
}

fn number(minimum: f64) -> Value {
    json!(minimum.ceil() as i64)
}

fn text(entry: &Value) -> Value {
    match (entry["pattern"].as_str(), entry["format"].as_str()) {
        (Some("^[A-Z]+$"), _) => json!("ABC"),
        (_, Some("uuid")) => json!("67e55044-10b1-426f-9247-bb680e5fe0c8"),
        (_, Some("date-time")) => json!("2031-05-06T10:30:00Z"),
        (_, Some("partial-date-time")) => json!("2031-05-06T10:30:00"),
        (_, Some("date")) => json!("2031-05-06"),
        (_, Some("partial-time")) => json!("10:30:00"),
        (_, Some("ip")) => json!("192.0.2.1"),
        _ => json!("a"),
    }
}

/// Generates values of a named type.
async fn of_type(adapter: &Adapter, name: &str, depth: usize) -> Vec<Value> {
    if depth > MAX_DEPTH {
        return Vec::new();
    }
    let details = ask(adapter, json!({ "query": "types", "name": name })).await;
    let details = &details["type"];
    let list = |key: &str| details[key].as_array().cloned().unwrap_or_default();
    match details["kind"].as_str() {
        Some("enum") => list("values"),
        Some("object") => object(adapter, &list("fields"), depth).await,
        Some("union") => {
            let mut all = Vec::new();
            for member in list("members") {
                all.extend(
                    Box::pin(described(adapter, &json!({ "type": member }), depth + 1)).await,
                );
            }
            all
        }
        _ => match details["description"].as_str().and_then(|it| it.split_once("Form: ")) {
            Some((_, form)) => {
                Box::pin(of_name(adapter, form.strip_suffix('.').unwrap(), depth)).await
            }
            None => Vec::new(),
        },
    }
}

/// Generates objects with the required fields, with all fields, and with each value of each field.
async fn object(adapter: &Adapter, fields: &[Value], depth: usize) -> Vec<Value> {
    let mut required = Map::new();
    let mut choices = Vec::new();
    for field in fields {
        let name = field["name"].as_str().unwrap_or_default().to_owned();
        let values = Box::pin(described(adapter, field, depth + 1)).await;
        match values.first() {
            Some(first) if field["required"] == true => {
                required.insert(name.clone(), first.clone());
            }
            // The field would exceed the maximum depth.
            None if field["required"] == true => return Vec::new(),
            _ => {}
        }
        choices.extend(values.into_iter().map(|value| (name.clone(), value)));
    }
    let mut all = vec![Value::Object(required.clone())];
    for (name, value) in choices {
        let mut object = required.clone();
        object.insert(name, value);
        let object = object.into();
        if !all.contains(&object) {
            all.push(object);
        }
    }
    all
}
