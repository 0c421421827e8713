//! Formats values and sentences for reports: shortened, and without control characters.

use std::io;

use mcp_aql_text::is_hidden;
use serde::Serialize;
use serde_json::Value;

pub(super) use crate::finding::counted;
use crate::json_size::length_up_to;

/// Maximum length of a value on one line, in bytes.
const MAX_LINE_BYTES: usize = 90;

/// Maximum length of a name or a sentence, in characters.
const MAX_SENTENCE_CHARS: usize = 600;

/// Escapes invisible characters: control characters, and those that change the writing direction.
pub(super) fn clean(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    for each in text.chars() {
        if is_hidden(each) && each != '\n' {
            cleaned.extend(each.escape_default());
        } else {
            cleaned.push(each);
        }
    }
    cleaned
}

/// Formats a name or a sentence on one line, and shortens it.
pub(super) fn line(text: &str) -> String {
    let mut characters = text.chars();
    let kept: String = characters.by_ref().take(MAX_SENTENCE_CHARS).collect();
    let more = characters.count();
    let mut kept = clean(&kept).replace('\n', " ");
    if more > 0 {
        kept.push_str(&format!(" … ({} more)", counted(more, "character")));
    }
    kept
}

/// A formatted and possibly shortened value.
#[derive(Debug)]
pub(super) struct ValueText {
    pub(super) text: String,
    /// Number of removed bytes.
    pub(super) more: usize,
}

impl ValueText {
    /// Returns a note such as "1234 more bytes" if the value was shortened.
    pub(super) fn note(&self) -> Option<String> {
        (self.more > 0).then(|| format!("… {}", counted(self.more, "more byte")))
    }
}

/// Formats a value as JSON with at most `most` bytes. Short values are written on one line, others on several.
pub(super) fn shown(value: &Value, most: usize) -> ValueText {
    let mut cut = TruncatingWriter { kept: Vec::new(), most, more: 0 };
    write(value, 0, &mut cut);
    cut.shown()
}

fn write(value: &Value, indent: usize, out: &mut TruncatingWriter) {
    let parts: Vec<(Option<&String>, &Value)> = match value {
        Value::Object(members) => members.iter().map(|(name, value)| (Some(name), value)).collect(),
        Value::Array(items) => items.iter().map(|item| (None, item)).collect(),
        _ => Vec::new(),
    };
    if parts.is_empty() || length_up_to(MAX_LINE_BYTES.saturating_sub(indent), value).is_some() {
        out.json(value);
        return;
    }
    let (open, close) = if value.is_object() { (b"{", b"}") } else { (b"[", b"]") };
    out.put(open);
    for (at, (name, part)) in parts.into_iter().enumerate() {
        out.put(if at == 0 { b"\n" } else { b",\n" });
        out.put(" ".repeat(indent + 2).as_bytes());
        if let Some(name) = name {
            out.json(name);
            out.put(b": ");
        }
        write(part, indent + 2, out);
    }
    out.put(b"\n");
    out.put(" ".repeat(indent).as_bytes());
    out.put(close);
}

/// A writer that keeps the first bytes and only counts the others, so long values are not copied.
struct TruncatingWriter {
    kept: Vec<u8>,
    most: usize,
    more: usize,
}

impl TruncatingWriter {
    fn put(&mut self, bytes: &[u8]) {
        let room = self.most.saturating_sub(self.kept.len()).min(bytes.len());
        self.kept.extend(bytes.iter().take(room));
        self.more += bytes.len() - room;
    }

    fn json(&mut self, value: &impl Serialize) {
        // The writer accepts all bytes, so this does not fail.
        let _ = serde_json::to_writer(self, value);
    }

    fn shown(self) -> ValueText {
        let whole = self.kept.len();
        let text = String::from_utf8(self.kept).unwrap_or_else(|error| {
            // The last kept character may be incomplete.
            let valid = error.utf8_error().valid_up_to();
            let mut bytes = error.into_bytes();
            bytes.truncate(valid);
            String::from_utf8(bytes).unwrap_or_default()
        });
        ValueText { more: self.more + whole - text.len(), text: clean(&text) }
    }
}

impl io::Write for TruncatingWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.put(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Splits a sentence at its backticks. Returns `true` with each part that is code.
///
/// ```text
/// "add `id` to it"  →  (false, "add "), (true, "id"), (false, " to it")
/// ```
pub(super) fn parts(sentence: &str) -> Vec<(bool, String)> {
    let sentence = line(sentence);
    if sentence.matches('`').count() % 2 == 1 {
        return vec![(false, sentence)];
    }
    let parts = sentence.split('`').enumerate().map(|(at, part)| (at % 2 == 1, part.to_owned()));
    parts.filter(|(_, part)| !part.is_empty()).collect()
}
