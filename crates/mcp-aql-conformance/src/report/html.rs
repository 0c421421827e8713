//! The report as one HTML page without scripts and external resources.

use std::fmt::Write as _;

use serde_json::Value;

use super::junit::Escaped;
use super::show;
use super::value_text::{counted, line, parts, shown};
use super::{CategoryReport, CheckReport, Report, Summary, Verdict};
use crate::cases::Finding;

/// The maximum length of a shown value, in bytes.
const MAX_VALUE_BYTES: usize = 6000;
const STYLE: &str = include_str!("style.css");
const VERDICTS: [Verdict; 6] = [
    Verdict::Fail,
    Verdict::Warn,
    Verdict::Skip,
    Verdict::Blocked,
    Verdict::Pass,
    Verdict::NotApplicable,
];

impl Report {
    /// Renders a self-contained HTML page. Texts of the adapter are escaped, and the page's policy forbids
    /// scripts and external resources.
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
        self.html_of_missing(&mut out);
        self.html_filter(&mut out);
        // Failed checks come first.
        let mut categories: Vec<_> = self.tested().iter().collect();
        categories.sort_by_key(|category| {
            let summary = Summary::of(&category.checks);
            (summary.failed == 0, summary.warnings == 0)
        });
        for category in categories {
            html_of_category(category, &mut out);
        }
        self.html_of_left_out(&mut out);
        self.html_of_named(&mut out);
        let _ = write!(
            out,
            "</main>\n<footer>mcp-aql-conformance {}, for MCP-AQL 1.0.0-draft</footer>\n</body>\n</html>\n",
            Escaped(&line(&self.runner))
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
             <p class=\"how\">{}<br><code>{}</code></p>\n</div>\n",
            Escaped(&line(&self.implementation)),
            Escaped(&line(&self.version)),
            Escaped(&self.headline()),
            Escaped(&self.circumstances()),
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
        let _ =
            writeln!(out, "<section class=\"missing\">\n<h2>What keeps level {level} away</h2>");
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
        if left_out.is_empty() {
            return;
        }
        out.push_str("<section>\n<h2>Not tested, and why</h2>\n");
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

    fn html_of_named(&self, out: &mut String) {
        for (heading, lines) in self.named() {
            let _ = writeln!(out, "<section>\n<h2>{heading}</h2>");
            for named in lines {
                let _ = writeln!(out, "<p>{}</p>", prose(named));
            }
            out.push_str("</section>\n");
        }
    }
}

const fn verdict_said(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "passed",
        Verdict::NotApplicable => "do not apply",
        Verdict::Skip => "were not tested",
        Verdict::Blocked => "are blocked",
        Verdict::Warn => "have warnings",
        Verdict::Fail => "failed",
    }
}

fn html_list<'a>(names: impl Iterator<Item = &'a str>, out: &mut String) {
    for (at, name) in names.enumerate() {
        let comma = if at == 0 { "" } else { ", " };
        let _ = write!(out, "{comma}<code>{}</code>", Escaped(&line(name)));
    }
}

fn html_of_category(category: &CategoryReport, out: &mut String) {
    let summary = Summary::of(&category.checks);
    // Categories without failures are collapsed.
    let open = if summary.failed + summary.warnings > 0 { " open" } else { "" };
    let _ = write!(
        out,
        "<details class=\"category\"{open}>\n<summary><h2>{}</h2><span class=\"counts\">",
        Escaped(&line(&category.name))
    );
    for (verdict, count) in summary.counts() {
        let (word, said) = (verdict.word(), verdict.said());
        let _ = write!(out, "<span class=\"{word}\">{count} {said}</span>");
    }
    out.push_str("</span></summary>\n");
    let mut checks: Vec<_> = category.checks.iter().collect();
    checks.sort_by_key(|check| match check.verdict {
        Verdict::Fail => 0,
        Verdict::Warn => 1,
        Verdict::Skip | Verdict::Blocked | Verdict::Pass | Verdict::NotApplicable => 2,
    });
    for check in checks {
        html_of_check(check, out);
    }
    out.push_str("</details>\n");
}

fn html_of_check(check: &CheckReport, out: &mut String) {
    let word = check.verdict.word();
    let open = if check.findings.is_empty() { "" } else { " open" };
    let _ = write!(
        out,
        "<details class=\"check {word}\"{open}>\n<summary><span class=\"tag\">{}</span> \
         <code>{}</code> <span class=\"title\">{}</span></summary>\n<p class=\"source\">{}</p>\n",
        check.verdict.as_str(),
        Escaped(&line(&check.id)),
        prose(&check.title),
        Escaped(&check.source()),
    );
    if check.passed + check.found > 0 {
        let blocks = check.blocks_note().map(|note| format!("; {note}")).unwrap_or_default();
        let _ = writeln!(out, "<p>{}{blocks}</p>", check.tally());
    }
    for (finding, modes) in check.merged_findings() {
        html_of_finding(finding, &modes, out);
    }
    if let Some(more) = check.omitted_note() {
        let _ = writeln!(out, "<p class=\"more\">{}</p>", Escaped(&more));
    }
    for (why, cases) in &check.skipped {
        let cases = counted(*cases, "case");
        let _ = writeln!(out, "<p class=\"why\">{cases} not tested: {}</p>", prose(why));
    }
    if check.verdict == Verdict::Blocked {
        let _ = writeln!(out, "<p class=\"why\">{}</p>", prose(&check.why_not()));
    }
    if let Some(why) = &check.not_applicable {
        let _ = writeln!(out, "<p class=\"why\">{}</p>", prose(why));
    }
    out.push_str("</details>\n");
}

fn html_of_finding(finding: &Finding, modes: &str, out: &mut String) {
    let _ = write!(
        out,
        "<article>\n<h3>{}<small>{}</small></h3>\n<dl>\n",
        prose(&finding.subject),
        Escaped(modes),
    );
    if !finding.sent.is_null() {
        html_of_value("sent", &finding.sent, out);
    }
    html_of_value("received", &finding.received, out);
    let _ = write!(
        out,
        "<dt>expected</dt><dd>{}</dd>\n<dt>mend</dt><dd>{}</dd>\n</dl>\n</article>\n",
        prose(&finding.expected),
        prose(&finding.mend),
    );
}

fn html_of_value(name: &str, value: &Value, out: &mut String) {
    let shown = shown(value, MAX_VALUE_BYTES);
    let _ = write!(out, "<dt>{name}</dt><dd><pre tabindex=\"0\">{}</pre>", Escaped(&shown.text));
    if let Some(note) = shown.note() {
        let _ = write!(out, "<p class=\"more\">{}</p>", Escaped(&note));
    }
    out.push_str("</dd>\n");
}

/// Renders a sentence with code in it.
fn prose(sentence: &str) -> String {
    parts(sentence)
        .into_iter()
        .map(|(is_code, part)| match is_code {
            true => format!("<code>{}</code>", Escaped(&part)),
            false => Escaped(&part).to_string(),
        })
        .collect()
}
