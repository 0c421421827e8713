//! Conversations between a model and an adapter: the reader makes the calls of a script, and reads about an operation
//! only if the texts so far do not show its parameters.

use std::collections::BTreeSet;

use mcp_aql_bench::Result;
use mcp_aql_bench::tokens::Wire;
use regex::{Captures, Regex};
use serde_json::{Value, json};

/// A step of a script: what the user wants, and the calls that do it.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    /// The sentence of the user.
    pub(crate) says: &'static str,
    /// The words with which a model searches for the operations that it needs.
    pub(crate) search: &'static str,
    /// The operations with their parameters. `$name` stands for the last value of the member `name` in the replies.
    pub(crate) calls: Vec<(&'static str, Value)>,
}

/// The reason for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The call is one of the script.
    Task,
    /// The call asks for the parameters of operations.
    Discovery,
    /// The call repeats one that the user has confirmed.
    Confirmation,
}

/// A call and its reply, as text.
#[derive(Debug, Clone)]
pub(crate) struct Trip {
    pub(crate) purpose: Purpose,
    pub(crate) call: String,
    pub(crate) reply: String,
    /// Whether the call failed. A request for confirmation does not count.
    pub(crate) has_failed: bool,
    /// The call of the plain tool for the same operation, and its reply.
    pub(crate) plain: Option<(String, String)>,
}

/// All texts of a conversation.
#[derive(Debug, Clone)]
pub(crate) struct Conversation {
    /// The result of `tools/list`.
    pub(crate) tools: String,
    pub(crate) instructions: String,
    pub(crate) trips: Vec<Trip>,
}

/// Reads an adapter's texts and makes the calls of a script.
pub(crate) struct Reader {
    wire: Wire,
    /// The names of the tools with the operations that each lists.
    tools: Vec<(String, BTreeSet<String>)>,
    /// The operations whose parameters the texts so far show.
    known: BTreeSet<String>,
    /// The replies to the calls of the script.
    replies: Vec<Value>,
    conversation: Conversation,
}

impl Reader {
    pub(crate) async fn new(mut wire: Wire) -> Result<Self> {
        let tools = wire.tools().await?;
        let instructions = wire.instructions().to_owned();
        let list: Value = serde_json::from_str(&tools)?;
        let mut reader = Self {
            wire,
            tools: Vec::new(),
            known: BTreeSet::new(),
            replies: Vec::new(),
            conversation: Conversation { tools, instructions, trips: Vec::new() },
        };
        for tool in list["tools"].as_array().ok_or("no tools")? {
            let description = tool["description"].as_str().unwrap_or_default();
            let list = operations_of(description);
            reader.known.extend(described(list));
            // A list that is cut ends with the operation that finds the others.
            let list = list.replace("more: introspect", "");
            let names = words(&list).map(str::to_owned).collect();
            reader.tools.push((tool["name"].as_str().unwrap_or_default().to_owned(), names));
        }
        Ok(reader)
    }

    /// Makes the calls of a script and returns the conversation.
    pub(crate) async fn follow(mut self, script: &[Step]) -> Result<Conversation> {
        for step in script {
            self.discover(step).await?;
            for (operation, params) in &step.calls {
                let params = self.filled(params)?;
                self.run(operation, params).await?;
            }
        }
        Ok(self.conversation)
    }

    /// Asks for the operations of a step whose parameters the texts so far do not show: by name if the tools
    /// name all of them, and otherwise with a search.
    async fn discover(&mut self, step: &Step) -> Result {
        self.ask(step, |_| json!({ "query": "operations", "search": step.search })).await?;
        self.ask(
            step,
            |names| json!({ "query": "operations", "names": names, "parameters": true }),
        )
        .await?;
        match self.unknown(step).as_slice() {
            [] => Ok(()),
            names => Err(format!("introspect does not show {names:?}").into()),
        }
    }

    /// Makes an `introspect` call with the unknown operations of a step, if there are any.
    async fn ask(&mut self, step: &Step, query: impl Fn(&[&str]) -> Value) -> Result {
        let unknown = self.unknown(step);
        if unknown.is_empty() {
            return Ok(());
        }
        let are_named = unknown.iter().all(|name| self.tool_of(name).is_ok());
        let params = query(&unknown);
        if params.get("search").is_some() && are_named && self.tools.len() > 1 {
            return Ok(());
        }
        let arguments = json!({ "operation": "introspect", "params": params });
        let tool = self.tool_of("introspect")?;
        let reply = self.call(Purpose::Discovery, &tool, &arguments, None).await?;
        let entries = reply.pointer("/data/operations").and_then(Value::as_array);
        for entry in entries.into_iter().flatten() {
            let name = entry["name"].as_str().unwrap_or_default();
            self.known.insert(name.to_owned());
            let family = format!("_{}", entry["endpoint"].as_str().unwrap_or_default());
            let is_family = |(tool, _): &&mut (String, _)| tool.ends_with(&family);
            if let Some((_, names)) = self.tools.iter_mut().find(is_family) {
                names.insert(name.to_owned());
            }
        }
        Ok(())
    }

    /// The operations of a step whose parameters the texts so far do not show.
    fn unknown(&self, step: &Step) -> Vec<&'static str> {
        let names = step.calls.iter().map(|(name, _)| *name);
        let mut unknown: Vec<_> = names.filter(|name| !self.known.contains(*name)).collect();
        unknown.dedup();
        unknown
    }

    /// Calls an operation, and once more if the user has to confirm it.
    async fn run(&mut self, operation: &str, params: Value) -> Result {
        let tool = self.tool_of(operation)?;
        let arguments = json!({ "operation": operation, "params": params });
        let plain = json!({ "name": operation, "arguments": params });
        let reply = self.call(Purpose::Task, &tool, &arguments, Some(plain)).await?;
        let token = reply.pointer("/error/details/confirmation_token").cloned();
        self.replies.push(reply);
        if let Some(token) = token {
            let mut arguments = arguments;
            arguments["params"]["_confirmation"] = token;
            let reply = self.call(Purpose::Confirmation, &tool, &arguments, None).await?;
            self.replies.push(reply);
        }
        Ok(())
    }

    async fn call(
        &mut self,
        purpose: Purpose,
        tool: &str,
        arguments: &Value,
        plain: Option<Value>,
    ) -> Result<Value> {
        let text = self.wire.call(tool, arguments).await?;
        let reply: Value = serde_json::from_str(&text)?;
        let is_pending = reply.pointer("/error/code") == Some(&"CONFIRMATION_REQUIRED".into());
        let data = reply.get("data").map(Value::to_string).unwrap_or_default();
        let plain = match plain {
            Some(call) => Some((stable(&call.to_string())?, stable(&data)?)),
            None => None,
        };
        self.conversation.trips.push(Trip {
            purpose,
            call: stable(&json!({ "name": tool, "arguments": arguments }).to_string())?,
            reply: stable(&text)?,
            has_failed: reply["success"] != true && !is_pending,
            plain,
        });
        Ok(reply)
    }

    fn tool_of(&self, operation: &str) -> Result<String> {
        let found = self.tools.iter().find(|(_, names)| names.contains(operation));
        // A single tool has all operations, also those that it does not name.
        let only = || self.tools.first().filter(|_| self.tools.len() == 1);
        let (name, _) = found.or_else(only).ok_or_else(|| format!("no tool names {operation}"))?;
        Ok(name.clone())
    }

    /// Replaces `$name` by the last value of this name in the replies.
    fn filled(&self, params: &Value) -> Result<Value> {
        Ok(match params {
            Value::String(text) => match text.strip_prefix('$') {
                Some(name) => {
                    let found = self.replies.iter().rev().find_map(|reply| member(reply, name));
                    found.cloned().ok_or_else(|| format!("no reply has {name}"))?
                }
                None => params.clone(),
            },
            Value::Object(members) => {
                let filled =
                    members.iter().map(|(name, value)| Ok((name.clone(), self.filled(value)?)));
                Value::Object(filled.collect::<Result<_>>()?)
            }
            Value::Array(items) => {
                Value::Array(items.iter().map(|item| self.filled(item)).collect::<Result<_>>()?)
            }
            other => other.clone(),
        })
    }
}

/// Finds a member of this name at any depth.
fn member<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    match value {
        Value::Object(members) => {
            members.get(name).or_else(|| members.values().find_map(|value| member(value, name)))
        }
        Value::Array(items) => items.iter().find_map(|item| member(item, name)),
        _ => None,
    }
}

/// The list of operations in a tool's description.
fn operations_of(description: &str) -> &str {
    let (_, rest) = description.split_once("Supported operation").unwrap_or_default();
    let (_, list) = rest.split_once(':').unwrap_or_default();
    list.split("\n\n").next().unwrap_or_default()
}

/// The operations that a list describes with their parameters: `- get_task: Get one task. …`
fn described(list: &str) -> impl Iterator<Item = String> {
    let items = list.lines().filter_map(|line| line.trim_start().strip_prefix("- "));
    items.filter_map(|item| {
        let (name, _) = item.split_once(": ")?;
        name.contains('_').then(|| name.to_owned())
    })
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

/// Random text in the alphabet of identifiers and cursors.
const RANDOM: &str = "ybqkW5g5E77k1pt5WkqFx69adcGfeBma321cxsnWhqVnaE5FcPYoLz0tFfDz8fdtscMYMV2pp6tM";

/// Patterns of text that differs between runs, each with the part before it and the changing part.
const CHANGING: [(&str, Option<&str>); 5] = [
    (r#"(\bs-)([0-9a-f]{16})"#, Some("7044b5d21da56edf")),
    (r#"(\bexec_)([0-9a-z]{30,})"#, Some("ybqkw5g5e77k1pt5wkqfx69adcgfebma321")),
    (r#"(\bconf_)([0-9A-Za-z_-]{43})"#, None),
    (r#"(Cursor":")([0-9A-Za-z_-]+)"#, None),
    (r#"()(20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z)"#, Some("2026-05-04T09:30:12.482913Z")),
];

/// Replaces text that differs between runs by fixed text of the same length.
fn stable(text: &str) -> Result<String> {
    let mut text = text.to_owned();
    for (pattern, fixed) in CHANGING {
        let replaced = Regex::new(pattern)?.replace_all(&text, |found: &Captures<'_>| {
            let fixed = fixed.unwrap_or_else(|| RANDOM.get(..found[2].len()).unwrap_or(RANDOM));
            format!("{}{fixed}", &found[1])
        });
        text = replaced.into_owned();
    }
    Ok(text)
}
