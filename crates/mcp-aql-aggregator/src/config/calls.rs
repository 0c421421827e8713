//! Reads the calls of a server: `aggregator.servers.NAME.calls`.
//!
//! ```json
//! [{ "tool": "search_nodes", "arguments": { "query": "{keyword}" }, "items": "entities" }]
//! ```

use regex::{Regex, RegexBuilder};

use super::fault::ConfigPath;
use super::node::Node;
use super::reader::ConfigReader;
use crate::ask::{ArgumentsTemplate, CallTemplate};
use crate::items::ItemLocation;

const CALL_NAMES: [&str; 5] = ["tool", "arguments", "items", "split", "mayWrite"];
const MAX_CALLS: usize = 16;
/// Maximum memory of a compiled regular expression in bytes.
pub(super) const MAX_REGEX_BYTES: usize = 1024 * 1024;

pub(super) fn calls(
    reader: &mut ConfigReader<'_>,
    at: &ConfigPath<'_>,
    node: &Node,
) -> Vec<CallTemplate> {
    let nodes = reader.list(at, node).unwrap_or_default();
    if matches!(node, Node::List(nodes) if nodes.is_empty()) {
        reader.faults.add(at, "it is empty: name a tool, or remove `calls`");
    }
    if nodes.len() > MAX_CALLS {
        reader.faults.add(at, format!("there are more than {MAX_CALLS} calls"));
        return Vec::new();
    }
    let calls = nodes.iter().enumerate();
    calls.filter_map(|(place, node)| call(reader, &at.item(place), node)).collect()
}

/// Reads the separator between results in text content. `^` matches at the beginning of each line.
fn separator(reader: &mut ConfigReader<'_>, at: &ConfigPath<'_>, node: &Node) -> Option<Regex> {
    let pattern = reader.raw_text(at, node)?;
    let built = RegexBuilder::new(pattern).multi_line(true).size_limit(MAX_REGEX_BYTES).build();
    let regex = built.map_err(|error| reader.faults.add(at, regex_fault(&error))).ok()?;
    if regex.is_match("") {
        reader.faults.add(
            at,
            "it matches the empty string: write the separator between results, such \
             as \"\\n\\n\" or \"^- \"",
        );
        return None;
    }
    Some(regex)
}

fn call(reader: &mut ConfigReader<'_>, at: &ConfigPath<'_>, node: &Node) -> Option<CallTemplate> {
    for (name, _) in reader.members(at, node)? {
        if !CALL_NAMES.contains(&name.as_str()) {
            reader.unknown(&at.member(name), name, &CALL_NAMES);
        }
    }
    if node.get("tool").is_none() {
        reader.faults.add(at, "`tool` is missing: write the name of a tool of this server");
    }
    let tool = node.get("tool").and_then(|node| {
        let at = at.member("tool");
        let tool = reader.raw_text(&at, node)?;
        if tool.is_empty() {
            reader.faults.add(&at, "it is empty: write the name of a tool of this server");
        }
        Some(tool.to_owned())
    });
    let arguments = node.get("arguments").map(|node| {
        let at = at.member("arguments");
        reader.members(&at, node);
        let (allows_unset, variables) = (reader.allows_unset, reader.variables);
        let read = ArgumentsTemplate::read(&node.to_value(), &|name| match variables(name) {
            None if allows_unset => Some(String::new()),
            value => value,
        });
        read.unwrap_or_else(|faults| {
            faults
                .into_iter()
                .for_each(|(path, message)| reader.faults.add_below(&at, &path, message));
            ArgumentsTemplate::default()
        })
    });
    let items = node.get("items").and_then(|node| {
        let at = at.member("items");
        let path = reader.raw_text(&at, node)?;
        Some(path.to_owned())
    });
    let between = node.get("split").and_then(|node| separator(reader, &at.member("split"), node));
    let may_write =
        node.get("mayWrite").and_then(|node| reader.truth(&at.member("mayWrite"), node));
    let items = ItemLocation { path: items, between };
    Some(CallTemplate { tool: tool?, arguments, items, may_write: may_write.unwrap_or(false) })
}

/// Formats an error of the regular expression parser. Only the last line of its message is used;
/// the other lines draw the expression.
pub(super) fn regex_fault(error: &regex::Error) -> String {
    let told = match error {
        regex::Error::CompiledTooBig(_) => "it would take too much memory".to_owned(),
        _ => {
            let told = error.to_string();
            let last = told.lines().last().unwrap_or_default();
            last.trim_start_matches("error: ").to_owned()
        }
    };
    format!("this is not a valid regular expression: {told}")
}
