//! The report in Markdown for code hosts.

use std::fmt::Write as _;

use serde_json::Value;

use super::value_text::{counted, line, parts, shown};
use super::{CheckReport, Report, Summary, Verdict};
use crate::cases::Finding;

/// The maximum length of a shown value, in bytes.
const MAX_VALUE_BYTES: usize = 1500;

impl Report {
    /// Renders Markdown for the summary of a CI job, a comment or an issue.
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
        if !self.tested().is_empty() {
            out.push_str(
                "\n| category | passed | failed | warnings | not tested | blocked | not applicable |\n",
            );
            out.push_str("|---|--:|--:|--:|--:|--:|--:|\n");
        }
        for category in self.tested() {
            let Summary { passed, failed, warnings, skipped, blocked, not_applicable, .. } =
                Summary::of(&category.checks);
            let name = plain(&category.name);
            let counts = [passed, failed, warnings, skipped, blocked, not_applicable].map(
                |count| match count {
                    0 => String::new(),
                    count => count.to_string(),
                },
            );
            let _ = writeln!(out, "| {name} | {} |", counts.join(" | "));
        }
        for (verdict, heading) in [(Verdict::Fail, "Failed"), (Verdict::Warn, "Warnings")] {
            let mut found = self.found().filter(|check| check.verdict == verdict).peekable();
            if found.peek().is_some() {
                let _ = writeln!(out, "\n## {heading}");
            }
            found.for_each(|check| markdown_of_check(check, &mut out));
        }
        self.markdown_of_blocked(&mut out);
        self.markdown_of_left_out(&mut out);
        for (heading, lines) in self.named() {
            let _ = writeln!(out, "\n## {heading}\n");
            for named in lines {
                let _ = writeln!(out, "- {}", prose(named));
            }
        }
        self.markdown_of_missing(&mut out);
        out
    }

    fn markdown_of_blocked(&self, out: &mut String) {
        let blocked = self.blocked();
        if !blocked.is_empty() {
            out.push_str("\n## Blocked\n\n");
        }
        for ((cause, why), checks) in blocked {
            let count = counted(checks.len(), "check");
            let checks: Vec<_> = checks.into_iter().map(code).collect();
            let _ = writeln!(
                out,
                "- {} blocks {count} ({}): {}",
                code(cause),
                prose(why),
                checks.join(", ")
            );
        }
    }

    fn markdown_of_left_out(&self, out: &mut String) {
        let left_out = self.not_tested();
        if !left_out.is_empty() {
            out.push_str("\n## Not tested\n\n");
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
        let not_applicable: Vec<_> = self
            .checks()
            .filter_map(|check| Some((check, check.not_applicable.as_deref()?)))
            .collect();
        if !not_applicable.is_empty() {
            out.push_str("\n## Not applicable\n\n");
        }
        for (check, why) in not_applicable {
            let _ = writeln!(out, "- {}: {}", code(&check.id), prose(why));
        }
    }

    fn markdown_of_missing(&self, out: &mut String) {
        let (Some(level), missing) = (self.next_level(), self.missing()) else { return };
        if missing.is_empty() {
            return;
        }
        let _ = writeln!(out, "\n## What keeps level {level} away\n");
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

fn markdown_of_check(check: &CheckReport, out: &mut String) {
    let _ = writeln!(out, "\n### {}\n", code(&check.id));
    let blocks = check.blocks_note().map(|note| format!("; {note}")).unwrap_or_default();
    let (title, source, tally) = (prose(&check.title), plain(&check.source()), check.tally());
    let _ = writeln!(out, "{title}. {source}: {tally}{blocks}.");
    for (finding, modes) in check.merged_findings() {
        markdown_of_finding(finding, &modes, out);
    }
    if let Some(more) = check.omitted_note() {
        let _ = writeln!(out, "\n{more}");
    }
}

fn markdown_of_finding(finding: &Finding, modes: &str, out: &mut String) {
    let _ = writeln!(out, "\n**{}**{}\n", code(&finding.subject), plain(modes));
    let _ = writeln!(out, "- expected: {}", prose(&finding.expected));
    let _ = writeln!(out, "- mend: {}", prose(&finding.mend));
    if !finding.sent.is_null() {
        let _ = writeln!(out, "\nsent:\n\n{}", block(&finding.sent));
    }
    let _ = writeln!(out, "\nreceived:\n\n{}", block(&finding.received));
}

/// Escapes text: no markup, no HTML, no links, no mentions.
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

/// Renders a sentence with code in it.
pub(super) fn prose(sentence: &str) -> String {
    parts(sentence)
        .into_iter()
        .map(|(is_code, part)| if is_code { code(&part) } else { plain(&part) })
        .collect()
}

/// Renders inline code between more backticks than it contains, because backticks cannot be escaped there.
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
