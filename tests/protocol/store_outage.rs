//! Tests outages of the adapter's store.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use chrono::{DateTime, Utc};
use mcp_aql::prelude::*;
use mcp_aql::rate_limits::{ApiLimit, RateLimits};
use mcp_aql::store::{Change, MemoryState, StateRecord, StateStore, StoreError};
use mcp_aql::testing::leaks_internals;
use mcp_aql::{Adapter, BoxFuture};
use serde_json::json;

use crate::leaks::logged;

/// A store in memory. It fails while `fails` is `true`.
#[derive(Default)]
struct Unreliable {
    kept: MemoryState,
    fails: AtomicBool,
}

impl Unreliable {
    fn reached<'a, T: Send + 'a>(
        &'a self,
        access: BoxFuture<'a, Result<T, StoreError>>,
    ) -> BoxFuture<'a, Result<T, StoreError>> {
        match self.fails.load(Ordering::SeqCst) {
            true => Box::pin(std::future::ready(Err(StoreError::failed(
                "/var/lib/state.db: disk I/O error",
            )))),
            false => access,
        }
    }
}

impl StateStore for Unreliable {
    fn get<'a>(
        &'a self,
        collection: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<StateRecord>, StoreError>> {
        self.reached(self.kept.get(collection, key))
    }

    fn list<'a>(
        &'a self,
        collection: &'a str,
        group: Option<&'a str>,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<StateRecord>, StoreError>> {
        self.reached(self.kept.list(collection, group, after, limit))
    }

    fn write(&self, changes: Vec<Change>) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.reached(self.kept.write(changes))
    }

    fn purge(&self, now: DateTime<Utc>) -> BoxFuture<'_, Result<u64, StoreError>> {
        self.reached(self.kept.purge(now))
    }
}

/// Read the clock.
#[operation(category = "READ", rationale = "it computes and stores nothing")]
fn read_clock() -> u8 {
    12
}

/// Runs a future on a paused clock. Returns its log.
fn logged_on_paused_clock(run: impl AsyncFnOnce()) -> String {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().unwrap();
    logged(|| runtime.block_on(run()))
}

fn adapter(store: &Arc<Unreliable>) -> Adapter {
    Adapter::builder("hall")
        .without_config()
        .operation(read_clock {})
        .rate_limits(RateLimits::new().limit(ApiLimit::global(100_000)))
        .store(Arc::clone(store))
        .build()
        .unwrap()
}

/// Returns the log lines for operators: warnings and errors.
fn reports(log: &str) -> Vec<&str> {
    let levels = ["event WARN", "event ERROR"];
    log.lines().filter(|line| levels.iter().any(|level| line.starts_with(level))).collect()
}

#[test]
fn an_outage_is_logged_at_its_begin_and_at_its_end() {
    // REQ-ERR-04, REQ-ERR-07
    let store = Arc::new(Unreliable::default());
    let adapter = adapter(&store);
    let mut ids = Vec::new();
    let log = logged_on_paused_clock(async || {
        assert!(adapter.call("read_clock", json!({})).await.is_success());
        store.fails.store(true, Ordering::SeqCst);
        for _ in 0..1_000 {
            let failed = adapter.call("read_clock", json!({})).await;
            assert_eq!(failed.code(), Some("INTERNAL_ERROR"));
            let error = failed.error().unwrap();
            assert!(!leaks_internals(&error.message) && !error.message.contains("state.db"));
            ids.push(error.details["correlation_id"].as_str().unwrap().to_owned());
        }
        store.fails.store(false, Ordering::SeqCst);
        tokio::time::advance(Duration::from_secs(3)).await;
        assert!(adapter.call("read_clock", json!({})).await.is_success());
        assert!(adapter.call("read_clock", json!({})).await.is_success());
    });
    ids.dedup();
    let [id] = &*ids else { panic!("{ids:?}") };
    let reports = reports(&log);
    let [begin, end] = &*reports else { panic!("{reports:#?}") };
    assert!(begin.contains("the store fails") && begin.contains("disk I/O error"), "{begin}");
    assert!(end.contains("the store works again") && end.contains("failed=1000"), "{end}");
    assert!(begin.contains(id) && end.contains(id), "{id}");
}

#[test]
fn a_store_that_fails_now_and_then_is_logged_at_intervals() {
    let store = Arc::new(Unreliable::default());
    let adapter = adapter(&store);
    let log = logged_on_paused_clock(async || {
        for call in 0..6_000 {
            store.fails.store(call % 2 == 0, Ordering::SeqCst);
            adapter.call("read_clock", json!({})).await;
            tokio::time::advance(Duration::from_millis(20)).await;
        }
    });
    // The outage lasts two minutes: one line at its beginning, and one after each minute.
    let reports = reports(&log);
    let [begin, first] = &*reports else { panic!("{reports:#?}") };
    assert!(begin.contains("the store fails"), "{begin}");
    assert!(first.contains("the store still fails") && first.contains("failed=1501"), "{first}");
}
