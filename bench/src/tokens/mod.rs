//! Counts the tokens that a model reads before and between its calls, and in whole conversations.
//!
//! Everything is requested with MCP over a stream in memory and counted as sent: the `result` of `tools/list`, and the
//! content item in the result of an `introspect` call, because the model reads exactly this part.

#![allow(clippy::indexing_slicing, reason = "a member that JSON lacks is null")]

mod back_office;
mod conversation;
mod desk;
mod find;
mod parts;
mod plain;
mod scripts;
mod sentences;
mod table;
mod transcripts;
mod whole_tasks;
mod wire;

pub use find::Found;
pub use sentences::{SENTENCES, Sentence};

use std::collections::BTreeMap;
pub use transcripts::transcripts;
pub use whole_tasks::{WholeTasks, whole_tasks};
pub use wire::Wire;

use mcp_aql::EndpointMode;
use serde_json::{Value, json};

use crate::Result;

/// A function that counts the tokens of a string.
pub type Count<'a> = &'a dyn Fn(&str) -> usize;

/// Returns a function that counts tokens with the encoding `o200k_base`.
///
/// # Errors
///
/// Returns an error if the vocabulary cannot be read.
pub fn counter() -> Result<impl Fn(&str) -> usize> {
    let encoding = tiktoken_rs::o200k_base()?;
    Ok(move |text: &str| encoding.encode_ordinary(text).len())
}

/// The ten operations of the whole task. They are all operations on two kinds of record.
const OF_THE_TASK: [&str; 10] = [
    "create_task",
    "get_task",
    "list_tasks",
    "update_task",
    "delete_task",
    "create_invoice",
    "get_invoice",
    "list_invoices",
    "update_invoice",
    "delete_invoice",
];

/// The token counts of both sides of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The name of the row in JSON.
    pub name: &'static str,
    /// Describes what is counted.
    pub what: &'static str,
    /// Tokens with mcp-aql.
    pub ours: usize,
    /// Tokens with discrete tools, for the same information.
    pub peer: Option<usize>,
    /// The maximum for mcp-aql, if there is one.
    pub limit: Option<usize>,
}

impl Row {
    /// Returns `true` if the limit is met, or `None` if there is no limit.
    pub fn is_met(&self) -> Option<bool> {
        self.limit.map(|limit| self.ours <= limit)
    }
}

/// The tokens of something that a model reads, by part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    /// Describes what is counted.
    pub of: &'static str,
    /// The parts with their token counts. The last is the rest: JSON punctuation and member names.
    pub parts: Vec<(&'static str, usize)>,
}

/// All results.
#[derive(Debug, Clone)]
pub struct Figures {
    /// The comparisons.
    pub rows: Vec<Row>,
    /// The parts of the most expensive items.
    pub parts: Vec<Parts>,
    /// How well operations are found.
    pub found: Vec<Found>,
}

/// The strings to count.
struct Texts {
    semantic_tools: String,
    tools: String,
    instructions: String,
    list: String,
    /// The details of all operations, by name.
    details: BTreeMap<String, String>,
    /// The fields of the `input` of UPDATE operations, by type name.
    inputs: BTreeMap<String, String>,
    task_in_brief: String,
    /// Two searches that together find the ten operations of the task.
    searches: [String; 2],
    /// The result of each sentence as a search.
    searched: Vec<String>,
    all_in_brief: String,
    /// For each prefix: its operations, their list, and their list with parameters.
    narrowed: Vec<(Vec<String>, String, String)>,
    peer_tools: String,
}

/// Queries both servers and counts the tokens.
///
/// # Errors
///
/// Returns an error if a server sends an unexpected answer.
pub async fn figures(count: Count<'_>) -> Result<Figures> {
    let texts = Texts::ask().await?;
    Ok(Figures {
        rows: rows(&texts, count)?,
        parts: parts::of(&texts, count)?,
        found: find::all(&texts)?,
    })
}

impl Texts {
    async fn ask() -> Result<Self> {
        let mut semantic = Wire::to_adapter(EndpointMode::Semantic).await?;
        let mut single = Wire::to_adapter(EndpointMode::Single).await?;
        let mut peer = Wire::to_tools().await?;
        let list = single.introspect(json!({ "query": "operations" })).await?;
        let (mut details, mut inputs) = (BTreeMap::new(), BTreeMap::new());
        for name in find::operations(&list)? {
            let text = single.introspect(json!({ "query": "operations", "name": name })).await?;
            details.insert(name, text);
        }
        for name in find::input_types(&details)? {
            let text = single.introspect(json!({ "query": "types", "name": name })).await?;
            inputs.insert(name, text);
        }
        let mut narrowed = Vec::new();
        for prefix in ["create_", "get_", "list_", "update_", "delete_"] {
            let asked = json!({ "query": "operations", "prefix": prefix });
            let part = single.introspect(asked).await?;
            let asked = json!({ "query": "operations", "prefix": prefix, "parameters": true });
            narrowed.push((find::operations(&part)?, part, single.introspect(asked).await?));
        }
        let searches =
            [single.introspect(search("task")).await?, single.introspect(search("invoice")).await?];
        let mut searched = Vec::new();
        for sentence in &SENTENCES {
            let query = json!({ "query": "operations", "search": sentence.says });
            searched.push(single.introspect(query).await?);
        }
        let found = searches.iter().map(|text| find::operations(text));
        let found = found.collect::<Result<Vec<_>>>()?.concat();
        if let Some(missing) = OF_THE_TASK.iter().find(|name| !found.iter().any(|it| it == *name)) {
            return Err(format!("no search finds {missing}: {found:?}").into());
        }
        let task = json!({ "query": "operations", "names": OF_THE_TASK, "parameters": true });
        let all = json!({ "query": "operations", "parameters": true });
        Ok(Self {
            semantic_tools: semantic.tools().await?,
            tools: single.tools().await?,
            instructions: single.instructions().to_owned(),
            list,
            details,
            inputs,
            task_in_brief: single.introspect(task).await?,
            searches,
            searched,
            all_in_brief: single.introspect(all).await?,
            narrowed,
            peer_tools: peer.tools().await?,
        })
    }

    /// Returns the sum of the tokens of some operations' details.
    fn details_of(&self, names: &[impl AsRef<str>], count: Count<'_>) -> Result<usize> {
        names.iter().try_fold(0, |sum, name| {
            let text = self.details.get(name.as_ref()).ok_or("an operation has no details")?;
            Ok(sum + count(text))
        })
    }
}

/// Returns the params of a search for the operations on a kind of record.
fn search(kind: &str) -> Value {
    json!({ "query": "operations", "search": format!("create, get, list, update and delete an {kind}") })
}

fn rows(texts: &Texts, count: Count<'_>) -> Result<Vec<Row>> {
    let peer = count(&texts.peer_tools);
    let list = count(&texts.list);
    let start = count(&texts.tools) + count(&texts.instructions);
    let mut details: Vec<_> = texts.details.values().map(|text| count(text)).collect();
    details.sort_unstable();
    let of_the_task = texts.details_of(&OF_THE_TASK, count)?;
    let in_brief = count(&texts.task_in_brief);
    let (mut narrowed, mut narrowed_in_brief) = (0, 0);
    for (names, part, brief) in &texts.narrowed {
        narrowed = narrowed.max(start + count(part) + texts.details_of(names, count)?);
        narrowed_in_brief = narrowed_in_brief.max(start + count(brief));
    }
    let row = |name, what, ours, peer, limit| Row { name, what, ours, peer, limit };
    let all = Some(peer);
    Ok(vec![
        row(
            "tools_semantic",
            "tools/list, semantic mode",
            count(&texts.semantic_tools),
            all,
            Some(1_000),
        ),
        row("tools_single", "tools/list, single mode", count(&texts.tools), all, Some(250)),
        row("instructions", "the server's instructions", count(&texts.instructions), None, None),
        row("list", "introspect: the list of all operations", list, None, Some(1_500)),
        row(
            "details_median",
            "introspect: one operation in full, median",
            details.get(details.len() / 2).copied().unwrap_or_default(),
            None,
            Some(150),
        ),
        row("details_of_ten", "introspect: ten operations in full", of_the_task, None, None),
        row("brief_of_ten", "introspect: the same ten with parameters: true", in_brief, None, None),
        row(
            "task_searched",
            "whole task: tools, instructions, two searches for those ten",
            start + texts.searches.iter().map(|text| count(text)).sum::<usize>(),
            all,
            Some(1_200),
        ),
        row(
            "task",
            "whole task: tools, instructions, list, those ten with parameters: true",
            start + list + in_brief,
            all,
            Some(2_600),
        ),
        row(
            "task_narrowed",
            "whole task: tools, instructions, ten by prefix with parameters: true",
            narrowed_in_brief,
            all,
            Some(1_500),
        ),
        row(
            "task_in_full",
            "whole task: tools, instructions, list, those ten in full",
            start + list + of_the_task,
            all,
            Some(2_600),
        ),
        row(
            "task_narrowed_in_full",
            "whole task: tools, instructions, list of ten by prefix, those in full",
            narrowed,
            all,
            Some(1_500),
        ),
    ])
}
