//! One form for all ways of writing a word.

use unicode_normalization::UnicodeNormalization as _;

use super::scripts::is_optional_mark;

/// Appends a word in lower case, without compatibility forms and without marks that are optional.
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
                // The dotless i of Turkish is written with a dot by everyone else.
                'ı' => out.push('i'),
                // What `İ` leaves of its dot.
                '\u{307}' if base == 'i' => {}
                lower => out.push(lower),
            }
        }
        if !('\u{300}'..='\u{36f}').contains(&c) {
            base = c.to_lowercase().next().unwrap_or(c);
        }
    }
}
