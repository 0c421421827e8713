//! What is read of a tool's input schema.

use rmcp::model::Tool;
use serde_json::{Map, Value};

/// What arguments may be: how long a text, how large a number.
#[derive(Debug, Clone, Default)]
pub(super) struct Bounds {
    /// By path.
    texts: Vec<(Vec<String>, usize)>,
    numbers: Vec<(Vec<String>, (u64, u64))>,
    /// No larger limit is asked for anyway.
    most: usize,
}

impl Bounds {
    /// Of the arguments of a tool.
    pub(super) fn of(tool: &Tool, most: usize) -> Self {
        let mut bounds = Self { most, ..Self::default() };
        for (name, property) in members(&tool.input_schema, "properties").into_iter().flatten() {
            bounds.add(vec![name.clone()], property);
        }
        bounds
    }

    /// Of nothing yet.
    pub(super) fn new(most: usize) -> Self {
        Self { most, ..Self::default() }
    }

    /// What a schema, or a parameter that introspection tells of, says of an argument.
    pub(super) fn add(&mut self, path: Vec<String>, schema: &Value) {
        let whole = |name: &str| schema.get(name).and_then(Value::as_u64);
        if let Some(longest) = whole("maxLength").and_then(|most| usize::try_from(most).ok()) {
            self.texts.push((path.clone(), longest));
        }
        let most = whole("maximum")
            .or_else(|| whole("exclusiveMaximum").map(|most| most.saturating_sub(1)));
        let least = whole("minimum");
        if least.is_some() || most.is_some() {
            self.numbers.push((path, (least.unwrap_or(0), most.unwrap_or(u64::MAX))));
        }
    }

    /// So many characters are allowed there.
    pub(super) fn longest(&self, path: &[&str]) -> Option<usize> {
        self.texts.iter().find(|(each, _)| each == path).map(|(_, longest)| *longest)
    }

    /// So many results may be asked for there.
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

/// The names of all arguments.
pub(super) fn properties(tool: &Tool) -> impl Iterator<Item = &str> {
    members(&tool.input_schema, "properties").into_iter().flatten().map(|(name, _)| name.as_str())
}

/// What the schema says of an argument.
pub(super) fn property<'t>(tool: &'t Tool, name: &str) -> Option<&'t Value> {
    tool.input_schema.get("properties")?.get(name)
}

/// The arguments that there have to be.
pub(super) fn required(tool: &Tool) -> impl Iterator<Item = &str> {
    let required = tool.input_schema.get("required").and_then(Value::as_array);
    required.into_iter().flatten().filter_map(Value::as_str)
}

/// Some schemas say of what has a default that it has to be there.
pub(super) fn has_default(tool: &Tool, name: &str) -> bool {
    property(tool, name).is_some_and(|property| property.get("default").is_some())
}

/// Whether a value may be of this type.
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

/// Whether any text will do.
pub(super) fn is_free_text(schema: &Value) -> bool {
    is_a(schema, "string")
        && ["enum", "const", "format", "pattern"].into_iter().all(|it| schema.get(it).is_none())
}

/// Whether a list of texts will do.
pub(super) fn is_texts(schema: &Value) -> bool {
    is_a(schema, "array") && schema.get("items").is_some_and(is_free_text)
}
