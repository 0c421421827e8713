//! Counts phrases that plain technical English avoids, in comments and Markdown.

use std::path::Path;

use regex::Regex;

/// The lines that a rule examines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// Comments and Markdown. The rate is relative to their lines.
    Prose,
    /// Comments. The rate is relative to their lines.
    Comments,
    /// The first words of comments. The rate is relative to the lines of comments.
    FirstWords,
}

/// The accepted number of occurrences per 1,000 lines.
#[derive(Clone, Copy)]
pub enum Limit {
    /// The phrase is avoided.
    AtMost(f64),
    /// The phrase helps readers.
    AtLeast(f64),
}

use Limit::{AtLeast, AtMost};
use Scope::{Comments, FirstWords, Prose};

/// The phrases to count: title, pattern, scope and limit.
/// If you add a rule, set its limit to `AtMost(0.0)` first: `mcp-aql-structure 5` then shows you what it counts.
const RULES: [(&str, &str, Scope, Limit); 14] = [
    (
        "comments that start without a subject",
        r"^(What|Whoever|That|So (many|much|long|far)|Of (its|the|what|this|these|a)|Where (it|what|the)|It)\b",
        FirstWords,
        AtMost(1.0),
    ),
    ("tell", r"(?i)\b(tell|tells|told|telling)\b", Prose, AtMost(1.0)),
    ("nobody, somebody", r"(?i)\b(nobody|somebody|everybody|anybody)\b", Prose, AtMost(1.0)),
    ("whoever, whatever", r"(?i)\b(whoever|whatever|whichever)\b", Prose, AtMost(1.0)),
    (
        IS_NO,
        r"(?i)\b(is|are|was|were|be) (no|none)\b( (longer|more|later|less|other))?",
        Prose,
        AtMost(3.0),
    ),
    ("so many, so much", r"(?i)\bso (many|much)\b", Prose, AtMost(1.0)),
    // The following limits are those of `axum`, doubled, with an allowance of two for terms of the protocol.
    ("text, for a string or a body", r"(?i)\btexts?\b", Comments, AtMost(12.0)),
    (
        "that is, that has, that may",
        r"(?i)\bthat (is|are|has|have|was|were|may|can|must)\b",
        Comments,
        AtMost(14.0),
    ),
    ("opening Whether", r"^Whether\b", FirstWords, AtMost(2.0)),
    (", which", r"(?i), which\b", Comments, AtMost(6.0)),
    (
        "place, fault, refuse, beside",
        r"(?i)\b(places?|faults?|refuse[sd]?|beside|as far as)\b",
        Comments,
        AtMost(4.0),
    ),
    ("you", r"(?i)\byou(r)?\b", Comments, AtLeast(12.5)),
    ("examples in words", r"(?i)\b(for example|e\.g\.|such as)", Comments, AtLeast(4.0)),
    ("lines that open or close a code block", r"^```", Comments, AtLeast(36.5)),
];

const IS_NO: &str = "is no X";

/// The occurrences of a phrase.
pub struct Phrase {
    /// The name of the rule.
    pub title: &'static str,
    /// Accepted number per 1,000 lines.
    pub limit: Limit,
    /// The file, the line number and the line of each occurrence.
    pub locations: Vec<String>,
    /// Number of occurrences per 1,000 lines.
    pub rate: f64,
}

/// Counts all phrases in the files.
///
/// # Panics
///
/// Panics if a pattern is not a regular expression.
#[expect(clippy::expect_used, reason = "an invalid pattern would find nothing")]
pub fn count<'a>(files: impl Iterator<Item = &'a Path>, workspace: &Path) -> Vec<Phrase> {
    let compiled = |(_, pattern, ..): &(_, &str, _, _)| Regex::new(pattern);
    let patterns: Result<Vec<_>, _> = RULES.iter().map(compiled).collect();
    let patterns = patterns.expect("the patterns are valid");
    let mut locations = vec![Vec::new(); RULES.len()];
    let (mut lines, mut comments) = (0_u32, 0_u32);
    for file in files {
        let Ok(text) = std::fs::read_to_string(workspace.join(file)) else { continue };
        let is_rust = file.extension().is_some_and(|extension| extension == "rs");
        let mut opens = true;
        for (number, line) in text.lines().enumerate() {
            let prose = if is_rust { comment(line) } else { Some(line) };
            let Some(prose) = prose.filter(|prose| !prose.trim().is_empty()) else {
                opens = true;
                continue;
            };
            lines += 1;
            comments += u32::from(is_rust);
            for (((title, _, scope, _), pattern), locations) in
                RULES.iter().zip(&patterns).zip(&mut locations)
            {
                let applies = match scope {
                    Prose => true,
                    Comments => is_rust,
                    FirstWords => is_rust && opens,
                };
                let accepted =
                    |found: &regex::Captures<'_>| *title == IS_NO && found.get(3).is_some();
                let mut found = pattern.captures_iter(prose);
                if applies && found.any(|found| !accepted(&found)) {
                    locations.push(format!("{}:{}: {}", file.display(), number + 1, prose.trim()));
                }
            }
            opens = prose.trim_end().ends_with(['.', ':', '?']);
        }
    }
    let phrase =
        |((title, _, scope, limit), locations): ((&'static str, _, Scope, Limit), Vec<String>)| {
            let lines = if scope == Prose { lines } else { comments };
            let rate = f64::from(u32::try_from(locations.len()).unwrap_or(u32::MAX));
            Phrase { title, limit, rate: rate * 1_000.0 / f64::from(lines.max(1)), locations }
        };
    RULES.into_iter().zip(locations).map(phrase).collect()
}

/// Returns the content of a comment, if the line contains nothing else.
fn comment(line: &str) -> Option<&str> {
    let line = line.trim_start();
    ["///", "//!", "//"]
        .into_iter()
        .find_map(|start| line.strip_prefix(start))
        .map(|text| text.strip_prefix(' ').unwrap_or(text))
}

/// Returns the constants named with a superlative or a metaphor instead of `MAX_…` or `DEFAULT_…`.
///
/// # Panics
///
/// Panics if the pattern is not a regular expression.
#[expect(clippy::expect_used, reason = "an invalid pattern would find nothing")]
pub fn constants<'a>(files: impl Iterator<Item = &'a Path>, workspace: &Path) -> Vec<String> {
    const PATTERN: &str = r"\bconst (MOST|LONGEST|DEEPEST|LEAST|SHORTEST|PATIENCE|GOOD_BYE|PACE|BEAT|SOON|BY_FORCE|TO_HEAR|A_WHILE|SETTLED|SHOWN|WATCHED)_?\w*\s*:";
    let pattern = Regex::new(PATTERN).expect("the pattern is valid");
    let mut found = Vec::new();
    for file in files.filter(|file| file.extension().is_some_and(|end| end == "rs")) {
        let Ok(text) = std::fs::read_to_string(workspace.join(file)) else { continue };
        for (number, line) in text.lines().enumerate() {
            if pattern.is_match(line) {
                found.push(format!("{}:{}: {}", file.display(), number + 1, line.trim()));
            }
        }
    }
    found
}
