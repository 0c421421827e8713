//! Extracts the words of a query to search for.

use std::collections::HashSet;

use unicode_segmentation::UnicodeSegmentation as _;

use super::segment::has_no_spaces;
use super::stop::is_stop_word;

/// Returns the distinct content words of a query, as written and in order. If it has none, returns
/// all of its words.
///
/// ```
/// use mcp_aql_rank::texts::content_words;
///
/// assert_eq!(content_words("How do I use React hooks?"), ["use", "React", "hooks"]);
/// ```
pub fn content_words(query: &str) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut words = pieces(query);
    words.retain(|word| seen.insert(word.to_lowercase()));
    let content: Vec<String> = words.iter().filter(|word| is_content_word(word)).cloned().collect();
    if content.is_empty() { words } else { content }
}

fn is_content_word(word: &str) -> bool {
    !word.chars().all(is_hiragana) && !word.to_lowercase().split(['\'', '’']).all(is_stop_word)
}

/// Splits into words as Unicode does. In scripts without spaces, adjacent characters of the same
/// kind form a word.
fn pieces(query: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut joins_at: Option<(usize, CharacterKind)> = None;
    for (start, segment) in query.unicode_word_indices() {
        let end = start + segment.len();
        let kind = segment.chars().next().filter(|c| has_no_spaces(*c)).map(character_kind);
        match (kind, words.last_mut()) {
            (Some(kind), Some(last)) if joins_at == Some((start, kind)) => last.push_str(segment),
            _ => words.push(segment.to_owned()),
        }
        joins_at = kind.map(|kind| (end, kind));
    }
    words
}

/// Returns `true` if a character is Hiragana. It mostly writes the grammar of a Japanese sentence.
fn is_hiragana(c: char) -> bool {
    matches!(u32::from(c), 0x3041..=0x309F)
}

/// The kinds of characters that alternate in a Japanese sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CharacterKind {
    Hiragana,
    Katakana,
    Otherwise,
}

/// Returns the kind of a character in a script without spaces.
fn character_kind(c: char) -> CharacterKind {
    match u32::from(c) {
        0x3041..=0x309F => CharacterKind::Hiragana,
        0x30A1..=0x30FF | 0x31F0..=0x31FF | 0xFF66..=0xFF9F => CharacterKind::Katakana,
        _ => CharacterKind::Otherwise,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_say_something_stay_as_they_were_written() {
        for (query, expected) in [
            (
                "How do I implement React hooks for state management?",
                &["implement", "React", "hooks", "state", "management"][..],
            ),
            (
                "what is the getUserName of snake_case in node.js?",
                &["getUserName", "snake_case", "node.js"],
            ),
            ("Rust rust RUST", &["Rust"]),
            ("to be or not to be", &["to", "be", "or", "not"]),
            ("don't it’s", &["don't", "it’s"]),
            ("don't panic", &["panic"]),
            ("非同期ランタイムの使い方", &["非同期", "ランタイム", "使", "方"]),
            ("如何在 Rust 中写异步代码", &["如何在", "Rust", "中写异步代码"]),
            ("где найти настройки", &["где", "найти", "настройки"]),
            ("?!  …", &[]),
            ("", &[]),
        ] {
            assert_eq!(content_words(query), expected, "{query}");
        }
    }
}
