//! The model of the tested adapter as introspection describes it: tools, operations, parameters and types.

pub(crate) mod examples;
pub(crate) mod gaps;
pub(crate) mod naming;

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use self::gaps::Gap;
use crate::category::{Category, Mode};
use crate::settings::Settings;
use crate::verbs::is_reading;

/// A tool listed by `tools/list`.
#[derive(Debug, Clone)]
pub(crate) struct Tool {
    pub(crate) name: String,
    /// Description of the tool for models.
    pub(crate) description: String,
    /// The whole JSON object of the tool.
    pub(crate) raw: Value,
}

/// A parameter of an operation.
#[derive(Debug, Clone)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    /// `string`, `integer`, `number`, `boolean`, `array`, `object`, or the name of a type.
    pub(crate) kind: String,
    /// If `true`, calls without the parameter must fail.
    pub(crate) required: bool,
    /// The whole definition, with `enum`, `minimum`, `items` and so on.
    pub(crate) raw: Map<String, Value>,
}

impl Parameter {
    /// Reads a parameter from its definition. Returns `None` if the definition has no name.
    pub(crate) fn read(raw: &Value) -> Option<Self> {
        let raw = raw.as_object()?;
        Some(Self {
            name: text(raw.get("name"))?,
            // Keep a parameter without a type: the empty string is treated like an unknown type.
            kind: text(raw.get("type")).unwrap_or_default(),
            required: raw.get("required").and_then(Value::as_bool).unwrap_or_default(),
            raw: raw.clone(),
        })
    }

    /// Returns a member of the definition, for example `minimum` or `enum`.
    pub(crate) fn member(&self, name: &str) -> Option<&Value> {
        self.raw.get(name)
    }
}

/// An operation with its details.
#[derive(Debug, Clone)]
pub(crate) struct Operation {
    pub(crate) name: String,
    /// The semantic category, or `None` if introspection states no known one.
    pub(crate) category: Option<Category>,
    /// The endpoint family.
    pub(crate) endpoint: String,
    /// Name of the tool that accepts calls of the operation.
    pub(crate) tool: String,
    /// Description of the operation for models.
    pub(crate) description: String,
    /// The permissions `readOnly` and `destructive`.
    pub(crate) permissions: Option<(bool, bool)>,
    /// If `true`, the name begins with a verb that reads, or the configuration says that the operation reads.
    pub(crate) has_reading_name: bool,
    /// If `true`, the run exercises the operation. A run only exercises a sample of a large adapter.
    pub(crate) is_exercised: bool,
    pub(crate) parameters: Vec<Parameter>,
    /// The entry in the list of operations, as sent.
    pub(crate) listed: Value,
    /// The whole reply with the details, as sent.
    pub(crate) reply: Value,
    /// The details with all names in `name`, if the adapter stores names in another member.
    renamed: Option<Value>,
    /// The parameters of each example.
    examples: Vec<Map<String, Value>>,
    /// The unread part that prevents all calls of the operation.
    pub(crate) gap: Option<Gap>,
}

impl Operation {
    /// Builds an operation from its list entry and the reply with its details.
    ///
    /// `name_member` is the member that holds names in this adapter, usually `name`.
    pub(crate) fn read(name: String, listed: &Value, reply: Value, name_member: &str) -> Self {
        let stated = reply.pointer("/data/operation");
        let renamed = stated.and_then(|details| naming::renamed(details, name_member));
        let details = renamed.as_ref().or(stated).and_then(Value::as_object);
        let member = |name: &str| {
            text(details.and_then(|details| details.get(name))).or_else(|| text(listed.get(name)))
        };
        let flag = |name: &str| details?.get("permissions")?.get(name)?.as_bool();
        let endpoint = member("endpoint").unwrap_or_default();
        Self {
            is_exercised: true,
            has_reading_name: is_reading(&name, &BTreeSet::new()),
            name,
            category: naming::category(member("semantic_category").as_deref(), &endpoint),
            endpoint,
            tool: member("mcpTool").unwrap_or_default(),
            description: member("description").unwrap_or_default(),
            permissions: flag("readOnly").zip(flag("destructive")),
            parameters: details
                .and_then(|details| details.get("parameters")?.as_array())
                .into_iter()
                .flatten()
                .filter_map(Parameter::read)
                .collect(),
            listed: listed.clone(),
            examples: details
                .and_then(|details| details.get("examples")?.as_array())
                .into_iter()
                .flatten()
                .filter_map(examples::params)
                .collect(),
            renamed,
            gap: None,
            reply,
        }
    }

    /// Records which unread part prevents calls. Call this once `tool` is set.
    pub(crate) fn find_gap(&mut self) {
        self.gap = gaps::of_calls(self);
    }

    /// Returns the details with all names in `name`, or null.
    pub(crate) fn details(&self) -> &Value {
        self.renamed.as_ref().unwrap_or_else(|| self.details_as_sent())
    }

    /// Returns the details as the adapter sent them, or null.
    pub(crate) fn details_as_sent(&self) -> &Value {
        self.reply.pointer("/data/operation").unwrap_or(&Value::Null)
    }

    /// Returns the values that the examples of the operation have for a parameter.
    pub(crate) fn examples_of<'a>(&'a self, parameter: &'a str) -> impl Iterator<Item = &'a Value> {
        self.examples.iter().filter_map(move |params| params.get(parameter))
    }

    /// Returns `true` if the operation changes nothing. For safety, the category, the permissions, the name and the
    /// other details must all agree on that.
    pub(crate) fn is_read(&self) -> bool {
        self.has_reading_name && self.is_stated_to_read()
    }

    /// Returns `true` if the name is the only reason why the operation does not count as reading.
    pub(crate) fn lacks_reading_name(&self) -> bool {
        !self.has_reading_name && self.is_stated_to_read()
    }

    /// Returns the categories other than READ stated by the list, the details or the tool.
    ///
    /// Introspection may contradict itself, and any of these categories may be the right one. Calls therefore need
    /// permission for all of them.
    pub(crate) fn changing_categories(&self) -> impl Iterator<Item = Category> {
        let details = naming::stated_categories(self.details());
        let stated = details.chain(naming::stated_categories(&self.listed));
        stated.chain(naming::of_tool(&self.tool)).filter(|category| *category != Category::Read)
    }

    /// Returns `true` if the categories, the permissions and the danger level agree that the operation only reads.
    fn is_stated_to_read(&self) -> bool {
        let says = |name: &str| self.details().get(name).filter(|reported| !reported.is_null());
        let is_risky = ["danger_level", "danger"]
            .into_iter()
            .filter_map(says)
            .any(|reported| reported.is_string() && reported != "safe");
        self.category == Some(Category::Read)
            && self.permissions == Some((true, false))
            && says("lifecycle").is_none()
            && !is_risky
            && self.changing_categories().next().is_none()
    }

    /// Returns the parameter with this name.
    pub(crate) fn parameter(&self, name: &str) -> Option<&Parameter> {
        self.parameters.iter().find(|parameter| parameter.name == name)
    }

    /// Returns the required parameters.
    pub(crate) fn required(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().filter(|parameter| parameter.required)
    }
}

/// A type with its details.
#[derive(Debug, Clone)]
pub(crate) struct Type {
    pub(crate) name: String,
    /// The entry in the list of types, as sent.
    pub(crate) listed: Value,
    /// The whole reply with the details, as sent.
    pub(crate) reply: Value,
    /// The details with all names in `name`, if the adapter stores names in another member.
    renamed: Option<Value>,
}

impl Type {
    /// Builds a type from its list entry and the reply with its details.
    ///
    /// `name_member` is the member that holds names in this adapter, usually `name`.
    pub(crate) fn read(name: String, listed: Value, reply: Value, name_member: &str) -> Self {
        let stated = reply.pointer("/data/type");
        let renamed = stated.and_then(|details| naming::renamed(details, name_member));
        Self { name, listed, renamed, reply }
    }

    /// Returns the details with all names in `name`, or null.
    pub(crate) fn details(&self) -> &Value {
        self.renamed.as_ref().unwrap_or_else(|| self.details_as_sent())
    }

    /// Returns the details as the adapter sent them, or null.
    pub(crate) fn details_as_sent(&self) -> &Value {
        self.reply.pointer("/data/type").unwrap_or(&Value::Null)
    }
}

/// Names of parameters with a meaning in the protocol.
pub(crate) const STANDARD_PARAMETERS: [&str; 12] = [
    "fields",
    "filter",
    "sort",
    "query",
    "first",
    "after",
    "last",
    "before",
    "limit",
    "offset",
    "aggregate",
    "include_items",
];

/// The self-description of an adapter in one endpoint mode.
#[derive(Debug, Clone)]
pub(crate) struct Adapter {
    /// The result of `initialize`.
    pub(crate) hello: Value,
    /// All registered tools, including those of other adapters in the same server.
    pub(crate) tools: Vec<Tool>,
    /// If set, `tools` may be incomplete, for this reason.
    pub(crate) unread_tools: Option<String>,
    /// The tested endpoint tools. In mode `all`, these are the tools of one of the two modes.
    pub(crate) endpoints: Vec<Tool>,
    /// The tested endpoint mode.
    pub(crate) mode: Mode,
    /// If `true`, the adapter serves both modes at once.
    pub(crate) serves_all: bool,
    /// Name of the tool that answers `introspect`.
    pub(crate) introspect: String,
    /// The reply to `introspect` with the query `operations`.
    pub(crate) operations_reply: Value,
    /// The reply to `introspect` with the query `types`.
    pub(crate) types_reply: Value,
    pub(crate) operations: Vec<Operation>,
    pub(crate) types: Vec<Type>,
    /// The member that holds the name in an entry of the list of operations, usually `name`.
    pub(crate) name_member: String,
    /// The parts that could not be read.
    pub(crate) gaps: Vec<Gap>,
}

impl Adapter {
    /// Marks the operations that only read according to the settings.
    pub(crate) fn apply_reading_names(&mut self, settings: &Settings) {
        let file = &settings.file;
        for operation in &mut self.operations {
            operation.has_reading_name = settings.is_isolated
                || is_reading(&operation.name, &file.reading_verbs)
                || file.reading_operations.contains(&operation.name);
        }
    }

    /// Returns `true` if all endpoint families belong to the CRUDE profile.
    pub(crate) fn is_crude(&self) -> bool {
        let is_category = |family: &str| Category::ALL.iter().any(|it| it.family() == family);
        self.mode == Mode::Semantic
            && self.endpoints.iter().all(|tool| {
                tool_parts(&tool.name).and_then(|(_, family)| family).is_some_and(is_category)
            })
    }

    /// Returns `_protocol` from the list of operations, or null.
    pub(crate) fn protocol(&self) -> &Value {
        self.operations_reply.pointer("/data/_protocol").unwrap_or(&Value::Null)
    }

    /// Returns how many requests the runner may send concurrently: at most `most`, and at most what the adapter's
    /// concurrency category allows (REQ-CON-01, REQ-CON-04).
    pub(crate) fn at_once(&self, most: usize) -> usize {
        let protocol = self.protocol();
        if protocol.get("concurrency").is_some_and(|category| category == "serialized") {
            return 1;
        }
        let stated = protocol.get("max_concurrent_requests").and_then(Value::as_u64);
        let stated = stated.and_then(|stated| usize::try_from(stated).ok()).unwrap_or(most);
        stated.clamp(1, most)
    }

    /// Returns a boolean member of `_protocol.capabilities`.
    pub(crate) fn capability(&self, name: &str) -> Option<bool> {
        self.protocol().pointer("/capabilities")?.get(name)?.as_bool()
    }

    /// Returns the operation with this name.
    pub(crate) fn operation(&self, name: &str) -> Option<&Operation> {
        self.operations.iter().find(|operation| operation.name == name)
    }

    /// Returns the operations that the run exercises.
    pub(crate) fn exercised(&self) -> impl Iterator<Item = &Operation> {
        self.operations.iter().filter(|operation| operation.is_exercised)
    }

    /// Returns the exercised READ operations except `introspect`.
    pub(crate) fn reads(&self) -> impl Iterator<Item = &Operation> {
        self.exercised().filter(|operation| operation.is_read() && operation.name != "introspect")
    }

    /// Returns the tool name prefixes of other adapters in the same server.
    pub(crate) fn others(&self) -> BTreeSet<&str> {
        let own = tool_parts(&self.introspect).map(|(prefix, _)| prefix);
        let prefixes = self.tools.iter().filter_map(|tool| Some(tool_parts(&tool.name)?.0));
        prefixes.filter(|prefix| Some(*prefix) != own).collect()
    }

    /// Returns `true` if `introspect` documents this value of its parameter `query`.
    pub(crate) fn documents_query(&self, query: &str) -> bool {
        let parameter = self.operation("introspect").and_then(|it| it.parameter("query"));
        let words = parameter.and_then(|parameter| parameter.member("enum")?.as_array());
        words.is_some_and(|words| words.iter().any(|word| word == query))
    }

    /// Returns the operations of a category.
    pub(crate) fn of(&self, category: Category) -> impl Iterator<Item = &Operation> {
        self.operations.iter().filter(move |operation| operation.category == Some(category))
    }

    /// Returns all parameters, each with its operation.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = (&Operation, &Parameter)> {
        self.operations.iter().flat_map(|operation| {
            operation.parameters.iter().map(move |parameter| (operation, parameter))
        })
    }

    /// Returns the name of the server, or `unnamed`.
    pub(crate) fn name(&self) -> &str {
        self.hello.pointer("/serverInfo/name").and_then(Value::as_str).unwrap_or("unnamed")
    }

    /// Returns the version of the server, or `unknown`.
    pub(crate) fn version(&self) -> &str {
        self.hello.pointer("/serverInfo/version").and_then(Value::as_str).unwrap_or("unknown")
    }
}

/// Splits the name of an endpoint tool into its prefix and its family.
///
/// A name matches `^(.+_)?mcp_aql(?:_([a-z0-9_]+))?$` (REQ-MCP-20).
///
/// ```text
/// mcp_aql            →  ("", None)
/// mcp_aql_read       →  ("", Some("read"))
/// notes_mcp_aql_read →  ("notes_", Some("read"))
/// ```
pub(crate) fn tool_parts(name: &str) -> Option<(&str, Option<&str>)> {
    let start = name.rfind("mcp_aql")?;
    let (prefix, rest) = name.split_at_checked(start)?;
    let rest = rest.strip_prefix("mcp_aql")?;
    let is_prefix = prefix.is_empty() || (prefix.len() > 1 && prefix.ends_with('_'));
    if !is_prefix {
        return None;
    }
    match rest.strip_prefix('_') {
        None if rest.is_empty() => Some((prefix, None)),
        Some(family)
            if !family.is_empty()
                && family.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_')) =>
        {
            Some((prefix, Some(family)))
        }
        _ => None,
    }
}

/// Returns a string value as an owned string.
pub(crate) fn text(value: Option<&Value>) -> Option<String> {
    value?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn excludes_dangerous_and_long_operations_from_reads() {
        let operation = |details: Value| {
            let listed = json!({ "name": "get_bed", "semantic_category": "READ" });
            let mut details = details;
            details["permissions"] = json!({ "readOnly": true, "destructive": false });
            let reply = json!({ "data": { "operation": details } });
            Operation::read("get_bed".to_owned(), &listed, reply, "name")
        };
        assert!(operation(json!({})).is_read());
        assert!(operation(json!({ "danger_level": "safe", "lifecycle": null })).is_read());
        assert!(!operation(json!({ "danger_level": "destructive" })).is_read());
        assert!(!operation(json!({ "lifecycle": {} })).is_read());
    }

    #[test]
    fn excludes_operations_with_a_second_category_from_reads() {
        let read = json!({ "semantic_category": "READ", "endpoint": "read" });
        let operation = |listed: &Value, tool: &str| {
            let mut details = read.clone();
            details["permissions"] = json!({ "readOnly": true, "destructive": false });
            details["mcpTool"] = json!(tool);
            let reply = json!({ "data": { "operation": details } });
            Operation::read("get_bed".to_owned(), listed, reply, "name")
        };
        assert!(operation(&read, "mcp_aql_read").is_read());
        assert!(operation(&json!({ "endpoint": "garden" }), "mcp_aql").is_read());
        let deleting = json!({ "semantic_category": "DELETE", "endpoint": "read" });
        let other = operation(&deleting, "mcp_aql_read");
        assert!(!other.is_read());
        assert_eq!(other.changing_categories().collect::<Vec<_>>(), [Category::Delete]);
        assert!(!operation(&json!({ "endpoint": "DELETE" }), "mcp_aql_read").is_read());
        assert!(!operation(&read, "x_mcp_aql_delete").is_read());
    }

    #[test]
    fn excludes_operations_with_other_verbs_from_reads() {
        let details = json!({ "permissions": { "readOnly": true, "destructive": false } });
        let listed = json!({ "name": "open_report", "semantic_category": "READ" });
        let reply = json!({ "data": { "operation": details } });
        let operation = Operation::read("open_report".to_owned(), &listed, reply, "name");
        assert!(!operation.is_read());
    }
}
