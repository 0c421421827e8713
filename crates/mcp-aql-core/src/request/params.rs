//! The parameters of a call, also those sent as JSON strings.

use std::borrow::Cow;

use mcp_aql_protocol::SizeLimits;
use serde_json::{Map, Value};

use super::json_reader::read_value;
use super::limits::parameter_fits;

/// Number of parameters for which memory is reserved.
const USUAL_PARAMETERS: usize = 6;
/// Maximum number of parameters read one by one. Each is compared with all earlier names, so with more of them the
/// parser finds a repeated name faster.
const MAX_READ_PARAMETERS: usize = 32;

/// The parameters of a call by name. No name repeats.
///
/// This is a list and not a map, because calls have few parameters, and because the names of most calls can borrow
/// from the request.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Params<'a>(Vec<(Cow<'a, str>, Value)>);

impl<'a> Params<'a> {
    /// Reserves memory for the parameters of an ordinary call.
    pub(super) fn for_usual_call() -> Self {
        Self(Vec::with_capacity(USUAL_PARAMETERS))
    }

    /// Adds a parameter whose JSON the scanner has accepted. Returns `None` if the parser must read the call instead:
    ///
    /// - The name or a member of the value repeats.
    /// - The name belongs to metadata or a token.
    /// - There are too many parameters.
    pub(super) fn read(&mut self, name: &'a str, json: &str) -> Option<()> {
        if name.starts_with('_') || self.0.len() == MAX_READ_PARAMETERS || self.contains(name) {
            return None;
        }
        self.0.push((Cow::Borrowed(name), read_scanned(name, json)?));
        Some(())
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &Value> {
        self.0.iter().map(|(_, value)| value)
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.0.iter().any(|(given, _)| given == name)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(given, _)| given == name).map(|(_, value)| value)
    }

    /// Removes a parameter and returns its value.
    pub(crate) fn take(&mut self, name: &str) -> Option<Value> {
        let index = self.0.iter().position(|(given, _)| given == name)?;
        Some(self.0.remove(index).1)
    }

    /// Returns a map with the same parameters.
    pub(crate) fn to_map(&self) -> Map<String, Value> {
        self.clone().into_map()
    }

    pub(crate) fn into_map(self) -> Map<String, Value> {
        self.0.into_iter().map(|(name, value)| (name.into_owned(), value)).collect()
    }
}

impl From<Map<String, Value>> for Params<'_> {
    fn from(params: Map<String, Value>) -> Self {
        Self(params.into_iter().map(|(name, value)| (Cow::Owned(name), value)).collect())
    }
}

impl<'a> IntoIterator for Params<'a> {
    type Item = (Cow<'a, str>, Value);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// Parses a value that the scanner has accepted. Returns `None` if the value repeats a member.
fn read_scanned(name: &str, text: &str) -> Option<Value> {
    match text.as_bytes() {
        [b'{' | b'[', ..] => {
            let (value, losses) = read_value(text, Some(name)).ok()?;
            losses.is_empty().then_some(value)
        }
        [b'"', content @ .., b'"'] if !content.contains(&b'\\') => {
            text.get(1..text.len() - 1).map(Value::from)
        }
        [b't', ..] => Some(Value::Bool(true)),
        [b'f', ..] => Some(Value::Bool(false)),
        [b'n', ..] => Some(Value::Null),
        [b'0'..=b'9', rest @ ..] if !rest.contains(&b'.') => {
            text.parse::<u64>().ok().map(Value::from)
        }
        _ => serde_json::from_str(text).ok(),
    }
}

/// Returns the object or list contained as JSON in a string. Returns `None` if it exceeds the limits or repeats a
/// member.
///
/// ```text
/// "[1, 2]"  →  [1, 2]
/// "urgent"  →  None
/// ```
pub(crate) fn json_in_text(value: &Value, limits: &SizeLimits) -> Option<Value> {
    let text = value.as_str()?.trim();
    let read = text.starts_with(['{', '[']).then(|| read_scanned("", text)).flatten();
    read.filter(|value| parameter_fits(value, limits))
}

/// Replaces the `params` and `operations` of a request, and the `params` of its items, if they are JSON strings.
pub(crate) fn read_texts(members: &mut Map<String, Value>, limits: &SizeLimits) {
    read_member(members, "params", limits);
    read_member(members, "operations", limits);
    if let Some(Value::Array(items)) = members.get_mut("operations") {
        for item in items.iter_mut().filter_map(Value::as_object_mut) {
            read_member(item, "params", limits);
        }
    }
}

fn read_member(members: &mut Map<String, Value>, name: &str, limits: &SizeLimits) {
    if let Some(value) = members.get_mut(name)
        && let Some(read) = json_in_text(value, limits)
    {
        *value = read;
    }
}
