//! The peak memory of a query, counted by the allocator, so that it does not depend on the machine.
//!
//! This test is a program of its own, because the allocator counts the allocations of all tests in
//! a program.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use mcp_aql_aggregator::{Aggregator, Config, Query};
use peak_alloc::PeakAlloc;
use serde_json::json;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const SERVERS: usize = 10;
const MAX_PEAK_BYTES: usize = 4 << 20;

/// Not a test: runs this program as the server of the other test if the script variable is set.
#[test]
fn as_server() {
    mcp_aql_upstreams::serve_if_asked();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_results_fit_into_4_mib() {
    // REQ-AGR-12
    let servers = (0..SERVERS).map(|seed| {
        let script = format!("--results 100 --fill 1000:{seed}");
        let how = json!({
            "command": std::env::current_exe().unwrap(),
            "args": ["as_server", "--exact", "--nocapture"],
            "env": { mcp_aql_upstreams::SCRIPT: script },
        });
        (format!("s{seed}"), how)
    });
    let servers: serde_json::Map<_, _> = servers.collect();
    let settings = json!({ "breakerFailures": 1000 });
    let configuration = json!({ "mcpServers": servers, "aggregator": settings });
    let config = Config::from_json(&configuration.to_string(), &|_| None).unwrap();
    let aggregator = Aggregator::start(config);
    aggregator.settled().await;
    let mut peaks = Vec::new();
    for _ in 0..20 {
        let before = MEMORY.current_usage();
        MEMORY.reset_peak_usage();
        let answer = aggregator.query(Query::new("refund of a cancelled ferry")).await.unwrap();
        let json = serde_json::to_string(&answer).unwrap();
        let peak = MEMORY.peak_usage().saturating_sub(before);
        // On a busy machine some servers may have answered late.
        if answer.metadata.servers_succeeded == SERVERS {
            assert_eq!(answer.metadata.total_results_raw, 100 * SERVERS);
            assert!(json.len() > 30_000, "30 results of 1 KB: {json}");
            peaks.push(peak);
        }
        if peaks.len() == 4 {
            break;
        }
    }
    assert!(peaks.len() > 1, "servers are late all the time");
    // The first query also makes one-time allocations.
    peaks.remove(0);
    assert!(peaks.iter().all(|peak| *peak <= MAX_PEAK_BYTES), "bytes: {peaks:?}");
    // The contents alone take more than this, so everything is counted.
    assert!(peaks.iter().all(|peak| *peak > 1_000_000), "bytes: {peaks:?}");
    aggregator.close().await;
}
