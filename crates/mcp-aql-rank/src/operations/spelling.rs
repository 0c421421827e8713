//! Recognizes misspelled words.

/// Returns `true` if two different words differ in one letter: it is missing or replaced, or two
/// adjacent letters are exchanged.
pub(super) fn is_misspelling(one: &[u8], other: &[u8]) -> bool {
    match (one, other) {
        ([a, one @ ..], [b, other @ ..]) if a == b => is_misspelling(one, other),
        ([a, b, one @ ..], [c, d, other @ ..]) if (a, b) == (d, c) && one == other => true,
        ([_, rest_of_one @ ..], [_, rest_of_other @ ..]) => {
            rest_of_one == rest_of_other || rest_of_one == other || one == rest_of_other
        }
        ([_], []) | ([], [_]) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_differ_in_one_letter_are_misspellings() {
        for (one, other, expected) in [
            ("broswer", "browser", true),
            ("browsr", "browser", true),
            ("browser", "browserr", true),
            ("bxowser", "browser", true),
            ("a", "", true),
            ("browser", "browser", false),
            ("rbwoser", "browser", false),
            ("browse", "browsing", false),
            ("", "", false),
        ] {
            assert_eq!(is_misspelling(one.as_bytes(), other.as_bytes()), expected, "{one} {other}");
            assert_eq!(is_misspelling(other.as_bytes(), one.as_bytes()), expected, "{other} {one}");
        }
    }
}
