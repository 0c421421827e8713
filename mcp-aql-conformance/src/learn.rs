//! What introspection and the list of tools say of an adapter, read with patience: what is malformed is
//! left out here, and found fault with by the checks of the forms.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Map, Value, json};

use crate::call::{Exchange, Patience, weight};
use crate::config::ConfigError;
use crate::wire::{Answer, Connection, Lost};

/// How many tools there are: a family each, one for everything, or all of them.
///
/// ```
/// assert_eq!(mcp_aql_conformance::Mode::Semantic.to_string(), "semantic");
/// ```
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// A tool for each family of operations.
    Semantic,
    /// One tool for all operations.
    Single,
    /// Both at once.
    All,
}

impl Mode {
    /// The word for it, as `MCP_AQL_ENDPOINT_MODE` takes it.
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

/// What an operation does to the state.
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
    /// Adds.
    Create,
    /// Changes nothing.
    Read,
    /// Overwrites.
    Update,
    /// Removes.
    Delete,
    /// Acts.
    Execute,
}

impl Category {
    /// All five.
    pub const ALL: [Self; 5] =
        [Self::Create, Self::Read, Self::Update, Self::Delete, Self::Execute];

    /// In capitals, as introspection has it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Read => "READ",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Execute => "EXECUTE",
        }
    }

    /// The family of the CRUDE profile, and the word that `--allow` takes.
    pub const fn family(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Read => "read",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Execute => "execute",
        }
    }

    /// From the word in capitals.
    pub(crate) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|category| category.as_str() == word)
    }

    /// `readOnly` and `destructive`.
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

    /// From the word in lower case: `create`, `read`, `update`, `delete`, `execute`.
    fn from_str(word: &str) -> Result<Self, ConfigError> {
        Self::ALL.into_iter().find(|category| category.family() == word).ok_or_else(|| {
            ConfigError::Wrong(format!(
                "`{word}` is no category of operations: write create, read, update, delete or execute"
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
    /// Its name.
    pub(crate) name: String,
    /// What a model reads.
    pub(crate) description: String,
    /// All of it.
    pub(crate) raw: Value,
}

/// A parameter of an operation.
#[derive(Debug, Clone)]
pub(crate) struct Parameter {
    /// Its name.
    pub(crate) name: String,
    /// `string`, `integer`, `number`, `boolean`, `array`, `object`, or the name of a type.
    pub(crate) kind: String,
    /// Whether it has to be there.
    pub(crate) required: bool,
    /// All of it: `enum`, `minimum`, `items` and so on.
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

    /// A member: `minimum`, `enum`, …
    pub(crate) fn member(&self, name: &str) -> Option<&Value> {
        self.raw.get(name)
    }
}

/// An operation, with its details.
#[derive(Debug, Clone)]
pub(crate) struct Operation {
    /// Its name.
    pub(crate) name: String,
    /// What it does to the state. None when introspection says nothing that is known.
    pub(crate) category: Option<Category>,
    /// The family it belongs to.
    pub(crate) endpoint: String,
    /// The tool it is called through.
    pub(crate) tool: String,
    /// What a model reads.
    pub(crate) description: String,
    /// `readOnly` and `destructive`.
    pub(crate) permissions: Option<(bool, bool)>,
    /// What it takes.
    pub(crate) parameters: Vec<Parameter>,
    /// Its entry in the list.
    pub(crate) listed: Value,
    /// The whole reply to the question for its details.
    pub(crate) reply: Value,
}

/// Verbs with which no name of a READ begins. What is called like that is never called as one.
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
/// Those that are minded wherever they stand: `bulk_delete`.
const HARSH: [&str; 14] = [
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
/// Verbs of which what follows is a noun: `get_last_update`.
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

/// Whether the first word of a name is a verb that names of operations begin with.
pub(crate) fn starts_with_verb(name: &str) -> bool {
    /// Verbs that neither change nor read by themselves.
    const OTHERS: [&str; 7] = ["abort", "complete", "execute", "link", "record", "retry", "verify"];
    let verb = name.split('_').next().unwrap_or_default();
    CHANGING.contains(&verb) || READING.contains(&verb) || OTHERS.contains(&verb)
}

/// Whether a name is one of something that changes or removes.
pub(crate) fn sounds_changing(name: &str) -> bool {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default();
    if CHANGING.contains(&first) {
        return true;
    }
    // `get_or_create`, `find_and_remove`: a verb again.
    let mut is_verb = !READING.contains(&first);
    words.any(|word| {
        let is_harsh = is_verb && HARSH.contains(&word);
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

    /// Its details as introspection shows them, or null.
    pub(crate) fn details(&self) -> &Value {
        self.reply.pointer("/data/operation").unwrap_or(&Value::Null)
    }

    /// Whether it is one that changes nothing, as far as anybody can tell: category, permissions, name and
    /// what else its details say agree on that.
    pub(crate) fn is_read(&self) -> bool {
        let says = |name: &str| self.details().get(name).filter(|told| !told.is_null());
        let is_risky = ["danger_level", "danger"]
            .into_iter()
            .filter_map(says)
            .any(|told| told.is_string() && told != "safe");
        self.category == Some(Category::Read)
            && self.permissions == Some((true, false))
            && !sounds_changing(&self.name)
            && says("lifecycle").is_none()
            && !is_risky
    }

    /// A parameter by its name.
    pub(crate) fn parameter(&self, name: &str) -> Option<&Parameter> {
        self.parameters.iter().find(|parameter| parameter.name == name)
    }

    /// Those that have to be there.
    pub(crate) fn required(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().filter(|parameter| parameter.required)
    }
}

/// A type, with its details.
#[derive(Debug, Clone)]
pub(crate) struct Type {
    /// Its name.
    pub(crate) name: String,
    /// Its entry in the list.
    pub(crate) listed: Value,
    /// The whole reply to the question for its details.
    pub(crate) reply: Value,
}

/// Everything that an adapter says of itself, in one mode.
#[derive(Debug, Clone)]
pub(crate) struct Adapter {
    /// The answer to `initialize`.
    pub(crate) hello: Value,
    /// Its tools.
    pub(crate) tools: Vec<Tool>,
    /// Which of its tools are of MCP-AQL and are looked at here: of `all`, those of one mode.
    pub(crate) endpoints: Vec<Tool>,
    /// The mode it is looked at in.
    pub(crate) mode: Mode,
    /// Whether tools of both modes are there.
    pub(crate) serves_all: bool,
    /// The tool that answers `introspect`.
    pub(crate) introspect: String,
    /// The reply to `introspect operations`.
    pub(crate) operations_reply: Value,
    /// The reply to `introspect types`.
    pub(crate) types_reply: Value,
    /// Its operations.
    pub(crate) operations: Vec<Operation>,
    /// Its types.
    pub(crate) types: Vec<Type>,
}

/// Why nothing could be learned of an adapter.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum Unlearned {
    /// It cannot be spoken with.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// It is another kind of server.
    #[error("not an MCP-AQL adapter: {0}")]
    NoAdapter(String),
    /// The configuration means operations that it does not have.
    #[error("it has no operation `{1}`, which `{0}` of the configuration names")]
    NotThere(&'static str, String),
    /// It is one, and does not change its mode.
    #[error("asked for {asked} mode, it still serves {serves} mode")]
    OtherMode {
        /// The mode that was asked for.
        asked: Mode,
        /// The mode that is there.
        serves: Mode,
    },
}

impl Adapter {
    /// `_protocol` of the list of operations, or null.
    pub(crate) fn protocol(&self) -> &Value {
        self.operations_reply.pointer("/data/_protocol").unwrap_or(&Value::Null)
    }

    /// A switch of `_protocol.capabilities`.
    pub(crate) fn capability(&self, name: &str) -> Option<bool> {
        self.protocol().pointer("/capabilities")?.get(name)?.as_bool()
    }

    /// An operation by its name.
    pub(crate) fn operation(&self, name: &str) -> Option<&Operation> {
        self.operations.iter().find(|operation| operation.name == name)
    }

    /// The operations that change nothing, without `introspect`.
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

    /// The name the server gives itself.
    pub(crate) fn name(&self) -> &str {
        self.hello.pointer("/serverInfo/name").and_then(Value::as_str).unwrap_or("unnamed")
    }

    /// The version the server gives itself.
    pub(crate) fn version(&self) -> &str {
        self.hello.pointer("/serverInfo/version").and_then(Value::as_str).unwrap_or("unknown")
    }
}

/// What follows the prefix in the names of endpoint tools: `mcp_aql`, and `mcp_aql_read` with its family.
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

/// More tools, operations or types than this are not looked at.
const MOST_LISTED: usize = 5_000;
/// What is learned of an adapter takes about so many bytes of our memory, in each mode.
const MOST_LEARNED: usize = 12 << 20;

/// What is taken of that.
#[derive(Default)]
struct Taken(AtomicUsize);

impl Taken {
    /// Takes what this value takes, so many times.
    fn take(&self, times: usize, value: &Value) -> Result<(), Unlearned> {
        let more = weight(value).saturating_mul(times);
        if self.0.fetch_add(more, Ordering::Relaxed).saturating_add(more) <= MOST_LEARNED {
            return Ok(());
        }
        Err(Unlearned::NoAdapter(format!(
            "its tools and what it tells of itself take more than {} MiB",
            MOST_LEARNED >> 20
        )))
    }
}

/// Whether a list is one that can be gone through.
fn check_length(what: &str, length: usize) -> Result<(), Unlearned> {
    if length <= MOST_LISTED {
        return Ok(());
    }
    Err(Unlearned::NoAdapter(format!("it lists more than {MOST_LISTED} {what}")))
}

/// All tools, page after page.
async fn tools(connection: &Connection, taken: &Taken) -> Result<Vec<Tool>, Unlearned> {
    let mut tools = Vec::new();
    let mut cursor = None;
    for _ in 0..100 {
        let params = cursor.map_or_else(|| json!({}), |cursor: Value| json!({ "cursor": cursor }));
        let result = match connection.request("tools/list", &params).await {
            Answer::Result(result) => result,
            Answer::Error { code, message, .. } => {
                return Err(Unlearned::NoAdapter(format!(
                    "`tools/list` was answered with the JSON-RPC error {code}: {message}"
                )));
            }
            Answer::Lost(lost) => return Err(lost.into()),
        };
        let Some(page) = result.get("tools").and_then(Value::as_array) else {
            return Err(Unlearned::NoAdapter("`tools/list` gives no `tools`".to_owned()));
        };
        // As endpoints they are there once more.
        taken.take(2, &result)?;
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

/// Learns what there is to know. Where both modes are served at once, `of_all` says which to look at.
///
/// # Errors
/// [`Unlearned`] when it is no MCP-AQL adapter, or does not answer.
pub(crate) async fn learn(connection: &Connection, of_all: Mode) -> Result<Adapter, Unlearned> {
    let taken = &Taken::default();
    let tools = tools(connection, taken).await?;
    let mut prefixes: Vec<&str> = Vec::new();
    for (prefix, _) in tools.iter().filter_map(|tool| tool_parts(&tool.name)) {
        if !prefixes.contains(&prefix) {
            prefixes.push(prefix);
        }
    }
    if prefixes.is_empty() {
        let names: Vec<_> = tools.iter().take(5).map(|tool| format!("`{}`", tool.name)).collect();
        let more = if tools.len() > 5 { ", …" } else { "" };
        return Err(Unlearned::NoAdapter(match tools.len() {
            0 => "it has no tools".to_owned(),
            count => format!(
                "none of its {count} tools ({}{more}) is called `mcp_aql`, `mcp_aql_read` or the like",
                names.join(", ")
            ),
        }));
    }
    // A server may hold several adapters, each with a prefix of its own: the first that answers is it.
    let mut learned = None;
    let mut last = String::new();
    'prefixes: for prefix in prefixes {
        let (endpoints, mode, serves_all) = face(&tools, prefix, of_all);
        // The one that is called after reading first; it is in another family only in other profiles.
        let mut order: Vec<_> = endpoints.iter().map(|tool| tool.name.clone()).collect();
        order.sort_by_key(|name| !name.ends_with("_read"));
        for tool in order {
            let exchange = ask(connection, &tool, json!({ "query": "operations" })).await;
            if let Some(lost) = exchange.lost() {
                return Err(lost.clone().into());
            }
            if exchange.data().and_then(|data| data.get("operations")).is_some_and(Value::is_array)
            {
                let reply = exchange.into_body().unwrap_or_default();
                // Each operation has its entry, and hands it on.
                taken.take(3, &reply)?;
                learned = Some((endpoints, mode, serves_all, tool, reply));
                break 'prefixes;
            }
            last = exchange.told();
        }
    }
    let Some((endpoints, mode, serves_all, introspect, operations_reply)) = learned else {
        return Err(Unlearned::NoAdapter(format!(
            "no endpoint tool answers `introspect` with a list of operations; one answered {last}"
        )));
    };
    let types_reply = ask(connection, &introspect, json!({ "query": "types" })).await;
    let types_reply = types_reply.into_body().unwrap_or_default();
    taken.take(3, &types_reply)?;
    let details = |query: &'static str, list: Vec<Value>| {
        let introspect = introspect.clone();
        let asked = list.into_iter().map(move |listed| {
            let introspect = introspect.clone();
            async move {
                let name = listed.get("name").cloned().unwrap_or_default();
                let params = json!({ "query": query, "name": name });
                let exchange = ask(connection, &introspect, params).await;
                let reply = exchange.into_body().unwrap_or_default();
                taken.take(1, &reply)?;
                Ok::<_, Unlearned>((listed, reply))
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
    // Introspection may name the tools of the other mode, whoever asks (REQ-INT-11).
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

/// The endpoint tools with this prefix that are looked at, in which mode, and whether there are those of both.
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
    let mut patience = Patience::default();
    loop {
        let exchange = Exchange::make(connection, tool, arguments, None).await;
        if !patience.waits(&exchange, None).await {
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
    fn an_adapter_is_what_has_one_prefix() {
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
    fn names_tell_what_changes_something() {
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
    fn what_is_dangerous_or_goes_on_for_a_while_is_no_read() {
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
