//! Tests of each protection of the console, over real connections.

use std::sync::atomic::Ordering;

use crate::operator::OperatorAccess as _;
use crate::safety_loop::WithSafetyLoop as _;

use chrono::TimeDelta;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::demo::{CODE, DemoBackend, HOSTILE};
use super::*;

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

struct Fixture {
    demo: Arc<DemoBackend>,
    console: Console,
}

/// A signed-in browser.
struct Browser {
    port: u16,
    cookie: String,
    token: String,
}

impl Fixture {
    async fn new() -> Self {
        let demo = DemoBackend::new(Utc::now());
        let options =
            ConsoleOptions::new().print_login_link(false).login_command("guard <console>");
        let console = Console::start(demo.operator(), options).await.unwrap();
        Self { demo, console }
    }

    fn port(&self) -> u16 {
        self.console.address().port()
    }

    fn host(&self) -> String {
        format!("Host: {}\r\n", self.console.address())
    }

    /// Requests the page of a link like a browser.
    async fn open(&self, link: &str) -> Answer {
        let path = link.strip_prefix(&format!("http://{}", self.console.address())).unwrap();
        send(self.port(), &format!("GET {path} HTTP/1.1\r\n{}", self.host())).await
    }

    async fn browser(&self) -> Browser {
        let answer = self.open(&self.console.link().unwrap()).await;
        assert_eq!(answer.status, 303, "{}", answer.body);
        let cookie = answer.header("set-cookie").unwrap().split(';').next().unwrap();
        let token = answer.header("location").unwrap().strip_prefix("/#token=").unwrap();
        Browser { port: self.port(), cookie: cookie.to_owned(), token: token.to_owned() }
    }
}

impl Browser {
    /// Sends a request of the page's script. `change` modifies it first.
    async fn sends(&self, request: &str, change: impl FnOnce(String) -> String) -> Answer {
        let Self { port, cookie, token } = self;
        let origin = match request.starts_with("POST") {
            true => format!("Origin: http://127.0.0.1:{port}\r\n"),
            false => String::new(),
        };
        let head = format!(
            "{request} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{origin}Sec-Fetch-Site: same-origin\r\n\
             Cookie: other=1; {cookie}\r\nX-Console-Token: {token}\r\n"
        );
        send(*port, &change(head)).await
    }

    async fn asks(&self, request: &str) -> Answer {
        self.sends(request, |head| head).await
    }
}

/// Sends a request. `head` has no terminating empty line unless there is a body.
async fn send(port: u16, head: &str) -> Answer {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let text = match head.split_once("\r\n\r\n") {
        Some((head, body)) => format!("{head}\r\nConnection: close\r\n\r\n{body}"),
        None => format!("{head}Connection: close\r\n\r\n"),
    };
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, head: head.to_owned(), body: body.to_owned() }
}

#[tokio::test]
async fn nobody_gets_in_without_a_link() {
    let fixture = Fixture::new().await;
    for request in ["GET /", "GET /console.js", "GET /nothing", "GET /api/overview"] {
        let answer =
            send(fixture.port(), &format!("{request} HTTP/1.1\r\n{}", fixture.host())).await;
        assert_eq!(answer.status, 401, "{request}");
        assert!(answer.body.contains("You are not signed in."), "{}", answer.body);
        assert_eq!(answer.body.contains("guard &lt;console&gt;"), !request.contains("api"));
    }
    let post = format!(
        "POST /api/requests/rq-deploy/approve HTTP/1.1\r\n{}Origin: http://{}\r\n",
        fixture.host(),
        fixture.console.address()
    );
    assert_eq!(send(fixture.port(), &post).await.status, 401);
    assert_eq!(fixture.demo.operator().overview().await.unwrap().requests.len(), 5);
}

#[tokio::test]
async fn a_link_signs_in_once() {
    let fixture = Fixture::new().await;
    let link = fixture.console.link().unwrap();
    let answer = fixture.open(&link).await;
    assert_eq!((answer.status, answer.body.as_str()), (303, ""));
    let cookie = answer.header("set-cookie").unwrap();
    let (value, flags) = cookie.split_once(';').unwrap();
    let value = value.strip_prefix(&format!("mcp_aql_console_{}=", fixture.port())).unwrap();
    assert_eq!(value.len(), 43, "256 bits");
    assert_eq!(flags, " Path=/; HttpOnly; SameSite=Strict");
    assert!(answer.header("location").unwrap().starts_with("/#token="));

    let again = fixture.open(&link).await;
    assert_eq!((again.status, again.header("set-cookie")), (401, None));
    assert!(again.body.contains("used before"), "{}", again.body);
    let expired = fixture.console.shared.key.link(
        fixture.port(),
        Utc::now() - ON_DEMAND_TTL - TimeDelta::seconds(1),
        ON_DEMAND_TTL,
        &OperatorName::of_account(),
    );
    for link in [&expired.unwrap(), &format!("{link}A"), &link.replace("once=", "one=")] {
        assert_eq!(fixture.open(link).await.status, 401, "{link}");
    }
    // Requesting the page does not use the link up.
    let link = fixture.console.link().unwrap();
    let path = link.strip_prefix(&format!("http://{}", fixture.console.address())).unwrap();
    let head = send(fixture.port(), &format!("HEAD {path} HTTP/1.1\r\n{}", fixture.host())).await;
    assert_eq!(head.status, 405);
    assert_eq!(fixture.open(&link).await.status, 303);
}

#[tokio::test]
async fn whoever_guesses_is_slowed_and_keeps_nobody_out() {
    let fixture = Fixture::new().await;
    let guess = format!("http://{}/login?once=guess", fixture.console.address());
    for _ in 0..10 {
        assert_eq!(fixture.open(&guess).await.status, 401);
    }
    let answer = fixture.open(&guess).await;
    assert_eq!((answer.status, answer.header("retry-after")), (429, Some("60")));
    fixture.browser().await;
}

#[tokio::test]
async fn cookie_and_token_are_both_needed() {
    let fixture = Fixture::new().await;
    let browser = fixture.browser().await;
    let other = fixture.browser().await;
    let page = |head: &str| head.replace(&format!("X-Console-Token: {}\r\n", browser.token), "");
    assert_eq!(browser.sends("GET /", |head| page(&head)).await.status, 200);
    for request in ["GET /api/overview", "POST /api/requests/rq-deploy/approve", "POST /api/logout"]
    {
        let missing = browser.sends(request, |head| page(&head)).await;
        assert_eq!(missing.status, 403, "{request}");
        let foreign =
            browser.sends(request, |head| head.replace(&browser.token, &other.token)).await;
        assert_eq!(foreign.status, 403, "{request}");
    }
    let nobody = browser.sends("GET /api/overview", |head| head.replace("mcp_aql", "x")).await;
    assert_eq!(nobody.status, 401);
    assert_eq!(browser.asks("GET /api/overview").await.status, 200);
    assert_eq!(browser.asks("POST /api/logout").await.status, 204);
    assert_eq!(browser.asks("GET /api/overview").await.status, 401);
    assert_eq!(other.asks("GET /api/overview").await.status, 200);
}

#[tokio::test]
async fn other_names_and_other_sites_are_refused() {
    let fixture = Fixture::new().await;
    let browser = fixture.browser().await;
    let port = fixture.port();
    let host = format!("Host: 127.0.0.1:{port}\r\n");
    for (with, status) in [
        (format!("Host: localhost:{port}\r\n"), 403),
        (format!("Host: 127.1:{port}\r\n"), 403),
        (format!("Host: [::1]:{port}\r\n"), 403),
        (format!("Host: 127.0.0.1:0{port}\r\n"), 403),
        (format!("Host: rebound.example:{port}\r\n"), 403),
        ("Host: 127.0.0.1\r\n".to_owned(), 403),
        ("Host: 127.0.0.1:1\r\n".to_owned(), 403),
        (format!("Host: 127.0.0.1:{port}.example\r\n"), 403),
        (format!("{host}Host: rebound.example\r\n"), 403),
        (format!("{host}Sec-Fetch-Site: cross-site\r\n"), 403),
        (format!("{host}Origin: http://evil.example\r\n"), 403),
    ] {
        let change = |head: String| {
            head.replace(&host, &with).replace("Sec-Fetch-Site: same-origin\r\n", "")
        };
        let answer = browser.sends("GET /api/overview", change).await;
        assert_eq!(answer.status, status, "{with}");
    }
    let elsewhere = format!("GET http://rebound.example:{port}/");
    assert_eq!(browser.asks(&elsewhere).await.status, 403);

    let post = "POST /api/requests/rq-deploy/approve";
    let own = format!("Origin: http://127.0.0.1:{port}\r\n");
    for (shows, from, to) in [
        ("another origin", &*own, "Origin: http://evil.example\r\n"),
        ("another port", &own, "Origin: http://127.0.0.1:1\r\n"),
        ("no page", &own, "Origin: null\r\n"),
        ("no origin", &own, ""),
        ("another scheme", &own, &own.replace("http:", "https:")),
        ("another name of ours", &own, &own.replace("127.0.0.1", "localhost")),
        ("a link elsewhere", "same-origin", "cross-site"),
        ("another port's page", "same-origin", "same-site"),
        ("the address bar", "same-origin", "none"),
    ] {
        let answer = browser.sends(post, |head| head.replace(from, to)).await;
        assert_eq!(answer.status, 403, "{shows}: {}", answer.body);
    }
    assert_eq!(fixture.demo.operator().overview().await.unwrap().requests.len(), 5);
    assert_eq!(browser.asks(post).await.status, 204);
}

#[tokio::test]
async fn idle_connections_do_not_keep_the_operator_out() {
    let fixture = Fixture::new().await;
    let mut idle = Vec::new();
    for place in 0..250 {
        let mut stream = TcpStream::connect(fixture.console.address()).await.unwrap();
        if place % 2 == 0 {
            stream.write_all(b"GET / HTTP/1.1\r\nHost: 127").await.unwrap();
        }
        idle.push(stream);
    }
    let browser = fixture.browser().await;
    assert_eq!(browser.asks("GET /api/overview").await.status, 200);
    // The sessions with the longest idle times were closed.
    for stream in &mut idle[..250 - super::MAX_CONNECTIONS] {
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        assert!(answer.is_empty());
    }
}

#[tokio::test]
async fn no_request_has_a_body() {
    let fixture = Fixture::new().await;
    let browser = fixture.browser().await;
    for body in [
        format!("Content-Length: 100000\r\n\r\n{}", "x".repeat(1000)),
        "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n".to_owned(),
    ] {
        let post = "POST /api/requests/rq-deploy/approve";
        let answer = browser.sends(post, |head| format!("{head}{body}")).await;
        assert_eq!(answer.status, 413, "{body}");
    }
    assert_eq!(fixture.demo.operator().overview().await.unwrap().requests.len(), 5);
}

#[tokio::test]
async fn every_answer_tells_the_browser_what_is_forbidden() {
    let fixture = Fixture::new().await;
    let browser = fixture.browser().await;
    let mut answers = Vec::new();
    for request in [
        "GET /",
        "GET /console.js",
        "GET /console.css",
        "GET /icon.svg",
        "GET /nothing",
        "GET /api/overview",
        "GET /api/requests/x/approve",
        "POST /api/requests/x/approve",
        "POST /",
        "POST /api/requests/rq-deploy/code",
        "PUT /",
        "OPTIONS /api/overview",
        "GET /login?once=x",
    ] {
        answers.push((request, browser.asks(request).await));
    }
    answers.push(("no host", send(fixture.port(), "GET / HTTP/1.1\r\nHost: x\r\n").await));
    answers.push(("a link", fixture.open(&fixture.console.link().unwrap()).await));
    fixture.demo.broken.store(true, Ordering::Relaxed);
    answers.push(("broken", browser.asks("GET /api/overview").await));
    let statuses: Vec<_> = answers.iter().map(|(_, answer)| answer.status).collect();
    assert_eq!(
        statuses,
        [200, 200, 200, 200, 404, 200, 405, 404, 405, 200, 405, 405, 401, 403, 303, 500]
    );
    for (shows, answer) in &answers {
        let policy = answer.header("content-security-policy").unwrap();
        for part in [
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "connect-src 'self'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
            "form-action 'none'",
        ] {
            assert!(policy.split("; ").any(|found| found == part), "{shows}: {part} in {policy}");
        }
        for (name, value) in [
            ("x-frame-options", "DENY"),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cache-control", "no-store"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{shows}");
        }
        assert!(!answer.head.to_ascii_lowercase().contains("access-control-"), "{shows}");
    }
    let broken = &answers.last().unwrap().1;
    let told = broken.json()["error"].as_str().unwrap().to_owned();
    assert!(told.starts_with("Internal error") && !told.contains("disk"), "{told}");
}

#[tokio::test]
async fn the_page_asks_for_nothing_from_elsewhere() {
    for text in [
        include_str!("page.html"),
        include_str!("signed_out.html"),
        include_str!("console.css"),
        include_str!("console.js"),
    ] {
        for word in
            ["http://", "https://", "//cdn", "@import", "url(", "eval(", "innerHTML", "style="]
        {
            assert!(!text.contains(word), "{word}");
        }
    }
}

#[tokio::test]
async fn an_overview_is_sent_when_it_has_changed() {
    let fixture = Fixture::new().await;
    let browser = fixture.browser().await;
    let first = browser.asks("GET /api/overview").await;
    let tag = format!("If-None-Match: {}\r\n", first.header("etag").unwrap());
    let json = first.json();
    assert_eq!(json["requests"].as_array().unwrap().len(), 5);
    assert_eq!(json["agents"][3]["last_action"], HOSTILE);
    assert!(!first.body.contains(CODE), "codes are asked for one by one");
    let times = [
        &json["requests"][0]["expires_at"],
        &json["agents"][0]["started_at"],
        &json["blocks"][0]["since"],
    ];
    for time in times {
        assert_eq!(time.as_str().unwrap().len(), "2031-05-06T07:00:00Z".len(), "{time}");
    }
    assert_eq!(json["requests"][0]["void"], Value::Null);
    assert_eq!(json["requests"][4]["void"], "wrong_code");
    let same = browser.sends("GET /api/overview", |head| head + &tag).await;
    assert_eq!((same.status, same.body.as_str()), (304, ""));
    assert_eq!(browser.asks("POST /api/requests/rq-deploy/deny").await.status, 204);
    let changed = browser.sends("GET /api/overview", |head| head + &tag).await;
    assert_eq!(changed.json()["requests"].as_array().unwrap().len(), 4);
    assert_eq!(changed.json()["audit"][0]["outcome"], "denied");
    assert_eq!(changed.json()["audit"][0]["decided_by"], "console");
}

#[tokio::test]
async fn an_operator_decides() {
    // REQ-OOB-09, REQ-OOB-13
    let fixture = Fixture::new().await;
    let browser = fixture.browser().await;
    let code = format!(r#"{{"code":"{CODE}"}}"#);
    let hostile: String = HOSTILE.bytes().map(|byte| format!("%{byte:02X}")).collect();
    for (request, status, expected) in [
        ("POST /api/requests/rq-deploy/code", 200, &*code),
        (
            "POST /api/requests/rq-old/code",
            404,
            r#"{"error":"This process does not have the code. Issue a new one."}"#,
        ),
        ("POST /api/requests/rq-old/renew", 204, ""),
        ("POST /api/requests/rq-old/code", 200, &*code),
        ("POST /api/requests/rq-deploy/approve", 204, ""),
        (
            "POST /api/requests/rq-deploy/approve",
            404,
            r#"{"error":"Resource 'request' not found: 'rq-deploy'"}"#,
        ),
        ("POST /api/requests/rq-old/explode", 404, r#"{"error":"Not found."}"#),
        ("POST /api/agents/cleanup-7/unblock", 204, ""),
        ("POST /api/agents/a%2Fb/unblock", 404, r#"{"error":"Resource 'block' not found: 'a/b'"}"#),
    ] {
        let answer = browser.asks(request).await;
        assert_eq!((answer.status, &*answer.body), (status, expected), "{request}");
    }
    let unknown = browser.asks(&format!("POST /api/agents/{hostile}/unblock")).await;
    assert_eq!((unknown.status, unknown.header("content-type")), (404, Some("application/json")));
    let overview = fixture.demo.operator().overview().await.unwrap();
    assert_eq!(overview.blocks.len(), 1);
    assert_eq!(overview.requests.len(), 3);
}

#[tokio::test]
async fn the_page_shows_what_happened_before_the_start() {
    let path = std::env::temp_dir().join(mcp_aql_core::internal::vocab::new_id("audit"));
    let demo = DemoBackend::new(Utc::now());
    let options = ConsoleOptions::new().print_login_link(false).audit_log(&path);
    let console = Console::start(demo.operator(), options).await.unwrap();
    let fixture = Fixture { demo, console };
    let browser = fixture.browser().await;
    let shown = async || browser.asks("GET /api/overview").await.json()["audit"].take();
    assert_eq!(shown().await, serde_json::json!([]), "there is no file yet");
    std::fs::write(&path, "{\"event\":\"A\"}\nno JSON\n{\"event\":\"B\"}\n{\"event\":").unwrap();
    assert_eq!(shown().await, serde_json::json!([{ "event": "B" }, { "event": "A" }]));
    std::fs::remove_file(&path).unwrap();
}

#[tokio::test]
async fn an_operator_stops_an_agent() {
    let fixture = Fixture::new().await;
    let browser = fixture.browser().await;
    assert_eq!(browser.asks("POST /api/agents/release-bot/stop").await.status, 204);
    let overview = fixture.demo.operator().overview().await.unwrap();
    let block = overview.blocks.iter().find(|block| block.agent == "release-bot").unwrap();
    assert!(block.stopped);
    assert_eq!(browser.asks("POST /api/agents/nobody/stop").await.status, 404);
    assert_eq!(browser.asks("POST /api/agents/release-bot/remove").await.status, 404);
}

#[tokio::test]
async fn it_listens_on_loopback_and_ends_with_its_handle() {
    let folder = std::env::temp_dir().join(mcp_aql_core::internal::vocab::new_id("console"));
    let demo = DemoBackend::new(Utc::now());
    let options = || ConsoleOptions::new().print_login_link(false).state_dir(&folder);
    let console = Console::start(demo.operator(), options()).await.unwrap();
    let address = console.address();
    assert!(address.ip().is_loopback());
    let taken = Console::start(demo.operator(), options().port(address.port())).await.unwrap_err();
    assert!(taken.to_string().contains(&format!("cannot use {address}")), "{taken}");
    assert!(taken.to_string().contains("set another port"), "{taken}");

    let file = folder.join(format!("console-{}.json", address.port()));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }
    let another = Console::start(demo.operator(), options()).await.unwrap();
    let links = Console::login_links(&folder).unwrap();
    assert_eq!(links.len(), 2, "two processes may share a directory");
    assert!(links[0].started_at >= links[1].started_at);
    let fixture = Fixture { demo, console: another };
    assert_eq!(fixture.open(&links[0].url).await.status, 303);
    assert!(!format!("{links:?} {:?}", fixture.console).contains("once="));

    let left = std::fs::read(&file).unwrap();
    drop(console);
    assert!(!file.exists());
    let gone = async { while TcpStream::connect(address).await.is_ok() {} };
    tokio::time::timeout(Duration::from_secs(60), gone).await.unwrap();
    // A killed process leaves its file behind.
    std::fs::write(&file, left).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let allow = |mode| {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        // If others can write to a file, it may lead to a console of theirs.
        allow(0o622);
        let error = Console::login_links(&folder).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        assert!(error.to_string().contains("is not a private file of your user"), "{error}");
        allow(0o600);
    }
    assert_eq!(Console::login_links(&folder).unwrap().len(), 1);
    assert!(!file.exists());
    drop(fixture);
    std::fs::remove_dir(&folder).unwrap();
    assert!(Console::login_links(&folder).unwrap().is_empty());
}

#[tokio::test]
async fn every_sign_in_and_every_code_that_is_shown_is_in_the_audit_log() {
    // REQ-OOB-12, REQ-OOB-13
    let adapter = mcp_aql_core::Adapter::builder("garden")
        .safety_loop(
            crate::safety_loop::SafetyLoop::new()
                .console(ConsoleOptions::new().print_login_link(false)),
        )
        .store(mcp_aql_core::store::MemoryState::default())
        .without_config()
        .build()
        .unwrap();
    let options = ConsoleOptions::new().print_login_link(false).operator_name("Ada");
    let console = Console::start(adapter.operator().unwrap(), options).await.unwrap();
    let fixture = Fixture { demo: DemoBackend::new(Utc::now()), console };
    let params = serde_json::json!({ "element_name": "tidy" });
    assert!(adapter.call("execute_agent", params).await.is_success());
    let request = adapter.operator().unwrap().overview().await.unwrap().requests.remove(0);

    let link = fixture.console.link().unwrap();
    let browser = fixture.browser().await;
    assert_eq!(fixture.open(&link).await.status, 303);
    for _ in 0..12 {
        assert!([401, 429].contains(&fixture.open(&link).await.status));
    }
    let shown = browser.asks(&format!("POST /api/requests/{}/code", request.id)).await;
    let code = shown.json()["code"].as_str().unwrap().to_owned();
    assert_eq!(browser.asks("POST /api/requests/unknown/code").await.status, 404);
    assert_eq!(browser.asks("POST /api/logout").await.status, 204);

    let mut audit = adapter.operator().unwrap().overview().await.unwrap().audit;
    audit.reverse();
    let by_people: Vec<_> = audit
        .iter()
        .filter(|entry| entry["decided_by"] == "console")
        .map(|entry| entry["event"].as_str().unwrap())
        .collect();
    let mut expected = vec!["OPERATOR_SIGNED_IN"; 2];
    // Ten entries, and one that reports the omitted ones.
    expected.extend(["OPERATOR_SIGN_IN_FAILED"; 11]);
    expected.extend(["CODE_REVEALED", "OPERATOR_SIGNED_OUT"]);
    assert_eq!(by_people, expected);
    let revealed = audit.iter().find(|entry| entry["event"] == "CODE_REVEALED").unwrap();
    assert_eq!(revealed["challenge_id"], request.id.as_str());
    for event in ["OPERATOR_SIGNED_IN", "CODE_REVEALED", "OPERATOR_SIGNED_OUT"] {
        let entry = audit.iter().find(|entry| entry["event"] == event).unwrap();
        assert_eq!(entry["operator"], "Ada", "the name of the link: {entry}");
    }
    let text = Value::Array(audit).to_string();
    let (_, once) = link.split_once("once=").unwrap();
    assert!(!text.contains(&code) && !text.contains(once), "{text}");
}

#[tokio::test]
async fn browsers_stay_signed_in_over_a_restart_if_they_should() {
    let folder = std::env::temp_dir().join(mcp_aql_core::internal::vocab::new_id("console"));
    let options = |port| {
        let options = ConsoleOptions::new().print_login_link(false).state_dir(&folder);
        options.port(port).operator_name("Ada")
    };
    let demo = DemoBackend::new(Utc::now());
    let start = |options| Console::start(demo.operator(), options);
    // This port was free a moment ago.
    let port = start(options(0)).await.unwrap().address().port();
    for stays in [true, false] {
        let options = || options(port).stay_signed_in(stays);
        // The listener of the earlier console closes in its own task.
        let mut console = start(options()).await;
        while console.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
            console = start(options()).await;
        }
        let fixture = Fixture { demo: Arc::clone(&demo), console: console.unwrap() };
        let browser = fixture.browser().await;
        assert_eq!(browser.asks("GET /api/overview").await.status, 200);
        drop(fixture);
        let mut again = start(options()).await;
        while again.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
            again = start(options()).await;
        }
        let status = browser.asks("GET /api/overview").await.status;
        assert_eq!(status, if stays { 200 } else { 401 }, "{stays}");
        drop(again);
    }
    let unset = ConsoleOptions::new().print_login_link(false).stay_signed_in(true);
    let error = start(unset).await.unwrap_err().to_string();
    assert!(error.contains("needs a `state_dir` and a `port`"), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test]
async fn a_console_that_nobody_can_sign_in_to_reaches_nobody() {
    // REQ-GATE-10, REQ-OOB-13
    let folder = std::env::temp_dir().join(mcp_aql_core::internal::vocab::new_id("console"));
    let adapter = |options: ConsoleOptions| {
        mcp_aql_core::Adapter::builder("garden")
            .safety_loop(crate::safety_loop::SafetyLoop::new().console(options))
            .store(mcp_aql_core::store::MemoryState::default())
            .without_config()
            .build()
            .unwrap()
    };
    let reaches = |adapter: &mcp_aql_core::Adapter| crate::safety_core(adapter).unwrap().can_ask();

    // There is neither a link on a terminal nor a way to create one.
    let silent = ConsoleOptions::new().print_login_link(false);
    let mute = adapter(silent.clone());
    assert!(!reaches(&mute), "none is there");
    let console = start_console(crate::safety_core(&mute).unwrap()).await.unwrap().unwrap();
    assert!(!reaches(&mute));
    drop(console);

    let linked = adapter(silent.clone().state_dir(&folder));
    let console = start_console(crate::safety_core(&linked).unwrap()).await.unwrap().unwrap();
    assert!(reaches(&linked));
    drop(console);
    assert!(!reaches(&linked), "it is gone");

    // If a program starts the console, that program can create links.
    let console = Console::start(mute.operator().unwrap(), silent).await.unwrap();
    assert!(reaches(&mute) && console.link().is_ok());
    std::fs::remove_dir_all(folder).unwrap();
}
