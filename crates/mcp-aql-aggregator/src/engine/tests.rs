//! Tests of the query engine with fake servers.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rmcp::model::CallToolResult;
use serde_json::{Value, json};

use super::*;
use crate::answer::ServerOutcome;
use crate::items::ItemLocation;
use crate::upstream::{CallAnswer, FailedCall};

/// A fake server with a fixed behavior.
struct Fake {
    after: Duration,
    gives: Result<Vec<String>, Failure>,
    tool: String,
    /// If `true`, the server ignores its deadline.
    is_rude: bool,
    /// If not empty, further calls fail with these failures.
    fails: Vec<Failure>,
    log: Arc<Log>,
}

/// The events of the fakes of a test.
#[derive(Default)]
struct Log {
    running: AtomicUsize,
    most: AtomicUsize,
    asked: AtomicUsize,
    words: Mutex<Vec<String>>,
}

/// A running call.
struct Running<'l>(&'l Log);

impl<'l> Running<'l> {
    fn new(log: &'l Log) -> Self {
        log.asked.fetch_add(1, Ordering::SeqCst);
        let running = log.running.fetch_add(1, Ordering::SeqCst) + 1;
        log.most.fetch_max(running, Ordering::SeqCst);
        Self(log)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

impl QueryServer for Fake {
    fn ask<'a>(
        &'a self,
        query: &'a str,
        until: Instant,
        _route: &'a Route,
    ) -> BoxFuture<'a, Result<Answers, Failure>> {
        Box::pin(async move {
            let _running = Running::new(&self.log);
            self.log.words.lock().unwrap().push(query.to_owned());
            let limit = Duration::from_secs(3);
            let until = until.min(Instant::now() + limit);
            if self.is_rude {
                tokio::time::sleep(self.after).await;
            } else if timeout_at(until, tokio::time::sleep(self.after)).await.is_err() {
                return Err(Failure::Timeout(limit));
            }
            let items = self.gives.clone()?;
            let result = CallToolResult::structured(json!({ "items": items }));
            let tool = self.tool.clone();
            let answer = CallAnswer {
                call: 0,
                tool,
                items: ItemLocation::default(),
                result,
                bytes: 1000,
                latency: self.after,
                at: chrono::DateTime::UNIX_EPOCH,
            };
            let failed = self
                .fails
                .iter()
                .map(|failure| FailedCall { tool: "other".to_owned(), failure: *failure });
            Ok(Answers { answers: vec![answer], failed: failed.collect() })
        })
    }

    fn settled(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    fn upstream(&self) -> Option<&Upstream> {
        None
    }
}

/// Returns a configuration of servers with these names.
fn config(names: &[&str], aggregator: &Value) -> Config {
    // The order of the names matters, and an object of `serde_json` would not keep it.
    let servers: Vec<_> =
        names.iter().map(|name| format!("\"{name}\": {{\"command\": \"x\"}}")).collect();
    let text =
        format!("{{\"mcpServers\": {{{}}}, \"aggregator\": {aggregator}}}", servers.join(", "));
    Config::from_json(&text, &|_| None).unwrap()
}

type Gives<'a> = (&'a str, u64, Result<Vec<&'a str>, Failure>);

fn aggregator(servers: Vec<Gives<'_>>, settings: &Value) -> (Aggregator, Arc<Log>) {
    changed(servers, settings, |_| {})
}

/// Builds an aggregator like [`aggregator`], after changing each fake.
fn changed(
    servers: Vec<Gives<'_>>,
    settings: &Value,
    change: impl Fn(&mut Fake),
) -> (Aggregator, Arc<Log>) {
    let log = Arc::<Log>::default();
    let names: Vec<_> = servers.iter().map(|(name, _, _)| *name).collect();
    let config = config(&names, settings);
    let entries = servers.iter().map(|(name, millis, gives)| {
        let mut fake = Fake {
            after: Duration::from_millis(*millis),
            gives: gives.clone().map(|items| items.into_iter().map(str::to_owned).collect()),
            tool: "search".to_owned(),
            is_rude: false,
            fails: Vec::new(),
            log: Arc::clone(&log),
        };
        change(&mut fake);
        Entry { name: (*name).to_owned(), weight: 1.0, server: Some(Arc::new(fake)) }
    });
    let route = Route::new(names.iter().copied(), None);
    (Aggregator::of(entries.collect(), config, route), log)
}

fn status<'a>(answer: &'a Answer, name: &str) -> &'a ServerOutcome {
    answer.metadata.servers.iter().find(|server| server.name == name).unwrap()
}

#[tokio::test(start_paused = true)]
async fn servers_are_queried_concurrently_and_a_slow_one_delays_no_other() {
    // REQ-AGR-07, REQ-AGR-08
    let (aggregator, log) = aggregator(
        vec![
            ("quick", 20, Ok(vec!["Pin the version in the lock file"])),
            ("slow", 1_000_000, Ok(vec!["never"])),
            ("broken", 5, Err(Failure::Exited)),
            ("steady", 900, Ok(vec!["A version is pinned by a hash"])),
        ],
        &json!({}),
    );
    let begun = Instant::now();
    let answer = aggregator.query(Query::new("pin a version")).await.unwrap();
    assert_eq!(begun.elapsed(), Duration::from_secs(3), "the slow one is given up after 3 s");
    assert_eq!(log.most.load(Ordering::SeqCst), 4, "all of them at once");
    assert_eq!(answer.results.len(), 2);
    let metadata = &answer.metadata;
    assert_eq!((metadata.servers_queried, metadata.servers_succeeded), (4, 2));
    assert_eq!(status(&answer, "slow").status, "timeout after 3s");
    assert_eq!(status(&answer, "broken").status, "exited");
    assert_eq!(
        (status(&answer, "quick").latency_ms, status(&answer, "steady").latency_ms),
        (20, 900)
    );
    assert_eq!(metadata.processing_time_ms, 3000);
}

#[tokio::test(start_paused = true)]
async fn the_deadline_holds_for_any_server() {
    // REQ-AGR-07, REQ-AGR-12
    for (is_rude, took) in [(false, 1000), (true, 1250)] {
        let (aggregator, log) = changed(
            vec![("quick", 20, Ok(vec!["cats"])), ("slow", 1_000_000, Ok(vec!["never"]))],
            &json!({ "deadlineMs": 1000 }),
            |fake| fake.is_rude = is_rude,
        );
        let begun = Instant::now();
        let answer = aggregator.query(Query::new("cats")).await.unwrap();
        assert_eq!(begun.elapsed(), Duration::from_millis(took));
        assert_eq!(answer.results.len(), 1);
        assert!(status(&answer, "slow").status.starts_with("timeout"), "{answer:?}");
        assert_eq!(log.running.load(Ordering::SeqCst), 0, "what is late is dropped");
    }
}

#[tokio::test(start_paused = true)]
async fn total_failure_reports_every_reason() {
    // REQ-AGR-09
    let (aggregator, _) = aggregator(
        vec![
            ("context7", 1_000_000, Ok(Vec::new())),
            ("serena", 1, Err(Failure::Refused)),
            ("time", 1, Err(Failure::NoQueryTool)),
        ],
        &json!({}),
    );
    let failed = |attempted: &[&str], errors: &[&str]| QueryError::AllFailed {
        attempted: attempted.iter().map(|name| (*name).to_owned()).collect(),
        errors: errors.iter().map(|error| (*error).to_owned()).collect(),
    };
    let error = aggregator.query(Query::new("cats")).await.unwrap_err();
    let errors = ["context7: timeout after 3s", "serena: connection refused"];
    assert_eq!(error, failed(&["context7", "serena"], &errors), "time was not asked");
    // A named server counts as queried.
    let error = aggregator.query(Query::new("cats").server("time")).await.unwrap_err();
    assert_eq!(error, failed(&["time"], &["time: no query tool"]));
}

#[tokio::test(start_paused = true)]
async fn servers_without_a_search_tool_have_not_failed() {
    let (aggregator, _) = aggregator(
        vec![("time", 1, Err(Failure::NoQueryTool)), ("fetch", 1, Err(Failure::NoQueryTool))],
        &json!({}),
    );
    let error = aggregator.query(Query::new("cats")).await.unwrap_err();
    let errors = ["time: no query tool", "fetch: no query tool"].map(str::to_owned).into();
    assert_eq!(error, QueryError::NoServer { errors });
}

#[tokio::test(start_paused = true)]
async fn metadata_counts_are_correct() {
    // REQ-AGR-06, REQ-AGR-11, REQ-AGR-13
    let (aggregator, _) = aggregator(
        vec![
            ("a", 1, Ok(vec!["Cats sleep all day.", "Dogs bark."])),
            ("b", 1, Ok(vec!["cats sleep ALL day."])),
            ("c", 1, Ok(Vec::new())),
            ("time", 1, Err(Failure::NoQueryTool)),
            ("d", 1, Err(Failure::Tool)),
        ],
        &json!({}),
    );
    let answer = aggregator.query(Query::new("sleeping cats")).await.unwrap();
    let metadata = &answer.metadata;
    assert_eq!((metadata.servers_queried, metadata.servers_succeeded), (4, 3), "time is not asked");
    assert_eq!((metadata.total_results_raw, metadata.total_results_dedup), (3, 2));
    assert_eq!(metadata.results_returned, answer.results.len());
    assert_eq!(answer.results[0].also_from, ["b"]);
    assert_eq!((status(&answer, "a").results_raw, status(&answer, "a").results), (2, 2));
    assert_eq!((status(&answer, "b").results_raw, status(&answer, "b").results), (1, 0));
    // One of the four queried servers has a result here.
    assert_eq!(metadata.server_diversity, 0.25);
    assert_eq!(metadata.bytes_raw, 3000);
    let returned: usize = answer.results.iter().map(|hit| hit.content.len()).sum();
    assert_eq!(metadata.bytes_returned, returned);
    assert!(answer.results.iter().map(|hit| hit.rank).eq(1..=2));
    assert!(answer.results.iter().all(|hit| (0.0..=1.0).contains(&hit.relevance_score)));
    // A named server counts as queried.
    let named = aggregator.query(Query::new("cats").server("time").server("a")).await.unwrap();
    assert_eq!((named.metadata.servers_queried, named.metadata.servers_succeeded), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn partial_failures_are_reported() {
    // REQ-AGR-08, REQ-AGR-11
    let timeout = Failure::Timeout(Duration::from_secs(3));
    let (aggregator, _) = changed(vec![("a", 1, Ok(vec!["cats"]))], &json!({}), |fake| {
        fake.fails = vec![timeout, Failure::Tool, timeout];
    });
    let answer = aggregator.query(Query::new("cats")).await.unwrap();
    assert!(status(&answer, "a").is_ok());
    assert_eq!(status(&answer, "a").failed, ["timeout after 3s", "tool error"]);
    // The time is that of the answer's arrival, not of the last answer.
    assert_eq!(answer.results[0].timestamp, chrono::DateTime::UNIX_EPOCH);
}

#[tokio::test(start_paused = true)]
async fn healthy_servers_without_results_are_not_an_error() {
    // REQ-AGR-08
    let (aggregator, _) = aggregator(vec![("a", 1, Ok(Vec::new()))], &json!({}));
    let answer = aggregator.query(Query::new("cats")).await.unwrap();
    assert!(answer.results.is_empty());
    assert_eq!((answer.metadata.servers_succeeded, answer.metadata.server_diversity), (1, 0.0));
}

#[tokio::test(start_paused = true)]
async fn the_order_of_arrival_does_not_matter() {
    // REQ-AGR-11
    let texts: Vec<Vec<String>> = (0..6)
        .map(|server| {
            (0..8).map(|item| format!("cats {} of {server} sleep {item}", item % 7)).collect()
        })
        .collect();
    let mut seen = None;
    for order in 0..1000_u64 {
        let names: Vec<_> = (0..6).map(|server| format!("s{server}")).collect();
        let servers = (0..6).map(|server: usize| {
            // Each run has a different order of arrival.
            let after = (order.wrapping_mul(2_654_435_761) >> (server * 5)) % 97;
            (names[server].as_str(), after, Ok(texts[server].iter().map(String::as_str).collect()))
        });
        let (aggregator, _) = aggregator(servers.collect(), &json!({}));
        let mut answer = aggregator.query(Query::new("sleeping cats")).await.unwrap();
        answer.metadata.processing_time_ms = 0;
        for server in &mut answer.metadata.servers {
            server.latency_ms = 0;
        }
        let bytes = serde_json::to_string(&answer).unwrap();
        let first = seen.get_or_insert_with(|| bytes.clone());
        assert_eq!(*first, bytes, "order {order}");
    }
}

#[tokio::test(start_paused = true)]
async fn rules_choose_servers_unless_the_query_names_them() {
    // REQ-AGR-03
    let (aggregator, _) = aggregator(
        vec![("docs", 1, Ok(vec!["x"])), ("code", 1, Ok(vec!["x"])), ("mail", 1, Ok(vec!["x"]))],
        &json!({ "rules": [
            { "match": "(?i)\\bmanual\\b", "servers": ["docs"] },
            { "match": "fn ", "servers": ["code", "docs"] },
        ] }),
    );
    let asked = async |query: Query| {
        let answer = aggregator.query(query).await.unwrap();
        answer.metadata.servers.into_iter().map(|server| server.name).collect::<Vec<_>>()
    };
    assert_eq!(asked(Query::new("the Manual")).await, ["docs"]);
    assert_eq!(asked(Query::new("the man\u{ad}ual")).await, ["docs"], "as the servers get it");
    assert_eq!(asked(Query::new("manual of fn main")).await, ["docs", "code"]);
    assert_eq!(asked(Query::new("nothing of these")).await, ["docs", "code", "mail"]);
    assert_eq!(
        asked(Query::new("the manual").server("mail").server("code")).await,
        ["code", "mail"]
    );
    let error = aggregator.query(Query::new("x").server("docks\u{1b}[31m")).await.unwrap_err();
    let reason = "'docks' is not configured; the servers are: docs, code, mail".to_owned();
    assert_eq!(error, QueryError::UnknownServer { name: "docks".to_owned(), reason });
}

#[tokio::test(start_paused = true)]
async fn the_limits_also_apply_to_the_library() {
    // REQ-AGR-02, REQ-AGR-03, REQ-AGR-10
    let (aggregator, log) = aggregator(vec![("a", 1, Ok(vec!["x"]))], &json!({}));
    for query in [
        Query::new(""),
        Query::new("  "),
        Query::new("x".repeat(10_001)),
        Query::new("x").max_results(9),
        Query::new("x").max_results(101),
    ] {
        let error = aggregator.query(query).await.unwrap_err();
        assert!(matches!(error, QueryError::Invalid { .. }), "{error}");
    }
    assert_eq!(log.asked.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn dropped_queries_end_their_calls() {
    let (aggregator, log) = aggregator(
        vec![("a", 1_000_000, Ok(Vec::new())), ("b", 1_000_000, Ok(Vec::new()))],
        &json!({}),
    );
    let query = tokio::spawn({
        let aggregator = aggregator.clone();
        async move { aggregator.query(Query::new("cats")).await }
    });
    while log.running.load(Ordering::SeqCst) < 2 {
        tokio::task::yield_now().await;
    }
    query.abort();
    let _ = query.await;
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(log.running.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn concurrent_queries_are_limited() {
    let (aggregator, log) = aggregator(
        vec![("a", 2000, Ok(vec!["x"]))],
        &json!({ "maxQueries": 2, "deadlineMs": 3000 }),
    );
    let mut queries = tokio::task::JoinSet::new();
    for _ in 0..5 {
        let aggregator = aggregator.clone();
        queries.spawn(async move { aggregator.query(Query::new("x")).await });
    }
    let answers = queries.join_all().await;
    assert_eq!(log.most.load(Ordering::SeqCst), 2);
    // Two queries are answered after two seconds. Two more start then, for the second left of their
    // time. The last one does not start.
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 2);
    assert_eq!(answers.iter().filter(|answer| **answer == Err(QueryError::Busy)).count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_query_that_waited_too_long_is_rejected_without_calls() {
    let (aggregator, log) = aggregator(
        vec![("a", 900, Ok(vec!["x"]))],
        &json!({ "maxQueries": 1, "deadlineMs": 1200 }),
    );
    let mut queries = tokio::task::JoinSet::new();
    for _ in 0..3 {
        let aggregator = aggregator.clone();
        queries.spawn(async move { aggregator.query(Query::new("x")).await });
    }
    let answers = queries.join_all().await;
    // After the first answer the others have 300 ms left, too little even for a healthy server.
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1);
    assert_eq!(answers.iter().filter(|answer| **answer == Err(QueryError::Busy)).count(), 2);
    assert_eq!(log.asked.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn names_of_tools_are_cleaned() {
    let evil = format!("search\u{1b}[31m\u{202e} docs\n{}", "x".repeat(400_000));
    let (aggregator, _) =
        changed(vec![("a", 1, Ok(vec!["cats"]))], &json!({}), |fake| fake.tool = evil.clone());
    let answer = aggregator.query(Query::new("cats")).await.unwrap();
    let tool = &answer.results[0].tool;
    assert!(tool.starts_with("search docsxxx") && tool.chars().count() == 100, "{tool:?}");
}

#[tokio::test(start_paused = true)]
async fn texts_without_a_query_word_score_almost_nothing() {
    // REQ-AGR-05
    let (aggregator, _) = aggregator(vec![("a", 1, Ok(vec!["dogs bark", ""]))], &json!({}));
    let answer = aggregator.query(Query::new("cats")).await.unwrap();
    let json = serde_json::to_string(&answer).unwrap();
    assert!(json.contains("\"relevanceScore\":0.02,"), "{json}");
}

#[tokio::test(start_paused = true)]
async fn whole_queries_return_all_results_ranked() {
    let texts: Vec<Vec<String>> = ["cats", "ships"]
        .map(|what| (0..90).map(|item| format!("{what} {item} {}", item * 7919)).collect())
        .into();
    let gives = |server: usize| Ok(texts[server].iter().map(String::as_str).collect());
    let (aggregator, _) = aggregator(
        vec![("a", 1, gives(0)), ("b", 1, gives(1))],
        &json!({ "mmr": 0.7, "maxOutputBytes": 4096 }),
    );
    let mut query = Query::new("cats, ships");
    query.whole = true;
    let answer = aggregator.query(query).await.unwrap();
    assert_eq!((answer.results.len(), answer.metadata.total_results_dedup), (180, 180));
    assert!(answer.metadata.warnings.is_empty());
    assert!(answer.results.iter().map(|hit| hit.rank).eq(1..=180));
}

#[tokio::test(start_paused = true)]
async fn an_answer_respects_its_maximum_size() {
    let text = "cats \"sleep\"\n all day ".repeat(60);
    let items: Vec<String> =
        (0..50).map(|item| format!("item {item}: {text}{}", "xyz ".repeat(item))).collect();
    let gives = items.iter().map(String::as_str).collect();
    let (aggregator, _) =
        aggregator(vec![("a", 1, Ok(gives))], &json!({ "maxOutputBytes": 20_000 }));
    let answer = aggregator.query(Query::new("cats").max_results(100)).await.unwrap();
    let json = serde_json::to_string(&answer).unwrap();
    assert!(json.len() <= 20_000, "{}", json.len());
    assert!(json.len() > 15_000, "{}", json.len());
    assert_eq!(answer.metadata.results_returned, answer.results.len());
    let left_out = answer.metadata.total_results_dedup - answer.metadata.results_returned;
    let told = format!("{left_out} results more did not fit into maxOutputBytes");
    assert_eq!(answer.metadata.warnings, [told]);
    assert!(answer.results.iter().any(|hit| hit.truncated));
}

#[tokio::test(start_paused = true)]
async fn a_short_result_fits_after_a_long_one() {
    let long = |chars| "cats sleep on the roof ".chars().cycle().take(chars).collect::<String>();
    let (aggregator, _) = aggregator(
        vec![("a", 1, Ok(vec![&*long(3400), &*long(3600), "A cat sleeps."]))],
        &json!({ "maxOutputBytes": 4600, "maxItemChars": 4000 }),
    );
    let answer = aggregator.query(Query::new("cats sleep on roof")).await.unwrap();
    let json = serde_json::to_string(&answer).unwrap();
    assert!(json.len() <= 4600, "{}", json.len());
    let kept: Vec<_> = answer.results.iter().map(|hit| (hit.rank, hit.content.len())).collect();
    assert_eq!(kept, [(1, 3400), (2, 13)], "{:?}", answer.metadata);
    assert_eq!(answer.metadata.warnings, ["1 result more did not fit into maxOutputBytes"]);
}

#[tokio::test(start_paused = true)]
async fn servers_receive_cleaned_queries() {
    let (aggregator, log) = aggregator(vec![("a", 1, Ok(vec!["x"]))], &json!({}));
    aggregator.query(Query::new("ca\u{200b}ts \u{1b}[31msleep\u{202e}")).await.unwrap();
    assert_eq!(*log.words.lock().unwrap(), ["cats sleep"]);
    let nothing = aggregator.query(Query::new("\u{200b} \u{1b}[31m\u{202e}")).await.unwrap_err();
    assert!(matches!(nothing, QueryError::Invalid { field: "query", .. }), "{nothing}");
    assert_eq!(log.asked.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_query_that_returns_is_rejected() {
    let (aggregator, log) = aggregator(vec![("a", 1, Ok(vec!["x"]))], &json!({}));
    let mut query = Query::new("cats");
    query.route = Some(Err(Failure::Loop));
    assert_eq!(aggregator.query(query).await, Err(QueryError::Loop));
    assert_eq!(log.asked.load(Ordering::SeqCst), 0);
}

#[test]
fn the_identity_of_servers_contains_no_secret() {
    let config = |secret: &str| {
        let text = format!(
            r#"{{"mcpServers": {{
                "a": {{"command": "x", "args": ["--key={secret}"], "env": {{"K": "{secret}"}}}},
                "b": {{"url": "https://me:{secret}@example.com:1/mcp?key={secret}"}}
            }}}}"#
        );
        Config::from_json(&text, &|_| None).unwrap()
    };
    let described: Vec<_> = config("s3cret").servers.iter().map(describe).collect();
    assert_eq!(described, ["a\nx", "b\nexample.com:1"]);
}
