//! Counts of phrases that plain technical English avoids, in comments and Markdown.

use std::path::Path;

use regex::Regex;

/// A phrase to count.
struct Rule {
    title: &'static str,
    pattern: &'static str,
    /// Whether the pattern applies only to the first words of a comment.
    opens_comment: bool,
    /// The accepted number of occurrences per 1,000 lines of prose.
    limit: f64,
}

const RULES: [Rule; 6] = [
    Rule {
        title: "comments that start without a subject",
        pattern: r"^(What|Whoever|That|So (many|much|long|far)|Of (its|the|what|this|these|a)|Where (it|what|the)|It)\b",
        opens_comment: true,
        limit: 2.0,
    },
    Rule {
        title: "tell",
        pattern: r"(?i)\b(tell|tells|told|telling)\b",
        opens_comment: false,
        limit: 2.0,
    },
    Rule {
        title: "nobody, somebody",
        pattern: r"(?i)\b(nobody|somebody|everybody|anybody)\b",
        opens_comment: false,
        limit: 2.0,
    },
    Rule {
        title: "whoever, whatever",
        pattern: r"(?i)\b(whoever|whatever|whichever)\b",
        opens_comment: false,
        limit: 2.0,
    },
    Rule {
        title: "is no X",
        pattern: r"(?i)\b(is|are|was|were|be) (no|none)\b( (longer|more|later|less|other))?",
        opens_comment: false,
        limit: 4.0,
    },
    Rule {
        title: "so many, so much",
        pattern: r"(?i)\bso (many|much)\b",
        opens_comment: false,
        limit: 2.0,
    },
];

/// The occurrences of one phrase.
pub struct Phrase {
    /// The name of the rule.
    pub title: &'static str,
    /// The accepted number per 1,000 lines of prose.
    pub limit: f64,
    /// File, line and text of each occurrence.
    pub places: Vec<String>,
    /// Returns the occurrences per 1,000 lines of prose.
    pub rate: f64,
}

/// Counts every phrase in the files.
pub fn count<'a>(files: impl Iterator<Item = &'a Path>, workspace: &Path) -> Vec<Phrase> {
    let rules: Vec<(Rule, Regex)> = RULES
        .into_iter()
        .filter_map(|rule| Regex::new(rule.pattern).ok().map(|pattern| (rule, pattern)))
        .collect();
    let mut places = vec![Vec::new(); rules.len()];
    let mut lines = 0_u32;
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
            for ((rule, pattern), places) in rules.iter().zip(&mut places) {
                if rule.opens_comment && !(opens && is_rust) {
                    continue;
                }
                let accepted =
                    |found: regex::Captures<'_>| rule.title == "is no X" && found.get(3).is_some();
                if pattern.captures(prose).is_some_and(|found| !accepted(found)) {
                    places.push(format!("{}:{}: {}", file.display(), number + 1, prose.trim()));
                }
            }
            opens = prose.trim_end().ends_with(['.', ':', '?']);
        }
    }
    let thousands = f64::from(lines.max(1)) / 1_000.0;
    let phrase = |((rule, _), places): ((Rule, Regex), Vec<String>)| {
        let rate = f64::from(u32::try_from(places.len()).unwrap_or(u32::MAX)) / thousands;
        Phrase { title: rule.title, limit: rule.limit, places, rate }
    };
    rules.into_iter().zip(places).map(phrase).collect()
}

/// Returns the text of a line that contains only a comment.
fn comment(line: &str) -> Option<&str> {
    let line = line.trim_start();
    ["///", "//!", "//"]
        .into_iter()
        .find_map(|start| line.strip_prefix(start))
        .map(|text| text.strip_prefix(' ').unwrap_or(text))
}

/// Returns the constants whose names are superlatives or metaphors instead of `MAX_`, `DEFAULT_` and a noun.
pub fn constants<'a>(files: impl Iterator<Item = &'a Path>, workspace: &Path) -> Vec<String> {
    const PATTERN: &str = r"\bconst (MOST|LONGEST|DEEPEST|LEAST|SHORTEST|PATIENCE|GOOD_BYE|PACE|BEAT|SOON|BY_FORCE|TO_HEAR|A_WHILE|SETTLED|SHOWN|WATCHED)_?\w*\s*:";
    let Ok(pattern) = Regex::new(PATTERN) else { return Vec::new() };
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
