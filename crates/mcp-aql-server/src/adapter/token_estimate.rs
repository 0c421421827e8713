//! Estimates the number of tokens of a string.

/// Maximum length of a word to count as one token.
const MAX_WORD: usize = 11;

/// The type of a run of similar characters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Letters,
    Digits,
    Punctuation,
    Space,
    LineEnd,
    Other,
}

/// Estimates the number of tokens of a string inside of JSON, for encodings such as `o200k_base`. If you change a rule,
/// add a case with the real count to the test.
///
/// The following are one token each: a word with the preceding space, three digits, two punctuation marks, a line
/// break, and one or two characters of other scripts.
pub(super) fn estimated_tokens(text: &str) -> usize {
    let mut characters = text.chars().peekable();
    let mut halves = 0;
    while let Some(character) = characters.next() {
        let kind = kind_of(character);
        let mut length = 1_usize;
        while characters.next_if(|next| kind_of(*next) == kind).is_some() {
            length += 1;
        }
        halves += match kind {
            Kind::Letters => 2 * length.div_ceil(MAX_WORD),
            Kind::Digits => 2 * length.div_ceil(3),
            // A single space or `_` belongs to the next word.
            Kind::Space => 2 * usize::from(length > 1),
            Kind::Punctuation if length == 1 && character == '_' => 0,
            Kind::Punctuation => 2 * length.div_ceil(2),
            // A line break is two characters in JSON: `\n`.
            Kind::LineEnd => 2 * length,
            Kind::Other => length * 4 / 3,
        };
    }
    // The factor corrects the remaining difference to real counts: some words, and some marks next to others, are
    // two tokens.
    halves * 53 / 100
}

fn kind_of(character: char) -> Kind {
    match character {
        ' ' => Kind::Space,
        '\n' => Kind::LineEnd,
        'a'..='z' | 'A'..='Z' => Kind::Letters,
        '0'..='9' => Kind::Digits,
        other if other.is_ascii() => Kind::Punctuation,
        _ => Kind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_is_close_to_the_count() {
        // REQ-MCP-08. The expected counts are those of `o200k_base`.
        for (text, count) in [
            ("", 0),
            ("List the executions begun in this session, the newest first.", 12),
            (
                "- get_task: Get one task by its identifier.\n  task_id string: The task.\n\n\
                 They never change stored data.\n\nQuick start examples:\n\
                 { operation: \"get_task\", params: { task_id: \"t-7\" } }",
                55,
            ),
            (
                "- create_task: Create a task. (title 1..200 long, description? ..5000 long, \
                 status? todo|doing|done = \"todo\", priority? integer 1..5 = 3, due_date? date)",
                50,
            ),
            ("返回的结果数量，默认为5。根据提供的ID获取对应网页的内容", 18),
        ] {
            let estimate = estimated_tokens(text);
            assert!(estimate.abs_diff(count) * 5 <= count, "{text}: {estimate} instead of {count}");
        }
    }
}
