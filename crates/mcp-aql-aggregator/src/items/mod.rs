//! Splits the answer of a server into items for the ranking.
//!
//! Servers answer in many forms, and an answer may be malicious. Splitting always returns a limited
//! number of items of limited length without invisible characters, and takes time linear in the
//! size of the answer.

mod blocks;
mod cut;
mod failure;
mod json;
mod lines;
mod object;
mod python;

use std::borrow::Cow;

use regex::Regex;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::Value;

use mcp_aql_rank::texts::clean;

/// Maximum length of a URI in bytes.
const MAX_URI_BYTES: usize = 2048;

/// Size in bytes above which an answer is split on a blocking thread.
const BLOCKING_SPLIT_BYTES: usize = 64 * 1024;

/// One result of a server, before ranking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    /// The cleaned content, limited to the configured length.
    pub(crate) content: String,
    pub(crate) uri: Option<String>,
    /// If `true`, the content was longer.
    pub(crate) truncated: bool,
}

/// The configured location of the items in an answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct ItemLocation {
    /// The path in JSON, for example `data.items` or `/data/items`.
    pub(crate) path: Option<String>,
    /// The separator between items in text content.
    pub(crate) between: Option<Regex>,
}

impl PartialEq for ItemLocation {
    fn eq(&self, other: &Self) -> bool {
        let between = |it: &Self| it.between.as_ref().map(|regex| regex.as_str().to_owned());
        self.path == other.path && between(self) == between(other)
    }
}

/// The result of splitting an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SplitAnswer {
    pub(crate) items: Vec<Item>,
    /// Number of parts left out: images, audio and other binary data, errors among results, and
    /// items beyond the limit.
    pub(crate) left_out: usize,
    /// If `true`, the configured path does not match the answer.
    pub(crate) is_path_mismatch: bool,
}

/// Returns `true` if an answer is a failure. It is marked as an error, is an MCP-AQL reply that
/// reports a failure, or contains only an error message.
pub(crate) fn is_failure(answer: &CallToolResult) -> bool {
    failure::is_failure(answer)
}

/// Returns `true` if an answer contains no item and nothing was left out. `bytes` is the size of
/// the answer as received. Returns `false` for every long answer, because splitting it here would
/// take too long.
pub(crate) fn is_empty_answer(
    answer: &CallToolResult,
    bytes: usize,
    places: &ItemLocation,
) -> bool {
    if bytes > BLOCKING_SPLIT_BYTES {
        return false;
    }
    let split = split(answer, places, 1, 100);
    split.items.is_empty() && split.left_out == 0
}

/// Splits an answer like [`split`], but a long one on a blocking thread. `bytes` is the size of the
/// answer as received.
pub(crate) async fn split_in_background(
    answer: CallToolResult,
    bytes: usize,
    places: ItemLocation,
    max_items: usize,
    max_chars: usize,
) -> SplitAnswer {
    let cut = move || split(&answer, &places, max_items, max_chars);
    if bytes <= BLOCKING_SPLIT_BYTES {
        return cut();
    }
    // The task neither panics nor is it canceled.
    tokio::task::spawn_blocking(cut).await.unwrap_or_default()
}

/// Splits an answer into at most `max_items` items of at most `max_chars` characters.
pub(crate) fn split(
    answer: &CallToolResult,
    places: &ItemLocation,
    max_items: usize,
    max_chars: usize,
) -> SplitAnswer {
    let path = places.path.as_deref();
    let between = places.between.as_ref();
    let mut splitting =
        Splitter { split: SplitAnswer::default(), max_items, max_chars, between, talk: 0 };
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
            Some(path) => !json::items(value, Some(path)).is_mismatch,
            None => json::has_items(value),
        };
        // The text content often repeats the structured content for older clients. Sometimes the
        // structured content holds only counts.
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
            // Images, audio and unknown block types.
            _ => splitting.split.left_out += 1,
        }
    }
    splitting.end()
}

/// Returns a URI if it is safe to display as a link.
fn uri(told: &str) -> Option<String> {
    let told = told.trim();
    let (scheme, _) = told.split_once(':')?;
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.chars().all(|each| each.is_ascii_alphanumeric() || "+-.".contains(each));
    let is_harmful = ["javascript", "data", "vbscript"]
        .iter()
        .any(|harmful| scheme.eq_ignore_ascii_case(harmful));
    let is_address = told.len() <= MAX_URI_BYTES
        && !told.chars().any(|each| each.is_whitespace() || each.is_control())
        && clean(told) == told;
    (is_scheme && !is_harmful && is_address).then(|| told.to_owned())
}

/// The state of splitting one answer.
struct Splitter<'p> {
    split: SplitAnswer,
    max_items: usize,
    max_chars: usize,
    /// The separator between items in text content, if configured.
    between: Option<&'p Regex>,
    /// Number of text blocks without a result: they only announce results or report that there are
    /// none.
    talk: usize,
}

impl Splitter<'_> {
    fn end(mut self) -> SplitAnswer {
        // Without results, these blocks are the whole answer and nothing was left out.
        if !self.split.items.is_empty() {
            self.split.left_out += self.talk;
        }
        self.split
    }

    fn is_full(&self) -> bool {
        self.split.items.len() >= self.max_items
    }

    /// Adds an item unless it is empty after cleaning.
    fn add(&mut self, text: &str, uri: Option<String>) {
        if text.trim().is_empty() {
            return;
        }
        if self.is_full() {
            self.split.left_out += 1;
            return;
        }
        // Content far beyond the limit is cut off before cleaning, to limit the work.
        let (near, is_cut) = cut::roughly(text, self.max_chars);
        let whole = clean(near);
        let (content, truncated) = cut::at_paragraph(whole.trim(), self.max_chars);
        // The cut may have split a pair of characters that belong together.
        let content = clean(content).trim().to_owned();
        if !content.is_empty() {
            self.split.items.push(Item { content, uri, truncated: truncated || is_cut });
        }
    }

    fn structured(&mut self, value: &Value, path: Option<&str>) {
        match json::only_text(value) {
            // Some frameworks wrap a plain string in an object.
            Some(text) if path.is_none() => self.texts(&[text], path),
            _ => self.json(value, path),
        }
    }

    fn json(&mut self, value: &Value, path: Option<&str>) {
        let found = json::items(value, path);
        self.split.is_path_mismatch |= found.is_mismatch;
        for found in found.items {
            if let (Some(text), Some(between)) = (found.as_str(), self.between) {
                self.separated(text, between);
                continue;
            }
            if self.is_full() {
                self.split.left_out += 1;
                continue;
            }
            let (text, uri) = object::text(found, self.max_chars);
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
                // A path does not match an answer other than JSON.
                self.split.is_path_mismatch |= path.is_some() && self.split.items.len() > before;
            }
        }
    }

    /// Splits at the configured separator. Skips an announcement before the first item.
    fn separated(&mut self, text: &str, between: &Regex) {
        let text = clean(text);
        for (place, part) in between.split(&text).enumerate() {
            if part.trim().is_empty() {
                // The parts before the first and after the last separator are usually empty.
                continue;
            }
            if blocks::is_certainly_empty(part) || (place == 0 && blocks::is_announcement(part)) {
                self.talk += 1;
            } else {
                self.add(part, None);
            }
        }
    }

    /// Adds the items of text content other than JSON. If there are several text blocks, each is a
    /// single item unless it certainly contains more.
    fn plain(&mut self, text: &str, is_only: bool) {
        if let Some(between) = self.between {
            return self.separated(text, between);
        }
        let text = clean(text);
        let is_talk = if is_only {
            blocks::is_empty(&text)
        } else {
            blocks::is_certainly_empty(&text) || blocks::is_announcement(&text)
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

#[cfg(test)]
mod tests;
