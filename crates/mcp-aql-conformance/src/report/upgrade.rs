//! Reads reports saved by earlier versions of the runner.

use super::coverage::Coverage;
use super::{Report, SCHEMA_VERSION, show};
use crate::finding::{self, Difference, Finding, NO_SUCH_MEMBER};

/// Reason of a check without cases in schema version 1.
const OLD_NO_CASE: &str = "nothing came up to test it with";

impl Report {
    /// Parses a report saved as JSON. Reports of earlier versions of the runner are converted.
    ///
    /// # Errors
    ///
    /// Returns an error if the string is not a report, or if a later version of the runner wrote it.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        let mut report: Self = serde_json::from_str(text)?;
        if report.schema_version > SCHEMA_VERSION {
            return Err(serde::de::Error::custom(format!(
                "its `schemaVersion` is {}, and this version of the runner reads up to {SCHEMA_VERSION}",
                report.schema_version
            )));
        }
        if report.schema_version < SCHEMA_VERSION {
            report.upgrade();
        }
        Ok(report)
    }

    /// Converts a report of schema version 1. Such a report has one finding for each case, each with a whole reply.
    fn upgrade(&mut self) {
        self.schema_version = SCHEMA_VERSION;
        if self.selection.is_empty()
            && self.obstacles.iter().any(|it| it == "only some of the checks were run")
        {
            self.selection = self.categories.iter().map(|it| it.name.clone()).collect();
        }
        for check in self.categories.iter_mut().flat_map(|category| &mut category.checks) {
            let findings = std::mem::take(&mut check.findings).into_iter().map(|mut finding| {
                upgrade_expected(&mut finding);
                finding.cause.clear();
                finding.identify();
                finding.abridge();
                finding
            });
            check.findings = finding::merge(findings);
        }
        for obstacle in &mut self.obstacles {
            *obstacle = obstacle.replace(OLD_NO_CASE, show::NO_CASE);
        }
        self.coverage = Coverage::of_checks(self.checks());
        let mut words = self.target.split_whitespace().map(str::to_owned);
        self.invocation = match self.target.starts_with("http") {
            true => ["--url".to_owned(), self.target.clone()].to_vec(),
            false => std::iter::once("--".to_owned()).chain(&mut words).collect(),
        };
        self.add_repeat_commands();
    }
}

/// Converts the list of deviations in an old message to differences.
///
/// ```text
/// `/a`: a string; `/b`: is missing; an object
/// ```
fn upgrade_expected(finding: &mut Finding) {
    let Some(start) = finding.expected.find("`/") else { return };
    let (before, list) = finding.expected.split_at(start);
    let list = list.strip_suffix(')').filter(|_| before.ends_with('(')).unwrap_or(list);
    let mut differences: Vec<Difference> = Vec::new();
    for part in list.split("; `/") {
        let Some((path, expected)) = part.trim_start_matches("`/").split_once("`: ") else {
            return;
        };
        let path = format!("/{path}");
        let received = finding.received.pointer(&path).cloned();
        let expected = match expected {
            "a form without this member" => NO_SUCH_MEMBER,
            _ => expected.strip_prefix("is missing; ").unwrap_or(expected),
        };
        differences.push(Difference { path, expected: expected.to_owned(), received });
    }
    let sentences =
        differences.iter().map(|Difference { path, expected, received }| match received {
            None => format!("`{path}` is missing; expected {expected}"),
            Some(_) if expected == NO_SUCH_MEMBER => format!("`{path}` is not allowed here"),
            Some(_) => format!("`{path}` must be {expected}"),
        });
    let sentences: Vec<_> = sentences.collect();
    finding.expected = match before.strip_suffix(" (") {
        Some(before) => before.to_owned(),
        None => sentences.join("; "),
    };
    finding.differences = differences;
}
