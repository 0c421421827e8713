//! Finds the differences that distinguish documents of nearly the same words.
//!
//! ```text
//! Flight 17 is late        ≠  Flight 18 is late
//! if a > b                 ≠  if a < b
//! it is paid back          ≠  it is not paid back
//! call it to see a booking ≠  call it to drop a booking
//! see it in a boat         =  see it now in a small boat
//! ```

use similar::{Algorithm, DiffTag, capture_diff_slices};

use crate::text::{Word, WordKind, is_stop_word, scan};

use super::query::{Known, Terms};

/// A word or symbol of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Token {
    key: u64,
    kind: TokenKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum TokenKind {
    /// A function word.
    Function,
    /// A content word.
    Content,
    /// A negation.
    Negation,
    /// A word of the query.
    Query,
    /// A number, or a symbol that is not punctuation.
    Value,
    /// A sign that negates what follows: `-100`, `!ready`, `!=`.
    Prefix,
}

const NEGATIONS: [&str; 7] = ["no", "not", "never", "none", "nor", "cannot", "without"];

/// Returns the words of a document, and the symbols between them. Without the terms of the query,
/// all words except numbers are content words.
fn tokens(terms: Option<&Terms>, text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut known = Known::default();
    let mut from = 0;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        // Fast path: most characters are ASCII letters and digits.
        if c.is_ascii_alphanumeric() || c == ' ' {
            before = c;
            continue;
        }
        let end = at + c.len_utf8();
        let next = text.get(end..).and_then(|rest| rest.chars().next()).unwrap_or(' ');
        if let Some(kind) = symbol(before, c, next) {
            add_words(terms, text.get(from..at).unwrap_or_default(), &mut known, &mut tokens);
            tokens.push(Token { key: u64::from(c), kind });
            from = end;
        }
        before = c;
    }
    add_words(terms, text.get(from..).unwrap_or_default(), &mut known, &mut tokens);
    tokens
}

fn add_words(terms: Option<&Terms>, text: &str, known: &mut Known, tokens: &mut Vec<Token>) {
    let mut is_asked = false;
    scan(text, &mut |word: Word<'_>| {
        // The query may contain a part of an identifier.
        is_asked |= terms.is_some_and(|terms| terms.find(word, known).is_some());
        if word.kind.identifies_copies() {
            let was_asked = std::mem::take(&mut is_asked);
            let kind = if word.text.contains(is_numeral) {
                TokenKind::Value
            } else if was_asked {
                TokenKind::Query
            } else if terms.is_some() {
                kind(word)
            } else {
                TokenKind::Content
            };
            tokens.push(Token { key: word.key, kind });
        }
    });
}

fn kind(word: Word<'_>) -> TokenKind {
    let plain = word.text.to_lowercase();
    if NEGATIONS.contains(&plain.as_str()) {
        TokenKind::Negation
    } else if word.kind == WordKind::Plain && is_stop_word(&plain) {
        TokenKind::Function
    } else {
        TokenKind::Content
    }
}

/// Returns `true` if a character is a digit, or a number of a script that writes words without
/// spaces.
fn is_numeral(c: char) -> bool {
    c.is_numeric()
        || matches!(c, '〇' | '零' | '一' | '二' | '三' | '四' | '五' | '六' | '七' | '八' | '九')
        || matches!(c, '十' | '百' | '千' | '万' | '萬' | '億' | '亿' | '兆' | '两' | '兩')
}

/// Returns the kind of a symbol with the characters around it, or `None` for letters, digits,
/// punctuation and the marks of Markdown.
fn symbol(before: char, c: char, next: char) -> Option<TokenKind> {
    match c {
        '-' | '−' if next.is_numeric() && !before.is_alphanumeric() && before != ')' => {
            Some(TokenKind::Prefix)
        }
        '!' if next == '=' || next.is_alphanumeric() && !before.is_alphanumeric() => {
            Some(TokenKind::Prefix)
        }
        // `C#` and `C++`, but not a heading or a list.
        '#' | '+' if before.is_alphanumeric() || before == c => Some(TokenKind::Value),
        '|' if before == '|' || next == '|' => Some(TokenKind::Value),
        '<' | '>' | '=' | '%' | '$' | '&' | '^' | '@' | '/' => Some(TokenKind::Value),
        // Currencies and `§`, `±`, `×`, `÷`; then arrows, operators, dingbats and emoji.
        '\u{a2}'..='\u{a9}' | '±' | '×' | '÷' | '\u{20a0}'..='\u{20cf}' => {
            Some(TokenKind::Value)
        }
        '\u{2100}'..='\u{24ff}'
        | '\u{2600}'..='\u{27bf}'
        | '\u{2900}'..='\u{2bff}'
        | '\u{1f000}'..='\u{1faff}'
            if !c.is_alphanumeric() =>
        {
            Some(TokenKind::Value)
        }
        _ => None,
    }
}

/// Returns `true` if two documents that share most of their words make different statements: if a
/// number or symbol replaces another one, or if only one document has a sign before a word.
///
/// A few words make a difference in short documents, for which you pass the terms of the query.
/// They also differ if one has a word of the query or a negation that the other lacks, or if all
/// differences are replaced words.
pub(super) fn differ(terms: Option<&Terms>, one: &str, other: &str) -> bool {
    let (one, other) = (&*tokens(terms, one), &*tokens(terms, other));
    let hunks: Vec<(&[Token], &[Token])> = capture_diff_slices(Algorithm::Myers, one, other)
        .into_iter()
        .filter(|operation| operation.tag() != DiffTag::Equal)
        .filter_map(|operation| {
            Some((one.get(operation.old_range())?, other.get(operation.new_range())?))
        })
        .collect();
    hunks.iter().any(|(one, other)| values_differ(one, other))
        || terms.is_some()
            && (hunks.iter().any(|(hunk, its)| is_decisive(hunk, other) || is_decisive(its, one))
                || !hunks.is_empty()
                    && hunks.iter().all(|(one, other)| has_content(one) && has_content(other)))
}

fn values_differ(one: &[Token], other: &[Token]) -> bool {
    if let ([Token { kind: TokenKind::Prefix, .. }], [])
    | ([], [Token { kind: TokenKind::Prefix, .. }]) = (one, other)
    {
        return true;
    }
    let values = |tokens: &[Token]| -> Vec<u64> {
        tokens.iter().filter(|it| it.kind == TokenKind::Value).map(|it| it.key).collect()
    };
    let (values, others) = (values(one), values(other));
    !values.is_empty() && !others.is_empty() && values != others
}

/// Returns `true` if a difference has a negation, or a word of the query that the other document
/// lacks.
fn is_decisive(hunk: &[Token], other: &[Token]) -> bool {
    hunk.iter().any(|token| match token.kind {
        TokenKind::Negation => true,
        TokenKind::Query => !other.contains(token),
        _ => false,
    })
}

fn has_content(hunk: &[Token]) -> bool {
    hunk.iter().any(|token| token.kind != TokenKind::Function)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differ_both_ways(terms: Option<&Terms>, one: &str, other: &str) -> bool {
        let differs = differ(terms, one, other);
        assert_eq!(differ(terms, other, one), differs);
        differs
    }

    #[test]
    fn numbers_and_symbols_distinguish_texts_and_punctuation_does_not() {
        for (one, other, expected) in [
            ("status ✅ today", "status ❌ today", true),
            ("status ✅ today", "Status today", false),
            ("if a > b then", "if a < b then", true),
            ("if a != b then", "if a = b then", true),
            ("if a || b then", "if a && b then", true),
            ("if !ready then", "if ready then", true),
            ("a book on C++ in depth", "a book on C# in depth", true),
            ("balance of -100 euro", "balance of 100 euro", true),
            ("it costs 5 % more", "it costs 5 € more", true),
            ("sailing 17 north", "sailing 18 north", true),
            ("the captain of sailing 17 north", "the captain of sailing 18 south", true),
            ("version 1.5 is out", "version 15 is out", true),
            ("on 2026-01-31 we", "on 2026-02-28 we", true),
            ("rows 3 5 7 are", "rows 4 6 8 are", true),
            ("use h264 here", "use h265 here", true),
            ("旅客三十万人次", "旅客九十万人次", true),
            ("旅客30万人次", "旅客90万人次", true),
            ("up to 6,5 of them", "up to 65 of them", true),
            ("and 0.8 8 of", "and 0.8 of", false),
            ("see it, now!", "see it: now.", false),
            ("# A title\n\n> said\n\n+ one\n- two", "A title\nsaid\n* one\n• two", false),
            ("**bold** and `code` – “so”", "bold and code - \"so\"", false),
            ("Heading\n=======\ntext", "Heading\n\ntext", false),
            ("| a | b |", "a b", false),
            ("sailing 17 north", "sailing north", false),
            ("it is paid back", "it is not paid back", false),
            ("", "", false),
        ] {
            assert_eq!(differ_both_ways(None, one, other), expected, "{one:?} {other:?}");
        }
    }

    #[test]
    fn replaced_words_distinguish_short_texts() {
        let terms = Terms::of("refund");
        for (shows, one, other, expected) in [
            ("the same", "call it to see a booking", "call it to see a booking", false),
            ("another word", "call it to see a booking", "call it to drop a booking", true),
            ("of another length", "ships from New York at noon", "ships from Rome at noon", true),
            ("words that hold others together", "see it in a boat", "see it on the boat", false),
            ("words that were added", "see it in a boat", "see it now in a small boat", false),
            ("added and replaced", "see it in a boat", "see it now in a ship", false),
            ("a negation", "it is paid back", "it is not paid back", true),
            ("a word of the query", "it is paid back", "it is paid back refunded", true),
            ("which has moved", "refund it and see", "and see refund it", false),
            ("of an identifier", "call it", "call it getRefund", true),
            ("without spaces", "今天在北京办理", "今天在上海办理", true),
        ] {
            assert_eq!(differ_both_ways(Some(&terms), one, other), expected, "{shows}");
        }
    }
}
