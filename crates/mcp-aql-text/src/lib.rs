//! Detects characters that a reader cannot see, that a terminal interprets, or that look like other
//! characters.
//!
//! Every rule comes from Unicode's own data and covers every code point. No other crate of the workspace
//! contains such rules: the safety loop, the operator's terminal, the command lines, the conformance runner
//! and the aggregator all use this one.
//!
//! ```
//! use mcp_aql_text::{is_hidden, is_ignorable, visible};
//!
//! assert!(is_ignorable('\u{200b}') && is_hidden('\u{1b}'));
//! assert_eq!(visible("a\u{202e}b"), "a<U+202E>b");
//! ```
#![forbid(unsafe_code)]

#[cfg(feature = "lookalike")]
mod lookalike;

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io;
use std::sync::LazyLock;

#[cfg(feature = "lookalike")]
pub use lookalike::{Lookalike, lookalike};
use regex_syntax::hir::{Class, HirKind};

/// A set of code points defined by Unicode's data, as sorted ranges.
pub(crate) struct CodePoints(Vec<(char, char)>);

impl CodePoints {
    /// Creates the set of a character class in the syntax of regular expressions.
    pub(crate) fn new(class: &str) -> Self {
        match regex_syntax::parse(class).map(regex_syntax::hir::Hir::into_kind) {
            Ok(HirKind::Class(Class::Unicode(class))) => {
                Self(class.ranges().iter().map(|range| (range.start(), range.end())).collect())
            }
            // The classes of this crate are constants, and each is tested. An invalid class would treat every
            // character as a member, so that no character passes unnoticed.
            _ => Self(vec![('\0', char::MAX)]),
        }
    }

    pub(crate) fn contains(&self, character: char) -> bool {
        let place = self.0.partition_point(|(_, end)| *end < character);
        self.0.get(place).is_some_and(|(start, _)| *start <= character)
    }
}

static IGNORABLE: LazyLock<CodePoints> =
    LazyLock::new(|| CodePoints::new(r"\p{Default_Ignorable_Code_Point}"));
/// Controls, format characters, private and unassigned code points, and separators of lines.
static HIDDEN: LazyLock<CodePoints> =
    LazyLock::new(|| CodePoints::new(r"[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]"));
static MARK: LazyLock<CodePoints> = LazyLock::new(|| CodePoints::new(r"\p{M}"));
static INHERITED_MARK: LazyLock<CodePoints> =
    LazyLock::new(|| CodePoints::new(r"[\p{M}&&\p{Script=Inherited}]"));

/// Returns `true` if a character has the property `Default_Ignorable_Code_Point`. Without special support,
/// programs display nothing for it.
pub fn is_ignorable(character: char) -> bool {
    // No character below the soft hyphen has the property.
    character >= '\u{ad}' && IGNORABLE.contains(character)
}

/// Returns `true` if a character affects the characters around it or the terminal, or has no glyph of its
/// own.
///
/// These are controls (including line feeds and tabs), format characters, ignorable characters, line and
/// paragraph separators, and private, unassigned and noncharacter code points.
pub fn is_hidden(character: char) -> bool {
    !matches!(character, ' '..='~') && HIDDEN.contains(character)
}

/// Returns `true` if a character looks like a space: white space, and the blank pattern of Braille.
pub fn is_blank(character: char) -> bool {
    character.is_whitespace() || character == '\u{2800}'
}

/// Returns `true` if a character is a mark that combines with the preceding character.
pub fn is_mark(character: char) -> bool {
    character >= '\u{300}' && MARK.contains(character)
}

/// Returns `true` if a mark has no script of its own and combines with letters of any script.
pub fn is_inherited_mark(character: char) -> bool {
    character >= '\u{300}' && INHERITED_MARK.contains(character)
}

/// Replaces every hidden character by its number, such as `<U+202E>`.
///
/// Line feeds and tabs are hidden characters as well, so the result is one line. Use [`visible_lines`] to
/// keep line feeds.
pub fn visible(text: &str) -> Cow<'_, str> {
    shown(text, |_| false)
}

/// Replaces every hidden character except line feeds by its number.
///
/// ```
/// use mcp_aql_text::visible_lines;
///
/// assert_eq!(visible_lines("a\nb\r"), "a\nb<U+000D>");
/// ```
pub fn visible_lines(text: &str) -> Cow<'_, str> {
    shown(text, |character| character == '\n')
}

/// Escapes every hidden character in JSON except line feeds. The JSON keeps its meaning, and a terminal shows
/// all of it.
///
/// ```
/// use mcp_aql_text::visible_json;
///
/// assert_eq!(visible_json("{\"a\":\"x\u{202e}\"}"), "{\"a\":\"x\\u202e\"}");
/// ```
pub fn visible_json(json: &str) -> Cow<'_, str> {
    replaced(
        json,
        |character| character == '\n',
        |to, character| {
            for unit in character.encode_utf16(&mut [0; 2]) {
                // Writing to a `String` cannot fail.
                let _ = write!(to, "\\u{unit:04x}");
            }
        },
    )
}

/// A writer for lines, such as those of a log. It replaces every hidden character except line feeds by its
/// number.
///
/// Write whole lines, because a character split between two writes is lost.
///
/// ```
/// use std::io::Write as _;
/// use mcp_aql_text::VisibleLines;
///
/// let mut log = VisibleLines(Vec::new());
/// log.write_all("a\u{202e}b\n".as_bytes())?;
/// assert_eq!(log.0, b"a<U+202E>b\n");
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct VisibleLines<W>(pub W);

impl<W: io::Write> io::Write for VisibleLines<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_all(visible_lines(&String::from_utf8_lossy(bytes)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Appends the number of a character in the form `<U+202E>`.
pub fn push_number(to: &mut String, character: char) {
    // Writing to a `String` cannot fail.
    let _ = write!(to, "<U+{:04X}>", u32::from(character));
}

fn shown(text: &str, stays: impl Fn(char) -> bool) -> Cow<'_, str> {
    replaced(text, stays, push_number)
}

fn replaced(
    text: &str,
    stays: impl Fn(char) -> bool,
    push: impl Fn(&mut String, char),
) -> Cow<'_, str> {
    let is_replaced = |character: char| is_hidden(character) && !stays(character);
    if !text.chars().any(is_replaced) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_replaced(character) {
            push(&mut shown, character);
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_shown_as_numbers() {
        for (shows, text, expected) in [
            ("plain text", "rm -rf 'C:\\x' \"ä\"", "rm -rf 'C:\\x' \"ä\""),
            ("an escape sequence", "\u{1b}[2J\u{7}", "<U+001B>[2J<U+0007>"),
            ("C1 controls", "\u{9b}31m", "<U+009B>31m"),
            ("directions", "\u{202e}cod\u{2066}", "<U+202E>cod<U+2066>"),
            ("zero width", "a\u{200b}\u{feff}\u{ad}b", "a<U+200B><U+FEFF><U+00AD>b"),
            ("line separators", "\u{2028}\u{2029}", "<U+2028><U+2029>"),
            ("tags", "\u{e0041}", "<U+E0041>"),
            ("fillers", "\u{3164}\u{115f}", "<U+3164><U+115F>"),
            ("musical and shorthand format controls", "\u{1d173}\u{1bca0}", "<U+1D173><U+1BCA0>"),
            ("reserved ignorables", "\u{fff0}\u{2065}", "<U+FFF0><U+2065>"),
            ("unassigned and private ones", "\u{378}\u{e000}\u{ffff}", "<U+0378><U+E000><U+FFFF>"),
            ("accents as marks", "e\u{301} हिन्दी", "e\u{301} हिन्दी"),
            ("other scripts and spaces", "日本　שלום 🦀\u{a0}1", "日本　שלום 🦀\u{a0}1"),
        ] {
            assert_eq!(visible(text), expected, "{shows}");
        }
        assert_eq!(visible_lines("a\nb\r"), "a\nb<U+000D>");
        assert!(matches!(visible("plain"), Cow::Borrowed(_)));
    }

    #[test]
    fn visible_json_means_the_same() {
        let json = "{\n\"a\":\"x\u{202e}\u{e0041}ä\"}";
        assert_eq!(visible_json(json), "{\n\"a\":\"x\\u202e\\udb40\\udc41ä\"}");
    }

    /// Compares every code point with another crate for this property, based on another version of Unicode.
    #[cfg(feature = "lookalike")]
    #[test]
    fn ignorable_is_the_property_of_unicode() {
        let mut count = 0;
        for character in '\0'..=char::MAX {
            let mut buffer = [0; 4];
            let text = character.encode_utf8(&mut buffer);
            // A skeleton contains no ignorable code points, and replaces all others.
            let is_removed =
                unicode_security::confusable_detection::skeleton(text).next().is_none();
            assert_eq!(is_ignorable(character), is_removed, "U+{:04X}", u32::from(character));
            count += usize::from(is_removed);
        }
        // The total stated in DerivedCoreProperties.txt.
        assert_eq!(count, 4_174);
    }

    #[test]
    fn every_code_point_is_shown_or_visible() {
        for character in '\0'..=char::MAX {
            let shown = visible(character.encode_utf8(&mut [0; 4])).into_owned();
            let is_replaced = shown == format!("<U+{:04X}>", u32::from(character));
            assert_eq!(is_replaced, is_hidden(character), "{shown}");
            assert!(is_hidden(character) || !is_ignorable(character), "{shown}");
            assert!(is_hidden(character) || !character.is_control(), "{shown}");
            assert!(!shown.chars().any(is_hidden), "{shown}");
        }
    }
}
