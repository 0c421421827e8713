//! Reads JSON documents of a database as values of a field's type.

use std::marker::PhantomData;

use mcp_aql_core::internal::operation::DocumentMember;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use serde_path_to_error::Segment;

use super::columns::FieldAccess;
use super::field_info::DocumentReader;

/// Finds the reader of the field that `A` accesses. Like [`Probe`](crate::probe::Probe), it only works with concrete
/// types.
#[derive(Debug)]
pub struct DocumentProbe<A>(PhantomData<A>);

impl<A: FieldAccess> DocumentProbe<A>
where
    A::Value: Serialize + DeserializeOwned,
{
    /// The reader.
    pub const READER: Option<DocumentReader> = Some(read::<A::Value>);
}

/// The constant for a type that cannot be deserialized.
pub trait NoDocument {
    /// `None`, because the type cannot be deserialized.
    const READER: Option<DocumentReader> = None;
}

impl<A> NoDocument for DocumentProbe<A> {}

fn read<V: Serialize + DeserializeOwned>(document: &str) -> Option<String> {
    match serde_json::from_str::<V>(document) {
        Ok(value) => serde_json::to_string(&value).ok(),
        Err(error) if missing_field(&error.to_string()).is_some() => {
            read_incomplete(document, |value| {
                serde_path_to_error::deserialize(value)
                    .map(|value: V| serde_json::to_string(&value))
            })
        }
        Err(_) => None,
    }
}

/// An error with the position of the value that caused it.
pub(crate) type MemberFault = serde_path_to_error::Error<serde_json::Error>;

/// Maximum number of steps to complete an object.
pub(crate) const MAX_STEPS: usize = 200;

/// Reads a document without members that its type omits, for example because of `skip_serializing_if`, but requires
/// itself. They are read as empty values.
fn read_incomplete(
    document: &str,
    read: impl Fn(&Value) -> Result<serde_json::Result<String>, MemberFault>,
) -> Option<String> {
    let mut whole: Value = serde_json::from_str(document).ok()?;
    let mut added: Vec<String> = Vec::new();
    for _ in 0..MAX_STEPS {
        let fault = match read(&whole) {
            Ok(shown) => {
                let shown = shown.ok()?;
                let value: Value = serde_json::from_str(&shown).ok()?;
                // The type would show any other member that it requires.
                return added.iter().all(|at| value.pointer(at).is_none()).then_some(shown);
            }
            Err(fault) => fault,
        };
        let at = pointer(&fault);
        if let Some(name) = missing_field(&fault.inner().to_string()) {
            whole.pointer_mut(&at)?.as_object_mut()?.insert(name.to_owned(), Value::Null);
            added.push(format!("{at}/{}", escaped(name)));
        } else if added.last() == Some(&at) {
            let value = whole.pointer_mut(&at)?;
            *value = next_empty(value)?;
        } else {
            return None;
        }
    }
    None
}

/// Returns the name of the missing field that a message of serde names.
pub(crate) fn missing_field(message: &str) -> Option<&str> {
    message.strip_prefix("missing field `")?.split('`').next()
}

/// Returns the position of an error as a JSON pointer.
pub(crate) fn pointer(fault: &MemberFault) -> String {
    let mut pointer = String::new();
    for segment in fault.path() {
        match segment {
            Segment::Map { key } => pointer.push_str(&format!("/{}", escaped(key))),
            Segment::Seq { index } => pointer.push_str(&format!("/{index}")),
            Segment::Enum { .. } | Segment::Unknown => {}
        }
    }
    pointer
}

fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Returns the empty value of the next kind.
pub(crate) fn next_empty(value: &Value) -> Option<Value> {
    Some(match value {
        Value::Null => json!(false),
        Value::Bool(_) => json!(0),
        Value::Number(_) => json!(""),
        Value::String(text) if text.is_empty() => json!("1970-01-01"),
        Value::String(text) if !text.contains('T') => json!("1970-01-01T00:00:00Z"),
        Value::String(_) => json!([]),
        Value::Array(_) => json!({}),
        Value::Object(_) => return None,
    })
}

/// Maximum number of levels of a shown document. A deeper one might not fit into every reply.
const MAX_DEPTH: usize = 100;

/// Returns what replies show of a document: the members that the field's type declares. Returns `None` if the type does
/// not allow the document, or if no value can hold it: `1e400`, a lone surrogate, a repeated member, or too many levels.
pub(crate) fn shown(reader: Option<DocumentReader>, document: &str) -> Option<(String, Value)> {
    let shown = match reader {
        Some(read) => read(document)?,
        None => document.to_owned(),
    };
    let value: Value = serde_json::from_str(&shown).ok()?;
    if !is_within(&value, MAX_DEPTH) {
        return None;
    }
    if shown == document && reader.is_some() {
        return Some((shown, value));
    }
    if repeats_member(document, &value) {
        return None;
    }
    // If nothing is left out, the document keeps its spelling.
    let is_whole = serde_json::from_str::<Value>(document).is_ok_and(|whole| whole == value);
    Some((if is_whole { document.to_owned() } else { shown }, value))
}

/// Returns `true` if a value has at most this number of levels.
fn is_within(value: &Value, levels: usize) -> bool {
    let inside = |value: &Value| is_within(value, levels.saturating_sub(1));
    match value {
        Value::Array(entries) => levels > 0 && entries.iter().all(inside),
        Value::Object(members) => levels > 0 && members.values().all(inside),
        _ => true,
    }
}

/// Returns `true` if a document has a member of the shown value twice.
fn repeats_member(document: &str, shown: &Value) -> bool {
    match shown {
        Value::Array(entries) => {
            let parts: Vec<&RawValue> = serde_json::from_str(document).unwrap_or_default();
            parts.iter().zip(entries).any(|(part, entry)| repeats_member(part.get(), entry))
        }
        Value::Object(members) => {
            let mut parts = DocumentMember::all_of(document).unwrap_or_default();
            parts.sort_by(|left, right| left.name.cmp(&right.name));
            let value_of = |part: &DocumentMember<'_>| members.get(part.name.as_ref()?);
            let repeats = parts.windows(2).any(|pair| match pair {
                [first, second] => first.name == second.name && value_of(first).is_some(),
                _ => false,
            });
            repeats
                || parts.iter().any(|part| {
                    value_of(part).is_some_and(|shown| repeats_member(part.value.get(), shown))
                })
        }
        _ => false,
    }
}
