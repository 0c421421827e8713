//! Splits the output of file search programs: lines `path:12:line`, and lists of paths.

use std::borrow::Cow;
use std::collections::BTreeSet;

/// Maximum distance between lines of one file that form one item.
const MAX_LINE_DISTANCE: u64 = 3;
/// Maximum number of lines in one item.
const MAX_GROUP_LINES: usize = 40;
/// Maximum length of a path in bytes.
const MAX_PATH_BYTES: usize = 1000;

/// Splits the output of a file search into items. Returns `None` if the string is not such an output.
pub(super) fn found(text: &str) -> Option<Vec<Cow<'_, str>>> {
    matches(text).or_else(|| paths(text))
}

/// The kind of a line in the output of a file search.
enum GrepLine<'t> {
    /// A match in line `number` of the file `path`.
    Hit {
        path: &'t str,
        number: u64,
    },
    /// A line of context near a match.
    Near,
    /// An empty line or `--`. Both separate groups.
    Gap,
    Other,
}

/// Parses `path:12:line` or `path:12:7:line`.
fn hit(line: &str) -> Option<GrepLine<'_>> {
    // The drive letter in `C:\path:12:` is followed by a colon, too.
    let is_drive = line.get(..3).is_some_and(|start| {
        start.ends_with(":\\") && start.starts_with(|first: char| first.is_ascii_alphabetic())
    });
    let from = if is_drive { 2 } else { 0 };
    let colon = from + line.get(from..)?.find(':')?;
    let (path, rest) = (line.get(..colon)?, line.get(colon + 1..)?);
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let number = rest.get(..digits)?.parse().ok()?;
    // A time of day has a similar form.
    let is_named = path.contains(['/', '\\', '.'])
        || (path.starts_with(char::is_alphabetic) && path.chars().all(char::is_alphabetic));
    let is_path = is_named && path.len() <= MAX_PATH_BYTES && path.trim() == path;
    (is_path && rest.get(digits..)?.starts_with(':')).then_some(GrepLine::Hit { path, number })
}

/// Returns `true` if a line is `path-12-line` with the path of a match.
fn is_near(line: &str, paths: &BTreeSet<&str>) -> bool {
    line.match_indices('-').any(|(at, _)| {
        line.get(..at).is_some_and(|path| paths.contains(path))
            && line.get(at + 1..).is_some_and(|rest| {
                let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
                digits > 0 && rest.get(digits..).is_some_and(|rest| rest.starts_with('-'))
            })
    })
}

/// Groups neighboring lines of the same file into items. This output makes two items:
///
/// ```text
/// src/a.rs:10:fn main() {
/// src/a.rs-11-    run();
/// src/a.rs:12:}
/// --
/// src/b.rs:3:mod a;
/// ```
fn matches<'t>(text: &'t str) -> Option<Vec<Cow<'t, str>>> {
    let paths: BTreeSet<&str> = text
        .lines()
        .filter_map(|line| match hit(line) {
            Some(GrepLine::Hit { path, .. }) => Some(path),
            _ => None,
        })
        .collect();
    if paths.is_empty() {
        return None;
    }
    let judge = |line: &'t str| match hit(line) {
        Some(hit) => hit,
        None if line.trim().is_empty() || line == "--" => GrepLine::Gap,
        None if line.len() <= MAX_PATH_BYTES && is_near(line, &paths) => GrepLine::Near,
        None => GrepLine::Other,
    };
    let (mut ours, mut others) = (0_usize, 0_usize);
    for line in text.lines() {
        match judge(line) {
            GrepLine::Hit { .. } | GrepLine::Near => ours += 1,
            GrepLine::Other => others += 1,
            GrepLine::Gap => {}
        }
    }
    // A line such as "Found 3 matches" may come before the matches, and a hint after them.
    let are_few = others * 4 <= ours || (others <= 2 && others < ours);
    if !are_few {
        return None;
    }
    let mut groups: Vec<LineGroup<'t>> = Vec::new();
    let mut is_elsewhere = true;
    for line in text.lines() {
        match judge(line) {
            GrepLine::Gap => is_elsewhere = true,
            GrepLine::Other => {}
            GrepLine::Near => {
                LineGroup::put(&mut groups, line, |_| !is_elsewhere);
                is_elsewhere = false;
            }
            GrepLine::Hit { path, number } => {
                let group = LineGroup::put(&mut groups, line, |last| {
                    last.hit.map_or(!is_elsewhere, |(before, at)| {
                        path == before && number.abs_diff(at) <= MAX_LINE_DISTANCE
                    })
                });
                if let Some(group) = group {
                    group.hit = Some((path, number));
                }
                is_elsewhere = false;
            }
        }
    }
    // Context lines without a near match belong to the previous match.
    Some(groups.iter().map(|group| Cow::Owned(group.text())).collect())
}

/// Lines that form one item.
struct LineGroup<'t> {
    hit: Option<(&'t str, u64)>,
    lines: Vec<&'t str>,
}

impl<'t> LineGroup<'t> {
    /// Joins the lines. Only the first one keeps its path, because the repetition would be hard to
    /// read and would inflate the counts of its words in the ranking.
    fn text(&self) -> String {
        let path = self.hit.map_or("", |(path, _)| path);
        let short = |line: &&'t str| {
            let rest = line.strip_prefix(path).filter(|_| !path.is_empty());
            rest.and_then(|rest| rest.strip_prefix([':', '-'])).unwrap_or(line).to_owned()
        };
        let first = self.lines.first().map(|line| (*line).to_owned());
        let rest = self.lines.iter().skip(1).map(short);
        first.into_iter().chain(rest).collect::<Vec<_>>().join("\n")
    }

    /// Appends a line to the last group if it belongs there, and otherwise to a new one.
    fn put<'g>(
        groups: &'g mut Vec<Self>,
        line: &'t str,
        belongs: impl Fn(&Self) -> bool,
    ) -> Option<&'g mut Self> {
        let is_last =
            groups.last().is_some_and(|it| it.lines.len() < MAX_GROUP_LINES && belongs(it));
        if !is_last {
            groups.push(LineGroup { hit: None, lines: Vec::new() });
        }
        let last = groups.last_mut()?;
        last.lines.push(line);
        Some(last)
    }
}

/// Splits a list of paths into items. Returns `None` if the string is not such a list.
fn paths(text: &str) -> Option<Vec<Cow<'_, str>>> {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let (all, paths) = (lines().count(), lines().filter(|line| is_path(line)).count());
    // A line of prose may come before the list.
    if paths == 0 || all - paths > 1 + all / 10 || (paths == 1 && all > 1) {
        return None;
    }
    Some(lines().filter(|line| is_path(line)).map(Cow::Borrowed).collect())
}

fn is_path(line: &str) -> bool {
    let line = line.strip_prefix("- ").unwrap_or(line);
    let is_windows = line.get(1..3).is_some_and(|it| it == ":\\");
    let is_rooted = line.starts_with('/') || line.starts_with("./") || is_windows;
    let has_folder = line.contains('/') && !line.contains("://");
    line.len() <= MAX_PATH_BYTES
        // A file name contains few spaces; a sentence contains more.
        && if is_rooted { line.split(' ').count() <= 5 } else { has_folder && !line.contains(char::is_whitespace) }
}
