//! Tests of the command line: arguments, output and exit codes.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-aql-conformance"));
    command.args(arguments).stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn invalid_arguments_exit_with_3() {
    // REQ-CNF-12
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let wrong = file("wrong.toml", "allowed = ['create']");
    let unset = file("unset.toml", "[headers]\nAuthorization = '${NO_SUCH_VARIABLE_HERE}'");
    let header = file("header.toml", "[headers]\nA = 'b'");
    let env = file("env.toml", "[env]\nA = 'b'");
    let never = file("never.toml", "[limits]\nrequest_seconds = 0");
    let ever = file("ever.toml", "[limits]\nrun_seconds = 9223372036854775807");
    let both = file("both.toml", "[modes.single]\ncommand = ['x']\nurl = 'http://x'");
    let all = file("all.toml", "[modes.all]\nurl = 'http://127.0.0.1:1'");
    let empty = file("empty.json", "{}");
    let no_folder = folder.path().join("no/such/report.xml");
    let no_folder = no_folder.to_str().unwrap();
    let cases: &[(&[&str], &str)] = &[
        (&[], "Usage"),
        (&["test"], "<COMMAND>"),
        (&["tset", "--", "x"], "a similar subcommand"),
        (&["test", "--level", "3", "--", "x"], "3 is not in 1..=2"),
        (
            &["test", "--allow", "CREATE", "--", "x"],
            "write create, read, update, delete or execute",
        ),
        (&["test", "--timeout", "0", "--", "x"], "a number of seconds"),
        (&["test", "--timeout", "inf", "--", "x"], "a number of seconds"),
        (&["test", "--format", "yaml", "--", "x"], "yaml"),
        (&["test", "--category", "wires", "--", "x"], "the categories are wire, "),
        (&["test", "--url", "http://127.0.0.1:1", "--", "x"], "cannot be used with"),
        (&["test", "--header", "A: b", "--", "x"], "`--header` requires `--url`"),
        (
            &["test", "--header", "secret", "--url", "http://127.0.0.1:1"],
            "write `--header 'Name: value'`",
        ),
        (
            &["test", "--header", "Accept: */*", "--url", "http://127.0.0.1:1"],
            "set by the runner itself",
        ),
        (&["test", "--url", "ftp://127.0.0.1"], "does not begin with http://"),
        (&["test", "--url", "127.0.0.1:80"], "is invalid"),
        #[cfg(not(feature = "tls"))]
        (&["test", "--url", "https://127.0.0.1"], "build with the cargo feature `tls`"),
        (&["test", "--config", "no/such.toml", "--", "x"], "cannot read the configuration"),
        (&["test", "--config", &wrong, "--", "x"], "unknown field `allowed`"),
        (&["test", "--config", &unset, "--", "x"], "variable `NO_SUCH_VARIABLE_HERE` is not set"),
        (&["test", "--config", &header, "--", "x"], "`[headers]` requires `--url`"),
        (&["test", "--config", &env, "--url", "http://127.0.0.1:1"], "`[env]` requires a command"),
        (&["test", "--config", &never, "--", "x"], "`request_seconds` is a number of seconds"),
        (&["test", "--config", &ever, "--", "x"], "`run_seconds` is a number of seconds"),
        (&["test", "--config", &both, "--", "x"], "either a `command`"),
        (&["test", "--config", &all, "--", "x"], "is never used"),
        (&["test", "--output", no_folder, "--", "x"], "the folder does not exist"),
        (&["evidence", "--output", no_folder, "--", "x"], "the folder does not exist"),
        (&["test", "--output", "tests", "--", "x"], "it is a folder"),
        #[cfg(target_os = "linux")]
        (&["test", "--output", "/proc/report", "--", "x"], "cannot write `/proc/report`"),
        (&["report", "no/such.json"], "cannot read"),
        #[cfg(unix)]
        (&["test", "--config", "/dev/zero", "--", "x"], "it is not a regular file"),
        #[cfg(unix)]
        (&["test", "--output", "/dev/full", "--", "x"], "it is not a regular file"),
        #[cfg(unix)]
        (&["test", "--trace", "/dev/full", "--", "x"], "it is not a regular file"),
        #[cfg(unix)]
        (&["report", "/dev/zero"], "it is not a regular file"),
        (&["report", &empty], "is not a report"),
        (&["report", &wrong], "is not a report"),
        (&["list", "--format", "html"], "html"),
    ];
    for (arguments, expected) in cases {
        let output = run(arguments);
        let told = told(&output);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}: {told}");
        assert!(told.contains(expected), "{arguments:?}: `{expected}` is missing in {told}");
        assert!(output.stdout.is_empty(), "{arguments:?} wrote to standard output");
    }
}

#[test]
fn help_and_version_exit_with_0() {
    // REQ-CNF-12
    for arguments in [&["--help"][..], &["test", "--help"], &["--version"], &["help", "report"]] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert!(!output.stdout.is_empty() && output.stderr.is_empty(), "{arguments:?}");
    }
}

#[test]
fn missing_adapter_exits_with_1() {
    // REQ-CNF-12
    for arguments in [
        &["test", "--", "/no/such/program"][..],
        &["test", "--url", "http://127.0.0.1:9"],
        &["evidence", "--", "/no/such/program"],
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {}", told(&output));
        let said = told(&output) + &String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("the adapter cannot be reached"), "{arguments:?}: {said}");
    }
}

#[test]
fn lists_every_check_with_its_requirements() {
    let json: Value = serde_json::from_slice(&run(&["list", "--format", "json"]).stdout).unwrap();
    let text = String::from_utf8(run(&["list"]).stdout).unwrap();
    let markdown = String::from_utf8(run(&["list", "--format", "markdown"]).stdout).unwrap();
    let checks = json.as_array().unwrap();
    assert_eq!(checks.len(), mcp_aql_conformance::checks().count());
    for (check, known) in checks.iter().zip(mcp_aql_conformance::checks()) {
        assert_eq!(check["id"], known.id);
        assert_eq!(check["level"], known.level);
        assert!(["MUST", "SHOULD"].contains(&check["keyword"].as_str().unwrap()), "{check}");
        let requirements = check["requirements"].as_array().unwrap();
        assert!(requirements.iter().all(|id| id.as_str().unwrap().starts_with("REQ-")), "{check}");
        assert!(text.lines().any(|line| line.split(' ').next() == Some(known.id)), "{}", known.id);
        assert!(markdown.contains(&format!("| `{}` |", known.id)), "{}", known.id);
    }
}

#[test]
fn lists_every_requirement_with_its_checks() {
    let list = |format| {
        let output = run(&["list", "--by", "requirement", "--format", format]);
        String::from_utf8(output.stdout).unwrap()
    };
    let json: Value = serde_json::from_str(&list("json")).unwrap();
    let (text, markdown) = (list("text"), list("markdown"));
    let listed = json.as_array().unwrap();
    let known: Vec<_> = mcp_aql_conformance::requirements().collect();
    assert_eq!(listed.len(), known.len());
    for (listed, source) in listed.iter().zip(&known) {
        assert_eq!((&listed["id"], &listed["place"]), (&source.id.into(), &source.place().into()));
        assert_eq!(listed["rank"], source.rank.as_str());
        let mut checks: Vec<_> = mcp_aql_conformance::checks()
            .filter(|check| check.requirements.contains(&source.id))
            .map(|check| check.id)
            .collect();
        assert_eq!(listed["checks"], json!(checks), "{}", source.id);
        if checks.is_empty() {
            checks.push("no check");
        }
        let said = format!("{}, {}", source.place(), source.rank.as_str());
        let mut lines =
            text.lines().skip_while(|line| !line.starts_with(&format!("{} ", source.id)));
        assert!(lines.next().unwrap().ends_with(&said), "{said}");
        assert_eq!(lines.next().unwrap().trim(), checks.join(", "), "{}", source.id);
        let row = format!("| {} | [{}]({})", source.id, source.place(), source.url());
        let row = markdown.lines().find(|line| line.starts_with(&row)).unwrap();
        let cell = row.rsplit(" | ").next().unwrap();
        assert_eq!(cell.replace('`', "").trim_end_matches(" |"), checks.join(", "));
    }
    let has_no_check = |listed: &&Value| listed["checks"] == json!([]);
    let judged = listed.len() - listed.iter().filter(has_no_check).count();
    assert!(judged > 0 && judged < listed.len());
    let tally = format!("{judged} of {} requirements have checks.", listed.len());
    assert!(text.contains(&tally) && markdown.contains(&tally), "{tally}");
}

#[test]
fn renders_saved_reports_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let saved = folder.path().join("report.json");
    let path = saved.to_str().unwrap();
    let output = run(&["test", "--format", "json", "--output", path, "--", "/no/such/program"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    assert!(told(&output).starts_with("nothing was tested\n  "), "{}", told(&output));
    // Names and replies of an adapter may contain characters that control a terminal.
    let report = std::fs::read_to_string(&saved).unwrap();
    let report = report.replace("/no/such/program", "/no/such/program\u{9b}31m\u{202e}");
    std::fs::write(&saved, report).unwrap();
    for (form, beginning) in [
        ("text", "/no/such/program"),
        ("json", "{"),
        ("junit", "<?xml"),
        ("html", "<!"),
        ("sarif", "{"),
    ] {
        let output = run(&["report", path, "--format", form]);
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{form}: {}", told(&output));
        assert!(text.to_lowercase().starts_with(beginning), "{form}: {text}");
        let hidden = text.chars().find(|&it| it != '\n' && mcp_aql_text::is_hidden(it));
        assert_eq!(hidden, None, "{form} could control a terminal");
        let other = folder.path().join(form);
        let output = run(&["report", path, "--format", form, "--output", other.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(std::fs::read_to_string(&other).unwrap(), text);
    }
    let mut piped = command(&["report", "-"]);
    piped.stdin(std::fs::File::open(&saved).unwrap());
    assert_eq!(piped.output().unwrap().status.code(), Some(0));
}

#[test]
#[cfg(unix)]
fn applies_environment_and_modes_of_the_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("conformance.toml");
    let said = folder.path().join("said");
    std::fs::write(&config, format!("[env]\nWHERE = '{}'\nWHAT = '${{WHO}}'\n", said.display()))
        .unwrap();
    let script = "echo \"$WHAT $MCP_AQL_ENDPOINT_MODE\" > \"$WHERE\"";
    let config = config.to_str().unwrap();
    let output = command(&["test", "--config", config, "--", "sh", "-c", script])
        .env("WHO", "Ada")
        .env_remove("MCP_AQL_ENDPOINT_MODE")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(std::fs::read_to_string(said).unwrap(), "Ada \n");
}

/// Returns `true` if a process is running and not a zombie.
#[cfg(target_os = "linux")]
fn lives(process: &str) -> bool {
    let status = std::fs::read_to_string(Path::new("/proc").join(process).join("status"));
    status.is_ok_and(|status| !status.contains("State:\tZ"))
}

#[test]
#[cfg(target_os = "linux")]
fn interrupted_run_ends_the_adapter() {
    use std::time::{Duration, Instant};

    let cases = [
        ("INT", "read", "interrupted\n"),
        (
            "TERM",
            "create",
            "interrupted; removing what the run created; a second signal ends it at once\n\
             nothing was left behind\n",
        ),
    ];
    for (signal, allowed, words) in cases {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("process");
        let script = format!("echo $$ > {}; exec sleep 60", file.display());
        let child =
            command(&["test", "--allow", allowed, "--timeout", "60", "--", "sh", "-c", &script])
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
        let until = Instant::now() + Duration::from_secs(20);
        let server = loop {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            if text.ends_with('\n') {
                break text.trim().to_owned();
            }
            assert!(Instant::now() < until, "the server was not started");
            std::thread::sleep(Duration::from_millis(5));
        };
        assert!(lives(&server));
        let kill =
            Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
        assert!(kill.unwrap().success());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{}", told(&output));
        assert_eq!(told(&output), words);
        while lives(&server) {
            assert!(Instant::now() < until, "the server is still running");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[cfg(unix)]
#[test]
fn processes_of_the_adapter_end_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let (life, end) = (folder.path().join("life"), folder.path().join("end"));
    // The process outlives its shell. It ends by itself if the runner does not kill it.
    let script = format!(
        "(for i in $(seq 300); do echo alive >> '{life}'; [ -e '{end}' ] && exit; sleep 0.1; done) \
         <&- >&- 2>&- & sleep 0.5",
        life = life.display(),
        end = end.display()
    );
    assert_eq!(run(&["test", "--", "sh", "-c", &script]).status.code(), Some(1));
    let length = std::fs::metadata(&life).unwrap().len();
    assert!(length > 0, "the process never ran");
    std::thread::sleep(std::time::Duration::from_secs(1));
    let later = std::fs::metadata(&life).unwrap().len();
    std::fs::write(end, "").unwrap();
    assert_eq!(later, length, "the process is still running");
}
