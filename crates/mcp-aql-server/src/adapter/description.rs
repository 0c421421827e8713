//! Generates the tool descriptions for models from the protocol's templates. They are as short as possible while a
//! model can still act on them (REQ-MCP-01, REQ-MCP-02).

use std::fmt::Write as _;
use std::sync::Arc;

use mcp_aql_protocol::{SemanticCategory, is_public_name};
use serde_json::{Map, Value};

use mcp_aql_core::internal::operation::{Handler, OperationSpec};
use mcp_aql_core::internal::router::{Endpoint, Entry, Family};
use mcp_aql_core::{Adapter, EndpointMode};

use super::discovery::{
    CALL_FOR_THE_LIST, call_by_name, call_for_operations, instructions, introspect_tool,
};
use super::operation_names::{VerbGroups, listed};
use super::signatures::{Budget, Signatures};
use super::template::Template;

/// Maximum numbers of operations named in a description. The first limit within the default budget is used: all
/// operations, or else a few examples, because a search finds the others.
const NAME_LIMITS: [usize; 3] = [usize::MAX, 8, 3];
/// Maximum number of operations per line in the description of the unified tool.
const MAX_NAMED_PER_CATEGORY: usize = 24;
/// Maximum length of an example call, in bytes.
const MAX_EXAMPLE_BYTES: usize = 200;

/// The tool descriptions and the instructions that a server sends to models.
pub(super) struct ToolTexts {
    /// The descriptions of the tools, in the order of the tools.
    pub(super) descriptions: Vec<String>,
    pub(super) instructions: String,
}

impl ToolTexts {
    /// Describes the tools of an adapter, given by endpoint and name. Parameters of operations are included while they
    /// are within the budget.
    pub(super) fn of(adapter: &Adapter, tools: &[(Endpoint, &str)]) -> Self {
        let introspect_tool = introspect_tool(adapter);
        let describe = |signatures: &Signatures, most_named| -> Vec<String> {
            let describer = Describer { adapter, introspect_tool, most_named, signatures };
            tools.iter().map(|(endpoint, tool)| describer.describe(*endpoint, tool)).collect()
        };
        let (names_only, budget) = (Signatures::default(), Budget::default_of(adapter));
        let fits = |limit: &usize| budget.has_room_for(&describe(&names_only, *limit));
        let [.., least] = NAME_LIMITS;
        let most_named = NAME_LIMITS.into_iter().find(fits).unwrap_or(least);
        let signatures = Signatures::within_budget(adapter, |it| describe(it, most_named));
        Self {
            descriptions: describe(&signatures, most_named),
            instructions: instructions(adapter, signatures.are_complete()),
        }
    }
}

/// Writes the descriptions of an adapter's tools.
struct Describer<'a> {
    adapter: &'a Adapter,
    /// Name of the tool that accepts `introspect`.
    introspect_tool: &'a str,
    /// Maximum number of operations in a list of names.
    most_named: usize,
    /// The operations to describe with their parameters.
    signatures: &'a Signatures,
}

impl Describer<'_> {
    fn describe(&self, endpoint: Endpoint, tool: &str) -> String {
        match endpoint {
            Endpoint::Family(index) => {
                let family = self.adapter.profile().families().get(index);
                family.map_or_else(String::new, |family| self.family(index, family, tool))
            }
            Endpoint::Unified => self.unified(),
        }
    }

    /// Describes the tool of an endpoint family.
    fn family(&self, index: usize, family: &Family, tool: &str) -> String {
        let entries = || {
            let entries = self.adapter.registry().entries.iter().enumerate();
            entries.filter(move |(_, entry)| entry.family == index)
        };
        let specs: Vec<_> =
            entries().map(|(_, entry)| (&entry.operation.spec, &entry.operation.handler)).collect();
        let signatures = self.described(entries());
        let names: Vec<_> = specs.iter().map(|(spec, _)| spec.name).collect();
        let own = shown_first(&specs);
        let crude = if self.adapter.profile().is_crude() {
            family.categories().first().copied()
        } else {
            None
        };
        let named = entries().filter(|(place, _)| self.signatures.get(*place).is_none());
        let named: Vec<_> =
            named.take(self.most_named).map(|(_, entry)| &entry.operation.spec).collect();
        let template = Template::of(crude, family, &specs, &named);

        let mut text = template.opening.clone();
        text.push_str("\n\nSupported operations:");
        if names.is_empty() {
            text.push_str(" none.");
        } else if signatures.is_empty() {
            text.push(' ');
            text.push_str(&listed(&names, self.most_named));
        } else {
            text.push_str(&signatures);
        }
        self.common_parameters(entries(), &mut text);
        if let Some(statement) = &template.statement {
            let _ = write!(text, "\n\n{statement}");
        }
        let _ = write!(text, "\n\n{}", template.quick_start);
        let (shown, generated): (Vec<&OperationSpec>, Vec<_>) =
            own.iter().partition(|spec| !spec.examples.is_empty());
        let examples = match shown.is_empty() {
            true => generated.into_iter().take(1).collect(),
            false => shown,
        };
        let examples: Vec<_> = examples.into_iter().take(template.examples).collect();
        for spec in &examples {
            let _ = write!(text, "\n{}", self.example(spec));
        }
        if examples.is_empty() {
            text.push_str(" none");
        }
        self.discovery(&template, own.first().map(|spec| spec.name), tool, &mut text);
        text
    }

    /// Explains how to introspect the operations of a tool. `first` is the operation to use as an example.
    fn discovery(&self, template: &Template, first: Option<&str>, tool: &str, text: &mut String) {
        let call = match first {
            Some(name) if template.by_name => call_by_name(name),
            Some(_) => self.call_for_operations(),
            None => CALL_FOR_THE_LIST.to_owned(),
        };
        let _ = write!(text, "\n\n{}\n{call}", template.discover);
        if tool == self.introspect_tool {
            if let Some(first) = first {
                let _ = write!(text, "\nOne in full: add name: \"{first}\"");
            }
            // This tool also explains batches for the tools of the other families.
            self.batch_hint(" of one tool's operations", text);
        } else {
            // Strict routing accepts `introspect` at one tool only (choice C-68).
            let _ = write!(text, " to {}", self.introspect_tool);
        }
    }

    /// Lists operations with their parameters, followed by the names of the remaining ones. Returns an empty string if
    /// no operation is described with its parameters.
    fn described<'e>(&self, entries: impl Iterator<Item = (usize, &'e Arc<Entry>)>) -> String {
        let (mut text, mut names) = (String::new(), Vec::new());
        let mut queries: Vec<(&str, &str)> = Vec::new();
        for (place, entry) in entries {
            let name = entry.operation.spec.name;
            let Some(signature) = self.signatures.get(place) else {
                names.push(name);
                continue;
            };
            let query = self.adapter.query_parameters(&entry.operation);
            let before = queries.iter().find(|(said, _)| *said == query);
            let same = before.map(|(_, first)| format!("query parameters as {first}"));
            match same.filter(|same| same.len() < query.len()) {
                Some(same) => text.push_str(&signature.replace(query, &same)),
                None => {
                    queries.push((query, name));
                    text.push_str(signature);
                }
            }
        }
        if !text.is_empty() && !names.is_empty() {
            let _ = write!(text, "\n- {}", listed(&names, self.most_named));
        }
        text
    }

    /// Explains the parameters shared by several operations.
    fn common_parameters<'e>(
        &self,
        entries: impl Iterator<Item = (usize, &'e Arc<Entry>)>,
        text: &mut String,
    ) {
        let meanings = self.adapter.common_parameters(entries.map(|(_, entry)| &*entry.operation));
        if !meanings.is_empty() {
            let _ = write!(text, "\n\nQuery parameters, all optional: {}.", meanings.join("; "));
        }
    }

    /// Describes the unified tool (REQ-EPT-07).
    fn unified(&self) -> String {
        let name = self.adapter.name();
        let mut text = format!(
            "MCP-AQL {name} adapter. All operations through this one tool.\n\n\
             Operations are routed by their semantic category.\n\n\
             Supported operation categories:"
        );
        let mut groups = VerbGroups::default();
        for (category, label) in
            SemanticCategory::ALL.into_iter().zip(["Create", "Read", "Update", "Delete", "Execute"])
        {
            let entries = || {
                let entries = self.adapter.registry().entries.iter().enumerate();
                entries.filter(move |(_, entry)| entry.operation.spec.category == category)
            };
            let names: Vec<_> = entries().map(|(_, entry)| entry.operation.spec.name).collect();
            // In mode `all`, the family tools contain the signatures.
            let signatures = match self.adapter.mode() {
                EndpointMode::Single => self.described(entries()),
                EndpointMode::Semantic | EndpointMode::All => String::new(),
            };
            let _ = write!(text, "\n- {label}:");
            if names.is_empty() {
                text.push_str(" none");
            } else if signatures.is_empty() {
                text.push(' ');
                text.push_str(&groups.line(&names, self.most_named.min(MAX_NAMED_PER_CATEGORY)));
            } else {
                text.push_str(&signatures.replace('\n', "\n  "));
            }
        }
        if self.adapter.mode() == EndpointMode::Single {
            self.common_parameters(self.adapter.registry().entries.iter().enumerate(), &mut text);
        }
        let pointer = match self.signatures.are_complete() {
            true => "Introspection lists all operations.",
            false => "Introspection finds operations.",
        };
        let _ = write!(text, "\n\nQuick start:\n{}\n\n{pointer}", self.call_for_operations());
        self.batch_hint("", &mut text);
        text
    }

    fn call_for_operations(&self) -> String {
        call_for_operations(self.adapter, self.signatures.are_complete())
    }

    /// Returns an example call of an operation, either the author's first example or one generated from the table. Both
    /// are valid calls.
    fn example(&self, spec: &OperationSpec) -> String {
        let name = spec.name;
        let params = self.adapter.sample(name);
        let params: Value =
            params.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        match params.as_object() {
            Some(params) if !params.is_empty() => {
                let call = format!(r#"{{ operation: "{name}", params: {} }}"#, loose_map(params));
                if call.len() <= MAX_EXAMPLE_BYTES {
                    return call;
                }
                format!(r#"{{ operation: "{name}", params: {{ … }} }}"#)
            }
            _ => format!(r#"{{ operation: "{name}" }}"#),
        }
    }

    /// Explains batches. `which` describes the operations that a batch can contain.
    fn batch_hint(&self, which: &str, text: &mut String) {
        if self.adapter.settings().batch {
            let _ = write!(
                text,
                "\n\nBatch{which}, in order: {{ operations: [{{ operation, params }}] }}"
            );
        }
    }
}

/// Returns the operations to show examples of. These are the author's own, because models call the tool for them. A
/// tool without any shows the operations on executions.
fn shown_first<'s>(specs: &[(&'s OperationSpec, &Handler)]) -> Vec<&'s OperationSpec> {
    let (mut own, mut of_executions) = (Vec::new(), Vec::new());
    for (spec, handler) in specs {
        match handler {
            Handler::Function(_) => own.push(*spec),
            Handler::Execution(_) => of_executions.push(*spec),
            Handler::Introspect => {}
        }
    }
    if own.is_empty() { of_executions } else { own }
}

/// Formats JSON without quotes around names, like the protocol's descriptions: `{ title: "Ship it" }`.
fn loose(value: &Value) -> String {
    match value {
        Value::Object(map) => loose_map(map),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(loose).collect();
            format!("[{}]", items.join(", "))
        }
        other => other.to_string(),
    }
}

fn loose_map(map: &Map<String, Value>) -> String {
    let members: Vec<_> = map
        .iter()
        .map(|(name, value)| {
            let name = match is_public_name(name) {
                true => name.clone(),
                false => Value::from(name.as_str()).to_string(),
            };
            format!("{name}: {}", loose(value))
        })
        .collect();
    if members.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", members.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_written_as_in_the_protocol() {
        let value = serde_json::json!({ "a": [1, "x"], "B-c": {}, "d": { "e": null } });
        assert_eq!(loose(&value), r#"{ "B-c": {}, a: [1, "x"], d: { e: null } }"#);
    }
}
