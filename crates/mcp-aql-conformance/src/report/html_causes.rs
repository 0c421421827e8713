//! Renders the causes of findings on the HTML page.

use std::fmt::Write as _;

use serde_json::Value;

use super::Report;
use super::causes::{Cause, FoundCheck};
use super::html::{check_link, html_lines, html_list, prose, sources};
use super::junit::Escaped;
use super::value_text::{counted, line, shown};

/// Maximum length of a shown value, in bytes.
const MAX_VALUE_BYTES: usize = 6000;

impl Report {
    /// Renders the causes. Each one has an anchor.
    pub(super) fn html_of_causes(&self, out: &mut String) {
        let found = self.found();
        if found.is_empty() {
            return;
        }
        let causes: usize = found.iter().map(|it| it.causes.len()).sum();
        let _ = writeln!(
            out,
            "<section class=\"causes\" id=\"findings\">\n<h2>Findings <small>{}</small></h2>",
            counted(causes, "cause")
        );
        for FoundCheck { check, causes, blocks } in &found {
            let word = check.verdict.word();
            let _ = write!(
                out,
                "<details class=\"check {word}\" open>\n<summary><span class=\"tag\">{}</span> \
                 {} <span class=\"title\">{}</span></summary>\n<p class=\"source\">{}</p>\n\
                 <p>{}</p>\n",
                check.verdict.as_str(),
                check_link(&check.id),
                prose(&check.title),
                sources(check),
                check.tally(),
            );
            if !blocks.is_empty() {
                out.push_str("<p>Could not be tested because of this: ");
                html_list(blocks.iter().copied(), out);
                out.push_str("</p>\n");
            }
            for cause in causes {
                html_of_finding(cause, out);
            }
            if let Some(more) = check.unrecorded_note() {
                let _ = writeln!(out, "<p class=\"more\">{}</p>", Escaped(&more));
            }
            out.push_str("</details>\n");
        }
        out.push_str("</section>\n");
    }

    pub(super) fn html_of_accepted(&self, out: &mut String) {
        let accepted = self.accepted();
        if !accepted.is_empty() {
            out.push_str("<section>\n<h2>Accepted by the baseline</h2>\n");
            for FoundCheck { check, causes, .. } in &accepted {
                for Cause { finding, .. } in causes {
                    let why = finding.accepted.as_deref().unwrap_or_default();
                    let _ = writeln!(
                        out,
                        "<p>{} {} <small>{}</small> {}</p>",
                        check_link(&check.id),
                        prose(&finding.subject),
                        counted(finding.count, "case"),
                        prose(why)
                    );
                }
            }
            out.push_str("</section>\n");
        }
        let gone = self.no_longer_found.iter().map(|it| format!("`{}` {}", it.check, it.subject));
        html_lines("Accepted by the baseline, but no longer found", &gone.collect::<Vec<_>>(), out);
    }
}

fn html_of_finding(cause: &Cause<'_>, out: &mut String) {
    let Cause { number, finding, also } = cause;
    let _ = write!(
        out,
        "<article id=\"finding-{number}\">\n<h3><a href=\"#finding-{number}\">{number}</a> \
         {}<small>{}</small></h3>\n",
        prose(&finding.subject),
        Escaped(&finding.in_modes()),
    );
    if let Some(others) = finding.others() {
        let _ = writeln!(out, "<p class=\"more\">{}</p>", prose(&others));
    }
    for (check, finding) in also {
        let (link, cases) = (check_link(&check.id), counted(finding.count, "case"));
        let _ = writeln!(out, "<p class=\"more\">also found by {link} ({cases})</p>");
    }
    out.push_str("<dl>\n");
    if !finding.sent.is_null() {
        html_of_value("sent", &finding.sent, out);
    }
    html_of_value("received", &finding.received, out);
    if !finding.differences.is_empty() {
        out.push_str("<dt>differs</dt><dd>");
        for difference in &finding.differences {
            let _ = write!(out, "<p>{}</p>", prose(&difference.sentence()));
        }
        out.push_str("</dd>\n");
    }
    if let Some(expected) = finding.expected_beside_differences() {
        let _ = writeln!(out, "<dt>expected</dt><dd>{}</dd>", prose(expected));
    }
    let _ = writeln!(out, "<dt>fix</dt><dd>{}</dd>", prose(&finding.fix));
    if !finding.repeat.is_empty() {
        let repeat = line(&finding.repeat);
        let _ =
            writeln!(out, "<dt>repeat</dt><dd><pre tabindex=\"0\">{}</pre></dd>", Escaped(&repeat));
    }
    out.push_str("</dl>\n</article>\n");
}

fn html_of_value(name: &str, value: &Value, out: &mut String) {
    let shown = shown(value, MAX_VALUE_BYTES);
    let _ = write!(out, "<dt>{name}</dt><dd><pre tabindex=\"0\">{}</pre>", Escaped(&shown.text));
    if let Some(note) = shown.note() {
        let _ = write!(out, "<p class=\"more\">{}</p>", Escaped(&note));
    }
    out.push_str("</dd>\n");
}
