//! Checks of the tools: names, descriptions, annotations and schemas.

mod descriptions;
mod names;
mod schemas;

use super::{Check, checks, routing};
use crate::adapter::{Adapter, Operation, Tool};

pub(super) const CHECKS: &[Check] = checks![
    Must 1 "tools.endpoint" => Learned(names::endpoint), ["REQ-EPT-01"],
        "The server has an endpoint tool",
        fix: "register the endpoint tools; if the server is not meant to be an MCP-AQL adapter, only the checks of \
         the wire apply to it";
    Must 1 "tools.prefix" => Learned(names::prefix), ["REQ-MCP-18"],
        "The prefix before `mcp_aql` in a tool's name is lower case and ends with an underscore",
        expected: "a prefix of lower-case letters, digits and underscores that ends in `_`",
        fix: "change the prefix of the tools";
    Must 1 "tools.unique" => Learned(names::unique), ["REQ-MCP-19"],
        "Names of tools are unique",
        expected: "a unique name",
        fix: "register each tool once, and give adapters in one server different prefixes";
    Should 1 "tools.names" => Learned(names::names), ["REQ-MCP-03", "REQ-MCP-20", "REQ-MCP-18"],
        "Tools are named `mcp_aql` or `mcp_aql_FAMILY`, with an optional short prefix",
        expected: "a name that matches ^(.+_)?mcp_aql(?:_([a-z0-9_]+))?$, with a prefix of less than 20 characters",
        fix: "name tools `mcp_aql_create` and so on, or `mcp_aql`, with a short prefix if any";
    Must 1 "tools.crude_complete" => Learned(names::crude_complete), ["REQ-EPT-05"],
        "The CRUDE profile has all five tools",
        fix: "register all five tools, also those without operations, or use other names of families";
    Must 1 "tools.introspect_named" => Learned(descriptions::introspect_named), ["REQ-MCP-01"],
        "Every description explains how to call `introspect`",
        expected: "a description with a call of `introspect` and its parameter `query`",
        fix: "explain how to discover the operations: { operation: \"introspect\", params: { query: \"operations\" } \
         }";
    Must 1 "tools.description_parts" => Learned(descriptions::description_parts), ["REQ-MCP-02"],
        "Every description lists the operations of its tool",
        fix: "list the operations as in the template of the protocol: `Supported operations: create_task, …` for the \
         tool of a family, and a line for each category such as `- Create: create_task` for the one tool of the \
         single mode";
    Should 1 "tools.description_labels" => Learned(descriptions::description_labels),
        ["REQ-MCP-02"],
        "Descriptions have the labels of the protocol's template, in its order",
        fix: "use the labels of the protocol's template";
    Should 1 "tools.description_current" => Learned(descriptions::description_current),
        ["REQ-MCP-02"],
        "A description names exactly the operations of its tool",
        fix: "generate the description from the operations";
    Should 1 "tools.empty_families" => Learned(descriptions::empty_families), ["REQ-MCP-02"],
        "The description of a tool without operations says so",
        expected: "a description that says that the tool has no operations",
        fix: "write `Supported operations: none.`, so that models do not try to call the tool";
    Should 1 "tools.annotations" => Learned(schemas::annotations), ["REQ-MCP-05", "REQ-MCP-06"],
        "Tools have the hints `readOnlyHint` and `destructiveHint` of their riskiest operation",
        fix: "annotate the tool: clients decide by these hints when to ask people";
    Must 1 "tools.input_schema" => Learned(schemas::input_schema), ["REQ-MCP-07"],
        "The schema of a tool accepts `operation` and `params`",
        fix: "use the protocol's schema for every endpoint tool; introspection documents the parameters of \
         operations";
    Must 1 "tools.operation_enum" => Learned(schemas::operation_enum), ["REQ-MCP-08"],
        "The operations in a schema's enum are those of the tool",
        fix: "generate the enum from the operations, or omit it";
    Must 1 "tools.all_registered" => Learned(names::all_registered), ["REQ-INT-11", "REQ-MCP-04"],
        "The tool that introspection names for an operation exists",
        fix: "use the registered name of the tool, with its prefix";
    Must 1 "tools.own_only" => Reads { calls: routing::routed_right, rule: routing::is_known },
        ["REQ-INT-31", "REQ-EPT-07"],
        "Every operation that introspection lists can be called",
        expected: "any reply other than a failure because this tool does not know the operation",
        fix: "list only operations that can be called: neither operations of other adapters nor disabled ones";
];

/// Returns the operations of this tool.
fn operations_of<'a>(adapter: &'a Adapter, tool: &'a Tool) -> impl Iterator<Item = &'a Operation> {
    adapter.operations.iter().filter(move |operation| operation.tool == tool.name)
}
