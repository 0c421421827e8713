//! Tests of the configuration: how the command line checks, shows and uses it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

/// A directory with configuration files, removed on drop. The adapter runs in this directory, without files of the
/// user.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("mcp-aql-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path.canonicalize().unwrap())
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = crate::support::command();
        command.args(args).current_dir(&self.0).env("XDG_CONFIG_HOME", &self.0);
        command.env_remove("MCP_AQL_HTTP_ADDRESS").stdin(Stdio::null());
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Returns the value and the source of a setting.
fn entry(shown: &Value, key: &str) -> (Value, String) {
    let found = shown.as_array().unwrap().iter().find(|entry| entry["key"] == key);
    let found = found.unwrap_or_else(|| panic!("{key}: {shown}"));
    (found["value"].clone(), found["source"].as_str().unwrap().to_owned())
}

#[test]
fn each_setting_is_shown_with_its_source() {
    // REQ-MCP-17, REQ-EPT-10
    let folder = Folder::new("config-show");
    let file = folder
        .write("operator.toml", "endpoint_profile = \"crude\"\n[limits]\nmax_nesting_depth = 16\n");
    let mut command = folder.command(&["config", "show", "--config", text(&file)]);
    let output = command.env("MCP_AQL_TOOL_PREFIX", "work_").output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let shown: Value = serde_json::from_str(&stdout(&output)).unwrap();
    for (key, value, source) in [
        ("endpoint_profile", json!("crude"), format!("file {}", text(&file))),
        ("limits.max_nesting_depth", json!(16), format!("file {}", text(&file))),
        ("limits.max_request_size", json!(1_048_576), "default".to_owned()),
        ("tool_prefix", json!("work_"), "environment MCP_AQL_TOOL_PREFIX".to_owned()),
    ] {
        assert_eq!(entry(&shown, key), (value, source), "{key}");
    }
    // A file in the working directory is the source of those settings that it makes stricter.
    folder.write("mcp-aql.toml", "[limits]\nmax_request_size = 131072\nmax_nesting_depth = 99\n");
    let shown: Value = serde_json::from_str(&stdout(&folder.run(&["config", "show"]))).unwrap();
    let (value, source) = entry(&shown, "limits.max_request_size");
    assert_eq!((value, &*source), (json!(131_072), "working directory mcp-aql.toml"));
    assert_eq!(entry(&shown, "limits.max_nesting_depth").1, "default");
}

#[cfg(feature = "http")]
#[test]
fn the_settings_of_http_come_from_file_environment_and_flags() {
    // REQ-MCP-17
    let folder = Folder::new("config-http");
    let table = "[http]\naddress = \"127.0.0.1:1\"\nallow_hosts = [\"a.test\"]\nmax_sessions = 7\n\
                 [auth]\nresource = \"https://user:word@tasks.test/mcp\"\n[[auth.tokens]]\nsubject = \"ada\"\n\
                 sha256 = \"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\"\n";
    let file = folder.write("http.toml", table);
    let args = [
        "config",
        "show",
        "--config",
        text(&file),
        "--max-sessions",
        "9",
        "--allow-host",
        "b.test",
    ];
    let output = folder.command(&args).env("MCP_AQL_HTTP_ADDRESS", "127.0.0.1:2").output().unwrap();
    let shown: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let from_file = format!("file {}", text(&file));
    for (key, value, source) in [
        ("http.address", json!("127.0.0.1:2"), "environment MCP_AQL_HTTP_ADDRESS".to_owned()),
        ("http.max_sessions", json!(9), "flag --max-sessions".to_owned()),
        (
            "http.allow_hosts",
            json!(["a.test", "b.test"]),
            format!("{from_file}, flag --allow-host"),
        ),
        ("http.client_timeout_seconds", json!(30), "default".to_owned()),
        ("auth.resource", json!("https://(masked)@tasks.test/mcp"), from_file.clone()),
    ] {
        assert_eq!(entry(&shown, key), (value, source), "{key}");
    }
    let all = stdout(&output);
    assert!(all.contains("ada") && !all.contains("9f86d081") && !all.contains("word"), "{all}");
    let output = folder.run(&["config", "check", "--config", text(&file)]);
    assert!(output.status.success(), "{}", stderr(&output));
    let report: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!((&report["valid"], &report["address"]), (&json!(true), &json!("127.0.0.1:1")));
    assert_eq!(report["files"], json!([text(&file)]));
}

#[test]
fn the_complete_file_is_valid_and_changes_nothing() {
    // REQ-MCP-17
    let folder = Folder::new("config-default");
    let complete = stdout(&folder.run(&["config", "default"]));
    // Values with a structure of their own are examples, some of which exclude others.
    let shown: Value = serde_json::from_str(&stdout(&folder.run(&["config", "show"]))).unwrap();
    let is_default = |path: &str| {
        let mut entries = shown.as_array().unwrap().iter();
        entries.any(|entry| {
            entry["key"] == path && entry["source"] == "default" && !entry["value"].is_null()
        })
    };
    let (mut table, mut set) = (String::new(), String::new());
    for line in complete.lines() {
        if let Some(name) = line.strip_prefix("#[").and_then(|line| line.strip_suffix(']')) {
            table = format!("{name}.");
        } else if let Some(line) = line.strip_prefix('#').filter(|line| !line.starts_with(' ')) {
            let (name, value) = line.split_once(" = ").unwrap();
            let path = format!("{table}{name}");
            let is_example = value.starts_with("[{") || path.starts_with("auth.");
            if is_default(&path) && !is_example && !path.starts_with("access.") {
                set += &format!("{path} = {value}\n");
            }
        }
    }
    assert!(set.lines().count() > 40, "{set}");
    let file = folder.write("complete.toml", &set);
    let output = folder.run(&["config", "show", "--config", text(&file)]);
    assert!(output.status.success(), "{set}: {}", stderr(&output));
    let again: Value = serde_json::from_str(&stdout(&output)).unwrap();
    for entry in again.as_array().unwrap() {
        let (key, value) = (&entry["key"], &entry["value"]);
        let before = shown.as_array().unwrap().iter().find(|before| before["key"] == *key);
        let is_same = before.is_some_and(|before| before["value"] == *value);
        assert!(is_same || *key == "gatekeeper.confirmation_ttl_seconds", "{entry}");
    }
    let file = folder.write("comments.toml", &complete);
    let output = folder.run(&["config", "show", "--config", text(&file)]);
    let unchanged: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(unchanged, shown);
}

#[cfg(feature = "http")]
#[test]
fn faults_of_the_configuration_exit_with_three_and_of_arguments_with_two() {
    let folder = Folder::new("config-faults");
    let token = "[auth]\n[[auth.tokens]]\nsubject = \"ada\"\nsha256 = \"beef\"\n";
    for (table, fragment) in [
        ("[http]\naddres = \"127.0.0.1:1\"\n", "Did you mean `address`?"),
        ("[http]\naddress = \"localhost\"\n", "http.toml`: `http.address`: write a port"),
        ("[http]\nmax_sessions = 0\n", "`http.max_sessions` is 0: choose 1 to 1000000"),
        ("[http]\naddress = \"127.0.0.1:0\"\n[auth]\nresource = 7\n", "`auth`"),
        (&format!("[http]\naddress = \"127.0.0.1:0\"\n{token}"), "SHA-256"),
        ("[http]\naddress = \"0.0.0.0:1\"\n", "can be reached from other machines"),
        (
            "[http]\naddress = \"127.0.0.1:0\"\nallow_hosts = [\"http://a.test\"]\n",
            "'http://a.test' is not a host",
        ),
        ("[http]\naddress = \"127.0.0.1:0\"\nallow_origins = [\"a.test\"]\n", "is not an origin"),
        ("[auth.jwt]\nsecret = 'word\n", "line 2, column"),
    ] {
        let file = folder.write("http.toml", table);
        for command in [&["serve"][..], &["config", "check"]] {
            let output = folder.run(&[command, &["--config", text(&file)]].concat());
            assert_eq!(output.status.code(), Some(3), "{command:?} {table}: {}", stderr(&output));
            assert!(stderr(&output).starts_with("error: "), "{table}: {}", stderr(&output));
            assert!(stderr(&output).contains(fragment), "{table}: {}", stderr(&output));
            assert!(!stderr(&output).contains("word"), "{table}: {}", stderr(&output));
        }
    }
    for args in [
        &["serve", "--http", "0.0.0.0:1"][..],
        &["config", "check", "--http", "0.0.0.0:1"],
        &["config", "check", "--max-sessions", "5"],
        &["serve", "--http", "127.0.0.1:1", "--stdio"],
    ] {
        let output = folder.run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stderr(&output));
    }
    let file = folder.write("http.toml", "[http]\nstateless = true\n");
    let args = ["serve", "--http", "127.0.0.1:0", "--config", text(&file), "--max-sessions", "5"];
    let output = folder.run(&args);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let fragment = "--max-sessions belongs to sessions, but `http.stateless` is true";
    assert!(stderr(&output).contains(fragment), "{}", stderr(&output));
    let output = folder.command(&["serve"]).env("MCP_AQL_HTTP_ADDRESS", "here").output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).starts_with("error: the adapter cannot start"), "{}", stderr(&output));
    assert!(stderr(&output).contains("MCP_AQL_HTTP_ADDRESS"), "{}", stderr(&output));
}

#[test]
fn an_unknown_client_lists_the_known_ones() {
    let folder = Folder::new("config-clients");
    for words in [&["config", "zed"][..], &["config", "zed", "--x"]] {
        let output = folder.run(words);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        let listed = "there is no `config zed`: write check, show or default, or one of the clients claude, cursor and vscode";
        assert!(stderr(&output).contains(listed), "{}", stderr(&output));
    }
}

#[cfg(feature = "http")]
#[test]
fn an_address_in_use_is_named() {
    let folder = Folder::new("config-in-use");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for (args, variable) in [(&["serve", "--http", &address][..], ""), (&["serve"], &address)] {
        let output = folder.command(args).env("MCP_AQL_HTTP_ADDRESS", variable).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        let message = format!("cannot listen on {address}: ");
        assert!(stderr(&output).contains(&message), "{}", stderr(&output));
    }
}

/// A process. It is killed on drop if it is still running.
#[cfg(all(feature = "http", target_os = "linux"))]
struct Running(std::process::Child);

#[cfg(all(feature = "http", target_os = "linux"))]
impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
    }
}

/// Serves with the configured address, and reports its state to the service manager.
#[cfg(all(feature = "http", target_os = "linux"))]
#[test]
fn the_service_manager_learns_when_the_adapter_is_ready_and_stops() {
    use std::os::unix::net::UnixDatagram;

    let folder = Folder::new("config-notify");
    let file = folder.write("http.toml", "[http]\naddress = \"127.0.0.1:0\"\n");
    let socket = folder.0.join("notify");
    let manager = UnixDatagram::bind(&socket).unwrap();
    manager.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
    let received = || {
        let mut buffer = [0; 256];
        let length = manager.recv(&mut buffer).unwrap();
        String::from_utf8_lossy(&buffer[..length]).into_owned()
    };
    let mut command = folder.command(&["serve", "--config", text(&file)]);
    let child = command.env("NOTIFY_SOCKET", &socket).stderr(Stdio::null()).spawn().unwrap();
    let mut child = Running(child);
    let ready = received();
    assert!(ready.starts_with("READY=1\nSTATUS=MCP on http://127.0.0.1:"), "{ready}");
    let process = child.0.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &process]).status().unwrap().success());
    assert!(received().starts_with("STOPPING=1\n"));
    assert!(child.0.wait().unwrap().success());
}

#[cfg(feature = "http")]
#[test]
fn standard_input_and_output_are_used_without_a_command() {
    // REQ-MCP-17
    let folder = Folder::new("config-stdio");
    for args in [&[][..], &["serve", "--stdio"]] {
        let output = folder.command(args).env("MCP_AQL_HTTP_ADDRESS", "127.0.0.1:1").output();
        let output = output.unwrap();
        assert!(output.status.success() && output.stdout.is_empty(), "{args:?}");
    }
}
