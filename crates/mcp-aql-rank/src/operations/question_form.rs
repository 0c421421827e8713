//! Words implied by the form of a question, beyond its content words.

/// The first words of a question that asks for information.
const INTERROGATIVES: [&str; 9] =
    ["what", "which", "who", "whose", "where", "when", "how", "is", "are"];

/// Words that ask for a kind of thing without naming it.
const ASKED_KINDS: [(&str, &str); 4] =
    [("when", "date"), ("where", "location"), ("who", "person"), ("whose", "person")];

/// Words after `how`, with the quantities that they ask for.
const QUANTITIES: &[(&str, &str)] = &[
    ("big", "size"),
    ("cold", "temperature"),
    ("expensive", "price"),
    ("far", "distance"),
    ("fast", "speed"),
    ("heavy", "weight"),
    ("high", "height"),
    ("hot", "temperature"),
    ("large", "size"),
    ("long", "duration"),
    ("many", "count"),
    ("much", "amount"),
    ("often", "frequency"),
    ("old", "age"),
    ("popular", "popularity"),
    ("tall", "height"),
    ("warm", "temperature"),
];

/// Returns `true` if a question begins with a word that asks for information.
pub(super) fn asks_for_information(text: &str) -> bool {
    words(text)
        .next()
        .is_some_and(|first| INTERROGATIVES.iter().any(|known| first.eq_ignore_ascii_case(known)))
}

/// Returns nouns that a question asks for without naming them: `size` for `how large`.
pub(super) fn implied_nouns(text: &str) -> Vec<&'static str> {
    let find = |table: &[(&str, &'static str)], word: &str| {
        let found = table.iter().find(|(known, _)| word.eq_ignore_ascii_case(known));
        found.map(|(_, noun)| *noun)
    };
    let mut nouns: Vec<_> = words(text).filter_map(|word| find(&ASKED_KINDS, word)).collect();
    let pairs = words(text).zip(words(text).skip(1));
    let asked = pairs.filter(|(how, _)| how.eq_ignore_ascii_case("how"));
    nouns.extend(asked.filter_map(|(_, word)| find(QUANTITIES, word)));
    nouns
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_for_information_begin_with_an_interrogative() {
        for (text, asks) in [
            ("Which tasks are late?", true),
            ("\"How much is it?\"", true),
            ("Delete what is late", false),
            ("  ", false),
        ] {
            assert_eq!(asks_for_information(text), asks, "{text}");
        }
    }

    #[test]
    fn forms_of_questions_imply_nouns() {
        for (text, expected) in [
            ("How large is it, and how old?", &["size", "age"][..]),
            ("Where is the station?", &["location"]),
            ("how", &[]),
            ("a large one", &[]),
        ] {
            assert_eq!(implied_nouns(text), expected, "{text}");
        }
    }
}
