//! Guesses what a caller meant by an unknown name, and where the value belongs.

use mcp_aql_protocol::{is_text_name, nearest_name, path_parts, probable_parameter};
use serde_json::Value;

use super::camel_case;
use crate::operation::{NestedName, Parameter, RegisteredOperation};
use crate::schema::Argument;
use crate::schema::shape::{Fault, FaultKind, Hint, Shapes, objects_with_field};
use crate::text::clean;

/// The parts of a rejected call needed to explain its unknown names.
pub(super) struct RefusedCall<'a> {
    pub(super) operation: &'a RegisteredOperation,
    pub(super) shapes: &'a Shapes,
    /// Arguments, including defaults.
    pub(super) arguments: &'a [Argument],
    /// Unknown names sent as parameters.
    pub(super) unknown: Vec<&'a str>,
    /// Returns the operation that searches the resources of a list operation, and the name of its search parameter.
    pub(super) search_operation: &'a dyn Fn(&str) -> Option<(String, String)>,
}

/// The probable intention of a caller who sends an unknown name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Another name in the same object.
    Name(String),
    /// A member of a value. The path is that of the value.
    Inside { path: String, member: String },
    /// A parameter of the operation. It belongs next to this one.
    Beside(String),
    /// An object around members that should have been sent without it.
    Around,
    /// The path of a member. It must be sent as nested objects: `{ place: { floor } }`.
    Path(String),
    /// A search query. A parameter of another operation accepts it.
    Search { operation: String, parameter: String },
}

/// An unknown name with its probable meaning.
#[derive(Debug)]
pub(super) struct UnknownName {
    /// The path as shown in messages.
    pub(super) path: String,
    /// The last part of the path.
    name: String,
    pub(super) meaning: Option<Meaning>,
}

impl UnknownName {
    /// Creates an unknown parameter without looking for a meaning.
    pub(super) fn unexplained(name: &str) -> Self {
        Self { path: clean(name), name: clean(name), meaning: None }
    }

    /// Returns the path of another name in the same object.
    fn shown_next_to(&self, other: &str) -> String {
        [self.path.strip_suffix(&self.name).unwrap_or_default(), other].concat()
    }

    /// Returns `true` if the name was sent instead of this parameter, or belongs inside its value.
    pub(super) fn is_value_of(&self, parameter: &str) -> bool {
        match &self.meaning {
            Some(Meaning::Name(near)) => self.path == self.name && near == parameter,
            Some(Meaning::Inside { path, .. }) => path.split(['.', '[']).next() == Some(parameter),
            _ => false,
        }
    }
}

impl RefusedCall<'_> {
    /// Returns `true` if a parameter was sent with a value other than its default.
    fn is_sent(&self, name: &str) -> bool {
        let mut sent = self.operation.parameters.iter().zip(self.arguments);
        sent.any(|(parameter, argument)| {
            *parameter.name == *name
                && argument.value.is_some()
                && argument.value != parameter.default
        })
    }

    /// Returns the missing parameters sent inside another parameter. That parameter accepts any member, so they are
    /// not reported as unknown.
    pub(super) fn misplaced(
        &self,
        missing: &[&Parameter],
        known: &[UnknownName],
    ) -> Vec<UnknownName> {
        let mut found = Vec::new();
        for name in missing.iter().map(|parameter| &*parameter.name) {
            for (parameter, argument) in self.operation.parameters.iter().zip(self.arguments) {
                let around = &*parameter.name;
                let value = argument.value.as_ref();
                let has_field = || {
                    objects_with_field(&parameter.shape, around, name, self.shapes)
                        .iter()
                        .any(|it| it == around)
                };
                if value.is_some_and(|value| value.get(name).is_some()) && !has_field() {
                    let path = format!("{around}.{name}");
                    let meaning = Some(Meaning::Beside(around.to_owned()));
                    found.push(UnknownName { path: clean(&path), name: clean(name), meaning });
                }
            }
        }
        found.retain(|new| known.iter().all(|old| old.path != new.path));
        found
    }

    /// Explains an unknown parameter.
    pub(super) fn parameter(&self, name: &str, value: &Value) -> UnknownName {
        let meaning = self.meaning_of_parameter(name, value);
        UnknownName { path: clean(name), name: clean(name), meaning }
    }

    fn meaning_of_parameter(&self, name: &str, value: &Value) -> Option<Meaning> {
        let valid = || self.operation.parameters.iter().map(|parameter| &*parameter.name);
        // `taskId` is a closer match for `task_id` than the edit distance shows.
        if let Some(same) = valid().find(|valid| is_camel_case_of(name, valid)) {
            return Some(Meaning::Name(same.to_owned()));
        }
        let nested = self.nested_names();
        let inside = |name: &str| nested.iter().find(|it| it.name == name && it.accepts(value));
        if let Some([first, rest @ ..]) = path_parts(name).as_deref() {
            let around = inside(first).map(|it| format!("{}.{}", it.parameter, it.member));
            let first = valid().find(|valid| valid == first).map(str::to_owned).or(around);
            if let Some(first) = first {
                return Some(Meaning::Path(path_form(&first, rest)));
            }
        }
        let is_known = |name: &String| valid().any(|valid| valid == name);
        if value.as_object().is_some_and(|it| !it.is_empty() && it.keys().all(is_known)) {
            return Some(Meaning::Around);
        }
        if let Some(path) = self.only_path_to(name) {
            return Some(Meaning::Inside { path, member: name.to_owned() });
        }
        let inside = |name: &str| {
            let found = inside(name)?;
            Some(Meaning::Inside { path: found.parameter.to_owned(), member: found.member.clone() })
        };
        if let Some(meaning) = inside(name) {
            return Some(meaning);
        }
        if is_text_name(name) && !valid().any(is_text_name) {
            let search = (self.search_operation)(&self.operation.name);
            if let Some((operation, parameter)) = search {
                return Some(Meaning::Search { operation, parameter });
            }
        }
        let absent = valid().filter(|name| !self.is_sent(name));
        let near = probable_parameter(name, absent).or_else(|| probable_parameter(name, valid()));
        if let Some(near) = near {
            return Some(Meaning::Name(near.to_owned()));
        }
        // Short names such as `not` are similar to many others.
        let long = nested.iter().map(|nested| nested.name.as_str()).filter(|name| name.len() > 3);
        let near = nearest_name(name, long);
        near.and_then(inside).or_else(|| self.similar_field_of_input(name))
    }

    /// Returns the names that belong inside parameters of composite arguments.
    fn nested_names(&self) -> Vec<NestedName> {
        if self.operation.composites.is_empty() {
            return Vec::new();
        }
        let parameters = self.operation.parameters.iter().map(|parameter| &*parameter.name);
        let sent = parameters.filter(|name| self.is_sent(name));
        let all: Vec<_> = sent.chain(self.unknown.iter().copied()).collect();
        self.operation.composites.nested_names(&all)
    }

    /// Returns the field of an UPDATE's `input` with a similar name.
    fn similar_field_of_input(&self, name: &str) -> Option<Meaning> {
        let parameter = self.operation.parameters.iter().find(|it| it.input.is_some())?;
        let fields: Vec<_> = parameter.input?.names().collect();
        let near = probable_parameter(name, fields)?;
        Some(Meaning::Inside { path: parameter.name.to_string(), member: near.to_owned() })
    }

    /// Returns the path of the only object in the parameters that has this field. Returns `None` if there are
    /// several.
    fn only_path_to(&self, name: &str) -> Option<String> {
        let of = |it: &Parameter| objects_with_field(&it.shape, &it.name, name, self.shapes);
        only(self.operation.parameters.iter().flat_map(of).collect())
    }

    /// Explains an unknown field of a value, from the violation that it caused.
    pub(super) fn field(&self, fault: &Fault) -> Option<UnknownName> {
        let FaultKind::Unknown { name, hint, .. } = &fault.kind else { return None };
        let container = fault.path.rsplit_once('.').map_or("", |(container, _)| container);
        let root = container.split(['.', '[']).next().unwrap_or_default();
        let elsewhere = || {
            let is_absent = |it: &&Parameter| &*it.name == name.as_str() && !self.is_sent(name);
            if self.operation.parameters.iter().any(|it| is_absent(&it)) {
                return Some(Meaning::Beside(root.to_owned()));
            }
            let parameter = self.operation.parameters.iter().find(|it| &*it.name == root)?;
            let near = only(objects_with_field(&parameter.shape, root, name, self.shapes));
            let path = near.or_else(|| self.only_path_to(name))?;
            // Another variant of a union may have the field in the same object.
            if path == without_indices(container) {
                return None;
            }
            Some(Meaning::Inside { path, member: name.clone() })
        };
        let meaning = match hint {
            Hint::Identifier => Some(Meaning::Beside(root.to_owned())),
            Hint::Around => Some(Meaning::Around),
            Hint::Path(parts) => Some(Meaning::Path(path_form("", parts))),
            Hint::Inside(inner) => {
                let path = format!("{container}.{inner}");
                Some(Meaning::Inside { path, member: name.clone() })
            }
            Hint::Name(near) => elsewhere().or_else(|| Some(Meaning::Name(near.clone()))),
            Hint::None => elsewhere(),
        };
        Some(UnknownName { path: self.shown_path(&fault.path), name: clean(name), meaning })
    }

    /// Returns the path of a value in messages. The path of a field is relative to `input`.
    pub(super) fn shown_path(&self, path: &str) -> String {
        let takes_input = self.operation.parameters.iter().any(|it| it.input.is_some());
        let path = path.strip_prefix("input.").filter(|_| takes_input).unwrap_or(path);
        clean(path)
    }
}

/// Converts `items[0].place` to `items[].place`.
fn without_indices(path: &str) -> String {
    let mut parts = path.split('[');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push('[');
        text.push_str(part.trim_start_matches(|each: char| each.is_ascii_digit()));
    }
    text
}

/// Returns the only element of a list.
fn only(mut list: Vec<String>) -> Option<String> {
    list.pop().filter(|_| list.is_empty())
}

/// Returns `true` if `name` is the camel-case form of `snake`, as `taskId` is of `task_id`.
fn is_camel_case_of(name: &str, snake: &str) -> bool {
    let length = snake.bytes().filter(|byte| *byte != b'_').count();
    name.len() == length && camel_case(snake) == name
}

/// Selects whether the message has already listed the unknown names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mention {
    Listed,
    NotListed,
}

/// Builds the sentences that explain unknown names. Names that belong inside the same object share a sentence.
pub(super) fn sentences(names: &[UnknownName], mention: Mention) -> Vec<String> {
    let mut sentences = Vec::new();
    let mut done: Vec<&str> = Vec::new();
    for unknown in names {
        let shown = &unknown.path;
        sentences.push(match (&unknown.meaning, mention) {
            (None, Mention::Listed) => continue,
            (None, Mention::NotListed) => format!("Parameter '{shown}' is unknown"),
            (Some(Meaning::Name(near)), Mention::Listed) => {
                format!("Did you mean '{}' instead of '{shown}'?", unknown.shown_next_to(near))
            }
            (Some(Meaning::Name(near)), Mention::NotListed) => {
                format!(
                    "Parameter '{shown}' is unknown; did you mean '{}'?",
                    unknown.shown_next_to(near)
                )
            }
            (Some(Meaning::Beside(around)), _) => {
                format!("'{shown}' belongs next to '{around}', not inside it")
            }
            (Some(Meaning::Around), _) => format!("Replace '{shown}' with its members"),
            (Some(Meaning::Path(form)), _) => format!("Send '{shown}' as {form}"),
            (Some(Meaning::Search { operation, parameter }), _) => {
                format!("To search, call '{operation}' with '{parameter}' instead of '{shown}'")
            }
            (Some(Meaning::Inside { path, .. }), _) if done.contains(&path.as_str()) => continue,
            (Some(Meaning::Inside { path, .. }), _) => {
                done.push(path);
                inside(path, names)
            }
        });
    }
    sentences
}

/// Builds the sentence about all names that belong inside the value at a path.
fn inside(path: &str, names: &[UnknownName]) -> String {
    let (mut shown, mut members) = (Vec::new(), Vec::new());
    for unknown in names {
        match &unknown.meaning {
            Some(Meaning::Inside { path: other, member }) if other == path => {
                let member = clean(member);
                shown.push(match member == unknown.name {
                    true => format!("'{}'", unknown.path),
                    false => format!("'{}' (as '{member}')", unknown.path),
                });
                members.push(if member.contains('.') { format!("'{member}'") } else { member });
            }
            _ => {}
        }
    }
    let verb = if shown.len() == 1 { "belongs" } else { "belong" };
    let value = path.trim_end_matches("[]");
    format!("{} {verb} inside '{value}': {}", shown.join(", "), form(path, &members.join(", ")))
}

/// Formats the value at a path. The path consists of a known path and further parts.
fn path_form(path: &str, parts: &[impl AsRef<str>]) -> String {
    let parts: Vec<_> = parts.iter().map(|part| clean(part.as_ref())).collect();
    match parts.split_last() {
        Some((last, around)) => form(&[&[path.to_owned()], around].concat().join("."), last),
        None => form("", path),
    }
}

/// Formats members inside the value at a path: `{ input: { items: [{ sku }] } }`.
fn form(path: &str, members: &str) -> String {
    let mut form = format!("{{ {members} }}");
    for part in path.rsplit('.').filter(|part| !part.is_empty()) {
        form = match part.split_once('[') {
            Some((name, _)) => format!("{{ {name}: [{form}] }}"),
            None => format!("{{ {part}: {form} }}"),
        };
    }
    form
}
