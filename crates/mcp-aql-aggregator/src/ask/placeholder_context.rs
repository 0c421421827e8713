//! Checks whether the value of a placeholder could escape its context.

use super::discover;
use super::filters::Filter;
use super::template::{PlaceholderSource, Segment, place};

/// The position of a placeholder in a string, and what surrounds it.
pub(super) struct PlaceholderContext {
    pub(super) is_sql: bool,
    /// The role of the argument that contains the string.
    pub(super) role: ArgumentRole,
    /// If `true`, the placeholder is within single quotes.
    pub(super) is_within: bool,
    /// If `true`, the placeholder is within double quotes.
    pub(super) is_within_double: bool,
    /// The program or syntax that reads a word at this position again, without the quotes of
    /// `shellWord`.
    pub(super) reread_by: Option<String>,
    /// If `true`, the string has no other part.
    pub(super) is_alone: bool,
}

impl PlaceholderContext {
    /// Returns the reason why the value of a placeholder could escape its context, with
    /// the correction.
    pub(super) fn problem(&self, source: PlaceholderSource, filters: &[Filter]) -> Option<String> {
        let with = |filter: Filter| place(source, &[filters, &[filter]].concat());
        Some(match filters.last() {
            Some(Filter::SqlString) if !self.is_within => format!(
                "`sqlString` is only valid between single quotes: write '{}'",
                place(source, filters)
            ),
            Some(Filter::SqlString) => return None,
            _ if self.is_sql => {
                let filters = filters.iter().filter(|it| **it != Filter::Raw).copied();
                let quoted: Vec<_> = filters.chain([Filter::SqlString]).collect();
                format!("a query could close its quotes in SQL: write '{}'", place(source, &quoted))
            }
            Some(Filter::Raw) => return None,
            // A shell expands `$(…)` between double quotes, even if single quotes surround it
            // there.
            Some(Filter::ShellWord) if self.is_within || self.is_within_double => format!(
                "`shellWord` adds its own quotes, and these close the surrounding ones: write {} without \
                 quotes around it",
                place(source, filters)
            ),
            Some(Filter::ShellWord) if self.reread_by.is_some() => format!(
                "{} reads a query in this position as code, even in quotes: pass the query as an argument, \
                 for example `sh -c 'grep \"$1\" notes' sh {}`",
                self.reread_by.as_deref().unwrap_or_default(),
                place(source, filters)
            ),
            _ if self.is_within && self.role == ArgumentRole::Command => format!(
                "a query could close these quotes: write {} without quotes around it, or '{}' if any string \
                 is safe here",
                with(Filter::ShellWord),
                with(Filter::Raw)
            ),
            _ if self.is_within => format!(
                "a query could close these quotes: write '{}', or '{}' if this is not SQL",
                with(Filter::SqlString),
                with(Filter::Raw)
            ),
            Some(last) if self.role.is_safe_with(*last) => return None,
            None if self.role == ArgumentRole::Text && self.is_alone => return None,
            _ => {
                let role = self.role;
                let fits: Vec<_> =
                    role.filters().iter().map(|it| format!("`{}`", with(*it))).collect();
                format!(
                    "a query could change the meaning of {}: write {}, or `{}` if any string is safe here",
                    role.name(),
                    fits.join(" or "),
                    with(Filter::Raw),
                )
            }
        })
    }
}

/// The role of an argument for the tool, inferred from its name and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ArgumentRole {
    /// Code to be executed.
    Command,
    Url,
    Path,
    Text,
}

impl ArgumentRole {
    pub(super) fn of(name: &str, segments: &[Segment]) -> Self {
        const COMMANDS: [&str; 12] = [
            "bash",
            "cmd",
            "code",
            "command",
            "commandline",
            "executable",
            "exec",
            "program",
            "script",
            "shell",
            "sql",
            "statement",
        ];
        const URLS: [&str; 6] = ["endpoint", "href", "link", "uri", "url", "urn"];
        const PATHS: [&str; 11] = [
            "cwd",
            "dir",
            "directory",
            "file",
            "filename",
            "filepath",
            "folder",
            "path",
            "pathname",
            "root",
            "workdir",
        ];
        let has_scheme = segments
            .iter()
            .any(|segment| matches!(segment, Segment::Literal(text) if text.contains("://")));
        let words = discover::words(name);
        // The last word decides, as in `repo_path`, `urls` and `fileName`, but not in
        // `file_pattern`.
        let mut words = words.iter().rev().map(|word| word.strip_suffix('s').unwrap_or(word));
        let word = words.next().map(|last| if last == "name" { words.next() } else { Some(last) });
        let word = word.flatten().unwrap_or_default();
        match word {
            _ if COMMANDS.contains(&word) => Self::Command,
            _ if has_scheme || URLS.contains(&word) => Self::Url,
            _ if PATHS.contains(&word) => Self::Path,
            _ => Self::Text,
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Command => "this command",
            Self::Url => "this URL",
            Self::Path => "this path",
            Self::Text => "the surrounding string",
        }
    }

    /// Returns the filters to suggest.
    pub(super) const fn filters(self) -> &'static [Filter] {
        match self {
            Self::Command => &[Filter::ShellWord],
            Self::Url => &[Filter::PathSegment],
            Self::Path => &[Filter::PathSegment, Filter::Glob],
            Self::Text => &[Filter::PathSegment, Filter::ShellWord, Filter::Regex],
        }
    }

    /// Returns `true` if a value cannot escape its context after this filter was applied last.
    pub(super) fn is_safe_with(self, last: Filter) -> bool {
        self == Self::Text || self.filters().contains(&last)
    }
}
