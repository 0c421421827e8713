//! Escapes U+0000 in strings, because PostgreSQL rejects it and tools of SQLite truncate strings there.

/// Escapes U+0000. The order of strings stays the same:
///
/// ```text
/// U+0000 → U+0001 U+0001
/// U+0001 → U+0001 U+0002
/// ```
pub(super) fn escape(text: &str) -> String {
    if !text.contains(['\0', '\u{1}']) {
        return text.to_owned();
    }
    text.replace('\u{1}', "\u{1}\u{2}").replace('\0', "\u{1}\u{1}")
}

/// Reverses [`escape`]. Returns `None` if the string is not a result of it.
pub(super) fn unescape(kept: String) -> Option<String> {
    if !kept.contains('\u{1}') {
        return Some(kept);
    }
    let mut text = String::with_capacity(kept.len());
    let mut rest = kept.chars();
    while let Some(next) = rest.next() {
        text.push(match next {
            '\u{1}' => match rest.next()? {
                '\u{1}' => '\0',
                '\u{2}' => '\u{1}',
                _ => return None,
            },
            other => other,
        });
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{escape, unescape};

    proptest! {
        #[test]
        fn every_text_comes_back_and_keeps_its_place(
            one in "[\0\u{1}\u{2}aé]{0,5}", other in "[\0\u{1}\u{2}aé]{0,5}"
        ) {
            prop_assert!(!escape(&one).contains('\0'));
            prop_assert_eq!(escape(&one).cmp(&escape(&other)), one.cmp(&other));
            prop_assert_eq!(unescape(escape(&one)), Some(one));
        }
    }

    #[test]
    fn what_was_not_kept_is_not_read() {
        assert_eq!(unescape("a\u{1}".to_owned()), None);
        assert_eq!(unescape("a\u{1}b".to_owned()), None);
    }
}
