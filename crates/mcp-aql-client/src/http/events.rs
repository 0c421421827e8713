//! Parses server-sent events incrementally.

/// Assembles server-sent events from chunks of any size. An event is complete after its empty line.
///
/// Nothing limits the size of an event here. Check [`held`](Self::held) after each chunk, and call
/// [`skip`](Self::skip) or stop if an event becomes too large.
///
/// ```
/// let mut events = mcp_aql_client::http::Events::default();
/// assert!(events.take(b"event: message\ndata: {\"id\"").is_empty());
/// assert_eq!(events.beginning(), b" {\"id\"");
/// assert_eq!(events.take(b":1}\n\ndata: 2\n\n"), [b"{\"id\":1}".to_vec(), b"2".to_vec()]);
/// assert_eq!(events.held(), 0);
/// ```
#[derive(Debug, Default)]
pub struct Events {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    after_return: bool,
    /// If `true`, the rest of the current event is skipped.
    skips: bool,
    /// While skipping, `true` if the current line is empty so far. An empty line ends the event.
    is_blank: bool,
}

impl Events {
    /// Adds bytes and returns the data of the events completed by them, without the final line end.
    /// Events without data are omitted, because they only keep the connection alive.
    #[must_use]
    pub fn take(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut whole = Vec::new();
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (part, ended) = rest.split_at(end);
            // `\r\n` is a single line end, even if it arrives in two parts.
            let is_second = ended.first() == Some(&b'\n') && self.after_return && part.is_empty();
            self.after_return = ended.first() == Some(&b'\r');
            self.add(part);
            rest = ended.get(1..).unwrap_or_default();
            if !is_second {
                whole.extend(self.end_line());
            }
        }
        if !rest.is_empty() {
            self.after_return = false;
            self.add(rest);
        }
        whole
    }

    fn add(&mut self, part: &[u8]) {
        if self.skips {
            self.is_blank &= part.is_empty();
        } else {
            self.line.extend_from_slice(part);
        }
    }

    /// Returns the beginning of the data of the incomplete event, as received.
    #[must_use]
    pub fn beginning(&self) -> &[u8] {
        if self.has_data { &self.data } else { self.line.strip_prefix(b"data:").unwrap_or(&[]) }
    }

    /// Discards the incomplete event, including the part of it not yet received.
    pub fn skip(&mut self) {
        self.is_blank = self.line.is_empty();
        self.skips = true;
        self.has_data = false;
        self.line = Vec::new();
        self.data = Vec::new();
    }

    /// Returns the number of bytes buffered for the incomplete event.
    #[must_use]
    pub fn held(&self) -> usize {
        self.line.len() + self.data.len()
    }

    fn end_line(&mut self) -> Option<Vec<u8>> {
        if self.skips {
            self.skips = !self.is_blank;
            self.is_blank = true;
            return None;
        }
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            let has_data = std::mem::take(&mut self.has_data);
            let data = std::mem::take(&mut self.data);
            // An event without data, or with blank data, only keeps the connection alive.
            return (has_data && !data.trim_ascii().is_empty()).then_some(data);
        }
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&line);
        if let Some(value) = line.strip_prefix(b"data") {
            let value = match value.split_first() {
                None => Some(value),
                Some((b':', value)) => Some(value.strip_prefix(b" ").unwrap_or(value)),
                // This is another field with the same beginning, such as `database`.
                Some(_) => None,
            };
            if let Some(value) = value {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Events;

    proptest! {
        #[test]
        fn events_do_not_depend_on_chunk_boundaries(text in "(data|data:| |a|:|\n|\r|\r\n|id: 1|\u{feff}){0,20}", cut in 1_usize..9) {
            let whole = Events::default().take(text.as_bytes());
            let mut events = Events::default();
            let parts = text.as_bytes().chunks(cut).flat_map(|part| events.take(part));
            prop_assert_eq!(parts.collect::<Vec<_>>(), whole);
            prop_assert!(events.held() <= text.len());
        }
    }

    #[test]
    fn skipping_ends_with_the_event() {
        for size in [1, 2, 3, 1000] {
            for text in ["data: long", "data: a\ndata: long\n"] {
                let mut events = Events::default();
                assert!(events.take(text.as_bytes()).is_empty());
                assert!(!events.beginning().is_empty());
                events.skip();
                let rest = b"er\ndata: more\r\n\r\ndata: next\n\n";
                let found: Vec<_> = rest.chunks(size).flat_map(|part| events.take(part)).collect();
                assert_eq!(found, [b"next"], "{text:?} in pieces of {size}");
                assert_eq!(events.held(), 0);
            }
        }
    }

    #[test]
    fn events_may_be_split_anywhere() {
        let cases: &[(&str, &[&str])] = &[
            ("data: {}\n\n", &["{}"]),
            ("data:{}\r\n\r\n", &["{}"]),
            ("data: a\rdata: b\r\r", &["a\nb"]),
            ("\u{feff}: hello\n\nid: 7\nevent: message\ndata: a\n\ndata: b\n\n", &["a", "b"]),
            ("data\n\ndata: \n\n", &[]),
            ("database: a\n\n", &[]),
            ("data:  a\n\n", &[" a"]),
            ("data: not ended\n", &[]),
        ];
        for (text, expected) in cases {
            for size in [1, 2, 3, 1000] {
                let mut events = Events::default();
                let found: Vec<_> = text
                    .as_bytes()
                    .chunks(size)
                    .flat_map(|part| events.take(part))
                    .map(|data| String::from_utf8(data).unwrap())
                    .collect();
                assert_eq!(&found, expected, "{text:?} in pieces of {size}");
            }
        }
    }
}
