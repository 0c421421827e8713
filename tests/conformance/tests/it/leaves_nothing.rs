//! Tests that a run does not change existing data and removes the items that it created.

use std::time::Duration;

use mcp_aql::transport::ServeStream as _;
use mcp_aql::{AdapterBuilder, SizeLimits};
use mcp_aql_conformance::{Category, MemoryTarget, Report, Runner, Settings};
use mcp_aql_conformance_tests::{Garden, GardenOptions, Warehouse, found, garden};
use serde_json::{Value, json};

/// Returns all beds.
async fn beds(garden: &Garden) -> Vec<Value> {
    let adapter = garden.adapter(None).expect("the garden is sound");
    let reply = adapter.call("list_beds", json!({ "first": 100, "fields": "full" })).await;
    let items = reply.data()["items"].as_array().cloned();
    let mut beds = items.unwrap_or_else(|| panic!("{reply:?}"));
    // Computed fields depend on the date.
    beds.iter_mut().filter_map(Value::as_object_mut).for_each(|bed| {
        bed.remove("_computed");
    });
    beds.sort_by_key(|bed| bed["bed_id"].to_string());
    beds
}

async fn run(garden: &Garden, settings: Settings) -> Report {
    let garden = garden.clone();
    let target = MemoryTarget::new("garden", move |mode, stream| {
        let adapter = garden.adapter(mode).expect("the garden is sound");
        tokio::spawn(async move { adapter.serve(stream).await });
    });
    Runner::new(target, settings).run().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_everything_allowed_nothing_of_others_changes_and_nothing_stays() {
    let garden = garden();
    let before = beds(&garden).await;
    let report = run(&garden, Settings::default().allow_all()).await;
    assert_eq!(report.modes.len(), 2, "{:?}", report.obstacles);
    let beds_left: Vec<_> =
        report.left_behind.iter().filter(|left| left.contains("bed-")).collect();
    assert!(beds_left.is_empty(), "{beds_left:?}");
    let after = beds(&garden).await;
    let others: Vec<_> = after.iter().filter(|bed| !before.contains(bed)).collect();
    assert!(others.is_empty(), "{others:?}");
    assert_eq!(after.len(), before.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_may_not_be_deleted_is_told() {
    let garden = garden();
    let before = beds(&garden).await;
    let settings = Settings::default().allow(Category::Create).allow(Category::Update);
    let report = run(&garden, settings).await;
    let after = beds(&garden).await;
    assert!(after.len() > before.len(), "nothing was created");
    let untouched = before.iter().filter(|bed| after.contains(bed)).count();
    assert_eq!(untouched, before.len());
    let told = report.left_behind.join("\n");
    assert!(told.contains("bed bed-") && told.contains("--allow delete"), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_smallest_limits_hide_nothing_of_the_adapter() {
    // REQ-ENC-12, REQ-INT-09
    let limits = |builder: AdapterBuilder| {
        builder.limits(SizeLimits {
            max_request_size: 64 << 10,
            max_response_size: 1 << 20,
            max_string_length: 64 << 10,
            max_array_elements: 100,
            max_nesting_depth: 8,
            ..SizeLimits::default()
        })
    };
    let garden = Garden::new(GardenOptions { build: limits, ..GardenOptions::default() });
    let settings = ["introspection", "limits", "routing", "tools"]
        .into_iter()
        .fold(Settings::default(), Settings::category);
    let report = run(&garden, settings).await;
    let found = found(&report);
    assert!(found.is_empty(), "{found:#?}");
    assert_eq!(report.modes.len(), 2, "{:?}", report.obstacles);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_leave_nothing_changes() {
    let garden = garden();
    let before = beds(&garden).await;
    let report = run(&garden, Settings::default()).await;
    assert_eq!(beds(&garden).await, before);
    assert!(report.left_behind.is_empty(), "{:?}", report.left_behind);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_adapter_is_sampled_and_nothing_stays() {
    let warehouse = Warehouse::new(20, Duration::from_millis(1));
    let shared = warehouse.clone();
    let target = MemoryTarget::new("warehouse", move |mode, stream| {
        let warehouse = shared.clone();
        tokio::spawn(async move {
            let (read, write) = tokio::io::split(stream);
            warehouse.serve(mode, read, write).await
        });
    });
    let report = Runner::new(target, Settings::default().allow_all()).run().await;
    assert_eq!(report.conformance_level, 2, "{:?}", report.obstacles);
    assert_eq!((report.left_behind.len(), warehouse.items()), (0, 0), "{:?}", report.left_behind);
    let told = report.outside_run.join("\n");
    assert!(told.contains("a sample of 49 operations was exercised"), "{told}");
}
