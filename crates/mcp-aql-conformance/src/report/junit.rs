//! The report as JUnit XML, which CI systems read.

use std::fmt::{self, Write as _};

use super::value_text::{clean, line, shown};
use super::{CategoryReport, CheckReport, Report, Summary, Verdict};

/// The maximum length of a shown value, in bytes.
const MAX_VALUE_BYTES: usize = 4000;

/// Text inside XML or HTML, escaped. `clean` has replaced the characters that XML does not allow.
pub(super) struct Escaped<'a>(pub(super) &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for each in clean(self.0).chars() {
            match each {
                '&' => formatter.write_str("&amp;")?,
                '<' => formatter.write_str("&lt;")?,
                '>' => formatter.write_str("&gt;")?,
                '"' => formatter.write_str("&quot;")?,
                '\'' => formatter.write_str("&#39;")?,
                _ => formatter.write_char(each)?,
            }
        }
        Ok(())
    }
}

impl Report {
    /// Renders JUnit XML with a suite for each category and a case for each check. Checks with warnings
    /// pass with their findings as output. Untested, blocked and
    /// inapplicable checks are skipped.
    pub fn junit(&self) -> String {
        let mut out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
        let Summary { total, failed, skipped, blocked, not_applicable, .. } = self.tested_summary();
        // A run without tests must not look like one without failures.
        let errors = usize::from(!self.is_reached());
        let _ = writeln!(
            out,
            "<testsuites name=\"{}\" tests=\"{}\" failures=\"{failed}\" errors=\"{errors}\" \
             skipped=\"{}\" time=\"{}\">",
            Escaped(&format!("MCP-AQL conformance of {}", line(&self.implementation))),
            total + errors,
            skipped + blocked + not_applicable,
            self.seconds(),
        );
        if errors > 0 {
            let _ = writeln!(
                out,
                "  <testsuite name=\"target\" tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\">\n    \
                 <testcase classname=\"target\" name=\"target.reached\">\n      \
                 <error message=\"{}\"/>\n    </testcase>\n  </testsuite>",
                Escaped(&self.headline())
            );
        }
        for category in self.tested() {
            self.suite(category, &mut out);
        }
        out.push_str("</testsuites>\n");
        out
    }

    fn suite(&self, category: &CategoryReport, out: &mut String) {
        let Summary { total, failed, skipped, blocked, not_applicable, .. } =
            Summary::of(&category.checks);
        let name = line(&category.name);
        let _ = writeln!(
            out,
            "  <testsuite name=\"{}\" tests=\"{total}\" failures=\"{failed}\" errors=\"0\" \
             skipped=\"{}\">",
            Escaped(&name),
            skipped + blocked + not_applicable,
        );
        let facts = [
            ("version", line(&self.version)),
            ("specVersion", line(&self.spec_version)),
            ("target", line(&self.target)),
            ("conformanceLevel", self.conformance_level.to_string()),
        ];
        out.push_str("    <properties>\n");
        for (fact, value) in facts {
            let value = Escaped(&value);
            let _ = writeln!(out, "      <property name=\"{fact}\" value=\"{value}\"/>");
        }
        out.push_str("    </properties>\n");
        for check in &category.checks {
            case(&name, check, out);
        }
        out.push_str("  </testsuite>\n");
    }
}

fn case(category: &str, check: &CheckReport, out: &mut String) {
    let (category, id) = (Escaped(category), line(&check.id));
    let _ = write!(out, "    <testcase classname=\"{category}\" name=\"{}\"", Escaped(&id));
    let _ = match check.verdict {
        Verdict::Pass => writeln!(out, "/>"),
        Verdict::Fail => writeln!(
            out,
            ">\n      <failure message=\"{}\" type=\"{}\">{}</failure>\n    </testcase>",
            Escaped(&line(&check.title)),
            Escaped(&line(&check.requirements.join(" "))),
            Escaped(&findings_text(check)),
        ),
        Verdict::Warn => writeln!(
            out,
            ">\n      <system-out>{}</system-out>\n    </testcase>",
            Escaped(&format!("WARN {}\n{}", line(&check.title), findings_text(check))),
        ),
        Verdict::Skip | Verdict::Blocked | Verdict::NotApplicable => writeln!(
            out,
            ">\n      <skipped message=\"{}\"/>\n    </testcase>",
            Escaped(&check.why_not()),
        ),
    };
}

/// Renders all findings of a check.
fn findings_text(check: &CheckReport) -> String {
    let mut text = format!("{}\n{}\n", check.source(), check.tally());
    for (finding, modes) in check.merged_findings() {
        let _ = writeln!(text, "\n{}{modes}", line(&finding.subject));
        let mut value = |name: &str, value: &serde_json::Value| {
            let shown = shown(value, MAX_VALUE_BYTES);
            let note = shown.note().map(|note| format!("\n{note}")).unwrap_or_default();
            let _ = writeln!(text, "{name}: {}{note}", shown.text);
        };
        if !finding.sent.is_null() {
            value("sent", &finding.sent);
        }
        value("received", &finding.received);
        let _ = writeln!(text, "expected: {}", line(&finding.expected));
        let _ = writeln!(text, "mend: {}", line(&finding.mend));
    }
    if let Some(more) = check.omitted_note() {
        let _ = writeln!(text, "\n{more}");
    }
    text
}
