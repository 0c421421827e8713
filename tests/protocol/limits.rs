//! Tests rate limits and quotas from an agent's view.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use mcp_aql::prelude::*;
use mcp_aql::rate_limits::{ApiLimit, CostModel, Metric, Quota, RateLimits, Usage, Window};
use mcp_aql::testing::Client;
use mcp_aql::testing::TimeSource;
use mcp_aql::{OperationResult, SemanticCategory};
use serde_json::{Value, json};

use crate::support::{ask, block_on, call, code, data, details, message, names};

/// Book a room.
#[operation(category = "CREATE", rationale = "a booking is made")]
fn book_room(
    /// How many nights.
    #[param(default = 1, minimum = 1)]
    nights: u32,
) -> u32 {
    nights
}

/// List the rooms.
#[operation(category = "READ")]
fn list_rooms() -> Vec<String> {
    Vec::new()
}

/// Describe a room at length.
#[operation(category = "READ", rationale = "it computes and stores nothing")]
async fn describe_room(
    context: Context,
    /// Number of words.
    words: u64,
) -> u64 {
    context.report_usage(Usage::tokens(words).cost(0.5));
    words
}

/// Delete the hotel.
#[operation(category = "DELETE")]
fn delete_hotel() -> bool {
    true
}

/// A clock that tests control.
#[derive(Clone)]
struct Clock(Arc<AtomicI64>);

impl Clock {
    fn new() -> Self {
        // 2031-05-06T07:00:00Z
        Self(Arc::new(AtomicI64::new(1_935_817_200)))
    }

    fn pass(&self, seconds: i64) {
        self.0.fetch_add(seconds, Ordering::Relaxed);
    }

    fn source(&self) -> TimeSource {
        let now = Arc::clone(&self.0);
        TimeSource::new(move || {
            chrono::DateTime::from_timestamp(now.load(Ordering::Relaxed), 0).unwrap()
        })
    }
}

fn hotel(limits: RateLimits, clock: &Clock) -> Adapter {
    Adapter::builder("hotel")
        .without_config()
        .operation(book_room {})
        .operation(list_rooms {})
        .operation(describe_room {})
        .operation(delete_hotel {})
        .rate_limits(limits)
        .time_source(clock.source())
        .build()
        .unwrap()
}

fn status(adapter: &Adapter) -> Value {
    data(call(adapter, "introspect", json!({ "query": "quota_status" })))
}

#[test]
fn no_window_has_more_calls_than_declared() {
    // REQ-RATE-01, REQ-RATE-02, REQ-RATE-06
    let clock = Clock::new();
    let hotel = hotel(RateLimits::new().limit(ApiLimit::global(2)), &clock);
    data(call(&hotel, "list_rooms", json!({})));
    clock.pass(40);
    data(call(&hotel, "book_room", json!({})));
    let refused = call(&hotel, "list_rooms", json!({}));
    assert_eq!(code(&refused), Some("RATE_LIMIT_EXCEEDED"));
    assert_eq!(message(&refused), "API rate limit exceeded. Try again in '20' seconds");
    assert_eq!(
        *details(&refused),
        json!({
            "limit": 2, "remaining": 0, "window": "minute", "scope": "global",
            "resets_at": "2031-05-06T07:01:00.000Z", "retry_after_seconds": 20,
        })
    );
    clock.pass(20);
    data(call(&hotel, "list_rooms", json!({})));
    // A fixed window would start again now. The sliding window still contains the last two calls.
    assert_eq!(code(&call(&hotel, "list_rooms", json!({}))), Some("RATE_LIMIT_EXCEEDED"));
}

#[test]
fn limits_count_everything_an_endpoint_or_a_category_in_four_windows() {
    // REQ-RATE-03
    for (window, seconds) in
        [(Window::Second, 1), (Window::Minute, 60), (Window::Hour, 3_600), (Window::Day, 86_400)]
    {
        let read = || ApiLimit::category(SemanticCategory::Read, 1).per(window);
        for (limit, reads, creates) in [
            (ApiLimit::global(1).per(window), true, true),
            (ApiLimit::endpoint("read", 1).per(window), true, false),
            (read(), true, false),
            (ApiLimit::endpoint("create", 1).per(window), false, true),
        ] {
            let clock = Clock::new();
            let hotel = hotel(RateLimits::new().limit(limit), &clock);
            for (operation, counted) in [("list_rooms", reads), ("book_room", creates)] {
                clock.pass(seconds);
                data(call(&hotel, operation, json!({})));
                let again = call(&hotel, operation, json!({}));
                assert_eq!(code(&again).is_some(), counted, "{operation} {window:?}: {again}");
                if counted {
                    assert_eq!(details(&again)["window"], window.as_str());
                    assert_eq!(details(&again)["retry_after_seconds"], seconds);
                }
            }
        }
    }
}

#[test]
fn a_limit_is_paced_where_it_has_a_burst() {
    // REQ-RATE-01, REQ-RATE-02
    let clock = Clock::new();
    let limit = ApiLimit::global(60).burst(2);
    let hotel = hotel(RateLimits::new().limit(limit), &clock);
    data(call(&hotel, "list_rooms", json!({})));
    data(call(&hotel, "list_rooms", json!({})));
    let refused = call(&hotel, "list_rooms", json!({}));
    assert_eq!(details(&refused)["retry_after_seconds"], 1);
    clock.pass(1);
    data(call(&hotel, "list_rooms", json!({})));
    assert_eq!(status(&hotel)["api_limits"]["global"]["remaining"], 57);
}

#[test]
fn items_of_a_batch_count_individually() {
    // REQ-RATE-01, REQ-BAT-05
    let hotel = hotel(RateLimits::new().limit(ApiLimit::global(2)), &Clock::new());
    let item = json!({ "operation": "list_rooms" });
    let reply = ask(&hotel, json!({ "operations": [item, item, item] }));
    assert_eq!(reply["summary"]["succeeded"], 2, "{reply}");
    assert_eq!(reply["results"][2]["result"]["error"]["code"], "RATE_LIMIT_EXCEEDED", "{reply}");
}

#[test]
fn a_batch_halts_where_a_quota_pauses() {
    // REQ-BAT-08 to REQ-BAT-11, REQ-RATE-07
    let quota = Quota::new(Metric::RequestsPerDay).pause(1);
    let hotel = hotel(RateLimits::new().quota(quota), &Clock::new());
    let item = |nights: u32| json!({ "operation": "book_room", "params": { "nights": nights } });
    let reply = ask(&hotel, json!({ "operations": [item(1), item(2), item(3)] }));
    assert_eq!(
        reply["summary"],
        json!({ "total": 3, "succeeded": 1, "failed": 0, "halted": 1, "pending": 1 }),
        "{reply}"
    );
    let halted = &reply["halted_at"];
    assert_eq!((&halted["index"], &halted["operation"]), (&json!(1), &json!("book_room")));
    let paused = &halted["result"];
    assert_eq!(code(paused), Some("RATE_LIMIT_QUOTA_PAUSE"));
    assert_eq!(reply["pending_operations"][0]["params"], json!({ "nights": 3 }));
    // With the token, the batch continues at that item, until the quota pauses the next one.
    let mut again = item(2);
    again["params"]["_quota_continue"] = details(paused)["confirmation_token"].clone();
    let reply = ask(&hotel, json!({ "operations": [again, item(3)] }));
    assert_eq!(reply["results"][0]["result"]["data"], 2, "{reply}");
    assert_eq!(reply["halted_at"]["index"], 1, "{reply}");
}

#[test]
fn a_quota_warns_pauses_and_stops() {
    // REQ-RATE-04, REQ-RATE-06, REQ-WRN-06
    let clock = Clock::new();
    let quota = Quota::new(Metric::RequestsPerHour).warn(3).pause(4).hard_stop(5);
    let hotel = hotel(RateLimits::new().quota(quota), &clock);
    for _ in 0..2 {
        let reply = call(&hotel, "book_room", json!({}));
        assert_eq!(names(&reply), ["data", "success"]);
    }
    assert_eq!(status(&hotel)["quotas"][0]["status"], "ok");
    let reply = call(&hotel, "book_room", json!({}));
    assert_eq!(
        reply["warnings"],
        json!([{
            "code": "RATE_LIMIT_QUOTA_WARNING", "severity": "medium",
            "message": "Approaching quota limit: 'requests_per_hour'",
            "details": {
                "metric": "requests_per_hour", "current": 3, "warn_threshold": 3,
                "pause_threshold": 4, "hard_stop_threshold": 5,
            },
        }])
    );
    assert_eq!(status(&hotel)["quotas"][0]["status"], "warn");
    data(call(&hotel, "book_room", json!({})));
    assert_eq!(status(&hotel)["quotas"][0]["status"], "paused");

    let paused = call(&hotel, "book_room", json!({}));
    assert_eq!(code(&paused), Some("RATE_LIMIT_QUOTA_PAUSE"));
    let token = details(&paused)["confirmation_token"].clone();
    assert!(token.as_str().unwrap().starts_with("quota_continue_"), "{token}");
    assert_eq!(
        *details(&paused),
        json!({
            "metric": "requests_per_hour", "current": 4, "pause_threshold": 4,
            "hard_stop_threshold": 5, "confirmation_token": token,
            "expires_at": "2031-05-06T07:05:00.000Z",
        })
    );
    let reply = call(&hotel, "book_room", json!({ "_quota_continue": token }));
    assert_eq!(reply["warnings"][0]["severity"], "high", "{reply}");
    assert_eq!(status(&hotel)["quotas"][0]["status"], "exhausted");

    clock.pass(600);
    let stopped = call(&hotel, "book_room", json!({ "_quota_continue": token }));
    assert_eq!(code(&stopped), Some("RATE_LIMIT_QUOTA_EXHAUSTED"));
    assert_eq!(
        *details(&stopped),
        json!({
            "metric": "requests_per_hour", "current": 5, "hard_stop_threshold": 5,
            "resets_at": "2031-05-06T08:00:00.000Z", "retry_after_seconds": 3_000,
        })
    );
    clock.pass(3_000);
    data(call(&hotel, "book_room", json!({})));
}

/// A connected client and its adapter.
async fn connected(limits: RateLimits, clock: &Clock) -> (Client, Adapter) {
    let hotel = hotel(limits, clock);
    (Client::connect(&hotel).await.unwrap(), hotel)
}

async fn create(client: &Client, params: Value) -> OperationResult {
    client.call("mcp_aql_create", "book_room", params).await.unwrap()
}

#[test]
fn a_token_continues_one_call_once() {
    // REQ-RATE-07, REQ-TOK-01, REQ-TOK-07, REQ-TOK-08, REQ-TOK-10
    let clock = Clock::new();
    let quota = Quota::new(Metric::RequestsPerDay).pause(1);
    block_on(async {
        let (client, hotel) = connected(RateLimits::new().quota(quota), &clock).await;
        assert!(create(&client, json!({})).await.is_success());
        let paused = create(&client, json!({ "nights": 2 })).await;
        assert_eq!(paused.code(), Some("RATE_LIMIT_QUOTA_PAUSE"));
        let token = &paused.error().unwrap().details["confirmation_token"];
        let with = |nights: u32| json!({ "nights": nights, "_quota_continue": token });
        // The token must be invalid for another call or session.
        assert_eq!(create(&client, with(3)).await.code(), Some("TOKEN_SCOPE_MISMATCH"));
        let other = Client::connect(&hotel).await.unwrap();
        assert_eq!(create(&other, with(2)).await.code(), Some("TOKEN_SCOPE_MISMATCH"));
        // Even if many calls use the token at the same time, it is accepted once.
        let tries = (0..64).map(|_| create(&client, with(2)));
        let results: Vec<_> = futures_util::future::join_all(tries).await;
        let ran = results.iter().filter(|result| result.is_success()).count();
        assert_eq!(ran, 1);
        for result in results.iter().filter(|result| !result.is_success()) {
            assert!(
                matches!(result.code(), Some("TOKEN_ALREADY_USED" | "RATE_LIMIT_EXCEEDED")),
                "{:?}",
                result.error()
            );
        }
        // The next call requires a new confirmation. This time, its token expires.
        clock.pass(120);
        let paused = create(&client, json!({})).await;
        assert_eq!(paused.code(), Some("RATE_LIMIT_QUOTA_PAUSE"));
        let token = paused.error().unwrap().details["confirmation_token"].clone();
        clock.pass(400);
        let late = create(&client, json!({ "_quota_continue": token })).await;
        assert_eq!(late.code(), Some("TOKEN_EXPIRED"));
        for wrong in [json!("quota_continue_made-up"), json!("conf_x"), json!(7)] {
            let late = create(&client, json!({ "_quota_continue": wrong })).await;
            assert_eq!(late.code(), Some("TOKEN_INVALID"), "{wrong}");
        }
    });
}

#[test]
fn a_confirmation_is_not_used_up_by_a_call_that_limits_refuse() {
    // REQ-RATE-01, REQ-TOK-10, REQ-GATE-03
    let clock = Clock::new();
    let limits = RateLimits::new().limit(ApiLimit::global(1));
    let hotel = hotel(limits, &clock);
    let asked = call(&hotel, "delete_hotel", json!({}));
    assert_eq!(code(&asked), Some("CONFIRMATION_REQUIRED"));
    let token = &details(&asked)["confirmation_token"];
    data(call(&hotel, "list_rooms", json!({})));
    let confirmed = json!({ "_confirmation": token });
    let refused = call(&hotel, "delete_hotel", confirmed.clone());
    assert_eq!(code(&refused), Some("RATE_LIMIT_EXCEEDED"));
    clock.pass(60);
    data(call(&hotel, "delete_hotel", confirmed));
}

#[test]
fn calls_that_limits_reject_request_no_approval_and_use_none_up() {
    // REQ-RATE-01, REQ-GATE-03, REQ-GATE-10
    use mcp_aql::operator::MemoryChannel;
    use mcp_aql::safety_loop::SafetyLoop;
    let (clock, people) = (Clock::new(), MemoryChannel::default());
    let hotel = Adapter::builder("hotel")
        .without_config()
        .store(mcp_aql::store::MemoryState::default())
        .operation(list_rooms {})
        .operation(delete_hotel {})
        .rate_limits(RateLimits::new().limit(ApiLimit::global(1)))
        .safety_loop(SafetyLoop::new().channel(people.clone()))
        .policy(mcp_aql::Policy::confirm("delete_hotel").by_operator())
        .time_source(clock.source())
        .build()
        .unwrap();
    let delete = || call(&hotel, "delete_hotel", json!({}));
    data(call(&hotel, "list_rooms", json!({})));
    assert_eq!(code(&delete()), Some("RATE_LIMIT_EXCEEDED"));
    assert_eq!(people.requests().len(), 0);
    clock.pass(60);
    assert_eq!(code(&delete()), Some("PERMISSION_DENIED"));
    let id = people.requests().pop().unwrap().id;
    block_on(hotel.operator().unwrap().approve(&id, "desk")).unwrap();
    data(call(&hotel, "list_rooms", json!({})));
    assert_eq!(code(&delete()), Some("RATE_LIMIT_EXCEEDED"));
    clock.pass(60);
    data(delete());
}

#[test]
fn a_call_may_need_both_tokens() {
    // REQ-RATE-07, REQ-TOK-06
    let quota = Quota::new(Metric::RequestsPerDay).pause(1);
    let hotel = hotel(RateLimits::new().quota(quota), &Clock::new());
    data(call(&hotel, "list_rooms", json!({})));
    let paused = call(&hotel, "delete_hotel", json!({}));
    assert_eq!(code(&paused), Some("RATE_LIMIT_QUOTA_PAUSE"));
    let go_on = &details(&paused)["confirmation_token"];
    let asked = call(&hotel, "delete_hotel", json!({ "_quota_continue": go_on }));
    assert_eq!(code(&asked), Some("CONFIRMATION_REQUIRED"));
    let confirmed = &details(&asked)["confirmation_token"];
    let both = json!({ "_quota_continue": go_on, "_confirmation": confirmed });
    data(call(&hotel, "delete_hotel", both));
}

#[test]
fn every_metric_counts_its_unit_over_its_period() {
    // REQ-RATE-05
    for metric in Metric::ALL {
        let clock = Clock::new();
        let limits = RateLimits::new().quota(Quota::new(metric).hard_stop(2));
        let hotel = hotel(limits.cost(CostModel::PerCall(0.5)), &clock);
        // Depending on the metric, this uses two requests, two tokens, or twice the price and the reported amount.
        for _ in 0..2 {
            data(call(&hotel, "describe_room", json!({ "words": 1 })));
        }
        assert_eq!(status(&hotel)["quotas"][0]["current"].as_f64(), Some(2.0), "{metric:?}");
        let stopped = call(&hotel, "describe_room", json!({ "words": 1 }));
        assert_eq!(code(&stopped), Some("RATE_LIMIT_QUOTA_EXHAUSTED"), "{metric:?}");
        let wait = details(&stopped)["retry_after_seconds"].as_i64().unwrap();
        let expected = match metric.as_str().rsplit_once('_').unwrap().1 {
            "minute" => 60,
            "hour" => 3_600,
            "day" => 86_400,
            // Until the first of June, the start of the next month.
            _ => 26 * 86_400 - 7 * 3_600,
        };
        assert_eq!(wait, expected, "{metric:?}");
        clock.pass(wait);
        data(call(&hotel, "describe_room", json!({ "words": 1 })));
    }
}

#[test]
fn quota_status_reports_all_quotas() {
    // REQ-RATE-08, choice C-35
    let clock = Clock::new();
    let limits = RateLimits::new()
        .limit(ApiLimit::global(100))
        .limit(ApiLimit::endpoint("create", 2).per(Window::Second))
        .limit(ApiLimit::endpoint("create", 5).per(Window::Hour))
        .quota(Quota::new(Metric::CostPerMonth).warn(20).pause(24).hard_stop(25.5))
        .quota(Quota::new(Metric::TokensPerDay).hard_stop(1_000))
        .currency("EUR")
        .cost(CostModel::PerCall(0.25));
    let hotel = hotel(limits, &clock);
    let fresh = status(&hotel);
    assert_eq!(fresh["next_reset"], Value::Null);
    assert_eq!(fresh["api_limits"]["global"]["remaining"], 100);
    data(call(&hotel, "book_room", json!({})));
    clock.pass(10);
    data(call(&hotel, "describe_room", json!({ "words": 40 })));
    let limit = |limit: u32, remaining: u32, window: &str, resets_at: &str| json!({ "limit": limit, "remaining": remaining, "window": window, "resets_at": resets_at });
    assert_eq!(
        status(&hotel),
        json!({
            "adapter": "hotel",
            "api_limits": {
                "global": limit(100, 98, "minute", "2031-05-06T07:01:00.000Z"),
                "endpoint:create:second": limit(2, 2, "second", "2031-05-06T07:00:10.000Z"),
                "endpoint:create:hour": limit(5, 4, "hour", "2031-05-06T08:00:00.000Z"),
            },
            "quotas": [
                {
                    "metric": "cost_per_month", "current": 1.0, "warn": 20.0, "pause": 24.0,
                    "hard_stop": 25.5, "status": "ok", "currency": "EUR",
                },
                {
                    "metric": "tokens_per_day", "current": 40, "warn": 800, "pause": null,
                    "hard_stop": 1_000, "status": "ok",
                },
            ],
            "next_reset": "2031-05-06T07:01:00.000Z",
        })
    );
    let published = |adapter: &Adapter| {
        let params = json!({ "query": "operations", "name": "introspect" });
        let operation = data(call(adapter, "introspect", params))["operation"].take();
        operation["parameters"][0]["enum"].to_string()
    };
    assert!(published(&hotel).contains("quota_status"));
    let plain = Adapter::builder("inn").without_config().build().unwrap();
    assert!(!published(&plain).contains("quota_status"));
    let refused = call(&plain, "introspect", json!({ "query": "quota_status" }));
    assert_eq!(code(&refused), Some("INVALID_QUERY_TYPE"));
}

#[test]
fn counters_apply_across_sessions() {
    // REQ-RATE-09
    block_on(async {
        let limits = RateLimits::new().limit(ApiLimit::global(1));
        let (client, hotel) = connected(limits, &Clock::new()).await;
        assert!(create(&client, json!({})).await.is_success());
        client.close().await.unwrap();
        let again = Client::connect(&hotel).await.unwrap();
        assert_eq!(create(&again, json!({})).await.code(), Some("RATE_LIMIT_EXCEEDED"));
    });
}

#[test]
fn the_configuration_file_sets_limits_in_both_forms() {
    // REQ-RATE-03, REQ-RATE-04, REQ-RATE-10, choice C-52
    let folder = std::env::temp_dir().join(format!("mcp-aql-limits-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let build = |text: &str| {
        let file = folder.join("mcp-aql.toml");
        std::fs::write(&file, text).unwrap();
        Adapter::builder("inn").operation(book_room {}).config_file(file).build()
    };
    let inn = build(
        "[rate_limits]\nrequests_per_minute = 1\n\n[[quotas]]\nmetric = 'requests_per_day'\n\
         hard_stop = 9\n",
    )
    .unwrap();
    data(call(&inn, "book_room", json!({})));
    assert_eq!(code(&call(&inn, "book_room", json!({}))), Some("RATE_LIMIT_EXCEEDED"));
    for (fragment, text) in [
        (
            "did you mean `create`",
            "[[api_limits]]\nscope='endpoint'\nendpoint='craete'\nlimit=1\nwindow='hour'",
        ),
        ("out of order", "[[quotas]]\nmetric='cost_per_day'\nwarn=9\npause=8"),
        ("limitt", "[[api_limits]]\nscope='global'\nlimitt=1\nlimit=1\nwindow='hour'"),
    ] {
        let error = build(text).unwrap_err().to_string();
        assert!(error.contains(fragment), "{error}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
