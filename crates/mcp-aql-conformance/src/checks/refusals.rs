//! Finds the hints for the next call in the rejection of a mistaken call: names, types and allowed values.

use serde_json::Value;

use crate::call::{Exchange, Failure};

/// Maximum number of allowed values that a rejection is expected to list.
const MAX_LISTED_VALUES: usize = 12;
/// Minimum length of a value to also find it inside a longer word, as `task` in `tasks`.
const MIN_PART_LETTERS: usize = 4;

/// A JSON type and the words for it in messages.
struct JsonType {
    /// Words for the type, in the singular.
    words: &'static [&'static str],
    /// Returns a value of the type.
    sample: fn() -> Value,
}

const JSON_TYPES: [JsonType; 5] = [
    JsonType { words: &["string", "str", "text"], sample: || "text".into() },
    JsonType {
        words: &["integer", "int", "number", "float", "double", "decimal"],
        sample: || 1.into(),
    },
    JsonType { words: &["boolean", "bool"], sample: || true.into() },
    JsonType { words: &["array", "list"], sample: || Value::Array(Vec::new()) },
    JsonType {
        words: &["object", "map", "dict", "dictionary"],
        sample: || Value::Object(serde_json::Map::new()),
    },
];

/// Returns `true` if `text` contains `words`, and not only as part of longer words.
pub(super) fn has_word(text: &str, words: &str) -> bool {
    let is_part = |letter: Option<char>| letter.is_some_and(|it| it.is_alphanumeric() || it == '_');
    !words.is_empty()
        && text.match_indices(words).any(|(at, _)| {
            let (before, rest) = text.split_at(at);
            let after = rest.strip_prefix(words).and_then(|after| after.chars().next());
            !is_part(before.chars().next_back()) && !is_part(after)
        })
}

/// Returns a name with two letters swapped, for example `ttile` for `title`.
///
/// Returns `None` if the name is too short for a recognizable mistake.
pub(super) fn misspelt(name: &str) -> Option<String> {
    const MIN_LETTERS: usize = 4;
    let mut letters: Vec<char> = name.chars().collect();
    if letters.len() < MIN_LETTERS {
        return None;
    }
    let is_swappable = |pair: &[char]| matches!(pair, [a, b] if a != b && *a != '_' && *b != '_');
    let at = letters.windows(2).skip(1).position(is_swappable)? + 1;
    letters.swap(at, at + 1);
    Some(letters.into_iter().collect())
}

/// The rejection of a call for its parameters: a failure with one of the codes `VALIDATION_…`.
pub(super) struct Refusal<'a> {
    pub(super) failure: Failure<'a>,
    /// The message, and the names and values of all details, one per line.
    text: String,
}

impl<'a> Refusal<'a> {
    /// Returns the rejection in a reply, if the reply is one.
    pub(super) fn of(exchange: &'a Exchange) -> Option<Self> {
        let failure = exchange.failure().filter(|it| it.code.starts_with("VALIDATION_"))?;
        let mut text = failure.message.to_owned();
        collect(failure.details, &mut text);
        Some(Self { failure, text })
    }

    /// Returns `true` if the message or the details contain this name.
    pub(super) fn mentions(&self, name: &str) -> bool {
        has_word(&self.text, name)
    }

    /// Returns `true` if the message or the details state a valid type: a word for a JSON type accepted by the
    /// condition, the name of the documented type, or the word JSON.
    pub(super) fn states_type(&self, documented: &str, accepts: impl Fn(&Value) -> bool) -> bool {
        let text = self.text.to_lowercase();
        let is_named = |words: &[&str]| {
            words.iter().any(|word| has_word(&text, word) || has_word(&text, &format!("{word}s")))
        };
        self.mentions(documented)
            || has_word(&text, "json")
            || JSON_TYPES.iter().any(|of| accepts(&(of.sample)()) && is_named(of.words))
    }

    /// Returns `true` if the message or the details say that the value must not be a string.
    pub(super) fn rejects_text(&self) -> bool {
        let text = self.text.to_lowercase();
        [
            "not a string",
            "not a text",
            "not text",
            "not as text",
            "not as a string",
            "stringified",
            "double-encoded",
        ]
        .iter()
        .any(|words| text.contains(words))
    }

    /// Returns `true` if the message or the details list the allowed values, also as parts of longer words.
    ///
    /// If the list is long, one value or the advice to call `introspect` is sufficient.
    pub(super) fn lists(&self, values: &[Value]) -> bool {
        let text = self.text.to_lowercase();
        let has = |value: &Value| match value {
            Value::String(value) => {
                let value = value.to_lowercase();
                let is_long = value.chars().count() >= MIN_PART_LETTERS;
                value.trim().is_empty()
                    || has_word(&text, &value)
                    || (is_long && text.contains(&value))
            }
            value => has_word(&text, &value.to_string()),
        };
        if values.len() <= MAX_LISTED_VALUES {
            values.iter().all(has)
        } else {
            values.iter().any(has) || self.mentions("introspect")
        }
    }

    /// Returns `true` if the rejection concerns another parameter than this one, according to its details.
    pub(super) fn is_about_other(&self, name: &str) -> bool {
        let named = self.failure.details.get("param_name").and_then(Value::as_str);
        named.is_some_and(|named| !has_word(named, name))
    }
}

/// Returns `true` if a stated type only names JSON types that the condition rejects. A statement without the name of a
/// type is not wrong.
pub(super) fn states_wrong_type(stated: &str, accepts: impl Fn(&Value) -> bool) -> bool {
    let stated = stated.to_lowercase();
    let mut named = stated
        .split(|letter: char| !letter.is_ascii_alphanumeric())
        .filter_map(|word| {
            let word = word.strip_suffix('s').unwrap_or(word);
            JSON_TYPES.iter().find(|of| of.words.contains(&word)).map(|of| (of.sample)())
        })
        .peekable();
    named.peek().is_some() && !named.any(|sample| accepts(&sample))
}

/// Appends the strings and numbers of a value and the names of its members, each on its own line.
fn collect(value: &Value, text: &mut String) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                text.push('\n');
                text.push_str(name);
                collect(member, text);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, text)),
        Value::String(part) => {
            text.push('\n');
            text.push_str(part);
        }
        Value::Number(number) => {
            text.push('\n');
            text.push_str(&number.to_string());
        }
        Value::Null | Value::Bool(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::call::Reply;

    fn exchange(error: Value) -> Exchange {
        let body = json!({ "success": false, "error": error });
        let reply = Reply::Result { raw: Value::Null, body: Some(body) };
        Exchange { tool: "mcp_aql".to_owned(), arguments: Value::Null, reply }
    }

    #[test]
    fn matches_whole_words_only() {
        for (message, words) in [("id is missing", "id"), ("no such 'x'", "x"), ("a b, c", "b, c")]
        {
            assert!(has_word(message, words), "{message}");
        }
        for (message, words) in [("Invalid", "id"), ("an execution", "x"), ("bed_id", "id")] {
            assert!(!has_word(message, words), "{message}");
        }
    }

    #[test]
    fn swaps_two_letters_of_a_word() {
        for name in ["title", "bed_id", "sort", "include_items", "aab_c"] {
            let changed = misspelt(name).unwrap();
            assert_ne!(changed, name);
            assert!(!has_word(&changed, name), "{changed}");
            let sorted = |name: &str| {
                let mut letters: Vec<_> = name.chars().collect();
                letters.sort_unstable();
                letters
            };
            assert_eq!(sorted(&changed), sorted(name));
        }
        for short in ["id", "to", "a_b_c", "aaaa"] {
            assert_eq!(misspelt(short), None, "{short}");
        }
    }

    #[test]
    fn reads_messages_in_any_words_and_details_in_any_form() {
        let values = [json!("open"), json!("in progress"), json!(3)];
        for error in [
            json!({ "code": "VALIDATION_INVALID_VALUE", "message": "status? Open, in progress or 3!" }),
            json!({ "code": "VALIDATION_X", "message": "no", "details": {
                "status": { "choices": ["open", "in progress", 3] },
            } }),
        ] {
            let exchange = exchange(error);
            let refusal = Refusal::of(&exchange).unwrap();
            assert!(refusal.mentions("status") && refusal.lists(&values), "{}", refusal.text);
            assert!(!refusal.lists(&[json!("ope")]), "{}", refusal.text);
        }
        let plural =
            exchange(json!({ "code": "VALIDATION_X", "message": "Only starters and mains" }));
        let plural = Refusal::of(&plural).unwrap();
        assert!(
            plural.lists(&[json!("starter"), json!("main")]) && !plural.lists(&[json!("and s")])
        );
        let other = exchange(json!({ "code": "NOT_FOUND_RESOURCE", "message": "status" }));
        assert!(Refusal::of(&other).is_none());
    }

    #[test]
    fn long_lists_of_values_need_not_be_repeated() {
        let values: Vec<Value> = (0..20).map(|number| json!(format!("value-{number}"))).collect();
        let lists = |message: &str| {
            let exchange = exchange(json!({ "code": "VALIDATION_X", "message": message }));
            Refusal::of(&exchange).unwrap().lists(&values)
        };
        assert!(lists("Unknown; did you mean 'value-7'?") && lists("Call introspect for all"));
        assert!(!lists("Unknown value"));
    }

    #[test]
    fn recognizes_types_in_other_words() {
        let is_number = |value: &Value| value.is_number();
        for right in ["integer", "a number", "string or integer", "ints", "Celsius", ""] {
            assert!(!states_wrong_type(right, is_number), "{right}");
        }
        for wrong in ["string", "an array of objects", "Boolean"] {
            assert!(states_wrong_type(wrong, is_number), "{wrong}");
        }
        let stated = |message: &str| {
            let exchange = exchange(json!({ "code": "VALIDATION_X", "message": message }));
            Refusal::of(&exchange).unwrap().states_type("TaskFilter", Value::is_object)
        };
        assert!(stated("Pass JSON") && stated("a TaskFilter, please") && stated("no dict: input"));
        assert!(!stated("filter is wrong"));
    }
}
