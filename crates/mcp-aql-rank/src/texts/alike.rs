//! Compares short documents that may differ only in the words that matter.

use crate::text::{Word, WordKind, is_stop_word, scan};

use super::query::{Known, Terms};

/// A word of a short document.
#[derive(Debug, Clone, Copy)]
pub(super) struct WeightedWord {
    key: u64,
    weight: Weight,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Weight {
    /// A function word.
    Light,
    /// A content word.
    Heavy,
    /// A negation.
    Negation,
    /// A word of the query.
    Asked,
}

const NEGATIONS: [&str; 7] = ["no", "not", "never", "none", "nor", "cannot", "without"];

/// Returns the words that also form the shingles of a document.
pub(super) fn pieces(terms: &Terms, text: &str) -> Vec<WeightedWord> {
    let mut pieces = Vec::new();
    let mut known = Known::default();
    let mut asked = false;
    scan(text, &mut |word: Word<'_>| {
        asked |= terms.find(word, &mut known).is_some();
        if word.kind.identifies_copies() {
            let weight = if std::mem::take(&mut asked) { Weight::Asked } else { weight(word) };
            pieces.push(WeightedWord { key: word.key, weight });
        }
    });
    pieces
}

fn weight(word: Word<'_>) -> Weight {
    let plain = word.text.to_lowercase();
    if NEGATIONS.contains(&plain.as_str()) {
        Weight::Negation
    } else if word.kind == WordKind::Plain && is_stop_word(&plain) {
        Weight::Light
    } else {
        Weight::Heavy
    }
}

/// Returns `true` if two documents that share most of their words make different statements. They
/// do if one has a word of the query or a negation that the other lacks, or if all differences are
/// replaced words.
///
/// ```text
/// it is paid back          ≠  it is not paid back
/// see it in a boat         =  see it now in a small boat
/// call it to see a booking ≠  call it to drop a booking
/// ```
pub(super) fn differ(one: &[WeightedWord], other: &[WeightedWord]) -> bool {
    let hunks = hunks(one, other);
    let decisive = |hunk: &[WeightedWord], all: &[WeightedWord]| {
        hunk.iter().any(|it| match it.weight {
            Weight::Negation => true,
            Weight::Asked => !all.iter().any(|other| other.key == it.key),
            Weight::Light | Weight::Heavy => false,
        })
    };
    let heavy = |pieces: &[WeightedWord]| pieces.iter().any(|it| it.weight != Weight::Light);
    hunks.iter().any(|(hunk, its)| decisive(hunk, other) || decisive(its, one))
        || !hunks.is_empty() && hunks.iter().all(|(one, other)| heavy(one) && heavy(other))
}

type Hunk<'a> = (&'a [WeightedWord], &'a [WeightedWord]);

/// Returns the differences between two documents around their longest common subsequence of words.
/// The time is proportional to the product of their lengths.
fn hunks<'a>(one: &'a [WeightedWord], other: &'a [WeightedWord]) -> Vec<Hunk<'a>> {
    let width = other.len() + 1;
    // Lengths of the longest common subsequences of the rests after two positions, row by row.
    let mut common = vec![0_u16; width * (one.len() + 1)];
    let at = |common: &[u16], row: usize, column: usize| {
        common.get(row * width + column).copied().unwrap_or_default()
    };
    for (row, mine) in one.iter().enumerate().rev() {
        for (column, its) in other.iter().enumerate().rev() {
            let longest = if mine.key == its.key {
                at(&common, row + 1, column + 1).saturating_add(1)
            } else {
                at(&common, row + 1, column).max(at(&common, row, column + 1))
            };
            if let Some(cell) = common.get_mut(row * width + column) {
                *cell = longest;
            }
        }
    }
    let mut hunks = Vec::new();
    let (mut row, mut column) = (0, 0);
    // Position after the last common words.
    let mut begun = (0, 0);
    let mut close = |begun: (usize, usize), row: usize, column: usize| {
        let hunk = (one.get(begun.0..row), other.get(begun.1..column));
        if let (Some(one), Some(other)) = hunk
            && !(one.is_empty() && other.is_empty())
        {
            hunks.push((one, other));
        }
    };
    while let (Some(mine), Some(its)) = (one.get(row), other.get(column)) {
        if mine.key == its.key {
            close(begun, row, column);
            (row, column) = (row + 1, column + 1);
            begun = (row, column);
        } else if at(&common, row + 1, column) >= at(&common, row, column + 1) {
            row += 1;
        } else {
            column += 1;
        }
    }
    close(begun, one.len(), other.len());
    hunks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaced_words_distinguish_short_texts() {
        let terms = Terms::of("refund");
        for (shows, one, other, expected) in [
            ("the same", "call it to see a booking", "call it to see a booking", false),
            ("another word", "call it to see a booking", "call it to drop a booking", true),
            ("of another length", "ships from New York at noon", "ships from Rome at noon", true),
            ("words that hold others together", "see it in a boat", "see it on the boat", false),
            ("words that were added", "see it in a boat", "see it now in a small boat", false),
            ("added and replaced", "see it in a boat", "see it now in a ship", false),
            ("a negation", "it is paid back", "it is not paid back", true),
            ("a word of the query", "it is paid back", "it is paid back refunded", true),
            ("which has moved", "refund it and see", "and see refund it", false),
            ("of an identifier", "call it", "call it getRefund", true),
            ("without spaces", "今天在北京办理", "今天在上海办理", true),
        ] {
            let (one, other) = (pieces(&terms, one), pieces(&terms, other));
            assert_eq!(differ(&one, &other), expected, "{shows}");
            assert_eq!(differ(&other, &one), expected, "{shows}");
        }
    }
}
