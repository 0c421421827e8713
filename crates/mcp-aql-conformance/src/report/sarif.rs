//! Renders the report in SARIF 2.1.0, the format of code scanning services.

use serde_json::{Value, json};

use super::value_text::{line, shown};
use super::{CheckReport, Report, Verdict};
use crate::finding::Finding;
use crate::requirements::requirement;

/// Maximum length of a shown value, in bytes.
const MAX_VALUE_BYTES: usize = 1500;
/// URL of the protocol's specification.
const PROTOCOL: &str = "https://github.com/MCPAQL/spec";
const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

impl Report {
    /// Renders SARIF 2.1.0 that you can upload to a code scanning service, with a rule for each check and a result for
    /// each cause. Accepted findings become suppressed results.
    pub fn sarif(&self) -> String {
        let checks: Vec<_> = match !self.is_reached() {
            true => Vec::new(),
            false => self.checks().collect(),
        };
        let rules: Vec<_> = checks.iter().map(|check| rule(check)).collect();
        let mut results = Vec::new();
        for (index, check) in checks.iter().enumerate() {
            results.extend(check.findings.iter().map(|finding| self.result(index, check, finding)));
        }
        let is_whole = self.is_reached() && !self.interrupted;
        let notifications = match !is_whole {
            true => vec![json!({ "level": "error", "message": { "text": self.headline() } })],
            false => Vec::new(),
        };
        let log = json!({
            "$schema": SCHEMA,
            "version": "2.1.0",
            "runs": [{
                "tool": { "driver": {
                    "name": "mcp-aql-conformance",
                    "version": line(&self.runner),
                    "rules": rules,
                } },
                "invocations": [{
                    "executionSuccessful": is_whole,
                    "exitCode": self.exit_code(),
                    "toolExecutionNotifications": notifications,
                }],
                "results": results,
                "properties": {
                    "implementation": line(&self.implementation),
                    "version": line(&self.version),
                    "testedSpecVersion": line(&self.tested_spec_version),
                    "conformanceLevel": self.conformance_level,
                    "exercisedPercent": self.coverage.percent,
                },
            }],
        });
        // Serializing a `Value` does not fail, because all its keys are strings.
        let json = serde_json::to_string_pretty(&log).unwrap_or_default();
        mcp_aql_text::visible_json(&json).into_owned()
    }

    fn result(&self, index: usize, check: &CheckReport, finding: &Finding) -> Value {
        let suppressions = finding.accepted.iter().map(|why| {
            let why = if why.is_empty() { "accepted by the baseline" } else { why };
            json!({ "kind": "external", "justification": line(why) })
        });
        json!({
            "ruleId": line(&check.id),
            "ruleIndex": index,
            "level": level(check),
            "message": { "text": message(finding) },
            "locations": [{
                // Code scanning services require a file. An adapter has none, so use its name.
                "physicalLocation": {
                    "artifactLocation": { "uri": uri(&self.implementation) },
                    "region": { "startLine": 1 },
                },
                "logicalLocations": [{ "fullyQualifiedName": line(&finding.subject) }],
            }],
            "occurrenceCount": finding.count,
            "partialFingerprints": { "cause/v1": line(&finding.cause) },
            "suppressions": suppressions.collect::<Vec<_>>(),
        })
    }
}

fn rule(check: &CheckReport) -> Value {
    let sources = check.requirements.iter().filter_map(|id| requirement(id));
    let sources: Vec<_> = sources.map(|source| format!("{}: {source}", source.id)).collect();
    let help = check.requirements.first().and_then(|id| requirement(id));
    let help = help.map_or_else(|| PROTOCOL.to_owned(), |source| source.url());
    json!({
        "helpUri": help,
        "id": line(&check.id),
        "shortDescription": { "text": line(&check.title) },
        "fullDescription": {
            "text": line(&format!("{}. {}; {}", check.title, check.source(), sources.join("; "))),
        },
        "defaultConfiguration": { "level": if check.keyword == "MUST" { "error" } else { "warning" } },
        "properties": { "tags": [line(check.keyword.as_str()), format!("level-{}", check.level)] },
    })
}

fn level(check: &CheckReport) -> &'static str {
    match check.verdict {
        Verdict::Fail => "error",
        Verdict::Warn => "warning",
        _ => "none",
    }
}

fn message(finding: &Finding) -> String {
    let others = finding.others().map(|others| format!(" {others}")).unwrap_or_default();
    let mut text = format!(
        "{}{}{others}: expected {}.\nFix: {}.",
        line(&finding.subject),
        finding.in_modes(),
        line(&finding.expected),
        line(&finding.fix)
    );
    for difference in &finding.differences {
        text.push_str(&format!("\nDiffers: {}", difference.sentence()));
    }
    if !finding.sent.is_null() {
        text.push_str(&format!("\nSent: {}", shown(&finding.sent, MAX_VALUE_BYTES).text));
    }
    text.push_str(&format!("\nReceived: {}", shown(&finding.received, MAX_VALUE_BYTES).text));
    if !finding.repeat.is_empty() {
        text.push_str(&format!("\nRepeat: {}", line(&finding.repeat)));
    }
    text
}

/// Converts the name of the adapter to a relative URI reference.
fn uri(name: &str) -> String {
    let plain =
        |each: char| if each.is_ascii_alphanumeric() || "-_.".contains(each) { each } else { '-' };
    let name: String = name.chars().take(100).map(plain).collect();
    let name = name.trim_matches('.');
    if name.is_empty() { "adapter".to_owned() } else { name.to_owned() }
}
