//! Finds search tools that certainly change nothing.

use rmcp::model::Tool;
use serde_json::{Map, Value, json};

use super::schema::{self, ArgumentLimits};
use super::template::ArgumentsTemplate;
use super::vocabulary::{CHANGING, LIMITS, NOUNS, PEOPLE, QUERIES, READING, SEARCHING};
use super::{CallPlan, Discovery, MAX_RESULTS, MAX_TOOLS, Why};
use crate::items::ItemLocation;

/// Returns the calls of the search tools found, the most certain first.
pub(super) fn calls(tools: &[Tool], discovery: Discovery) -> Vec<CallPlan> {
    let mut found: Vec<_> = tools
        .iter()
        .filter_map(|tool| {
            let why = only_reads(tool, discovery)?;
            let name = searching(tool)?;
            let (argument, certainty) = query_argument(tool)?;
            let call = CallPlan {
                tool: tool.name.clone().into_owned(),
                arguments: with_limit(template(tool, argument), tool),
                again: is_text(tool, argument)
                    .then(|| with_limit(ArgumentsTemplate::of_keyword(argument), tool)),
                items: ItemLocation::default(),
                bounds: ArgumentLimits::of(tool, MAX_RESULTS),
                why,
            };
            Some(((name, certainty), call))
        })
        .collect();
    // The sort is stable, so equally certain tools keep the server's order.
    found.sort_by_key(|(certainty, _)| *certainty);
    found.truncate(MAX_TOOLS);
    found.into_iter().map(|(_, call)| call).collect()
}

/// Returns the most likely search tool in the form of a configured call. It is a suggestion,
/// because the tool is not annotated as read-only or requires more than a query.
pub(super) fn likely_call(tools: &[Tool]) -> Option<Value> {
    let likely = tools.iter().filter(|tool| !says_it_writes(tool));
    let (tool, _) = likely
        .filter_map(|tool| Some((tool, searching(tool)?)))
        // Tools whose arguments can be inferred come first.
        .min_by_key(|(tool, certainty)| (arguments(tool).is_none(), *certainty))?;
    let name = super::display_name(&tool.name);
    if arguments(tool).is_some() {
        return Some(json!({ "tool": name }));
    }
    let required: Map<_, _> = schema::required(tool)
        .map(|argument| {
            let is_query = is_query(tool, argument) || argument == "pattern";
            (super::display_name(argument), if is_query { "{query}" } else { "…" }.into())
        })
        .collect();
    Some(json!({ "tool": name, "arguments": required }))
}

/// Returns the names of tools with a string argument, as suggestions for the configuration. Tools
/// that declare or sound as if they change something are left out.
pub(super) fn text_tools(tools: &[Tool]) -> Vec<String> {
    let takes_text = |tool: &&Tool| {
        let mut names = schema::properties(tool);
        names.any(|name| {
            schema::property(tool, name)
                .is_some_and(|it| schema::is_free_text(it) || schema::is_texts(it))
        })
    };
    let found = tools.iter().filter(takes_text);
    let found = found.filter(|tool| !says_it_writes(tool) && !sounds_changing(&tool.name));
    found.map(|tool| super::display_name(&tool.name)).collect()
}

/// Returns the arguments for a tool named in the configuration, if the argument for the query is
/// unambiguous.
pub(super) fn arguments(tool: &Tool) -> Option<ArgumentsTemplate> {
    let argument = match query_argument(tool) {
        Some((argument, _)) => argument,
        None => {
            let mut texts = schema::required(tool)
                .filter(|name| schema::property(tool, name).is_some_and(schema::is_free_text));
            let all = schema::required(tool).count();
            texts.next().filter(|_| all == 1).or_else(|| {
                // No argument is required, and exactly one has the name of a query.
                let mut named = schema::properties(tool).filter(|name| is_query(tool, name));
                named.next().filter(|_| all == 0 && named.next().is_none())
            })?
        }
    };
    Some(with_limit(template(tool, argument), tool))
}

fn template(tool: &Tool, argument: &str) -> ArgumentsTemplate {
    if is_text(tool, argument) {
        ArgumentsTemplate::of_query(argument)
    } else {
        ArgumentsTemplate::of_words(argument)
    }
}

fn is_text(tool: &Tool, argument: &str) -> bool {
    schema::property(tool, argument).is_some_and(schema::is_free_text)
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

/// Returns why the tool certainly changes nothing, or `None` if that is not certain.
fn only_reads(tool: &Tool, discovery: Discovery) -> Option<Why> {
    let hints = tool.annotations.as_ref();
    if hints.is_some_and(|hints| hints.destructive_hint == Some(true)) {
        return None;
    }
    if asks_people(&tool.name) {
        return None;
    }
    match (hints.and_then(|hints| hints.read_only_hint), discovery) {
        (Some(true), Discovery::Annotated | Discovery::Named) => Some(Why::Annotated),
        (None, Discovery::Named) if does_one_thing(&tool.name) => Some(Why::Named),
        _ => None,
    }
}

/// Returns `true` if the name joins only other reading verbs to the search.
fn does_one_thing(name: &str) -> bool {
    let words = words(name);
    let is_joint = |word: &str| matches!(word, "and" | "or" | "then" | "n");
    words.windows(2).all(|pair| match pair {
        [joint, next] if is_joint(joint) => READING.contains(&next.as_str()),
        _ => true,
    }) && !words.last().is_some_and(|word| is_joint(word))
}

/// Returns `true` if the name is that of a tool that asks people: `ask_user`, `askAHuman`.
fn asks_people(name: &str) -> bool {
    let words = words(name);
    let behind = words.iter().skip_while(|word| *word != "ask").skip(1);
    behind.take(3).any(|word| {
        let one = word.strip_suffix('s').unwrap_or(word);
        PEOPLE.contains(&word.as_str()) || PEOPLE.contains(&one)
    })
}

/// Returns `true` if a tool sounds as if it changes something and is not annotated as read-only.
pub(super) fn may_change(tool: &Tool) -> bool {
    let only_reads = tool.annotations.as_ref().and_then(|hints| hints.read_only_hint) == Some(true);
    !only_reads && sounds_changing(&tool.name)
}

/// Returns `true` if a tool is annotated as one that changes something. A missing annotation does
/// not count.
pub(super) fn says_it_writes(tool: &Tool) -> bool {
    tool.annotations.as_ref().is_some_and(|hints| {
        hints.read_only_hint == Some(false)
            || (hints.destructive_hint == Some(true) && hints.read_only_hint != Some(true))
    })
}

/// Returns how certainly the name is that of a search tool. 0 is the most certain.
fn searching(tool: &Tool) -> Option<usize> {
    let words = words(&tool.name);
    if sounds_changing(&tool.name) {
        return None;
    }
    SEARCHING.iter().position(|searching| words.iter().any(|word| word == searching))
}

/// Returns `true` if a name is, or could be, that of something that makes changes.
pub(super) fn sounds_changing(name: &str) -> bool {
    let mut may_be_verb = true;
    words(name).iter().any(|word| {
        let word = word.as_str();
        let is_changing = CHANGING.contains(&word) && (may_be_verb || !NOUNS.contains(&word));
        may_be_verb = matches!(word, "and" | "or" | "then");
        is_changing
    })
}

/// Splits a name into words, for example `searchDocs`, `search-docs` or `HTTPSearch`.
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

/// Returns the only required argument if it has the name of a query and accepts a string or a list
/// of strings. Also returns how certain that is; 0 is the most certain.
fn query_argument(tool: &Tool) -> Option<(&str, usize)> {
    let mut required = schema::required(tool);
    let argument = required.next()?;
    if required.next().is_some() || !is_query(tool, argument) {
        return None;
    }
    Some((argument, certainty(argument)?))
}

fn is_query(tool: &Tool, name: &str) -> bool {
    certainty(name).is_some()
        && schema::property(tool, name)
            .is_some_and(|property| schema::is_free_text(property) || schema::is_texts(property))
}

/// Returns how certainly an argument with this name is the query. 0 is the most certain.
pub(super) fn certainty(name: &str) -> Option<usize> {
    let name = words(name).join("_");
    QUERIES.iter().position(|query| *query == name)
}
