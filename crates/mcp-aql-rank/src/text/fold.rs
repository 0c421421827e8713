//! Folds the spellings of a word into one form.

use unicode_normalization::UnicodeNormalization as _;

use super::scripts::is_optional_mark;

/// Appends a word in lower case, without compatibility forms and without optional marks.
pub(super) fn fold_into(word: &str, out: &mut String) {
    let mut base = '\0';
    for c in word.nfkd() {
        if is_optional_mark(base, c) || matches!(c, '\u{200c}' | '\u{200d}') {
            continue;
        }
        for lower in c.to_lowercase() {
            match lower {
                'ß' => out.push_str("ss"),
                'ς' => out.push('σ'),
                // The dotless i of Turkish is spelled with a dot elsewhere.
                'ı' => out.push('i'),
                // The rest of the dot of `İ`.
                '\u{307}' if base == 'i' => {}
                lower => out.push(lower),
            }
        }
        if !('\u{300}'..='\u{36f}').contains(&c) {
            base = c.to_lowercase().next().unwrap_or(c);
        }
    }
}
