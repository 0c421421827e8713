//! Filters that encode a query before it is inserted into an argument.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::names::nearest;

/// Every character except those that RFC 3986 calls unreserved.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A filter, as in `{query|regex}`. For the query `don't stop` the filters return:
///
/// ```text
/// regex        don't stop
/// regexOr      don't|stop
/// glob         don?t stop
/// fts5Or       "don't" OR "stop"
/// sqlString    don''t stop
/// pathSegment  don%27t%20stop
/// shellWord    'don'\''t stop'
/// raw          don't stop
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filter {
    /// A regular expression that matches the value literally.
    Regex,
    /// A regular expression that matches any of the words.
    RegexOr,
    /// A file name pattern.
    Glob,
    /// An FTS5 query of SQLite that matches any of the words.
    Fts5Or,
    /// The inside of a single-quoted SQL string.
    SqlString,
    /// One segment of a URL's path, or one value in its query.
    PathSegment,
    /// One word of a POSIX shell.
    ShellWord,
    /// The value unchanged.
    Raw,
}

/// The input of a filter: a string, or content words.
#[derive(Debug, Clone, Copy)]
pub(super) enum FilterInput<'q> {
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
                || format!("the filters are {}", names().collect::<Vec<_>>().join(", ")),
                |near| format!("did you mean `{near}`?"),
            );
            format!("the filter `{name}` is unknown: {hint}")
        })
    }

    pub(super) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, each)| *each == self).map_or("", |(name, _)| name)
    }

    /// Applies the filters in order.
    pub(super) fn run(filters: &[Self], filled: FilterInput<'_>) -> String {
        let Some((first, rest)) = filters.split_first() else {
            return match filled {
                FilterInput::Text(text) => text.to_owned(),
                FilterInput::Words(words) => words.join(" "),
            };
        };
        let first = match filled {
            FilterInput::Text(text) => first.of_text(text),
            FilterInput::Words(words) => first.of_words(words.iter().map(String::as_str)),
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

/// Escapes the characters that are special in every dialect. Others are not escaped, because some
/// dialects reject unknown escapes.
fn regex(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for each in text.chars() {
        match each {
            // Programs would parse a leading hyphen as an option.
            '-' if escaped.is_empty() => escaped.push_str("[-]"),
            '\\' | '.' | '+' | '*' | '?' | '(' | ')' | '|' | '[' | ']' | '{' | '}' | '^' | '$' => {
                escaped.push('\\');
                escaped.push(each);
            }
            // Programs that search line by line reject line breaks.
            '\n' | '\r' => escaped.push(' '),
            _ => escaped.push(each),
        }
    }
    escaped
}

/// Replaces special characters with `?`, because the dialects differ in how they escape. `?`
/// matches any one character in all of them. The result cannot leave a folder.
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

/// Doubles single quotes, and removes backslashes because they escape a quote in some databases.
fn sql_string(text: &str) -> String {
    text.replace('\'', "''").replace(['\\', '\0'], " ")
}

/// Percent-encodes a string into one segment without `/`, `\` and NUL. A segment of dots would name
/// another folder even when percent-encoded, so its dots become `_`.
fn path_segment(text: &str) -> String {
    if !text.is_empty() && text.chars().all(|each| each == '.') {
        return "_".repeat(text.len());
    }
    utf8_percent_encode(&text.replace('\0', " "), RESERVED).to_string()
}

/// Puts a string into single quotes, because a shell takes every character between them literally.
/// NUL is replaced because a program's argument cannot contain it. A leading `-` is removed because
/// it would start an option.
fn shell_word(text: &str) -> String {
    format!("'{}'", unlike_option(text.replace('\0', " ")).replace('\'', r"'\''"))
}

/// Removes a leading `-`. Tools pass the value on to programs, and these would parse `-x` as an
/// option.
pub(super) fn unlike_option(text: String) -> String {
    let plain = text.trim_start_matches(|each: char| each == '-' || each.is_whitespace());
    match plain {
        _ if !text.starts_with('-') => text,
        "" => format!(" {text}"),
        _ => plain.to_owned(),
    }
}
