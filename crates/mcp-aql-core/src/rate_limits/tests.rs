//! Tests the limiter as a whole: against a list of all calls, under load, and with several adapters.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};

use chrono::DateTime;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::counter::Micros;
use super::ledger::Ledger;
use super::rules::{Exceeded, LimitDecision, LimitRules, QuotaUsage};
use super::*;
use crate::observe::audit::AuditSink;
use crate::store::hooked::{Hook, Hooked, HookedCall};
use crate::store::{Change, MemoryState, StateStore, StoreError};
use crate::text::leaks_internals;
use crate::{
    Adapter, BoxFuture, Context, OperationError, OperationResult, SemanticCategory, TimeSource,
    operations,
};

const SECOND: Micros = 1_000_000;

/// 2031-05-06T07:00:00Z
const START: Micros = 1_935_817_200 * SECOND;

#[derive(Clone)]
struct Clock(Arc<AtomicI64>);

impl Clock {
    fn new() -> Self {
        Self(Arc::new(AtomicI64::new(START)))
    }

    fn pass(&self, seconds: i64) {
        self.0.fetch_add(seconds * SECOND, Ordering::Relaxed);
    }

    fn source(&self) -> TimeSource {
        let now = Arc::clone(&self.0);
        TimeSource::new(move || {
            DateTime::from_timestamp_micros(now.load(Ordering::Relaxed)).unwrap()
        })
    }
}

/// A store shared by several adapters. It counts writes.
type Shared = Arc<Hooked<WriteCounter>>;

#[derive(Default)]
struct WriteCounter {
    writes: AtomicUsize,
}

impl Hook for WriteCounter {
    type Held = ();

    async fn before(&self, access: HookedCall) -> Result<(), StoreError> {
        // Let other tasks run in between.
        tokio::task::yield_now().await;
        if access == HookedCall::Write {
            self.writes.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// An adapter's operations. They count their runs, and report usage.
struct Rooms(Arc<AtomicUsize>);

#[operations]
impl Rooms {
    /// Book a room.
    #[operation(category = "CREATE", rationale = "a booking is made")]
    async fn book_room(&self, context: Context) -> usize {
        context.report_usage(Usage::tokens(100).cost(0.25));
        self.0.fetch_add(1, Ordering::Relaxed)
    }

    /// List the rooms.
    #[operation(category = "READ")]
    async fn list_rooms(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Ask the carrier.
    #[operation(category = "READ", rationale = "it asks")]
    async fn ask_carrier(
        &self,
        context: Context,
        /// The status that it answers with.
        status: u16,
        /// The name of a header.
        header: Option<String>,
        /// The value of the header.
        value: Option<String>,
    ) -> Result<usize, OperationError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let (header, value) = (header.unwrap_or_default(), value.unwrap_or_default());
        context
            .report_upstream_response(status, &[(&header, &value), ("Content-Type", "x")])
            .await?;
        Ok(0)
    }
}

fn rules(limits: RateLimits) -> LimitRules {
    let operations = [
        ("book_room", "create", SemanticCategory::Create),
        ("list_rooms", "read", SemanticCategory::Read),
    ];
    LimitRules::new(&limits, operations)
}

/// Generates times between calls in milliseconds: short, about as long as a window, or arbitrary.
fn waits() -> impl Strategy<Value = i64> {
    prop_oneof![4 => 0..400_i64, 2 => 58_500..60_500_i64, 1 => 0..20_000_i64]
}

/// Generates how far the clock is set back between calls, in milliseconds: not at all, a little, or far.
fn jumps() -> impl Strategy<Value = i64> {
    prop_oneof![12 => Just(0_i64), 1 => 0..60_000_i64, 1 => 0..90_000_000_i64]
}

/// Returns the configuration of property tests. Set `PROPTEST_CASES` to run more cases.
fn cases(usual: u32) -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig::with_cases(cases.unwrap_or(usual))
}

proptest! {
    #![proptest_config(cases(1_000))]

    /// In any window of true time, at most the declared number of calls runs, even if the clock is set back. The
    /// clock is never set forward.
    #[test]
    fn no_window_ever_has_more_than_declared(
        steps in proptest::collection::vec((waits(), jumps(), any::<bool>()), 1..120),
        global in 1..8_u32,
        create in 1..4_u32,
    ) {
        // REQ-RATE-01
        let rules = rules(
            RateLimits::new()
                .limit(ApiLimit::global(global))
                .limit(ApiLimit::endpoint("create", create))
                .limit(ApiLimit::global(5).per(Window::Second)),
        );
        let (mut ledger, mut clock, mut truth) = (Ledger::default(), START, 0);
        let mut admitted: Vec<(Micros, bool)> = Vec::new();
        for (wait, back, creates) in steps {
            clock += wait * 1_000;
            truth += wait * 1_000;
            clock -= back * 1_000;
            let operation = if creates { "book_room" } else { "list_rooms" };
            let now = ledger.time(clock);
            if matches!(rules.decide(&ledger, operation, now, false), LimitDecision::Admit(_)) {
                rules.count(&mut ledger, operation, now);
                admitted.push((truth, creates));
            }
        }
        for (start, _) in &admitted {
            let within = |length: Micros, all: bool| {
                let end = start + length;
                let calls = admitted.iter().filter(|(at, creates)| {
                    start <= at && *at < end && (all || *creates)
                });
                u32::try_from(calls.count()).unwrap()
            };
            prop_assert!(within(60 * SECOND, true) <= global);
            prop_assert!(within(60 * SECOND, false) <= create);
            prop_assert!(within(SECOND, true) <= 5);
        }
    }

    /// The limiter is stricter than declared by at most one part of the window.
    #[test]
    fn no_call_waits_much_longer_than_it_must(
        waits in proptest::collection::vec(0..20_000_i64, 1..300),
        limit in 1..12_u32,
    ) {
        // REQ-RATE-01
        let rules = rules(RateLimits::new().limit(ApiLimit::global(limit)));
        let (mut ledger, mut now) = (Ledger::default(), START);
        let mut admitted: Vec<Micros> = Vec::new();
        for wait in waits {
            now += wait * 1_000;
            let recent = admitted.iter().filter(|at| **at > now - 61 * SECOND).count();
            match rules.decide(&ledger, "list_rooms", now, false) {
                LimitDecision::Admit(_) => {
                    rules.count(&mut ledger, "list_rooms", now);
                    admitted.push(now);
                }
                refused => {
                    prop_assert!(recent >= usize::try_from(limit).unwrap());
                    let LimitDecision::Exceeded(Exceeded { resets_at, .. }) = refused else {
                        panic!("{refused:?}")
                    };
                    // The reported reset time is exact.
                    let then = rules.decide(&ledger, "list_rooms", resets_at, false);
                    prop_assert!(matches!(then, LimitDecision::Admit(_)));
                    let before = rules.decide(&ledger, "list_rooms", resets_at - 1, false);
                    prop_assert!(matches!(before, LimitDecision::Exceeded(_)));
                }
            }
        }
    }
}

fn adapter(limits: RateLimits, clock: &Clock, store: Shared, ran: &Arc<AtomicUsize>) -> Adapter {
    Adapter::builder("hotel")
        .without_config()
        .operations(Rooms(Arc::clone(ran)))
        .rate_limits(limits)
        .store(store)
        .time_source(clock.source())
        .build()
        .unwrap()
}

async fn many(adapters: &[Adapter], calls: usize) -> usize {
    let calls: Vec<_> = (0..calls)
        .map(|number| {
            let adapter = adapters[number % adapters.len()].clone();
            tokio::spawn(async move { adapter.call("book_room", json!({})).await })
        })
        .collect();
    let mut done = 0;
    for call in calls {
        let result = call.await.unwrap();
        assert!(
            matches!(result.code(), None | Some("RATE_LIMIT_EXCEEDED")),
            "{:?}",
            result.error()
        );
        done += usize::from(result.is_success());
    }
    done
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_and_adapters_at_the_same_time_keep_to_the_limit_together() {
    // REQ-RATE-01
    let (clock, store, ran) = (Clock::new(), Shared::default(), Arc::default());
    let limits = || RateLimits::new().limit(ApiLimit::global(10));
    let one = [adapter(limits(), &clock, store.clone(), &ran)];
    assert_eq!(many(&one, 64).await, 10);
    clock.pass(61);
    let two = [&one[..], &[adapter(limits(), &clock, store.clone(), &ran)]].concat();
    assert_eq!(many(&two, 64).await, 10);
    assert_eq!(ran.load(Ordering::Relaxed), 20);
    // Simulate a restart: another adapter uses the same store.
    let again = [adapter(limits(), &clock, store, &ran)];
    assert_eq!(many(&again, 4).await, 0);
}

#[tokio::test]
async fn what_is_refused_elsewhere_is_not_counted() {
    // REQ-RATE-01
    let (clock, store, ran) = (Clock::new(), Shared::default(), Arc::default());
    let limits = RateLimits::new().limit(ApiLimit::global(1));
    let adapter = adapter(limits, &clock, store, &ran);
    for (operation, params) in [
        ("introspect", json!({ "query": "operations" })),
        ("introspect", json!({ "query": "quota_status" })),
        ("book_rom", json!({})),
        ("book_room", json!({ "nonsense": 1 })),
    ] {
        adapter.call(operation, params).await;
    }
    assert!(adapter.call("book_room", json!({})).await.is_success());
    assert_eq!(adapter.call("book_room", json!({})).await.code(), Some("RATE_LIMIT_EXCEEDED"));
}

#[tokio::test]
async fn what_operations_report_is_counted_afterwards() {
    // REQ-RATE-05, REQ-RATE-10
    let (clock, store, ran) = (Clock::new(), Shared::default(), Arc::default());
    let limits = RateLimits::new()
        .quota(Quota::new(Metric::TokensPerHour).hard_stop(250))
        .quota(Quota::new(Metric::CostPerMonth).hard_stop(100))
        .cost(CostModel::PerCall(1.0))
        .cost(CostModel::PerToken(0.01));
    let adapter = adapter(limits, &clock, store, &ran);
    for _ in 0..3 {
        assert!(adapter.call("book_room", json!({})).await.is_success());
    }
    let refused = adapter.call("book_room", json!({})).await;
    assert_eq!(refused.code(), Some("RATE_LIMIT_QUOTA_EXHAUSTED"));
    let details = &refused.error().unwrap().details;
    assert_eq!(details["current"], 300);
    assert_eq!(details["hard_stop_threshold"], 250);
    assert_eq!(details["retry_after_seconds"], 3_600);
    let status = adapter.call("introspect", json!({ "query": "quota_status" })).await;
    // Three calls use a hundred tokens each, in addition to the reported costs.
    assert_eq!(status.data()["quotas"][1]["current"], 3.0 + 3.0 + 0.75);
    clock.pass(3_600);
    assert!(adapter.call("book_room", json!({})).await.is_success());
}

#[test]
fn a_call_whose_price_leads_beyond_the_quota_does_not_run() {
    // REQ-RATE-04, REQ-RATE-10
    let rules = rules(
        RateLimits::new()
            .quota(Quota::new(Metric::CostPerDay).warn(1.5).hard_stop(2))
            .cost(CostModel::tiered([Tier::up_to(1, 0.0), Tier::beyond(0.75)])),
    );
    let mut ledger = Ledger::default();
    for current in [0, 750_000_000, 1_500_000_000] {
        let warned: Vec<_> = (current >= 1_500_000_000)
            .then_some(QuotaUsage { quota: 0, current })
            .into_iter()
            .collect();
        let decision = rules.decide(&ledger, "book_room", START, false);
        assert_eq!(decision, LimitDecision::Admit(warned));
        rules.count(&mut ledger, "book_room", START);
    }
    let decision = rules.decide(&ledger, "book_room", START, false);
    let spent = QuotaUsage { quota: 0, current: 1_500_000_000 };
    assert_eq!(decision, LimitDecision::Exhausted(spent, START + 86_400 * SECOND));
}

#[test]
fn many_small_costs_reach_the_hard_stop() {
    // REQ-RATE-04, REQ-RATE-10
    for (price, tokens, calls) in [
        (CostModel::PerCall(0.000_000_4), 0, 25),
        (CostModel::tiered([Tier::beyond(0.000_000_4)]), 0, 25),
        (CostModel::PerToken(0.000_000_02), 20, 25),
        (CostModel::PerByte(0.000_000_02), 20, 25),
        // A billionth is the smallest cost of a call.
        (CostModel::PerCall(0.000_000_000_4), 0, 10_000),
        (CostModel::PerToken(0.000_000_000_02), 20, 10_000),
    ] {
        let quota = Quota::new(Metric::CostPerMonth).hard_stop(0.000_01);
        let rules = rules(RateLimits::new().quota(quota).cost(price.clone()));
        let mut ledger = Ledger::default();
        for _ in 0..calls {
            let decision = rules.decide(&ledger, "book_room", START, false);
            assert!(matches!(decision, LimitDecision::Admit(_)), "{price:?}: {decision:?}");
            rules.count(&mut ledger, "book_room", START);
            rules.settle(&mut ledger, Usage::tokens(tokens).bytes(tokens), START);
        }
        let decision = rules.decide(&ledger, "book_room", START, false);
        assert!(matches!(decision, LimitDecision::Exhausted(..)), "{price:?}: {decision:?}");
    }
}

#[test]
fn a_sum_of_costs_stays_at_its_maximum() {
    // REQ-RATE-04
    let quota = Quota::new(Metric::CostPerMonth).hard_stop(1_000_000_000);
    let rules = rules(RateLimits::new().quota(quota));
    let mut ledger = Ledger::default();
    for _ in 0..3 {
        rules.settle(&mut ledger, Usage::default().cost(f64::MAX), START);
    }
    let decision = rules.decide(&ledger, "book_room", START, false);
    assert!(matches!(decision, LimitDecision::Exhausted(..)), "{decision:?}");
}

#[test]
fn warnings_begin_at_four_fifths_and_are_urgent_above_nine_tenths() {
    // REQ-WRN-06, REQ-RATE-06
    let rules = rules(
        RateLimits::new().quota(Quota::new(Metric::RequestsPerHour).pause(95).hard_stop(100)),
    );
    let warning = |current| limit_error::warning(&rules, QuotaUsage { quota: 0, current }).unwrap();
    for (current, severity) in [(80, "medium"), (90, "medium"), (91, "high"), (100, "high")] {
        let warning = serde_json::to_value(warning(current)).unwrap();
        assert_eq!(
            warning,
            json!({
                "code": "RATE_LIMIT_QUOTA_WARNING",
                "message": "Approaching quota limit: 'requests_per_hour'",
                "severity": severity,
                "details": {
                    "metric": "requests_per_hour", "current": current, "warn_threshold": 80,
                    "pause_threshold": 95, "hard_stop_threshold": 100,
                },
            })
        );
    }
    let mut ledger = Ledger::default();
    for _ in 0..79 {
        assert_eq!(
            rules.decide(&ledger, "list_rooms", START, false),
            LimitDecision::Admit(Vec::new())
        );
        rules.count(&mut ledger, "list_rooms", START);
    }
    let warned = vec![QuotaUsage { quota: 0, current: 80 }];
    assert_eq!(rules.decide(&ledger, "list_rooms", START, false), LimitDecision::Admit(warned));
}

#[test]
fn no_refusal_looks_like_a_leak() {
    // REQ-ERR-04, REQ-RATE-06
    let rules = rules(
        RateLimits::new()
            .limit(ApiLimit::global(5))
            .quota(Quota::new(Metric::CostPerMonth).warn(1).pause(2).hard_stop(3)),
    );
    let (now, spent) = (START, QuotaUsage { quota: 0, current: 2_500_000 });
    let token = ("quota_continue_x".to_owned(), DateTime::UNIX_EPOCH);
    for error in [
        limit_error::exceeded(&rules, &Exceeded { limit: Some(0), resets_at: now + 1 }, now),
        limit_error::exceeded(&rules, &Exceeded { limit: None, resets_at: now }, now),
        limit_error::exhausted(&rules, spent, now, now),
        limit_error::paused(&rules, spent, token),
    ] {
        assert!(!leaks_internals(error.message()), "{}", error.message());
        assert_ne!(error.code(), crate::ErrorCode::InternalError);
    }
    assert!(!leaks_internals(limit_error::warning(&rules, spent).unwrap().message()));
}

/// An audit log in memory.
#[derive(Clone, Default)]
struct Log(Arc<std::sync::Mutex<Vec<Value>>>);

impl AuditSink for Log {
    fn append<'a>(&'a self, line: &'a str) -> BoxFuture<'a, std::io::Result<()>> {
        self.0.lock().unwrap().push(serde_json::from_str(line).unwrap());
        Box::pin(std::future::ready(Ok(())))
    }
}

#[tokio::test]
async fn every_decision_is_in_the_audit_log() {
    // REQ-RATE-04, REQ-RATE-07
    let log = Log::default();
    let limits = RateLimits::new()
        .limit(ApiLimit::category(SemanticCategory::Read, 1))
        .quota(Quota::new(Metric::RequestsPerHour).warn(1).pause(2).hard_stop(3));
    let adapter = Adapter::builder("hotel")
        .without_config()
        .operations(Rooms(Arc::default()))
        .rate_limits(limits)
        .audit_sink(log.clone())
        .build()
        .unwrap();
    adapter.call("list_rooms", json!({})).await;
    adapter.call("list_rooms", json!({})).await;
    adapter.call("book_room", json!({})).await;
    let paused = adapter.call("book_room", json!({})).await;
    let token = paused.error().unwrap().details["confirmation_token"].clone();
    let again = adapter.call("book_room", json!({ "_quota_continue": token })).await;
    assert!(again.is_success());
    adapter.call("book_room", json!({})).await;
    let lines = log.0.lock().unwrap();
    let decisions: Vec<_> = lines
        .iter()
        .filter(|line| {
            let event = line["event"].as_str().unwrap();
            event.starts_with("QUOTA_") || event.starts_with("LIMIT_")
        })
        .map(|line| {
            ["event", "operation", "outcome", "reason"].map(|key| line[key].as_str().unwrap())
        })
        .collect();
    assert_eq!(
        decisions,
        [
            ["QUOTA_WARNING", "list_rooms", "allowed", "requests_per_hour"],
            ["LIMIT_EXCEEDED", "list_rooms", "denied", "category:READ:minute"],
            ["QUOTA_WARNING", "book_room", "allowed", "requests_per_hour"],
            ["QUOTA_PAUSED", "book_room", "denied", "requests_per_hour"],
            ["QUOTA_CONTINUED", "book_room", "confirmed", "requests_per_hour"],
            ["QUOTA_WARNING", "book_room", "allowed", "requests_per_hour"],
            ["QUOTA_EXHAUSTED", "book_room", "denied", "requests_per_hour"],
        ]
    );
}

#[tokio::test]
async fn counters_that_cannot_be_read_stop_what_they_count_and_nothing_else() {
    // REQ-RATE-01
    let create = || RateLimits::new().limit(ApiLimit::endpoint("create", 9));
    let both = || create().limit(ApiLimit::endpoint("read", 9));
    let quota = || create().quota(Quota::new(Metric::TokensPerDay).hard_stop(9));
    let other = r#"{"newest":1,"counters":{"endpoint:create:minute":7},"upstream":{"x":[]}}"#;
    for (shows, kept, limits, lists) in [
        ("the record is lost", "[]", create(), true),
        ("a quota is about all calls", "[]", quota(), false),
        ("one counter of two", other, both(), true),
        (
            "what an API said",
            r#"{"newest":1,"counters":{},"upstream":{"operation:list_rooms":0}}"#,
            quota(),
            false,
        ),
    ] {
        let (clock, store, ran) = (Clock::new(), Shared::default(), Arc::default());
        let record = crate::store::NewRecord::new(kept);
        let change = Change::put("limits", "hotel", crate::store::Expected::Absent, record);
        store.write(vec![change]).await.unwrap();
        let log = Log::default();
        let adapter = Adapter::builder("hotel")
            .without_config()
            .operations(Rooms(Arc::clone(&ran)))
            .rate_limits(limits)
            .store(store.clone())
            .time_source(clock.source())
            .audit_sink(log.clone())
            .build()
            .unwrap();
        let listed = adapter.call("list_rooms", json!({})).await;
        assert_eq!(listed.is_success(), lists, "{shows}");
        let booked = adapter.call("book_room", json!({})).await;
        let (refused, outcome) = if shows.starts_with("what") {
            ("list_rooms", listed.code())
        } else {
            ("book_room", booked.code())
        };
        assert_eq!(outcome, Some("INTERNAL_ERROR"), "{shows}");
        let unreadable = |line: &&Value| line["event"] == "LIMIT_UNREADABLE";
        let lines = log.0.lock().unwrap().clone();
        let line = lines.iter().rfind(unreadable).unwrap();
        assert_eq!((&line["operation"], &line["outcome"]), (&json!(refused), &json!("denied")));
        // The damaged record is not overwritten, so that it can be repaired.
        let record = store.get("limits", "hotel").await.unwrap().unwrap();
        assert!(kept == record.value || record.value.contains(":7") || record.value.contains(":0"));
    }
}

#[tokio::test]
async fn calls_that_come_together_are_counted_with_one_write() {
    // REQ-RATE-01
    let store = Arc::new(Hooked::new(Odd { slow: true, ..Odd::default() }));
    let adapter = Adapter::builder("hotel")
        .without_config()
        .operations(Rooms(Arc::default()))
        .rate_limits(RateLimits::new().limit(ApiLimit::global(60)))
        .store(store.clone())
        .build()
        .unwrap();
    let calls = (0..64).map(|_| adapter.call("list_rooms", json!({})));
    let results = futures_util::future::join_all(calls).await;
    assert_eq!(results.iter().filter(|result| result.is_success()).count(), 60);
    let writes = store.hook.counted.writes.load(Ordering::Relaxed);
    assert!(writes <= 3, "{writes} writes");
}

#[tokio::test]
async fn nobody_waits_for_a_call_that_is_not_polled_any_more() {
    // REQ-RATE-01
    let (clock, store, ran) = (Clock::new(), Shared::default(), Arc::default());
    let adapter = adapter(RateLimits::new().limit(ApiLimit::global(3)), &clock, store, &ran);
    for polls in 1..3 {
        let mut asleep = Box::pin(adapter.call("list_rooms", json!({})));
        for _ in 0..polls {
            assert!(crate::util::poll_once(&mut asleep).await.is_pending(), "{polls}");
        }
        let other = adapter.call("list_rooms", json!({}));
        let other = tokio::time::timeout(std::time::Duration::from_secs(60), other).await;
        assert!(other.unwrap().is_success());
        assert!(asleep.await.is_success());
        clock.pass(61);
    }
}

#[tokio::test]
async fn a_call_that_is_given_up_keeps_no_store_open() {
    let (clock, store, ran) = (Clock::new(), Shared::default(), Arc::default());
    for polls in 1..3 {
        let limits = RateLimits::new().limit(ApiLimit::global(3));
        let adapter = adapter(limits, &clock, store.clone(), &ran);
        let mut asleep = Box::pin(adapter.call("list_rooms", json!({})));
        for _ in 0..polls {
            assert!(crate::util::poll_once(&mut asleep).await.is_pending(), "{polls}");
        }
        drop(asleep);
        drop(adapter);
        // The write completes although its callers were canceled.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert_eq!(Arc::strong_count(&store), 1, "{polls}");
    }
}

/// A store with one connection, like a pool of size one.
#[derive(Default)]
struct Single {
    counted: WriteCounter,
    connection: Arc<tokio::sync::Mutex<()>>,
}

impl Hook for Single {
    type Held = tokio::sync::OwnedMutexGuard<()>;

    async fn before(&self, access: HookedCall) -> Result<Self::Held, StoreError> {
        let connection = Arc::clone(&self.connection).lock_owned().await;
        self.counted.before(access).await?;
        Ok(connection)
    }
}

#[tokio::test]
async fn a_call_that_is_given_up_keeps_nobody_from_the_store() {
    // REQ-RATE-01
    let store = Arc::new(Hooked::<Single>::default());
    let connection = &store.hook.connection;
    let adapter = Adapter::builder("hotel")
        .without_config()
        .operations(Rooms(Arc::default()))
        .rate_limits(RateLimits::new().limit(ApiLimit::global(9)))
        .store(store.clone())
        .build()
        .unwrap();
    for polls in 1..3 {
        let mut asleep = Box::pin(adapter.call("list_rooms", json!({})));
        for _ in 0..polls {
            assert!(crate::util::poll_once(&mut asleep).await.is_pending(), "{polls}");
        }
        assert!(connection.try_lock().is_err(), "{polls}");
        drop(asleep);
        let free = tokio::time::timeout(std::time::Duration::from_secs(60), connection.lock());
        assert!(free.await.is_ok(), "{polls}");
    }
}

/// A store that is slow or panics once.
#[derive(Default)]
struct Odd {
    counted: WriteCounter,
    slow: bool,
    panics: AtomicBool,
}

impl Hook for Odd {
    type Held = ();

    async fn before(&self, access: HookedCall) -> Result<(), StoreError> {
        if access == HookedCall::Get {
            let time = if self.slow { 5 } else { 0 };
            tokio::time::sleep(std::time::Duration::from_millis(time)).await;
            assert!(!self.panics.swap(false, Ordering::Relaxed), "by a store's author");
        }
        self.counted.before(access).await
    }
}

#[tokio::test]
async fn a_store_that_panics_keeps_no_later_call_waiting() {
    let store = Arc::new(Hooked::<Odd>::default());
    let adapter = Adapter::builder("hotel")
        .without_config()
        .operations(Rooms(Arc::default()))
        .rate_limits(RateLimits::new().limit(ApiLimit::global(9)))
        .store(store.clone())
        .build()
        .unwrap();
    store.hook.panics.store(true, Ordering::Relaxed);
    let calls = (0..3).map(|_| adapter.call("list_rooms", json!({})));
    let results = futures_util::future::join_all(calls).await;
    let codes: Vec<_> = results.iter().map(OperationResult::code).collect();
    assert_eq!(codes, [Some("INTERNAL_ERROR"), None, None], "the others were not part of it");
    assert!(adapter.call("list_rooms", json!({})).await.is_success());
}

/// Builds an adapter whose bookings must be confirmed.
fn careful(limits: RateLimits, clock: &Clock, ran: &Arc<AtomicUsize>) -> Adapter {
    Adapter::builder("hotel")
        .without_config()
        .operations(Rooms(Arc::clone(ran)))
        .rate_limits(limits)
        .policy(crate::Policy::confirm("book_room"))
        .store(Shared::default())
        .time_source(clock.source())
        .build()
        .unwrap()
}

async fn token(adapter: &Adapter, code: &str, params: Value) -> Value {
    let refused = adapter.call("book_room", params).await;
    assert_eq!(refused.code(), Some(code));
    refused.error().unwrap().details["confirmation_token"].clone()
}

#[tokio::test]
async fn a_race_for_the_last_place_costs_nobody_a_token() {
    // REQ-RATE-01, REQ-TOK-10
    let (clock, ran) = (Clock::new(), Arc::default());
    let adapter = careful(RateLimits::new().limit(ApiLimit::global(1)), &clock, &ran);
    let mut tokens = Vec::new();
    for _ in 0..3 {
        tokens.push(token(&adapter, "CONFIRMATION_REQUIRED", json!({})).await);
    }
    for round in (1..=3).rev() {
        let calls = tokens.iter().map(|token| {
            let params = json!({ "_confirmation": token });
            adapter.call("book_room", params)
        });
        let results = futures_util::future::join_all(calls).await;
        let outcomes: Vec<_> = results.iter().map(OperationResult::code).collect();
        assert_eq!(outcomes.iter().filter(|code| code.is_none()).count(), 1, "{outcomes:?}");
        // The other calls keep their tokens.
        let full = outcomes.iter().filter(|code| **code == Some("RATE_LIMIT_EXCEEDED"));
        assert_eq!(full.count(), round - 1, "{outcomes:?}");
        let done = outcomes.iter().position(Option::is_none).unwrap();
        tokens.remove(done);
        clock.pass(61);
    }
    assert_eq!(ran.load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn a_call_that_does_not_run_gives_its_place_back() {
    // REQ-RATE-01, REQ-RATE-07, REQ-TOK-10
    let (clock, ran) = (Clock::new(), Arc::default());
    let limits = RateLimits::new()
        .limit(ApiLimit::global(100))
        .quota(Quota::new(Metric::RequestsPerHour).pause(1).hard_stop(50));
    let adapter = careful(limits, &clock, &ran);
    assert!(adapter.call("list_rooms", json!({})).await.is_success());
    let go_on = token(&adapter, "RATE_LIMIT_QUOTA_PAUSE", json!({})).await;
    let params = json!({ "_quota_continue": go_on });
    let confirmed = token(&adapter, "CONFIRMATION_REQUIRED", params).await;
    let both = json!({ "_quota_continue": go_on, "_confirmation": confirmed });
    let calls = (0..64).map(|_| adapter.call("book_room", both.clone()));
    let results = futures_util::future::join_all(calls).await;
    assert_eq!(results.iter().filter(|result| result.is_success()).count(), 1);
    for result in results.iter().filter(|result| !result.is_success()) {
        let code = result.code().unwrap();
        let expected = ["TOKEN_ALREADY_USED", "RATE_LIMIT_EXCEEDED", "RATE_LIMIT_QUOTA_EXHAUSTED"];
        assert!(expected.contains(&code), "{code}");
    }
    assert_eq!(ran.load(Ordering::Relaxed), 1);
    let status = adapter.call("introspect", json!({ "query": "quota_status" })).await;
    assert_eq!(status.data()["api_limits"]["global"]["remaining"], 98);
    assert_eq!(status.data()["quotas"][0]["current"], 2);
}

#[tokio::test]
async fn of_two_tokens_neither_is_used_up_when_one_is_not_good() {
    // REQ-RATE-07, REQ-TOK-07, REQ-TOK-10
    let (clock, ran) = (Clock::new(), Arc::default());
    let limits = RateLimits::new().quota(Quota::new(Metric::RequestsPerHour).pause(1));
    let adapter = careful(limits, &clock, &ran);
    assert!(adapter.call("list_rooms", json!({})).await.is_success());
    let go_on = token(&adapter, "RATE_LIMIT_QUOTA_PAUSE", json!({})).await;
    let confirmed = {
        let params = json!({ "_quota_continue": go_on });
        token(&adapter, "CONFIRMATION_REQUIRED", params).await
    };
    for (quota, confirmation) in
        [(json!("quota_continue_x"), &confirmed), (go_on.clone(), &json!("conf_x"))]
    {
        let params = json!({ "_quota_continue": quota, "_confirmation": confirmation });
        let refused = adapter.call("book_room", params).await;
        assert_eq!(refused.code(), Some("TOKEN_INVALID"));
    }
    let both = json!({ "_quota_continue": go_on, "_confirmation": confirmed });
    assert!(adapter.call("book_room", both).await.is_success());
}

#[tokio::test]
async fn what_a_wrapped_api_says_is_kept_to_before_calls_are_sent() {
    // REQ-RATE-01, REQ-RATE-02, REQ-RATE-09
    let (clock, store, ran) = (Clock::new(), Shared::default(), Arc::default());
    let limits = || {
        RateLimits::new().limit(
            ApiLimit::endpoint("create", 50).remaining_header("X-Left").reset_header("X-Reset"),
        )
    };
    let first = adapter(limits(), &clock, store.clone(), &ran);
    let ask = |status: u16, header: &str, value: &str| json!({ "status": status, "header": header, "value": value });
    let answer = first.call("ask_carrier", ask(429, "Retry-After", "12")).await;
    assert_eq!(answer.code(), Some("RATE_LIMIT_EXCEEDED"));
    let details = &answer.error().unwrap().details;
    assert_eq!(details["retry_after_seconds"], 12);
    assert_eq!(details["resets_at"], "2031-05-06T07:00:12.000Z");
    assert_eq!(details["limit"], Value::Null);
    // No declared limit counts this operation. Other operations are not affected.
    assert!(first.call("book_room", json!({})).await.is_success());
    clock.pass(11);
    let answer = first.call("ask_carrier", ask(200, "X", "")).await;
    assert_eq!(answer.error().unwrap().details["retry_after_seconds"], 1);
    assert_eq!(ran.load(Ordering::Relaxed), 2, "the call was sent");
    clock.pass(1);
    assert!(first.call("ask_carrier", ask(200, "X", "")).await.is_success());
    // The service is unavailable. The operation reports its own error, and the delay is remembered.
    assert!(first.call("ask_carrier", ask(503, "retry-after", "5")).await.is_success());
    let answer = first.call("ask_carrier", ask(200, "X", "")).await;
    assert_eq!(answer.error().unwrap().details["retry_after_seconds"], 5);
    // With a declared limit, the block survives restarts.
    let limits = || limits().limit(ApiLimit::category(SemanticCategory::Read, 50));
    let first = adapter(limits(), &clock, store.clone(), &ran);
    let answer = first.call("ask_carrier", ask(429, "Retry-After", "12")).await;
    assert_eq!(answer.error().unwrap().details["limit"], 50);
    let second = adapter(limits(), &clock, store.clone(), &ran);
    let answer = second.call("ask_carrier", ask(200, "X", "")).await;
    assert_eq!(answer.error().unwrap().details["retry_after_seconds"], 12);
}

/// An unreachable store. It counts the attempts to use it.
#[derive(Default)]
struct Unreachable(AtomicUsize);

impl Hook for Unreachable {
    type Held = ();

    async fn before(&self, _: HookedCall) -> Result<(), StoreError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Err(StoreError::failed("connection refused"))
    }
}

#[tokio::test]
async fn operations_without_a_limit_do_not_use_the_store() {
    // REQ-RATE-01
    let (store, ran) = (Arc::new(Hooked::new(Unreachable::default())), Arc::default());
    let used = || store.hook.0.load(Ordering::Relaxed);
    let adapter = Adapter::builder("hotel")
        .without_config()
        .operations(Rooms(Arc::clone(&ran)))
        .rate_limits(RateLimits::new().limit(ApiLimit::endpoint("create", 50)))
        .store(Arc::clone(&store))
        .build()
        .unwrap();
    assert!(adapter.call("list_rooms", json!({})).await.is_success());
    let ask = json!({ "status": 429, "header": "Retry-After", "value": "30" });
    for _ in 0..2 {
        let answer = adapter.call("ask_carrier", ask.clone()).await;
        assert_eq!(answer.code(), Some("RATE_LIMIT_EXCEEDED"));
    }
    assert_eq!(ran.load(Ordering::Relaxed), 1, "the second call was not sent");
    assert_eq!(used(), 0);
    assert_eq!(adapter.call("book_room", json!({})).await.code(), Some("INTERNAL_ERROR"));
    assert_eq!(used(), 1);
    assert_eq!(ran.load(Ordering::Relaxed), 1, "a limit that cannot be checked admits no call");
}

#[test]
fn headers_of_a_limit_block_what_it_counts() {
    // REQ-RATE-03, REQ-RATE-09
    let services = || {
        let audit = crate::observe::audit::Audit {
            adapter: "hotel".to_owned(),
            trust: crate::TrustLevel::Untested,
            time: TimeSource::default(),
            sinks: Vec::new(),
            observers: Vec::new(),
        };
        let store = Arc::new(MemoryState::default());
        Arc::new(crate::services::Services::new(store, TimeSource::default(), audit))
    };
    let limits = RateLimits::new()
        .limit(ApiLimit::global(100).per(Window::Hour))
        .limit(ApiLimit::endpoint("create", 50).remaining_header("X-Left").reset_header("X-Reset"));
    let operations = [
        ("book_room", "create", SemanticCategory::Create),
        ("list_rooms", "read", SemanticCategory::Read),
    ];
    let limiter = Limiter::new(&limits, operations, services());
    let until = |ledger: &Ledger, operation| {
        limiter.rules.exceeded(ledger, operation, START).map(|it| (it.resets_at - START) / SECOND)
    };
    for (headers, status, book, list) in [
        (&[("x-left", "3")][..], 200, None, None),
        (&[("x-left", "0")], 200, Some(60), None),
        (&[("x-left", "0"), ("x-reset", "20")], 429, Some(20), None),
        (&[("x-left", "0"), ("retry-after", "30")], 429, Some(30), None),
        (&[("retry-after", "30")], 429, Some(30), Some(30)),
        (&[("x-reset", "20")], 429, Some(20), Some(20)),
        (&[], 429, Some(60), Some(60)),
        (&[], 503, None, None),
        (&[("retry-after", "30")], 200, None, None),
    ] {
        let mut ledger = Ledger::default();
        let changed =
            limiter.rules.record_response(&mut ledger, "book_room", status, headers, START);
        assert_eq!(until(&ledger, "book_room"), book, "{headers:?}");
        assert_eq!(until(&ledger, "list_rooms"), list, "{headers:?}");
        assert_eq!(changed, ledger != Ledger::default(), "{headers:?}");
    }
    // The remaining number decreases with each call until the API reports a new one.
    let mut ledger = Ledger::default();
    limiter.rules.record_response(&mut ledger, "book_room", 200, &[("x-left", "2")], START);
    for _ in 0..2 {
        assert_eq!(until(&ledger, "book_room"), None);
        limiter.rules.count(&mut ledger, "book_room", START);
    }
    assert_eq!(until(&ledger, "book_room"), Some(60));
}

#[test]
fn limits_that_a_start_forgets_are_warned_of() {
    let forgotten = |limits: RateLimits, store: Arc<dyn StateStore>| {
        let audit = crate::observe::audit::Audit {
            adapter: "hotel".to_owned(),
            trust: crate::TrustLevel::default(),
            time: TimeSource::default(),
            sinks: Vec::new(),
            observers: Vec::new(),
        };
        let services = crate::services::Services::new(store, TimeSource::default(), audit);
        Limiter::new(&limits, [], Arc::new(services)).forgotten_limits()
    };
    let monthly = || RateLimits::new().quota(Quota::new(Metric::CostPerMonth).hard_stop(5));
    let warning = forgotten(monthly(), Arc::new(MemoryState::default())).unwrap();
    assert!(warning.contains("counters of cost_per_month are only kept in memory"), "{warning}");
    let shared: Arc<dyn StateStore> = Arc::new(Arc::new(MemoryState::default()));
    assert!(forgotten(monthly(), shared).is_some());
    assert_eq!(forgotten(monthly(), Arc::new(Hooked::new(()))), None);
    let short = RateLimits::new().limit(ApiLimit::global(5));
    assert_eq!(forgotten(short, Arc::new(MemoryState::default())), None);
}
