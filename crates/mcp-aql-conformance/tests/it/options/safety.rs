//! Tests the calls and the new items of a run, compared with the requests that the adapter receives.

use std::path::Path;

use serde_json::{Value, json};

use super::{checks, command, file, report};

/// Runs `test`. Returns the report and the requests received by the adapter.
fn tested(arguments: &[&str], faults: &[&str]) -> (Value, Vec<Value>) {
    let folder = tempfile::tempdir().unwrap();
    let (log, _) = file(&folder, "received");
    let mut command = command(&[&["test", "--format", "json"], arguments].concat(), faults);
    let output = command.env("GARDEN_RECEIVED", &log).output().unwrap();
    let report = serde_json::from_slice(&output.stdout).unwrap();
    let received = std::fs::read_to_string(log).unwrap();
    (report, received.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

/// Returns the number of successful calls of an operation.
fn successes(received: &[Value], operation: &str) -> usize {
    let success = format!("success of {operation}");
    received.iter().filter(|request| request["method"] == *success).count()
}

fn write(folder: &Path, settings: &str) -> String {
    let path = folder.join("conformance.toml");
    std::fs::write(&path, settings).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn unknown_names_in_the_configuration_end_the_run() {
    let folder = tempfile::tempdir().unwrap();
    for (settings, place) in [
        ("[[skip]]\noperation = 'delete_bet'\nreason = 'x'", "[[skip]]"),
        ("[params.delete_bet]", "[params]"),
        ("reading_operations = ['delete_bet']", "reading_operations"),
    ] {
        let settings = format!("allow = ['create', 'delete']\n{settings}");
        // `allow` must come before the tables.
        let config = write(folder.path(), &settings);
        let why =
            format!("it has no operation `delete_bet`: correct `{place}` in the configuration");
        for mode in [&["--mode", "semantic"][..], &["--mode", "single"], &[]] {
            let arguments = [&["--config", &config], mode].concat();
            let (ended, received) = tested(&arguments, &["garden"]);
            assert!(ended["obstacles"][0].as_str().unwrap().contains(&why), "{mode:?}: {ended:#}");
            assert_eq!(successes(&received, "create_bed"), 0);
            let (code, plan) = report(&[&["--plan"], &arguments[..]].concat(), &["garden"]);
            assert_eq!((code, &plan["modes"]), (1, &json!([])), "{mode:?}");
            let reason = plan["unread"][0]["reason"].as_str().unwrap();
            assert!(reason.contains(&why), "{mode:?}: {reason}");
        }
    }
}

#[test]
fn operations_with_two_categories_need_both() {
    // The list says DELETE, and the details say READ.
    let faults = ["garden", "batch", "deceptive"];
    let folder = tempfile::tempdir().unwrap();
    let config = write(folder.path(), "[params.get_weather]");
    let mode = ["--mode", "single", "--category", "parameters", "--config", &config];
    let (safe, received) = tested(&mode, &faults);
    assert_eq!(successes(&received, "get_weather"), 0);
    let said = safe.to_string();
    assert!(said.contains("DELETE operations were not allowed: use --allow delete"), "{said}");
    let (_, received) = tested(&[&mode[..], &["--allow", "delete"]].concat(), &faults);
    assert_eq!(successes(&received, "get_weather"), 0);
    let (_, received) = tested(&[&mode[..], &["--allow", "delete,execute"]].concat(), &faults);
    assert!(successes(&received, "get_weather") > 0);
}

#[test]
fn examples_remove_no_safeguard() {
    let arguments = ["--mode", "single", "--category", "parameters", "--allow", "create"];
    let (_, received) = tested(&arguments, &["garden", "nested"]);
    let options =
        received.iter().map(|request| &request["params"]["arguments"]["params"]["options"]);
    let sent: Vec<_> = options.filter(|options| options.is_object()).collect();
    assert!(sent.iter().any(|options| options["overwrite"] == false), "{sent:?}");
    assert!(sent.iter().all(|options| options["overwrite"] != true), "{sent:?}");
}

#[test]
fn created_items_are_limited() {
    let folder = tempfile::tempdir().unwrap();
    let settings = "allow = ['create', 'delete']\n[limits]\ncreated_items = 6";
    let config = write(folder.path(), settings);
    let arguments = ["--mode", "single", "--category", "parameters", "--config", &config];
    let arguments = [&arguments[..], &["--category", "creates", "--category", "batch"]].concat();
    let (_, received) = tested(&arguments, &["garden", "batch"]);
    let (mut beds, mut most) = (0_usize, 0);
    for request in &received {
        match request["method"].as_str() {
            Some("success of create_bed") => beds += 1,
            Some("success of delete_bed") => beds -= 1,
            _ => {}
        }
        most = most.max(beds);
    }
    assert!((3..=6).contains(&most), "{most}");
}

#[test]
fn features_outside_the_sample_are_not_exercised() {
    let folder = tempfile::tempdir().unwrap();
    let config = write(folder.path(), "[limits]\noperations = 1");
    let arguments = ["--mode", "semantic", "--config", &config];
    let arguments = [&arguments[..], &["--category", "fields", "--category", "errors"]].concat();
    let (_, sampled) = report(&arguments, &["garden", "batch"]);
    let has_sample =
        |check: &&Value| check["skipped"].to_string().contains("outside the sample of operations");
    let verdicts = |report: &Value| -> Vec<(String, String)> {
        let checks = checks(report).into_iter();
        let text = |check: &Value, name: &str| check[name].as_str().unwrap().to_owned();
        checks.map(|check| (text(check, "id"), text(check, "verdict"))).collect()
    };
    let skipped = checks(&sampled).into_iter().filter(has_sample).count();
    assert!(skipped > 0 && !verdicts(&sampled).iter().any(|(_, it)| it == "n/a"), "{sampled:#}");
    // The sample has its own list. No configuration excludes these operations.
    assert_eq!(sampled["leftOut"], Value::Null);
    let outside = sampled["outsideRun"][0].as_str().unwrap();
    assert!(outside.contains("a sample of 2 operations"), "{outside}");
    let (_, whole) = report(&["--mode", "semantic", "--category", "errors"], &["garden", "batch"]);
    assert!(verdicts(&whole).iter().any(|(_, it)| it == "n/a"), "{whole:#}");
    assert_eq!(whole["outsideRun"], Value::Null);
}
