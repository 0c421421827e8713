//! The form of a reply: JSON or a JSON string that contains it, and its size limits.

use mcp_aql_protocol::SizeLimits;

/// Maximum nesting depth of a reply. The deepest request has 64 levels, and the replies of lists, batches and
/// executions add a few levels around stored data. Common parsers accept 127 levels.
pub(crate) const MAX_REPLY_DEPTH: usize = 120;

/// The form of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplyForm {
    /// JSON.
    Plain,
    /// A JSON string that contains the JSON, as MCP transports it. Not used if a size must be measured in the plain
    /// form.
    Quoted,
}

/// The limits of a reply, and its form.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReplyLimits {
    pub(crate) bytes: usize,
    /// Maximum number of bytes of a page. It is smaller than `bytes` if a batch already contains other results.
    pub(crate) page_bytes: usize,
    /// Number of bytes after which a page ends, even if more would fit. Never more than `page_bytes`.
    pub(crate) budget: usize,
    /// Number of bytes above which an uncut result has a warning.
    pub(crate) large: usize,
    /// Maximum nesting depth of objects and arrays, including the root.
    pub(crate) depth: usize,
    /// If `true`, the warnings of the call are part of the same reply.
    pub(crate) has_warnings: bool,
    pub(crate) form: ReplyForm,
}

impl ReplyLimits {
    pub(crate) const fn new(limits: &SizeLimits) -> Self {
        let bytes = limits.max_response_size;
        let form = ReplyForm::Plain;
        let budget = smaller(limits.result_budget, bytes);
        let depth = MAX_REPLY_DEPTH;
        Self { bytes, page_bytes: bytes, budget, large: budget, depth, has_warnings: true, form }
    }

    /// Returns the same limits for a reply in this form.
    pub(crate) const fn in_form(self, form: ReplyForm) -> Self {
        Self { form, ..self }
    }

    /// Returns the limits of a part of a reply.
    pub(crate) const fn of_part(bytes: usize, depth: usize) -> Self {
        let form = ReplyForm::Plain;
        let (page_bytes, budget, large) = (bytes, bytes, bytes);
        Self { bytes, page_bytes, budget, large, depth, has_warnings: false, form }
    }

    /// Returns the limits of an item of a batch. Its reply is nested three levels deep in that of the batch.
    ///
    /// The batch has `remaining` bytes left, and `budget` of them are for this item. The reply of the batch contains
    /// the warnings of all items.
    pub(crate) const fn of_item(self, remaining: usize, budget: usize) -> Self {
        let page_bytes = smaller(remaining, self.page_bytes);
        let budget = smaller(smaller(budget, self.budget), page_bytes);
        Self {
            page_bytes,
            budget,
            depth: self.depth.saturating_sub(3),
            has_warnings: false,
            ..self
        }
    }

    /// Returns the limits of a result stored in the state of its execution, next to `bytes` bytes of other data.
    pub(crate) const fn of_execution(self, bytes: usize) -> Self {
        let item = self.of_item(self.bytes, self.bytes);
        Self::of_part(item.bytes.saturating_sub(bytes), item.depth.saturating_sub(1))
    }
}

/// `Ord::min` is not a `const fn`.
const fn smaller(one: usize, other: usize) -> usize {
    if one < other { one } else { other }
}

/// Appends the content of a JSON string, without its quotation marks.
///
/// The bytes are copied one by one, because the input is usually JSON: nearly every word in it is in quotation marks,
/// and each mark must be escaped.
///
/// ```text
/// {"a":1}  →  {\"a\":1}
/// ```
pub fn quote(target: &mut Vec<u8>, text: &[u8]) {
    target.reserve(text.len() + text.len() / 4);
    for byte in text {
        match byte {
            b'"' | b'\\' => target.extend_from_slice(&[b'\\', *byte]),
            0..0x20 => quote_control(target, *byte),
            _ => target.push(*byte),
        }
    }
}

/// Returns the number of bytes by which the content of a JSON string is longer than the JSON in it. If that JSON has
/// line breaks between its tokens, the result is too high.
pub(crate) fn count_escapes(quoted: &[u8]) -> usize {
    let mut bytes = quoted.iter();
    let mut escapes = 0;
    while let Some(byte) = bytes.next() {
        if *byte == b'\\' {
            escapes += 1;
            bytes.next();
        }
    }
    escapes
}

#[cold]
fn quote_control(target: &mut Vec<u8>, byte: u8) {
    match byte {
        b'\n' => target.extend_from_slice(b"\\n"),
        b'\r' => target.extend_from_slice(b"\\r"),
        b'\t' => target.extend_from_slice(b"\\t"),
        0x08 => target.extend_from_slice(b"\\b"),
        0x0c => target.extend_from_slice(b"\\f"),
        _ => target.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn strings_are_quoted_as_serde_json_does(
            text in "[\u{0}-\u{30}\"\\\\a-cé😀\u{7f}]{0,40}|\\PC*"
        ) {
            let mut quoted = b"\"".to_vec();
            quote(&mut quoted, text.as_bytes());
            quoted.push(b'"');
            prop_assert_eq!(quoted, serde_json::to_vec(&text).unwrap());
        }

        #[test]
        fn escapes_are_counted(text in "[\"\\\\a-cé😀\n]{0,40}") {
            let json = serde_json::to_vec(&[text]).unwrap();
            let mut quoted = Vec::new();
            quote(&mut quoted, &json);
            prop_assert_eq!(quoted.len() - count_escapes(&quoted), json.len());
        }
    }
}
