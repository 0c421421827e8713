//! Which words a query asks for.

/// What a task must hold one of: words, and phrases that stood in double quotes.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Terms(Vec<String>);

impl Terms {
    /// Takes a query apart. A quote that is never closed reaches to the end.
    pub(super) fn parse(query: &str) -> Self {
        let mut terms = Self::default();
        for (index, part) in query.split('"').enumerate() {
            if index % 2 == 1 {
                terms.push(part.trim());
            } else {
                part.split_whitespace().for_each(|word| terms.push(word));
            }
        }
        terms
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The terms in lower case, each once.
    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    fn push(&mut self, term: &str) {
        let term = lower(term);
        if !term.is_empty() && !self.0.contains(&term) {
            self.0.push(term);
        }
    }
}

/// Text as it is compared. Each character by itself: what stands beside it plays no part.
pub(super) fn lower(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_words_and_phrases() {
        // REQ-COL-09
        for (query, terms) in [
            ("report", &["report"][..]),
            ("  Write  the report ", &["write", "the", "report"]),
            ("\"Write the\" report", &["write the", "report"]),
            ("\"never closed", &["never closed"]),
            ("a A a", &["a"]),
            ("ÄRGER ΟΔΟΣ", &["ärger", "οδοσ"]),
            ("", &[]),
            ("\"\" \"  \"", &[]),
        ] {
            assert_eq!(Terms::parse(query).iter().collect::<Vec<_>>(), terms, "{query}");
        }
    }
}
