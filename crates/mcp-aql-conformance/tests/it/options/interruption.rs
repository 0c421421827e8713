//! Tests signals to a run after it has created items.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{command, file};

const NOTICE: &str = "interrupted; removing what the run created; a second signal ends it at once";

/// A run with created items, ready to be interrupted.
struct Started {
    child: Child,
    folder: TempDir,
    stderr: BufReader<std::process::ChildStderr>,
}

impl Started {
    /// Starts a run and waits until it has created an item.
    fn new(allowed: &str, faults: &[&str]) -> Self {
        Self::until("create_bed", "text", allowed, faults)
    }

    /// Starts a run and waits until this operation has succeeded. `format` is the format of its report, or `evidence`
    /// to collect the evidence.
    fn until(operation: &str, format: &str, allowed: &str, faults: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let beds = folder.path().join("beds");
        std::fs::create_dir(&beds).unwrap();
        let (_, report) = file(&folder, "report");
        let (_, baseline) = file(&folder, "baseline");
        let faults = [&["garden", "slow"], faults].concat();
        let arguments = match format {
            "evidence" => vec!["evidence", "--allow", allowed, "--output", &report],
            _ => {
                let arguments =
                    ["test", "--allow", allowed, "--format", format, "--output", &report];
                [&arguments[..], &["--write-baseline", &baseline]].concat()
            }
        };
        let mut command = command(&arguments, &faults);
        let (log, _) = file(&folder, "received");
        command
            .env("GARDEN_BEDS", &beds)
            .env("GARDEN_RECEIVED", &log)
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let started = Self { child, folder, stderr };
        let until = Instant::now() + Duration::from_secs(30);
        let success = format!("success of {operation}\"");
        while !std::fs::read_to_string(&log).unwrap_or_default().contains(&success) {
            assert!(Instant::now() < until, "the run does not call `{operation}`");
            std::thread::sleep(Duration::from_millis(5));
        }
        started
    }

    /// Returns the number of items in the adapter.
    fn beds(&self) -> usize {
        std::fs::read_dir(self.folder.path().join("beds")).unwrap().count()
    }

    fn signal(&self, signal: &str) {
        let process = self.child.id().to_string();
        let sent = Command::new("kill").args([&format!("-{signal}"), &process]).status();
        assert!(sent.unwrap().success());
    }

    /// Reads the next line on standard error.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stderr.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Waits for the end of the run. Returns the lines after the notice, and the report.
    fn end(&mut self) -> (Vec<String>, Option<String>) {
        let rest = self.stderr.by_ref().lines().map(Result::unwrap).collect();
        assert_eq!(self.child.wait().unwrap().code(), Some(130), "{rest:?}");
        assert!(!self.folder.path().join("baseline").exists());
        (rest, std::fs::read_to_string(self.folder.path().join("report")).ok())
    }
}

#[test]
fn interrupted_run_removes_its_items() {
    // REQ-CNF-12
    for signal in ["INT", "TERM"] {
        let mut run = Started::new("create,delete", &[]);
        run.signal(signal);
        assert_eq!(run.line(), NOTICE);
        let (said, report) = run.end();
        assert_eq!(said[0], "nothing was left behind");
        assert_eq!(run.beds(), 0);
        let report = report.unwrap();
        assert!(report.contains("\nInterrupted, no level granted, "), "{report}");
        assert!(report.contains("\n  cut short: the run was interrupted ("), "{report}");
    }
}

/// Returns the checks with findings in a report.
fn found(report: &Value) -> BTreeSet<&str> {
    let checks = super::checks(report).into_iter();
    let found = checks.filter(|check| check["verdict"] == "fail" || check["verdict"] == "warn");
    found.map(|check| check["id"].as_str().unwrap()).collect()
}

#[test]
fn interrupted_run_reports_what_was_done() {
    let mut run = Started::until("delete_bed", "json", "create,delete", &["bad-query"]);
    run.signal("INT");
    assert_eq!(run.line(), NOTICE);
    let (_, interrupted) = run.end();
    let interrupted: Value = serde_json::from_str(&interrupted.unwrap()).unwrap();
    assert_eq!(interrupted["interrupted"], true);
    assert_eq!(interrupted["conformanceLevel"], 0);
    assert_eq!(interrupted["obstacles"], json!(["the run was interrupted"]));
    let verdicts: BTreeSet<_> =
        super::checks(&interrupted).iter().map(|it| it["verdict"].as_str().unwrap()).collect();
    assert!(verdicts.contains("pass") && verdicts.contains("skip"), "{verdicts:?}");
    // Calls prevented by the interruption are not findings.
    let (_, whole) = super::report(&["--allow", "create,delete"], &["garden", "bad-query"]);
    let (found, known) = (found(&interrupted), found(&whole));
    assert!(found.is_subset(&known), "{found:?} {known:?}");
    assert!(found.contains("introspection.bad_query"), "{found:?}");
    // Every format of the report states the interruption.
    let path = run.folder.path().join("report");
    for (format, part) in [
        ("text", "Interrupted, no level granted"),
        ("junit", "errors=\"1\""),
        ("sarif", "\"executionSuccessful\": false"),
    ] {
        let output = super::run(&["report", path.to_str().unwrap(), "--format", format], &[]);
        assert_eq!(output.status.code(), Some(0), "{format}");
        let text = super::text(&output.stdout);
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn interrupted_run_reports_what_stays_behind() {
    let mut run = Started::new("create", &[]);
    run.signal("INT");
    assert_eq!(run.line(), NOTICE);
    let (said, report) = run.end();
    assert_eq!(said[0], "left behind:");
    assert!(run.beds() > 0);
    // With permission only for CREATE, the run does not find out which items existed before.
    let reason = ": it may have existed before the call of `create_bed`";
    assert!(said[1].contains("bed b") && said[1].ends_with(reason), "{said:?}");
    let report = report.unwrap();
    let left = report.find("\nLeft behind in the adapter\n").unwrap();
    assert!(left < report.find("\nSummary by area\n").unwrap(), "{report}");
}

#[test]
fn interrupted_run_ends_in_time() {
    let mut run = Started::new("create,delete", &["stubborn"]);
    run.signal("TERM");
    assert_eq!(run.line(), NOTICE);
    let (said, report) = run.end();
    assert_eq!(said[0], "left behind:");
    assert!(said[1].ends_with(": there was no time to remove it"), "{said:?}");
    assert!(report.is_some());
}

#[test]
fn second_signal_ends_the_run_at_once() {
    let mut run = Started::new("create,delete", &["stubborn"]);
    run.signal("INT");
    assert_eq!(run.line(), NOTICE);
    std::thread::sleep(Duration::from_millis(200));
    run.signal("INT");
    let (said, report) = run.end();
    assert_eq!(said, ["ended at once; items that the run created may be left"]);
    assert_eq!(report, None);
}

#[test]
fn interrupted_evidence_removes_its_items() {
    // REQ-CNF-12
    let mut run = Started::until("create_bed", "evidence", "create,delete", &[]);
    assert!(run.beds() > 0);
    run.signal("INT");
    assert_eq!(run.line(), NOTICE);
    let (said, evidence) = run.end();
    assert_eq!((said, evidence), (vec![], None));
    assert_eq!(run.beds(), 0);
    // Without permission to delete, it lists the items left behind.
    let mut run = Started::until("create_bed", "evidence", "create", &[]);
    run.signal("TERM");
    assert_eq!(run.line(), NOTICE);
    let (said, _) = run.end();
    assert!(said[0] == "left behind:" && said[1].contains("bed b"), "{said:?}");
}
