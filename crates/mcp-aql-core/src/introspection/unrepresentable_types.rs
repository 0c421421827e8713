//! Reports types whose values JSON cannot represent well.
//!
//! These are integers of 128 bits, whose digits would be lost, and the times of the standard library, which serde
//! represents in a form that no client sends.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

type Object = Map<String, Value>;

/// Finds such types. Each named type is examined once for each direction.
#[derive(Default)]
pub(super) struct UncarriedTypes {
    examined: BTreeSet<(String, Direction)>,
    /// Problems of named types.
    pub(super) problems: Vec<String>,
}

/// The direction in which clients exchange the values of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Direction {
    Sent,
    Received,
}

impl UncarriedTypes {
    /// Examines a schema, and the types that it refers to. Returns what is wrong with the schema itself; problems of
    /// named types are added to the list.
    pub(super) fn examine(
        &mut self,
        schema: &Value,
        definitions: &Object,
        direction: Direction,
    ) -> Option<&'static str> {
        let mut own = None;
        let mut names = Vec::new();
        walk(schema, "", &mut |part, _| {
            own = own.or_else(|| problem(part, definitions, direction));
            names.extend(reference(part));
        });
        while let Some(name) = names.pop() {
            if !self.examined.insert((name.to_owned(), direction)) {
                continue;
            }
            let Some(definition) = definitions.get(name) else { continue };
            walk(definition, "", &mut |part, field| {
                let found = problem(part, definitions, direction);
                self.problems.extend(found.map(|problem| match field {
                    "" => format!("type `{name}` contains {problem}"),
                    field => format!("type `{name}`: field `{field}` contains {problem}"),
                }));
                names.extend(reference(part));
            });
        }
        own
    }
}

/// Calls `visit` with each part of a schema, and with the name of the field to which the part belongs.
// The recursion is bounded: schemars built the schema, so it is only as deep as the source code of a type.
fn walk<'a>(schema: &'a Value, field: &'a str, visit: &mut dyn FnMut(&'a Object, &'a str)) {
    match schema {
        Value::Object(object) => {
            visit(object, field);
            for (key, value) in object {
                match (key.as_str(), value) {
                    ("properties", Value::Object(properties)) => {
                        properties.iter().for_each(|(name, value)| walk(value, name, visit));
                    }
                    ("default" | "examples" | "enum" | "const", _) => {}
                    _ => walk(value, field, visit),
                }
            }
        }
        Value::Array(parts) => parts.iter().for_each(|part| walk(part, field, visit)),
        _ => {}
    }
}

fn reference(schema: &Object) -> Option<&str> {
    schema.get("$ref")?.as_str()?.rsplit('/').next()
}

/// Returns what is wrong with a part of a schema, and how to fix it.
fn problem(schema: &Object, definitions: &Object, direction: Direction) -> Option<&'static str> {
    match schema.get("format").and_then(Value::as_str) {
        Some("uint128") => {
            return Some(
                "a `u128`, but a JSON number loses its last digits: write `BigInteger<u128>`",
            );
        }
        Some("int128") => {
            return Some(
                "an `i128`, but a JSON number loses its last digits: write `BigInteger<i128>`",
            );
        }
        _ => {}
    }
    let target = definitions.get(reference(schema)?)?;
    let has = |names: [&str; 2]| {
        direction == Direction::Sent
            && target.get("required") == Some(&json!(names))
            && target["properties"].as_object().is_some_and(|it| it.len() == names.len())
    };
    if has(["secs", "nanos"]) {
        return Some(
            "a `std::time::Duration`, but callers would have to send `{ secs, nanos }`: write a number \
             with its unit in the name, such as `timeout_seconds: u64`",
        );
    }
    has(["secs_since_epoch", "nanos_since_epoch"]).then_some(
        "a `std::time::SystemTime`, but callers would have to send two numbers: write a type for \
         date-times, such as `chrono::DateTime<Utc>`",
    )
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use schemars::generate::SchemaSettings;

    use super::*;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is read")]
    struct Job {
        amounts: Vec<Option<u128>>,
        balance: std::collections::BTreeMap<String, i128>,
        limit: Option<std::time::Duration>,
        since: std::time::SystemTime,
        next: Option<Box<Job>>,
        fine: u64,
    }

    fn examined(direction: Direction) -> (Option<&'static str>, Vec<String>) {
        let mut generator = SchemaSettings::draft2020_12().into_generator();
        let schema = generator.subschema_for::<(Job, i128)>().to_value();
        let mut types = UncarriedTypes::default();
        let own = types.examine(&schema, generator.definitions(), direction);
        assert_eq!(types.examine(&schema, generator.definitions(), direction), own);
        (own, types.problems)
    }

    #[test]
    fn each_field_is_reported_once() {
        // REQ-ENC-05
        let (own, problems) = examined(Direction::Sent);
        assert!(own.unwrap().contains("BigInteger<i128>"));
        assert_eq!(problems.len(), 4, "{problems:?}");
        for (field, type_name) in [
            ("amounts", "u128"),
            ("balance", "i128"),
            ("limit", "Duration"),
            ("since", "SystemTime"),
        ] {
            let is_told = |problem: &&String| {
                problem.contains(&format!("field `{field}` contains"))
                    && problem.contains(type_name)
            };
            assert_eq!(problems.iter().filter(is_told).count(), 1, "{field}: {problems:?}");
        }
    }

    #[test]
    fn times_may_be_received() {
        let (_, problems) = examined(Direction::Received);
        assert_eq!(problems.len(), 2, "{problems:?}");
    }
}
