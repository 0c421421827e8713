//! Tests configuration files in the working directory and in the user's configuration directory.

use std::fs;
use std::process::{Command, Output, Stdio};

use crate::support::program::program;

struct Workspace(tempfile::TempDir);

impl Workspace {
    fn new() -> Self {
        let workspace = Self(tempfile::tempdir().unwrap());
        fs::create_dir(workspace.0.path().join("project")).unwrap();
        fs::create_dir_all(workspace.0.path().join("config/mcp-aql/tasks")).unwrap();
        workspace
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.0.path().join(path), text).unwrap();
    }

    /// Runs `tasks` in the project's folder.
    fn tasks(&self, arguments: &[&str]) -> Output {
        Command::new(program("tasks"))
            .current_dir(self.0.path().join("project"))
            .env("XDG_CONFIG_HOME", self.0.path().join("config"))
            .env_remove("MCP_AQL_LOG")
            .env_remove("RUST_LOG")
            .args(["--db", "../tasks.db"])
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    fn create(&self) {
        let created = self.tasks(&["call", "create_task", "-p", "title=Mow"]);
        assert!(created.status.success(), "{created:?}");
    }

    fn delete(&self, more: &[&str]) -> (bool, String) {
        let deleted = self.tasks(&[&["call", "delete_task", "-p", "task_id=t-1"], more].concat());
        (deleted.status.success(), String::from_utf8(deleted.stderr).unwrap())
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_in_the_working_directory_can_only_make_the_adapter_stricter() {
    // REQ-GATE-03
    let workspace = Workspace::new();
    workspace.create();
    workspace.write("profile", "export PATH\n");
    workspace.write(
        "project/mcp-aql.toml",
        "audit_log = '../profile'\nstrict_mode = false\n\
         [limits]\nmax_request_size = 2000000\n\
         [[gatekeeper.policies]]\noperation = 'delete_*'\npermission = 'allow'\n",
    );
    let (deleted, log) = workspace.delete(&[]);
    assert!(!deleted, "nobody has confirmed it");
    for named in [
        "project/mcp-aql.toml` was found in the working directory",
        "`audit_log`",
        "`strict_mode`",
        "`limits.max_request_size`",
        "`gatekeeper.policies: allow delete_*`",
        "config/mcp-aql/tasks/mcp-aql.toml`, or name a file with `--config`",
    ] {
        assert!(log.contains(named), "{named}: {log}");
    }
    assert_eq!(fs::read_to_string(workspace.0.path().join("profile")).unwrap(), "export PATH\n");

    // The same settings take effect if the file is in the user's configuration directory or passed by the user.
    fs::rename(
        workspace.0.path().join("project/mcp-aql.toml"),
        workspace.0.path().join("config/mcp-aql/tasks/mcp-aql.toml"),
    )
    .unwrap();
    let (deleted, log) = workspace.delete(&[]);
    assert!(deleted && !log.contains("working directory"), "{log}");
    // Relative paths are resolved against the folder of the file.
    let path = workspace.0.path().join("config/mcp-aql/profile");
    let written = fs::read_to_string(path).unwrap();
    assert!(written.contains("OPERATION_ALLOWED"), "{written}");

    workspace.create();
    workspace.write(
        "project/mcp-aql.toml",
        "[[gatekeeper.policies]]\noperation = 'delete_*'\npermission = 'deny'\n",
    );
    let delete = ["call", "delete_task", "-p", "task_id=t-2"];
    let denied = workspace.tasks(&delete);
    assert!(!denied.status.success());
    let log = String::from_utf8(denied.stderr).unwrap();
    assert!(log.contains("found in the working directory and applied"), "{log}");
    workspace.write(
        "project/own.toml",
        "[[gatekeeper.policies]]\noperation = 'delete_*'\npermission = 'allow'\n",
    );
    let named = workspace.tasks(&[&["--config", "own.toml"], &delete[..]].concat());
    assert!(named.status.success(), "{named:?}");
}

#[cfg(unix)]
#[test]
fn loose_rights_are_reported_when_the_adapter_starts() {
    // REQ-GATE-03
    use std::os::unix::fs::PermissionsExt as _;

    let workspace = Workspace::new();
    let allow = |path: &str, mode| {
        fs::set_permissions(workspace.0.path().join(path), fs::Permissions::from_mode(mode))
            .unwrap();
    };
    workspace.create();
    // A deletion asks for a confirmation, and the store saves the hash of its token.
    let state = || workspace.delete(&[]).1;
    assert!(!state().contains("not safe"), "the store makes its file for its user alone");
    workspace.write("own.toml", "audit_log = 'audit.jsonl'\n");
    workspace.write("audit.jsonl", "");
    let list = || {
        let listed = workspace.tasks(&["--config", "../own.toml", "call", "list_tasks"]);
        assert!(listed.status.success(), "{listed:?}");
        String::from_utf8(listed.stderr).unwrap()
    };
    for path in ["own.toml", "audit.jsonl"] {
        allow(path, 0o600);
    }
    assert!(!list().contains("not safe"));
    allow("own.toml", 0o666);
    allow("audit.jsonl", 0o620);
    allow("tasks.db.state", 0o644);
    let log = list();
    for (place, path) in [
        ("the configuration is not safe", "own.toml"),
        ("the audit log is not safe", "audit.jsonl"),
    ] {
        let line = log.lines().find(|line| line.contains(place)).unwrap_or_else(|| panic!("{log}"));
        assert!(line.contains(path) && line.contains("chmod go-w"), "{line}");
    }
    let log = state();
    assert!(log.contains("read or change") && log.contains("chmod go-rwx"), "{log}");
}
