//! Everyday words for the same thing, in questions and in the names and descriptions of operations.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use crate::text::Stemmer;

use super::abbreviations::ABBREVIATIONS;
use super::nouns::NOUNS;

/// Weight of a synonym relative to the word itself.
const SYNONYM: f64 = 0.4;
/// Weight of a word for its abbreviation, and the reverse.
const ABBREVIATION: f64 = 0.8;

/// Verbs at the beginning of most names of operations, and the words that people use instead.
const COMMON_VERBS: &[&str] = &[
    "create add new make insert register generate build compose open enter record put",
    "get read show fetch retrieve view lookup load display obtain check",
    "list browse enumerate overview all",
    "search find query lookup look seek discover locate",
    "update change modify edit set adjust correct alter revise replace raise lower increase decrease postpone extend rename move put now mark finish complete close reopen",
    "delete remove cancel drop erase clear discard rid throw",
    "execute run start perform launch invoke trigger",
    "send post publish deliver submit share",
    "write save store export append persist output",
];

/// Further verbs. Some nouns are among them because people write `the summary` for `summarize`.
const VERBS: &[&str] = &[
    "rename move relocate transfer",
    "stop end terminate kill halt abort cancel void",
    "lend borrow loan checkout",
    "return bring",
    "ship dispatch deliver send",
    "calculate compute evaluate solve count",
    "convert transform translate turn",
    "merge combine join concatenate unite",
    "split divide separate cut",
    "compare contrast difference diff versus",
    "analyze analysis examine inspect investigate assess evaluate",
    "validate verify check test",
    "download fetch pull",
    "upload push",
    "draw plot paint render visualize",
    "recommend suggest advise recommendation suggestion",
    "plan schedule arrange organize",
    "remind notify alert",
    "approve accept confirm",
    "reject decline refuse deny",
    "assign delegate allocate",
    "connect link attach",
    "enable activate",
    "disable deactivate",
    "restore recover undo revert",
    "summarize summary digest abstract",
    "book reserve booking reservation",
    "buy purchase order",
    "visit navigate browse goto open",
    "choose pick select",
    "copy duplicate clone",
];

/// Verbs that produce something to write to a file.
const PRODUCING_VERBS: &str =
    "create export generate make output produce put report save store write";

/// Verbs of operations that change something.
const CHANGING_VERBS: &str = "add cancel change create delete edit generate insert make modify post remove save send \
                              set update write";

/// A word with about the same meaning as another.
pub(super) struct Related {
    pub(super) stem: String,
    /// The weight relative to the word itself.
    pub(super) weight: f64,
}

/// The tables by stems.
struct Synonyms {
    related: HashMap<String, Vec<Related>>,
    common_verbs: HashSet<String>,
    producing_verbs: HashSet<String>,
    changing_verbs: HashSet<String>,
}

static SYNONYMS: LazyLock<Synonyms> = LazyLock::new(|| {
    let set =
        |rows: &[&str]| -> HashSet<String> { rows.iter().flat_map(|row| stems(row)).collect() };
    Synonyms {
        related: related_stems(),
        common_verbs: set(COMMON_VERBS),
        producing_verbs: set(&[PRODUCING_VERBS]),
        changing_verbs: set(&[CHANGING_VERBS]),
    }
});

fn stems(row: &str) -> Vec<String> {
    let stemmer = Stemmer::english();
    row.split(' ').map(|word| stemmer.stem(word)).collect()
}

/// Returns the related words of each stem. If several tables have a pair of words, the first one
/// decides its weight.
fn related_stems() -> HashMap<String, Vec<Related>> {
    let mut related: HashMap<String, Vec<Related>> = HashMap::new();
    let mut relate = |stem: &str, other: &str, weight: f64| {
        let others = related.entry(stem.to_owned()).or_default();
        if other != stem && !others.iter().any(|known| known.stem == other) {
            others.push(Related { stem: other.to_owned(), weight });
        }
    };
    for (short, long) in ABBREVIATIONS {
        for (short, long) in stems(short).iter().zip(&stems(long)) {
            relate(short, long, ABBREVIATION);
            relate(long, short, ABBREVIATION);
        }
    }
    for row in COMMON_VERBS.iter().chain(VERBS).chain(NOUNS) {
        let row = stems(row);
        for stem in &row {
            for other in &row {
                relate(stem, other, SYNONYM);
            }
        }
    }
    related
}

/// Returns the words with about the same meaning as a stem.
pub(super) fn related(stem: &str) -> &'static [Related] {
    SYNONYMS.related.get(stem).map_or(&[], Vec::as_slice)
}

/// Returns `true` if a stem is that of a verb at the beginning of most names.
pub(super) fn is_common_verb(stem: &str) -> bool {
    SYNONYMS.common_verbs.contains(stem)
}

/// Returns `true` if a stem is that of a verb that produces the content of a file.
pub(super) fn is_producing_verb(stem: &str) -> bool {
    SYNONYMS.producing_verbs.contains(stem)
}

/// Returns `true` if a stem is that of a verb of operations that change something.
pub(super) fn is_changing_verb(stem: &str) -> bool {
    SYNONYMS.changing_verbs.contains(stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the weight of a word for another, or 0.0 if they are not related.
    fn weight(of: &str, other: &str) -> f64 {
        let (of, other) = (stems(of).concat(), stems(other).concat());
        related(&of).iter().find(|known| known.stem == other).map_or(0.0, |known| known.weight)
    }

    #[test]
    fn abbreviations_count_more_than_synonyms_in_both_directions() {
        for (short, long) in [("repo", "repositories"), ("img", "images"), ("deps", "dependency")] {
            assert_eq!((weight(short, long), weight(long, short)), (ABBREVIATION, ABBREVIATION));
        }
        assert!(ABBREVIATIONS.is_sorted(), "the next editor looks for a word");
        assert!(ABBREVIATIONS.iter().all(|(short, long)| !format!("{short}{long}").contains(' ')));
    }

    #[test]
    fn verbs_that_return_something_change_nothing() {
        for (verb, changes) in [("delete", true), ("sends", true), ("get", false), ("list", false)]
        {
            assert_eq!(is_changing_verb(&stems(verb).concat()), changes, "{verb}");
        }
    }

    #[test]
    fn synonyms_are_mutual_and_each_row_is_one_word_each() {
        for (one, other) in [
            ("create", "register"),
            ("delete", "cancelled"),
            ("fetch", "reads"),
            ("photos", "image"),
            ("folder", "directories"),
            ("customer", "clients"),
        ] {
            assert_eq!(
                (weight(one, other), weight(other, one)),
                (SYNONYM, SYNONYM),
                "{one} {other}"
            );
        }
        for row in COMMON_VERBS.iter().chain(VERBS).chain(NOUNS) {
            let words: Vec<_> = row.split(' ').collect();
            assert!(words.len() > 1 && words.iter().all(|word| !word.is_empty()), "{row}");
        }
        assert!(related("ferry").is_empty() && weight("delete", "delete") == 0.0);
        assert!(is_producing_verb(&stems("saved").concat()) && !is_producing_verb("read"));
        assert!(!is_common_verb("merg") && is_common_verb("creat"));
    }
}
