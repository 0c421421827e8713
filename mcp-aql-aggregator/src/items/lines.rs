//! Lines of programs that search files: `path:12:text`, and lists of paths.

use std::borrow::Cow;

/// So far apart, lines of one file belong together.
const NEAR: u64 = 3;
/// So many lines make one item at most.
const MOST_LINES: usize = 40;

/// The items of such lines, if most lines are.
pub(super) fn found(text: &str) -> Option<Vec<Cow<'_, str>>> {
    matches(text).or_else(|| paths(text))
}

/// A line of a file that was found.
struct Hit<'t> {
    path: &'t str,
    line: u64,
}

/// `path:12:text` or `path:12:7:text`.
fn hit(line: &str) -> Option<Hit<'_>> {
    const LONGEST: usize = 1000;
    // `C:\path:12:` has a colon before.
    let drive = line.get(..2).is_some_and(|start| {
        start.ends_with(':') && start.starts_with(|first: char| first.is_ascii_alphabetic())
    });
    let from = if drive { 2 } else { 0 };
    let at = from + line.get(from..)?.find(':')?;
    let (path, rest) = (line.get(..at)?, line.get(at + 1..)?);
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let number = rest.get(..digits)?.parse().ok()?;
    let goes_on = rest.get(digits..)?.starts_with(':');
    let is_path = !path.is_empty()
        && path.len() <= LONGEST
        && path.trim() == path
        && (path.contains(['/', '\\', '.']) || !path.contains(' '))
        && !path.contains("://");
    (goes_on && is_path).then_some(Hit { path, line: number })
}

/// Lines of files, those that are near one another together.
fn matches(text: &str) -> Option<Vec<Cow<'_, str>>> {
    let (mut hits, mut others) = (0_usize, 0_usize);
    for line in text.lines().filter(|line| !line.trim().is_empty() && *line != "--") {
        if hit(line).is_some() {
            hits += 1;
        } else {
            others += 1;
        }
    }
    // With lines around them, there are more of those.
    let is_such = hits >= 1 && (others == 0 || hits * 2 >= others) && hits + others >= 1;
    let first = text.lines().find(|line| !line.trim().is_empty())?;
    if !is_such || (hits < 2 && hit(first).is_none()) || (others > hits && !text.contains("\n--\n"))
    {
        return None;
    }
    let mut groups: Vec<(Option<Hit<'_>>, Vec<&str>)> = Vec::new();
    let mut is_new = true;
    for line in text.lines() {
        if line == "--" || line.trim().is_empty() {
            is_new = true;
            continue;
        }
        let found = hit(line);
        let goes_on = match (groups.last(), &found) {
            (Some((_, lines)), _) if lines.len() >= MOST_LINES => false,
            (Some((Some(last), _)), Some(found)) => {
                last.path == found.path && found.line.abs_diff(last.line) <= NEAR
            }
            (Some(_), None) => !is_new,
            (Some((None, _)), Some(_)) => !is_new,
            (None, _) => false,
        };
        match groups.last_mut() {
            Some((last, lines)) if goes_on => {
                lines.push(line);
                if found.is_some() {
                    *last = found;
                }
            }
            _ => groups.push((found, vec![line])),
        }
        is_new = false;
    }
    // What has no line of a file in it is talk: "Found 3 matches".
    groups.retain(|(hit, _)| hit.is_some());
    Some(groups.into_iter().map(|(_, lines)| Cow::Owned(lines.join("\n"))).collect())
}

/// A list of paths, an item each.
fn paths(text: &str) -> Option<Vec<Cow<'_, str>>> {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let paths = lines.iter().filter(|line| is_path(line)).count();
    if paths == 0 || paths * 10 < lines.len() * 8 {
        return None;
    }
    let found = lines.into_iter().filter(|line| is_path(line));
    Some(found.map(Cow::Borrowed).collect())
}

fn is_path(line: &str) -> bool {
    const LONGEST: usize = 1000;
    let line = line.strip_prefix("- ").unwrap_or(line);
    let is_windows = line.get(1..3).is_some_and(|it| it == ":\\");
    line.len() <= LONGEST
        && (line.starts_with('/') || line.starts_with("./") || is_windows || {
            line.contains('/') && !line.contains("://") && !line.contains(char::is_whitespace)
        })
        && !line.contains(". ")
}
