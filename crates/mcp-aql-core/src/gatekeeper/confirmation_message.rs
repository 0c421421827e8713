//! Fills the placeholders of confirmation messages with the values of a call.

use serde_json::Value;

use crate::observe::redact::{masked, shows};
use crate::operation::{Parameter, RegisteredOperation};
use crate::schema::Argument;
use crate::schema::shape::Shapes;

/// Maximum number of characters of a value in a message.
const MAX_VALUE_CHARS: usize = 200;
/// Shown for a field of `input` not sent by the caller.
const UNCHANGED: &str = "[unchanged]";
/// Shown for a missing argument, or for null.
const NONE: &str = "none";
/// Shown for a field of `input` removed by the call.
const REMOVED: &str = "null";
/// Maximum number of characters of the question from a preview.
pub(super) const MAX_QUESTION_CHARS: usize = 2_000;

/// Returns the names of the placeholders in a confirmation message, or a description of its syntax error. Write `{{` or
/// `}}` for a literal brace.
pub(super) fn placeholders(message: &str) -> Result<Vec<&str>, String> {
    let mut slots = Vec::new();
    each_part(message, |part| {
        if let Part::Placeholder(name) = part {
            slots.push(name);
        }
    })?;
    Ok(slots)
}

/// Checks that each placeholder of an operation's confirmation message is a parameter or a part of one.
pub(crate) fn check(operation: &RegisteredOperation, shapes: &Shapes, problems: &mut Vec<String>) {
    let Some(text) = operation.spec.danger.confirmation_message else { return };
    let fault =
        |fault: String| format!("operation `{}`: its confirmation message {fault}", operation.name);
    let placeholders = match placeholders(text) {
        Ok(placeholders) => placeholders,
        Err(problem) => return problems.push(fault(format!("is invalid: {problem}"))),
    };
    for placeholder in placeholders {
        let mut path = placeholder.split('.');
        let root = path.next().unwrap_or_default();
        match operation.parameters.iter().find(|parameter| &*parameter.name == root) {
            None => {
                problems.push(fault(format!("names an unknown parameter: `{placeholder}`")));
            }
            Some(_) if placeholder == root => {}
            Some(parameter) if !shows(parameter, path, shapes) => problems.push(fault(format!(
                "shows `{placeholder}`, but `{root}` has no such field, or it cannot be shown"
            ))),
            Some(_) => {}
        }
    }
}

/// Fills a confirmation message with the values of the call (REQ-DNG-05). Sensitive values are masked, also in objects.
pub(super) fn fill(
    message: &str,
    parameters: &[Parameter],
    arguments: &[Argument],
    shapes: &Shapes,
) -> String {
    fill_with(message, |placeholder| {
        let mut path = placeholder.split('.');
        let root = path.next()?;
        let mut places = parameters.iter().zip(arguments);
        let (parameter, argument) = places.find(|(_, argument)| argument.name == root)?;
        let value = masked(parameter, argument.value.as_ref()?, shapes);
        if placeholder == root {
            return Some(distinct(value));
        }
        let part = path.try_fold(&value, |value, name| match value {
            // Removing an object removes its fields.
            Value::Null => Some(value),
            value => value.get(name),
        });
        match (part, &parameter.input) {
            (None, Some(_)) => Some(UNCHANGED.into()),
            (Some(Value::Null), Some(_)) => Some(REMOVED.into()),
            (part, _) => part.cloned().map(distinct),
        }
    })
}

/// Returns one line for each argument of the call. Sensitive values are masked, and long values are shortened.
///
/// ```text
/// account_id: a-7
/// password: [redacted]
/// ```
pub(super) fn values<'a>(
    parameters: &'a [Parameter],
    arguments: &'a [Argument],
    shapes: &'a Shapes,
) -> impl Iterator<Item = String> + 'a {
    parameters.iter().zip(arguments).filter_map(|(parameter, argument)| {
        let value = masked(parameter, argument.value.as_ref()?, shapes);
        Some(format!("{}: {}", argument.name, display(Some(value))))
    })
}

/// Fills the placeholders of a message. A placeholder without a value becomes `none`.
///
/// ```
/// use mcp_aql_core::internal::gatekeeper::fill_with;
/// use serde_json::Value;
///
/// let message = fill_with("Delete {task_id}?", |name| (name == "task_id").then(|| Value::from("t-7")));
/// assert_eq!(message, "Delete t-7?");
/// ```
pub fn fill_with(message: &str, value: impl Fn(&str) -> Option<Value>) -> String {
    let mut text = String::new();
    let outcome = each_part(message, |part| match part {
        Part::Text(part) => text.push_str(part),
        Part::Placeholder(name) => text.push_str(&display(value(name))),
    });
    // `build` has already checked the message.
    if outcome.is_ok() { text } else { message.to_owned() }
}

/// Quotes a caller's string if it equals one of the words with a special meaning, such as `none`.
fn distinct(value: Value) -> Value {
    match value {
        Value::String(text) if [UNCHANGED, REMOVED, NONE].contains(&text.trim()) => {
            Value::String(format!("\"{text}\""))
        }
        value => value,
    }
}

fn display(value: Option<Value>) -> String {
    match value {
        None | Some(Value::Null) => NONE.to_owned(),
        Some(Value::String(text)) => plain(&text, MAX_VALUE_CHARS),
        Some(value) => plain(&value.to_string(), MAX_VALUE_CHARS),
    }
}

/// Makes a caller's string safe to show to a person. It becomes one line of limited length. Invisible characters, and
/// characters that change the direction of writing, are replaced.
pub(crate) fn plain(text: &str, max_chars: usize) -> String {
    let mut short: String = text
        .chars()
        .take(max_chars)
        .map(|each| if mcp_aql_text::is_hidden(each) { '\u{fffd}' } else { each })
        .collect();
    if text.chars().nth(max_chars).is_some() {
        short.push('…');
    }
    short
}

enum Part<'a> {
    Text(&'a str),
    Placeholder(&'a str),
}

fn each_part<'a>(message: &'a str, mut part: impl FnMut(Part<'a>)) -> Result<(), String> {
    let mut rest = message;
    while let Some(place) = rest.find(['{', '}']) {
        let (text, tail) = rest.split_at(place);
        part(Part::Text(text));
        if let Some(tail) = tail.strip_prefix("{{") {
            part(Part::Text("{"));
            rest = tail;
        } else if let Some(tail) = tail.strip_prefix("}}") {
            part(Part::Text("}"));
            rest = tail;
        } else if let Some((name, tail)) =
            tail.strip_prefix('{').and_then(|tail| tail.split_once('}'))
        {
            part(Part::Placeholder(name));
            rest = tail;
        } else {
            return Err("a brace is not paired: write `{{` or `}}` for a literal brace".to_owned());
        }
    }
    part(Part::Text(rest));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn slots_are_filled_with_what_the_call_says() {
        // REQ-DNG-05
        let arguments = json!({ "task_id": "t\u{202e}1", "ids": [1, 2] });
        let text = fill_with("{{{task_id}}} {ids} {why}!", |name| arguments.get(name).cloned());
        assert_eq!(text, "{t\u{fffd}1} [1,2] none!");
        assert_eq!(placeholders("Delete {task_id} of {board}?"), Ok(vec!["task_id", "board"]));
        assert_eq!(placeholders("{{none}}"), Ok(vec![]));
        assert!(placeholders("Delete {task_id?").is_err());
        assert!(placeholders("Delete task_id}?").is_err());
    }

    #[test]
    fn long_values_are_cut_visibly() {
        let text = fill_with("{text}", |_| Some(json!("x".repeat(500))));
        assert_eq!(text.chars().count(), MAX_VALUE_CHARS + 1);
    }
}
