//! Reads a tool's input schema.

use rmcp::model::Tool;
use serde_json::{Map, Value};

/// Limits of arguments: maximum lengths of strings and ranges of numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct ArgumentLimits {
    /// Maximum length of strings in characters, by path.
    texts: Vec<(Vec<String>, usize)>,
    numbers: Vec<(Vec<String>, (u64, u64))>,
    /// Maximum limit to request.
    most: usize,
}

impl ArgumentLimits {
    /// Reads the limits of a tool's arguments.
    pub(super) fn of(tool: &Tool, most: usize) -> Self {
        let mut bounds = Self { most, ..Self::default() };
        for (name, property) in members(&tool.input_schema, "properties").into_iter().flatten() {
            bounds.add(vec![name.clone()], property);
        }
        bounds
    }

    /// Creates limits without any argument.
    pub(super) fn new(most: usize) -> Self {
        Self { most, ..Self::default() }
    }

    /// Adds the limits of an argument from its schema, or from its parameter in introspection.
    pub(super) fn add(&mut self, path: Vec<String>, schema: &Value) {
        let whole = |schema: &Value, name: &str| schema.get(name).and_then(as_whole);
        // A keyword next to `anyOf` applies to each of its choices.
        let text = of_kind(schema, "string").into_iter().chain([schema]);
        let longest = text.filter_map(|it| whole(it, "maxLength")).min();
        if let Some(longest) = longest.and_then(|most| usize::try_from(most).ok()) {
            self.texts.push((path.clone(), longest));
        }
        let number = of_kind(schema, "integer").or_else(|| of_kind(schema, "number"));
        let number: Vec<_> = number.into_iter().chain([schema]).collect();
        let most = number.iter().filter_map(|it| {
            whole(it, "maximum")
                .or_else(|| whole(it, "exclusiveMaximum").map(|most| most.saturating_sub(1)))
        });
        let least = number.iter().filter_map(|it| whole(it, "minimum"));
        let (least, most) = (least.max(), most.min());
        if least.is_some() || most.is_some() {
            self.numbers.push((path, (least.unwrap_or(0), most.unwrap_or(u64::MAX))));
        }
    }

    /// Returns the maximum length of the argument at a path, in characters.
    pub(super) fn longest(&self, path: &[&str]) -> Option<usize> {
        self.texts.iter().find(|(each, _)| each == path).map(|(_, longest)| *longest)
    }

    /// Returns the number of results to request in the argument at a path.
    pub(super) fn limit(&self, path: &[&str], wanted: usize) -> u64 {
        let wanted = wanted.min(self.most) as u64;
        match self.numbers.iter().find(|(each, _)| each == path) {
            Some((_, (least, most))) => wanted.max(*least).min(*most),
            None => wanted,
        }
    }
}

fn members<'s>(
    schema: &'s Map<String, Value>,
    name: &str,
) -> Option<impl Iterator<Item = (&'s String, &'s Value)>> {
    Some(schema.get(name)?.as_object()?.iter())
}

/// Returns `true` if the tool rejects arguments that its schema does not name.
pub(super) fn is_closed(tool: &Tool) -> bool {
    tool.input_schema.get("additionalProperties") == Some(&Value::Bool(false))
        && !tool.input_schema.contains_key("patternProperties")
}

/// Returns the names of all arguments.
pub(super) fn properties(tool: &Tool) -> impl Iterator<Item = &str> {
    members(&tool.input_schema, "properties").into_iter().flatten().map(|(name, _)| name.as_str())
}

/// Returns the schema of an argument.
pub(super) fn property<'t>(tool: &'t Tool, name: &str) -> Option<&'t Value> {
    tool.input_schema.get("properties")?.get(name)
}

/// Returns the names of the required arguments.
pub(super) fn required(tool: &Tool) -> impl Iterator<Item = &str> {
    let required = tool.input_schema.get("required").and_then(Value::as_array);
    required.into_iter().flatten().filter_map(Value::as_str)
}

/// Returns `true` if an argument has a default. Some schemas list such arguments as required, too.
pub(super) fn has_default(tool: &Tool, name: &str) -> bool {
    property(tool, name).is_some_and(|property| property.get("default").is_some())
}

/// Returns a whole, non-negative number, also if it is written as `30.0`. Cuts off a fraction.
fn as_whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let number = value.as_f64().filter(|number| (0.0..1e15).contains(number))?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is in range"
        )]
        Some(number.floor() as u64)
    })
}

/// Returns the choice of a schema with this type.
fn of_kind<'s>(schema: &'s Value, kind: &str) -> Option<&'s Value> {
    ["anyOf", "oneOf"].into_iter().find_map(|either| {
        let choices = schema.get(either)?.as_array()?;
        choices.iter().find(|choice| choice.get("type").is_some_and(|each| each == kind))
    })
}

/// Returns `true` if a value may be of this type.
pub(super) fn is_a(schema: &Value, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(each)) => each == kind,
        Some(Value::Array(kinds)) => kinds.iter().any(|each| each == kind),
        _ => ["anyOf", "oneOf"].into_iter().any(|either| {
            let choices = schema.get(either).and_then(Value::as_array);
            choices.is_some_and(|choices| {
                choices.iter().any(|choice| choice.get("type").is_some_and(|each| each == kind))
            })
        }),
    }
}

/// Returns `true` if any string is valid.
pub(super) fn is_free_text(schema: &Value) -> bool {
    is_a(schema, "string")
        && of_kind(schema, "string").into_iter().chain([schema]).all(|schema| {
            ["enum", "const", "format", "pattern"].into_iter().all(|it| schema.get(it).is_none())
        })
}

/// Returns `true` if a list of arbitrary strings is valid.
pub(super) fn is_texts(schema: &Value) -> bool {
    is_a(schema, "array") && schema.get("items").is_some_and(is_free_text)
}
