//! Shortens a string at a natural boundary.

use unicode_segmentation::UnicodeSegmentation;

/// Returns a prefix long enough that usually `chars` characters remain after cleaning, and `true`
/// if anything was cut off. Input crafted to shrink further may end up shorter.
pub(super) fn roughly(text: &str, chars: usize) -> (&str, bool) {
    let most = chars.saturating_mul(4).saturating_add(1000);
    match text.char_indices().nth(most) {
        Some((at, _)) => (text.get(..at).unwrap_or(text), true),
        None => (text, false),
    }
}

/// Returns at most `chars` characters, and `true` if anything was cut off. Cuts at the end of a
/// paragraph, line, sentence or word if there is one in the second half.
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

/// Returns the end of the last sentence.
fn sentence(text: &str) -> Option<usize> {
    let latin = [". ", "? ", "! "].iter().filter_map(|end| text.rfind(end).map(|at| at + 1)).max();
    let other = ['。', '？', '！', '।'].iter();
    let other = other.filter_map(|end| text.rfind(*end).map(|at| at + end.len_utf8())).max();
    latin.max(other)
}

/// Returns the last position that does not split a grapheme cluster.
fn whole_letters(text: &str) -> usize {
    // The last cluster may continue after the cut. The limit on its length keeps this fast for
    // crafted input.
    const MAX_CLUSTER_CHARS: usize = 64;
    let from = text.char_indices().rev().nth(MAX_CLUSTER_CHARS).map_or(0, |(at, _)| at);
    match text.get(from..).and_then(|near| near.grapheme_indices(true).next_back()) {
        Some((at, _)) if from + at > 0 => from + at,
        _ => text.len(),
    }
}
