//! Tests plans of runs, compared with the requests that the adapter receives.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use super::{command, file, report, text};

/// Returns the methods and the called operations that an adapter received.
fn received(file: &Path) -> BTreeSet<String> {
    let received = std::fs::read_to_string(file).unwrap();
    let requests = received.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let of_request = |request: Value| {
        let arguments = &request["params"]["arguments"];
        let batch = arguments["operations"].as_array().into_iter().flatten();
        let operations = batch.chain([arguments]).map(|item| item["operation"].to_string());
        match request["method"].as_str() {
            Some("tools/call") => operations.filter(|name| name != "null").collect(),
            method => vec![method.unwrap_or_default().to_owned()],
        }
    };
    requests.flat_map(of_request).collect()
}

/// Runs `test --plan`. Returns the exit code and the plan.
fn plan(arguments: &[&str], faults: &[&str]) -> (i32, Value) {
    report(&[&["--plan"], arguments].concat(), faults)
}

/// Returns the planned use of an operation in a mode, and the reason.
fn planned<'a>(plan: &'a Value, mode: &str, operation: &str) -> (&'a str, &'a str) {
    let mut modes = plan["modes"].as_array().unwrap().iter();
    let mode = modes.find(|it| it["mode"] == mode).unwrap();
    let mut operations = mode["operations"].as_array().unwrap().iter();
    let found = operations.find(|it| it["name"] == operation).unwrap();
    (found["use"].as_str().unwrap(), found["reason"].as_str().unwrap())
}

#[test]
fn plan_calls_only_introspection() {
    let folder = tempfile::tempdir().unwrap();
    let (log, _) = file(&folder, "received");
    let mut command = command(&["test", "--plan", "--allow", "create,execute"], &["garden"]);
    let output = command.env("GARDEN_RECEIVED", &log).output().unwrap();
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let expected = [
        "\"introspect\"",
        "initialize",
        "notifications/initialized",
        "success of introspect",
        "tools/list",
    ];
    assert_eq!(received(&log), expected.map(str::to_owned).into());
    for part in [
        "In semantic mode\n",
        "In single mode\n",
        "  Called: 3 operations\n",
        "  Only requests that must be rejected: 1 operation\n    DELETE   delete_bed\n",
        "DELETE operations were not allowed: use --allow delete",
        "  Not called: 1 operation\n    EXECUTE  water_all\n",
        "  Not called: 2 operations\n    DELETE   delete_bed\n",
        "with create_bed: at most 40 items in total, and cannot remove them",
        "The run creates at most 80 items in all modes together",
        "10 s for a request, 300 s for the run\n  64 concurrent requests\n",
    ] {
        assert!(said.contains(part), "{part} in {said}");
    }
    let (code, nothing) = plan(&[], &["no-tools"]);
    assert_eq!((code, &nothing["modes"]), (1, &json!([])));
    let reason = nothing["unread"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("the server has no tools"), "{reason}");
}

#[test]
fn plan_names_the_use_of_every_operation() {
    let (_, safe) = plan(&[], &["garden"]);
    assert_eq!((&safe["maxCreated"], &safe["allowed"]), (&json!(0), &json!([])));
    for (operation, planned_use, reason) in [
        ("introspect", "called", "the run uses it to read the adapter"),
        ("list_beds", "called", "it only reads"),
        // A request to the tool of another endpoint that lacks the parameters is rejected for two reasons.
        ("create_bed", "onlyRejected", "--allow create"),
        ("delete_bed", "onlyRejected", "--allow delete"),
        // A request for it cannot lack a parameter.
        ("water_all", "notCalled", "--allow execute"),
    ] {
        let (found, why) = planned(&safe, "semantic", operation);
        assert_eq!(found, planned_use, "{operation}: {why}");
        assert!(why.contains(reason), "{operation}: {why}");
    }
    for operation in ["create_bed", "delete_bed"] {
        assert_eq!(planned(&safe, "single", operation).0, "notCalled", "{operation}");
    }

    let (_, all) = plan(&["--allow", "create,delete,execute"], &["garden"]);
    for operation in ["create_bed", "delete_bed"] {
        assert_eq!(planned(&all, "single", operation).0, "called", "{operation}");
    }
    let creations = json!([{ "operation": "create_bed", "maxItems": 200, "removed": true }]);
    assert_eq!((&all["modes"][0]["creations"], &all["maxCreated"]), (&creations, &json!(400)));
    let (found, why) = planned(&all, "semantic", "water_all");
    assert_eq!(found, "notCalled", "{why}");
    assert!(why.contains("[params.water_all]"), "{why}");

    // Without items of its own, the run deletes nothing.
    let (_, only_delete) = plan(&["--allow", "delete"], &["garden"]);
    let (found, why) = planned(&only_delete, "semantic", "delete_bed");
    assert_eq!(found, "onlyRejected", "{why}");
    assert!(why.contains("[params.delete_bed]"), "{why}");

    let folder = tempfile::tempdir().unwrap();
    let (config, name) = file(&folder, "conformance.toml");
    let settings = "allow = ['create', 'delete', 'execute']\n[limits]\ncreated_items = 7\n\
                    irreversible_calls = 3\n[params.water_all]\n\
                    [[skip]]\noperation = 'delete_bed'\nreason = 'the beds are rented'";
    std::fs::write(&config, settings).unwrap();
    let (_, configured) = plan(&["--config", &name, "--mode", "semantic"], &["garden"]);
    assert_eq!(configured["modes"].as_array().unwrap().len(), 1);
    let (found, why) = planned(&configured, "semantic", "delete_bed");
    assert_eq!(found, "notCalled");
    assert!(why.contains("the beds are rented"), "{why}");
    let (found, why) = planned(&configured, "semantic", "water_all");
    assert_eq!(found, "called", "{why}");
    assert!(why.contains("[params.water_all] only; at most 3 calls succeed"), "{why}");
    // The items cannot be removed, so the limit of calls applies.
    let creations = json!([{ "operation": "create_bed", "maxItems": 3, "removed": false }]);
    assert_eq!(configured["modes"][0]["creations"], creations);
    assert_eq!(configured["limits"]["createdItems"], 7);

    std::fs::write(&config, "allow = ['create']\n[limits]\nirreversible_calls = 0").unwrap();
    let (_, none) = plan(&["--config", &name], &["garden"]);
    let (found, why) = planned(&none, "semantic", "create_bed");
    assert_eq!((found, &none["maxCreated"]), ("notCalled", &json!(0)), "{why}");

    std::fs::write(&config, "[limits]\noperations = 1").unwrap();
    let (_, sampled) = plan(&["--config", &name], &["garden"]);
    let (_, why) = planned(&sampled, "semantic", "create_bed");
    assert!(why.contains("outside the sample"), "{why}");
}

#[test]
fn plan_agrees_with_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let (config, sampled) = file(&folder, "sampled.toml");
    std::fs::write(&config, "[limits]\noperations = 1").unwrap();
    let all = "create,delete,execute";
    for options in [
        &["--allow", "read"][..],
        &["--allow", "create"],
        &["--allow", "delete"],
        &["--allow", all],
        &["--allow", all, "--config", &sampled],
    ] {
        let options = [options, &["--mode", "semantic", "--level", "1"]].concat();
        let folder = tempfile::tempdir().unwrap();
        let (log, _) = file(&folder, "received");
        let (_, planned) = plan(&options, &["garden"]);
        let mut command = command(&[&["test"], &options[..]].concat(), &["garden"]);
        command.env("GARDEN_RECEIVED", &log).output().unwrap();
        let received = received(&log);
        for operation in planned["modes"][0]["operations"].as_array().unwrap() {
            let is_sent = received.contains(&operation["name"].to_string());
            assert_eq!(is_sent, operation["use"] != "notCalled", "{options:?}: {operation}");
            let name = operation["name"].as_str().unwrap();
            let has_succeeded = received.contains(&format!("success of {name}"));
            assert_eq!(has_succeeded, operation["use"] == "called", "{options:?}: {operation}");
        }
    }
}

#[test]
fn plan_covers_batches_of_a_sample() {
    let folder = tempfile::tempdir().unwrap();
    let (config, name) = file(&folder, "sampled.toml");
    std::fs::write(&config, "[limits]\noperations = 1").unwrap();
    let options = ["--mode", "semantic", "--config", &name];
    let faults = ["garden", "batch"];
    let (_, sampled) = plan(&options, &faults);
    assert_eq!(planned(&sampled, "semantic", "list_beds").0, "called");
    assert_eq!(planned(&sampled, "semantic", "create_bed").0, "notCalled");
    let (log, _) = file(&folder, "received");
    let arguments = [&["test", "--check", "batch.mixed"], &options[..]].concat();
    command(&arguments, &faults).env("GARDEN_RECEIVED", &log).output().unwrap();
    // A batch with an operation of another tool must be rejected. The run uses none from outside of the sample.
    let received = received(&log);
    assert!(received.contains("\"list_beds\""), "{received:?}");
    assert!(!received.contains("\"create_bed\""), "{received:?}");
}
