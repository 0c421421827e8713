//! Splits the output of file search programs: lines `path:12:line`, and lists of paths.

use std::borrow::Cow;

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

/// Parses `path:12:line` or `path:12:7:line`.
fn hit(line: &str) -> Option<(&str, u64)> {
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
    (is_path && rest.get(digits..)?.starts_with(':')).then_some((path, number))
}

/// Groups neighboring lines of the same file into items. This output makes two items:
///
/// ```text
/// src/a.rs:10:fn main() {
/// src/a.rs:12:}
/// src/b.rs:3:mod a;
/// ```
fn matches(text: &str) -> Option<Vec<Cow<'_, str>>> {
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let ours = lines().filter(|line| hit(line).is_some()).count();
    let others = lines().count() - ours;
    // A line such as "Found 3 matches" may come before the matches, and a hint after them.
    let are_few = others * 4 <= ours || (others <= 2 && others < ours);
    if ours == 0 || !are_few {
        return None;
    }
    let mut groups: Vec<String> = Vec::new();
    // The file and the number of the last line, and the number of lines in its group.
    let mut last: Option<(&str, u64, usize)> = None;
    for line in lines() {
        let Some((path, number)) = hit(line) else { continue };
        let near = last.filter(|(before, at, length)| {
            path == *before
                && number.abs_diff(*at) <= MAX_LINE_DISTANCE
                && *length < MAX_GROUP_LINES
        });
        match (near, groups.last_mut()) {
            // Only the first line keeps its path, because the repetition would be hard to read and
            // would inflate the counts of its words in the ranking.
            (Some(_), Some(group)) => {
                group.push('\n');
                group.push_str(line.get(path.len() + 1..).unwrap_or(line));
            }
            _ => groups.push(line.to_owned()),
        }
        last = Some((path, number, near.map_or(1, |(.., length)| length + 1)));
    }
    Some(groups.into_iter().map(Cow::Owned).collect())
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
