//! The learned adapter: its tools, operations and types. Malformed parts are skipped here; checks of forms
//! report them.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Map, Value, json};

use crate::call::{Exchange, RateLimitWait, weight};
use crate::config::ConfigError;
use crate::wire::{Answer, Connection, NoResponse};

/// The endpoint mode: the tools through which operations are called.
///
/// ```
/// assert_eq!(mcp_aql_conformance::Mode::Semantic.to_string(), "semantic");
/// ```
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// One tool per family of operations.
    Semantic,
    /// One tool for all operations.
    Single,
    /// The tools of both modes.
    All,
}

impl Mode {
    /// The value of `MCP_AQL_ENDPOINT_MODE`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Semantic => "semantic",
            Self::Single => "single",
            Self::All => "all",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// The semantic category of an operation.
///
/// ```
/// use mcp_aql_conformance::Category;
///
/// assert_eq!("delete".parse::<Category>()?, Category::Delete);
/// assert_eq!(Category::Delete.as_str(), "DELETE");
/// # Ok::<(), mcp_aql_conformance::ConfigError>(())
/// ```
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "UPPERCASE")]
pub enum Category {
    /// Adds data.
    Create,
    /// Changes nothing.
    Read,
    /// Overwrites data.
    Update,
    /// Removes data.
    Delete,
    /// Has other effects.
    Execute,
}

impl Category {
    /// All five categories.
    pub const ALL: [Self; 5] =
        [Self::Create, Self::Read, Self::Update, Self::Delete, Self::Execute];

    /// The name in capitals, as in introspection.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Read => "READ",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Execute => "EXECUTE",
        }
    }

    /// The family of the CRUDE profile, which is also the value of `--allow`.
    pub const fn family(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Read => "read",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Execute => "execute",
        }
    }

    /// Parses the name in capitals.
    pub(crate) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|category| category.as_str() == word)
    }

    /// The permissions `readOnly` and `destructive`.
    pub(crate) const fn permissions(self) -> (bool, bool) {
        match self {
            Self::Read => (true, false),
            Self::Create => (false, false),
            Self::Update | Self::Delete | Self::Execute => (false, true),
        }
    }
}

impl FromStr for Category {
    type Err = ConfigError;

    /// Parses the name in lower case: `create`, `read`, `update`, `delete`, `execute`.
    fn from_str(word: &str) -> Result<Self, ConfigError> {
        Self::ALL.into_iter().find(|category| category.family() == word).ok_or_else(|| {
            ConfigError::Wrong(format!(
                "`{word}` is not a category of operations: write create, read, update, delete or execute"
            ))
        })
    }
}

impl fmt::Display for Category {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A tool of `tools/list`.
#[derive(Debug, Clone)]
pub(crate) struct Tool {
    /// The name.
    pub(crate) name: String,
    /// The description, which models read.
    pub(crate) description: String,
    /// The whole tool.
    pub(crate) raw: Value,
}

/// A parameter of an operation.
#[derive(Debug, Clone)]
pub(crate) struct Parameter {
    /// The name.
    pub(crate) name: String,
    /// `string`, `integer`, `number`, `boolean`, `array`, `object`, or the name of a type.
    pub(crate) kind: String,
    /// Whether the parameter is required.
    pub(crate) required: bool,
    /// The whole definition: `enum`, `minimum`, `items` and so on.
    pub(crate) raw: Map<String, Value>,
}

impl Parameter {
    fn read(raw: &Value) -> Option<Self> {
        let raw = raw.as_object()?;
        Some(Self {
            name: text(raw.get("name"))?,
            kind: text(raw.get("type"))?,
            required: raw.get("required").and_then(Value::as_bool).unwrap_or_default(),
            raw: raw.clone(),
        })
    }

    /// A member of the definition: `minimum`, `enum`, …
    pub(crate) fn member(&self, name: &str) -> Option<&Value> {
        self.raw.get(name)
    }
}

/// An operation, with its details.
#[derive(Debug, Clone)]
pub(crate) struct Operation {
    /// The name.
    pub(crate) name: String,
    /// The category; `None` if introspection has no known one.
    pub(crate) category: Option<Category>,
    /// The endpoint family.
    pub(crate) endpoint: String,
    /// The tool through which the operation is called.
    pub(crate) tool: String,
    /// The description, which models read.
    pub(crate) description: String,
    /// The permissions `readOnly` and `destructive`.
    pub(crate) permissions: Option<(bool, bool)>,
    /// The parameters.
    pub(crate) parameters: Vec<Parameter>,
    /// The entry in the list of operations.
    pub(crate) listed: Value,
    /// The whole reply with the details.
    pub(crate) reply: Value,
}

/// Verbs that names of READ operations do not begin with. An operation with such a name is never called as
/// a READ operation.
const CHANGING: [&str; 86] = [
    "accept",
    "add",
    "alter",
    "append",
    "apply",
    "approve",
    "archive",
    "assign",
    "ban",
    "block",
    "buy",
    "cancel",
    "change",
    "charge",
    "clear",
    "close",
    "commit",
    "confirm",
    "create",
    "delete",
    "deploy",
    "dequeue",
    "destroy",
    "disable",
    "discard",
    "drop",
    "edit",
    "enable",
    "erase",
    "execute",
    "flush",
    "grant",
    "import",
    "insert",
    "install",
    "invalidate",
    "invite",
    "kill",
    "lock",
    "make",
    "merge",
    "modify",
    "move",
    "new",
    "order",
    "patch",
    "pay",
    "pop",
    "post",
    "publish",
    "purge",
    "push",
    "put",
    "refund",
    "register",
    "reject",
    "remove",
    "rename",
    "replace",
    "reset",
    "restart",
    "restore",
    "revoke",
    "rotate",
    "run",
    "save",
    "send",
    "set",
    "shutdown",
    "start",
    "stop",
    "store",
    "submit",
    "sync",
    "terminate",
    "toggle",
    "transfer",
    "trigger",
    "truncate",
    "uninstall",
    "update",
    "upload",
    "upsert",
    "wipe",
    "withdraw",
    "write",
];
/// Verbs that count at any place in a name: `bulk_delete`.
const DESTRUCTIVE: [&str; 14] = [
    "cancel",
    "create",
    "delete",
    "destroy",
    "discard",
    "drop",
    "erase",
    "overwrite",
    "purge",
    "remove",
    "reset",
    "truncate",
    "update",
    "wipe",
];
/// Verbs after which other verbs are nouns: `get_last_update`.
const READING: [&str; 12] = [
    "count",
    "describe",
    "fetch",
    "find",
    "get",
    "introspect",
    "list",
    "preview",
    "query",
    "read",
    "search",
    "show",
];

/// Whether the first word of a name is a verb that operations begin with.
pub(crate) fn starts_with_verb(name: &str) -> bool {
    /// Verbs that neither change nor read data.
    const OTHERS: [&str; 7] = ["abort", "complete", "execute", "link", "record", "retry", "verify"];
    let verb = name.split('_').next().unwrap_or_default();
    CHANGING.contains(&verb) || READING.contains(&verb) || OTHERS.contains(&verb)
}

/// Whether a name suggests a change or a removal.
pub(crate) fn sounds_changing(name: &str) -> bool {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default();
    if CHANGING.contains(&first) {
        return true;
    }
    // In `get_or_create` and `find_and_remove`, another verb follows.
    let mut is_verb = !READING.contains(&first);
    words.any(|word| {
        let is_harsh = is_verb && DESTRUCTIVE.contains(&word);
        is_verb |= matches!(word, "and" | "or" | "then");
        is_harsh
    })
}

impl Operation {
    fn read(listed: &Value, reply: Value) -> Option<Self> {
        let details = reply.pointer("/data/operation").and_then(Value::as_object);
        let member = |name: &str| {
            text(details.and_then(|details| details.get(name))).or_else(|| text(listed.get(name)))
        };
        let flag = |name: &str| details?.get("permissions")?.get(name)?.as_bool();
        let name = text(listed.get("name"))?;
        Some(Self {
            name,
            category: member("semantic_category").as_deref().and_then(Category::parse),
            endpoint: member("endpoint").unwrap_or_default(),
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
            reply,
        })
    }

    /// The details as introspection returns them, or null.
    pub(crate) fn details(&self) -> &Value {
        self.reply.pointer("/data/operation").unwrap_or(&Value::Null)
    }

    /// Whether the operation changes nothing. The category, the permissions, the name and the other details
    /// must agree.
    pub(crate) fn is_read(&self) -> bool {
        let says = |name: &str| self.details().get(name).filter(|reported| !reported.is_null());
        let is_risky = ["danger_level", "danger"]
            .into_iter()
            .filter_map(says)
            .any(|reported| reported.is_string() && reported != "safe");
        self.category == Some(Category::Read)
            && self.permissions == Some((true, false))
            && !sounds_changing(&self.name)
            && says("lifecycle").is_none()
            && !is_risky
    }

    /// Returns a parameter by its name.
    pub(crate) fn parameter(&self, name: &str) -> Option<&Parameter> {
        self.parameters.iter().find(|parameter| parameter.name == name)
    }

    /// The required parameters.
    pub(crate) fn required(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().filter(|parameter| parameter.required)
    }
}

/// A type, with its details.
#[derive(Debug, Clone)]
pub(crate) struct Type {
    /// The name.
    pub(crate) name: String,
    /// The entry in the list of types.
    pub(crate) listed: Value,
    /// The whole reply with the details.
    pub(crate) reply: Value,
}

/// The self-description of an adapter in one mode.
#[derive(Debug, Clone)]
pub(crate) struct Adapter {
    /// The result of `initialize`.
    pub(crate) hello: Value,
    /// All tools.
    pub(crate) tools: Vec<Tool>,
    /// The endpoint tools under test; in mode `all`, those of one mode.
    pub(crate) endpoints: Vec<Tool>,
    /// The mode under test.
    pub(crate) mode: Mode,
    /// Whether the adapter serves both modes at once.
    pub(crate) serves_all: bool,
    /// The tool that answers `introspect`.
    pub(crate) introspect: String,
    /// The reply to `introspect operations`.
    pub(crate) operations_reply: Value,
    /// The reply to `introspect types`.
    pub(crate) types_reply: Value,
    /// The operations.
    pub(crate) operations: Vec<Operation>,
    /// The types.
    pub(crate) types: Vec<Type>,
}

/// Returned when an adapter could not be learned.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum LearnError {
    /// The connection failed.
    #[error(transparent)]
    NoResponse(#[from] NoResponse),
    /// The server is not an MCP-AQL adapter.
    #[error("not an MCP-AQL adapter: {0}")]
    NotAnAdapter(String),
    /// The configuration names an operation that the adapter does not have.
    #[error("it has no operation `{1}`, which `{0}` of the configuration names")]
    UnknownOperation(&'static str, String),
    /// The adapter ignores the selected mode.
    #[error("asked for {asked} mode, it still serves {serves} mode")]
    OtherMode {
        /// The selected mode.
        asked: Mode,
        /// The served mode.
        serves: Mode,
    },
}

impl Adapter {
    /// `_protocol` of the list of operations, or null.
    pub(crate) fn protocol(&self) -> &Value {
        self.operations_reply.pointer("/data/_protocol").unwrap_or(&Value::Null)
    }

    /// A boolean of `_protocol.capabilities`.
    pub(crate) fn capability(&self, name: &str) -> Option<bool> {
        self.protocol().pointer("/capabilities")?.get(name)?.as_bool()
    }

    /// Returns an operation by its name.
    pub(crate) fn operation(&self, name: &str) -> Option<&Operation> {
        self.operations.iter().find(|operation| operation.name == name)
    }

    /// The READ operations except `introspect`.
    pub(crate) fn reads(&self) -> impl Iterator<Item = &Operation> {
        self.operations
            .iter()
            .filter(|operation| operation.is_read() && operation.name != "introspect")
    }

    /// The prefixes of other adapters in the same server.
    pub(crate) fn others(&self) -> BTreeSet<&str> {
        let own = tool_parts(&self.introspect).map(|(prefix, _)| prefix);
        let prefixes = self.tools.iter().filter_map(|tool| Some(tool_parts(&tool.name)?.0));
        prefixes.filter(|prefix| Some(*prefix) != own).collect()
    }

    /// The operations of a category.
    pub(crate) fn of(&self, category: Category) -> impl Iterator<Item = &Operation> {
        self.operations.iter().filter(move |operation| operation.category == Some(category))
    }

    /// The name of the server.
    pub(crate) fn name(&self) -> &str {
        self.hello.pointer("/serverInfo/name").and_then(Value::as_str).unwrap_or("unnamed")
    }

    /// The version of the server.
    pub(crate) fn version(&self) -> &str {
        self.hello.pointer("/serverInfo/version").and_then(Value::as_str).unwrap_or("unknown")
    }
}

/// The parts of the name of an endpoint tool: `mcp_aql`, or `mcp_aql_read` with its family, after a prefix.
/// The whole name is `^(.+_)?mcp_aql(?:_([a-z0-9_]+))?$` (REQ-MCP-20).
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

/// The maximum number of tools, operations or types.
const MAX_LISTED: usize = 5_000;
/// The approximate maximum memory of a learned adapter in each mode, in bytes.
const MAX_LEARNED_BYTES: usize = 12 << 20;

/// The memory in use by the learned parts.
#[derive(Default)]
struct MemoryBudget(AtomicUsize);

impl MemoryBudget {
    /// Reserves memory for several copies of a value.
    fn reserve(&self, times: usize, value: &Value) -> Result<(), LearnError> {
        let more = weight(value).saturating_mul(times);
        if self.0.fetch_add(more, Ordering::Relaxed).saturating_add(more) <= MAX_LEARNED_BYTES {
            return Ok(());
        }
        Err(LearnError::NotAnAdapter(format!(
            "its tools and introspection take more than {} MiB",
            MAX_LEARNED_BYTES >> 20
        )))
    }
}

/// Rejects lists that are too long.
fn check_length(what: &str, length: usize) -> Result<(), LearnError> {
    if length <= MAX_LISTED {
        return Ok(());
    }
    Err(LearnError::NotAnAdapter(format!("it lists more than {MAX_LISTED} {what}")))
}

/// Reads all tools, page by page.
async fn tools(connection: &Connection, budget: &MemoryBudget) -> Result<Vec<Tool>, LearnError> {
    let mut tools = Vec::new();
    let mut cursor = None;
    for _ in 0..100 {
        let params = cursor.map_or_else(|| json!({}), |cursor: Value| json!({ "cursor": cursor }));
        let result = match connection.request("tools/list", &params).await {
            Answer::Result(result) => result,
            Answer::Error { code, message, .. } => {
                return Err(LearnError::NotAnAdapter(format!(
                    "`tools/list` returned the JSON-RPC error {code}: {message}"
                )));
            }
            Answer::NoResponse(lost) => return Err(lost.into()),
        };
        let Some(page) = result.get("tools").and_then(Value::as_array) else {
            return Err(LearnError::NotAnAdapter("`tools/list` returned no `tools`".to_owned()));
        };
        // The endpoint tools are stored twice.
        budget.reserve(2, &result)?;
        tools.extend(page.iter().filter_map(|raw| {
            Some(Tool {
                name: text(raw.get("name"))?,
                description: text(raw.get("description")).unwrap_or_default(),
                raw: raw.clone(),
            })
        }));
        check_length("tools", tools.len())?;
        cursor = result.get("nextCursor").filter(|cursor| cursor.is_string()).cloned();
        if cursor.is_none() {
            break;
        }
    }
    Ok(tools)
}

/// Learns an adapter. If it serves both modes at once, `of_all` selects one.
///
/// # Errors
/// [`LearnError`] if the server is not an MCP-AQL adapter or does not answer.
pub(crate) async fn learn(connection: &Connection, of_all: Mode) -> Result<Adapter, LearnError> {
    let budget = &MemoryBudget::default();
    let tools = tools(connection, budget).await?;
    let mut prefixes: Vec<&str> = Vec::new();
    for (prefix, _) in tools.iter().filter_map(|tool| tool_parts(&tool.name)) {
        if !prefixes.contains(&prefix) {
            prefixes.push(prefix);
        }
    }
    if prefixes.is_empty() {
        let names: Vec<_> = tools.iter().take(5).map(|tool| format!("`{}`", tool.name)).collect();
        let more = if tools.len() > 5 { ", …" } else { "" };
        return Err(LearnError::NotAnAdapter(match tools.len() {
            0 => "it has no tools".to_owned(),
            count => format!(
                "none of its {count} tools ({}{more}) is named `mcp_aql`, `mcp_aql_read` or similar",
                names.join(", ")
            ),
        }));
    }
    // A server may contain several adapters with different prefixes. The first that answers is tested.
    let mut learned = None;
    let mut last = String::new();
    'prefixes: for prefix in prefixes {
        let (endpoints, mode, serves_all) = face(&tools, prefix, of_all);
        // The READ tool is tried first; other profiles may have `introspect` elsewhere.
        let mut order: Vec<_> = endpoints.iter().map(|tool| tool.name.clone()).collect();
        order.sort_by_key(|name| !name.ends_with("_read"));
        for tool in order {
            let exchange = ask(connection, &tool, json!({ "query": "operations" })).await;
            if let Some(lost) = exchange.no_response() {
                return Err(lost.clone().into());
            }
            if exchange.data().and_then(|data| data.get("operations")).is_some_and(Value::is_array)
            {
                let reply = exchange.into_body().unwrap_or_default();
                // The entries are stored in the reply, in the list and in each operation.
                budget.reserve(3, &reply)?;
                learned = Some((endpoints, mode, serves_all, tool, reply));
                break 'prefixes;
            }
            last = exchange.summary();
        }
    }
    let Some((endpoints, mode, serves_all, introspect, operations_reply)) = learned else {
        return Err(LearnError::NotAnAdapter(format!(
            "no endpoint tool returns a list of operations for `introspect`; the last one returned {last}"
        )));
    };
    let types_reply = ask(connection, &introspect, json!({ "query": "types" })).await;
    let types_reply = types_reply.into_body().unwrap_or_default();
    budget.reserve(3, &types_reply)?;
    let details = |query: &'static str, list: Vec<Value>| {
        let introspect = introspect.clone();
        let asked = list.into_iter().map(move |listed| {
            let introspect = introspect.clone();
            async move {
                let name = listed.get("name").cloned().unwrap_or_default();
                let params = json!({ "query": query, "name": name });
                let exchange = ask(connection, &introspect, params).await;
                let reply = exchange.into_body().unwrap_or_default();
                budget.reserve(1, &reply)?;
                Ok::<_, LearnError>((listed, reply))
            }
        });
        futures_util::StreamExt::buffered(futures_util::stream::iter(asked), 8)
    };
    let list = |reply: &Value, name: &str| {
        let list = reply.pointer("/data").and_then(|data| data.get(name)?.as_array());
        list.cloned().unwrap_or_default()
    };
    let (operations, types) = (list(&operations_reply, "operations"), list(&types_reply, "types"));
    check_length("operations", operations.len())?;
    check_length("types", types.len())?;
    let operations = details("operations", operations);
    let operations: Vec<_> = futures_util::TryStreamExt::try_collect(operations).await?;
    let types = details("types", types);
    let types: Vec<_> = futures_util::TryStreamExt::try_collect(types).await?;
    if let Some(lost) = connection.ended() {
        return Err(lost.into());
    }
    // Introspection may name the tools of the other mode (REQ-INT-11).
    let is_single_of_all = serves_all && mode == Mode::Single;
    let named_here = |mut operation: Operation| {
        if let Some(single) = endpoints.first()
            && is_single_of_all
            && tools.iter().any(|tool| tool.name == operation.tool)
        {
            operation.tool.clone_from(&single.name);
        }
        operation
    };
    Ok(Adapter {
        hello: connection.hello().clone(),
        operations: operations
            .into_iter()
            .filter_map(|(listed, reply)| Operation::read(&listed, reply))
            .map(named_here)
            .collect(),
        types: types
            .into_iter()
            .filter_map(|(listed, reply)| {
                Some(Type { name: text(listed.get("name"))?, listed, reply })
            })
            .collect(),
        tools,
        endpoints,
        mode,
        serves_all,
        introspect,
        operations_reply,
        types_reply,
    })
}

/// Returns the endpoint tools with this prefix, their mode, and whether both modes are served.
fn face(tools: &[Tool], prefix: &str, of_all: Mode) -> (Vec<Tool>, Mode, bool) {
    let of_prefix = |is_family: bool| {
        let is_one = move |tool: &&Tool| {
            tool_parts(&tool.name)
                .is_some_and(|(other, family)| other == prefix && family.is_some() == is_family)
        };
        tools.iter().filter(is_one).cloned().collect::<Vec<_>>()
    };
    let (families, single) = (of_prefix(true), of_prefix(false));
    let serves_all = !families.is_empty() && !single.is_empty();
    match families.is_empty() || (serves_all && of_all == Mode::Single) {
        true => (single, Mode::Single, serves_all),
        false => (families, Mode::Semantic, serves_all),
    }
}

async fn ask(connection: &Connection, tool: &str, params: Value) -> Exchange {
    let mut arguments = json!({ "operation": "introspect", "params": params });
    let mut rate_limit = RateLimitWait::default();
    loop {
        let exchange = Exchange::make(connection, tool, arguments, None).await;
        if !rate_limit.wait_if_limited(&exchange, None).await {
            return exchange;
        }
        arguments = exchange.arguments;
    }
}

fn text(value: Option<&Value>) -> Option<String> {
    value?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_tools_by_prefix() {
        let names =
            ["a_mcp_aql_read", "b_mcp_aql_read", "a_mcp_aql_delete", "b_mcp_aql", "mcp_aql", "x"];
        let tools = names.map(|name| Tool {
            name: name.to_owned(),
            description: String::new(),
            raw: Value::Null,
        });
        let face = |prefix, of_all| {
            let (endpoints, mode, serves_all) = face(&tools, prefix, of_all);
            (endpoints.into_iter().map(|tool| tool.name).collect::<Vec<_>>(), mode, serves_all)
        };
        let named = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let of_a = (named(&["a_mcp_aql_read", "a_mcp_aql_delete"]), Mode::Semantic, false);
        assert_eq!(face("a_", Mode::Single), of_a);
        assert_eq!(face("", Mode::Semantic), (named(&["mcp_aql"]), Mode::Single, false));
        assert_eq!(face("b_", Mode::Semantic), (named(&["b_mcp_aql_read"]), Mode::Semantic, true));
        assert_eq!(face("b_", Mode::Single), (named(&["b_mcp_aql"]), Mode::Single, true));
    }

    #[test]
    fn recognizes_names_of_changing_operations() {
        for name in [
            "delete_task",
            "bulk_delete",
            "force_delete_all",
            "batch_update",
            "edit_page",
            "post_comment",
            "publish",
            "get_or_create_tag",
            "find_and_remove",
        ] {
            assert!(sounds_changing(name), "{name}");
        }
        for name in [
            "get_task",
            "list_updates",
            "get_last_update",
            "count_deleted",
            "search",
            "summarize",
            "validate_address",
        ] {
            assert!(!sounds_changing(name), "{name}");
        }
    }

    #[test]
    fn excludes_dangerous_and_long_operations_from_reads() {
        let operation = |details: Value| {
            let listed = json!({ "name": "get_bed", "semantic_category": "READ" });
            let mut details = details;
            details["permissions"] = json!({ "readOnly": true, "destructive": false });
            Operation::read(&listed, json!({ "data": { "operation": details } })).unwrap()
        };
        assert!(operation(json!({})).is_read());
        assert!(operation(json!({ "danger_level": "safe", "lifecycle": null })).is_read());
        assert!(!operation(json!({ "danger_level": "destructive" })).is_read());
        assert!(!operation(json!({ "lifecycle": {} })).is_read());
    }
}
