//! Reads from the descriptions of a field how an adapter changes values before it stores them.
//!
//! Checks that compare submitted and stored values accept these differences.

use serde_json::Value;

use crate::adapter::Parameter;
use crate::items::{self, same};
use crate::shape::Shape;

/// Maximum length of lists compared as sets. The comparison takes quadratic time.
const MAX_SET_ENTRIES: usize = 1_000;

/// Differences between submitted and stored values announced by the descriptions of a field.
///
/// ```text
/// The title. It is trimmed.                 →  trims
/// Labels, stored in lower case.             →  changes_case
/// A set: in any order, without duplicates.  →  is_set
/// ```
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct StatedChanges {
    /// If `true`, surrounding white space of a string is removed.
    trims: bool,
    /// If `true`, repeated white space in a string is reduced.
    reduces_spaces: bool,
    /// If `true`, all letters of a string get the same case.
    changes_case: bool,
    /// If `true`, a string becomes a slug. Only the letters and digits agree.
    makes_slugs: bool,
    /// If `true`, a list is a set: duplicates are removed, and the order may change.
    is_set: bool,
}

const TRIMMING: [&str; 4] = ["trim", "trims", "trimmed", "trimming"];
const REMOVING: [&str; 8] =
    ["cut", "discarded", "dropped", "ignored", "removed", "removes", "stripped", "strips"];
const REDUCING: [&str; 8] = [
    "collapsed",
    "condensed",
    "merged",
    "normalised",
    "normalized",
    "reduced",
    "replaced",
    "squeezed",
];
const NORMALIZING: [&str; 4] = ["normalised", "normalises", "normalized", "normalizes"];
const CHANGING_CASE: [&str; 5] =
    ["capitalized", "lowercased", "lowercases", "uppercased", "uppercases"];
const STORING: [&str; 13] = [
    "become",
    "becomes",
    "changed",
    "converted",
    "converts",
    "folded",
    "kept",
    "made",
    "normalized",
    "saved",
    "stored",
    "transformed",
    "turned",
];
const SPACES: [&str; 4] = ["space", "spaces", "whitespace", "blanks"];
const CASES: [&str; 5] = ["lower case", "lowercase", "upper case", "uppercase", "same case"];
const SLUGS: [&str; 6] =
    ["as a slug", "as slug", "as slugs", "into a slug", "to a slug", "slugified"];
const SETS: [&str; 14] = [
    "a set",
    "the set of",
    "as set",
    "any order",
    "no order",
    "alphabetical order",
    "alphabetically",
    "unique",
    "distinct",
    "unordered",
    "sorted",
    "without duplicates",
    "no duplicates",
    "deduplicated",
];

/// The words of a sentence in lowercase.
struct Sentence<'t>(Vec<&'t str>);

impl Sentence<'_> {
    /// Returns `true` if the sentence has this phrase without a negation shortly before it.
    fn says(&self, phrase: &str) -> bool {
        const NEGATIONS: [&str; 3] = ["not", "never", "nor"];
        const MAX_DISTANCE: usize = 3;
        let phrase: Vec<_> = phrase.split(' ').collect();
        let mut places = self.0.windows(phrase.len()).enumerate();
        places.any(|(at, words)| {
            let before = self.0.get(at.saturating_sub(MAX_DISTANCE)..at).unwrap_or_default();
            words == phrase && !before.iter().any(|word| NEGATIONS.contains(word))
        })
    }

    fn says_any(&self, phrases: &[&str]) -> bool {
        phrases.iter().any(|phrase| self.says(phrase))
    }
}

impl StatedChanges {
    /// Reads the descriptions of a parameter and of the field with the same name in the item's type.
    pub(super) fn of(parameter: Option<&Parameter>, field: Option<&items::Field<'_>>) -> Self {
        let of_parameter = parameter.and_then(|it| it.member("description")?.as_str());
        let mut changes = Self::default();
        for description in of_parameter.into_iter().chain(field.map(|field| field.description())) {
            changes.read(description);
        }
        let unique = parameter.and_then(|parameter| parameter.member("uniqueItems"));
        changes.is_set |= unique == Some(&Value::Bool(true));
        changes
    }

    /// Returns a string that contains this word and that adapters often alter: it has capitals, surrounding and
    /// repeated spaces, and characters beyond ASCII. Those characters are left out if slugs are announced, or if the
    /// shape rejects them.
    ///
    /// The string reveals changes that no description announces. Returns `None` if the shape restricts strings by more
    /// than their length.
    pub(super) fn hard_text(self, word: &str, shape: Shape<'_>) -> Option<Value> {
        let is_text = ["string", "string or null"].contains(&shape.word());
        if !is_text || !shape.is_free_text() {
            return None;
        }
        let foreign = format!("  {word}  and \u{c4}lpha \u{6f22} \u{1f331}  ");
        let ascii = format!("  {word}  and Alpha  ");
        let texts = [(!self.makes_slugs).then_some(foreign), Some(ascii)];
        texts.into_iter().flatten().map(Value::String).find(|text| shape.accepts(text))
    }

    /// Adds the changes stated in a description.
    ///
    /// Sentences are read one by one, because some words only state a change together with others of the same sentence,
    /// for example "spaces" and "removed".
    fn read(&mut self, description: &str) {
        let description = description.to_lowercase();
        for sentence in description.split(['.', ';', '\n']) {
            let words = sentence.split(|letter: char| !letter.is_alphanumeric());
            let sentence = Sentence(words.filter(|word| !word.is_empty()).collect());
            let has_spaces = sentence.says_any(&SPACES);
            let has_case = sentence.says_any(&CASES) || sentence.says("case");
            let is_normalized = sentence.says_any(&NORMALIZING);
            self.trims |= sentence.says_any(&TRIMMING)
                || sentence.says("without surrounding")
                || (has_spaces && sentence.says_any(&REMOVING));
            // The word "normalized" alone may refer to spaces or to the case.
            self.reduces_spaces |=
                (has_spaces && sentence.says_any(&REDUCING)) || (is_normalized && !has_case);
            self.changes_case |= sentence.says_any(&CHANGING_CASE)
                || (sentence.says_any(&CASES) && sentence.says_any(&STORING))
                || (is_normalized && !has_spaces);
            self.makes_slugs |= sentence.says_any(&SLUGS);
            self.is_set |= sentence.says_any(&SETS)
                || sentence.0.starts_with(&["set", "of"])
                || (sentence.says("duplicates") && sentence.says_any(&REMOVING));
        }
    }

    /// Returns `true` if the changes explain the difference between a stored value and the submitted one.
    pub(super) fn allow(self, sent: &Value, stored: &Value) -> bool {
        let (sent, stored) = (self.plain(sent), self.plain(stored));
        let sets = sent.as_array().zip(stored.as_array()).filter(|_| self.is_set);
        same(&sent, &stored) || sets.is_some_and(|(sent, stored)| is_same_set(sent, stored))
    }

    /// Normalizes a value: removes the differences that the changes may cause.
    fn plain(self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.plain_text(text)),
            Value::Array(entries) => entries.iter().map(|entry| self.plain(entry)).collect(),
            other => other.clone(),
        }
    }

    fn plain_text(self, text: &str) -> String {
        if self.makes_slugs {
            let letters = text.chars().filter(|letter| letter.is_alphanumeric());
            return letters.flat_map(char::to_lowercase).collect();
        }
        let mut plain = match self.trims || self.reduces_spaces {
            true => text.trim().to_owned(),
            false => text.to_owned(),
        };
        if self.reduces_spaces {
            plain = plain.split_whitespace().collect::<Vec<_>>().join(" ");
        }
        if self.changes_case { plain.to_lowercase() } else { plain }
    }
}

/// Returns `true` if two lists are the same set: they have equal entries, and `other` has no duplicates.
pub(super) fn is_same_set(one: &[Value], other: &[Value]) -> bool {
    if one.len().max(other.len()) > MAX_SET_ENTRIES {
        return false;
    }
    let has = |list: &[Value], entry: &Value| list.iter().any(|it| same(entry, it));
    let is_distinct = other
        .iter()
        .enumerate()
        .all(|(at, entry)| !other.get(at + 1..).is_some_and(|rest| has(rest, entry)));
    is_distinct
        && one.iter().all(|entry| has(other, entry))
        && other.iter().all(|entry| has(one, entry))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn stated(description: &str) -> StatedChanges {
        let mut changes = StatedChanges::default();
        changes.read(description);
        changes
    }

    #[test]
    fn descriptions_state_changes() {
        let trims = StatedChanges { trims: true, ..StatedChanges::default() };
        let reduces = StatedChanges { reduces_spaces: true, ..StatedChanges::default() };
        let case = StatedChanges { changes_case: true, ..StatedChanges::default() };
        let slug = StatedChanges { makes_slugs: true, ..StatedChanges::default() };
        let set = StatedChanges { is_set: true, ..StatedChanges::default() };
        for (description, changes) in [
            ("The title, which is trimmed.", trims),
            ("Leading and trailing spaces are removed.", trims),
            ("The title; repeated spaces are reduced to one.", reduces),
            ("The title. Whitespace is normalized.", reduces),
            ("Labels, stored in lower case, in the given order.", case),
            ("An address (lowercased).", case),
            ("The normalized title", StatedChanges { changes_case: true, ..reduces }),
            ("A name that is saved as a slug", slug),
            ("A set: in any order, without duplicates.", set),
            ("Set of labels", set),
            ("The sorted labels.", set),
            ("Labels. Duplicates are dropped.", set),
        ] {
            assert_eq!(stated(description), changes, "{description}");
        }
    }

    #[test]
    fn other_descriptions_state_no_change() {
        for description in [
            "The labels to set.",
            "Labels, in the given order, not sorted.",
            "Duplicates are kept.",
            "A text with whitespace.",
            "Surrounding whitespace is significant.",
            "Spaces are never removed or reduced.",
            "Letters in upper or lower case.",
            "The text is not stored in lower case.",
            "The title; the slug is derived from it.",
        ] {
            assert_eq!(stated(description), StatedChanges::default(), "{description}");
        }
    }

    #[test]
    fn compares_sets_without_order_and_lists_with_it() {
        let as_set = stated("A set of labels.");
        let is_kept = |sent: &Value, there: &Value| {
            let is_list = StatedChanges::default().allow(sent, there);
            assert_eq!(is_list, sent == there, "{there}");
            as_set.allow(sent, there)
        };
        let sent = json!(["zeta", "Alpha", "beta", "zeta"]);
        for there in [json!(["zeta", "Alpha", "beta", "zeta"]), json!(["Alpha", "beta", "zeta"])] {
            assert!(is_kept(&sent, &there), "{there}");
        }
        for there in [
            json!(["Alpha", "beta", "zeta", "zeta"]),
            json!(["alpha", "beta", "zeta"]),
            json!(["Alpha", "zeta"]),
            json!(["Alpha", "beta", "gamma", "zeta"]),
            json!("zeta, Alpha, beta"),
        ] {
            assert!(!is_kept(&sent, &there), "{there}");
        }
        let folded = json!(["zeta", "alpha", "beta", "zeta"]);
        assert!(stated("Stored in lower case.").allow(&sent, &folded));
        assert!(!as_set.allow(&sent, &folded));
    }

    #[test]
    fn allows_only_the_stated_changes_of_texts() {
        let sent = json!("  Zeta  and Alpha  ");
        for (description, there) in [
            ("It is trimmed.", "Zeta  and Alpha"),
            ("Spaces are reduced.", " Zeta and Alpha "),
            ("Stored in lower case.", "  zeta  and alpha  "),
            ("Stored as a slug.", "zeta-and-alpha"),
        ] {
            assert!(!StatedChanges::default().allow(&sent, &json!(there)), "{there}");
            assert!(stated(description).allow(&sent, &json!(there)), "{there}");
        }
        let trims = stated("It is trimmed.");
        for there in ["Zeta and Alpha", "zeta  and alpha", "Zeta"] {
            assert!(!trims.allow(&sent, &json!(there)), "{there}");
        }
    }
}
