//! Tests that operations added by the framework cause no warnings.

use mcp_aql::operator::MemoryChannel;
use mcp_aql::prelude::*;
use mcp_aql::safety_loop::SafetyLoop;
use mcp_aql::testing::conformance::{Settings, Verdict};
use mcp_aql::testing::conformance_report;
use mcp_aql_conformance_tests::found;

/// Export the garden.
#[operation(category = "EXECUTE", lifecycle, example = { "beds": 1 })]
async fn execute_export(
    /// The number of beds.
    #[param(minimum = 1, maximum = 9)]
    beds: u8,
) -> u8 {
    beds
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_operations_of_the_framework_have_no_findings() {
    // REQ-CNF-01
    let adapter = Adapter::builder("garden")
        .operation(execute_export {})
        .safety_loop(SafetyLoop::new().channel(MemoryChannel::default()))
        .without_config()
        .build()
        .expect("the adapter is sound");
    let report = conformance_report(&adapter, Settings::default()).await.expect("it runs");
    let mut found = found(&report);
    // These operations do not select fields, and the author has added no others.
    found.remove("fields.offered");
    assert!(found.is_empty(), "{found:#?}");
    let introspected = report
        .checks()
        .any(|check| check.id.starts_with("introspection.") && check.verdict == Verdict::Pass);
    assert!(introspected, "{:?}", report.obstacles);
}
