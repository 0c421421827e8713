//! Extracts the words of a query to search for.

use std::collections::HashSet;

use unicode_segmentation::UnicodeSegmentation as _;

use super::scripts::{CharacterKind, character_kind, has_no_spaces, is_hiragana};
use super::stop::is_stop_word;

/// Returns the distinct content words of a query, as written and in order, or all its words if none
/// is a content word.
pub(crate) fn content_words(query: &str) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut words = pieces(query);
    words.retain(|word| seen.insert(word.to_lowercase()));
    let content: Vec<String> = words.iter().filter(|word| is_content_word(word)).cloned().collect();
    if content.is_empty() { words } else { content }
}

fn is_content_word(word: &str) -> bool {
    !word.chars().all(is_hiragana) && !word.to_lowercase().split(['\'', '’']).all(is_stop_word)
}

/// Splits into words as Unicode does. In scripts without spaces, characters of the same kind form a
/// word.
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
