//! Renders the report as JUnit XML for CI systems.

use std::fmt::{self, Write as _};

use super::value_text::{clean, line, shown};
use super::{CategoryReport, CheckReport, Report, Verdict};

/// Maximum length of a shown value, in bytes.
const MAX_VALUE_BYTES: usize = 4000;

/// Escapes a string for XML or HTML. `clean` replaces the characters forbidden in XML.
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

/// Numbers of test cases in the summary of a suite.
#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    tests: usize,
    failures: usize,
    skipped: usize,
}

impl Counts {
    fn of(checks: &[CheckReport]) -> Self {
        let mut counts = Self { tests: checks.len(), ..Self::default() };
        for check in checks {
            match outcome(check) {
                JunitOutcome::Passed => {}
                JunitOutcome::Failed => counts.failures += 1,
                JunitOutcome::Skipped => counts.skipped += 1,
            }
        }
        counts
    }
}

/// The outcome of a test case.
enum JunitOutcome {
    Passed,
    Failed,
    Skipped,
}

/// Returns the outcome of a check. Warnings are failures, as in the exit code. Accepted findings are skipped.
fn outcome(check: &CheckReport) -> JunitOutcome {
    match check.verdict {
        Verdict::Pass => JunitOutcome::Passed,
        Verdict::Fail | Verdict::Warn if !check.is_accepted() => JunitOutcome::Failed,
        _ => JunitOutcome::Skipped,
    }
}

impl Report {
    /// Renders JUnit XML with a suite for each area and a case for each check.
    ///
    /// Use this if your CI system shows test results. The document contains a failure or an error exactly if the exit
    /// code is not 0. Failed checks, warnings, and a requested level that was not granted are failures. A check is
    /// skipped if it was not exercised, does not apply, or has only findings accepted by a baseline.
    pub fn junit(&self) -> String {
        let mut out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
        let mut suites = String::new();
        let mut all = self.junit_of_run(&mut suites);
        // Without the error, a run without tests or with an early end would look like a run without failures.
        let errors = usize::from(!self.is_reached() || self.interrupted);
        for category in self.tested() {
            let counts = self.suite(category, &mut suites);
            all.tests += counts.tests;
            all.failures += counts.failures;
            all.skipped += counts.skipped;
        }
        let _ = writeln!(
            out,
            "<testsuites name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{errors}\" \
             skipped=\"{}\" time=\"{}\">",
            Escaped(&format!("MCP-AQL conformance of {}", line(&self.implementation))),
            all.tests,
            all.failures,
            all.skipped,
            self.seconds(),
        );
        out.push_str(&suites);
        out.push_str("</testsuites>\n");
        out
    }

    /// Renders the suite of the run as a whole. Its cases report if the adapter was reached and if the requested level
    /// was granted.
    fn junit_of_run(&self, out: &mut String) -> Counts {
        let (name, fault) = match !self.is_reached() {
            true => ("target.reached", Some(("error", self.headline(), String::new()))),
            false => {
                let why: Vec<_> = self.open_obstacles().collect();
                // Failures of selected checks say nothing about a level.
                let is_open = match self.exit_code() {
                    0 => false,
                    1 => !self.is_subset() && !why.is_empty(),
                    _ => self.is_subset() || !why.is_empty(),
                };
                let text = why.iter().map(|it| match it.check {
                    Some(check) => format!("{}: {}", line(check), line(it.reason)),
                    None => line(it.reason),
                });
                let text = text.collect::<Vec<_>>().join("\n");
                let fault = match self.interrupted {
                    true => Some("error"),
                    false => is_open.then_some("failure"),
                };
                ("target.level", fault.map(|tag| (tag, self.headline(), text)))
            }
        };
        let is_failure = matches!(fault, Some(("failure", ..)));
        let is_error = matches!(fault, Some(("error", ..)));
        let counts = Counts { tests: 1, failures: usize::from(is_failure), skipped: 0 };
        let _ = write!(
            out,
            "  <testsuite name=\"target\" tests=\"1\" failures=\"{}\" errors=\"{}\" skipped=\"0\">\n    \
             <testcase classname=\"target\" name=\"{name}\">\n",
            counts.failures,
            usize::from(is_error),
        );
        match fault {
            Some((tag, message, text)) => {
                let (message, text) = (Escaped(&message), Escaped(&text));
                let _ = writeln!(out, "      <{tag} message=\"{message}\">{text}</{tag}>");
            }
            None => {
                let remarks = self.remarks().join("\n");
                let said = format!("{}\n{remarks}", self.headline());
                let _ = writeln!(out, "      <system-out>{}</system-out>", Escaped(&said));
            }
        }
        out.push_str("    </testcase>\n  </testsuite>\n");
        counts
    }

    fn suite(&self, category: &CategoryReport, out: &mut String) -> Counts {
        let counts = Counts::of(&category.checks);
        let name = line(&category.name);
        let _ = writeln!(
            out,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\">",
            Escaped(&name),
            counts.tests,
            counts.failures,
            counts.skipped,
        );
        let facts = [
            ("version", line(&self.version)),
            ("specVersion", line(&self.spec_version)),
            ("testedSpecVersion", line(&self.tested_spec_version)),
            ("target", line(&self.target)),
            ("conformanceLevel", self.conformance_level.to_string()),
            ("exercisedPercent", self.coverage.percent.to_string()),
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
        counts
    }
}

/// Renders one check. Your CI system shows the area as the class, and the check as the test:
///
/// ```xml
/// <testcase classname="deletes" name="deletes.removed"/>
/// ```
fn case(category: &str, check: &CheckReport, out: &mut String) {
    let (category, id) = (Escaped(category), line(&check.id));
    let _ = write!(out, "    <testcase classname=\"{category}\" name=\"{}\"", Escaped(&id));
    let has_findings = matches!(check.verdict, Verdict::Fail | Verdict::Warn);
    let _ = match outcome(check) {
        JunitOutcome::Passed => writeln!(out, "/>"),
        JunitOutcome::Failed => writeln!(
            out,
            ">\n      <failure message=\"{}\" type=\"{}\">{}</failure>\n    </testcase>",
            Escaped(&match check.verdict {
                Verdict::Warn => format!("warning: {}", line(&check.title)),
                _ => line(&check.title),
            }),
            Escaped(&line(&check.keyword)),
            Escaped(&findings_text(check)),
        ),
        JunitOutcome::Skipped if has_findings => writeln!(
            out,
            ">\n      <skipped message=\"accepted by the baseline\"/>\n      \
             <system-out>{}</system-out>\n    </testcase>",
            Escaped(&findings_text(check)),
        ),
        JunitOutcome::Skipped => writeln!(
            out,
            ">\n      <skipped message=\"{}\"/>\n    </testcase>",
            Escaped(&check.why_not()),
        ),
    };
}

/// Renders all findings of a check.
fn findings_text(check: &CheckReport) -> String {
    let mut text = format!("{}\n{}\n", check.source(), check.tally());
    for source in check.sources() {
        let _ = writeln!(text, "{}: {source}", source.id);
    }
    for finding in &check.findings {
        let others = finding.others().map(|others| format!(", {others}")).unwrap_or_default();
        let _ = writeln!(text, "\n{}{}{others}", line(&finding.subject), finding.in_modes());
        let mut value = |name: &str, value: &serde_json::Value| {
            let shown = shown(value, MAX_VALUE_BYTES);
            let note = shown.note().map(|note| format!("\n{note}")).unwrap_or_default();
            let _ = writeln!(text, "{name}: {}{note}", shown.text);
        };
        if !finding.sent.is_null() {
            value("sent", &finding.sent);
        }
        value("received", &finding.received);
        for difference in &finding.differences {
            let _ = writeln!(text, "differs: {}", difference.sentence());
        }
        if let Some(expected) = finding.expected_beside_differences() {
            let _ = writeln!(text, "expected: {}", line(expected));
        }
        let _ = writeln!(text, "fix: {}", line(&finding.fix));
        if !finding.repeat.is_empty() {
            let _ = writeln!(text, "repeat: {}", line(&finding.repeat));
        }
    }
    if let Some(more) = check.unrecorded_note() {
        let _ = writeln!(text, "\n{more}");
    }
    text
}
