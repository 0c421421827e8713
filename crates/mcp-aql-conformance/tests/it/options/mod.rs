//! Runs the command with its options against a small adapter.

#[cfg(unix)]
mod distribution;
#[cfg(unix)]
mod interruption;
mod plan;
mod safety;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::support::fixture;

/// Runs the command. The target of `test` is the adapter with these mistakes.
fn run(arguments: &[&str], faults: &[&str]) -> Output {
    command(arguments, faults).output().unwrap()
}

fn command(arguments: &[&str], faults: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-aql-conformance"));
    command.args(arguments).stdin(Stdio::null()).env_remove("MCP_AQL_ENDPOINT_MODE");
    if matches!(arguments.first(), Some(&"test" | &"evidence")) {
        command.arg("--").arg(fixture()).arg("garden").args(faults);
    }
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs `test`. Returns the exit code and the report.
fn report(arguments: &[&str], faults: &[&str]) -> (i32, Value) {
    let arguments = [&["test", "--format", "json"], arguments].concat();
    let output = run(&arguments, faults);
    let report = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|why| panic!("{why}: {}", text(&output.stderr)));
    (output.status.code().unwrap(), report)
}

/// Returns the results of all checks in a report.
fn checks(report: &Value) -> Vec<&Value> {
    let categories = report["categories"].as_array().unwrap().iter();
    categories.flat_map(|category| category["checks"].as_array().unwrap()).collect()
}

fn file(folder: &tempfile::TempDir, name: &str) -> (PathBuf, String) {
    let path = folder.path().join(name);
    let text = path.to_str().unwrap().to_owned();
    (path, text)
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

const BAD_QUERY: [&str; 2] = ["--check", "introspection.bad_query"];

#[test]
fn selected_checks_decide_the_exit_code() {
    // REQ-CNF-12
    let (code, passed) = report(&BAD_QUERY, &[]);
    assert_eq!((code, checks(&passed).len()), (0, 1), "{passed:#}");
    assert_eq!(passed["selection"], json!(["introspection.bad_query"]));
    assert_eq!((&passed["conformanceLevel"], &passed["schemaVersion"]), (&json!(0), &json!(1)));
    let (code, failed) = report(&BAD_QUERY, &["bad-query"]);
    assert_eq!((code, &checks(&failed)[0]["verdict"]), (1, &json!("fail")));
    // Selections add up, and an area can be selected.
    let (_, both) = report(&["--category", "wire", "--requirement", "REQ-INT-28"], &[]);
    let ids: Vec<_> = checks(&both).iter().map(|check| check["id"].as_str().unwrap()).collect();
    assert!(ids.contains(&"wire.only_messages") && ids.contains(&"introspection.bad_query"));
    assert!(ids.iter().all(|id| id.starts_with("wire.") || id.starts_with("introspection.")));
    // A check without anything to test has not passed.
    let output = run(&["test", "--check", "batch.claimed"], &[]);
    assert!(matches!(output.status.code(), Some(0..=2)));
}

#[test]
fn findings_contain_the_command_that_repeats_them() {
    let (_, failed) = report(&["--category", "introspection"], &["entries"]);
    let checks = checks(&failed);
    let check = checks.iter().find(|check| check["id"] == "introspection.list_form").unwrap();
    let findings = check["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 1, "{findings:#?}");
    let finding = &findings[0];
    assert_eq!((&finding["count"], &finding["modes"]), (&json!(4), &json!(["semantic", "single"])));
    assert_eq!(finding["differences"][0]["path"], "/extra");
    assert_eq!(finding["differences"][0]["expected"], "no such member");
    let repeat = finding["repeat"].as_str().unwrap();
    let expected = format!(
        "mcp-aql-conformance test --check introspection.list_form --mode semantic -- {} garden entries",
        fixture().display()
    );
    assert_eq!(repeat, expected);
    // Running this command reproduces the finding.
    let words: Vec<_> = repeat.split(' ').skip(1).take_while(|word| *word != "--").collect();
    let output = run(&words, &["entries"]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stdout);
    for part in [
        "FAIL  introspection.list_form",
        "REQ-INT-03: introspection-response.schema.json, normative",
        "2 of 3 cases failed",
        "and 1 more case alike",
        "differs   `/extra` is not allowed here",
    ] {
        assert!(said.contains(part), "{part} in {said}");
    }
}

#[test]
fn one_mode_can_be_tested() {
    let base: &[&str] = &["--check", "introspection.bad_query"];
    for mode in ["semantic", "single"] {
        let (code, tested) = report(&[base, &["--mode", mode]].concat(), &[]);
        assert_eq!((code, &tested["modes"]), (0, &json!([mode])));
    }
    let (_, tested) = report(base, &[]);
    assert_eq!(tested["modes"], json!(["semantic", "single"]));
}

#[test]
fn failed_checks_are_run_again() {
    let folder = tempfile::tempdir().unwrap();
    let (_, saved) = file(&folder, "report.json");
    let arguments = ["test", "--category", "introspection", "--format", "json", "--output", &saved];
    assert_eq!(run(&arguments, &["bad-query"]).status.code(), Some(1));
    let (code, again) = report(&["--rerun-failed", &saved], &["bad-query"]);
    let findings = read(Path::new(&saved));
    let has_findings = |check: &&&Value| check["verdict"] == "fail" || check["verdict"] == "warn";
    let before: Vec<_> =
        checks(&findings).iter().filter(has_findings).map(|check| check["id"].clone()).collect();
    let after: Vec<_> = checks(&again).iter().map(|check| check["id"].clone()).collect();
    assert_eq!((code, &after), (1, &before));
    assert!(before.contains(&json!("introspection.bad_query")) && before.len() < 20, "{before:?}");
    // Without findings there is nothing to run.
    let (_, clean) = file(&folder, "clean.json");
    let arguments =
        ["test", "--check", "wire.only_messages", "--format", "json", "--output", &clean];
    assert_eq!(run(&arguments, &[]).status.code(), Some(0));
    let output = run(&["test", "--rerun-failed", &clean], &[]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stderr).contains("there is nothing to run"));
    // If nothing could be tested, the earlier selection is run again, or everything without a selection.
    let (path, unreached) = file(&folder, "unreached.json");
    for selected in [&BAD_QUERY[..], &["--category", "wire"]] {
        let (_, report) = report(selected, &["no-answer"]);
        std::fs::write(&path, report.to_string()).unwrap();
        let (_, again) = self::report(&["--rerun-failed", &unreached], &[]);
        let ids = |report| checks(report).iter().map(|it| it["id"].clone()).collect::<Vec<_>>();
        assert_eq!(ids(&again), ids(&report));
    }
    let (_, report) = report(&["--level", "1"], &["no-answer"]);
    std::fs::write(&path, report.to_string()).unwrap();
    let output = run(&["test", "--plan", "--level", "1", "--rerun-failed", &unreached], &[]);
    let said = text(&output.stdout);
    let count = checks(&report).len();
    assert!(count > 100 && said.contains(&format!("a run of {count} checks")), "{count}: {said}");
}

#[test]
fn trace_has_every_message_without_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let (trace, name) = file(&folder, "trace.jsonl");
    let (config, config_name) = file(&folder, "conformance.toml");
    std::fs::write(&config, "secrets = ['conformance_probe_of_nothing']").unwrap();
    let arguments = [&BAD_QUERY[..], &["--trace", &name, "--config", &config_name]].concat();
    let (code, _) = report(&arguments, &[]);
    assert_eq!(code, 0);
    let written = std::fs::read_to_string(trace).unwrap();
    assert!(
        !written.contains("conformance_probe_of_nothing") && written.contains("***"),
        "{written}"
    );
    let lines: Vec<Value> =
        written.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |direction: &str| lines.iter().filter(|line| line["direction"] == direction).count();
    assert!(of("sent") > 10 && of("received") > 10 && of("sent") + of("received") == lines.len());
    for line in &lines {
        assert!(line["time"].as_str().unwrap().ends_with('Z') && line["connection"].is_u64());
        assert!(line["message"].is_object(), "{line}");
    }
    let first = &lines[0];
    assert_eq!((&first["mode"], &first["message"]["method"]), (&Value::Null, &json!("initialize")));
    for mode in ["semantic", "single"] {
        assert!(lines.iter().any(|line| line["mode"] == mode), "{mode}");
    }
    // Each request has its response on the same connection.
    let asked = lines.iter().filter(|line| line["direction"] == "sent");
    for asked in asked.filter(|line| line["message"]["id"].is_u64()) {
        let is_answer = |line: &&Value| {
            line["direction"] == "received"
                && line["message"]["id"] == asked["message"]["id"]
                && line["connection"] == asked["connection"]
                && (line["mode"] == asked["mode"] || asked["mode"].is_null())
        };
        assert!(lines.iter().any(|line| is_answer(&line)), "{asked}");
    }
}

#[test]
fn baseline_accepts_findings() {
    // REQ-CNF-12
    let folder = tempfile::tempdir().unwrap();
    let (path, name) = file(&folder, "baseline.json");
    let category: &[&str] = &["--category", "introspection"];
    let (code, _) = report(&[category, &["--write-baseline", &name]].concat(), &["bad-query"]);
    assert_eq!(code, 1);
    let mut baseline = read(&path);
    assert_eq!(baseline["baselineVersion"], 1);
    for finding in baseline["findings"].as_array_mut().unwrap() {
        finding["reason"] = json!("known since 2031");
    }
    std::fs::write(&path, baseline.to_string()).unwrap();
    let with = [category, &["--baseline", &name]].concat();
    let (code, accepted) = report(&with, &["bad-query"]);
    assert_eq!(code, 0, "{accepted:#}");
    let output = run(&[&["test"], &with[..]].concat(), &["bad-query"]);
    let said = text(&output.stdout);
    assert!(said.contains("Accepted by the baseline\n"), "{said}");
    let accepted = said.lines().find(|line| line.starts_with("  introspection.bad_query  "));
    assert!(accepted.is_some_and(|line| line.ends_with("(2 cases): known since 2031")), "{said}");
    // Accepted obstacles are not shown next to the exit code 0.
    let (path, all) = file(&folder, "all.json");
    let level = ["--level", "1"];
    report(&[&level[..], &["--write-baseline", &all]].concat(), &["garden"]);
    let obstacles = read(&path)["obstacles"].to_string();
    assert!(obstacles.contains("creates.read_back was not tested"), "{obstacles}");
    let (_, to) = file(&folder, "accepted.json");
    let arguments = ["test", "--format", "json", "--output", &to, "--baseline", &all];
    let output = run(&[&arguments[..], &level].concat(), &["garden"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("level 0 of 1") && !said.contains("read_back"), "{said}");
    // A further finding fails the run, and a fixed one is reported.
    let (code, _) = report(&with, &["bad-query", "entries"]);
    assert_eq!(code, 1);
    let (code, fixed) = report(&with, &[]);
    let gone: Vec<_> = fixed["noLongerFound"].as_array().unwrap().iter().collect();
    assert_eq!(code, 0);
    assert!(gone.iter().any(|it| it["check"] == "introspection.bad_query"), "{gone:?}");
    // A saved report results in the same baseline.
    let (_, saved) = file(&folder, "report.json");
    let (_, whole) = report(category, &["bad-query"]);
    std::fs::write(&saved, whole.to_string()).unwrap();
    let (again, again_name) = file(&folder, "again.json");
    let output = run(&["report", &saved, "--write-baseline", &again_name], &[]);
    assert_eq!(output.status.code(), Some(0));
    let causes = |baseline: &Value| -> Vec<Value> {
        let findings = baseline["findings"].as_array().unwrap().iter();
        findings.map(|it| json!([it["check"], it["cause"], it["cases"]])).collect()
    };
    assert_eq!(causes(&read(&again)), causes(&baseline));
}

#[test]
fn reports_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let save = |name: &str, faults: &[&str]| {
        let (path, name) = file(&folder, name);
        let (_, tested) = report(&BAD_QUERY, faults);
        std::fs::write(path, tested.to_string()).unwrap();
        name
    };
    let (clean, faulty) = (save("clean.json", &[]), save("faulty.json", &["bad-query"]));
    for (old, new, code, parts) in [
        (&clean, &faulty, 1, ["New: 1 finding", "Fixed: 0 findings"]),
        (
            &faulty,
            &clean,
            0,
            ["New: 0 findings", "Fixed: 1 finding\n  FAIL  introspection.bad_query"],
        ),
        (&faulty, &faulty, 0, ["New: 0 findings", "Fixed: 0 findings"]),
    ] {
        let output = run(&["diff", old, new], &[]);
        let said = text(&output.stdout);
        assert_eq!(output.status.code(), Some(code), "{said}");
        for part in parts {
            assert!(said.contains(part), "{part} in {said}");
        }
    }
    let output = run(&["diff", &clean, &faulty], &[]);
    let said = text(&output.stdout);
    assert!(said.starts_with("Level: none before, none now (not compared"), "{said}");
    let output = run(&["diff", &clean, &faulty, "--format", "json"], &[]);
    let diff: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(diff["new"][0]["check"], "introspection.bad_query");
    assert_eq!((&diff["oldLevel"], &diff["comparedLevel"]), (&Value::Null, &json!(2)));
}

#[cfg(unix)]
#[test]
fn failed_trace_exits_with_3() {
    // REQ-CNF-12
    let folder = tempfile::tempdir().unwrap();
    let (_, trace) = file(&folder, "trace.jsonl");
    for plan in [&[][..], &["--plan"]] {
        let arguments = [&["test", "--trace", &trace], plan, &BAD_QUERY[..]].concat();
        let command = command(&arguments, &[]);
        // No file can have any bytes, as on a full disk.
        let limited = r#"trap "" XFSZ; ulimit -f 0; exec "$@""#;
        let mut shell = Command::new("sh");
        shell.args(["-c", limited, "sh"]).arg(command.get_program()).args(command.get_args());
        let output = shell.stdin(Stdio::null()).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains(&format!("error: cannot write `{trace}`: ")), "{said}");
        // The run itself is reported.
        assert!(!output.stdout.is_empty());
    }
}

const READ_BACK: [&str; 4] = ["--check", "creates.read_back", "--allow", "create,delete"];

#[test]
fn parameters_that_no_reply_shows_are_no_fields() {
    // REQ-CNF-04, REQ-CNF-13
    let read_back = |faults: &[&str]| {
        let (_, tested) = report(&READ_BACK, &[&["garden"], faults].concat());
        tested["categories"][0]["checks"][0].clone()
    };
    let check = read_back(&["notify"]);
    assert_eq!((&check["verdict"], &check["found"]), (&json!("pass"), &json!(0)), "{check}");
    let why = check["skipped"].as_object().unwrap().keys().next().unwrap();
    assert!(why.contains("nothing shows whether `notify` is one of them"), "{why}");
    // The result of the CREATE operation shows that a bed has a label.
    let check = read_back(&["unlabelled-list"]);
    assert_eq!(check["verdict"], "fail", "{check}");
}

#[test]
fn limited_removals_are_repeated() {
    // REQ-RATE-02
    let (_, tested) = report(&READ_BACK, &["garden", "limited-removals"]);
    assert_eq!(tested["leftBehind"], Value::Null, "{tested}");
}

#[test]
fn coverage_counts_called_operations() {
    let (_, tested) = report(&BAD_QUERY, &["create"]);
    let coverage = &tested["coverage"];
    // The CREATE operation may not be called.
    assert_eq!((&coverage["operations"], &coverage["called"]), (&json!(3), &json!(2)));
    assert_eq!((&coverage["applicable"], &coverage["percent"]), (&json!(1), &json!(100)));
}

#[test]
fn invalid_selections_exit_with_3() {
    // REQ-CNF-12
    let folder = tempfile::tempdir().unwrap();
    let (path, other) = file(&folder, "other.json");
    std::fs::write(path, "{}").unwrap();
    let cases: &[(&[&str], &str)] = &[
        (&["--check", "introspection.no_such"], "checks of this area are introspection."),
        (&["--check", "nothing"], "`nothing` is not a check"),
        (&["--category", "wires"], "the categories are wire, "),
        (&["--requirement", "REQ-NONE"], "no check covers the requirement `REQ-NONE`"),
        (&["--mode", "all"], "write semantic or single"),
        (&["--rerun-failed", &other], "is not a report"),
        (&["--rerun-failed", "no/such.json"], "cannot read"),
        (&["--baseline", &other], "is not a baseline"),
        (&["--baseline", "no/such.json"], "cannot read"),
        (&["--write-baseline", "no/such/baseline.json"], "the folder does not exist"),
        (&["--trace", "no/such/trace.jsonl"], "cannot write"),
        (&["--plan", "--format", "html"], "the formats of `--plan` are text and json"),
        (&["--plan", "--baseline", &other], "cannot be used with"),
    ];
    for (arguments, expected) in cases {
        let output = run(&[&["test"], *arguments].concat(), &[]);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}: {told}");
        assert!(told.contains(expected), "{arguments:?}: `{expected}` is missing in {told}");
    }
    for (arguments, expected) in [
        (&["diff", &other, &other][..], "is not a report"),
        (&["diff", "no/such.json", &other], "cannot read"),
    ] {
        let output = run(arguments, &[]);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}");
        assert!(text(&output.stderr).contains(expected), "{arguments:?}");
    }
}

#[test]
fn skips_name_the_setting_that_helps() {
    let select = ["--category", "parameters", "--category", "confirmation", "--mode", "single"];
    let reasons = |arguments: &[&str]| {
        let (_, report) = report(&[&select, arguments].concat(), &["verb"]);
        let skipped = checks(&report).into_iter().filter_map(|check| check["skipped"].as_object());
        skipped.flat_map(|skipped| skipped.keys().cloned()).collect::<Vec<_>>()
    };
    for allowed in [&[][..], &["--allow", "execute"]] {
        let reasons = reasons(allowed);
        let of_operation = reasons.iter().filter(|why| why.contains("`measure_bed`"));
        let of_operation: Vec<_> = of_operation.collect();
        assert!(!of_operation.is_empty(), "{reasons:#?}");
        for why in of_operation {
            assert!(why.contains("write `reading_operations = [\"measure_bed\"]`"), "{why}");
            assert!(!why.contains("--allow") && !why.contains("[params."), "{why}");
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let (config, name) = file(&folder, "conformance.toml");
    std::fs::write(&config, "reading_operations = [\"measure_bed\"]").unwrap();
    let reasons = reasons(&["--config", &name]);
    assert!(!reasons.iter().any(|why| why.contains("reading_operations")), "{reasons:#?}");
}
