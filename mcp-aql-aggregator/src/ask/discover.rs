//! Finds tools that are for searching, and surely change nothing.

use rmcp::model::Tool;

use super::schema::{self, Bounds};
use super::template::ArgumentsTemplate;
use super::{CallPlan, MOST_RESULTS, MOST_TOOLS, Why};
use crate::config::Discovery;

/// What the one argument is called that the query goes to, the surest first.
const QUERIES: [&str; 17] = [
    "query",
    "q",
    "search_query",
    "search",
    "searchterm",
    "search_term",
    "search_text",
    "question",
    "text",
    "keywords",
    "keyword",
    "terms",
    "term",
    "queries",
    "query_text",
    "search_terms",
    "phrase",
];
/// One of these is in the name of a tool for searching, the surest first.
const SEARCHING: [&str; 6] = ["search", "find", "lookup", "retrieve", "recall", "ask"];
/// None of these is in it: whoever searches and replaces is not asked.
const CHANGING: [&str; 78] = [
    "add",
    "append",
    "apply",
    "approve",
    "archive",
    "assign",
    "book",
    "build",
    "buy",
    "call",
    "cancel",
    "change",
    "checkout",
    "clear",
    "close",
    "commit",
    "configure",
    "copy",
    "create",
    "delete",
    "deploy",
    "destroy",
    "disable",
    "download",
    "drop",
    "edit",
    "enable",
    "erase",
    "exec",
    "execute",
    "fill",
    "fork",
    "grant",
    "human",
    "import",
    "insert",
    "install",
    "invoke",
    "kill",
    "launch",
    "login",
    "logout",
    "mark",
    "merge",
    "modify",
    "move",
    "navigate",
    "order",
    "patch",
    "pay",
    "post",
    "publish",
    "purge",
    "push",
    "put",
    "register",
    "remove",
    "rename",
    "replace",
    "reset",
    "restart",
    "restore",
    "run",
    "save",
    "send",
    "set",
    "start",
    "stop",
    "store",
    "submit",
    "subscribe",
    "sync",
    "trigger",
    "uninstall",
    "update",
    "upload",
    "upsert",
    "write",
];
/// What the argument is called that says how many results there may be.
const LIMITS: [&str; 17] = [
    "limit",
    "top_k",
    "topk",
    "k",
    "max_results",
    "maxresults",
    "num_results",
    "numresults",
    "n_results",
    "nresults",
    "result_limit",
    "page_size",
    "pagesize",
    "per_page",
    "perpage",
    "top_n",
    "first",
];

/// The calls of the tools that are found, the surest first.
pub(super) fn calls(tools: &[Tool], discovery: Discovery) -> Vec<CallPlan> {
    let mut found: Vec<_> = tools
        .iter()
        .filter_map(|tool| {
            let why = only_reads(tool, discovery)?;
            let name = searching(tool)?;
            let (argument, sureness) = query_argument(tool)?;
            let call = CallPlan {
                tool: tool.name.clone().into_owned(),
                arguments: with_limit(template(tool, argument), tool),
                items: None,
                bounds: Bounds::of(tool, MOST_RESULTS),
                why,
            };
            Some(((name, sureness), call))
        })
        .collect();
    // Stable: else as the server lists them.
    found.sort_by_key(|(sureness, _)| *sureness);
    found.truncate(MOST_TOOLS);
    found.into_iter().map(|(_, call)| call).collect()
}

/// The arguments of a tool that was chosen by its name, if it is clear where the query goes.
pub(super) fn arguments(tool: &Tool) -> Option<ArgumentsTemplate> {
    let argument = match query_argument(tool) {
        Some((argument, _)) => argument,
        None => {
            let mut texts = schema::required(tool)
                .filter(|name| schema::property(tool, name).is_some_and(schema::is_free_text));
            let all = schema::required(tool).count();
            texts.next().filter(|_| all == 1).or_else(|| {
                // Nothing is required, and one is called like it.
                let mut named = schema::properties(tool).filter(|name| is_query(tool, name));
                named.next().filter(|_| all == 0 && named.next().is_none())
            })?
        }
    };
    Some(with_limit(template(tool, argument), tool))
}

fn template(tool: &Tool, argument: &str) -> ArgumentsTemplate {
    let is_text = schema::property(tool, argument).is_some_and(schema::is_free_text);
    if is_text {
        ArgumentsTemplate::of_query(argument)
    } else {
        ArgumentsTemplate::of_words(argument)
    }
}

fn with_limit(arguments: ArgumentsTemplate, tool: &Tool) -> ArgumentsTemplate {
    let found = LIMITS.into_iter().find_map(|limit| {
        schema::properties(tool).find(|name| {
            name.eq_ignore_ascii_case(limit) && schema::property(tool, name).is_some_and(is_number)
        })
    });
    match found {
        Some(limit) => arguments.with_limit(limit),
        None => arguments,
    }
}

fn is_number(schema: &serde_json::Value) -> bool {
    schema::is_a(schema, "integer") || schema::is_a(schema, "number")
}

/// Whether it surely changes nothing.
fn only_reads(tool: &Tool, discovery: Discovery) -> Option<Why> {
    let hints = tool.annotations.as_ref();
    if hints.is_some_and(|hints| hints.destructive_hint == Some(true)) {
        return None;
    }
    match (hints.and_then(|hints| hints.read_only_hint), discovery) {
        (Some(true), Discovery::Annotated | Discovery::Named) => Some(Why::Annotated),
        (None, Discovery::Named) => Some(Why::Named),
        _ => None,
    }
}

/// Whether a tool says of itself that it changes something, not merely fails to say that it does not.
pub(super) fn says_it_writes(tool: &Tool) -> bool {
    tool.annotations.as_ref().is_some_and(|hints| {
        hints.read_only_hint == Some(false)
            || (hints.destructive_hint == Some(true) && hints.read_only_hint != Some(true))
    })
}

/// How surely its name is that of a tool for searching.
fn searching(tool: &Tool) -> Option<usize> {
    let words = words(&tool.name);
    if sounds_changing(&tool.name) {
        return None;
    }
    SEARCHING.iter().position(|searching| words.iter().any(|word| word == searching))
}

/// Whether a name is, or may be, that of something that changes something.
pub(super) fn sounds_changing(name: &str) -> bool {
    words(name).iter().any(|word| CHANGING.contains(&word.as_str()))
}

/// The words of a name: `searchDocs`, `search-docs`, `HTTPSearch`.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    let mut rest = name.chars().peekable();
    while let Some(each) = rest.next() {
        let begins = each.is_uppercase()
            && (!before.is_uppercase() || rest.peek().is_some_and(|next| next.is_lowercase()));
        if begins || !each.is_alphanumeric() {
            words.push(String::new());
        }
        if each.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(each.to_lowercase());
        }
        before = each;
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The one argument that is required, if it is a text that is called like a query, and how surely it is.
fn query_argument(tool: &Tool) -> Option<(&str, usize)> {
    let mut required = schema::required(tool);
    let argument = required.next()?;
    if required.next().is_some() || !is_query(tool, argument) {
        return None;
    }
    Some((argument, sureness(argument)?))
}

fn is_query(tool: &Tool, name: &str) -> bool {
    sureness(name).is_some()
        && schema::property(tool, name)
            .is_some_and(|property| schema::is_free_text(property) || schema::is_texts(property))
}

/// How surely an argument is the query, by its name alone.
pub(super) fn sureness(name: &str) -> Option<usize> {
    let name = words(name).join("_");
    QUERIES.iter().position(|query| *query == name)
}
