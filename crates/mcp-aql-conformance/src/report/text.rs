//! The report for a terminal.

use std::fmt::Write as _;

use serde_json::Value;

use super::show;
use super::value_text::{counted, line, shown};
use super::{CheckReport, Report, Summary, Verdict};
use crate::cases::Finding;

/// The maximum length of a shown value, in bytes.
const MAX_VALUE_BYTES: usize = 1200;

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
    /// Renders the verdict, the counts by category, every finding, and untested checks.
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
        self.text_of_categories(&colors, &mut out);
        for check in self.found() {
            text_of_check(check, &colors, &mut out);
        }
        self.text_of_blocked(&colors, &mut out);
        self.text_of_left_out(&colors, &mut out);
        for (heading, lines) in self.named() {
            let _ = writeln!(out, "\n{}", colors.bold(heading));
            for named in lines {
                let _ = writeln!(out, "  {}", line(named));
            }
        }
        self.text_of_missing(&colors, &mut out);
        out
    }

    fn text_of_categories(&self, colors: &Colors, out: &mut String) {
        if self.tested().is_empty() {
            return;
        }
        out.push('\n');
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

    fn text_of_blocked(&self, colors: &Colors, out: &mut String) {
        let blocked = self.blocked();
        if !blocked.is_empty() {
            let _ = writeln!(out, "\n{}", colors.bold("Blocked"));
        }
        for ((cause, why), checks) in blocked {
            let count = counted(checks.len(), "check");
            let _ = writeln!(out, "  {} blocks {count}: {}", line(cause), line(why));
            list(checks.into_iter(), colors, out);
        }
    }

    fn text_of_left_out(&self, colors: &Colors, out: &mut String) {
        let left_out = self.not_tested();
        if !left_out.is_empty() {
            let _ = writeln!(out, "\n{}", colors.bold("Not tested"));
        }
        for (why, what) in left_out {
            let cases = match what.cases {
                0 => String::new(),
                cases => format!(" ({})", counted(cases, "case")),
            };
            let _ = writeln!(out, "  {why}{cases}");
            list(what.checks.iter().copied(), colors, out);
            let more = if what.checks.is_empty() { "" } else { "and " };
            if !what.in_part.is_empty() {
                let count = counted(what.in_part.len(), "check");
                let _ = writeln!(out, "    {}", colors.dim(&format!("{more}{count} in part")));
            }
        }
        let mut not_applicable = self
            .checks()
            .filter_map(|check| Some((check, check.not_applicable.as_deref()?)))
            .peekable();
        if not_applicable.peek().is_some() {
            let _ = writeln!(out, "\n{}", colors.bold("Not applicable"));
        }
        for (check, why) in not_applicable {
            let _ = writeln!(out, "  {}  {}", line(&check.id), colors.dim(&line(why)));
        }
    }

    fn text_of_missing(&self, colors: &Colors, out: &mut String) {
        let (Some(level), missing) = (self.next_level(), self.missing()) else { return };
        if missing.is_empty() {
            return;
        }
        let _ = writeln!(out, "\n{}", colors.bold(&format!("What keeps level {level} away")));
        for missing in missing {
            let count = match missing.checks.len() {
                0 => String::new(),
                count => format!("{} ", counted(count, "check")),
            };
            let _ = writeln!(out, "  {count}{}", missing.what);
            // Untested checks are already listed above.
            if missing.what == show::FAILED {
                list(missing.checks.iter().map(String::as_str), colors, out);
            }
        }
    }
}

/// Renders names in lines of a terminal's width.
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

fn text_of_check(check: &CheckReport, colors: &Colors, out: &mut String) {
    let _ = writeln!(
        out,
        "\n{}  {}  {}",
        colors.verdict(check.verdict, check.verdict.as_str()),
        colors.bold(&line(&check.id)),
        colors.dim(&check.source()),
    );
    let _ = writeln!(out, "  {}", line(&check.title));
    let tally = match check.blocks_note() {
        Some(note) => format!("{}; {note}", check.tally()),
        None => check.tally(),
    };
    let _ = writeln!(out, "  {}", colors.dim(&tally));
    for (finding, modes) in check.merged_findings() {
        text_of_finding(finding, &modes, colors, out);
    }
    if let Some(more) = check.omitted_note() {
        let _ = writeln!(out, "\n  {}", colors.dim(&more));
    }
}

fn text_of_finding(finding: &Finding, modes: &str, colors: &Colors, out: &mut String) {
    let _ = writeln!(out, "\n  {}{}", colors.bold(&line(&finding.subject)), colors.dim(modes));
    if !finding.sent.is_null() {
        field("sent", &value(&finding.sent, colors), colors, out);
    }
    field("received", &value(&finding.received, colors), colors, out);
    field("expected", &line(&finding.expected), colors, out);
    field("mend", &line(&finding.mend), colors, out);
}

fn value(value: &Value, colors: &Colors) -> String {
    let shown = shown(value, MAX_VALUE_BYTES);
    match shown.note() {
        Some(note) => format!("{}\n{}", shown.text, colors.dim(&note)),
        None => shown.text,
    }
}

/// Renders a label and a text with indented further lines.
fn field(name: &str, text: &str, colors: &Colors, out: &mut String) {
    for (number, line) in text.lines().enumerate() {
        let name = if number == 0 { name } else { "" };
        let _ = writeln!(out, "    {}  {line}", colors.dim(&format!("{name:8}")));
    }
}
