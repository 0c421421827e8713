//! The model of the reference pages, built from introspection and the adapter's tables.

use std::collections::{BTreeMap, BTreeSet};

use mcp_aql_core::internal::introspection::protocol_types;
use mcp_aql_core::internal::operation::{Envelope, Handler, Parameter, RegisteredOperation};
use mcp_aql_core::internal::router::Entry;
use mcp_aql_core::{Adapter, EndpointMode};
use mcp_aql_protocol::{EndpointPermissions, ErrorCode, SemanticCategory, SizeLimits};
use serde_json::Value;

use super::errors::{self, input_type};
use super::introspection::{Info, OneOperation, OneType, OperationInfo, Protocol, TypeInfo, Types};
use super::json::Json;

/// The reference of an adapter.
pub(super) struct Reference {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) instructions: Option<String>,
    pub(super) mode: EndpointMode,
    pub(super) limits: SizeLimits,
    pub(super) protocol: Protocol,
    /// The name of the profile. Introspection omits the standard profile.
    pub(super) profile: String,
    /// The tool that accepts every operation. `None` except in single mode.
    pub(super) unified_tool: Option<String>,
    /// The tool that accepts `introspect`.
    pub(super) introspect_tool: String,
    pub(super) families: Vec<Family>,
    /// The types of the adapter, and the types of the protocol.
    pub(super) types: [Vec<Type>; 2],
    /// The codes that any call can return.
    pub(super) general_errors: Vec<ErrorCode>,
    /// The codes of checks before some operations.
    pub(super) checked_errors: Vec<ErrorCode>,
    /// The codes that only operations themselves return.
    pub(super) other_errors: Vec<ErrorCode>,
}

/// An endpoint family and its operations.
pub(super) struct Family {
    pub(super) name: String,
    pub(super) purpose: String,
    pub(super) tool: String,
    pub(super) operations: Vec<Operation>,
}

pub(super) struct Operation {
    pub(super) name: &'static str,
    /// If `true`, this is `introspect`.
    pub(super) built_in: bool,
    pub(super) category: SemanticCategory,
    pub(super) permissions: EndpointPermissions,
    pub(super) tool: String,
    pub(super) summary: String,
    pub(super) description: String,
    pub(super) rationale: Option<&'static str>,
    /// The deprecation notice.
    pub(super) deprecated: Option<String>,
    pub(super) parameters: Vec<Field>,
    pub(super) returns: Returns,
    pub(super) examples: Vec<Example>,
    pub(super) errors: Vec<ErrorCode>,
}

/// A parameter, or a field of a type.
pub(super) struct Field {
    pub(super) info: Info,
    pub(super) kind: Vec<Part>,
    pub(super) deprecated: bool,
}

/// A part of a type's name.
pub(super) enum Part {
    Text(String),
    /// The name of a type with an entry on the page, shown as a link.
    Type(String),
}

/// The result of an operation, and its position in `data`.
pub(super) struct Returns {
    pub(super) kind: Vec<Part>,
    pub(super) description: String,
}

/// A valid call in the form that an MCP client sends.
pub(super) struct Example {
    pub(super) description: String,
    pub(super) call: Json,
}

pub(super) struct Type {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) description: String,
    pub(super) fields: Vec<Field>,
    pub(super) values: Vec<Value>,
    pub(super) members: Vec<Vec<Part>>,
    /// The operations that accept or return the type.
    pub(super) used_by: Vec<String>,
}

impl Reference {
    pub(super) fn of(adapter: &Adapter) -> Self {
        let types = types(adapter);
        let mut uses: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut families: Vec<Family> = adapter
            .registry()
            .profile
            .families()
            .iter()
            .zip(&adapter.registry().tool_names)
            .map(|(family, tool)| Family {
                name: family.name().to_owned(),
                purpose: family.purpose().to_owned(),
                tool: tool.clone(),
                operations: Vec::new(),
            })
            .collect();
        let mut introspect_tool = String::new();
        // The operations of the adapter come before `introspect`.
        let (built_in, own): (Vec<_>, Vec<_>) =
            adapter.registry().entries.iter().partition(|entry| is_built_in(entry));
        for entry in own.into_iter().chain(built_in) {
            let operation = operation(adapter, entry, &types);
            for name in types_of(&operation, &types) {
                uses.entry(name).or_default().push(operation.name.to_owned());
            }
            if is_built_in(entry) {
                introspect_tool.clone_from(&operation.tool);
            }
            if let Some(family) = families.get_mut(entry.family) {
                family.tool.clone_from(&operation.tool);
                family.operations.push(operation);
            }
        }
        families.retain(|family| !family.operations.is_empty());
        let is_checked = |code| {
            let mut operations = families.iter().flat_map(|family| &family.operations);
            operations.any(|operation| operation.errors.contains(&code))
        };
        let (general_errors, checked_errors, other_errors) = errors::registry(adapter, is_checked);
        let mut protocol = adapter.introspection().protocol.clone();
        protocol.push('}');
        let unified = adapter.registry().tool_names.last();
        Self {
            name: adapter.name().to_owned(),
            version: adapter.version().to_owned(),
            instructions: adapter.parts().instructions.clone(),
            mode: adapter.mode(),
            limits: *adapter.limits(),
            protocol: serde_json::from_str(&protocol).unwrap_or_default(),
            profile: adapter.registry().profile.name().to_owned(),
            unified_tool: unified.filter(|_| adapter.mode() != EndpointMode::Semantic).cloned(),
            introspect_tool,
            families,
            types: split_types(types, &uses),
            general_errors,
            checked_errors,
            other_errors,
        }
    }

    pub(super) fn operations(&self) -> impl Iterator<Item = &Operation> {
        self.families.iter().flat_map(|family| &family.operations)
    }

    /// Returns a call of `introspect` for the introduction.
    pub(super) fn first_call(&self) -> Json {
        call(&self.introspect_tool, "introspect", r#"{"query":"operations"}"#)
    }
}

fn is_built_in(entry: &Entry) -> bool {
    matches!(entry.operation.handler, Handler::Introspect)
}

fn types(adapter: &Adapter) -> Types {
    let introspection = adapter.introspection();
    introspection
        .types
        .iter()
        .map(|(name, listed)| {
            let entry = listed.text();
            let info = serde_json::from_str::<OneType>(entry).map(|one| one.r#type);
            (name.clone(), info.unwrap_or_default())
        })
        .collect()
}

fn operation(adapter: &Adapter, entry: &Entry, types: &Types) -> Operation {
    let registered = &entry.operation;
    let spec = &registered.spec;
    let details = adapter.operation_details(spec.name);
    let info = details.and_then(|text| serde_json::from_str::<OneOperation>(text).ok());
    let OperationInfo { tool, parameters, returns, examples } =
        info.map(|one| one.operation).unwrap_or_default();
    let mut examples: Vec<_> = examples
        .into_iter()
        .map(|example| Example {
            call: call(&tool, spec.name, example.request.params.get()),
            description: example.description,
        })
        .collect();
    // Introspection omits an example that only repeats the table. The page shows it.
    if let (true, Some(params)) = (examples.is_empty(), adapter.sample(spec.name)) {
        let call = call(&tool, spec.name, params);
        examples.push(Example { call, description: String::new() });
    }
    let errors = errors::of(adapter, registered, &parameters, types);
    // The page shows the position of a result even if it is the default.
    let place = match &registered.envelope {
        Envelope::Key(key) if returns.description.is_empty() => format!("In data.{key}."),
        _ => returns.description,
    };
    let parameters = parameters.into_iter().zip(&registered.parameters);
    Operation {
        name: spec.name,
        built_in: is_built_in(entry),
        category: spec.category,
        permissions: spec.category.permissions(),
        summary: spec.summary(),
        description: described(registered),
        rationale: spec.rationale,
        deprecated: spec.deprecated.map(|deprecation| deprecation.notice()),
        parameters: parameters.map(|(info, of)| parameter(info, of, types)).collect(),
        returns: Returns { kind: parts(&returns.name, types), description: place },
        examples,
        errors,
        tool,
    }
}

/// Returns the description of an operation, followed by a note on its default behavior.
fn described(operation: &RegisteredOperation) -> String {
    let text = operation.spec.description.trim().to_owned();
    if let Some(note) = &operation.composites.description.note {
        return format!("{text}\n\n{note}");
    }
    text
}

fn parameter(info: Info, parameter: &Parameter, types: &Types) -> Field {
    let deprecated = parameter.spec.deprecated.is_some();
    let kind = match input_type(parameter) {
        Some(name) if types.contains_key(&name) => vec![Part::Type(name)],
        _ => kind(&info, types),
    };
    Field { info, kind, deprecated }
}

fn field(info: Info, types: &Types) -> Field {
    Field { kind: kind(&info, types), info, deprecated: false }
}

/// Returns the type of a value. For a list, this includes the type of its elements.
fn kind(info: &Info, types: &Types) -> Vec<Part> {
    let Some(items) = &info.items else { return parts(&info.kind, types) };
    let mut all = vec![Part::Text(format!("{} of ", info.kind))];
    all.extend(kind(items, types));
    all
}

/// Splits `Task or null` into parts, so that the types with an entry become links.
fn parts(name: &str, types: &Types) -> Vec<Part> {
    let mut all = Vec::new();
    for (index, one) in name.split(" or ").enumerate() {
        if index > 0 {
            all.push(Part::Text(" or ".to_owned()));
        }
        all.push(match types.contains_key(one) {
            true => Part::Type(one.to_owned()),
            false => Part::Text(one.to_owned()),
        });
    }
    all
}

fn call(tool: &str, operation: &str, params: &str) -> Json {
    let [tool, operation] = [tool, operation].map(Value::from);
    Json::pretty(&format!(
        r#"{{"name":{tool},"arguments":{{"operation":{operation},"params":{params}}}}}"#
    ))
}

/// Returns the types that an operation accepts or returns, including nested types.
fn types_of(operation: &Operation, types: &Types) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let kinds = operation.parameters.iter().map(|parameter| &parameter.kind);
    let mut open: Vec<String> = named(kinds.chain([&operation.returns.kind]).flatten());
    while let Some(name) = open.pop() {
        let Some(info) = types.get(&name) else { continue };
        if found.insert(name) {
            let fields = info.fields.iter().flat_map(|field| kind(field, types));
            let members = info.members.iter().flat_map(|member| parts(member, types));
            let inside: Vec<Part> = fields.chain(members).collect();
            open.extend(named(inside.iter()));
        }
    }
    found
}

fn named<'a>(parts: impl Iterator<Item = &'a Part>) -> Vec<String> {
    parts
        .filter_map(|part| match part {
            Part::Type(name) => Some(name.clone()),
            Part::Text(_) => None,
        })
        .collect()
}

fn split_types(types: Types, uses: &BTreeMap<String, Vec<String>>) -> [Vec<Type>; 2] {
    // The links need all names while the types are moved into two lists.
    let names: Types = types.keys().map(|name| (name.clone(), TypeInfo::default())).collect();
    let protocols = protocol_types();
    let mut split = [Vec::new(), Vec::new()];
    let [own, protocol] = &mut split;
    for (name, info) in types {
        let is_protocol = protocols.iter().any(|(protocol, _)| *protocol == name);
        let list = if is_protocol { &mut *protocol } else { &mut *own };
        list.push(Type {
            used_by: uses.get(&name).filter(|_| !is_protocol).cloned().unwrap_or_default(),
            name,
            kind: info.kind,
            description: info.description,
            fields: info.fields.into_iter().map(|info| field(info, &names)).collect(),
            values: info.values,
            members: info.members.iter().map(|member| parts(member, &names)).collect(),
        });
    }
    split
}

/// Returns an anchor with a prefix: `operation-create_task`.
pub(super) fn anchor(prefix: &str, name: &str) -> String {
    let mut text = format!("{prefix}-");
    for each in name.chars() {
        match each {
            _ if each.is_ascii_alphanumeric() || "_-".contains(each) => text.push(each),
            // Other characters are encoded, so that different names have different anchors.
            _ => text.push_str(&format!(".{:x}", u32::from(each))),
        }
    }
    text
}

/// Returns the anchor of an operation's parameter or of a type's field.
pub(super) fn member_anchor(prefix: &str, owner: &str, name: &str) -> String {
    anchor(&anchor(prefix, owner), name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_names_have_different_anchors() {
        assert_eq!(
            member_anchor("parameter", "create_task", "title"),
            "parameter-create_task-title"
        );
        let names = ["Page<Task>", "Page(Task)", "PageTask", "Page Task", "Pagé"];
        let anchors: BTreeSet<_> = names.iter().map(|name| anchor("type", name)).collect();
        assert_eq!(anchors.len(), names.len());
        let fits = |each: char| each.is_ascii_alphanumeric() || "_-.".contains(each);
        assert!(anchors.iter().all(|anchor| anchor.chars().all(fits)), "{anchors:?}");
    }
}
