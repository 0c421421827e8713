//! Renders the report for a terminal.

use std::fmt::Write as _;

use serde_json::Value;

use super::causes::{Cause, FoundCheck};
use super::show::OUTSIDE_RUN;
use super::value_text::{counted, line, shown};
use super::{Report, Summary, Verdict};
use crate::finding::Difference;

/// Maximum length of a shown value, in bytes.
const MAX_VALUE_BYTES: usize = 900;
/// Maximum number of checks named because a part of their cases was not exercised.
const MAX_IN_PART: usize = 4;
/// Maximum number of lines in a list.
const MAX_LINES: usize = 50;

/// ANSI colors, if enabled.
struct Colors(bool);

impl Colors {
    fn with(&self, code: &str, text: &str) -> String {
        if self.0 && !text.is_empty() {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    fn bold(&self, text: &str) -> String {
        self.with("1", text)
    }

    fn dim(&self, text: &str) -> String {
        self.with("2", text)
    }

    fn verdict(&self, verdict: Verdict, text: &str) -> String {
        let code = match verdict {
            Verdict::Pass => "32",
            Verdict::Fail => "1;31",
            Verdict::Warn => "33",
            Verdict::Skip | Verdict::Blocked => "36",
            Verdict::NotApplicable => "2",
        };
        self.with(code, text)
    }
}

impl Report {
    /// Renders the report for a terminal: the verdict, items left behind, every cause, the counts by area, and the
    /// untested checks. Set `colour` if you print to a terminal with ANSI colors.
    pub fn text(&self, colour: bool) -> String {
        let colors = Colors(colour);
        let mut out = String::new();
        if self.is_reached() {
            let name = format!("{} {}", line(&self.implementation), line(&self.version));
            let _ = writeln!(out, "{}  {}", colors.bold(&name), colors.dim(&self.circumstances()));
        }
        let _ = writeln!(out, "{}\n", colors.dim(&line(&self.target)));
        let verdict = match self.exit_code() {
            0 => Verdict::Pass,
            1 => Verdict::Fail,
            _ => Verdict::Warn,
        };
        let _ = writeln!(out, "{}", colors.verdict(verdict, &self.headline()));
        for remark in self.remarks() {
            let _ = writeln!(out, "{}", colors.dim(&remark));
        }
        text_list("Left behind in the adapter", &self.left_behind, &colors, &mut out);
        for found in self.found() {
            text_of_check(&found, &colors, &mut out);
        }
        self.text_of_accepted(&colors, &mut out);
        self.text_of_categories(&colors, &mut out);
        self.text_of_left_out(&colors, &mut out);
        self.text_of_not_applicable(&colors, &mut out);
        text_list("Excluded by the configuration", &self.left_out, &colors, &mut out);
        text_list(OUTSIDE_RUN, &self.outside_run, &colors, &mut out);
        self.text_of_missing(&colors, &mut out);
        out
    }

    fn text_of_accepted(&self, colors: &Colors, out: &mut String) {
        let mut lines = Vec::new();
        for FoundCheck { check, causes, .. } in self.accepted() {
            for Cause { finding, .. } in causes {
                let cases = counted(finding.count, "case");
                let why = finding.accepted.as_deref().filter(|why| !why.is_empty());
                let why = why.map(|why| format!(": {why}")).unwrap_or_default();
                lines.push(format!("{}  {} ({cases}){why}", check.id, finding.subject));
            }
        }
        text_list("Accepted by the baseline", &lines, colors, out);
        let gone = self.no_longer_found.iter().map(|it| format!("{}  {}", it.check, it.subject));
        let gone: Vec<_> = gone.collect();
        text_list("Accepted by the baseline, but no longer found", &gone, colors, out);
    }

    fn text_of_categories(&self, colors: &Colors, out: &mut String) {
        if self.tested().is_empty() {
            return;
        }
        let _ = writeln!(out, "\n{}", colors.bold("Summary by area"));
        let width = self.tested().iter().map(|category| line(&category.name).chars().count());
        let width = width.max().unwrap_or_default();
        for category in self.tested() {
            let summary = Summary::of(&category.checks);
            let counts = summary.counts().map(|(verdict, count)| {
                colors.verdict(verdict, &format!("{count} {}", verdict.said()))
            });
            let counts = counts.collect::<Vec<_>>().join(", ");
            let _ = writeln!(out, "  {:width$}  {counts}", line(&category.name));
        }
    }

    fn text_of_left_out(&self, colors: &Colors, out: &mut String) {
        let left_out = self.not_tested();
        if !left_out.is_empty() {
            let _ = writeln!(out, "\n{}", colors.bold("Not exercised"));
        }
        for (why, what) in left_out {
            let cases = match what.cases {
                0 => String::new(),
                cases => format!(" ({})", counted(cases, "case")),
            };
            let _ = writeln!(out, "  {why}{cases}");
            list(what.checks.iter().copied(), colors, out);
            let more = if what.checks.is_empty() { "" } else { "and " };
            let in_part = match what.in_part.as_slice() {
                [] => continue,
                few if few.len() <= MAX_IN_PART => format!("in part: {}", few.join(", ")),
                many => format!("{} in part", counted(many.len(), "check")),
            };
            let _ = writeln!(out, "    {}", colors.dim(&line(&format!("{more}{in_part}"))));
        }
    }

    /// Renders the features that the adapter lacks, in one line for each area.
    fn text_of_not_applicable(&self, colors: &Colors, out: &mut String) {
        let areas = self.not_applicable_areas();
        if areas.is_empty() {
            return;
        }
        let _ = writeln!(out, "\n{}", colors.bold("Not applicable"));
        let width = areas.iter().map(|area| area.name.chars().count()).max().unwrap_or_default();
        for area in &areas {
            let more = match area.more_reasons {
                0 => String::new(),
                count => format!(", and {}", counted(count, "other reason")),
            };
            let _ = writeln!(
                out,
                "  {:width$}  {:>2}  {}",
                area.name,
                area.checks,
                colors.dim(&format!("{}{more}", area.reason))
            );
        }
        let _ =
            writeln!(out, "  {}", colors.dim("The other formats list each check with its reason"));
    }

    fn text_of_missing(&self, colors: &Colors, out: &mut String) {
        let (Some(level), missing) = (self.next_level(), self.missing()) else { return };
        if missing.is_empty() {
            return;
        }
        let _ = writeln!(out, "\n{}", colors.bold(&format!("What blocks level {level}")));
        for missing in missing {
            let count = match missing.checks.len() {
                0 => String::new(),
                count => format!("{} ", counted(count, "check")),
            };
            let _ = writeln!(out, "  {count}{}", missing.what);
            list(missing.checks.iter().map(String::as_str), colors, out);
        }
    }
}

/// Renders names, wrapped to the width of a terminal.
fn list<'a>(names: impl Iterator<Item = &'a str>, colors: &Colors, out: &mut String) {
    let mut row = String::new();
    for name in names.map(line) {
        if !row.is_empty() && row.len() + name.len() > 90 {
            let _ = writeln!(out, "    {}", colors.dim(&row));
            row.clear();
        }
        let _ = write!(row, "{}{name}", if row.is_empty() { "" } else { ", " });
    }
    if !row.is_empty() {
        let _ = writeln!(out, "    {}", colors.dim(&row));
    }
}

/// Renders a heading and lines, if there are any.
fn text_list(heading: &str, lines: &[String], colors: &Colors, out: &mut String) {
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{}", colors.bold(heading));
    for named in lines.iter().take(MAX_LINES) {
        let _ = writeln!(out, "  {}", line(named));
    }
    let more = lines.len().saturating_sub(MAX_LINES);
    if more > 0 {
        let _ = writeln!(out, "  … and {more} more");
    }
}

fn text_of_check(found: &FoundCheck<'_>, colors: &Colors, out: &mut String) {
    let FoundCheck { check, causes, blocks } = found;
    let _ = writeln!(
        out,
        "\n{}  {}  {}",
        colors.verdict(check.verdict, check.verdict.as_str()),
        colors.bold(&line(&check.id)),
        colors.dim(&line(&format!("{}, level {}", check.keyword, check.level))),
    );
    let _ = writeln!(out, "  {}", line(&check.title));
    for source in check.sources() {
        let _ = writeln!(out, "  {}", colors.dim(&format!("{}: {source}", source.id)));
    }
    let _ = writeln!(out, "  {}", check.tally());
    if !blocks.is_empty() {
        let _ = writeln!(
            out,
            "  {} could not be tested because of this",
            counted(blocks.len(), "check")
        );
    }
    for cause in causes {
        text_of_finding(cause, colors, out);
    }
    if let Some(more) = check.unrecorded_note() {
        let _ = writeln!(out, "\n  {}", colors.dim(&more));
    }
}

fn text_of_finding(cause: &Cause<'_>, colors: &Colors, out: &mut String) {
    let Cause { finding, also, .. } = cause;
    let subject = colors.bold(&line(&finding.subject));
    let _ = writeln!(out, "\n  {subject}{}", colors.dim(&finding.in_modes()));
    if let Some(others) = finding.others() {
        let _ = writeln!(out, "  {}", colors.dim(&others));
    }
    for (check, finding) in also {
        let cases = counted(finding.count, "case");
        let _ = writeln!(out, "  also found by {} ({cases})", line(&check.id));
    }
    if !finding.sent.is_null() {
        field("sent", &value(&finding.sent, colors), colors, out);
    }
    field("received", &value(&finding.received, colors), colors, out);
    let differences: Vec<_> = finding.differences.iter().map(Difference::sentence).collect();
    field("differs", &differences.join("\n"), colors, out);
    let expected = finding.expected_beside_differences().unwrap_or_default();
    field("expected", &line(expected), colors, out);
    field("fix", &line(&finding.fix), colors, out);
    field("repeat", &line(&finding.repeat), colors, out);
}

fn value(value: &Value, colors: &Colors) -> String {
    let shown = shown(value, MAX_VALUE_BYTES);
    match shown.note() {
        Some(note) => format!("{}\n{}", shown.text, colors.dim(&note)),
        None => shown.text,
    }
}

/// Renders a label and a string, and indents all lines after the first.
fn field(name: &str, text: &str, colors: &Colors, out: &mut String) {
    for (number, line) in text.lines().enumerate() {
        let name = if number == 0 { name } else { "" };
        let _ = writeln!(out, "    {}  {line}", colors.dim(&format!("{name:8}")));
    }
}
