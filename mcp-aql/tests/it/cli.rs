//! Tests of the command line of an adapter, run as a child process.

use std::io::Write as _;
use std::process::{Output, Stdio};

use serde_json::{Value, json};

fn run(args: &[&str], input: &str) -> Output {
    let mut command = crate::support::command();
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn call_prints_the_reply_and_exits_by_it() {
    // REQ-RSP-01, REQ-MCP-09
    for (args, input, exit, fragment) in [
        (&["call", "create_note", r#"{"title":"Ship it"}"#][..], "", 0, "Ship it"),
        (&["call", "create_note", "-"], r#"{"title":"From a pipe"}"#, 0, "From a pipe"),
        (&["call", "create_note", "--param", "title=7"], "", 0, r#""title":"7""#),
        (&["call", "execute_export", "-p", "steps=2"], "", 0, r#""data":2"#),
        (&["call", "execute_hold"], "", 0, r#""data":1"#),
        (&["call", "get_note", r#"{"note_id":1}"#], "", 1, "NOT_FOUND_RESOURCE"),
        (&["call", "creat_note"], "", 1, "Did you mean 'create_note'?"),
        (&["call", "execute_panic"], "", 1, "INTERNAL_ERROR"),
    ] {
        let output = run(args, input);
        assert_eq!(code(&output), exit, "{args:?}: {}", stderr(&output));
        let text = stdout(&output);
        assert_eq!(text.lines().count(), 1, "compact JSON in a pipe: {text}");
        assert!(text.contains(fragment), "{args:?}: {text}");
        let reply: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(reply["success"], exit == 0);
    }
}

#[test]
fn usage_errors_exit_with_two_and_suggest_a_correction() {
    for (args, fragment) in [
        (&["call"][..], "OPERATION"),
        (&["frobnicate"], "unrecognized subcommand"),
        (&["call", "create_note", "{"], "not JSON"),
        (&["call", "create_note", "[1]"], "must be a JSON object"),
        (&["call", "create_note", "-p", "title"], "NAME=VALUE"),
        (&["call", "create_note", r#"{"title":"a"}"#, "-p", "title=b"], "given twice"),
        (&["call", "create_note", r#"{"title":"a","title":"b"}"#], "'title' must be given once"),
        (&["call", "create_note", "-p", r#"more={"a":1,"a":2}"#], "'more.a' must be given once"),
        (&["call", "create_note", r#"{"title":1e999}"#], "'title' must not be beyond 1.8e308"),
        (
            &["call", "create_note", r#"{"title":"\ud800"}"#],
            "byte 10 does not start a valid UTF-8 character",
        ),
        (&["introspect", "everything"], "operations, types"),
        (
            &["config", "emacs"],
            "there is no `config emacs`: write check, show or default, or one of",
        ),
        (&["docs", "--format", "pdf"], "markdown, html"),
        (&["docs", "--json"], "use `introspect`"),
        (&["docs", "--out", "Cargo.toml"], "name a directory"),
    ] {
        let output = run(args, "");
        assert_eq!(code(&output), 2, "{args:?}");
        assert!(stderr(&output).contains(fragment), "{args:?}: {}", stderr(&output));
        assert_eq!(stdout(&output), "");
    }
}

#[cfg(feature = "http")]
#[test]
fn http_rejects_invalid_bounds() {
    let http = ["serve", "--http", "127.0.0.1:0"];
    for (args, fragment) in [
        (&["serve", "--max-sessions", "5"][..], "--http <ADDRESS>"),
        (
            &["serve", "--drain-timeout", "3601"],
            "`drain_timeout_seconds` is 3601: choose 0 to 3600",
        ),
        (&["serve", "--client-timeout", "5"], "--http <ADDRESS>"),
        (&["serve", "--max-connections", "5"], "--http <ADDRESS>"),
        (&[&http[..], &["--max-connections", "0"]].concat(), "is 0: choose 1 to 1000000"),
        (&[&http[..], &["--max-inflight", "0"]].concat(), "`http.max_inflight_mib` is 0: choose 1"),
        (&[&http[..], &["--max-sessions", "5", "--stateless"]].concat(), "cannot be used with"),
        (&[&http[..], &["--max-sessions", "0"]].concat(), "is 0: choose 1 to 1000000"),
        (&[&http[..], &["--session-timeout", "0"]].concat(), "is 0: choose 1 to 2592000"),
        (&[&http[..], &["--session-timeout", "5", "--stateless"]].concat(), "cannot be used with"),
        (&[&http[..], &["--max-sessions-per-principal", "0"]].concat(), "is 0: choose 1"),
        (&[&http[..], &["--max-sessions", "-1"]].concat(), "write a number, 1 to 1000000"),
        (&[&http[..], &["--max-sessions", "1000001"]].concat(), "is 1000001: choose 1"),
        (&[&http[..], &["--max-sessions", "many"]].concat(), "write a number"),
        (&[&http[..], &["--reply-retention", "86401"]].concat(), "choose 0 to 86400"),
        (&[&http[..], &["--max-kept-replies", "5", "--stateless"]].concat(), "cannot be used with"),
        (
            &[&http[..], &["--max-kept-replies-per-session", "-1"]].concat(),
            "write a number of MiB, 0 to 1000000",
        ),
        (&[&http[..], &["--client-timeout", "0"]].concat(), "is 0: choose 1 to 86400"),
        (&[&http[..], &["--client-timeout", "-30"]].concat(), "write a number of seconds"),
        (&[&http[..], &["--client-timeout", "86401"]].concat(), "is 86401: choose 1"),
        (&[&http[..], &["--client-timeout", "99999999999999999999"]].concat(), "write a number"),
    ] {
        let output = run(args, "");
        assert_eq!(code(&output), 2, "{args:?}");
        assert!(stderr(&output).contains(fragment), "{args:?}: {}", stderr(&output));
    }
}

/// A process that serves over HTTP. It is stopped on drop.
#[cfg(feature = "http")]
struct Served {
    child: std::process::Child,
    address: String,
}

#[cfg(feature = "http")]
impl Served {
    fn start(args: &[&str]) -> Self {
        use std::io::BufRead as _;

        let mut command = crate::support::command();
        command.args(["serve", "--http", "127.0.0.1:0"]).args(args).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut told = String::new();
        std::io::BufReader::new(child.stderr.take().unwrap()).read_line(&mut told).unwrap();
        let address = told.split_once("http://").and_then(|(_, rest)| rest.split_once("/mcp"));
        let address = address.unwrap_or_else(|| panic!("{told}")).0.to_owned();
        Self { child, address }
    }

    /// Sends bytes on a separate connection, and returns the output until the adapter closes the connection. The
    /// timeout of 20 seconds is below the default client timeout.
    fn exchange(&self, sent: &str) -> String {
        use std::io::Read as _;

        let mut stream = std::net::TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
        stream.write_all(sent.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

#[cfg(feature = "http")]
impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(feature = "http")]
#[test]
fn the_bounds_of_http_are_those_of_the_command_line() {
    // REQ-SES-01, REQ-SES-02
    let served = Served::start(&["--max-sessions", "2", "--client-timeout", "1"]);
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    } })
    .to_string();
    let request = |length: usize| {
        format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{hello}"
        )
    };
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let status_of = |served: &Served, session: &str| {
        let head = request(ping.len()).replace(&hello, "");
        let head = head.replace("Accept", &format!("Mcp-Session-Id: {session}\r\nAccept"));
        served.exchange(&format!("{head}{ping}")).get(9..12).map(str::to_owned)
    };
    let open = |served: &Served| {
        let answer = served.exchange(&request(hello.len()));
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        let id = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        id.unwrap().to_owned()
    };
    let sessions = [(); 3].map(|()| open(&served));
    // The third session has evicted the first.
    let statuses: Vec<_> =
        sessions.iter().filter_map(|session| status_of(&served, session)).collect();
    assert_eq!(statuses, ["404", "200", "200"]);
    // Idle connections are closed.
    let answer = served.exchange(&request(hello.len() + 1));
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert_eq!(served.exchange("POST /mcp HTTP/1.1\r\nHost: lo"), "");
    // A session ends after one second without a request.
    let served = Served::start(&["--session-timeout", "1"]);
    let session = open(&served);
    while status_of(&served, &session).as_deref() != Some("404") {
        std::thread::sleep(std::time::Duration::from_millis(1500));
    }
}

#[test]
fn introspect_is_what_clients_get() {
    // REQ-INT-01, REQ-INT-09
    let list: Value = serde_json::from_str(&stdout(&run(&["introspect"], ""))).unwrap();
    assert_eq!(list["data"]["operations"][0]["name"], "introspect");
    let output = run(&["introspect", "operations", "create_note"], "");
    let one: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(one["data"]["operation"]["mcpTool"], "mcp_aql_create");
    let types: Value = serde_json::from_str(&stdout(&run(&["introspect", "types"], ""))).unwrap();
    assert!(types["data"]["types"].is_array());
    // A missing entry is `null` in JSON, but an error for a person.
    for (query, name, near) in [
        ("operations", "creat_note", "did you mean 'create_note'?"),
        ("danger", "creat_note", "did you mean 'create_note'?"),
        ("types", "Nothing", "there is no type 'Nothing'"),
    ] {
        let output = run(&["introspect", query, name], "");
        assert_eq!(code(&output), 1, "{query}");
        assert!(stdout(&output).contains("null"), "{}", stdout(&output));
        assert!(stderr(&output).contains(near), "{}", stderr(&output));
    }
    let help = stdout(&run(&["introspect", "--help"], ""));
    assert!(help.contains("[possible values: operations, types, danger]"), "{help}");
}

#[test]
fn config_names_this_very_program() {
    let program = crate::support::program();
    let program = program.to_str().unwrap();
    for (client, key) in [("claude", "mcpServers"), ("cursor", "mcpServers"), ("vscode", "servers")]
    {
        let output = run(&["config", client], "");
        let config: Value = serde_json::from_str(&stdout(&output)).unwrap();
        assert_eq!(config[key]["notes"]["command"], program, "{client}");
        assert_eq!(config[key]["notes"]["args"], json!([]), "{client}");
    }
}

#[test]
fn a_configuration_file_is_read_and_its_errors_are_reported() {
    // REQ-MCP-17, REQ-EPT-10
    let folder = std::env::temp_dir().join(format!("mcp-aql-cli-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("settings.toml");
    std::fs::write(&file, "endpoint_mode = \"single\"\ntool_prefix = \"work_\"\n").unwrap();
    let path = file.to_str().unwrap();
    let output = run(&["--config", path, "introspect", "operations", "create_note"], "");
    let one: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(one["data"]["operation"]["mcpTool"], "work_mcp_aql");
    let output = run(&["--config", path, "config", "claude"], "");
    let config: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(config["mcpServers"]["notes"]["args"], json!(["--config", path]));
    std::fs::write(&file, "endpoint_mod = 1\n").unwrap();
    let output = run(&["call", "list_notes", "--config", path], "");
    assert_eq!(code(&output), 3);
    assert!(stderr(&output).contains("endpoint_mod"), "{}", stderr(&output));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn docs_are_printed_or_written_into_a_directory() {
    let printed = run(&["docs"], "");
    assert_eq!(code(&printed), 0);
    assert!(stdout(&printed).contains("# notes\n"), "{}", stdout(&printed));
    let page = stdout(&run(&["docs", "--format", "html"], ""));
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));

    let folder = std::env::temp_dir().join(format!("mcp-aql-docs-{}", std::process::id()));
    let site = folder.join("a/b");
    let path = site.to_str().unwrap();
    for (format, file, expected) in
        [("markdown", "reference.md", stdout(&printed)), ("html", "index.html", page)]
    {
        let file = site.join(file);
        // The second run overwrites the files of the first.
        for _ in 0..2 {
            let output = run(&["docs", "--format", format, "--out", path], "");
            assert_eq!(code(&output), 0, "{}", stderr(&output));
            assert_eq!(stdout(&output), format!("{}\n", file.display()));
            assert_eq!(std::fs::read_to_string(&file).unwrap(), expected);
        }
    }
    #[cfg(unix)]
    {
        let project = folder.join("project");
        std::fs::create_dir_all(project.join("site")).unwrap();
        let target = folder.join("profile");
        std::fs::write(&target, "").unwrap();
        std::os::unix::fs::symlink(&target, project.join("site/index.html")).unwrap();
        let elsewhere = folder.join("elsewhere");
        std::fs::create_dir(&elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, project.join("pages")).unwrap();
        for (out, link) in [("site", "site/index.html"), ("pages/sub", "pages")] {
            let mut program = std::process::Command::new(crate::support::program());
            let out = ["docs", "--format", "html", "--out", out];
            let output = program.args(out).current_dir(&project).output().unwrap();
            assert_eq!(code(&output), 1);
            let message = format!("`{link}` is a symbolic link");
            assert!(stderr(&output).contains(&message), "{}", stderr(&output));
        }
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "");
        assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0, "nothing is created there");
    }
    let inside = site.join("index.html").join("c");
    let output = run(&["docs", "--out", inside.to_str().unwrap()], "");
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).contains("cannot write '"), "{}", stderr(&output));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn help_version_and_completions_are_for_the_shell() {
    let help = run(&["--help"], "");
    assert_eq!(code(&help), 0);
    for fragment in
        ["The notes adapter", "serve", "call", "introspect", "docs", "config", "completions"]
    {
        assert!(stdout(&help).contains(fragment), "{fragment}: {}", stdout(&help));
    }
    assert_eq!(stdout(&run(&["-V"], "")), "notes 1.2.3\n");
    let version = stdout(&run(&["--version"], ""));
    let runtime = concat!("notes 1.2.3\nmcp-aql ", env!("CARGO_PKG_VERSION"));
    assert!(version.starts_with(runtime), "{version}");
    for command in ["serve", "call", "introspect", "docs", "config", "completions"] {
        let help = stdout(&run(&[command, "--help"], ""));
        assert!(help.contains("Usage: "), "{command}: {help}");
    }
    for command in ["check", "show", "claude", "cursor", "vscode"] {
        let help = stdout(&run(&["config", command, "--help"], ""));
        assert!(help.contains(&format!("config {command} [OPTIONS]")), "{command}: {help}");
    }
    for shell in ["bash", "zsh", "fish"] {
        let text = stdout(&run(&["completions", shell], ""));
        assert!(
            text.contains("introspect") && text.contains("docs") && text.contains("vscode"),
            "{shell}"
        );
    }
}

#[test]
fn an_authors_own_flags_work_beside_the_commands() {
    use mcp_aql::cli::clap::{self, CommandFactory as _, Parser as _};

    /// Keeps notes in a file.
    #[derive(clap::Parser)]
    struct Flat {
        /// Directory of the notes.
        #[arg(long, default_value = "notes.db")]
        db: std::path::PathBuf,
        #[command(flatten)]
        mcp: mcp_aql::cli::Options,
    }

    /// Keeps notes in a file.
    #[derive(clap::Parser)]
    struct Nested {
        #[arg(long, default_value = "notes.db")]
        db: std::path::PathBuf,
        #[command(subcommand)]
        command: Option<mcp_aql::cli::Command>,
    }

    let flat = Flat::try_parse_from(["notes", "--db", "a.db", "call", "x", "--json"]).unwrap();
    assert_eq!(flat.db.to_str(), Some("a.db"));
    assert!(flat.mcp.json);
    assert!(matches!(flat.mcp.command, Some(mcp_aql::cli::Command::Call { .. })));
    let about = Flat::command().get_about().map(ToString::to_string);
    assert_eq!(about.as_deref(), Some("Keeps notes in a file"));
    let nested = Nested::try_parse_from(["notes"]).unwrap();
    assert!(nested.command.is_none());
    assert_eq!(nested.db.to_str(), Some("notes.db"));
}
