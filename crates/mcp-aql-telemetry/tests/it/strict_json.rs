//! A JSON parser that rejects objects with repeated members.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// A JSON value without repeated members.
pub(crate) struct StrictJson;

impl<'de> Deserialize<'de> for StrictJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = StrictJson;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON without repeated members")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<StrictJson, A::Error> {
        let mut names = BTreeSet::new();
        while let Some((name, _)) = members.next_entry::<String, StrictJson>()? {
            if !names.insert(name.clone()) {
                return Err(A::Error::custom(format!("the member {name:?} is repeated")));
            }
        }
        Ok(StrictJson)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<StrictJson, A::Error> {
        while items.next_element::<StrictJson>()?.is_some() {}
        Ok(StrictJson)
    }

    fn visit_bool<E>(self, _: bool) -> Result<StrictJson, E> {
        Ok(StrictJson)
    }

    fn visit_i64<E>(self, _: i64) -> Result<StrictJson, E> {
        Ok(StrictJson)
    }

    fn visit_u64<E>(self, _: u64) -> Result<StrictJson, E> {
        Ok(StrictJson)
    }

    fn visit_f64<E>(self, _: f64) -> Result<StrictJson, E> {
        Ok(StrictJson)
    }

    fn visit_str<E>(self, _: &str) -> Result<StrictJson, E> {
        Ok(StrictJson)
    }

    fn visit_unit<E>(self) -> Result<StrictJson, E> {
        Ok(StrictJson)
    }
}

/// Checks that each line is a JSON object without repeated members.
pub(crate) fn assert_strict(log: &str) {
    for line in log.lines() {
        let parsed: Result<StrictJson, _> = serde_json::from_str(line);
        assert!(line.starts_with('{') && parsed.is_ok(), "{:?}: {line}", parsed.err());
    }
}

#[test]
fn repeated_members_are_found_at_every_depth() {
    for (text, is_strict) in [
        (r#"{"a":1,"b":{"a":[2.5,-1,null,true,"a"]}}"#, true),
        (r#"{"a":1,"a":1}"#, false),
        (r#"{"a":[{"b":{"c":1,"d":2,"c":3}}]}"#, false),
    ] {
        assert_eq!(serde_json::from_str::<StrictJson>(text).is_ok(), is_strict, "{text}");
    }
}
