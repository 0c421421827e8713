//! Renders the report in Markdown for code hosts.

use std::fmt::Write as _;

use serde_json::Value;

use super::causes::{Cause, FoundCheck};
use super::show::OUTSIDE_RUN;
use super::value_text::{counted, line, parts, shown};
use super::{Report, Summary, Verdict};

/// Maximum length of a shown value, in bytes.
const MAX_VALUE_BYTES: usize = 1500;
/// Maximum number of entries in a list.
const MAX_LINES: usize = 50;

impl Report {
    /// Renders Markdown that you can use as the summary of a CI job, a comment or an issue.
    pub fn markdown(&self) -> String {
        let mut out = String::new();
        let name = format!("{} {}", self.implementation, self.version);
        let _ = writeln!(out, "# Conformance of {}\n", plain(&name));
        let _ = writeln!(out, "**{}**\n", plain(&self.headline()));
        let _ = writeln!(
            out,
            "{}, tested through {}.",
            plain(&self.circumstances()),
            code(&self.target)
        );
        for remark in self.remarks() {
            let _ = writeln!(out, "{}.", plain(&remark));
        }
        markdown_list("Left behind in the adapter", &self.left_behind, &mut out);
        let found = self.found();
        for (verdict, heading) in [(Verdict::Fail, "Failed"), (Verdict::Warn, "Warnings")] {
            let mut found = found.iter().filter(|it| it.check.verdict == verdict).peekable();
            if found.peek().is_some() {
                let _ = writeln!(out, "\n## {heading}");
            }
            found.for_each(|found| markdown_of_check(found, &mut out));
        }
        self.markdown_of_accepted(&mut out);
        self.markdown_of_summary(&mut out);
        self.markdown_of_left_out(&mut out);
        markdown_list("Excluded by the configuration", &self.left_out, &mut out);
        markdown_list(OUTSIDE_RUN, &self.outside_run, &mut out);
        self.markdown_of_missing(&mut out);
        out
    }

    fn markdown_of_summary(&self, out: &mut String) {
        if self.tested().is_empty() {
            return;
        }
        out.push_str(
            "\n## Summary by area\n\n\
             | area | passed | failed | warnings | not exercised | blocked | not applicable |\n\
             |---|--:|--:|--:|--:|--:|--:|\n",
        );
        for category in self.tested() {
            let Summary { passed, failed, warnings, skipped, blocked, not_applicable, .. } =
                Summary::of(&category.checks);
            let name = plain(&category.name);
            let counts = [passed, failed, warnings, skipped, blocked, not_applicable];
            let counts = counts.map(|count| match count {
                0 => String::new(),
                count => count.to_string(),
            });
            let _ = writeln!(out, "| {name} | {} |", counts.join(" | "));
        }
    }

    fn markdown_of_accepted(&self, out: &mut String) {
        let mut accepted = Vec::new();
        for FoundCheck { check, causes, .. } in self.accepted() {
            for Cause { finding, .. } in causes {
                let why = finding.accepted.as_deref().filter(|why| !why.is_empty());
                let why = why.map(|why| format!(": {why}")).unwrap_or_default();
                let cases = counted(finding.count, "case");
                accepted.push(format!("{}, {}, {cases}{why}", check.id, finding.subject));
            }
        }
        markdown_list("Accepted by the baseline", &accepted, out);
        let gone = self.no_longer_found.iter().map(|it| format!("{}, {}", it.check, it.subject));
        markdown_list(
            "Accepted by the baseline, but no longer found",
            &gone.collect::<Vec<_>>(),
            out,
        );
    }

    fn markdown_of_left_out(&self, out: &mut String) {
        let left_out = self.not_tested();
        if !left_out.is_empty() {
            out.push_str("\n## Not exercised\n\n");
        }
        for (why, what) in left_out {
            let checks: Vec<_> = what.checks.iter().map(|check| code(check)).collect();
            let in_part = match what.in_part.len() {
                0 => None,
                count => Some(format!("{} in part", counted(count, "check"))),
            };
            let checks: Vec<_> = checks.into_iter().chain(in_part).collect();
            let _ = writeln!(out, "- {}: {}", prose(&why), checks.join(", "));
        }
        let not_applicable = self.not_applicable();
        if !not_applicable.is_empty() {
            out.push_str("\n## Not applicable\n\n");
        }
        for (why, checks) in not_applicable {
            let checks: Vec<_> = checks.into_iter().map(code).collect();
            let _ = writeln!(out, "- {}: {}", prose(&why), checks.join(", "));
        }
    }

    fn markdown_of_missing(&self, out: &mut String) {
        let (Some(level), missing) = (self.next_level(), self.missing()) else { return };
        if missing.is_empty() {
            return;
        }
        let _ = writeln!(out, "\n## What blocks level {level}\n");
        for missing in missing {
            let checks: Vec<_> = missing.checks.iter().map(|check| code(check)).collect();
            let _ = match checks.len() {
                0 => writeln!(out, "- {}", prose(&missing.what)),
                count => writeln!(
                    out,
                    "- {} {}: {}",
                    counted(count, "check"),
                    prose(&missing.what),
                    checks.join(", ")
                ),
            };
        }
    }
}

/// Renders a heading and a list, if the list has entries.
fn markdown_list(heading: &str, lines: &[String], out: &mut String) {
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n## {heading}\n");
    for named in lines.iter().take(MAX_LINES) {
        let _ = writeln!(out, "- {}", prose(named));
    }
    let more = lines.len().saturating_sub(MAX_LINES);
    if more > 0 {
        let _ = writeln!(out, "- … and {more} more");
    }
}

fn markdown_of_check(found: &FoundCheck<'_>, out: &mut String) {
    let FoundCheck { check, causes, blocks } = found;
    let _ = writeln!(out, "\n### {}\n", code(&check.id));
    let strength = plain(&format!("{}, level {}", check.keyword, check.level));
    let _ = writeln!(out, "{}. {}: {strength}.\n", prose(&check.title), check.tally());
    let known: Vec<_> = check.sources().collect();
    for source in &known {
        // The table of requirements is part of the runner, so its links need no escaping.
        let _ = writeln!(out, "- [{}]({}): {source}", source.id, source.url());
    }
    for id in check.requirements.iter().filter(|id| !known.iter().any(|it| it.id == **id)) {
        let _ = writeln!(out, "- {}", plain(id));
    }
    if !blocks.is_empty() {
        let count = counted(blocks.len(), "check");
        let _ = writeln!(out, "- {count} could not be tested because of this");
    }
    for cause in causes {
        markdown_of_finding(cause, out);
    }
    if let Some(more) = check.unrecorded_note() {
        let _ = writeln!(out, "\n{more}");
    }
}

fn markdown_of_finding(cause: &Cause<'_>, out: &mut String) {
    let Cause { finding, also, .. } = cause;
    let others = finding.others().map(|others| format!(", {others}")).unwrap_or_default();
    let modes = plain(&finding.in_modes());
    let _ = writeln!(out, "\n**{}**{modes}{}\n", code(&finding.subject), plain(&others));
    for (check, finding) in also {
        let cases = counted(finding.count, "case");
        let _ = writeln!(out, "- also found by {} ({cases})", code(&check.id));
    }
    for difference in &finding.differences {
        let _ = writeln!(out, "- differs: {}", prose(&difference.sentence()));
    }
    if let Some(expected) = finding.expected_beside_differences() {
        let _ = writeln!(out, "- expected: {}", prose(expected));
    }
    let _ = writeln!(out, "- fix: {}", prose(&finding.fix));
    if !finding.repeat.is_empty() {
        let _ = writeln!(out, "- repeat: {}", code(&finding.repeat));
    }
    if !finding.sent.is_null() {
        let _ = writeln!(out, "\nsent:\n\n{}", block(&finding.sent));
    }
    let _ = writeln!(out, "\nreceived:\n\n{}", block(&finding.received));
}

/// Escapes a string: no markup, no HTML, no links, no mentions.
pub(super) fn plain(text: &str) -> String {
    let mut escaped = String::new();
    let text = line(text);
    let mut before = ' ';
    for each in text.chars() {
        match each {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '#' | '|' | '~' | '!' | '$' => {
                escaped.push('\\');
                escaped.push(each);
            }
            // Code hosts link bare URLs and names after an @. An empty comment prevents that invisibly.
            '@' => escaped.push_str("@<!-- -->"),
            '/' if before == ':' => escaped.push_str("<!-- -->/"),
            '.' if matches!(before, 'w' | 'W') => escaped.push_str("<!-- -->."),
            _ => escaped.push(each),
        }
        before = each;
    }
    escaped
}

/// Renders a sentence that contains code in backticks.
pub(super) fn prose(sentence: &str) -> String {
    parts(sentence)
        .into_iter()
        .map(|(is_code, part)| if is_code { code(&part) } else { plain(&part) })
        .collect()
}

/// Renders inline code. The delimiter has more backticks than the code, because backticks cannot be escaped there.
pub(super) fn code(text: &str) -> String {
    let text = line(text);
    let fence = "`".repeat(longest_run(&text) + 1);
    let space =
        if text.starts_with('`') || text.ends_with('`') || text.is_empty() { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

/// Renders a value as a code block.
fn block(value: &Value) -> String {
    let shown = shown(value, MAX_VALUE_BYTES);
    let fence = "`".repeat(longest_run(&shown.text).max(2) + 1);
    let note = shown.note().map(|note| format!("\n{note}")).unwrap_or_default();
    format!("{fence}json\n{}{note}\n{fence}", shown.text)
}

fn longest_run(text: &str) -> usize {
    let (mut longest, mut run) = (0, 0);
    for each in text.chars() {
        run = if each == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}
