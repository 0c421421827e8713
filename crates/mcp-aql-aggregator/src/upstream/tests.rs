//! Tests with scripted servers, working and broken, as processes and over HTTP.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use rmcp::model::ContentBlock;
use serde_json::Value;

use super::query::{MAX_FAILED_WAITS, MAX_REFUSALS};
use super::*;
use crate::config::ServerSettings;

/// Time limit for the start of a process on a busy machine.
const TO_START: Duration = Duration::from_secs(60);

/// Not a test: runs this program as the server of the other tests if the script variable is set.
#[test]
fn as_server() {
    mcp_aql_upstreams::serve_if_asked();
}

/// The log lines of all tests, at all levels.
static LOG: LazyLock<Arc<Mutex<Vec<u8>>>> = LazyLock::new(|| {
    #[derive(Clone)]
    struct Log(Arc<Mutex<Vec<u8>>>);
    impl io::Write for Log {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let log = Arc::<Mutex<Vec<u8>>>::default();
    let writer = Log(Arc::clone(&log));
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    tracing::subscriber::set_global_default(subscriber).unwrap();
    log
});

#[track_caller]
fn nothing_leaked(upstream: &Upstream) {
    let log = String::from_utf8_lossy(&LOG.lock().unwrap()).into_owned();
    assert_eq!(log.lines().find(|line| line.contains("s3cret")), None, "in the log");
    let mut state = upstream.state();
    // These strings are for the operator.
    state.stderr_tail.clear();
    state.causes.clear();
    assert!(!format!("{state:?}").contains("s3cret"), "{state:?}");
    assert!(!format!("{upstream:?}").contains("s3cret"));
}

fn command(script: &str) -> How {
    let args = ["upstream::tests::as_server", "--exact", "--nocapture"];
    How::Command {
        command: std::env::current_exe().unwrap().to_string_lossy().into_owned(),
        args: args.map(str::to_owned).into(),
        env: BTreeMap::from([
            (mcp_aql_upstreams::SCRIPT.to_owned(), script.to_owned()),
            ("API_KEY".to_owned(), "s3cret-key".to_owned()),
        ]),
        cwd: None,
    }
}

fn new(how: How, set: impl FnOnce(&mut Settings)) -> Arc<Upstream> {
    LazyLock::force(&LOG);
    let mut settings = Settings { server_timeout: Duration::from_secs(10), ..Settings::default() };
    set(&mut settings);
    let config = ServerConfig {
        name: "docs".to_owned(),
        how,
        disabled: false,
        secrets: Vec::new(),
        settings: ServerSettings::default(),
    };
    Upstream::new(config, Arc::new(settings), route())
}

fn started(script: &str, set: impl FnOnce(&mut Settings)) -> Arc<Upstream> {
    let upstream = new(command(script), set);
    upstream.start();
    upstream
}

fn route() -> Route {
    Route::new(["docs"], None)
}

async fn is_ready(upstream: &Upstream) {
    upstream.settled().await;
    reaches(|| upstream.state().phase == Phase::Ready).await;
}

#[track_caller]
fn reaches(mut is_so: impl FnMut() -> bool) -> impl Future<Output = ()> {
    let place = std::panic::Location::caller();
    async move {
        let until = Instant::now() + TO_START;
        while !is_so() {
            assert!(Instant::now() < until, "waited too long at {place}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

async fn ask(upstream: &Upstream) -> Result<Vec<CallAnswer>, Failure> {
    upstream
        .ask("tokio select", Instant::now() + TO_START, &route())
        .await
        .map(|asked| asked.answers)
}

fn text(answer: &CallAnswer) -> String {
    match answer.result.content.first() {
        Some(ContentBlock::Text(text)) => text.text.clone(),
        other => panic!("{other:?}"),
    }
}

fn pids(file: &Path) -> Vec<u32> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

fn is_alive(pid: &u32) -> bool {
    let pid = i32::try_from(*pid).ok().and_then(rustix::process::Pid::from_raw).unwrap();
    if rustix::process::test_kill_process(pid).is_err() {
        return false;
    }
    // A zombie has ended, even if its parent has not waited for it.
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    !stat.is_ok_and(|stat| stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" Z")))
}

struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn of(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }
}

#[tokio::test]
async fn a_server_answers_and_leaves_no_process() {
    let files = Files::new();
    let script = format!("--results 3 --format lines --pids {} --child", files.of("pids"));
    let upstream = started(&script, |_| {});
    is_ready(&upstream).await;
    let answers = ask(&upstream).await.unwrap();
    let [answer] = &answers[..] else { panic!("{answers:?}") };
    assert_eq!(answer.tool, "search_docs");
    assert_eq!(answer.call, 0);
    assert!(text(answer).contains("src/file2.rs:9:result 3 for tokio select"), "{answer:?}");
    assert!(answer.bytes > text(answer).len());
    assert_eq!(answer.result.meta, None);
    let state = upstream.state();
    assert_eq!((state.calls, state.starts, state.in_flight), (1, 1, 0));
    assert!(state.latency.is_some() && state.failures.is_empty());
    assert!(state.bytes_in >= answer.bytes as u64 && state.bytes_out > 100);
    assert_eq!(state.breaker, BreakerState::Closed);

    reaches(|| pids(&files.path("pids")).len() == 2).await;
    upstream.close().await;
    assert_eq!(upstream.state().phase, Phase::Closed);
    reaches(|| !pids(&files.path("pids")).iter().any(is_alive)).await;
    assert_eq!(ask(&upstream).await.unwrap_err(), Failure::Closed);
}

/// Checks a failing call: it is reported in a fixed wording, leaks nothing, and the server can be
/// called again.
async fn goes_wrong(call: &str, expected: Failure, restarts: bool) {
    let files = Files::new();
    let (count, list) = (files.of("count"), files.of("pids"));
    let script = format!("--call {call} --times 1 --count {count} --pids {list}");
    let limit = match expected {
        Failure::Timeout(limit) => limit,
        _ => TO_START,
    };
    let upstream = started(&script, |settings| settings.server_timeout = limit);
    is_ready(&upstream).await;
    assert_eq!(ask(&upstream).await.unwrap_err(), expected, "{call}");
    nothing_leaked(&upstream);
    assert_eq!(upstream.state().failures[expected.kind()], 1);
    // The next call.
    is_ready(&upstream).await;
    let patient = Instant::now() + TO_START;
    let mut answers = upstream.ask("again", patient, &route()).await;
    while matches!(answers, Err(Failure::Timeout(_) | Failure::Exited)) && Instant::now() < patient
    {
        answers = upstream.ask("again", patient, &route()).await;
    }
    assert!(text(&answers.unwrap().answers[0]).contains("result 1 for again"), "{call}");
    assert_eq!(pids(&files.path("pids")).len(), 1 + usize::from(restarts), "{call}");
    upstream.close().await;
    reaches(|| !pids(&files.path("pids")).iter().any(is_alive)).await;
}

// REQ-AGR-07, REQ-AGR-08
#[tokio::test]
async fn calls_that_hang() {
    goes_wrong("hang", Failure::Timeout(Duration::from_millis(1500)), false).await;
}

#[tokio::test]
async fn calls_that_end_the_server() {
    goes_wrong("exit", Failure::Exited, true).await;
}

#[tokio::test]
async fn calls_with_errors_whose_text_must_not_leak() {
    goes_wrong("error:s3cret-of-the-database", Failure::Protocol, false).await;
    goes_wrong("tool-error:s3cret-of-the-database", Failure::Tool, false).await;
    goes_wrong("shape", Failure::Protocol, false).await;
}

#[tokio::test]
async fn calls_that_are_answered_with_garbage() {
    goes_wrong("garbage", Failure::Protocol, true).await;
}

#[tokio::test]
async fn oversized_answers_fail_at_once_for_any_position_of_their_id() {
    goes_wrong("huge:3000000", Failure::TooLarge, false).await;
    goes_wrong("huge:20000000", Failure::TooLarge, false).await;
    goes_wrong("huge-id-last:20000000", Failure::TooLarge, false).await;
}

#[tokio::test]
async fn an_oversized_answer_does_not_affect_another_one() {
    let upstream = started("--call huge-id-last:3000000 --times 1", |_| {});
    is_ready(&upstream).await;
    let (one, other) = tokio::join!(ask(&upstream), ask(&upstream));
    let (large, fine) = if one.is_err() { (one, other) } else { (other, one) };
    assert_eq!(large.unwrap_err(), Failure::TooLarge);
    assert!(fine.is_ok());
}

#[tokio::test]
async fn a_server_that_stops_reading_is_restarted() {
    let files = Files::new();
    let (count, list) = (files.of("count"), files.of("pids"));
    let script = format!("--call stop-reading --times 1 --count {count} --pids {list} --stays");
    let upstream = started(&script, |settings| {
        settings.server_timeout = Duration::from_millis(500);
        settings.breaker_open = Duration::from_secs(5);
    });
    is_ready(&upstream).await;
    // This is more than the capacity of a pipe.
    let long = "x".repeat(200_000);
    for _ in 0..3 {
        let asked = upstream.ask(&long, Instant::now() + TO_START, &route()).await;
        assert!(matches!(asked, Err(Failure::Timeout(_))), "{asked:?}");
    }
    assert_eq!(ask(&upstream).await.unwrap_err(), Failure::CircuitOpen);
    reaches(|| upstream.state().starts == 2 && upstream.state().phase == Phase::Ready).await;
    reaches(|| upstream.state().breaker == BreakerState::HalfOpen).await;
    assert!(ask(&upstream).await.is_ok());
    let list = pids(&files.path("pids"));
    assert_eq!(list.iter().map(is_alive).collect::<Vec<_>>(), [false, true]);
    upstream.close().await;
    reaches(|| !list.iter().any(is_alive)).await;
}

#[tokio::test]
async fn servers_that_never_become_ready_delay_few_queries() {
    let upstream = started("--start never", |settings| {
        settings.server_timeout = Duration::from_millis(200);
    });
    for _ in 0..MAX_FAILED_WAITS {
        let begun = Instant::now();
        assert_eq!(ask(&upstream).await.unwrap_err(), Failure::Starting);
        assert!(begun.elapsed() >= Duration::from_millis(200));
    }
    // This query does not wait.
    assert_eq!(ask(&upstream).now_or_never().unwrap().unwrap_err(), Failure::Starting);
    assert_eq!(upstream.state().phase, Phase::Starting);
    upstream.close().await;
}

/// Checks a server that cannot start.
async fn does_not_start(how: How, expected: Failure) {
    let upstream = new(how, |settings| settings.start_timeout = TO_START);
    upstream.start();
    assert_eq!(ask(&upstream).await.unwrap_err(), expected);
    nothing_leaked(&upstream);
    assert_eq!(upstream.state().failure, Some(expected));
    // The start is retried.
    reaches(|| upstream.state().starts >= 2).await;
    upstream.close().await;
}

#[tokio::test]
async fn servers_that_do_not_start() {
    does_not_start(command("--start crash"), Failure::FailedToStart).await;
    does_not_start(command("--start garbage"), Failure::Protocol).await;
    does_not_start(command("--start error:s3cret"), Failure::Protocol).await;
    let elsewhere = |program: Option<&str>, folder: Option<&str>| match command("") {
        How::Command { command, args, env, .. } => {
            let command = program.map_or(command, str::to_owned);
            How::Command { command, args, env, cwd: folder.map(PathBuf::from) }
        }
        other => other,
    };
    does_not_start(elsewhere(Some("/no/such/program"), None), Failure::FailedToStart).await;
    does_not_start(elsewhere(None, Some("/no/such/folder")), Failure::FailedToStart).await;
}

#[tokio::test]
async fn slow_servers_are_waited_for_and_started_once() {
    let files = Files::new();
    let script = format!("--start slow:1000 --pids {}", files.of("pids"));
    let upstream = new(command(&script), |settings| settings.lazy = true);
    upstream.start();
    upstream.start();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(upstream.state().phase, Phase::Idle);
    // A query that arrives too early does not interrupt the start.
    let early = upstream.ask("x", Instant::now() + Duration::from_millis(50), &route()).await;
    assert_eq!(early.unwrap_err(), Failure::Starting);
    is_ready(&upstream).await;
    assert!(ask(&upstream).await.is_ok());
    assert_eq!(pids(&files.path("pids")).len(), 1);
    upstream.close().await;
}

#[tokio::test]
async fn a_failing_server_is_probed_after_a_pause() {
    let upstream = started("--call hang --times 4", |settings| {
        settings.server_timeout = Duration::from_millis(500);
        settings.breaker_open = Duration::from_secs(5);
    });
    is_ready(&upstream).await;
    for _ in 0..3 {
        assert!(matches!(ask(&upstream).await, Err(Failure::Timeout(_))));
    }
    for _ in 0..10 {
        // This query does not wait.
        let asked = ask(&upstream).now_or_never();
        assert_eq!(asked.unwrap().unwrap_err(), Failure::CircuitOpen);
    }
    assert_eq!(upstream.state().breaker, BreakerState::Open);
    reaches(|| upstream.state().breaker == BreakerState::HalfOpen).await;
    // The probe fails, and the breaker opens again.
    assert!(matches!(ask(&upstream).await, Err(Failure::Timeout(_))));
    assert_eq!(ask(&upstream).await.unwrap_err(), Failure::CircuitOpen);
    reaches(|| upstream.state().breaker == BreakerState::HalfOpen).await;
    assert!(ask(&upstream).await.is_ok());
    let state = upstream.state();
    assert_eq!(state.breaker, BreakerState::Closed);
    // The server answered pings all the time.
    assert_eq!(state.starts, 1);
    assert_eq!(state.failures["circuitOpen"], 11);
    upstream.close().await;
}

/// Starts a query with which the server hangs.
async fn hangs(upstream: &Arc<Upstream>) -> JoinHandle<Result<Vec<CallAnswer>, Failure>> {
    let before = upstream.state().calls;
    let asking = Arc::clone(upstream);
    let hanging = tokio::spawn(async move { ask(&asking).await });
    reaches(|| upstream.state().calls > before).await;
    hanging
}

fn soon() -> Instant {
    Instant::now() + Duration::from_millis(200)
}

// REQ-AGR-07
#[tokio::test]
async fn time_spent_in_the_aggregator_is_not_a_failure_of_the_server() {
    let upstream = started("--call hang", |settings| {
        settings.calls_per_server = 1;
        settings.breaker_failures = 1;
    });
    is_ready(&upstream).await;
    let hanging = hangs(&upstream).await;
    // The only permit is taken.
    let waited = upstream.ask("x", soon(), &route()).await;
    assert_eq!(waited.unwrap_err(), Failure::Busy);
    // A caller that gives up early says nothing about the server.
    hanging.abort();
    let _ = hanging.await;
    // The server is called, but has less than its full time.
    let hurried = upstream.ask("x", soon(), &route()).await;
    assert!(matches!(hurried, Err(Failure::Timeout(_))), "{hurried:?}");
    let late = upstream.ask("x", Instant::now(), &route()).await;
    assert_eq!(late.unwrap_err(), Failure::Busy);
    let state = upstream.state();
    assert_eq!(state.breaker, BreakerState::Closed);
    assert_eq!((state.calls, state.failures["busy"], state.in_flight), (2, 2, 0));
    upstream.close().await;
}

#[tokio::test]
async fn impatient_clients_open_the_breaker_of_a_dead_server() {
    let upstream = started("--call hang", |settings| {
        settings.server_timeout = Duration::from_secs(2);
        settings.breaker_failures = 2;
    });
    is_ready(&upstream).await;
    for _ in 0..2 {
        let hanging = hangs(&upstream).await;
        tokio::time::sleep(Duration::from_millis(1100)).await;
        hanging.abort();
        let _ = hanging.await;
    }
    assert_eq!(ask(&upstream).await.unwrap_err(), Failure::CircuitOpen);
    upstream.close().await;
}

#[tokio::test]
async fn slow_refusals_count_as_failures() {
    for (delay, expected) in [(0, BreakerState::Closed), (1000, BreakerState::Open)] {
        let script = format!("--call tool-error:no --delay {delay}");
        let upstream = started(&script, |settings| {
            settings.server_timeout = Duration::from_secs(2);
            settings.breaker_failures = 1;
        });
        is_ready(&upstream).await;
        assert!(ask(&upstream).await.is_err());
        if delay > 0 || upstream.state().failures.contains_key("tool") {
            assert_eq!(upstream.state().breaker, expected);
        }
        upstream.close().await;
    }
}

#[tokio::test]
async fn partial_failures_are_reported() {
    let upstream = started("--also search_more", |_| {});
    is_ready(&upstream).await;
    let asked = upstream.ask("x", Instant::now() + TO_START, &route()).await.unwrap();
    assert_eq!(asked.answers.len(), 1);
    let failed: Vec<_> = asked.failed.iter().map(|it| (it.tool.as_str(), it.failure)).collect();
    assert_eq!(failed, [("search_more", Failure::Protocol)]);
    assert_eq!(upstream.state().failures["protocol"], 1);
    upstream.close().await;
}

/// Waits until the server has announced the change.
async fn changes(files: &Files) {
    std::fs::write(files.path("changed"), "").unwrap();
}

#[tokio::test]
async fn a_tool_that_becomes_writing_is_not_called_again() {
    let files = Files::new();
    let (changed, log) = (files.of("changed"), files.of("log"));
    let upstream = started(&format!("--changes writes:{changed} --log {log}"), |_| {});
    is_ready(&upstream).await;
    assert!(ask(&upstream).await.is_ok());
    changes(&files).await;
    reaches(|| upstream.state().phase == Phase::Unmapped).await;
    assert_eq!(ask(&upstream).await.unwrap_err(), Failure::NoQueryTool);
    let calls = std::fs::read_to_string(files.path("log")).unwrap();
    assert_eq!(calls.matches("tools/call").count(), 1);
    assert_eq!(upstream.state().starts, 1);
    upstream.close().await;
}

#[tokio::test]
async fn tools_that_appear_later_are_called() {
    let files = Files::new();
    let upstream = started(&format!("--changes late:{}", files.of("changed")), |_| {});
    reaches(|| upstream.state().phase == Phase::Unmapped).await;
    assert_eq!(ask(&upstream).await.unwrap_err(), Failure::NoQueryTool);
    changes(&files).await;
    is_ready(&upstream).await;
    assert!(ask(&upstream).await.is_ok());
    assert_eq!((upstream.state().starts, upstream.state().no_plan), (1, None));
    upstream.close().await;
}

#[tokio::test]
async fn tools_renamed_without_notice_are_discovered_again() {
    let files = Files::new();
    let upstream = started(&format!("--changes renamed:{}", files.of("changed")), |_| {});
    is_ready(&upstream).await;
    assert!(ask(&upstream).await.is_ok());
    changes(&files).await;
    for _ in 0..MAX_REFUSALS {
        assert_eq!(ask(&upstream).await.unwrap_err(), Failure::Protocol);
    }
    let tool = || upstream.state().plan.map(|plan| plan.describe()[0].tool.clone());
    reaches(|| tool().as_deref() == Some("find_docs")).await;
    assert!(ask(&upstream).await.is_ok());
    assert_eq!(upstream.state().starts, 1);
    upstream.close().await;
}

#[tokio::test]
async fn introspection_of_an_adapter_is_retried() {
    let files = Files::new();
    for call in ["error:busy", "tool-error:busy"] {
        let _ = std::fs::remove_file(files.path("count"));
        let count = files.of("count");
        let script = format!("--adapter --call {call} --times 1 --count {count}");
        let upstream = started(&script, |_| {});
        reaches(|| upstream.state().phase == Phase::Ready).await;
        assert_eq!(upstream.state().starts, 2);
        assert!(text(&ask(&upstream).await.unwrap()[0]).contains("a note on"));
        upstream.close().await;
    }
}

#[tokio::test]
async fn lists_of_tools_are_limited() {
    let files = Files::new();
    let script = format!("--endless 300000 --log {}", files.of("log"));
    let upstream = started(&script, |_| {});
    assert_eq!(ask(&upstream).await.unwrap_err(), Failure::TooLarge);
    let pages = std::fs::read_to_string(files.path("log")).unwrap();
    // At most 4 MB are read per start, and the server may have been started twice by now.
    assert!(pages.matches("tools/list").count() <= 30);
    upstream.close().await;
}

#[tokio::test]
async fn a_tool_is_called_once_although_its_page_is_repeated() {
    for next in ["_", "same"] {
        let files = Files::new();
        let upstream = started(&format!("--next {next} --log {}", files.of("log")), |_| {});
        is_ready(&upstream).await;
        assert_eq!(upstream.state().plan.unwrap().describe().len(), 1, "{next}");
        assert!(ask(&upstream).await.is_ok());
        let log = std::fs::read_to_string(files.path("log")).unwrap();
        assert_eq!(log.matches("tools/call").count(), 1, "{next}: {log}");
        upstream.close().await;
    }
}

#[tokio::test]
async fn later_lists_of_tools_may_be_as_long_as_the_first() {
    let files = Files::new();
    let script = format!("--schema 600000 --changes writes:{}", files.of("changed"));
    let upstream = started(&script, |_| {});
    is_ready(&upstream).await;
    changes(&files).await;
    reaches(|| upstream.state().phase == Phase::Unmapped).await;
    assert_eq!(upstream.state().starts, 1);
    upstream.close().await;
}

#[tokio::test]
async fn notifications_may_be_long() {
    let upstream = started("--noise 700000", |_| {});
    is_ready(&upstream).await;
    assert!(ask(&upstream).await.is_ok());
    upstream.close().await;
}

#[tokio::test]
async fn unknown_blocks_do_not_lose_the_others() {
    let upstream = started("--block", |_| {});
    is_ready(&upstream).await;
    let answers = ask(&upstream).await.unwrap();
    assert!(text(&answers[0]).contains("result 1 for tokio select"));
    let split = crate::items::split(&answers[0].result, &answers[0].items, 100, 1000);
    assert_eq!((split.items.len(), split.left_out), (10, 1));
    upstream.close().await;
}

#[tokio::test]
async fn configuration_problems_are_logged_once() {
    let call = |tool: &str| crate::ask::CallTemplate {
        tool: tool.to_owned(),
        arguments: None,
        items: crate::items::ItemLocation::default(),
        may_write: false,
    };
    for (calls, phase) in
        [(vec!["search_doks"], Phase::Unmapped), (vec!["search_docs", "no"], Phase::Ready)]
    {
        let files = Files::new();
        LazyLock::force(&LOG);
        let name = format!("told-{phase:?}");
        let config = ServerConfig {
            name: name.clone(),
            how: command(&format!("--changes writes:{}", files.of("changed"))),
            disabled: false,
            secrets: Vec::new(),
            settings: ServerSettings {
                calls: calls.iter().map(|tool| call(tool)).collect(),
                ..ServerSettings::default()
            },
        };
        let upstream = Upstream::new(config, Arc::new(Settings::default()), route());
        upstream.start();
        reaches(|| upstream.state().phase == phase).await;
        let wrong = calls.last().unwrap();
        let log = String::from_utf8_lossy(&LOG.lock().unwrap()).into_owned();
        let warned: Vec<_> =
            log.lines().filter(|it| it.contains("WARN") && it.contains(&name)).collect();
        assert_eq!(warned.len(), 1, "{warned:?}");
        assert!(warned[0].contains(&format!("the server has no tool `{wrong}`")), "{warned:?}");
        upstream.close().await;
    }
}

#[tokio::test]
async fn servers_without_a_search_tool_may_exit_on_their_own() {
    // The shell that runs the server records its exit status.
    let files = Files::new();
    let How::Command { command: program, args, env, .. } = command("--tool delete_docs") else {
        unreachable!()
    };
    let quoted: Vec<_> = args.iter().map(|arg| format!("'{arg}'")).collect();
    let line = format!("'{program}' {}; echo $? > '{}'", quoted.join(" "), files.of("ended"));
    let args = vec!["-c".to_owned(), line];
    let how = How::Command { command: "/bin/sh".to_owned(), args, env, cwd: None };
    let upstream = new(how, |_| {});
    upstream.start();
    let ended = || std::fs::read_to_string(files.path("ended")).unwrap_or_default();
    reaches(|| ended() == "0\n").await;
    upstream.close().await;
}

/// Checks the cause that the operator sees.
async fn causes(how: How, set: impl FnOnce(&mut Settings), expected: &str) {
    let upstream = new(how, set);
    upstream.start();
    upstream.settled().await;
    let starts = upstream.starts();
    if let Err(Failure::Exited) = ask(&upstream).await {
        upstream.has_ended(starts).await;
    }
    let causes = upstream.state().causes;
    assert!(causes.iter().any(|cause| cause.contains(expected)), "{expected}: {causes:?}");
    nothing_leaked(&upstream);
    upstream.close().await;
}

#[tokio::test]
async fn causes_are_reported_to_the_operator() {
    let at = |program: Option<&str>, folder: Option<&str>| match command("") {
        How::Command { command, args, env, .. } => How::Command {
            command: program.map_or(command, str::to_owned),
            args,
            env,
            cwd: folder.map(PathBuf::from),
        },
        other => other,
    };
    causes(at(Some("no-such-program"), None), |_| {}, "'no-such-program' is not found").await;
    causes(at(None, Some("/no/folder")), |_| {}, "the folder /no/folder does not exist").await;
    causes(command("--start crash"), |_| {}, "exit status: 7").await;
    causes(command("--call exit"), |_| {}, "exit status: 3").await;
    let hurried = |settings: &mut Settings| settings.start_timeout = Duration::from_millis(300);
    causes(command("--start never"), hurried, "initialize: no answer within 300ms").await;
    causes(command("--start error:no"), |_| {}, "initialize: JSON-RPC error -32000: no").await;
    causes(
        command("--call error:s3cret-key-is-wrong"),
        |_| {},
        "JSON-RPC error -32000: ***-is-wrong",
    )
    .await;
    causes(command("--call tool-error:s3cret"), |_| {}, "search_docs: s3cret").await;
    causes(command("--call garbage"), |_| {}, "not MCP messages").await;
    causes(command("--call huge:3000000"), |_| {}, "the answer has more than 524288 bytes").await;
}

#[tokio::test]
async fn each_event_in_the_log_names_its_server() {
    LazyLock::force(&LOG);
    let config = ServerConfig {
        name: "of-this-name".to_owned(),
        how: command("--start crash"),
        disabled: false,
        secrets: Vec::new(),
        settings: ServerSettings::default(),
    };
    let upstream = Upstream::new(config, Arc::new(Settings::default()), route());
    upstream.start();
    reaches(|| upstream.state().starts >= 3).await;
    upstream.close().await;
    let log = String::from_utf8_lossy(&LOG.lock().unwrap()).into_owned();
    let warned: Vec<_> = log
        .lines()
        .filter(|line| line.contains("WARN") && line.contains("server=\"of-this-name\" failure="))
        .collect();
    // A repeated failure is logged once.
    assert_eq!(warned.len(), 1, "{warned:?}");
}

#[tokio::test]
async fn dropping_a_query_cancels_the_call() {
    let files = Files::new();
    let script = format!("--call slow:2000 --log {}", files.of("log"));
    let upstream = started(&script, |_| {});
    is_ready(&upstream).await;
    let asking = hangs(&upstream).await;
    let called = || std::fs::read_to_string(files.path("log")).unwrap_or_default();
    reaches(|| called().contains("tools/call")).await;
    asking.abort();
    let _ = asking.await;
    let lines = || std::fs::read_to_string(files.path("log")).unwrap_or_default();
    reaches(|| lines().contains("notifications/cancelled")).await;
    let lines: Vec<Value> =
        lines().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |method: &str| lines.iter().find(|line| line["method"] == method).unwrap();
    assert_eq!(of("notifications/cancelled")["params"]["requestId"], of("tools/call")["id"]);
    // The client offers no capabilities and sends the route of the query.
    assert_eq!(of("initialize")["params"]["capabilities"], serde_json::json!({}));
    assert_eq!(of("tools/call")["params"]["_meta"][route::META], route().names());
    reaches(|| upstream.state().late == 1).await;
    let state = upstream.state();
    assert_eq!((state.cancelled, state.in_flight), (1, 0));
    assert_eq!(state.breaker, BreakerState::Closed);
    upstream.close().await;
}

#[tokio::test]
async fn a_server_inherits_few_variables() {
    let files = Files::new();
    let upstream = started(&format!("--show-env {}", files.of("env")), |_| {});
    is_ready(&upstream).await;
    let env = std::fs::read_to_string(files.path("env")).unwrap();
    let mut names: Vec<_> =
        env.lines().filter_map(|line| line.split_once('=')).map(|it| it.0).collect();
    names.retain(|name| !INHERITED.contains(name));
    names.sort_unstable();
    let own = [VARIABLE, process::MARK];
    assert_eq!(names, ["API_KEY", own[0], own[1], mcp_aql_upstreams::SCRIPT]);
    assert!(env.contains(&format!("{VARIABLE}={}", route().names())));
    upstream.close().await;
}

const INHERITED: [&str; 4] = ["PATH", "HOME", "LANG", "TMPDIR"];

#[tokio::test]
async fn stubborn_servers_are_killed_with_their_children() {
    for is_closed in [true, false] {
        let files = Files::new();
        let script = format!("--child --stays --pids {}", files.of("pids"));
        let upstream = started(&script, |_| {});
        is_ready(&upstream).await;
        reaches(|| pids(&files.path("pids")).len() == 2).await;
        if is_closed {
            upstream.close().await;
        }
        drop(upstream);
        reaches(|| !pids(&files.path("pids")).iter().any(is_alive)).await;
    }
}

/// Only Linux shows the parents of processes.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn processes_that_left_the_group_are_killed() {
    for (script, is_closed) in
        [("--stays", true), ("--stays", false), ("", true), ("--call exit", true)]
    {
        let files = Files::new();
        let script = format!("--child --daemon --detached {script} --pids {}", files.of("pids"));
        let upstream = started(&script, |_| {});
        is_ready(&upstream).await;
        reaches(|| pids(&files.path("pids")).len() == 4).await;
        assert!(pids(&files.path("pids")).iter().all(is_alive), "{script}");
        if is_closed {
            upstream.close().await;
        }
        drop(upstream);
        reaches(|| !pids(&files.path("pids")).iter().any(is_alive)).await;
    }
}

/// Not a test: a program with a server, to be killed.
#[tokio::test]
async fn as_parent() {
    if let Ok(script) = std::env::var("PARENT_OF") {
        let _upstream = started(&script, |_| {});
        tokio::time::sleep(TO_START).await;
    }
}

#[tokio::test]
async fn no_process_remains_after_the_parent_is_killed() {
    let files = Files::new();
    let is_linux = cfg!(target_os = "linux");
    let daemon = if is_linux { "--daemon" } else { "" };
    let script = format!("--child {daemon} --stays --pids {}", files.of("pids"));
    let mut parent = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["upstream::tests::as_parent", "--exact"])
        .env("PARENT_OF", script)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    reaches(|| pids(&files.path("pids")).len() == if is_linux { 3 } else { 2 }).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(pids(&files.path("pids")).iter().all(is_alive));
    parent.kill().unwrap();
    parent.wait().unwrap();
    reaches(|| !pids(&files.path("pids")).iter().any(is_alive)).await;
}

#[tokio::test]
async fn an_aggregator_started_by_itself_starts_no_servers() {
    let files = Files::new();
    let own = route().names();
    let config = ServerConfig {
        name: "docs".to_owned(),
        how: command(&format!("--pids {}", files.of("pids"))),
        disabled: false,
        secrets: Vec::new(),
        settings: ServerSettings::default(),
    };
    let route = Route::new(["docs"], Some(&own));
    let upstream = Upstream::new(config, Arc::new(Settings::default()), route);
    upstream.start();
    assert_eq!(ask(&upstream).await.unwrap_err(), Failure::Loop);
    assert!(!files.path("pids").exists());
}

#[tokio::test]
async fn a_server_without_a_search_tool_is_left_out_and_ended() {
    let files = Files::new();
    let script = format!("--tool delete_docs --pids {}", files.of("pids"));
    let upstream = started(&script, |_| {});
    reaches(|| upstream.state().phase == Phase::Unmapped).await;
    assert!(upstream.state().no_plan.is_some());
    assert_eq!(ask(&upstream).await.unwrap_err(), Failure::NoQueryTool);
    reaches(|| !pids(&files.path("pids")).iter().any(is_alive)).await;
    assert_eq!(upstream.state().starts, 1);
}

#[tokio::test]
async fn standard_error_does_not_block_a_server() {
    let upstream = started("--stderr 3000000", |_| {});
    is_ready(&upstream).await;
    assert!(ask(&upstream).await.is_ok());
    let words = upstream.state().stderr_tail;
    assert_eq!(words.len(), 20);
    assert_eq!(words[19], "e".repeat(99));
    upstream.close().await;
}

#[tokio::test]
async fn standard_error_of_a_failed_start_is_kept() {
    let upstream = started("--start crash --stderr 100", |_| {});
    upstream.settled().await;
    let state = upstream.state();
    assert_eq!((state.phase, state.stderr_tail), (Phase::Failed, vec!["e".repeat(99)]));
    upstream.close().await;
}

#[tokio::test]
async fn concurrent_calls_are_limited() {
    let upstream = started("--call slow:200", |settings| settings.calls_per_server = 2);
    is_ready(&upstream).await;
    let begun = Instant::now();
    let all = join_all((0..6).map(|_| ask(&upstream))).await;
    assert!(all.iter().all(Result::is_ok));
    assert!(begun.elapsed() >= Duration::from_millis(600));
    upstream.close().await;
}

#[cfg(feature = "http")]
mod http {
    use mcp_aql_upstreams::{HttpScript, Script, serve_http};

    use super::*;

    fn script(text: &str) -> Script {
        Script::read(text.split_whitespace()).unwrap()
    }

    fn serve(script: HttpScript) -> String {
        format!("http://{}/mcp", serve_http(script))
    }

    fn at(url: impl Into<String>) -> Arc<Upstream> {
        let headers = BTreeMap::from([("x-api-key".to_owned(), "s3cret-key".to_owned())]);
        let upstream = new(How::Http { url: url.into(), headers }, |_| {});
        upstream.start();
        upstream
    }

    #[tokio::test]
    async fn sessions_are_used_and_ended() {
        for events in [false, true] {
            let serving = HttpScript { events, ..HttpScript::default() };
            let seen = Arc::clone(&serving.seen);
            let upstream = at(serve(serving));
            let answers = ask(&upstream).await.unwrap();
            assert!(text(&answers[0]).contains("result 10 for tokio select"));
            let state = upstream.state();
            assert!(state.bytes_in > answers[0].bytes as u64 && state.bytes_out > 100);
            upstream.close().await;
            reaches(|| seen.lock().unwrap().last().is_some_and(|it| it.starts_with("DELETE")))
                .await;
            let seen = seen.lock().unwrap();
            let call = seen.iter().find(|it| it.contains("tools/call")).unwrap();
            for header in
                ["mcp-session-id: s1", "mcp-protocol-version: 20", "x-api-key: s3cret-key"]
            {
                assert!(call.contains(header), "{header}: {call}");
            }
            nothing_leaked(&upstream);
        }
    }

    #[tokio::test]
    async fn an_expired_session_is_replaced() {
        // With the correct status, and with the one that many servers send.
        for lost in [404, 400] {
            let serving = HttpScript {
                calls_per_session: Some(1),
                lost: Some(lost),
                ..HttpScript::default()
            };
            let upstream = at(serve(serving));
            for _ in 0..3 {
                assert!(ask(&upstream).await.is_ok());
            }
            assert_eq!(upstream.state().starts, 3);
            upstream.close().await;
        }
    }

    async fn answers(upstream: &Upstream, query: &str) -> Result<Answers, Failure> {
        upstream.ask(query, Instant::now() + TO_START, &route()).await
    }

    #[tokio::test]
    async fn an_invalid_query_fails_alone() {
        for status_with_error in [true, false] {
            let status = Some((400, Vec::new()));
            let word = Some("bad".to_owned());
            let serving = HttpScript { status, word, status_with_error, ..HttpScript::default() };
            let upstream = at(serve(serving));
            is_ready(&upstream).await;
            for _ in 0..4 {
                let (bad, good) =
                    tokio::join!(answers(&upstream, "bad"), answers(&upstream, "good"));
                assert_eq!(bad.unwrap_err(), Failure::Protocol);
                assert!(good.is_ok());
            }
            let state = upstream.state();
            assert_eq!((state.starts, state.breaker), (1, BreakerState::Closed));
            upstream.close().await;
        }
    }

    #[tokio::test]
    async fn overloaded_servers_open_the_breaker() {
        for (status, expected) in
            [(503, Failure::ServerError), (408, Failure::ServerError), (429, Failure::RateLimited)]
        {
            let status = Some((status, Vec::new()));
            let upstream = at(serve(HttpScript { status, ..HttpScript::default() }));
            is_ready(&upstream).await;
            for _ in 0..3 {
                assert_eq!(ask(&upstream).await.unwrap_err(), expected);
            }
            assert_eq!(ask(&upstream).await.unwrap_err(), Failure::CircuitOpen);
            upstream.close().await;
        }
    }

    #[tokio::test]
    async fn notifications_may_be_long() {
        let script = script("--noise 700000");
        let upstream = at(serve(HttpScript { script, events: true, ..HttpScript::default() }));
        is_ready(&upstream).await;
        assert!(text(&ask(&upstream).await.unwrap()[0]).contains("result 1 for tokio select"));
        upstream.close().await;
    }

    #[tokio::test]
    async fn tools_are_discovered_again_without_notifications() {
        let files = Files::new();
        let script = script(&format!("--changes writes:{}", files.of("changed")));
        let url = serve(HttpScript { script, stateless: true, ..HttpScript::default() });
        let config = ServerConfig {
            name: "docs".to_owned(),
            how: How::Http { url, headers: BTreeMap::new() },
            disabled: false,
            secrets: Vec::new(),
            settings: ServerSettings::default(),
        };
        let now_and_then = Duration::from_millis(100);
        let upstream = Upstream::with_discovery_interval(
            config,
            Arc::new(Settings::default()),
            route(),
            now_and_then,
        );
        upstream.start();
        is_ready(&upstream).await;
        changes(&files).await;
        reaches(|| upstream.state().phase == Phase::Unmapped).await;
        std::fs::remove_file(files.path("changed")).unwrap();
        is_ready(&upstream).await;
        upstream.close().await;
    }

    #[tokio::test]
    async fn causes_are_reported_to_the_operator() {
        let of = |status: u16| HttpScript {
            status: Some((status, Vec::new())),
            ..HttpScript::default()
        };
        for (serving, expected) in [
            (of(503), "search_docs: HTTP status 503 Service Unavailable"),
            (of(401), "HTTP status 401"),
            (of(200), "content of type ''"),
        ] {
            let url = serve(serving);
            causes(How::Http { url, headers: BTreeMap::new() }, |_| {}, expected).await;
        }
        let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let how = How::Http { url: format!("http://{gone}/"), headers: BTreeMap::new() };
        causes(how, |_| {}, "initialize: tcp connect error: Connection refused").await;
    }

    async fn fails(serving: HttpScript, expected: Failure) {
        let upstream = at(serve(serving));
        is_ready(&upstream).await;
        assert_eq!(ask(&upstream).await.unwrap_err(), expected);
        nothing_leaked(&upstream);
        upstream.close().await;
    }

    #[tokio::test]
    async fn failures_have_a_fixed_wording() {
        for (call, expected) in [
            ("error:s3cret", Failure::Protocol),
            ("tool-error:s3cret", Failure::Tool),
            ("exit", Failure::Exited),
            ("huge:3000000", Failure::TooLarge),
            ("huge:20000000", Failure::TooLarge),
        ] {
            for events in [false, true] {
                let script = script(&format!("--call {call}"));
                fails(HttpScript { script, events, ..HttpScript::default() }, expected).await;
            }
        }
        for (status, expected) in [
            (401, Failure::Unauthorized),
            (403, Failure::Unauthorized),
            (302, Failure::Redirected),
            (400, Failure::Protocol),
            (408, Failure::ServerError),
            (429, Failure::RateLimited),
            (500, Failure::ServerError),
            (504, Failure::ServerError),
            (200, Failure::Protocol),
        ] {
            let status = Some((status, vec![("www-authenticate".to_owned(), "s3cret".to_owned())]));
            fails(HttpScript { status, ..HttpScript::default() }, expected).await;
        }
    }

    #[tokio::test]
    async fn calls_that_hang_are_cancelled() {
        let serving = HttpScript { script: script("--call hang"), ..HttpScript::default() };
        let seen = Arc::clone(&serving.seen);
        let upstream = at(serve(serving));
        is_ready(&upstream).await;
        let until = Instant::now() + Duration::from_millis(300);
        let asked = upstream.ask("x", until, &route()).await;
        assert!(matches!(asked, Err(Failure::Timeout(_))), "{asked:?}");
        let is_told =
            || seen.lock().unwrap().iter().any(|it| it.contains("notifications/cancelled"));
        reaches(is_told).await;
        upstream.close().await;
    }

    #[tokio::test]
    async fn redirects_are_followed_only_within_the_server() {
        let redirect = Some((307, "/mcp".to_owned()));
        let url = serve(HttpScript { redirect, ..HttpScript::default() });
        let upstream = at(format!("{url}/"));
        assert!(ask(&upstream).await.is_ok());
        upstream.close().await;

        let other = HttpScript::default();
        let seen = Arc::clone(&other.seen);
        let redirect = Some((307, serve(other)));
        let url = serve(HttpScript { redirect, ..HttpScript::default() });
        let upstream = at(format!("{url}/"));
        assert_eq!(ask(&upstream).await.unwrap_err(), Failure::Redirected);
        assert!(seen.lock().unwrap().is_empty());
        let causes = upstream.state().causes;
        assert!(causes[0].contains("307 Temporary Redirect to 127.0.0.1"), "{causes:?}");
        upstream.close().await;

        // Redirects that change the method are not followed.
        let redirect = Some((302, "/mcp".to_owned()));
        let url = serve(HttpScript { redirect, ..HttpScript::default() });
        let upstream = at(format!("{url}/"));
        assert_eq!(ask(&upstream).await.unwrap_err(), Failure::Redirected);
        upstream.close().await;
    }

    #[tokio::test]
    async fn unreachable_and_forbidden_servers() {
        // The listener is closed.
        let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let upstream = at(format!("http://{gone}/mcp?token=s3cret"));
        assert_eq!(ask(&upstream).await.unwrap_err(), Failure::Refused);
        nothing_leaked(&upstream);
        upstream.close().await;

        let upstream = at("http://192.0.2.1/mcp");
        assert_eq!(ask(&upstream).await.unwrap_err(), Failure::Plain);
        upstream.close().await;
    }
}

#[cfg(feature = "tls")]
mod tls {
    use std::net::TcpStream;

    use mcp_aql_upstreams::{HttpScript, serve_http_over};
    use rustls::pki_types::PrivateKeyDer;
    use rustls::{ServerConfig, ServerConnection, StreamOwned};

    use super::*;

    /// Not a test: a program with another environment that queries a server.
    #[tokio::test]
    async fn as_client() {
        if let (Ok(url), Some(file)) = (std::env::var("ASK"), std::env::var_os("OUTCOME")) {
            let upstream = new(How::Http { url, headers: BTreeMap::new() }, |_| {});
            upstream.start();
            let outcome =
                ask(&upstream).await.map_or_else(|why| why.to_string(), |_| "answered".to_owned());
            let causes = upstream.state().causes.join("; ");
            std::fs::write(file, format!("{outcome} {causes}")).unwrap();
        }
    }

    /// Returns the outcome of a query with these trusted certificates, and the cause of a failure.
    fn outcome(files: &Files, url: &str, trusted: &Path) -> String {
        let file = files.path("outcome");
        let done = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["upstream::tests::tls::as_client", "--exact"])
            .env("ASK", url)
            .env("OUTCOME", &file)
            .env_remove("SSL_CERT_DIR")
            .env("SSL_CERT_FILE", trusted)
            .stdout(std::process::Stdio::null())
            .status();
        assert!(done.unwrap().success());
        std::fs::read_to_string(file).unwrap()
    }

    #[test]
    fn tls_requires_a_trusted_certificate() {
        let files = Files::new();
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let other = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        std::fs::write(files.path("trusted"), made.cert.pem()).unwrap();
        std::fs::write(files.path("other"), other.cert.pem()).unwrap();
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        let config = Arc::new(config);
        let address = serve_http_over(HttpScript::default(), move |stream: TcpStream| {
            let connection = ServerConnection::new(Arc::clone(&config)).ok()?;
            Some(StreamOwned::new(connection, stream))
        });
        let url = format!("https://localhost:{}/mcp", address.port());
        assert_eq!(outcome(&files, &url, &files.path("trusted")), "answered ");
        let told = outcome(&files, &url, &files.path("other"));
        assert!(told.starts_with("certificate not trusted initialize: "), "{told}");
        assert!(told.contains("set SSL_CERT_FILE to a PEM file"), "{told}");
        let told = outcome(&files, &url, &files.path("none"));
        assert!(
            told.starts_with("certificate not trusted the URL requires trusted certificates"),
            "{told}"
        );
        // A server without TLS.
        let plain = mcp_aql_upstreams::serve_http(HttpScript::default());
        let url = format!("https://localhost:{}/mcp", plain.port());
        let told = outcome(&files, &url, &files.path("trusted"));
        assert!(told.starts_with("connection refused initialize: "), "{told}");
        assert!(told.contains("write http://"), "{told}");
    }
}
