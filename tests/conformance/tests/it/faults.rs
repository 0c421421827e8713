//! Tests that the runner finds nothing in the garden, and that the intended check detects each mistake.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_aql_conformance::{
    File, MemoryTarget, Report, Runner, Settings, TimeLimits, Verdict, checks,
};
use mcp_aql_conformance_tests::variants::{RATE_LIMITED, SLOW, SLOW_AND_DOCUMENTED, VARIANTS};
use mcp_aql_conformance_tests::{Fault, Faulty, Tamper, faults, found};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// Number of concurrent runs. Some of them only wait.
const AT_ONCE: usize = 8;

/// Every n-th mistake is also tested with the areas that examine every call. There are too many to test all of them.
const SAMPLE: usize = 5;

/// Checks without a mistake for them, each with the reason.
const WITHOUT_A_FAULT: &[(&str, &str)] = &[];

fn target(tamper: Option<&'static Tamper>) -> MemoryTarget {
    serve(Arc::new(Faulty::new(tamper)))
}

fn serve(faulty: Arc<Faulty>) -> MemoryTarget {
    MemoryTarget::new("garden", move |mode, stream| {
        let faulty = Arc::clone(&faulty);
        tokio::spawn(async move {
            let (read, write) = tokio::io::split(stream);
            let served = faulty.serve(mode, read, write).await;
            assert!(served.is_ok(), "{served:?}");
        });
    })
}

fn settings() -> Settings {
    Settings::default().allow_all()
}

/// Returns settings with time limits for a garden on a busy machine.
///
/// They are short enough not to wait long for a silent garden.
fn impatient() -> Settings {
    settings()
        .time_limits(TimeLimits { request: Duration::from_secs(10), run: Duration::from_secs(240) })
}

/// Checks with results that come only from the calls of all other checks.
const SEEN_IN_PASSING: [&str; 7] = [
    "errors.details",
    "errors.quoted",
    "errors.template",
    "lifecycle.stated",
    "quotas.exceeded_form",
    "wire.stays_open",
    "wire.unreadable_requests",
];

/// Checks that compare every reply with its documentation. They detect many mistakes meant for other checks.
const COMPARES_EVERY_ANSWER: [&str; 1] = ["shapes.as_typed"];

/// Further checks that may detect a mistake if all checks run, because of their own calls. `*` stands for every check.
const FOUND_BY_OTHERS: &[(&str, &[&str])] = &[
    // The check of dangerous operations also detects a call that needs no person.
    ("agents-go-on-unapproved", &["danger.gated", "batch.halts"]),
    ("agents-start-by-themselves", &["danger.gated", "batch.halts"]),
    ("any-code-confirms", &["danger.gated", "batch.halts"]),
    ("directive-without-factors", &["danger.gated", "batch.halts"]),
    ("tried-code-repeated", &["danger.gated", "batch.halts"]),
    ("hint-said-to-be-optional", &["danger.gated", "batch.halts"]),
    ("loop-unstated", &["danger.gated", "batch.halts"]),
    ("loop-without-a-way-out", &["danger.gated", "tools.description_current"]),
    // A deletion of everything leaves no item for the calls after it, and takes the items of other checks at the same time.
    ("deletes-everything", &["*"]),
    ("deletes-everything-and-errors-are-texts", &["*"]),
    // Introspection is compared with the descriptions of tools and with other lists.
    ("empty-family-says-nothing", &["introspection.list_complete"]),
    ("operation-left-off-the-list", &["tools.description_current"]),
    ("operation-left-out-of-introspection", &["tools.description_current"]),
    ("update-that-reads", &["introspection.list_complete", "robustness.duplicate_keys"]),
    ("value-missing-in-enum", &["introspection.examples_fit"]),
    ("cancelling-claimed-and-refused", &["parameters.length"]),
    ("filter-ignored-altogether", &["parameters.nested_wins"]),
    ("parameter-in-camel-case", &["robustness.duplicate_keys"]),
    ("reserved-name-for-something-else", &["robustness.duplicate_keys"]),
    // These checks send filters with any characters, and combinations of all controls.
    (
        "ascii-only",
        &["collections.filter_applied", "collections.filter_keys", "collections.filter_operators"],
    ),
    ("an-item-lost-between-pages", &["collections.combined_controls"]),
    // Any check can detect these if its calls run concurrently, or if it compares items before and after a call.
    ("looking-leaves-traces", &["*"]),
    ("mixes-answers-up-under-load", &["*"]),
];

/// Returns settings for the areas that should detect this mistake: its own and those of its neighbors.
///
/// With `in_every_call`, the areas that examine every call are added. Set `WHOLE=1` in the environment after you added
/// a check or a mistake: it selects all areas and takes half an hour.
fn looking_for(fault: &Fault, in_every_call: bool) -> Settings {
    let area = |check: &&'static str| check.split('.').next().unwrap_or(check);
    if std::env::var_os("WHOLE").is_some() || SEEN_IN_PASSING.contains(&fault.check) {
        return impatient();
    }
    let areas = fault.neighbours.iter().chain([&fault.check]).map(area);
    let others = in_every_call.then_some(["errors", "shapes", "wire"]).into_iter().flatten();
    areas.chain(others).fold(impatient(), Settings::category)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_garden_has_no_fault() {
    // REQ-CNF-01, REQ-CNF-02
    let report = Runner::new(target(None), settings()).run().await;
    let found = found(&report);
    assert!(found.is_empty(), "{}", list(&found));
    assert_eq!(report.modes.len(), 2, "{:?}", report.obstacles);
    // No case was skipped for lack of a value.
    assert_eq!((report.conformance_level, report.exit_code()), (2, 0), "{:#?}", report.obstacles);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_fault_is_found_by_its_check_and_by_no_other() {
    // You can set `FAULT=name,name` in the environment to test only mistakes with these names. With only one mode under
    // test, even the correct garden has findings.
    let usual = found(&Runner::new(target(None).as_it_is(), settings()).run().await);
    let room = Arc::new(Semaphore::new(AT_ONCE));
    let mut runs = JoinSet::new();
    let wanted = std::env::var("FAULT").ok();
    for (number, fault) in faults::all().enumerate() {
        let is_named = |wanted: &String| wanted.split(',').any(|part| fault.name.contains(part));
        if wanted.as_ref().is_some_and(|wanted| !is_named(wanted)) {
            continue;
        }
        let room = Arc::clone(&room);
        runs.spawn(async move {
            let _turn = room.acquire_owned().await.expect("nobody closes it");
            let target = target(Some(&fault.tamper));
            let is_about_modes = fault.check.starts_with("modes.");
            let target = if is_about_modes { target } else { target.as_it_is() };
            (fault, Runner::new(target, looking_for(fault, number % SAMPLE == 0)).run().await)
        });
    }
    let mut problems = Vec::new();
    while let Some(run) = runs.join_next().await {
        let (fault, report) = run.expect("a run ends");
        if let Some(problem) = problem(fault, &report, &usual) {
            problems.push(problem);
        }
    }
    problems.sort();
    assert!(problems.is_empty(), "\n{}", problems.join("\n\n"));
}

/// Returns the problems with how this mistake was detected.
fn problem(fault: &Fault, report: &Report, usual: &BTreeMap<String, String>) -> Option<String> {
    let mut found = found(report);
    let mut told = Vec::new();
    if found.remove(fault.check).is_none() {
        let check = report.checks().find(|check| check.id == fault.check);
        let verdict = check.map(|check| (check.verdict, &check.skipped));
        told.push(format!("{} did not find it: {verdict:?}", fault.check));
    }
    let others = FOUND_BY_OTHERS.iter().find(|(name, _)| *name == fault.name);
    let others = others.map_or([].as_slice(), |(_, checks)| checks);
    found.retain(|id, _| {
        let id = id.as_str();
        !fault.neighbours.contains(&id)
            && !others.contains(&id)
            && !others.contains(&"*")
            && !COMPARES_EVERY_ANSWER.contains(&id)
            && !usual.contains_key(id)
    });
    if !found.is_empty() {
        told.push(format!("others found it:\n{}", list(&found)));
    }
    (!told.is_empty()).then(|| {
        format!("{}: {} (obstacles: {:?})", fault.name, told.join("; "), &report.obstacles)
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn faults_of_stored_data_keep_the_level_low() {
    // REQ-CNF-01, REQ-CNF-02, REQ-CNF-04, REQ-CNF-13
    let wanted = std::env::var("FAULT").ok();
    let mut problems = Vec::new();
    for (name, highest) in faults::HIGHEST_LEVELS {
        if wanted.as_ref().is_some_and(|wanted| !wanted.split(',').any(|it| name.contains(it))) {
            continue;
        }
        let fault = faults::named(name).expect("it is one of the faults");
        let report = Runner::new(target(Some(&fault.tamper)), impatient()).run().await;
        let check = report.checks().find(|check| check.id == fault.check).expect("it is there");
        if check.verdict != Verdict::Fail || report.conformance_level > *highest {
            let level = report.conformance_level;
            problems.push(format!("{name}: level {level}, {} is {:?}", check.id, check.verdict));
        }
        assert_eq!(report.modes.len(), 2, "{name}: {:?}", report.obstacles);
    }
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_granted_level_does_not_depend_on_the_requested_one() {
    // REQ-CNF-01
    // Checks of level 1 judge all calls, also those made by the checks of level 2 that detect these mistakes.
    let others = ["depth-ends-the-connection"];
    for name in faults::HIGHEST_LEVELS.iter().map(|(name, _)| *name).chain(others) {
        let fault = faults::named(name).expect("it is one of the faults");
        let run = async |level| {
            let settings = impatient().level(level);
            Runner::new(target(Some(&fault.tamper)), settings).run().await
        };
        let (first, second) = tokio::join!(run(1), run(2));
        let (granted, of_both) = (first.conformance_level, second.conformance_level.min(1));
        assert_eq!(granted, of_both, "{name}: {:?}, {:?}", first.obstacles, second.obstacles);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn level_2_without_batches_and_field_selection_has_warnings() {
    // REQ-CNF-02
    for name in ["no-batches", "no-field-selection"] {
        let fault = faults::named(name).expect("it is one of the faults");
        let report = Runner::new(target(Some(&fault.tamper)), impatient()).run().await;
        let found = found(&report);
        assert_eq!(found.keys().collect::<Vec<_>>(), [fault.check], "{name}: {}", list(&found));
        assert_eq!(report.conformance_level, 2, "{name}: {:?}", report.obstacles);
        assert_eq!(report.exit_code(), 2, "{name}");
    }
}

fn list(found: &BTreeMap<String, String>) -> String {
    found.iter().map(|(id, first)| format!("  {id}: {first}")).collect::<Vec<_>>().join("\n")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn right_variants_have_no_fault() {
    // REQ-CNF-13, REQ-COL-10, REQ-INT-20
    let mut problems = Vec::new();
    for variant in VARIANTS {
        let area = variant.check.split('.').next().expect("a check has an area");
        let areas = [area, "encoding", "shapes", "updates"];
        let settings = areas.into_iter().fold(impatient(), Settings::category);
        let report = Runner::new(target(Some(&variant.tamper)).as_it_is(), settings).run().await;
        let check = report.checks().find(|check| check.id == variant.check).expect("it is there");
        let found = found(&report);
        if check.verdict != Verdict::Pass || !found.is_empty() {
            let (name, verdict) = (variant.name, check.verdict);
            problems.push(format!("{name}: {} is {verdict:?}\n{}", check.id, list(&found)));
        }
    }
    assert!(problems.is_empty(), "\n{}", problems.join("\n\n"));
}

#[tokio::test(start_paused = true)]
async fn a_rate_limit_is_no_finding_and_does_not_lower_the_level() {
    // REQ-RATE-02, REQ-CNF-01
    let report = Runner::new(target(Some(&RATE_LIMITED)).as_it_is(), impatient()).run().await;
    let found = found(&report);
    assert!(found.keys().all(|id| id.starts_with("modes.")), "{}", list(&found));
    assert_eq!(report.conformance_level, 1, "{:#?}", report.obstacles);
    let is_limited =
        report.checks().any(|check| check.id == "quotas.exceeded_form" && check.passed > 0);
    assert!(is_limited, "no call was rejected");
}

#[tokio::test(start_paused = true)]
async fn a_rejection_for_too_many_calls_is_never_the_answer() {
    // REQ-RATE-02, REQ-RATE-08
    // These checks call introspection, call operations, and send requests of their own.
    const CHECKS: [&str; 8] = [
        "introspection.bad_query",
        "introspection.unknown_name",
        "parameters.unknown_top_level",
        "robustness.pipelined",
        "robustness.large_request",
        "robustness.deep_json",
        "encoding.nul",
        "encoding.lone_surrogate",
    ];
    let settings = CHECKS.into_iter().fold(impatient(), Settings::check);
    let run = async |tamper| {
        let faulty = Arc::new(Faulty::new(tamper));
        let target = serve(Arc::clone(&faulty)).as_it_is();
        let report = Runner::new(target, settings.clone()).run().await;
        let results = report
            .checks()
            .map(|check| (check.id.clone(), check.verdict, check.passed, check.skipped.clone()));
        (results.collect::<Vec<_>>(), faulty.state())
    };
    let (expected, _) = run(None).await;
    assert!(expected.iter().all(|(_, verdict, ..)| *verdict == Verdict::Pass), "{expected:#?}");
    let (slow, documented) = tokio::join!(run(Some(&SLOW)), run(Some(&SLOW_AND_DOCUMENTED)));
    for (results, state) in [slow, documented] {
        assert_eq!(results, expected);
        assert_eq!(state["rejected"], serde_json::json!({}), "they were not repeated");
        // At most one of the first calls and one in every ten others are rejected, because the limit is measured.
        let rejections = state["rejections"].as_u64().unwrap_or_default();
        assert!((1..=60).contains(&rejections), "{rejections} rejections");
    }
}

/// Number of calls of a tool without a name seen by `WITHOUT_DETAILS`.
static NAMELESS_CALLS: AtomicUsize = AtomicUsize::new(0);

/// A garden that lists `get_house` and has no details of it.
static WITHOUT_DETAILS: Tamper = Tamper::Answer(|request, answer| {
    if request.pointer("/params/name").is_some_and(|name| name == "") {
        NAMELESS_CALLS.fetch_add(1, Ordering::Relaxed);
    }
    let asked = request.pointer("/params/arguments/params/name");
    if asked.is_some_and(|name| name == "get_house")
        && let Some(Value::String(text)) = answer.pointer_mut("/result/content/0/text")
        && text.contains("\"operation\":{")
    {
        *text = r#"{"success":true,"data":{"operation":null}}"#.to_owned();
    }
});

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operation_without_details_is_not_called() {
    // REQ-RQ-02, REQ-INT-09
    let target = target(Some(&WITHOUT_DETAILS)).as_it_is();
    let report = Runner::new(target, impatient()).run().await;
    let verdict = |id: &str| report.checks().find(|check| check.id == id).map(|it| it.verdict);
    assert_eq!(verdict("routing.case_sensitive"), Some(Verdict::Pass));
    assert_eq!(verdict("introspection.details_form"), Some(Verdict::Fail));
    assert_eq!(NAMELESS_CALLS.load(Ordering::Relaxed), 0);
}

/// A garden whose list of operations has no names.
static WITHOUT_NAMES: Tamper = Tamper::Body(|arguments, body| {
    let is_list =
        arguments["operation"] == "introspect" && arguments.pointer("/params/name").is_none();
    if let Some(Value::Array(entries)) = body.pointer_mut("/data/operations").filter(|_| is_list) {
        for entry in entries.iter_mut().filter_map(Value::as_object_mut) {
            entry.remove("name");
        }
    }
});

/// A garden whose details of CREATE operations name no tool.
static WITHOUT_TOOLS: Tamper = Tamper::Body(|arguments, body| {
    if arguments["operation"] == "introspect"
        && let Some(Value::Object(details)) = body.pointer_mut("/data/operation")
        && details.get("semantic_category").is_some_and(|category| category == "CREATE")
    {
        details.remove("mcpTool");
    }
});

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_read_is_no_finding_of_other_checks() {
    // REQ-MCP-02, REQ-INT-24
    for (tamper, ids) in [
        (
            &WITHOUT_NAMES,
            ["introspection.introspect_listed", "tools.empty_families", "tools.description_parts"]
                .as_slice(),
        ),
        (&WITHOUT_TOOLS, ["tools.empty_families"].as_slice()),
    ] {
        let settings = ["introspection", "tools"].into_iter().fold(impatient(), Settings::category);
        let report = Runner::new(target(Some(tamper)).as_it_is(), settings).run().await;
        assert!(report.checks().any(|check| check.verdict == Verdict::Fail), "{report:?}");
        for id in ids {
            let check = report.checks().find(|check| check.id == *id).expect("it is there");
            let is_finding = matches!(check.verdict, Verdict::Fail | Verdict::Warn);
            assert!(!is_finding && check.verdict != Verdict::Pass, "{check:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_left_out_finds_nothing() {
    let fault = faults::all().find(|fault| fault.check == "errors.quoted").expect("there is one");
    let file = "[[skip]]\ncheck = 'errors.quoted'\nreason = 'we know'";
    let file = File::parse(file, |_| None).expect("it is sound");
    let settings = settings().category("errors").category("parameters").file(file);
    let report = Runner::new(target(Some(&fault.tamper)).as_it_is(), settings).run().await;
    let check = report.checks().find(|check| check.id == fault.check).expect("it is there");
    assert_eq!(check.verdict, Verdict::Skip, "{check:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn operations_that_are_misspelt_are_not_passed_over() {
    for (file, place) in [
        ("[[skip]]\noperation = 'delete_bet'\nreason = 'no'", "[[skip]]"),
        ("[params.delete_bet]\nbed_id = 'bed-1'", "[params]"),
    ] {
        let file = File::parse(file, |_| None).expect("it is sound");
        let report = Runner::new(target(None), settings().file(file)).run().await;
        assert!(report.modes.is_empty(), "{:?}", report.modes);
        let told = report.obstacles.join("\n");
        assert!(told.contains("`delete_bet`") && told.contains(place), "{told}");
    }
}

#[test]
fn every_check_has_a_fault() {
    let covered: BTreeSet<_> = faults::all().map(|fault| fault.check).collect();
    let excepted: BTreeSet<_> = WITHOUT_A_FAULT.iter().map(|(check, _)| *check).collect();
    let all: BTreeSet<_> = checks().map(|check| check.id).collect();
    let treated = &covered | &excepted;
    let uncovered: Vec<_> = all.difference(&treated).collect();
    assert!(uncovered.is_empty(), "without a fault: {uncovered:?}");
    let unknown: Vec<_> = treated.difference(&all).copied().collect();
    assert!(unknown.is_empty(), "no such check: {unknown:?}");
    let needless: Vec<_> = excepted.intersection(&covered).collect();
    assert!(needless.is_empty(), "they have a fault: {needless:?}");
}

#[test]
fn names_are_unique_and_say_which_checks_there_are() {
    let all: BTreeSet<_> = checks().map(|check| check.id).collect();
    let mut names = BTreeSet::new();
    for (name, checks) in FOUND_BY_OTHERS {
        assert!(faults::named(name).is_some(), "no fault {name}");
        for check in *checks {
            assert!(*check == "*" || all.contains(check), "{name}: no check {check}");
        }
    }
    for fault in faults::all() {
        assert!(names.insert(fault.name), "{} is there twice", fault.name);
        let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        assert!(fault.name.bytes().all(is_word), "{}", fault.name);
        for neighbour in fault.neighbours {
            assert!(all.contains(neighbour), "{}: no check {neighbour}", fault.name);
            assert_ne!(*neighbour, fault.check, "{}", fault.name);
        }
    }
}
