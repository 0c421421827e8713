//! Writes the tool descriptions for models: the protocol's templates, as short as possible while a
//! model can still act on them (REQ-MCP-01, REQ-MCP-02).

use std::fmt::Write as _;

use mcp_aql_protocol::{SemanticCategory, is_public_name};
use serde_json::{Map, Value};

use mcp_aql_core::adapter::Adapter;
use mcp_aql_core::operation::{Handler, OperationSpec};
use mcp_aql_core::router::{Endpoint, EndpointMode, Entry, Family};

use super::operation_names::{VerbGroups, listed};
use super::signatures::Signatures;

/// The maximum number of operations that a family's description names. Introspection lists the
/// others.
const MAX_NAMED_OPERATIONS: usize = 60;
/// The maximum number of operations per line of the unified tool's description.
const MAX_NAMED_PER_CATEGORY: usize = 24;
/// The maximum length of an example in characters.
const MAX_EXAMPLE_BYTES: usize = 200;

/// Describes the tools of an adapter, each with its endpoint and name. Operations are described with their
/// parameters as far as the budget permits.
pub(super) fn descriptions(adapter: &Adapter, tools: &[(Endpoint, &str)]) -> Vec<String> {
    let introspect_tool = introspect_tool(adapter);
    let with = |signatures| {
        let describer = Describer { adapter, introspect_tool, signatures };
        tools.iter().map(|(endpoint, tool)| describer.describe(*endpoint, tool)).collect()
    };
    let names_only: Vec<_> = with(Signatures::default());
    let signatures = Signatures::within_budget(adapter, &names_only);
    if signatures.is_empty() { names_only } else { with(signatures) }
}

/// Writes the descriptions of an adapter's tools.
struct Describer<'a> {
    adapter: &'a Adapter,
    /// The tool that accepts `introspect`.
    introspect_tool: &'a str,
    /// The operations that are described with their parameters.
    signatures: Signatures,
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
        let own: Vec<_> = specs
            .iter()
            .filter(|(_, handler)| !matches!(handler, Handler::Introspect))
            .map(|(spec, _)| *spec)
            .collect();
        let crude = if self.adapter.profile().is_crude() {
            family.categories().first().copied()
        } else {
            None
        };
        let named = entries().filter(|(place, _)| self.signatures.get(*place).is_none());
        let named: Vec<_> = named.map(|(_, entry)| &entry.operation.spec).collect();
        let template = Template::of(crude, family, &specs, &named);

        let mut text = template.opening.clone();
        text.push_str("\n\nSupported operations:");
        if names.is_empty() {
            text.push_str(" none.");
        } else if signatures.is_empty() {
            text.push(' ');
            text.push_str(&listed(&names, MAX_NAMED_OPERATIONS));
        } else {
            text.push_str(&signatures);
        }
        self.common_parameters(entries(), &mut text);
        if let Some(statement) = &template.statement {
            let _ = write!(text, "\n\n{statement}");
        }
        let _ = write!(text, "\n\n{}", template.quick_start);
        let examples: Vec<_> = own.iter().take(template.examples).collect();
        for spec in &examples {
            let _ = write!(text, "\n{}", self.example(spec));
        }
        if examples.is_empty() {
            text.push_str(" none");
        }
        self.discovery(&template, own.first().map(|spec| spec.name), tool, &mut text);
        text
    }

    /// Explains how to introspect the operations of a tool, the first of which may be an example.
    fn discovery(&self, template: &Template, first: Option<&str>, tool: &str, text: &mut String) {
        let named = first.filter(|_| template.by_name);
        let _ = write!(text, "\n\n{}\n{}", template.discover, introspect_call(named));
        if tool == self.introspect_tool {
            if let Some(first) = first {
                let _ = write!(text, "\nOne in full: add name: \"{first}\"");
            }
            // This tool explains batches for those of the other families too.
            self.batch_hint(" of one tool's operations", text);
        } else {
            // Strict routing accepts introspect at one tool only (choice C-68).
            let _ = write!(text, " to {}", self.introspect_tool);
        }
    }

    /// Lists operations with their parameters, and then the names of those that do not fit. The list is
    /// empty if none fits.
    fn described<'e>(&self, entries: impl Iterator<Item = (usize, &'e Entry)>) -> String {
        let (mut text, mut names) = (String::new(), Vec::new());
        for (place, entry) in entries {
            match self.signatures.get(place) {
                Some(signature) => text.push_str(signature),
                None => names.push(entry.operation.spec.name),
            }
        }
        if !text.is_empty() && !names.is_empty() {
            let _ = write!(text, "\n- {}", listed(&names, MAX_NAMED_OPERATIONS));
        }
        text
    }

    /// Explains the parameters that several operations have in common.
    fn common_parameters<'e>(
        &self,
        entries: impl Iterator<Item = (usize, &'e Entry)>,
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
            // In mode `all`, the tools of the families have the signatures.
            let signatures = match self.adapter.mode() {
                EndpointMode::Single => self.described(entries()),
                EndpointMode::Semantic | EndpointMode::All => String::new(),
            };
            let _ = write!(text, "\n- {label}:");
            if names.is_empty() {
                text.push_str(" none");
            } else if signatures.is_empty() {
                text.push(' ');
                text.push_str(&groups.line(&names, MAX_NAMED_PER_CATEGORY));
            } else {
                text.push_str(&signatures.replace('\n', "\n  "));
            }
        }
        if self.adapter.mode() == EndpointMode::Single {
            self.common_parameters(self.adapter.registry().entries.iter().enumerate(), &mut text);
        }
        let _ = write!(
            text,
            "\n\nQuick start:\n{}\n\n\
             Introspection lists all operations.",
            introspect_call(None)
        );
        self.batch_hint("", &mut text);
        text
    }

    /// An example call of an operation: its author's first example, or one generated from the
    /// table. Both are valid.
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

    /// Explains batches of the `which` operations.
    fn batch_hint(&self, which: &str, text: &mut String) {
        if self.adapter.settings().batch {
            let _ = write!(
                text,
                "\n\nBatch{which}, in order: {{ operations: [{{ operation, params }}] }}"
            );
        }
    }
}

/// The fixed parts of a template.
struct Template {
    opening: String,
    statement: Option<String>,
    quick_start: &'static str,
    /// The number of example calls.
    examples: usize,
    discover: &'static str,
    /// Whether the introspect call names an operation.
    by_name: bool,
}

impl Template {
    fn of<'s>(
        crude: Option<SemanticCategory>,
        family: &Family,
        specs: &[(&'s OperationSpec, &Handler)],
        named: &[&OperationSpec],
    ) -> Self {
        const EXAMPLE: &str = "Quick start example:";
        const EXAMPLES: &str = "Quick start examples:";
        const PARAMETERS: &str = "Discover required parameters:";
        const EVERYTHING: &str = "Discover all operations and parameters:";
        let purpose = family.purpose().to_owned();
        let with = |statement: &str, quick_start| Self {
            opening: purpose.clone(),
            statement: Some(statement.to_owned()),
            quick_start,
            examples: 1,
            discover: PARAMETERS,
            by_name: true,
        };
        match crude {
            Some(SemanticCategory::Create) => {
                with("They neither remove nor overwrite any.", EXAMPLES)
            }
            Some(SemanticCategory::Read) => Self {
                examples: 2,
                discover: EVERYTHING,
                by_name: false,
                ..with("They never change stored data.", EXAMPLES)
            },
            Some(SemanticCategory::Update) => with("Earlier values may be lost.", EXAMPLE),
            Some(SemanticCategory::Delete) => with("Use with caution.", EXAMPLES),
            Some(SemanticCategory::Execute) => {
                let authors = |(spec, handler): &(&'s OperationSpec, &Handler)| {
                    matches!(handler, Handler::Function(_)).then_some(*spec)
                };
                let things = executable_things(specs.iter().filter_map(authors));
                let has_commands =
                    specs.iter().filter_map(authors).any(|it| it.lifecycle.is_none());
                let statement = execute_statement(named, has_commands);
                Self { opening: things, ..with(&statement, EXAMPLES) }
            }
            None => {
                let mut opening = purpose;
                let categories = categories(family, specs);
                let _ = write!(opening, "\n\nPrimary semantic categories: {categories}");
                Self {
                    opening,
                    statement: None,
                    quick_start: EXAMPLE,
                    examples: 1,
                    discover: EVERYTHING,
                    by_name: false,
                }
            }
        }
    }
}

/// The objects of the EXECUTE operations: `execute_export` yields `export`.
fn executable_things<'s>(own: impl Iterator<Item = &'s OperationSpec>) -> String {
    let mut things: Vec<String> = Vec::new();
    for spec in own {
        if let Some((_, thing)) = spec.name.split_once('_') {
            let thing = thing.replace('_', " ");
            if !things.contains(&thing) && things.len() < 6 {
                things.push(thing);
            }
        }
    }
    if things.is_empty() {
        "Execution lifecycle operations.".to_owned()
    } else {
        format!("Execution lifecycle operations for {}.", things.join(", "))
    }
}

/// States what EXECUTE operations do, with the summaries of those that are only named.
fn execute_statement(named: &[&OperationSpec], has_commands: bool) -> String {
    let mut text = match has_commands {
        true => "They run commands or manage what runs",
        false => "They manage what runs, not what is stored",
    }
    .to_owned();
    text.push_str(if named.is_empty() { "." } else { ":" });
    for spec in named.iter().take(MAX_NAMED_OPERATIONS) {
        let _ = write!(text, "\n- {}: {}", spec.name, spec.summary());
    }
    text.push_str("\n\nIMPORTANT: they may be destructive and are not idempotent.");
    text
}

/// The categories of a family's operations, or the declared ones if it is empty.
fn categories(family: &Family, specs: &[(&OperationSpec, &Handler)]) -> String {
    let held = |category| specs.iter().any(|(spec, _)| spec.category == category);
    let names: Vec<_> = SemanticCategory::ALL
        .into_iter()
        .filter(|category| match specs.is_empty() {
            true => family.categories().contains(category),
            false => held(*category),
        })
        .map(SemanticCategory::as_str)
        .collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn introspect_call(name: Option<&str>) -> String {
    match name {
        Some(name) => format!(
            r#"{{ operation: "introspect", params: {{ query: "operations", name: "{name}" }} }}"#
        ),
        None => r#"{ operation: "introspect", params: { query: "operations" } }"#.to_owned(),
    }
}

/// The tool that accepts `introspect` in the adapter's mode.
pub(super) fn introspect_tool(adapter: &Adapter) -> &str {
    let registry = adapter.registry();
    let tool = match adapter.mode() {
        EndpointMode::Single => registry.tool_names.last(),
        EndpointMode::Semantic | EndpointMode::All => {
            let family = registry.get("introspect").map_or(0, |entry| entry.family);
            registry.tool_names.get(family)
        }
    };
    tool.map_or("", String::as_str)
}

/// The server's instructions for models, followed by the author's text.
pub(super) fn instructions(adapter: &Adapter) -> String {
    let tool = introspect_tool(adapter);
    let mut text = format!(
        "Parameters not shown: {} to {tool} with name, or parameters: true and names, prefix or \
         category. Types: query: \"types\" with name.",
        introspect_call(None)
    );
    if let Some(own) = &adapter.parts().instructions {
        text.push_str("\n\n");
        text.push_str(own);
    }
    text
}

/// Formats JSON as the protocol's descriptions do: without quotes around names.
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
