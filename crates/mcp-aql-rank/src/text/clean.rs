//! Removes characters invisible to a reader.

use std::borrow::Cow;
use std::str::Chars;

use mcp_aql_text::is_ignorable;
use unicode_normalization::{UnicodeNormalization as _, is_nfc};

/// Maximum length in bytes of an operating system command in a terminal sequence. After a longer
/// one, everything is kept.
const MAX_COMMAND_BYTES: usize = 4_096;

/// Composes a string (NFC) and removes terminal sequences, control characters, bidirectional marks
/// and other characters without width.
///
/// Use it on everything that a model reads: the model would read what is hidden in such characters,
/// but a person would not see it.
///
/// Lines and tabs are kept; every kind of line break becomes `\n`. Joiners are kept between letters
/// of scripts whose spelling needs them.
///
/// ```
/// use mcp_aql_rank::texts::clean;
///
/// assert_eq!(clean("\u{1b}[31mred\u{1b}[0m and\u{200b} blue"), "red and blue");
/// ```
pub fn clean(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) {
        return Cow::Borrowed(text);
    }
    let kept = if text.chars().all(is_plain) { Cow::Borrowed(text) } else { strip(text).into() };
    if is_nfc(&kept) { kept } else { kept.nfc().collect::<String>().into() }
}

/// Returns `true` if a character is kept in any context.
fn is_plain(c: char) -> bool {
    match c {
        '\n' | '\t' | ' '..='~' => true,
        c if c.is_control() => false,
        '\u{2028}' | '\u{2029}' => false,
        c => !is_dropped(c),
    }
}

/// Returns `true` if a code point is never displayed: Unicode's ignorable ones, interlinear
/// annotation marks and noncharacters.
fn is_dropped(c: char) -> bool {
    is_ignorable(c)
        || matches!(c, '\u{fff9}'..='\u{fffb}' | '\u{fdd0}'..='\u{fdef}')
        || u32::from(c) & 0xFFFE == 0xFFFE
}

/// Returns `true` if the spelling of a script needs joiners: Arabic and related scripts, and those
/// of India and its neighbors.
fn uses_joiners(c: char) -> bool {
    matches!(u32::from(c), 0x600..=0x7BF | 0x840..=0x8FF | 0x900..=0xDFF | 0x1000..=0x109F
        | 0x1780..=0x17FF | 0x1800..=0x18AF)
}

fn strip(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut commands = Commands::of(text);
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            // `\r\n` is one line break. So is a lone `\r`, written by progress bars.
            '\r' if rest.as_str().starts_with('\n') => {}
            '\r' => out.push('\n'),
            '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{b}' | '\u{c}' => out.push('\n'),
            '\u{1b}' => skip_escape(&mut rest, &mut commands),
            '\u{9b}' => skip_parameters(&mut rest),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => commands.skip(&mut rest),
            // A variation selector is kept once after a visible character. A repeated one could
            // only hide data.
            '\u{fe0e}' | '\u{fe0f}' => {
                let after_sign = out.chars().next_back().is_some_and(|last| {
                    !last.is_whitespace() && !matches!(last, '\u{fe0e}' | '\u{fe0f}')
                });
                if after_sign {
                    out.push(c);
                }
            }
            '\u{200c}' | '\u{200d}' => {
                let before = out.chars().next_back().is_some_and(uses_joiners);
                if before && rest.clone().next().is_some_and(uses_joiners) {
                    out.push(c);
                }
            }
            c if is_plain(c) => out.push(c),
            _ => {}
        }
    }
    out
}

/// Skips the rest of an escape sequence (ECMA-48): a sequence with parameters, a command up to its
/// terminator, or two characters.
fn skip_escape<'t>(rest: &mut Chars<'t>, commands: &mut Commands<'t>) {
    match rest.clone().next() {
        Some('[') => {
            rest.next();
            skip_parameters(rest);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            rest.next();
            commands.skip(rest);
        }
        Some(' '..='/') => {
            while matches!(rest.clone().next(), Some(' '..='/')) {
                rest.next();
            }
            if matches!(rest.clone().next(), Some('0'..='~')) {
                rest.next();
            }
        }
        Some('0'..='~') => {
            rest.next();
        }
        _ => {}
    }
}

/// Skips parameters, intermediates, and the final character.
fn skip_parameters(rest: &mut Chars<'_>) {
    while matches!(rest.clone().next(), Some(' '..='?')) {
        rest.next();
    }
    if matches!(rest.clone().next(), Some('@'..='~')) {
        rest.next();
    }
}

/// Finds the ends of commands. A command ends at a terminator in the same line.
///
/// The next terminator is searched once for all commands before it. Otherwise a string with nothing
/// but openings would take quadratic time.
struct Commands<'t> {
    text: &'t str,
    /// The next terminator or line end.
    next: Stop,
    /// Number of bytes searched.
    #[cfg(test)]
    looked: usize,
}

/// The next end of a command or of a line.
#[derive(Clone, Copy)]
struct Stop {
    at: usize,
    /// The position after the terminator, or `None` for the end of a line.
    after: Option<usize>,
}

impl<'t> Commands<'t> {
    fn of(text: &'t str) -> Self {
        let mut commands = Self {
            text,
            next: Stop { at: 0, after: None },
            #[cfg(test)]
            looked: 0,
        };
        commands.look(0);
        commands
    }

    /// Skips to the position after the terminator. If there is none, nothing is skipped, so that an
    /// opening alone cannot hide anything.
    fn skip(&mut self, rest: &mut Chars<'t>) {
        let from = self.text.len() - rest.as_str().len();
        if self.next.at < from {
            self.look(from);
        }
        if let Some(after) = self.next.after
            && self.next.at - from <= MAX_COMMAND_BYTES
            && let Some(behind) = self.text.get(after..)
        {
            *rest = behind.chars();
        }
    }

    fn look(&mut self, from: usize) {
        let ahead = self.text.get(from..).unwrap_or_default();
        let found = ahead.char_indices().find_map(|(at, each)| {
            let behind = from + at + each.len_utf8();
            match each {
                '\u{7}' | '\u{9c}' => Some((at, Some(behind))),
                '\u{1b}' if self.text.get(behind..)?.starts_with('\\') => {
                    Some((at, Some(behind + 1)))
                }
                '\n' => Some((at, None)),
                _ => None,
            }
        });
        let (at, after) = found.unwrap_or((ahead.len(), None));
        self.next = Stop { at: from + at, after };
        #[cfg(test)]
        {
            self.looked += at;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn invisible_characters_are_removed_and_the_rest_is_kept() {
        for (shows, text, expected) in [
            ("plain text is not touched", "a\n\tb ~", "a\n\tb ~"),
            ("colours go", "\u{1b}[1;31mred\u{1b}[0m", "red"),
            ("with eight bits too", "\u{9b}31mred", "red"),
            ("titles of windows go", "\u{1b}]0;title\u{7}a\u{1b}]8;;x\u{1b}\\b", "ab"),
            ("an opening alone takes no text", "\u{1b}]a b", "a b"),
            ("short sequences go", "\u{1b}(Ba\u{1b}7b\u{1b}", "ab"),
            ("controls go", "a\0b\u{8}c\u{7f}d\u{80}", "abcd"),
            ("every break is a line's end", "a\r\nb\rc\u{2028}d\u{85}e\u{c}f", "a\nb\nc\nd\ne\nf"),
            ("directions go", "\u{202e}abc\u{202c}\u{2066}d\u{2069}\u{200f}", "abcd"),
            ("zero widths go", "a\u{200b}b\u{200d}c\u{feff}d\u{ad}e\u{2060}", "abcde"),
            ("tags go", "a\u{e0001}\u{e0041}\u{e007f}b", "ab"),
            ("selectors that hide bytes go", "a\u{e0100}\u{e01ef}\u{fe01}b", "ab"),
            ("pictures keep theirs, once", "❤\u{fe0f}\u{fe0f} \u{fe0f}x", "❤\u{fe0f} x"),
            ("composed", "e\u{301}", "é"),
            ("also over what went", "e\u{200b}\u{301}", "é"),
            ("Persian keeps its spelling", "می\u{200c}خواهم", "می\u{200c}خواهم"),
            ("Hindi too", "क्\u{200d}ष", "क्\u{200d}ष"),
            ("no characters at all", "a\u{ffff}\u{fdd0}\u{1fffe}b", "ab"),
        ] {
            assert_eq!(clean(text), expected, "{shows}");
        }
    }

    /// Checks every code point between letters: none without a glyph is kept.
    #[test]
    fn no_ignorable_code_point_stays() {
        for c in ('\0'..=char::MAX).filter(|c| is_ignorable(*c)) {
            // Variation selectors are kept after a visible character.
            if !matches!(c, '\u{fe0e}' | '\u{fe0f}') {
                assert_eq!(clean(&format!("a{c}b")), "ab", "U+{:04X}", u32::from(c));
            }
        }
    }

    #[test]
    fn clean_text_is_borrowed() {
        for text in ["", "plain", "Größe, 日本語, ❤", "é"] {
            assert!(matches!(clean(text), Cow::Borrowed(_)), "{text}");
        }
    }

    #[test]
    fn openings_without_an_end_are_searched_once() {
        // REQ-AGR-07
        for (opening, close) in [
            ("\u{9d}", ""),
            ("\u{1b}]", ""),
            ("\u{1b}P", ""),
            ("\u{90}x\n", ""),
            ("\u{1b}]", "\u{7}"),
            ("\u{1b}_\u{1b}", "\u{9c}"),
        ] {
            let text = opening.repeat(512 * 1024 / opening.len()) + close;
            let mut commands = Commands::of(&text);
            let mut rest = text.chars();
            while let Some(each) = rest.next() {
                match each {
                    '\u{1b}' => skip_escape(&mut rest, &mut commands),
                    '\u{9d}' | '\u{90}' => commands.skip(&mut rest),
                    _ => {}
                }
            }
            assert!(commands.looked <= text.len(), "{opening:?}: {}", commands.looked);
        }
    }

    #[test]
    fn a_command_ends_in_its_line_and_soon() {
        let long = "x".repeat(MAX_COMMAND_BYTES);
        for (shows, text, expected) in [
            ("in its line", "\u{9d}a\nb\u{7}c".to_owned(), "a\nbc".to_owned()),
            ("one after the other", "\u{9d}a\u{7}b\u{9d}c\u{7}d".to_owned(), "bd".to_owned()),
            ("the first end is the end", "\u{9d}\u{9d}a\u{7}b\u{7}c".to_owned(), "bc".to_owned()),
            ("as long as they may be", format!("\u{9d}{long}\u{7}b"), "b".to_owned()),
            ("no longer", format!("\u{9d}x{long}\u{7}b"), format!("x{long}b")),
            (
                "a later one may be near enough",
                format!("\u{9d}xx\u{9d}{long}\u{7}b"),
                "xxb".to_owned(),
            ),
        ] {
            assert_eq!(clean(&text), expected, "{shows}");
        }
    }

    proptest! {
        #[test]
        fn clean_stays_clean(text in "(?s:.|[\u{1b}\r\u{9b}\u{9d}\u{200c}\u{200d}\u{fe0f}\u{301}\\[\\]ام क्]){0,60}") {
            let once = clean(&text).into_owned();
            prop_assert_eq!(&clean(&once), &once);
            prop_assert!(!once.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')));
        }
    }
}
