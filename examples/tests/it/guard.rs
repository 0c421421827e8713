//! End-to-end tests of `guard`: the process talks MCP to an agent, and uses other channels to reach the operator.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::support::mcp::Mcp;
use crate::support::program::program;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

const TOOL: &str = "guard_mcp_aql";

/// A folder for one test. The guard's messages for the operator are written to a file in it.
struct Workspace {
    folder: TempDir,
    /// All replies and notifications that agents received.
    told: Mutex<String>,
}

impl Workspace {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let notify = folder.path().join("notify");
        let requests = folder.path().join("requests");
        std::fs::write(&notify, format!("#!/bin/sh\ncat >> '{}'\n", requests.display())).unwrap();
        std::fs::set_permissions(&notify, std::fs::Permissions::from_mode(0o700)).unwrap();
        std::fs::write(&requests, "").unwrap();
        std::fs::create_dir(folder.path().join("project")).unwrap();
        Self { folder, told: Mutex::default() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program("guard"));
        command
            .current_dir(self.path("project"))
            .env("XDG_STATE_HOME", self.folder.path())
            .env_remove("MCPAQL_SAFETY_LOOP")
            .args(arguments);
        command
    }

    /// Starts a guard that sends its requests to this workspace.
    async fn guard(&self, arguments: &[&str]) -> Agent<'_> {
        let mut command = self.command(arguments);
        command.arg("--notify").arg(self.path("notify"));
        Agent { workspace: self, mcp: Mcp::run(command).await }
    }

    fn requests(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.path("requests")).unwrap();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Waits for the request with this id, and returns it.
    async fn request(&self, id: &str) -> Value {
        let begun = Instant::now();
        loop {
            if let Some(request) = self.requests().into_iter().find(|request| request["id"] == id) {
                return request;
            }
            assert!(begun.elapsed() < Duration::from_secs(30), "nobody was told of {id}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Asserts that no code of the operator appears in a reply or the log.
    fn assert_secret(&self, log: &str, at_least: usize) {
        let requests = self.requests();
        assert!(requests.len() >= at_least, "{requests:?}");
        let told = self.told.lock().unwrap();
        for request in &requests {
            let code = request["code"].as_str().unwrap();
            assert!(code.len() > 40, "{request}");
            for text in [told.as_str(), log] {
                assert!(!text.contains(code) && !text.contains(&code.replace('-', "")), "{text}");
            }
        }
    }
}

/// An agent with the guard that its client started.
struct Agent<'a> {
    workspace: &'a Workspace,
    mcp: Mcp,
}

impl Agent<'_> {
    async fn call(&self, operation: &str, params: Value) -> Value {
        let (reply, _) = self.mcp.call(TOOL, operation, params).await;
        self.workspace.told.lock().unwrap().push_str(&reply.to_string());
        reply
    }

    async fn data(&self, operation: &str, params: Value) -> Value {
        let mut reply = self.call(operation, params).await;
        assert_eq!(reply["success"], true, "{operation}: {reply}");
        reply["data"].take()
    }

    async fn begin(&self, agent: &str) -> Value {
        self.call("execute_agent", json!({ "element_name": agent })).await
    }

    /// Starts a session and approves it as the operator.
    async fn begin_approved(&self, agent: &str) {
        let mut begun = self.begin(agent).await;
        // rmcp's client may kill an exiting process. The execution lock of its session is then held until
        // the process can no longer exist.
        let patience = Instant::now() + Duration::from_secs(40);
        while begun["error"]["details"]["reason"] == "other_session" && Instant::now() < patience {
            tokio::time::sleep(Duration::from_millis(200)).await;
            begun = self.begin(agent).await;
        }
        assert_eq!(begun["data"]["status"], "pending", "{begun}");
        assert_eq!(begun["data"]["safety_loop"], "enforcing", "{begun}");
        self.confirm(begun["data"]["request_id"].as_str().unwrap()).await;
    }

    async fn confirm(&self, request: &str) {
        let code = self.workspace.request(request).await["code"].take();
        self.data("confirm_operation", json!({ "confirmation_token": code })).await;
    }

    async fn verify(&self, challenge: &str) {
        let code = self.workspace.request(challenge).await["code"].take();
        self.data("verify_challenge", json!({ "challenge_id": challenge, "code": code })).await;
    }

    async fn report(&self, agent: &str, action: &str) -> Value {
        let params = json!({ "element_name": agent, "next_action_hint": action });
        self.call("record_execution_step", params).await
    }

    /// Reports an action and returns the autonomy directive.
    async fn directive(&self, agent: &str, action: &str) -> Value {
        let mut reply = self.report(agent, action).await;
        assert_eq!(reply["success"], true, "{action}: {reply}");
        reply["data"]["autonomy"].take()
    }

    async fn assert_passes(&self, agent: &str, action: &str) {
        let directive = self.directive(agent, action).await;
        assert_eq!(directive["continue"], true, "{action}: {directive}");
    }

    /// Reports a denied action and returns the challenge.
    async fn stopped(&self, agent: &str, action: &str) -> String {
        let directive = self.directive(agent, action).await;
        assert_eq!(directive["continue"], false, "{directive}");
        assert_eq!(directive["stopped"], true, "{directive}");
        challenge(&directive["notifications"])
    }

    async fn close(self) -> String {
        self.mcp.close().await
    }
}

/// Returns the id of the request in the reason of a pause.
fn asked(directive: &Value) -> &str {
    directive["reason"].as_str().unwrap().rsplit(' ').next().unwrap()
}

/// Returns the id of the challenge in the notifications.
fn challenge(notifications: &Value) -> String {
    let found = notifications.as_array().unwrap().iter().find_map(|notification| {
        notification["metadata"]["verificationId"].as_str().map(str::to_owned)
    });
    found.unwrap_or_else(|| panic!("no challenge in {notifications}"))
}

#[track_caller]
fn assert_blocked(reply: &Value) {
    assert_eq!(reply["error"]["code"], "PERMISSION_DENIED", "{reply}");
    assert_eq!(reply["error"]["details"]["reason"], "blocked", "{reply}");
}

#[tokio::test]
async fn a_day_with_the_guard() {
    // REQ-LOOP-05, REQ-LOOP-06, REQ-AUT-16, REQ-OOB-06, REQ-OOB-08
    let workspace = Workspace::new();
    let agent = workspace.guard(&[]).await;
    agent.begin_approved("tidy").await;
    agent.assert_passes("tidy", "read_file notes.txt").await;

    // Pause: the operator confirms the action, and it is allowed once.
    let push = "git push origin main";
    let paused = agent.directive("tidy", push).await;
    assert_eq!((&paused["continue"], &paused["stopped"]), (&json!(false), &Value::Null));
    let again = agent.directive("tidy", push).await;
    assert_eq!(again["continue"], false, "{again}");
    let request = workspace.request(asked(&paused)).await;
    assert_eq!((&request["kind"], &request["action"]), (&json!("step"), &json!(push)));
    agent.confirm(asked(&again)).await;
    agent.assert_passes("tidy", push).await;
    let third = agent.directive("tidy", push).await;
    assert_eq!(third["continue"], false, "an approval is for one action: {third}");
    agent.confirm(asked(&third)).await;

    // Block: nothing is allowed until the operator releases the agent.
    agent.stopped("tidy", "drop_table users").await;
    assert_blocked(&agent.report("tidy", "read_file notes.txt").await);
    assert_blocked(&agent.begin("tidy").await);
    assert_blocked(&agent.begin("somebody else").await);
    assert_blocked(&agent.call("complete_execution", json!({ "element_name": "tidy" })).await);
    let mut log = agent.close().await;

    // Neither a restart nor another session or agent name lifts the block.
    let agent = workspace.guard(&[]).await;
    let refused = agent.begin("tidy").await;
    assert_blocked(&refused);
    assert_blocked(&agent.begin("ＴＩＤＹ").await);
    assert_blocked(&agent.begin("somebody else").await);

    // A wrong code uses up the challenge. The correct code fails afterwards.
    let challenge = refused["error"]["details"]["challenge_id"].as_str().unwrap();
    let wrong = json!({ "challenge_id": challenge, "code": "0000-0000" });
    assert_eq!(agent.call("verify_challenge", wrong).await["success"], false);
    let right = workspace.request(challenge).await["code"].take();
    let right = json!({ "challenge_id": challenge, "code": right });
    assert_eq!(agent.call("verify_challenge", right).await["success"], false);
    assert_blocked(&agent.begin("tidy").await);

    // The next report issues a new challenge.
    let asked = agent.report("tidy", "read_file notes.txt").await;
    assert_blocked(&asked);
    agent.verify(asked["error"]["details"]["challenge_id"].as_str().unwrap()).await;
    agent.begin_approved("tidy").await;
    agent.assert_passes("tidy", "read_file notes.txt").await;
    let done = agent.data("complete_execution", json!({ "element_name": "tidy" })).await;
    assert_eq!(done["status"], "completed", "{done}");
    log.push_str(&agent.close().await);
    workspace.assert_secret(&log, 5);

    // Only the current user can read the files.
    let state = workspace.path("mcp-aql/guard");
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&state), 0o700);
    let mut files: Vec<_> = state.read_dir().unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    assert!(files.iter().all(|file| mode(file) == 0o600), "{files:?}");
    let audit = std::fs::read_to_string(state.join("audit.jsonl")).unwrap();
    let events: Vec<Value> =
        audit.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for event in ["EXECUTION_STARTED", "AGENT_BLOCKED", "AGENT_UNBLOCKED"] {
        assert!(events.iter().any(|entry| entry["event"] == event), "{event} in {audit}");
    }
    // The log shows who allowed the push, and that it ran.
    let find = |event: &str, outcome: &str| {
        events.iter().find(|entry| {
            entry["event"] == event && entry["outcome"] == outcome && entry["action"] == push
        })
    };
    let allowed = find("CHALLENGE_VERIFIED", "confirmed").unwrap();
    let ran = find("STEP_EVALUATED", "allowed").unwrap();
    assert_eq!((&allowed["decided_by"], &ran["decided_by"]), (&json!("code"), &json!("code")));
    assert_eq!(allowed["challenge_id"], ran["challenge_id"]);
    workspace.assert_secret(&audit, 5);
}

#[tokio::test]
async fn two_guards_share_their_blocks_and_each_has_its_console() {
    // REQ-OOB-08, REQ-OOB-13
    let workspace = Workspace::new();
    let state = workspace.path("it's shared");
    let arguments = ["--state", state.to_str().unwrap()];
    let (one, two) = (workspace.guard(&arguments).await, workspace.guard(&arguments).await);
    let links = async || {
        let output = workspace.command(&arguments).arg("console").output().await.unwrap();
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    };
    let (found, text) = links().await;
    assert!(found);
    let addresses: Vec<_> =
        text.split_whitespace().filter(|word| word.starts_with("http://127.0.0.1:")).collect();
    assert_eq!(addresses.len(), 2, "{text}");

    one.begin_approved("tidy").await;
    let challenge = one.stopped("tidy", "rm -rf /srv").await;
    assert_blocked(&two.begin("tidy").await);
    // The code may be entered at either guard.
    two.verify(&challenge).await;
    one.assert_passes("tidy", "read_file notes.txt").await;

    let page = addresses[0].split("/login").next().unwrap();
    let page = reqwest::get(page).await.unwrap();
    assert_eq!(page.status(), 401);
    let page = page.text().await.unwrap();
    let folder = state.to_str().unwrap().replace('\'', r"'\''");
    assert!(page.contains(&format!("guard --state '{folder}' console")), "{page}");

    one.close().await;
    two.close().await;
    let (found, text) = links().await;
    assert!(!found, "{text}");
}

#[tokio::test]
async fn a_port_in_use_is_reported_and_its_owner_unaffected() {
    let workspace = Workspace::new();
    let first = workspace.guard(&[]).await;
    let links = async || {
        let output = workspace.command(&["console"]).output().await.unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let link =
            text.split_whitespace().find(|word| word.starts_with("http://")).map(str::to_owned);
        link.unwrap_or_else(|| panic!("no link: {text}"))
    };
    let link = links().await;
    let port = link.split(['/', ':']).nth(4).unwrap();
    let mut second = workspace.command(&["--port", port]);
    // The process must exit by itself, so its standard input stays open.
    let second = second.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let second = tokio::time::timeout(Duration::from_secs(30), second.wait_with_output());
    let second = second.await.expect("it ends").unwrap();
    let problem = String::from_utf8(second.stderr).unwrap();
    assert!(!second.status.success(), "{problem}");
    assert!(
        problem.contains(&format!("127.0.0.1:{port}, because another program listens there")),
        "{problem}"
    );
    assert!(problem.contains("set another port"), "{problem}");

    // The first guard still serves its agent and its operator.
    first.begin_approved("tidy").await;
    assert!(links().await.contains(&format!(":{port}/")));
    let page = reqwest::get(format!("http://127.0.0.1:{port}/")).await.unwrap();
    assert_eq!(page.status(), 401);
    first.close().await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_missing_terminal_is_reported_at_start() {
    // REQ-OOB-05
    let workspace = Workspace::new();
    // `setsid` starts a session without a terminal, even if the tests run in one.
    let mut command = Command::new("setsid");
    command
        .current_dir(workspace.path("project"))
        .env("XDG_STATE_HOME", workspace.folder.path())
        .env_remove("MCPAQL_SAFETY_LOOP")
        .arg("--wait")
        .arg(program("guard"))
        .arg("--terminal");
    let agent = Agent { workspace: &workspace, mcp: Mcp::run(command).await };
    let begun = agent.begin("tidy").await;
    assert_eq!(begun["data"]["status"], "pending", "{begun}");
    let log = agent.close().await;
    assert!(log.contains("cannot show requests here") && log.contains("terminal"), "{log}");
}

#[tokio::test]
async fn a_policy_comes_from_the_operator_alone() {
    // REQ-AUT-17
    let workspace = Workspace::new();
    // A file in the agent's working directory does not come from the operator.
    let theirs = "[safety_loop]\nmode = 'disabled'\n";
    std::fs::write(workspace.path("project/mcp-aql.toml"), theirs).unwrap();
    let agent = workspace.guard(&[]).await;
    agent.begin_approved("tidy").await;
    agent.close().await;

    let policy = "[safety_loop]\ndeny = ['cook_*']\n\n[safety_loop.agents.intern]\nmax_autonomous_steps = 1\n";
    std::fs::write(workspace.path("policy.toml"), policy).unwrap();
    let policy = workspace.path("policy.toml");
    let policy = policy.to_str().unwrap();
    let agent = workspace.guard(&["--policy", policy]).await;
    agent.begin_approved("intern").await;
    agent.assert_passes("intern", "read_file a.txt").await;
    let paused = agent.directive("intern", "read_file b.txt").await;
    assert_eq!(paused["continue"], false, "{paused}");
    agent.stopped("intern", "cook_books").await;
    agent.close().await;

    // The policy in the book must work.
    let chapter = include_str!("../../../book/src/guard.md");
    let shown = chapter.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    std::fs::write(workspace.path("policy.toml"), shown).unwrap();
    let agent = workspace.guard(&["--config", policy, "--log-format", "json"]).await;
    agent.begin_approved("other").await;
    let paused = agent.directive("other", "send_mail to everybody").await;
    assert_eq!((&paused["continue"], &paused["stopped"]), (&json!(false), &Value::Null));
    agent.stopped("other", "git commit --no-verify -m x").await;
    agent.close().await;

    let misspelt = "[safety_loop]\nrequire_approval = []\n";
    std::fs::write(workspace.path("policy.toml"), misspelt).unwrap();
    let output =
        workspace.command(&["--policy", "../policy.toml", "introspect"]).output().await.unwrap();
    assert!(!output.status.success());
    let problem = String::from_utf8(output.stderr).unwrap();
    assert!(problem.contains("unknown field `require_approval`"), "{problem}");
    assert!(problem.contains("Did you mean `requires_approval`?"), "{problem}");
}

#[tokio::test]
async fn the_working_directory_decides_on_none_of_its_files() {
    let workspace = Workspace::new();
    let theirs = "[safety_loop]\nauto_approve = ['*']\n";
    std::fs::write(workspace.path("project/policy.toml"), theirs).unwrap();
    for (flag, path) in [
        ("--policy", "policy.toml"),
        ("--config", "./policy.toml"),
        ("--state", "state"),
        ("--notify", "./notify"),
    ] {
        for command in [&[flag, path][..], &["serve", flag, path]] {
            let output = workspace.command(command).output().await.unwrap();
            let problem = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2), "{command:?}: {problem}");
            assert!(problem.contains("Write an absolute path"), "{command:?}: {problem}");
        }
        let output = workspace.command(&["config", "claude", flag, path]).output().await.unwrap();
        let entry: Value = serde_json::from_slice(&output.stdout).unwrap();
        let args = &entry["mcpServers"]["guard"]["args"];
        assert!(args[1].as_str().unwrap().starts_with('/') || flag == "--notify", "{args}");
    }
    assert!(!workspace.path("project/state").exists());
}

#[tokio::test]
async fn inspecting_commands_leave_no_files() {
    let workspace = Workspace::new();
    for command in [&["introspect"][..], &["docs"], &["completions", "bash"]] {
        assert!(workspace.command(command).output().await.unwrap().status.success());
    }
    let output = workspace
        .command(&["config", "claude", "--state", "state", "--port", "8686"])
        // The client's configuration must not contain this setting, because it is meant for one run only.
        .env("MCPAQL_SAFETY_LOOP", "disabled")
        .output()
        .await
        .unwrap();
    let entry: Value = serde_json::from_slice(&output.stdout).unwrap();
    let entry = &entry["mcpServers"]["guard"];
    let state = workspace.path("project").canonicalize().unwrap().join("state");
    assert_eq!(entry["args"], json!(["--state", state, "--port", "8686"]));
    assert_eq!(
        entry["env"],
        json!({ "XDG_STATE_HOME": workspace.folder.path().to_str().unwrap() })
    );
    assert!(!state.exists() && !workspace.path("mcp-aql").exists());

    // A model sees one tool and these operations.
    let agent = workspace.guard(&[]).await;
    let tools = agent.mcp.tools().await;
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_ref()).collect();
    assert_eq!(names, [TOOL]);
    let listed = agent.data("introspect", json!({ "query": "operations" })).await;
    let names: Vec<_> =
        listed["operations"].as_array().unwrap().iter().map(|each| &each["name"]).collect();
    assert_eq!(
        names,
        [
            "introspect",
            "execute_agent",
            "record_execution_step",
            "complete_execution",
            "abort_execution",
            "confirm_operation",
            "verify_challenge"
        ]
    );
    agent.close().await;
}
