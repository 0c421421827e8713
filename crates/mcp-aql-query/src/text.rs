//! Text search by words. It ignores case and accents (REQ-COL-09).

use caseless::Caseless as _;
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::canonical_combining_class;
use unicode_segmentation::UnicodeSegmentation as _;

/// A parsed search string, such as `invoice "to be paid"`.
///
/// A row's score is the sum over all terms and all searchable fields: 2 for a whole word, 1 for a word that
/// starts with the term, and 2 for each word of a phrase. A row with the score 0 does not match.
///
/// ```
/// use mcp_aql::query::TextQuery;
///
/// let query = TextQuery::parse("invoice \"to be paid\"").unwrap();
/// assert_eq!(query.terms()[0].words(), " invoice ");
/// assert_eq!(query.terms()[1].words(), " to be paid ");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextQuery {
    pub(crate) terms: Vec<SearchTerm>,
    /// The caller's original string.
    written: String,
    /// If `true`, the original string is passed to a search engine unchanged.
    is_free: bool,
}

/// Maximum length of a reported search string in characters, if it is not split into terms.
const MAX_REPORTED_CHARS: usize = 100;

/// A word or a phrase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchTerm {
    /// The folded words, each preceded by a space.
    pub(crate) start: String,
    /// The folded words, each preceded by a space, with a trailing space.
    pub(crate) whole: String,
    /// The score of a whole match.
    pub(crate) weight: u32,
    /// If `true`, the term was quoted, and only a whole match counts.
    pub(crate) phrase: bool,
}

impl SearchTerm {
    /// Returns the folded words in the form of [`fold_text`], for example ` write the report `. Search for
    /// this string in a folded column.
    pub fn words(&self) -> &str {
        &self.whole
    }

    /// Returns the folded word as a prefix of other words, for example ` repo`, or `None` for a phrase.
    pub fn prefix(&self) -> Option<&str> {
        (!self.phrase).then_some(self.start.as_str())
    }

    /// Returns the score of a whole match. A prefix match scores 1.
    pub fn weight(&self) -> u32 {
        self.weight
    }

    /// Returns the score of the term in a folded string.
    pub(crate) fn score(&self, folded: &str) -> u32 {
        if folded.contains(&self.whole) {
            self.weight
        } else {
            u32::from(!self.phrase && folded.contains(&self.start))
        }
    }

    /// Returns the term as reported in the reply.
    pub(crate) fn shown(&self) -> String {
        let words = self.start.trim_start();
        if self.phrase { format!("\"{words}\"") } else { words.to_owned() }
    }
}

impl TextQuery {
    /// Parses a search string with words, and phrases in double quotes. Returns `None` if it contains no
    /// word.
    pub fn parse(query: &str) -> Option<Self> {
        let mut terms: Vec<SearchTerm> = Vec::new();
        let mut add = |words: &str, phrase: bool| {
            let start = words.trim_end().to_owned();
            let count = u32::try_from(words.split_ascii_whitespace().count()).unwrap_or(u32::MAX);
            let term = SearchTerm { whole: format!("{start} "), start, weight: 2 * count, phrase };
            if count > 0 && !terms.contains(&term) {
                terms.push(term);
            }
        };
        let parts: Vec<_> = query.split('"').collect();
        let last = parts.len().saturating_sub(1);
        for (index, part) in parts.into_iter().enumerate() {
            let folded = fold_text(part);
            // An unclosed quote is ignored.
            if index % 2 == 1 && index < last {
                add(&folded, true);
            } else {
                for word in folded.split_ascii_whitespace() {
                    add(&format!(" {word}"), false);
                }
            }
        }
        (!terms.is_empty()).then(|| Self { terms, written: query.to_owned(), is_free: false })
    }

    /// Creates a query for a search engine. The string is passed on unchanged, and its first words are the
    /// terms. Returns `None` if it is blank.
    pub(crate) fn free(text: &str, max_terms: usize) -> Option<Self> {
        if text.chars().all(|each| each.is_whitespace() || each.is_control()) {
            return None;
        }
        // Quotes have no meaning here.
        let mut terms = Self::parse(&text.replace('"', " ")).map(|it| it.terms).unwrap_or_default();
        terms.truncate(max_terms);
        Some(Self { terms, written: text.to_owned(), is_free: true })
    }

    /// Returns the terms as reported in the reply.
    pub(crate) fn reported(&self) -> Vec<String> {
        if !self.is_free {
            return self.terms.iter().map(SearchTerm::shown).collect();
        }
        let mut reported: String = self.written.chars().take(MAX_REPORTED_CHARS).collect();
        if reported.len() < self.written.len() {
            reported.push('…');
        }
        vec![reported]
    }

    /// Returns the search string's part of a cursor's purpose.
    pub(crate) fn purpose(&self) -> String {
        if self.is_free { self.written.clone() } else { self.reported().join(" ") }
    }

    /// Returns the search terms.
    pub fn terms(&self) -> &[SearchTerm] {
        &self.terms
    }

    /// Returns the caller's original string. Use it for a search engine that understands more than words.
    pub fn as_written(&self) -> &str {
        &self.written
    }

    /// Returns the score of a folded string.
    pub(crate) fn score(&self, folded: &str) -> u32 {
        if folded.is_empty() {
            return 0;
        }
        self.terms.iter().map(|term| term.score(folded)).sum()
    }
}

/// Folds a string for searching: its words in order, without case and accents, each preceded and followed by
/// a space. The result is empty if the string contains no words.
///
/// Store the result in an additional column if a database should search it.
///
/// ```
/// assert_eq!(mcp_aql::query::fold_text("Über die  Straße!"), " uber die strasse ");
/// ```
pub fn fold_text(text: &str) -> String {
    let mut folded = String::with_capacity(text.len() + 2);
    // ASCII needs neither decomposition nor Unicode word boundaries.
    if text.is_ascii() {
        add_words(text, &mut folded);
        folded.make_ascii_lowercase();
    } else {
        let plain: String = text
            .chars()
            .nfkd()
            .default_case_fold()
            .nfkd()
            .filter(|each| canonical_combining_class(*each) == 0)
            .nfc()
            // Replace characters that separate words, so that they also separate words in the folded string.
            .map(|each| if each.is_alphanumeric() { each } else { ' ' })
            .collect();
        for word in plain.unicode_words() {
            add_words(word, &mut folded);
        }
    }
    if !folded.is_empty() {
        folded.push(' ');
    }
    folded
}

fn add_words(text: &str, folded: &mut String) {
    for word in text.split(|each: char| !each.is_alphanumeric()).filter(|word| !word.is_empty()) {
        folded.push(' ');
        folded.push_str(word);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_lose_case_and_accents() {
        // REQ-COL-09
        for (text, folded) in [
            ("", ""),
            ("…!", ""),
            ("Ship it", " ship it "),
            ("snake_case, report.pdf", " snake case report pdf "),
            ("ÉTÉ à Paris", " ete a paris "),
            ("E\u{301}te\u{301}", " ete "),
            ("STRASSE Straße", " strasse strasse "),
            ("ΟΔΟΣ οδός", " οδοσ οδοσ "),
            ("ﬁn", " fin "),
            ("日本語", " 日 本 語 "),
            ("İstanbul", " istanbul "),
            ("a'\u{17b6}a", " a \u{17b6} a "),
            ("l'été d’or", " l ete d or "),
        ] {
            assert_eq!(fold_text(text), folded, "{text}");
        }
    }

    #[test]
    fn quotes_make_phrases() {
        // REQ-COL-09
        let shown = |query| {
            let query = TextQuery::parse(query)?;
            Some(query.terms.iter().map(SearchTerm::shown).collect::<Vec<_>>().join(" | "))
        };
        assert_eq!(shown("Report  INVOICE report").as_deref(), Some("report | invoice"));
        assert_eq!(shown("a \"Write the\" b").as_deref(), Some("a | \"write the\" | b"));
        assert_eq!(shown("never \"closed here").as_deref(), Some("never | closed | here"));
        assert_eq!(shown("\"\" !?"), None);
        assert_eq!(TextQuery::parse(" C++ \"Été\" ").unwrap().as_written(), " C++ \"Été\" ");
        assert_eq!(shown(""), None);
    }

    #[test]
    fn a_free_text_is_not_taken_apart() {
        let free = |text| TextQuery::free(text, 2);
        let shown =
            |query: &TextQuery| query.terms.iter().map(SearchTerm::shown).collect::<Vec<_>>();
        let query = free("\"How do I\" pin it?").unwrap();
        assert_eq!(
            (query.reported(), shown(&query)),
            (vec!["\"How do I\" pin it?".into()], vec!["how".into(), "do".into()])
        );
        assert_eq!(free("🎉").unwrap().as_written(), "🎉");
        assert_eq!(free(" \n"), None);
        let long = free(&*"é".repeat(10_000)).unwrap();
        assert_eq!(long.reported(), [format!("{}…", "é".repeat(100))]);
        assert_eq!(long.purpose(), long.as_written(), "a cursor is one of the whole");
    }

    #[test]
    fn whole_words_count_more_than_beginnings() {
        let score =
            |query: &str, text: &str| TextQuery::parse(query).unwrap().score(&fold_text(text));
        assert_eq!(score("report", "The report."), 2);
        assert_eq!(score("report", "All reports"), 1);
        assert_eq!(score("port", "All reports"), 0);
        assert_eq!(score("\"the report\"", "Write the report"), 4);
        assert_eq!(score("\"the report\"", "the reports"), 0);
        assert_eq!(score("\"report\"", "reports"), 0);
        assert_eq!(score("write report", "Write the report"), 4);
    }

    proptest! {
        #[test]
        fn folding_twice_changes_nothing(text in "[ -~À-žΑ-ωА-яא-ת가-갲一-丣ぁ-ん]{0,40}") {
            let folded = fold_text(&text);
            prop_assert_eq!(fold_text(&folded), folded);
        }

        #[test]
        fn ascii_is_folded_as_everything_else(text in "[ -~]{0,40}") {
            let mut slow = fold_text(&format!("{text} é"));
            slow.truncate(slow.len() - 3);
            let mut fast = fold_text(&text);
            fast.pop();
            prop_assert_eq!(slow.trim_end(), fast);
        }
    }
}
