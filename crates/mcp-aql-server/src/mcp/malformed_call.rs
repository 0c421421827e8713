//! Error messages for tool calls with malformed parameters.

use std::collections::HashMap;

use serde_json::value::RawValue;

/// A `tools/call` with malformed parameters.
#[derive(Debug)]
pub struct MalformedCall {
    /// The invalid member, or `params`.
    pub field: &'static str,
    /// The reason, as a sentence without a subject: "Must be an object, got a list".
    pub reason: String,
}

impl MalformedCall {
    /// Finds the mistake in these parameters. They must be valid JSON.
    pub(crate) fn find(params: Option<&str>) -> Self {
        let fault = |field, reason: String| Self { field, reason };
        let wrong =
            |field, expected, got| fault(field, format!("Must be {expected}, got {}", kind(got)));
        let other = || {
            let reason = "Has members of a form unknown to `tools/call`";
            fault("params", reason.to_owned())
        };
        let Some(params) = params else { return fault("params", "Is required".to_owned()) };
        if !params.trim_ascii_start().starts_with('{') {
            return wrong("params", "an object", params);
        }
        let Ok(members) = serde_json::from_str::<HashMap<String, &RawValue>>(params) else {
            return other();
        };
        let member = |name| members.get(name).map(|value| value.get());
        match (member("name"), member("arguments")) {
            (None, _) => fault("name", "Is required".to_owned()),
            (Some(name), _) if !name.starts_with('"') => wrong("name", "a string", name),
            (_, Some(arguments)) if !arguments.starts_with('{') => {
                wrong("arguments", "an object", arguments)
            }
            _ => other(),
        }
    }
}

/// Returns the type of a JSON value, for an error message.
fn kind(json: &str) -> &'static str {
    match json.trim_ascii_start().bytes().next() {
        Some(b'n') => "null",
        Some(b't' | b'f') => "a boolean",
        Some(b'"') => "a string",
        Some(b'[') => "a list",
        Some(b'{') => "an object",
        _ => "a number",
    }
}
