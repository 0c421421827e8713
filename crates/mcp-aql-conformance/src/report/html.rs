//! Renders the report as one HTML page without scripts and external resources.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::junit::Escaped;
use super::show;
use super::value_text::{counted, line, parts};
use super::{CategoryReport, CheckReport, Report, Summary, Verdict};
use crate::requirements::requirement;

const STYLE: &str = include_str!("style.css");
const VERDICTS: [Verdict; 6] = [
    Verdict::Fail,
    Verdict::Warn,
    Verdict::Skip,
    Verdict::Blocked,
    Verdict::Pass,
    Verdict::NotApplicable,
];
/// Maximum number of lines in a list.
const MAX_LINES: usize = 200;

impl Report {
    /// Renders a self-contained HTML page. Strings of the adapter are escaped, and the content security policy of the
    /// page forbids scripts and external resources.
    pub fn html(&self) -> String {
        let mut out = String::new();
        let name = line(&self.implementation);
        let _ = write!(
            out,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" \
             content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>Conformance of {}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n",
            Escaped(&name)
        );
        self.html_head(&mut out);
        out.push_str("<main>\n");
        html_lines("Left behind in the adapter", &self.left_behind, &mut out);
        self.html_of_missing(&mut out);
        self.html_of_causes(&mut out);
        self.html_of_accepted(&mut out);
        self.html_of_summary(&mut out);
        self.html_filter(&mut out);
        let numbers = self.cause_numbers();
        // Failed checks come first.
        let mut categories: Vec<_> = self.tested().iter().collect();
        categories.sort_by_key(|category| {
            let summary = Summary::of(&category.checks);
            (summary.failed == 0, summary.warnings == 0)
        });
        for category in categories {
            html_of_category(category, &numbers, &mut out);
        }
        self.html_of_left_out(&mut out);
        html_lines("Excluded by the configuration", &self.left_out, &mut out);
        html_lines(show::OUTSIDE_RUN, &self.outside_run, &mut out);
        let _ = write!(
            out,
            "</main>\n<footer>mcp-aql-conformance {}, for MCP-AQL {}</footer>\n</body>\n</html>\n",
            Escaped(&line(&self.runner)),
            Escaped(&line(&self.tested_spec_version))
        );
        out
    }

    fn html_head(&self, out: &mut String) {
        let tone = match self.exit_code() {
            0 => "pass",
            1 => "fail",
            _ => "warn",
        };
        let level = match (!self.is_reached(), self.conformance_level) {
            (true, _) | (false, 0) => "–".to_owned(),
            (false, level) => level.to_string(),
        };
        let _ = write!(
            out,
            "<header>\n<div class=\"level {tone}\"><span>level</span><b>{level}</b></div>\n<div>\n\
             <h1>{} <small>{}</small></h1>\n<p class=\"verdict\">{}</p>\n\
             <p class=\"how\">{}<br>{}<br><code>{}</code></p>\n</div>\n",
            Escaped(&line(&self.implementation)),
            Escaped(&line(&self.version)),
            Escaped(&self.headline()),
            Escaped(&self.circumstances()),
            self.remarks()
                .iter()
                .map(|it| Escaped(it).to_string())
                .collect::<Vec<_>>()
                .join("<br>"),
            Escaped(&line(&self.target)),
        );
        out.push_str("<div class=\"bar\" aria-hidden=\"true\">");
        for (verdict, count) in self.tested_summary().counts() {
            let word = verdict.word();
            let _ = write!(out, "<i class=\"{word}\" style=\"flex-grow:{count}\"></i>");
        }
        out.push_str("</div>\n</header>\n");
    }

    fn html_filter(&self, out: &mut String) {
        if self.tested().is_empty() {
            return;
        }
        out.push_str("<fieldset class=\"filter\"><legend>Show checks that</legend>\n");
        for verdict in VERDICTS {
            let count = self.checks().filter(|check| check.verdict == verdict).count();
            let (word, said) = (verdict.word(), verdict_said(verdict));
            let _ = writeln!(
                out,
                "<label class=\"{word}\"><input type=\"checkbox\" id=\"show-{word}\" checked> \
                 {said} <b>{count}</b></label>"
            );
        }
        out.push_str("</fieldset>\n");
    }

    fn html_of_missing(&self, out: &mut String) {
        let (Some(level), missing) = (self.next_level(), self.missing()) else { return };
        if missing.is_empty() {
            return;
        }
        let _ = writeln!(out, "<section class=\"missing\">\n<h2>What blocks level {level}</h2>");
        for missing in missing {
            let count = match missing.checks.len() {
                0 => String::new(),
                count => format!("<b>{}</b> ", counted(count, "check")),
            };
            if missing.checks.is_empty() {
                let _ = writeln!(out, "<p>{}</p>", prose(&missing.what));
                continue;
            }
            let open = if missing.what == show::FAILED { " open" } else { "" };
            let what = prose(&missing.what);
            let _ = write!(out, "<details{open}><summary>{count}{what}</summary><p>");
            html_list(missing.checks.iter().map(String::as_str), out);
            out.push_str("</p></details>\n");
        }
        out.push_str("</section>\n");
    }

    fn html_of_left_out(&self, out: &mut String) {
        let left_out = self.not_tested();
        if !left_out.is_empty() {
            out.push_str("<section>\n<h2>Not exercised, and why</h2>\n");
            for (why, what) in left_out {
                let cases = match what.cases {
                    0 => String::new(),
                    cases => format!(" <small>{}</small>", counted(cases, "case")),
                };
                let _ = write!(out, "<details><summary>{}{cases}</summary><p>", prose(&why));
                html_list(what.checks.iter().copied(), out);
                if !what.in_part.is_empty() {
                    let colon = if what.checks.is_empty() { "In part: " } else { "; in part: " };
                    out.push_str(colon);
                    html_list(what.in_part.iter().copied(), out);
                }
                out.push_str("</p></details>\n");
            }
            out.push_str("</section>\n");
        }
        let not_applicable = self.not_applicable();
        if not_applicable.is_empty() {
            return;
        }
        out.push_str("<section>\n<h2>Not applicable, and why</h2>\n");
        for (why, checks) in not_applicable {
            let count = counted(checks.len(), "check");
            let _ = write!(
                out,
                "<details><summary>{} <small>{count}</small></summary><p>",
                prose(&why)
            );
            html_list(checks.into_iter(), out);
            out.push_str("</p></details>\n");
        }
        out.push_str("</section>\n");
    }

    fn html_of_summary(&self, out: &mut String) {
        if self.tested().is_empty() {
            return;
        }
        out.push_str("<section>\n<h2>Summary by area</h2>\n<ul class=\"areas\">\n");
        for category in self.tested() {
            let name = line(&category.name);
            let _ = write!(
                out,
                "<li><a href=\"#area-{}\">{}</a> <span class=\"counts\">",
                anchor(&name),
                Escaped(&name)
            );
            html_counts(&Summary::of(&category.checks), out);
            out.push_str("</span></li>\n");
        }
        out.push_str("</ul>\n</section>\n");
    }
}

/// Renders a heading and lines, if there are any.
pub(super) fn html_lines(heading: &str, lines: &[String], out: &mut String) {
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(out, "<section class=\"named\">\n<h2>{heading}</h2>");
    for named in lines.iter().take(MAX_LINES) {
        let _ = writeln!(out, "<p>{}</p>", prose(named));
    }
    let more = lines.len().saturating_sub(MAX_LINES);
    if more > 0 {
        let _ = writeln!(out, "<p class=\"more\">… and {more} more</p>");
    }
    out.push_str("</section>\n");
}

fn html_counts(summary: &Summary, out: &mut String) {
    for (verdict, count) in summary.counts() {
        let (word, said) = (verdict.word(), verdict.said());
        let _ = write!(out, "<span class=\"{word}\">{count} {said}</span>");
    }
}

/// Converts a string to a part of an anchor, with only letters, digits and a few punctuation characters.
fn anchor(text: &str) -> String {
    let plain =
        |each: char| if each.is_ascii_alphanumeric() || "._-".contains(each) { each } else { '-' };
    text.chars().map(plain).collect()
}

/// Renders a link to the result of a check.
pub(super) fn check_link(id: &str) -> String {
    let id = line(id);
    format!("<a href=\"#check-{}\"><code>{}</code></a>", anchor(&id), Escaped(&id))
}

/// Renders the requirements of a check as links to the specification, with the keyword and the level of the check.
pub(super) fn sources(check: &CheckReport) -> String {
    let requirements = check.requirements.iter().map(|id| match requirement(id) {
        Some(source) => format!(
            "<a href=\"{}\" rel=\"noreferrer\">{}</a> ({})",
            Escaped(&source.url()),
            source.id,
            Escaped(&source.to_string())
        ),
        None => Escaped(&line(id)).to_string(),
    });
    let requirements = requirements.collect::<Vec<_>>().join(", ");
    let keyword = line(&check.keyword);
    format!("{}, level {}: {requirements}", Escaped(&keyword), check.level)
}

const fn verdict_said(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "passed",
        Verdict::NotApplicable => "do not apply",
        Verdict::Skip => "were not exercised",
        Verdict::Blocked => "are blocked",
        Verdict::Warn => "have warnings",
        Verdict::Fail => "failed",
    }
}

pub(super) fn html_list<'a>(names: impl Iterator<Item = &'a str>, out: &mut String) {
    for (at, name) in names.enumerate() {
        let comma = if at == 0 { "" } else { ", " };
        let _ = write!(out, "{comma}{}", check_link(name));
    }
}

fn html_of_category(
    category: &CategoryReport,
    numbers: &BTreeMap<&str, Vec<usize>>,
    out: &mut String,
) {
    let summary = Summary::of(&category.checks);
    // Categories without failures are collapsed.
    let open = if summary.failed + summary.warnings > 0 { " open" } else { "" };
    let _ = write!(
        out,
        "<details class=\"category\" id=\"area-{}\"{open}>\n<summary><h2>{}</h2><span class=\"counts\">",
        anchor(&line(&category.name)),
        Escaped(&line(&category.name))
    );
    html_counts(&summary, out);
    out.push_str("</span></summary>\n");
    let mut checks: Vec<_> = category.checks.iter().collect();
    checks.sort_by_key(|check| match check.verdict {
        Verdict::Fail => 0,
        Verdict::Warn => 1,
        _ => 2,
    });
    for check in checks {
        html_of_check(check, numbers, out);
    }
    out.push_str("</details>\n");
}

fn html_of_check(check: &CheckReport, numbers: &BTreeMap<&str, Vec<usize>>, out: &mut String) {
    let word = check.verdict.word();
    let id = line(&check.id);
    let _ = write!(
        out,
        "<details class=\"check {word}\" id=\"check-{}\">\n<summary><span class=\"tag\">{}</span> \
         <code>{}</code> <span class=\"title\">{}</span></summary>\n<p class=\"source\">{}</p>\n",
        anchor(&id),
        check.verdict.as_str(),
        Escaped(&id),
        prose(&check.title),
        sources(check),
    );
    if check.passed + check.found > 0 {
        let _ = writeln!(out, "<p>{}</p>", check.tally());
    }
    if let Some(numbers) = numbers.get(check.id.as_str()).filter(|it| !it.is_empty()) {
        let links = numbers
            .iter()
            .map(|number| format!("<a href=\"#finding-{number}\">finding {number}</a>"));
        let _ = writeln!(out, "<p>See {}</p>", links.collect::<Vec<_>>().join(", "));
    }
    for (why, cases) in &check.skipped {
        let cases = counted(*cases, "case");
        let _ = writeln!(out, "<p class=\"why\">{cases} not exercised: {}</p>", prose(why));
    }
    if let Some(why) = &check.not_applicable {
        let _ = writeln!(out, "<p class=\"why\">{}</p>", prose(why));
    }
    out.push_str("</details>\n");
}

/// Renders a sentence that contains code in backticks.
pub(super) fn prose(sentence: &str) -> String {
    parts(sentence)
        .into_iter()
        .map(|(is_code, part)| match is_code {
            true => format!("<code>{}</code>", Escaped(&part)),
            false => Escaped(&part).to_string(),
        })
        .collect()
}
