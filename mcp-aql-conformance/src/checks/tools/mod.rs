//! Checks of the tools: names, descriptions, annotations and schemas.

mod descriptions;

use std::collections::BTreeSet;

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::routing::recognised;
use super::{Check, checks};
use crate::adapter::{Adapter, Operation, Tool, tool_parts};
use crate::cases::{Cases, Finding};
use crate::category::{Category, Mode};
use crate::run::Run;

pub(super) const CHECKS: &[Check] = checks![
    Must 1 "tools.prefix" => Learned(prefix), ["REQ-MCP-18"],
        "The prefix before `mcp_aql` in a tool's name is lower case and ends with an underscore";
    Must 1 "tools.unique" => Learned(unique), ["REQ-MCP-19"],
        "Names of tools are unique";
    Should 1 "tools.names" => Learned(names), ["REQ-MCP-03", "REQ-MCP-20", "REQ-MCP-18"],
        "Tools are named `mcp_aql` or `mcp_aql_FAMILY`, with an optional short prefix";
    Must 1 "tools.crude_complete" => Learned(crude_complete), ["REQ-EPT-05"],
        "The CRUDE profile has all five tools";
    Must 1 "tools.introspect_named" => Learned(descriptions::introspect_named), ["REQ-MCP-01"],
        "Every description explains how to call `introspect`";
    Must 1 "tools.description_parts" => Learned(descriptions::description_parts), ["REQ-MCP-02"],
        "Every description lists the operations of its tool";
    Should 1 "tools.description_labels" => Learned(descriptions::description_labels),
        ["REQ-MCP-02"],
        "Descriptions have the labels of the protocol's template, in its order";
    Should 1 "tools.description_current" => Learned(descriptions::description_current),
        ["REQ-MCP-02"],
        "A description names exactly the operations of its tool";
    Should 1 "tools.empty_families" => Learned(descriptions::empty_families), ["REQ-MCP-02"],
        "The description of a tool without operations says so";
    Should 1 "tools.annotations" => Learned(annotations), ["REQ-MCP-05", "REQ-MCP-06"],
        "Tools have the hints `readOnlyHint` and `destructiveHint` of their riskiest operation";
    Must 1 "tools.input_schema" => Learned(input_schema), ["REQ-MCP-07"],
        "The schema of a tool accepts `operation` and `params`";
    Must 1 "tools.operation_enum" => Learned(operation_enum), ["REQ-MCP-08"],
        "The operations in a schema's enum are those of the tool";
    Must 1 "tools.all_registered" => Learned(all_registered), ["REQ-INT-11", "REQ-MCP-04"],
        "The tool that introspection names for an operation exists";
    Must 1 "tools.own_only" => Reads(own_only), ["REQ-INT-31", "REQ-EPT-07"],
        "Every operation that introspection lists can be called";
];

/// The operations of this tool.
fn operations_of<'a>(adapter: &'a Adapter, tool: &'a Tool) -> impl Iterator<Item = &'a Operation> {
    adapter.operations.iter().filter(move |operation| operation.tool == tool.name)
}

/// The family in a tool's name.
fn family(tool: &Tool) -> Option<&str> {
    tool_parts(&tool.name)?.1
}

/// The category of a family of the CRUDE profile.
fn category(family: &str) -> Option<Category> {
    Category::ALL.into_iter().find(|category| category.family() == family)
}

/// Tools whose names resemble those of MCP-AQL.
fn alike(adapter: &Adapter) -> impl Iterator<Item = &Tool> {
    adapter.tools.iter().filter(|tool| tool.name.to_ascii_lowercase().contains("mcp_aql"))
}

fn prefix(run: &Run, cases: &Cases) {
    for tool in alike(&run.adapter) {
        let end = tool.name.to_ascii_lowercase().rfind("mcp_aql").unwrap_or_default();
        let prefix = tool.name.get(..end).unwrap_or_default();
        let is_plain = prefix.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'));
        cases.expect(prefix.is_empty() || (is_plain && prefix.ends_with('_')), || {
            Finding::shown(
                format!("tool `{}`", tool.name),
                prefix,
                "a prefix of lower-case letters, digits and underscores that ends in `_`",
                "change the prefix of the tools",
            )
        });
    }
}

fn unique(run: &Run, cases: &Cases) {
    let mut seen = BTreeSet::new();
    for tool in &run.adapter.tools {
        cases.expect(seen.insert(&tool.name), || {
            Finding::shown(
                format!("tool `{}`", tool.name),
                tool.raw.clone(),
                "a unique name",
                "register each tool once, and give adapters in one server different prefixes",
            )
        });
    }
}

fn names(run: &Run, cases: &Cases) {
    for tool in alike(&run.adapter) {
        let is_short = tool_parts(&tool.name).is_some_and(|(prefix, _)| prefix.len() < 20);
        cases.expect(is_short, || {
            Finding::shown(
                format!("tool `{}`", tool.name),
                tool.name.clone(),
                "a name that matches ^(.+_)?mcp_aql(?:_([a-z0-9_]+))?$, its prefix shorter than 20",
                "name tools `mcp_aql_create` and so on, or `mcp_aql`, with a short prefix if any",
            )
        });
    }
}

fn crude_complete(run: &Run, cases: &Cases) {
    if run.adapter.mode == Mode::Single {
        return cases.not_applicable("the adapter has one tool");
    }
    if !run.adapter.is_crude() {
        return cases.not_applicable("the families are not those of the CRUDE profile");
    }
    for wanted in Category::ALL {
        let is_there = run.adapter.endpoints.iter().any(|it| family(it) == Some(wanted.family()));
        cases.expect(is_there, || {
            Finding::shown(
                format!("family `{}`", wanted.family()),
                run.adapter.endpoints.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(),
                format!("a tool for {wanted} operations"),
                "register all five tools, also those without operations, or use other names \
                 of families",
            )
        });
    }
}

fn annotations(run: &Run, cases: &Cases) {
    for tool in &run.adapter.endpoints {
        let of_family = family(tool).and_then(category).map(Category::permissions);
        let riskiest = || {
            let own = operations_of(&run.adapter, tool).filter_map(|operation| operation.category);
            own.map(Category::permissions)
                .fold((true, false), |(reads, destroys), it| (reads && it.0, destroys || it.1))
        };
        let (reads, destroys) = match (run.adapter.mode, of_family) {
            (Mode::Single, _) => (false, true),
            (_, Some(permissions)) => permissions,
            (_, None) => riskiest(),
        };
        let hint = |name: &str| tool.raw.pointer("/annotations")?.get(name)?.as_bool();
        let holds =
            hint("readOnlyHint") == Some(reads) && hint("destructiveHint") == Some(destroys);
        cases.expect(holds, || {
            Finding::shown(
                format!("tool `{}`", tool.name),
                tool.raw.get("annotations").cloned().unwrap_or_default(),
                format!("readOnlyHint {reads}, destructiveHint {destroys}"),
                "annotate the tool: clients decide by these hints when to ask people",
            )
        });
    }
}

/// Whether a schema accepts values of this type.
fn takes(schema: &Value, kind: &str) -> bool {
    let is_named = match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(|it| it == kind),
        Some(named) => named == kind,
        None => false,
    };
    let mut choices = ["anyOf", "oneOf"].iter().filter_map(|name| schema.get(*name)?.as_array());
    is_named || choices.any(|choices| choices.iter().any(|choice| takes(choice, kind)))
}

fn input_schema(run: &Run, cases: &Cases) {
    for tool in &run.adapter.endpoints {
        let schema = tool.raw.get("inputSchema").unwrap_or(&Value::Null);
        let takes = |path: &str, kind: &str| schema.pointer(path).is_some_and(|it| takes(it, kind));
        let required: Vec<_> = schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        // A batch has `operations` instead of `operation`, so neither can be required.
        let takes_batches = takes("/properties/operations", "array");
        let mut faults = Vec::new();
        if !takes("", "object") {
            faults.push("`type` object");
        }
        if !takes("/properties/operation", "string") {
            faults.push("`operation` of type string");
        }
        if !takes("/properties/params", "object") {
            faults.push("`params` of type object");
        }
        if schema.pointer("/properties/params/additionalProperties") == Some(&json!(false)) {
            faults.push("`params` with `additionalProperties` true");
        }
        let is_required_right = match takes_batches {
            true => required.iter().all(|name| *name == "operation"),
            false => required == ["operation"],
        };
        if !is_required_right {
            faults.push("`required` with `operation` alone");
        }
        cases.expect(faults.is_empty(), || {
            Finding::shown(
                format!("tool `{}`", tool.name),
                schema.clone(),
                faults.join(", "),
                "use the protocol's schema for every endpoint tool; introspection documents the parameters of \
                 operations",
            )
        });
    }
}

fn operation_enum(run: &Run, cases: &Cases) {
    let enums = run.adapter.endpoints.iter().filter_map(|tool| {
        Some((tool, tool.raw.pointer("/inputSchema/properties/operation/enum")?.as_array()?))
    });
    for (tool, listed) in cases.some_or_not_applicable(enums, "no schema enumerates operations") {
        let listed: BTreeSet<_> = listed.iter().filter_map(Value::as_str).collect();
        let own: BTreeSet<_> =
            operations_of(&run.adapter, tool).map(|operation| operation.name.as_str()).collect();
        // Every tool may offer `introspect`.
        let beside: BTreeSet<_> =
            listed.difference(&own).filter(|name| **name != "introspect").collect();
        cases.expect(beside.is_empty() && own.is_subset(&listed), || {
            Finding::shown(
                format!("tool `{}`", tool.name),
                listed.iter().copied().collect::<Vec<_>>(),
                format!("the operations that introspection lists for this tool: {own:?}"),
                "generate the enum from the operations, or omit it",
            )
        });
    }
}

fn all_registered(run: &Run, cases: &Cases) {
    for operation in &run.adapter.operations {
        let is_there = run.adapter.endpoints.iter().any(|tool| tool.name == operation.tool);
        cases.expect(is_there, || {
            Finding::shown(
                &operation.name,
                operation.tool.clone(),
                format!(
                    "`mcpTool` with one of {:?}",
                    run.adapter.endpoints.iter().map(|it| it.name.as_str()).collect::<Vec<_>>()
                ),
                "use the registered name of the tool, with its prefix",
            )
        });
    }
}

async fn own_only(run: &Run, cases: &Cases) {
    join_all(run.adapter.operations.iter().map(|operation| async move {
        if let Some((exchange, is_known)) = recognised(run, operation, cases).await {
            cases.expect(is_known, || {
                Finding::of(
                    &exchange,
                    &operation.name,
                    "any reply except that the operation is unknown to this tool",
                "list only operations that can be called: neither operations of other adapters nor disabled ones",
                )
            });
        }
    }))
    .await;
}
