//! Builds strings at compile time, for the messages of compile errors.

/// Maximum length of a message in bytes. Longer messages end with an ellipsis.
const MAX_BYTES: usize = 1024;
/// The end of a shortened message.
const ELLIPSIS: &str = "…";

/// A string under construction.
pub(crate) struct ConstText {
    bytes: [u8; MAX_BYTES],
    length: usize,
    is_full: bool,
}

impl ConstText {
    pub(crate) const fn new() -> Self {
        Self { bytes: [0; MAX_BYTES], length: 0, is_full: false }
    }

    /// Appends a part. A part that does not fit is left out, and so are all parts after it.
    #[must_use]
    pub(crate) const fn push(mut self, part: &str) -> Self {
        let reserved = if self.is_full { 0 } else { ELLIPSIS.len() };
        if !self.is_full && self.length + part.len() + reserved > MAX_BYTES {
            self.is_full = true;
            return self.append(ELLIPSIS);
        }
        if self.is_full { self } else { self.append(part) }
    }

    const fn append(mut self, part: &str) -> Self {
        let (_, mut open) = self.bytes.split_at_mut(self.length);
        let mut rest = part.as_bytes();
        while let ([free, more @ ..], [byte, others @ ..]) = (open, rest) {
            *free = *byte;
            open = more;
            rest = others;
        }
        self.length += part.len();
        self
    }

    pub(crate) const fn as_str(&self) -> &str {
        let (text, _) = self.bytes.split_at(self.length);
        match str::from_utf8(text) {
            Ok(text) => text,
            Err(_) => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ConstText, MAX_BYTES};

    #[test]
    fn parts_are_joined_and_long_texts_cut_between_parts() {
        assert_eq!(ConstText::new().push("one ").push("").push("é").as_str(), "one é");
        let long = "x".repeat(MAX_BYTES - 10);
        let text = ConstText::new().push(&long).push("12345678").push("9").push("1");
        assert_eq!(text.as_str(), format!("{long}…"));
        let text = ConstText::new().push(&long).push("1234567").push("8");
        assert_eq!(text.as_str(), format!("{long}1234567…"));
    }
}
