//! What is done to a query before it is put into an argument.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::config::nearest;

/// All but the characters that RFC 3986 calls unreserved.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A filter: `{query|regex}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filter {
    /// For a regular expression that finds the text as it is.
    Regex,
    /// For one that finds any of the words.
    RegexOr,
    /// For a pattern of file names.
    Glob,
    /// For a full-text query of SQLite that finds any of the words.
    Fts5Or,
    /// For between single quotes in SQL.
    SqlString,
    /// One segment of the path of a URL, or one value in its query.
    PathSegment,
    /// One word of a POSIX shell.
    ShellWord,
    /// As it is.
    Raw,
}

/// What a filter gets: a text, or the words that matter of one.
#[derive(Debug, Clone, Copy)]
pub(super) enum Filled<'q> {
    Text(&'q str),
    Words(&'q [String]),
}

impl Filter {
    const ALL: [(&'static str, Self); 8] = [
        ("regex", Self::Regex),
        ("regexOr", Self::RegexOr),
        ("glob", Self::Glob),
        ("fts5Or", Self::Fts5Or),
        ("sqlString", Self::SqlString),
        ("pathSegment", Self::PathSegment),
        ("shellWord", Self::ShellWord),
        ("raw", Self::Raw),
    ];

    pub(super) fn of(name: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(each, _)| *each == name).map(|(_, filter)| *filter);
        found.ok_or_else(|| {
            let names = || Self::ALL.iter().map(|(name, _)| *name);
            let hint = nearest(names(), name).map_or_else(
                || format!("there are {}", names().collect::<Vec<_>>().join(", ")),
                |near| format!("did you mean `{near}`?"),
            );
            format!("the filter `{name}` is unknown: {hint}")
        })
    }

    pub(super) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, each)| *each == self).map_or("", |(name, _)| name)
    }

    /// One after the other.
    pub(super) fn run(filters: &[Self], filled: Filled<'_>) -> String {
        let Some((first, rest)) = filters.split_first() else {
            return match filled {
                Filled::Text(text) => text.to_owned(),
                Filled::Words(words) => words.join(" "),
            };
        };
        let first = match filled {
            Filled::Text(text) => first.of_text(text),
            Filled::Words(words) => first.of_words(words.iter().map(String::as_str)),
        };
        rest.iter().fold(first, |text, filter| filter.of_text(&text))
    }

    fn of_text(self, text: &str) -> String {
        match self {
            Self::RegexOr | Self::Fts5Or => self.of_words(text.split_whitespace()),
            Self::Regex => regex(text),
            Self::Glob => glob(text),
            Self::SqlString => sql_string(text),
            Self::PathSegment => path_segment(text),
            Self::ShellWord => shell_word(text),
            Self::Raw => text.to_owned(),
        }
    }

    fn of_words<'w>(self, words: impl Iterator<Item = &'w str>) -> String {
        match self {
            Self::RegexOr => words.map(regex).collect::<Vec<_>>().join("|"),
            Self::Fts5Or => words
                .map(|word| format!("\"{}\"", word.replace('"', "\"\"")))
                .collect::<Vec<_>>()
                .join(" OR "),
            Self::Regex
            | Self::Glob
            | Self::SqlString
            | Self::PathSegment
            | Self::ShellWord
            | Self::Raw => self.of_text(&words.collect::<Vec<_>>().join(" ")),
        }
    }
}

/// Escapes what is special in every dialect, and nothing that is an error to escape in one of them.
fn regex(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for each in text.chars() {
        match each {
            // Programs would take it for an option.
            '-' if escaped.is_empty() => escaped.push_str("[-]"),
            '\\' | '.' | '+' | '*' | '?' | '(' | ')' | '|' | '[' | ']' | '{' | '}' | '^' | '$' => {
                escaped.push('\\');
                escaped.push(each);
            }
            // Programs that look line by line refuse these.
            '\n' | '\r' => escaped.push(' '),
            _ => escaped.push(each),
        }
    }
    escaped
}

/// Dialects differ in how they escape; `?` finds any one character in all of them. No way out of a folder
/// is left either.
fn glob(text: &str) -> String {
    let mut before = '.';
    text.chars()
        .map(|each| {
            let is_plain = each.is_alphanumeric()
                || matches!(each, '_' | '-' | ' ')
                || (each == '.' && before != '.');
            before = each;
            if is_plain { each } else { '?' }
        })
        .collect()
}

/// Backslashes go: in some databases they could take the quote's meaning away.
fn sql_string(text: &str) -> String {
    text.replace('\'', "''").replace(['\\', '\0'], " ")
}

/// Percent-encodes a text, so that it is one segment: no `/`, no `\`, no NUL. A segment of dots alone would
/// name another folder, also where it is percent-encoded, so that its dots become `_`.
fn path_segment(text: &str) -> String {
    if !text.is_empty() && text.chars().all(|each| each == '.') {
        return "_".repeat(text.len());
    }
    utf8_percent_encode(&text.replace('\0', " "), RESERVED).to_string()
}

/// Puts a text between single quotes, where a shell takes every character as it is. No argument of a
/// program can hold NUL, and one that starts with `-` would be an option.
fn shell_word(text: &str) -> String {
    format!("'{}'", unlike_option(text.replace('\0', " ")).replace('\'', r"'\''"))
}

/// Tools hand what they get to programs, which would take `-x` for an option.
pub(super) fn unlike_option(text: String) -> String {
    let plain = text.trim_start_matches(|each: char| each == '-' || each.is_whitespace());
    match plain {
        _ if !text.starts_with('-') => text,
        "" => format!(" {text}"),
        _ => plain.to_owned(),
    }
}
