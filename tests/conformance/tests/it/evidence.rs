//! Tests that the evidence of the garden is complete, correct and accepted by the protocol's runner.

use std::sync::Arc;

use mcp_aql_conformance::{Category, EvidenceError, MemoryTarget, Progress, Runner, Settings};
use mcp_aql_conformance_tests::{Faulty, Tamper};
use serde_json::{Value, json};

async fn evidence(
    tamper: Option<&'static Tamper>,
    settings: Settings,
) -> Result<Value, EvidenceError> {
    let faulty = Arc::new(Faulty::new(tamper));
    let target = MemoryTarget::new("garden", move |mode, stream| {
        let faulty = Arc::clone(&faulty);
        tokio::spawn(async move {
            let (read, write) = tokio::io::split(stream);
            // The runner sees how the connection ends.
            let _ = faulty.serve(mode, read, write).await;
        });
    });
    Runner::new(target, settings).evidence().await
}

async fn whole(tamper: Option<&'static Tamper>) -> Value {
    match evidence(tamper, Settings::default().allow_all()).await {
        Ok(evidence) => evidence,
        Err(error) => panic!("{error}"),
    }
}

fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).unwrap_or_else(|| panic!("no {pointer}"))
}

/// JSON pointers to the lists of the bundle.
const LISTS: [&str; 11] = [
    "/endpoint_modes",
    "/introspection/operation_details",
    "/parameter_tests/missing_required",
    "/parameter_tests/unknown_parameter",
    "/parameter_tests/optional_defaults",
    "/error_tests",
    "/round_trip_tests",
    "/update_preservation_tests",
    "/constraint_tests",
    "/semantic_tests",
    "/batch_example/results",
];

#[tokio::test]
async fn the_evidence_of_the_garden_is_whole() {
    // REQ-CNF-04 to REQ-CNF-06, REQ-CNF-11
    let evidence = whole(None).await;
    for pointer in LISTS {
        assert!(!list(&evidence, pointer).is_empty(), "{pointer}");
    }
    assert_eq!(evidence["endpoint_modes"], json!(["crude", "single"]));
    assert_eq!(
        evidence["capabilities"],
        json!({ "field_selection": true, "batch_operations": true })
    );
    assert_eq!(evidence["spec_version"], "1.0.0-draft");
    let batch = &evidence["batch_example"];
    assert_eq!((&batch["success"], batch.get("halted_at")), (&json!(true), None), "{batch}");
    for name in ["round_trip_tests", "update_preservation_tests"] {
        let fields =
            if name == "round_trip_tests" { "expected_fields" } else { "preserved_fields" };
        for case in list(&evidence, &format!("/{name}")) {
            assert!(case[fields].as_object().is_some_and(|fields| fields.len() > 2), "{case}");
        }
    }
}

/// Returns the value at a dotted path in a reply.
fn at<'a>(response: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(response, |value, part| &value[part])
}

fn message(case: &Value) -> &str {
    case.pointer("/response/error/message").and_then(Value::as_str).unwrap_or_default()
}

/// Returns the mistakes that the protocol's runner would report. The rules are written independently.
fn problems(evidence: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    let missing = list(evidence, "/parameter_tests/missing_required");
    for details in list(evidence, "/introspection/operation_details") {
        let name = details["name"].as_str().expect("a name");
        let accepted = list(evidence, &format!("/accepted_parameters/{name}"));
        let parameters: Vec<_> = list(details, "/parameters").iter().collect();
        for parameter in &parameters {
            let own = parameter["name"].as_str().expect("a name");
            if !own.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_')) {
                problems.push(format!("{name}.{own} is no name"));
            }
            let case =
                missing.iter().find(|case| case["operation"] == name && case["parameter"] == own);
            let is_told = case.is_some_and(|case| {
                case["response"]["success"] == false && message(case).contains(own)
            });
            if parameter["required"] == true && !is_told {
                problems.push(format!("{name}.{own} is not missed"));
            }
            if !accepted.contains(&parameter["name"]) {
                problems.push(format!("{name}.{own} is not accepted"));
            }
        }
        for accepted in accepted {
            if !parameters.iter().any(|parameter| parameter["name"] == *accepted) {
                problems.push(format!("{name}.{accepted} is not documented"));
            }
        }
    }
    for case in list(evidence, "/parameter_tests/unknown_parameter") {
        if !message(case).contains(case["parameter"].as_str().expect("a name")) {
            problems.push(format!("{case} is silent"));
        }
    }
    for case in list(evidence, "/parameter_tests/optional_defaults") {
        let path = case["expected_value_path"].as_str().expect("a path");
        if *at(&case["response"], path) != case["expected_value"] {
            problems.push(format!("{case}: another default"));
        }
    }
    for case in list(evidence, "/error_tests") {
        let mentions = list(case, "/must_mention").iter().filter_map(Value::as_str);
        if !mentions.into_iter().all(|word| message(case).contains(word)) {
            problems.push(format!("{case}: does not say what"));
        }
        if mcp_aql::testing::leaks_internals(message(case)) || has_at_before_a_word(message(case)) {
            problems.push(format!("{case}: leaks"));
        }
    }
    for (name, fields) in
        [("round_trip_tests", "expected_fields"), ("update_preservation_tests", "preserved_fields")]
    {
        for case in list(evidence, &format!("/{name}")) {
            for (path, value) in case[fields].as_object().expect("fields") {
                if at(&case["read_response"], path) != value {
                    problems.push(format!("{name}, {}: {path} is another", case["name"]));
                }
            }
        }
    }
    for case in list(evidence, "/constraint_tests") {
        if case["response"]["success"] != false || case["documented"] != true {
            problems.push(format!("{case}: not refused, or not documented"));
        }
    }
    problems
}

#[tokio::test]
async fn the_evidence_of_the_garden_passes_the_rules_of_the_protocols_runner() {
    // REQ-CNF-07 to REQ-CNF-10, REQ-CNF-13
    let evidence = whole(None).await;
    assert_eq!(problems(&evidence), Vec::<String>::new());
    for name in ["round_trip_tests", "constraint_tests"] {
        let names: Vec<_> =
            list(&evidence, &format!("/{name}")).iter().map(|case| &case["name"]).collect();
        assert!(
            names.iter().any(|name| name.as_str().is_some_and(|name| name.starts_with("bed"))),
            "{names:?}"
        );
    }
}

#[tokio::test]
async fn what_is_accepted_and_not_documented_is_in_the_evidence() {
    // REQ-CNF-08
    const HIDES_A_PARAMETER: Tamper = Tamper::Body(|_, body| {
        if body["data"]["operation"]["name"] == "list_beds"
            && let Some(Value::Array(parameters)) = body.pointer_mut("/data/operation/parameters")
        {
            parameters.retain(|parameter| parameter["name"] != "include_items");
        }
    });
    let problems = problems(&whole(Some(&HIDES_A_PARAMETER)).await);
    assert_eq!(problems, ["list_beds.\"include_items\" is not documented"]);
}

#[tokio::test]
async fn evidence_contains_faults_unchanged() {
    // REQ-CNF-06
    const FORGETS_A_FIELD: Tamper = Tamper::Body(|arguments, body| {
        if arguments["operation"] == "get_bed"
            && let Some(Value::Object(bed)) = body.pointer_mut("/data/bed")
        {
            bed.insert("crop".to_owned(), json!("weeds"));
        }
    });
    let problems = problems(&whole(Some(&FORGETS_A_FIELD)).await);
    assert!(
        problems
            .iter()
            .any(|problem| problem.contains("round_trip_tests") && problem.contains("crop")),
        "{problems:?}"
    );
}

#[tokio::test]
async fn what_would_be_empty_is_an_error_that_says_why() {
    // REQ-CNF-06
    let told = |error: EvidenceError| match error {
        EvidenceError::Incomplete(gaps) => gaps,
        error => panic!("{error}"),
    };
    let gaps = told(evidence(None, Settings::default()).await.expect_err("nothing is allowed"));
    for (list, why) in
        [("round_trip_tests", "--allow create"), ("update_preservation_tests", "--allow create")]
    {
        let is_told =
            |gap: &String| gap.contains(&format!("`{list}` would be empty")) && gap.contains(why);
        assert!(gaps.iter().any(is_told), "{list}: {gaps:#?}");
    }
    let settings = Settings::default().allow(Category::Create);
    let gaps = told(evidence(None, settings).await.expect_err("updates are not allowed"));
    let is_told = |gap: &String| {
        gap.contains("`update_preservation_tests` would be empty") && gap.contains("--allow update")
    };
    assert!(gaps.iter().any(is_told), "{gaps:#?}");
    assert!(!gaps.iter().any(|gap| gap.contains("--allow create")), "{gaps:#?}");
}

#[tokio::test]
async fn reports_items_that_the_collection_left_behind() {
    let faulty = Arc::new(Faulty::new(None));
    let target = MemoryTarget::new("garden", move |mode, stream| {
        let faulty = Arc::clone(&faulty);
        tokio::spawn(async move {
            let (read, write) = tokio::io::split(stream);
            let _ = faulty.serve(mode, read, write).await;
        });
    });
    let settings = Settings::default().allow(Category::Create).allow(Category::Update);
    let told = Arc::new(std::sync::Mutex::new(Vec::new()));
    let telling = Arc::clone(&told);
    let runner = Runner::new(target, settings).on_progress(move |progress| {
        if let Progress::LeftBehind(left) = progress {
            telling.lock().expect("nobody panics").extend(left);
        }
    });
    // The test does not need complete evidence.
    let _ = runner.evidence().await;
    let told = told.lock().expect("nobody panics").join("\n");
    assert!(told.contains("DELETE operations were not allowed"), "{told:?}");
}

/// The simplest rule of the protocol's runner, `/at\s+\S+/i`. It also matches harmless words.
fn has_at_before_a_word(message: &str) -> bool {
    let lower = message.to_ascii_lowercase();
    lower.match_indices("at").any(|(start, matched)| {
        let rest = lower.get(start + matched.len()..).unwrap_or_default();
        rest.starts_with(char::is_whitespace) && !rest.trim_start().is_empty()
    })
}
