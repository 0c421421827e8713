//! Checks that introspection alone suffices to form a valid call.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::adapter::{Adapter, Operation, Parameter, STANDARD_PARAMETERS, Type};
use crate::cases::{Cases, Finding};
use crate::checks::refusals::has_word;
use crate::finding::listed;
use crate::run::Run;

/// Words in type expressions that need no entry in the list of types: JSON types, common names of their values, and
/// words that combine types.
const UNDERSTOOD: &[&str] = &[
    "string",
    "str",
    "text",
    "integer",
    "int",
    "uint",
    "long",
    "number",
    "float",
    "double",
    "decimal",
    "boolean",
    "bool",
    "array",
    "list",
    "set",
    "tuple",
    "object",
    "map",
    "dict",
    "dictionary",
    "record",
    "json",
    "null",
    "none",
    "nil",
    "void",
    "nothing",
    "undefined",
    "unit",
    "any",
    "unknown",
    "mixed",
    "enum",
    "date",
    "time",
    "datetime",
    "timestamp",
    "duration",
    "uuid",
    "guid",
    "url",
    "uri",
    "email",
    "bytes",
    "binary",
    "base64",
    "or",
    "and",
    "of",
    "a",
    "an",
    "with",
    "to",
    "optional",
    "nullable",
    "i",
    "u",
    "f",
];

/// Maximum depth of nested fields.
const MAX_DEPTH: usize = 4;

/// Returns the words in a type expression without a generally understood meaning or a listed type.
///
/// Capitalized words are left to the check `introspection.types_resolve`.
fn unexplained<'a>(text: &'a str, types: &[Type]) -> Vec<&'a str> {
    let is_listed = |name: &str| types.iter().any(|known| known.name == name);
    if is_listed(text) {
        return Vec::new();
    }
    text.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'))
        .filter(|word| word.starts_with(|first: char| first.is_ascii_lowercase()))
        .filter(|word| {
            // `int32` and `float64` end with their size in bits.
            let stem = word.trim_end_matches(|letter: char| letter.is_ascii_digit());
            let one = stem.strip_suffix('s').unwrap_or(stem);
            !UNDERSTOOD.contains(word) && !UNDERSTOOD.contains(&one) && !is_listed(word)
        })
        .collect()
}

/// Returns the type expressions of a parameter or field and of its items. Those with an `enum` need no explanation.
fn types_in(raw: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let items = raw.get("items").and_then(Value::as_object);
    let raws = std::iter::once(raw).chain(items);
    raws.filter(|raw| !raw.contains_key("enum")).filter_map(|raw| raw.get("type")?.as_str())
}

/// Returns the fields of a type.
fn fields_in(of: &Type) -> impl Iterator<Item = &Map<String, Value>> {
    let fields = of.details().get("fields").and_then(Value::as_array);
    fields.into_iter().flatten().filter_map(Value::as_object)
}

pub(super) fn type_names(run: &Run, cases: &Cases) {
    let adapter = &run.adapter;
    let explain = |subject: String, text: &str| {
        let unknown = unexplained(text, &adapter.types);
        cases.expect(unknown.is_empty(), || {
            Finding::shown(subject, text).expected(format!(
                "a type of JSON, or a type that `introspect` lists; not {}",
                listed(&unknown)
            ))
        });
    };
    for operation in &adapter.operations {
        for parameter in &operation.parameters {
            let subject = format!("{}: {}", operation.name, parameter.name);
            types_in(&parameter.raw).for_each(|text| explain(subject.clone(), text));
        }
        // Several words are a sentence about the result, not a type.
        let returned = operation.details().pointer("/returns/name").and_then(Value::as_str);
        if let Some(returned) = returned.filter(|returned| !returned.trim().contains(' ')) {
            explain(format!("{}: returns", operation.name), returned);
        }
    }
    for of in &adapter.types {
        for field in fields_in(of) {
            let name = field.get("name").and_then(Value::as_str).unwrap_or_default();
            types_in(field).for_each(|text| explain(format!("{}: {name}", of.name), text));
        }
    }
    if adapter.operations.is_empty() {
        cases.skip_without("a listed operation");
    }
}

/// An object whose members no type documents, with its path inside the parameter and its definition.
struct UntypedObject<'a> {
    path: Vec<&'a str>,
    raw: &'a Map<String, Value>,
}

/// The path segment for the items of a list.
const ITEM: &str = "[]";

/// Collects the untyped objects that every call must have: the value itself, its items, and the required fields of its
/// type.
///
/// A map is not collected: it documents the type of its values instead of member names.
fn collect_untyped<'a>(
    raw: &'a Map<String, Value>,
    types: &'a [Type],
    path: Vec<&'a str>,
    found: &mut Vec<UntypedObject<'a>>,
) {
    let word = raw.get("type").and_then(Value::as_str).unwrap_or_default();
    let items = raw.get("items").and_then(Value::as_object);
    if path.len() > MAX_DEPTH {
        return;
    }
    match (word, items) {
        ("object", None) => found.push(UntypedObject { path, raw }),
        ("array", Some(items)) => {
            let path = path.into_iter().chain([ITEM]).collect();
            collect_untyped(items, types, path, found);
        }
        _ => {
            let fields =
                types.iter().find(|known| known.name == word).into_iter().flat_map(fields_in);
            for field in fields.filter(|field| field.get("required") == Some(&Value::Bool(true))) {
                let name = field.get("name").and_then(Value::as_str).unwrap_or_default();
                collect_untyped(field, types, path.iter().copied().chain([name]).collect(), found);
            }
        }
    }
}

/// Returns `true` if a value has an object with members at this path.
fn shows_members(value: &Value, path: &[&str]) -> bool {
    match (path, value) {
        ([], Value::Object(members)) => !members.is_empty(),
        ([first, rest @ ..], Value::Array(items)) if *first == ITEM => {
            items.iter().any(|item| shows_members(item, rest))
        }
        ([first, rest @ ..], Value::Object(members)) => {
            members.get(*first).is_some_and(|member| shows_members(member, rest))
        }
        _ => false,
    }
}

/// Words that describe objects whose members the caller chooses.
const FREE: [&str; 10] =
    ["any", "free", "arbitrary", "custom", "own", "open", "key", "keys", "map", "mapping"];

/// Returns `true` if a description names members of an object, shows its form, or lets the caller choose the members.
fn describes_members(text: &str, names: &BTreeSet<&str>) -> bool {
    let lower = text.to_lowercase();
    text.contains(['`', '{', '"', ':', '_'])
        // A single one may be an apostrophe.
        || text.matches('\'').nth(1).is_some()
        || ["such as", "e.g", "for example", "see "].iter().any(|words| lower.contains(words))
        || FREE.iter().any(|word| has_word(&lower, word))
        || names.iter().any(|name| has_word(text, name))
}

/// Returns `true` if a sentence about a parameter names several members, or shows the form of an object.
fn sentence_names_members(text: &str, parameter: &str, names: &BTreeSet<&str>) -> bool {
    text.split(['.', '\n']).filter(|sentence| has_word(sentence, parameter)).any(|sentence| {
        sentence.contains('{') || names.iter().filter(|name| has_word(sentence, name)).count() > 1
    })
}

/// Returns names that may be members of objects: those of parameters, of types that operations return, and of the
/// fields of these types.
///
/// Names with a meaning in the protocol are left out, because every description contains them.
fn known_names(adapter: &Adapter) -> BTreeSet<&str> {
    let operations = adapter.operations.iter().filter(|operation| operation.name != "introspect");
    let mut names = BTreeSet::new();
    for operation in operations {
        names.extend(operation.parameters.iter().map(|parameter| parameter.name.as_str()));
        let returned = operation.details().pointer("/returns/name").and_then(Value::as_str);
        let returned = adapter.types.iter().filter(|of| Some(of.name.as_str()) == returned);
        for of in returned {
            names.insert(of.name.as_str());
            names.extend(fields_in(of).filter_map(|field| field.get("name")?.as_str()));
        }
    }
    names.retain(|name| *name != "input" && !STANDARD_PARAMETERS.contains(name));
    names
}

/// Returns `true` if a caller can find the members of an object in the details of its operation.
fn is_found(
    operation: &Operation,
    parameter: &Parameter,
    object: &UntypedObject<'_>,
    names: &BTreeSet<&str>,
) -> bool {
    let examples = operation.details().get("examples").and_then(Value::as_array);
    let beside = examples.into_iter().flatten().filter_map(|example| {
        // Parameters may also be next to `operation`.
        example.get("request")?.get(&parameter.name)
    });
    let inside = operation.examples_of(&parameter.name);
    let mut values = inside.chain(beside).chain(parameter.member("default"));
    let described = |raw: &Map<String, Value>| {
        let text = raw.get("description").and_then(Value::as_str).unwrap_or_default();
        describes_members(text, names)
    };
    values.any(|value| shows_members(value, &object.path))
        || described(object.raw)
        || described(&parameter.raw)
        || sentence_names_members(&operation.description, &parameter.name, names)
}

pub(super) fn object_members(run: &Run, cases: &Cases) {
    let names = known_names(&run.adapter);
    let mut has_any = false;
    for operation in &run.adapter.operations {
        for parameter in operation.required() {
            let mut objects = Vec::new();
            collect_untyped(&parameter.raw, &run.adapter.types, Vec::new(), &mut objects);
            for object in objects {
                has_any = true;
                let mut names = names.clone();
                names.remove(parameter.name.as_str());
                cases.expect(is_found(operation, parameter, &object, &names), || {
                    let place =
                        [&[parameter.name.as_str()], object.path.as_slice()].concat().join(".");
                    Finding::shown(
                        format!("{}: {place}", operation.name),
                        Value::Object(object.raw.clone()),
                    )
                    .expected(format!(
                        "the members of `{place}`: in a listed type, in a description or in an \
                         example"
                    ))
                });
            }
        }
    }
    if !has_any {
        cases.not_applicable("no required parameter is an object without a listed type");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn type_of(name: &str, fields: Value) -> Type {
        let reply =
            json!({ "data": { "type": { "name": name, "kind": "object", "fields": fields } } });
        Type::read(name.to_owned(), Value::Null, reply, "name")
    }

    #[test]
    fn usual_and_listed_types_are_understood() {
        let types = [type_of("task_filter", json!([])), type_of("Page<Task>", json!([]))];
        for known in [
            "string",
            "object or array",
            "string|null",
            "task_filter",
            "Page<Task>",
            "array<string>",
            "int32",
            "strings",
            "date-time",
            "task_filter[]",
            "Task",
            "map of string to number",
        ] {
            assert!(unexplained(known, &types).is_empty(), "{known}");
        }
        assert_eq!(unexplained("task_status", &types), ["task_status"]);
        assert_eq!(unexplained("array<task>", &types), ["task"]);
    }

    #[test]
    fn finds_untyped_objects_at_every_depth() {
        let types = [type_of(
            "Order",
            json!([
                { "name": "lines", "type": "array", "required": true, "items": { "type": "object" } },
                { "name": "labels", "type": "object", "required": true, "items": { "type": "string" } },
                { "name": "extra", "type": "object", "required": false },
            ]),
        )];
        let raw = json!({ "name": "order", "type": "Order" });
        let mut found = Vec::new();
        collect_untyped(raw.as_object().unwrap(), &types, Vec::new(), &mut found);
        let paths: Vec<_> = found.iter().map(|object| object.path.join(".")).collect();
        assert_eq!(paths, ["lines.[]"]);
        let path = &found.first().unwrap().path;
        assert!(shows_members(&json!({ "lines": [{}, { "sku": 7 }] }), path));
        assert!(!shows_members(&json!({ "lines": [{}] }), path));
    }

    #[test]
    fn recognizes_descriptions_of_members() {
        let names = BTreeSet::from(["title", "Task"]);
        for text in [
            "Fields to change: title, note.",
            "The title and the body",
            "Fields of a Task",
            "Free-form data",
            "{\"a\": 1}",
            "Labels, such as colour",
            "The `body` only",
        ] {
            assert!(describes_members(text, &names), "{text}");
        }
        for text in ["", "The note's data.", "Entitled changes"] {
            assert!(!describes_members(text, &names), "{text}");
        }
        let names = BTreeSet::from(["title", "body"]);
        let says = |text| sentence_names_members(text, "note", &names);
        assert!(
            says("Create one.\nThe note has a title and a body.") && says("`note`: {\"title\": …}")
        );
        assert!(
            !says("Create a note. Its title and body matter") && !says("The note with this title")
        );
    }
}
