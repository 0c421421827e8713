//! Splits the fields of an operation, and other strings, into stems.

use crate::text::{Stemmer, Word, WordKind, is_stop_word, scan_simply};

use super::OperationDocument;

/// Maximum length of a field in bytes. The rest is ignored.
const MAX_TEXT_BYTES: usize = 16_384;

/// Number of fields.
pub(super) const FIELD_COUNT: usize = 8;

/// The effect of a field.
pub(super) struct FieldWeight {
    pub(super) weight: f64,
    /// Influence of the field's length, from 0.0 to 1.0. A word of a long field counts less.
    pub(super) length: f64,
}

/// The weights of the fields, in the order of [`stems_of`].
pub(super) const FIELD_WEIGHTS: [FieldWeight; FIELD_COUNT] = [
    FieldWeight { weight: 3.0, length: 0.5 },
    FieldWeight { weight: 1.0, length: 0.5 },
    FieldWeight { weight: 0.3, length: 0.75 },
    FieldWeight { weight: 0.8, length: 0.5 },
    FieldWeight { weight: 0.3, length: 0.5 },
    FieldWeight { weight: 0.5, length: 0.75 },
    FieldWeight { weight: 0.2, length: 0.5 },
    FieldWeight { weight: 0.5, length: 0.75 },
];

/// Returns the stems of the fields of an operation: name, group and its description, first sentence
/// and rest of the description, names and descriptions of parameters, values with examples.
pub(super) fn stems_of(
    document: &OperationDocument<'_>,
    stemmer: Stemmer,
) -> [Vec<String>; FIELD_COUNT] {
    let (first, rest) = first_sentence(document.description);
    let of = |text: &str| stems(text, stemmer);
    let names = document.parameters.iter().flat_map(|(name, _)| of(name));
    let descriptions = document.parameters.iter().flat_map(|(_, description)| of(description));
    let samples = document.values.iter().chain(&document.examples).flat_map(|text| of(text));
    [
        of(document.name),
        of(document.group),
        of(document.group_description),
        of(first),
        of(rest),
        names.collect(),
        descriptions.collect(),
        samples.collect(),
    ]
}

/// Splits after the first sentence or line.
fn first_sentence(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let end = text.char_indices().find(|(at, c)| {
        let after = text.get(at + c.len_utf8()..).unwrap_or_default();
        match c {
            '\n' | '。' | '！' | '？' => true,
            '.' | '!' | '?' => after.is_empty() || after.starts_with(char::is_whitespace),
            _ => false,
        }
    });
    let end = end.map_or(text.len(), |(at, c)| at + c.len_utf8());
    text.split_at_checked(end).unwrap_or((text, ""))
}

/// Returns the stems of a string's words, without stop words.
pub(super) fn stems(text: &str, stemmer: Stemmer) -> Vec<String> {
    let mut found = Vec::new();
    scan_simply(beginning(text, MAX_TEXT_BYTES), &mut |word| {
        found.extend(stem_of(word, stemmer));
    });
    found
}

/// Returns the beginning of a string, cut between two characters.
pub(super) fn beginning(text: &str, most_bytes: usize) -> &str {
    let mut end = text.len().min(most_bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// Returns the stem of a word, or `None` for a stop word and the whole of an identifier.
pub(super) fn stem_of(word: Word<'_>, stemmer: Stemmer) -> Option<String> {
    if matches!(word.kind, WordKind::Sign | WordKind::Whole) {
        return None;
    }
    if !word.kind.has_stem() {
        return Some(word.text.to_owned());
    }
    let plain = word.text.to_lowercase();
    (!is_stop_word(&plain)).then(|| stemmer.stem(&plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_split_into_stems() {
        for (shows, text, expected) in [
            ("snake_case", "create_new_tasks", &["creat", "new", "task"][..]),
            ("kebab-case", "get-user-names", &["get", "user", "name"]),
            ("camelCase", "getUserNames", &["get", "user", "name"]),
            ("acronyms", "parseHTTPReply", &["pars", "http", "repli"]),
            ("digits", "base64 mp3 x2", &["base64", "mp3", "x2"]),
            ("stop words", "a list of the tasks", &["list", "task"]),
            ("scripts without spaces", "查询余票", &["查询", "询余", "余票"]),
            ("nothing", " — ", &[]),
        ] {
            assert_eq!(stems(text, Stemmer::english()), expected, "{shows}");
        }
    }

    #[test]
    fn the_first_sentence_ends_at_a_full_stop_or_a_line() {
        for (text, expected) in [
            ("Reads v1.2 files. Then more.", ("Reads v1.2 files.", " Then more.")),
            ("\n One line\ntwo", ("One line\n", "two")),
            ("查询余票。更多", ("查询余票。", "更多")),
            ("no end", ("no end", "")),
            ("", ("", "")),
        ] {
            assert_eq!(first_sentence(text), expected);
        }
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(beginning("aéb", 2), "a");
        assert_eq!(beginning("aéb", 3), "aé");
        assert_eq!(beginning("a", 9), "a");
    }
}
