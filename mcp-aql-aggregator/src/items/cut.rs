//! Cuts a text that is too long where it hurts least.

use unicode_segmentation::UnicodeSegmentation;

/// The beginning of a text: cleaning it cannot make it shorter than `chars` characters, in any text that
/// is not made to. And whether anything is missing.
pub(super) fn roughly(text: &str, chars: usize) -> (&str, bool) {
    let most = chars.saturating_mul(4).saturating_add(1000);
    match text.char_indices().nth(most) {
        Some((at, _)) => (text.get(..at).unwrap_or(text), true),
        None => (text, false),
    }
}

/// At most so many characters: to the end of a paragraph, of a line, of a sentence or of a word, whichever
/// is there in the second half. And whether anything is missing.
pub(super) fn at_paragraph(text: &str, chars: usize) -> (&str, bool) {
    let Some((end, _)) = text.char_indices().nth(chars) else { return (text, false) };
    let start = text.get(..end).unwrap_or_default();
    let is_enough = |at: &usize| *at >= end / 2;
    let at = start
        .rfind("\n\n")
        .filter(is_enough)
        .or_else(|| start.rfind('\n').filter(is_enough))
        .or_else(|| sentence(start).filter(is_enough))
        .or_else(|| start.rfind(char::is_whitespace).filter(is_enough))
        .unwrap_or_else(|| whole_letters(start));
    (start.get(..at).unwrap_or(start).trim_end(), true)
}

/// The end of the last sentence.
fn sentence(text: &str) -> Option<usize> {
    let latin = [". ", "? ", "! "].iter().filter_map(|end| text.rfind(end).map(|at| at + 1)).max();
    let other = ['。', '？', '！', '।'].iter();
    let other = other.filter_map(|end| text.rfind(*end).map(|at| at + end.len_utf8())).max();
    latin.max(other)
}

/// Not within what is seen as one letter.
fn whole_letters(text: &str) -> usize {
    // The last one may go on behind the cut. A letter of many marks is not waited for.
    const NEAR: usize = 64;
    let from = text.char_indices().rev().nth(NEAR).map_or(0, |(at, _)| at);
    match text.get(from..).and_then(|near| near.grapheme_indices(true).next_back()) {
        Some((at, _)) if from + at > 0 => from + at,
        _ => text.len(),
    }
}
