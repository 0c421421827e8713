//! Cuts the answer of a server into items that can be ranked.
//!
//! Servers answer in every form there is, and may mean harm: whatever comes, out come few texts of
//! bounded length, without anything that nobody sees, in time linear in the length of the answer.

mod blocks;
mod cut;
mod json;
mod lines;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::Value;

use crate::text::clean;

/// Longer addresses are none.
const LONGEST_URI: usize = 2048;

/// One result of a server, before it is ranked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    /// Clean, and never longer than asked for.
    pub(crate) content: String,
    pub(crate) uri: Option<String>,
    /// There was more of it.
    pub(crate) truncated: bool,
}

/// What an answer was cut into.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Split {
    pub(crate) items: Vec<Item>,
    /// Images, sounds and other bytes, and what was beyond the number asked for.
    pub(crate) left_out: usize,
    /// What a model would have had to read of it.
    pub(crate) raw_bytes: usize,
}

/// Whether an answer is a failure: it says so, or it is an MCP-AQL reply that does.
pub(crate) fn is_failure(answer: &CallToolResult) -> bool {
    if answer.is_error == Some(true) {
        return true;
    }
    match &answer.structured_content {
        Some(structured) => json::is_failure(structured),
        None => match answer.content.as_slice() {
            [ContentBlock::Text(only)] => {
                json::parse(&only.text).is_some_and(|it| json::is_failure(&it))
            }
            _ => false,
        },
    }
}

/// Cuts an answer. `path` tells where its items are, as `data.items` or as `/data/items`.
pub(crate) fn split(
    answer: &CallToolResult,
    path: Option<&str>,
    most_items: usize,
    most_chars: usize,
) -> Split {
    let mut splitting = Splitting { split: Split::default(), most_items, most_chars };
    let structured = answer.structured_content.as_ref().filter(|it| !json::says_nothing(it));
    let texts: Vec<&str> = answer
        .content
        .iter()
        .filter_map(|block| block.as_text())
        .map(|text| text.text.as_str())
        .collect();
    splitting.split.raw_bytes = raw_bytes(answer);
    match structured {
        // The texts are the same once more, for clients that know no better.
        Some(structured) => splitting.structured(structured, path),
        None => splitting.texts(&texts, path),
    }
    for block in &answer.content {
        match block {
            ContentBlock::Text(_) => {}
            ContentBlock::Resource(embedded) => splitting.resource(&embedded.resource),
            ContentBlock::ResourceLink(link) => {
                let title = link.title.as_deref().unwrap_or(&link.name);
                let content = match link.description.as_deref() {
                    Some(description) => format!("{title}\n{description}\n{}", link.uri),
                    None => format!("{title}\n{}", link.uri),
                };
                splitting.add(&content, uri(&link.uri));
            }
            // Images, sounds, and whatever comes to be.
            _ => splitting.split.left_out += 1,
        }
    }
    splitting.split
}

/// The bytes of text, or of JSON where there is no text.
fn raw_bytes(answer: &CallToolResult) -> usize {
    let of_blocks: usize = answer
        .content
        .iter()
        .map(|block| match block {
            ContentBlock::Text(text) => text.text.len(),
            ContentBlock::Resource(embedded) => match &embedded.resource {
                ResourceContents::TextResourceContents { text, uri, .. } => text.len() + uri.len(),
                ResourceContents::BlobResourceContents { blob, uri, .. } => blob.len() + uri.len(),
                _ => 0,
            },
            ContentBlock::ResourceLink(link) => {
                link.uri.len()
                    + link.name.len()
                    + link.title.as_ref().map_or(0, String::len)
                    + link.description.as_ref().map_or(0, String::len)
            }
            ContentBlock::Image(image) => image.data.len(),
            ContentBlock::Audio(audio) => audio.data.len(),
            _ => 0,
        })
        .sum();
    match &answer.structured_content {
        Some(structured) if of_blocks == 0 => json::bytes(structured),
        _ => of_blocks,
    }
}

/// An address, if it is one that does no harm where it is shown as a link.
fn uri(told: &str) -> Option<String> {
    let told = told.trim();
    let (scheme, _) = told.split_once(':')?;
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.chars().all(|each| each.is_ascii_alphanumeric() || "+-.".contains(each));
    let is_harmful = ["javascript", "data", "vbscript"]
        .iter()
        .any(|harmful| scheme.eq_ignore_ascii_case(harmful));
    let is_address = told.len() <= LONGEST_URI
        && !told.chars().any(|each| each.is_whitespace() || each.is_control())
        && clean(told) == told;
    (is_scheme && !is_harmful && is_address).then(|| told.to_owned())
}

/// A split in the making.
struct Splitting {
    split: Split,
    most_items: usize,
    most_chars: usize,
}

impl Splitting {
    fn is_full(&self) -> bool {
        self.split.items.len() >= self.most_items
    }

    /// Adds a text that is one item, if anything is left of it.
    fn add(&mut self, text: &str, uri: Option<String>) {
        if text.trim().is_empty() {
            return;
        }
        if self.is_full() {
            self.split.left_out += 1;
            return;
        }
        // What is far behind the end is not worth cleaning.
        let (near, is_cut) = cut::roughly(text, self.most_chars);
        let clean = clean(near);
        let (content, truncated) = cut::at_paragraph(clean.trim(), self.most_chars);
        if !content.is_empty() {
            self.split.items.push(Item {
                content: content.to_owned(),
                uri,
                truncated: truncated || is_cut,
            });
        }
    }

    fn structured(&mut self, value: &Value, path: Option<&str>) {
        match json::only_text(value) {
            // Frameworks wrap what is a text anyway.
            Some(text) if path.is_none() => self.texts(&[text], path),
            _ => self.json(value, path),
        }
    }

    fn json(&mut self, value: &Value, path: Option<&str>) {
        for found in json::items(value, path) {
            if self.is_full() {
                self.split.left_out += 1;
                continue;
            }
            let (text, uri) = json::text(found, self.most_chars);
            self.add(&text, uri);
        }
    }

    fn texts(&mut self, texts: &[&str], path: Option<&str>) {
        let is_only = texts.len() == 1;
        for text in texts {
            if let Some(value) = json::parse(text) {
                match json::only_text(&value) {
                    Some(text) if path.is_none() => self.plain(text, is_only),
                    _ => self.json(&value, path),
                }
            } else if let Some(values) = json::lines(text) {
                values.iter().for_each(|value| self.json(value, path));
            } else {
                self.plain(text, is_only);
            }
        }
    }

    /// A text that is no JSON. One of several is an item, unless it is surely more.
    fn plain(&mut self, text: &str, is_only: bool) {
        let text = clean(text);
        if blocks::is_empty(&text) {
            return;
        }
        let parts: Vec<Cow<'_, str>> = lines::found(&text)
            .or_else(|| blocks::ruled(&text))
            .or_else(|| if is_only { blocks::split(&text) } else { None })
            .unwrap_or_else(|| vec![Cow::Borrowed(&*text)]);
        for part in parts {
            self.add(&part, None);
        }
    }

    fn resource(&mut self, resource: &ResourceContents) {
        match resource {
            ResourceContents::TextResourceContents { text, uri: told, .. } => {
                self.add(text, uri(told));
            }
            _ => self.split.left_out += 1,
        }
    }
}
