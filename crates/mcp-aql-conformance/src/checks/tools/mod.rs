//! Checks of the tools: names, descriptions, annotations and schemas.

mod descriptions;
mod names;
mod registration;
mod schemas;

use super::{Check, checks};
use crate::adapter::{Adapter, Operation, Tool};

pub(super) const CHECKS: &[Check] = checks![
    Must 1 "tools.endpoint" => Learned(registration::endpoint), ["REQ-EPT-01"],
        "The server has an endpoint tool";
    Must 1 "tools.prefix" => Learned(names::prefix), ["REQ-MCP-18"],
        "The prefix before `mcp_aql` in a tool's name is lower case and ends with an underscore";
    Must 1 "tools.unique" => Learned(names::unique), ["REQ-MCP-19"],
        "Names of tools are unique";
    Should 1 "tools.names" => Learned(names::names), ["REQ-MCP-03", "REQ-MCP-20", "REQ-MCP-18"],
        "Tools are named `mcp_aql` or `mcp_aql_FAMILY`, with an optional short prefix";
    Must 1 "tools.crude_complete" => Learned(names::crude_complete), ["REQ-EPT-05"],
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
    Should 1 "tools.annotations" => Learned(schemas::annotations), ["REQ-MCP-05", "REQ-MCP-06"],
        "Tools have the hints `readOnlyHint` and `destructiveHint` of their riskiest operation";
    Must 1 "tools.input_schema" => Learned(schemas::input_schema), ["REQ-MCP-07"],
        "The schema of a tool accepts `operation` and `params`";
    Must 1 "tools.operation_enum" => Learned(schemas::operation_enum), ["REQ-MCP-08"],
        "The operations in a schema's enum are those of the tool";
    Must 1 "tools.all_registered" => Learned(registration::all_registered), ["REQ-INT-11", "REQ-MCP-04"],
        "The tool that introspection names for an operation exists";
    Must 1 "tools.own_only" => Reads(registration::own_only), ["REQ-INT-31", "REQ-EPT-07"],
        "Every operation that introspection lists can be called";
];

/// Returns the operations of this tool.
fn operations_of<'a>(adapter: &'a Adapter, tool: &'a Tool) -> impl Iterator<Item = &'a Operation> {
    adapter.operations.iter().filter(move |operation| operation.tool == tool.name)
}
