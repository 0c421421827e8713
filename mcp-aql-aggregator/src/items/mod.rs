//! Cuts the answer of a server into items that can be ranked.
//!
//! Servers answer in every form there is, and may mean harm: whatever comes, out come few texts of
//! bounded length, without anything that nobody sees, in time linear in the length of the answer.

mod blocks;
mod cut;
mod failure;
mod json;
mod lines;
mod object;
mod python;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use regex::Regex;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::Value;

use crate::text::clean;

/// Longer addresses are none.
const LONGEST_URI: usize = 2048;

/// Longer answers are cut aside.
const LONG_ANSWER: usize = 64 * 1024;

/// One result of a server, before it is ranked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    /// Clean, and never longer than asked for.
    pub(crate) content: String,
    pub(crate) uri: Option<String>,
    /// There was more of it.
    pub(crate) truncated: bool,
}

/// What the configuration says of where the items are in an answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Places {
    /// In JSON: `data.items` or `/data/items`.
    pub(crate) path: Option<String>,
    /// What is between them in a text.
    pub(crate) between: Option<Regex>,
}

impl PartialEq for Places {
    fn eq(&self, other: &Self) -> bool {
        let between = |it: &Self| it.between.as_ref().map(|regex| regex.as_str().to_owned());
        self.path == other.path && between(self) == between(other)
    }
}

/// What an answer was cut into.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Split {
    pub(crate) items: Vec<Item>,
    /// Images, sounds and other bytes, errors among results, and what was beyond the number asked for.
    pub(crate) left_out: usize,
    /// The path that was given leads nowhere.
    pub(crate) is_path_amiss: bool,
}

/// Whether an answer is a failure: it says so, it is an MCP-AQL reply that does, or all that it has to say is
/// what went wrong.
pub(crate) fn is_failure(answer: &CallToolResult) -> bool {
    failure::is_failure(answer)
}

/// Whether there is no item in an answer, and nothing was left out. Of a long one that is not asked: it is
/// looked at elsewhere, and costs time.
/// `bytes` is how long it is, as it came.
pub(crate) fn holds_nothing(answer: &CallToolResult, bytes: usize, places: &Places) -> bool {
    if bytes > LONG_ANSWER {
        return false;
    }
    let split = split(answer, places, 1, 100);
    split.items.is_empty() && split.left_out == 0
}

/// Cuts an answer as [`split`] does, a long one on a thread that nobody else waits for.
/// `bytes` is how long it is, as it came.
pub(crate) async fn split_aside(
    answer: CallToolResult,
    bytes: usize,
    places: Places,
    most_items: usize,
    most_chars: usize,
) -> Split {
    let cut = move || split(&answer, &places, most_items, most_chars);
    if bytes <= LONG_ANSWER {
        return cut();
    }
    // It neither panics nor is it given up.
    tokio::task::spawn_blocking(cut).await.unwrap_or_default()
}

/// Cuts an answer.
pub(crate) fn split(
    answer: &CallToolResult,
    places: &Places,
    most_items: usize,
    most_chars: usize,
) -> Split {
    let path = places.path.as_deref();
    let between = places.between.as_ref();
    let mut splitting =
        Splitting { split: Split::default(), most_items, most_chars, between, talk: 0 };
    let texts: Vec<&str> = answer
        .content
        .iter()
        .filter_map(|block| block.as_text())
        .map(|text| text.text.as_str())
        .filter(|text| !text.trim().is_empty())
        .collect();
    let has_others = answer.content.iter().any(|block| block.as_text().is_none());
    let structured = answer.structured_content.as_ref().filter(|value| {
        let is_more = match path {
            Some(path) => !json::items(value, Some(path)).is_amiss,
            None => json::has_items(value),
        };
        // Often the texts are the same once more, for clients that know no better; now and then it is
        // counts alone.
        !json::says_nothing(value)
            && (is_more
                || (!(texts.is_empty() && has_others)
                    && texts.iter().all(|text| json::parse(text).is_some())))
    });
    match structured {
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
    splitting.end()
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
struct Splitting<'p> {
    split: Split,
    most_items: usize,
    most_chars: usize,
    /// What is between the items of a text, if that is known.
    between: Option<&'p Regex>,
    /// Texts beside the results that say no more than that there are some, or none.
    talk: usize,
}

impl Splitting<'_> {
    fn end(mut self) -> Split {
        // Where there are no results, that is all there was to say.
        if !self.split.items.is_empty() {
            self.split.left_out += self.talk;
        }
        self.split
    }

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
        let whole = clean(near);
        let (content, truncated) = cut::at_paragraph(whole.trim(), self.most_chars);
        // Half of what belongs together is seen no more.
        let content = clean(content).trim().to_owned();
        if !content.is_empty() {
            self.split.items.push(Item { content, uri, truncated: truncated || is_cut });
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
        let found = json::items(value, path);
        self.split.is_path_amiss |= found.is_amiss;
        for found in found.items {
            if let (Some(text), Some(between)) = (found.as_str(), self.between) {
                self.separated(text, between);
                continue;
            }
            if self.is_full() {
                self.split.left_out += 1;
                continue;
            }
            let (text, uri) = object::text(found, self.most_chars);
            self.add(&text, uri);
        }
    }

    fn texts(&mut self, texts: &[&str], path: Option<&str>) {
        let is_only = texts.len() == 1;
        for text in texts {
            if !is_only && failure::is_failed_text(text) {
                self.split.left_out += 1;
            } else if let Some(value) = json::parse(text) {
                match json::only_text(&value) {
                    Some(text) if path.is_none() => self.plain(text, is_only),
                    _ => self.json(&value, path),
                }
            } else if let Some(values) = json::lines(text) {
                values.iter().for_each(|value| self.json(value, path));
            } else {
                let before = self.split.items.len();
                self.plain(text, is_only);
                // What is no JSON has no paths.
                self.split.is_path_amiss |= path.is_some() && self.split.items.len() > before;
            }
        }
    }

    /// The parts of a text between what separates them, without talk before the first.
    fn separated(&mut self, text: &str, between: &Regex) {
        let text = clean(text);
        for (place, part) in between.split(&text).enumerate() {
            if part.trim().is_empty() {
                // Before the first and behind the last there is mostly nothing.
                continue;
            }
            if blocks::is_surely_empty(part) || (place == 0 && blocks::is_announcement(part)) {
                self.talk += 1;
            } else {
                self.add(part, None);
            }
        }
    }

    /// A text that is no JSON. One of several is an item, unless it is surely more.
    fn plain(&mut self, text: &str, is_only: bool) {
        if let Some(between) = self.between {
            return self.separated(text, between);
        }
        let text = clean(text);
        let is_talk = if is_only {
            blocks::is_empty(&text)
        } else {
            blocks::is_surely_empty(&text) || blocks::is_announcement(&text)
        };
        if is_talk {
            self.talk += 1;
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
