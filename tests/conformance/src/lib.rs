//! Test support for the conformance runner: a correct adapter, mistakes to inject, mutants and variants.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use mcp_aql_conformance::{Finding, Report, Verdict};
use serde_json::Value;

pub mod faults;
pub mod garden;
pub mod mutants;
mod proxy;
pub mod variants;
mod warehouse;

pub use faults::{Fault, Tamper};
pub use garden::{Garden, GardenOptions, garden};
pub use proxy::{Faulty, Proxy, Shared, Wire, serve_mutated};
pub use warehouse::Warehouse;

/// Returns the ids of the checks with findings, each with its first finding in a few lines.
///
/// If your adapter should have no findings, assert that the map is empty, and print it otherwise.
pub fn found(report: &Report) -> BTreeMap<String, String> {
    report
        .checks()
        .filter(|check| matches!(check.verdict, Verdict::Fail | Verdict::Warn))
        .map(|check| (check.id.clone(), check.findings.first().map(summary).unwrap_or_default()))
        .collect()
}

fn summary(finding: &Finding) -> String {
    let brief = |value: &Value| value.to_string().chars().take(400).collect::<String>();
    format!(
        "{}: expected {}\n    sent {}\n    received {}",
        finding.subject,
        finding.expected,
        brief(&finding.sent),
        brief(&finding.received)
    )
}
