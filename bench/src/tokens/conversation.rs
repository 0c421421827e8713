//! Simulates conversations between a model and an adapter.
//!
//! The simulated model makes the calls of a script. Like a real model, it asks for an operation's parameters, but only
//! if nothing that it has read shows them.

use std::collections::BTreeSet;

use regex::{Captures, Regex};
use serde_json::{Value, json};

use super::Wire;
use crate::Result;

/// A step of a script: the user's request, and the calls that fulfill it. You can use values of earlier replies:
///
/// ```text
/// find_customer_by_email { "email": "ada@example.org" } → … "customer_id": "c-1042" …
/// get_customer { "customer_id": "$customer_id" }        → called with "c-1042"
/// ```
#[derive(Debug, Clone)]
pub(super) struct Step {
    /// The user's request.
    pub(super) says: &'static str,
    /// The query with which a model searches for the operations.
    pub(super) search: &'static str,
    /// The operations with their parameters. `$name` is replaced by the latest value of the member `name` in the
    /// replies.
    pub(super) calls: Vec<(&'static str, Value)>,
}

/// Why a call is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The script contains the call.
    Task,
    /// The call asks for the parameters of operations.
    Discovery,
    /// The call repeats another one that the user confirmed.
    Confirmation,
}

/// A call and its reply, as strings.
#[derive(Debug, Clone)]
pub(super) struct Trip {
    pub(super) purpose: Purpose,
    pub(super) call: String,
    pub(super) reply: String,
    /// If `true`, the call failed. A request for confirmation does not count as a failure.
    pub(super) has_failed: bool,
    /// The call of the plain tool for the same operation, with its reply.
    pub(super) plain: Option<(String, String)>,
}

/// Everything that the model reads and writes in a conversation.
#[derive(Debug, Clone)]
pub(super) struct Conversation {
    /// The result of `tools/list`.
    pub(super) tools: String,
    pub(super) instructions: String,
    pub(super) trips: Vec<Trip>,
}

/// The simulated model. It reads the adapter's descriptions and makes the calls of a script.
pub(super) struct Reader {
    wire: Wire,
    /// The tools with the operations that the description of each lists.
    tools: Vec<(String, BTreeSet<String>)>,
    /// The operations whose parameters the model has seen.
    known: BTreeSet<String>,
    /// The replies to the calls of the script, so far.
    replies: Vec<Value>,
    conversation: Conversation,
}

impl Reader {
    pub(super) async fn new(mut wire: Wire) -> Result<Self> {
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
            // A shortened list ends with a hint at `introspect`. The hint is not one of the operations.
            let list = list.replace("more: introspect", "");
            let names = words(&list).map(str::to_owned).collect();
            reader.tools.push((tool["name"].as_str().unwrap_or_default().to_owned(), names));
        }
        Ok(reader)
    }

    /// Makes the calls of a script. Returns the conversation.
    pub(super) async fn follow(mut self, script: &[Step]) -> Result<Conversation> {
        for step in script {
            self.discover(step).await?;
            for (operation, params) in &step.calls {
                let params = self.filled(params)?;
                self.run(operation, params).await?;
            }
        }
        Ok(self.conversation)
    }

    /// Asks for the operations of a step whose parameters the model has not seen. If the tools list all of them, asks
    /// by name. Otherwise, searches.
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

    /// Makes an `introspect` call for the unknown operations of a step. Does nothing if all are known.
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

    /// Returns the operations of a step whose parameters the model has not seen.
    fn unknown(&self, step: &Step) -> Vec<&'static str> {
        let names = step.calls.iter().map(|(name, _)| *name);
        let mut unknown: Vec<_> = names.filter(|name| !self.known.contains(*name)).collect();
        unknown.dedup();
        unknown
    }

    /// Calls an operation. If it requires a confirmation, calls it again with the token.
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
        // A single tool is responsible for all operations, even if its description does not list them.
        let only = || self.tools.first().filter(|_| self.tools.len() == 1);
        let (name, _) = found.or_else(only).ok_or_else(|| format!("no tool names {operation}"))?;
        Ok(name.clone())
    }

    /// Replaces `$name` by the latest value with this name in the replies.
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

/// Searches for a member with this name at any depth.
fn member<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    match value {
        Value::Object(members) => {
            members.get(name).or_else(|| members.values().find_map(|value| member(value, name)))
        }
        Value::Array(items) => items.iter().find_map(|item| member(item, name)),
        _ => None,
    }
}

/// Returns the list of operations in a tool's description.
fn operations_of(description: &str) -> &str {
    let (_, rest) = description.split_once("Supported operation").unwrap_or_default();
    let (_, list) = rest.split_once(':').unwrap_or_default();
    list.split("\n\n").next().unwrap_or_default()
}

/// Returns the operations that a list describes with their parameters. Their lines have the form
/// `- get_task: Get one task. …`.
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

/// Random characters of the alphabet of identifiers and cursors.
const RANDOM: &str = "ybqkW5g5E77k1pt5WkqFx69adcGfeBma321cxsnWhqVnaE5FcPYoLz0tFfDz8fdtscMYMV2pp6tM";

/// Patterns of strings that differ between runs. Each has two groups: a fixed prefix, and the changing part.
const CHANGING: [(&str, Option<&str>); 5] = [
    (r#"(\bs-)([0-9a-f]{16})"#, Some("7044b5d21da56edf")),
    (r#"(\bexec_)([0-9a-z]{30,})"#, Some("ybqkw5g5e77k1pt5wkqfx69adcgfebma321")),
    (r#"(\bconf_)([0-9A-Za-z_-]{43})"#, None),
    (r#"(Cursor":")([0-9A-Za-z_-]+)"#, None),
    (r#"()(20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z)"#, Some("2026-05-04T09:30:12.482913Z")),
];

/// Replaces strings that differ between runs by fixed ones of the same length, so that their token counts are stable.
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
