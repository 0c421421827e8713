//! Escapes strings of an agent for terminals.
//!
//! Characters that move the cursor, change the writing direction or are invisible appear as their code points:
//!
//! ```text
//! rm\u{200b} -rf → rm<U+200B> -rf
//! ```

use mcp_aql_text::{is_blank, push_number};

/// The width of a line in columns. A narrower terminal wraps the lines again.
const WIDTH: usize = 72;

/// Appends `text` in lines with a prefix. Without the prefix, a line of an agent could be mistaken for a line of this
/// program.
pub(super) fn write_block(to: &mut String, margin: &str, text: &str) {
    for line in text.split('\n') {
        to.push_str(margin);
        let mut column = 0;
        for character in line.strip_suffix('\r').unwrap_or(line).chars() {
            let width = width(character);
            if column + width > WIDTH {
                to.push('\n');
                to.push_str(margin);
                column = 0;
            }
            column += width;
            push(to, character);
        }
        to.push('\n');
    }
}

/// Escapes `text` as a single line.
pub(super) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    text.chars().for_each(|character| push(&mut shown, character));
    shown
}

fn push(to: &mut String, character: char) {
    if is_hidden(character) {
        push_number(to, character);
    } else {
        to.push(character);
    }
}

/// Returns the width of a character in columns. An unclear width is rounded up.
fn width(character: char) -> usize {
    match character {
        ' '..='~' => 1,
        _ if is_hidden(character) => "<U+10FFFF>".len(),
        _ => 2,
    }
}

/// Returns `true` if a character is invisible, resembles a space, or changes the characters around it.
fn is_hidden(character: char) -> bool {
    mcp_aql_text::is_hidden(character) || (is_blank(character) && character != ' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_on_a_terminal_is_shown_as_text() {
        for (shows, text, expected) in [
            ("plain text", "rm -rf 'C:\\x' \"ä\"", "rm -rf 'C:\\x' \"ä\""),
            ("an escape sequence", "\u{1b}[2J\u{1b}]0;x\u{7}", "<U+001B>[2J<U+001B>]0;x<U+0007>"),
            ("C1 controls", "\u{9b}31m", "<U+009B>31m"),
            ("line ends and tabs", "a\r\n\tb", "a<U+000D><U+000A><U+0009>b"),
            ("delete", "\u{7f}", "<U+007F>"),
            ("text turned around", "\u{202e}cod\u{2066}", "<U+202E>cod<U+2066>"),
            ("no width", "a\u{200b}\u{feff}\u{ad}b", "a<U+200B><U+FEFF><U+00AD>b"),
            ("line separators", "\u{2028}\u{2029}", "<U+2028><U+2029>"),
            ("tags", "\u{e0041}", "<U+E0041>"),
            ("fillers", "\u{3164}\u{115f}", "<U+3164><U+115F>"),
            (
                "all ignorable characters",
                "\u{1d173}\u{1bca0}\u{fff0}",
                "<U+1D173><U+1BCA0><U+FFF0>",
            ),
            ("spaces that are none", "a\u{a0}b\u{3000}", "a<U+00A0>b<U+3000>"),
            ("accents as marks", "e\u{301} हिन्दी", "e\u{301} हिन्दी"),
            ("other scripts", "日本 שלום 🦀", "日本 שלום 🦀"),
        ] {
            assert_eq!(visible(text), expected, "{shows}");
        }
    }

    #[test]
    fn a_block_has_its_margin_on_every_line_that_a_terminal_shows() {
        let padded = format!("drop\r\nCode: 1\r{}Code: 2 {}", " ".repeat(100), "日".repeat(60));
        let mut block = String::new();
        write_block(&mut block, "  | ", &padded);
        assert!(block.lines().count() > 4, "{block}");
        for line in block.lines() {
            assert!(line.starts_with("  | "), "{block}");
            assert!(line.chars().map(width).sum::<usize>() <= WIDTH + 4, "{block}");
        }
        assert!(block.contains("| drop\n") && block.contains("<U+000D>"), "{block}");
    }
}
