//! Compares updates of random documents with a merge patch (RFC 7396) of their text.

use std::fmt;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};

use super::documents::{Settings, in_sqlite};

/// JSON that keeps the spelling of numbers and strings.
#[derive(Debug, Clone, PartialEq)]
enum Json {
    Plain(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    fn read(text: &str) -> Self {
        let mut reader = Reader(text);
        let value = reader.value();
        assert_eq!(reader.0.trim(), "", "{text}");
        value
    }

    /// Applies a merge patch, as the pseudocode of RFC 7396 does.
    fn merged(self, patch: &Value) -> Self {
        let Value::Object(patch) = patch else { return Self::read(&patch.to_string()) };
        let mut members = match self {
            Self::Object(members) => members,
            _ => Vec::new(),
        };
        for (name, value) in patch {
            let place = members.iter().position(|(known, _)| known == name);
            match (value, place) {
                (Value::Null, Some(place)) => _ = members.remove(place),
                (Value::Null, None) => {}
                (_, Some(place)) => members[place].1 = members[place].1.clone().merged(value),
                (_, None) => {
                    members.push((name.clone(), Self::Plain("null".to_owned()).merged(value)));
                }
            }
        }
        Self::Object(members)
    }
}

impl fmt::Display for Json {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(text) => formatter.write_str(text),
            Self::List(entries) => {
                let entries: Vec<_> = entries.iter().map(ToString::to_string).collect();
                write!(formatter, "[{}]", entries.join(","))
            }
            Self::Object(members) => {
                let member = |(name, value): &(String, Self)| format!("{}:{value}", json!(name));
                let members: Vec<_> = members.iter().map(member).collect();
                write!(formatter, "{{{}}}", members.join(","))
            }
        }
    }
}

/// Reads valid JSON from the front of a string.
struct Reader<'a>(&'a str);

impl Reader<'_> {
    fn next_is(&mut self, letter: char) -> bool {
        self.0 = self.0.trim_start();
        let rest = self.0.strip_prefix(letter);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn value(&mut self) -> Json {
        if self.next_is('[') {
            let mut entries = Vec::new();
            while !self.next_is(']') {
                entries.push(self.value());
                self.next_is(',');
            }
            return Json::List(entries);
        }
        if self.next_is('{') {
            let mut members = Vec::new();
            while !self.next_is('}') {
                let Json::Plain(key) = self.value() else { panic!("{}", self.0) };
                assert!(self.next_is(':'), "{}", self.0);
                members.push((serde_json::from_str(&key).unwrap(), self.value()));
                self.next_is(',');
            }
            return Json::Object(members);
        }
        let mut is_quoted = false;
        let mut is_escaped = false;
        let end = self.0.char_indices().find(|(place, letter)| {
            let is_end = match letter {
                _ if is_escaped => false,
                '"' if *place > 0 => {
                    return {
                        is_quoted = false;
                        false
                    };
                }
                ',' | ']' | '}' | ':' | ' ' | '\n' => !is_quoted,
                _ => false,
            };
            is_quoted |= *place == 0 && *letter == '"';
            is_escaped = *letter == '\\' && !is_escaped;
            is_end
        });
        let (text, rest) = self.0.split_at(end.map_or(self.0.len(), |(place, _)| place));
        self.0 = rest;
        Json::Plain(text.to_owned())
    }
}

/// Numbers, of which no `f64` holds some, and strings with escapes.
const PLAIN: [&str; 16] = [
    "18446744073709551616",
    "1e400",
    "-0",
    "-0.0",
    "0.10000000000000000001",
    "1.500",
    "1E+2",
    "7",
    "123456789012345678901234567890",
    "true",
    "null",
    r#""a""#,
    r#""\u0041\n\"\\""#,
    r#""\ud83d\ude00, [x] {y}: z""#,
    r#""\ud800""#,
    r#""""#,
];

fn any_json() -> impl Strategy<Value = Json> {
    let plain = select(&PLAIN[..]).prop_map(|text| Json::Plain(text.to_owned()));
    plain.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Json::List),
            any_object(inner).prop_map(Json::Object),
        ]
    })
}

fn any_object(value: impl Strategy<Value = Json>) -> impl Strategy<Value = Vec<(String, Json)>> {
    let name = select(vec!["x", "y", "a\"b", "é", "\u{1F600}", "colours", "Level"]);
    prop::collection::btree_map(name, value, 0..4).prop_map(|members| {
        members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    })
}

/// Returns documents of settings. Some of their members have another type.
fn any_settings() -> impl Strategy<Value = Json> {
    let member = |name: &'static str, values: &[&'static str]| {
        let value = prop_oneof![
            5 => select(values.to_vec()).prop_map(Json::read),
            1 => any_json(),
        ];
        prop::option::weighted(0.8, value.prop_map(move |value| (name.to_owned(), value)))
    };
    let network = [r#"{"host":"a","mtu":1.50}"#, r#"{"host":"a","port":1}"#, "null"];
    let declared = (
        member("colour", &[r#""red""#, r#""\u0072ed""#]),
        member("level", &["1.50", "0.10000000000000000001", "null", "18446744073709551616"]),
        member("starts", &["0", "18446744073709551615"]),
        member("network", &network),
        member("levels", &["{}", r#"{"a":1.50,"b":1e2}"#]),
    );
    (declared, any_object(any_json())).prop_map(
        |((colour, level, starts, network, levels), other)| {
            let declared = [colour, level, starts, network, levels].into_iter().flatten();
            Json::Object(other.into_iter().chain(declared).collect())
        },
    )
}

/// Returns patches of settings.
fn any_patch() -> impl Strategy<Value = Value> {
    let member = |name: &'static str, values: Vec<Value>| {
        let value = select(values).prop_map(move |value| (name.to_owned(), value));
        prop::option::weighted(0.4, value)
    };
    let members = (
        member("colour", vec![json!("blue"), json!("a\"\u{1F600}")]),
        member("level", vec![json!(null), json!(0.5), json!(2.0)]),
        member("starts", vec![json!(0), json!(u64::MAX)]),
        member(
            "network",
            vec![json!(null), json!({ "host": "b" }), json!({ "host": "c", "port": null })],
        ),
        member("levels", vec![json!({}), json!({ "a": null, "c": 1.5 })]),
    );
    members.prop_map(|(colour, level, starts, network, levels)| {
        let members = [colour, level, starts, network, levels].into_iter().flatten();
        Value::Object(Map::from_iter(members))
    })
}

fn any_open_patch() -> impl Strategy<Value = Value> {
    let leaf = select(vec![json!(null), json!(1), json!(0.5), json!("b"), json!([{ "x": null }])]);
    let name = || select(vec!["x", "y", "é", "new"]);
    let object = move |value: BoxedStrategy<Value>| {
        prop::collection::btree_map(name(), value, 0..4).prop_map(|members| {
            let members = members.into_iter().map(|(name, value)| (name.to_owned(), value));
            Value::Object(members.collect())
        })
    };
    let value = leaf.prop_recursive(2, 8, 3, move |inner| object(inner.boxed())).boxed();
    prop::collection::btree_map(select(vec!["x", "y", "new"]), value, 0..4).prop_map(|members| {
        let members = members.into_iter().map(|(name, value)| (name.to_owned(), value));
        Value::Object(members.collect())
    })
}

#[test]
fn an_update_is_a_merge_patch_of_the_text() {
    // REQ-UPD-07, REQ-UPD-08, REQ-UPD-10, REQ-UPD-11
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let fixture = in_sqlite();
    let cases = (any_settings(), any_patch(), any_object(any_json()), any_open_patch());
    let valid = std::cell::Cell::new(0);
    let mut runner =
        TestRunner::new(Config { cases: 1_000, failure_persistence: None, ..Config::default() });
    let result = runner.run(&cases, |(settings, patch, extra, open_patch)| {
        let extra = Json::Object(extra);
        for (column, stored, patch) in
            [("settings", &settings, patch), ("extra", &extra, open_patch)]
        {
            let text = stored.to_string();
            let merged = stored.clone().merged(&patch);
            let is_valid = match column {
                "settings" => serde_json::from_str::<Settings>(&merged.to_string()).is_ok(),
                _ => serde_json::from_str::<Value>(&merged.to_string()).is_ok(),
            };
            let (reply, found) = runtime.block_on(async {
                let id = fixture.store(column, &text).await;
                let reply = fixture.update(id, json!({ column: patch })).await;
                (reply, fixture.text(column, id).await)
            });
            if is_valid {
                valid.set(valid.get() + 1);
                prop_assert!(reply["device"][column].is_object(), "{} {}: {}", text, patch, reply);
                prop_assert_eq!(Json::read(&found), merged, "{} {}", text, patch);
            } else if patch.as_object().is_some_and(|patch| !patch.is_empty()) {
                prop_assert_eq!(&reply["code"], "VALIDATION_INVALID_VALUE", "{} {}", text, patch);
                prop_assert_eq!(found, text);
            }
        }
        Ok(())
    });
    result.unwrap();
    assert!(valid.get() > 500, "{}", valid.get());
}
