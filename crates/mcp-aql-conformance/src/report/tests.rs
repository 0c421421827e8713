//! Tests of reports.

use serde_json::{Value, json};

use super::*;
use crate::finding::Difference;

/// Strings that look like markup or commands.
const HOSTILE: [&str; 13] = [
    "</pre></details><script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "&lt;already&gt; &amp; &#x3c;",
    "]]></failure><testcase name=\"own\"/>",
    "\u{1b}[2J\u{1b}[1;31mPASS\u{1b}]0;title\u{7}",
    "nul \0 bell \u{7} backspace \u{8} delete \u{7f} c1 \u{9b}31m",
    "line\r\nover\u{2028}lines\u{85}",
    "right\u{202e}left\u{2066} zero\u{200b}width \u{feff} \u{e0041}",
    "\u{1d173}\u{1bca0}\u{fff0}\u{115f}\u{fe0f}\u{e0fff}\u{378}\u{e000}",
    "not XML \u{fffe}\u{ffff}",
    "```\n# heading\n* [link](http://evil.example) ![x](y) @everyone #1 |\n```",
    "`odd` backtick ` in it",
];

fn finding(text: &str) -> Finding {
    Finding {
        modes: vec![text.to_owned()],
        subject: text.to_owned(),
        alike: vec![text.to_owned()],
        count: 3,
        sent: json!({ "tool": text, "arguments": { text: [text] } }),
        received: json!({ "success": false, "error": { "message": text } }),
        differences: vec![Difference {
            path: format!("/error/{text}"),
            expected: text.to_owned(),
            received: Some(json!(text)),
        }],
        expected: format!("`{text}` or else"),
        fix: text.to_owned(),
        cause: "0123456789abcdef".to_owned(),
        repeat: format!("mcp-aql-conformance test --check shapes.union -- {text}"),
        accepted: None,
    }
}

fn check(id: &str, verdict: Verdict, text: &str) -> CheckReport {
    let has_findings = matches!(verdict, Verdict::Fail | Verdict::Warn);
    CheckReport {
        id: id.to_owned(),
        title: format!("What `{id}` is about"),
        requirements: vec!["REQ-RSP-01".to_owned(), "REQ-RSP-04".to_owned()],
        keyword: if verdict == Verdict::Warn { "SHOULD" } else { "MUST" }.to_owned(),
        level: 1,
        fails_later: false,
        verdict,
        passed: 3,
        found: if has_findings { 12 } else { 0 },
        findings: if has_findings { vec![finding(text)] } else { Vec::new() },
        skipped: match verdict {
            Verdict::Skip => BTreeMap::from([(format!("left out: {text}"), 4)]),
            _ => BTreeMap::new(),
        },
        not_applicable: (verdict == Verdict::NotApplicable).then(|| text.to_owned()),
        blocked_by: match verdict {
            Verdict::Blocked => vec![Obstruction {
                check: "shapes.union".to_owned(),
                why: text.to_owned(),
                cases: 2,
            }],
            _ => Vec::new(),
        },
        blocks: 0,
        partial: false,
        partial_reasons: BTreeSet::new(),
        cut_short: false,
        limited: false,
    }
}

/// Creates a report with a check of each verdict. Every string of the adapter is `text`.
pub(super) fn report(text: &str) -> Report {
    let checks = vec![
        check("shapes.union", Verdict::Fail, text),
        check("shapes.meta", Verdict::Warn, text),
        check("shapes.success", Verdict::Pass, text),
        check("shapes.failure", Verdict::Skip, text),
        check("shapes.dates", Verdict::Blocked, text),
        check("shapes.warnings", Verdict::NotApplicable, text),
    ];
    Report {
        schema_version: SCHEMA_VERSION,
        implementation: text.to_owned(),
        version: text.to_owned(),
        spec_version: text.to_owned(),
        tested_spec_version: "1.0.0-draft".to_owned(),
        invocation: vec!["--".to_owned(), text.to_owned()],
        selection: Vec::new(),
        accepted_obstacles: Vec::new(),
        no_longer_found: vec![AcceptedFinding {
            check: text.to_owned(),
            cause: text.to_owned(),
            cases: 1,
            subject: text.to_owned(),
            expected: text.to_owned(),
            reason: text.to_owned(),
        }],
        coverage: Coverage { applicable: 5, exercised: 3, percent: 60, operations: 9, called: 4 },
        target: text.to_owned(),
        runner: "0.1.0".to_owned(),
        requested_level: 2,
        conformance_level: 0,
        left_out: vec![format!("the operation `x`: {text}")],
        outside_run: vec![format!("the adapter `x`: {text}")],
        sampled: true,
        obstacles: vec![
            "level 1: shapes.union failed".to_owned(),
            format!("level 1: shapes.failure was not tested: left out: {text}"),
            "level 2: only one endpoint mode could be tested".to_owned(),
        ],
        modes: vec![Mode::Semantic, Mode::Single],
        interrupted: false,
        left_behind: vec![format!("semantic mode: {text}")],
        duration_ms: 1234,
        summary: Summary::of(&checks),
        categories: vec![CategoryReport { name: "shapes".to_owned(), checks }],
    }
}

/// Creates a report of a level without findings.
pub(super) fn faultless(level: u8) -> Report {
    let checks = vec![check("shapes.success", Verdict::Pass, "")];
    Report {
        conformance_level: level,
        requested_level: level,
        left_out: Vec::new(),
        outside_run: Vec::new(),
        sampled: false,
        obstacles: Vec::new(),
        left_behind: Vec::new(),
        no_longer_found: Vec::new(),
        spec_version: "1.0.0-draft".to_owned(),
        coverage: Coverage::of_checks(checks.iter()),
        summary: Summary::of(&checks),
        categories: vec![CategoryReport { name: "shapes".to_owned(), checks }],
        ..report("tasks")
    }
}

pub(super) fn unreached(why: &str) -> Report {
    let checks = vec![check("shapes.union", Verdict::Skip, "")];
    Report {
        obstacles: vec![why.to_owned()],
        modes: Vec::new(),
        left_behind: Vec::new(),
        left_out: Vec::new(),
        outside_run: Vec::new(),
        sampled: false,
        no_longer_found: Vec::new(),
        summary: Summary::of(&checks),
        categories: vec![CategoryReport { name: "shapes".to_owned(), checks }],
        ..report("unknown")
    }
}

/// Returns all tags of an HTML or XML string.
fn tags(markup: &str) -> Vec<&str> {
    markup.split('<').skip(1).map(|rest| rest.split_once('>').expect("a tag ends").0).collect()
}

/// Returns the first character that a terminal or a parser would interpret.
fn obeyed(text: &str) -> Option<char> {
    text.chars().find(|each| mcp_aql_text::is_hidden(*each) && *each != '\n')
}

/// Returns a harmless string of the same structure.
fn harmless(text: &str) -> String {
    let backticks = if text.matches('`').count() % 2 == 1 { "`" } else { "" };
    format!("{}{backticks}", "x".repeat(text.chars().count().saturating_sub(backticks.len())))
}

#[test]
fn escapes_texts_of_the_adapter() {
    for text in HOSTILE {
        let (hostile, tame) = (report(text), report(&harmless(text)));
        for (form, of) in
            [("html", Report::html as fn(&Report) -> String), ("junit", Report::junit)]
        {
            let (hostile, tame) = (of(&hostile), of(&tame));
            let names = |markup: &str| -> Vec<String> {
                let name = |tag: &str| tag.split([' ', '\n']).next().unwrap_or_default().to_owned();
                // The number of code spans depends on the sentence, so ignore them.
                let is_code = |name: &String| name == "code" || name == "/code";
                tags(markup).into_iter().map(name).filter(|name| !is_code(name)).collect()
            };
            assert_eq!(names(&hostile), names(&tame), "{form} of {text:?}");
            for tag in tags(&hostile) {
                let parts: Vec<_> = tag.split('"').collect();
                assert_eq!(parts.len() % 2, 1, "{form}: <{tag}>");
                let ours: String = parts.into_iter().step_by(2).collect();
                for theirs in ["onerror", "onmouseover", "script", "alert", "own"] {
                    assert!(!ours.contains(theirs), "{form}: <{tag}>");
                }
            }
            assert_eq!(obeyed(&hostile), None, "{form} of {text:?}");
        }
    }
}

#[test]
fn reports_contain_no_control_characters() {
    for text in HOSTILE {
        let report = report(text);
        assert_eq!(obeyed(&report.text(false)), None, "{text:?}");
        // With colors, only the escape sequences of the report itself are allowed.
        let ours =
            ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[32m", "\x1b[1;31m", "\x1b[33m", "\x1b[36m"];
        let coloured = ours.iter().fold(report.text(true), |text, ours| text.replace(ours, ""));
        assert_eq!(coloured, report.text(false), "{text:?}");
    }
}

#[test]
fn shortens_long_values_and_counts_the_rest() {
    let long = format!("{}end", "é".repeat(1 << 20));
    let report = Report {
        categories: vec![CategoryReport {
            name: "shapes".to_owned(),
            checks: vec![CheckReport {
                findings: vec![Finding {
                    received: json!({ "data": long }),
                    subject: long.clone(),
                    ..finding("x")
                }],
                ..check("shapes.union", Verdict::Fail, "x")
            }],
        }],
        ..report("x")
    };
    for shown in [report.text(false), report.html(), report.junit()] {
        assert!(shown.len() < 60_000, "{} bytes", shown.len());
        assert!(!shown.contains("end\""), "it is not cut");
        assert!(shown.contains("more bytes") && shown.contains("characters more)"), "{shown}");
    }
    // Short values stay on one line.
    let value = json!({ "a": [1, 2], "b": "x".repeat(80), "c": { "d": [] } });
    let lines =
        format!("{{\n  \"a\": [1,2],\n  \"b\": \"{}\",\n  \"c\": {{\"d\":[]}}\n}}", "x".repeat(80));
    assert_eq!(value_text::shown(&value, 1000).text, lines);
    let cut = value_text::shown(&json!("é".repeat(100)), 100);
    assert_eq!(cut.text.len() + cut.more, "é".len() * 100 + 2);
    assert_eq!(value_text::shown(&json!({ "a": 1 }), 100).text, r#"{"a":1}"#);
}

#[test]
fn every_finding_is_told_with_all_that_belongs_to_it() {
    // REQ-CNF-14
    let report = report("create_task");
    for shown in [report.text(false), report.html(), report.junit()] {
        for part in [
            "shapes.union",
            "REQ-RSP-01",
            "REQ-RSP-04",
            "MUST",
            "level 1",
            "12 of 15 cases failed",
            "9 more failed cases",
            "v1.0.0-draft §5.1, normative",
            "/error/create_task",
            "mcp-aql-conformance test --check",
            "60",
            "create_task",
            "or else",
            "received",
            "sent",
            "fix",
            "left out: create",
            "not applicable",
        ] {
            let shown = shown.replace("Not applicable", "not applicable");
            assert!(shown.contains(part), "{part} in {shown}");
        }
    }
    for shown in [report.text(false), report.html()] {
        assert!(shown.contains("What blocks level 1"), "{shown}");
        assert!(shown.contains("semantic mode: create_task"), "{shown}");
        assert!(!shown.contains("only one endpoint mode"), "that is about level 2: {shown}");
    }
}

#[test]
fn groups_skipped_cases_by_reason() {
    let part = CheckReport {
        skipped: BTreeMap::from([("left out: x".to_owned(), 2)]),
        ..check("shapes.meta", Verdict::Pass, "x")
    };
    let checks = vec![check("shapes.failure", Verdict::Skip, "x"), part];
    let categories = vec![CategoryReport { name: "shapes".to_owned(), checks }];
    let text = Report { categories, ..report("x") }.text(false);
    assert!(
        text.contains(
            "Not exercised\n  left out: x (6 cases)\n    shapes.failure\n    and in part: shapes.meta\n"
        ),
        "{text}"
    );
}

#[test]
fn checks_that_do_not_apply_take_a_line_for_each_area() {
    let of = |id: &str, why: &str| CheckReport {
        skipped: BTreeMap::new(),
        not_applicable: Some(why.to_owned()),
        ..check(id, Verdict::NotApplicable, "x")
    };
    let area = |name: &str, checks| CategoryReport { name: name.to_owned(), checks };
    let categories = vec![
        area("pages", vec![of("pages.a", "no first"), of("pages.b", "no last")]),
        area("sessions", vec![of("sessions.a", "no token")]),
    ];
    let mut report = Report { categories, ..report("x") };
    let pages = &mut report.categories[0].checks;
    pages.push(of("pages.c", "no last"));
    let text = report.text(false);
    let expected =
        "Not applicable\n  pages      3  no last, and 1 other reason\n  sessions   1  no token\n";
    assert!(text.contains(expected), "{text}");
    assert!(!text.contains("pages.a"), "{text}");
}

#[test]
fn a_level_that_is_not_granted_is_a_failure_in_junit() {
    let junit = report("x").junit();
    let target = junit.split("</testsuite>").next().unwrap_or_default();
    assert!(
        target.contains("name=\"target.level\">\n      <failure message=\"No level granted"),
        "{target}"
    );
    let subset = Report { selection: vec!["shapes".to_owned()], ..report("x") };
    assert_eq!(subset.exit_code(), 1);
    let target = subset.junit();
    let target = target.split("</testsuite>").next().unwrap_or_default();
    assert!(!target.contains("<failure"), "a failed check says nothing about a level: {target}");
}

/// Returns the causes of a report by check, each with its number of cases and the other checks that found it.
fn causes(report: &Report) -> Vec<(String, usize, Vec<String>)> {
    let of_check = |found: causes::FoundCheck<'_>| {
        let id = found.check.id.clone();
        let causes = found.causes.into_iter().map(move |cause| {
            let also = cause.also.iter().map(|(check, _)| check.id.clone()).collect();
            (id.clone(), cause.finding.count, also)
        });
        causes.collect::<Vec<_>>()
    };
    report.found().into_iter().flat_map(of_check).collect()
}

fn with_checks(checks: Vec<CheckReport>) -> Report {
    Report {
        summary: Summary::of(&checks),
        coverage: Coverage::of_checks(checks.iter()),
        categories: vec![CategoryReport { name: "shapes".to_owned(), checks }],
        conformance_level: 0,
        ..faultless(2)
    }
}

fn failed(id: &str, causes: &[&str]) -> CheckReport {
    let of_cause = |cause: &&str| Finding { cause: (*cause).to_owned(), ..finding("get_bed") };
    let findings: Vec<_> = causes.iter().map(of_cause).collect();
    CheckReport { found: 3 * findings.len(), findings, ..check(id, Verdict::Fail, "x") }
}

#[test]
fn one_cause_is_one_finding_across_checks() {
    let report = with_checks(vec![
        check("shapes.meta", Verdict::Warn, "x"),
        failed("shapes.union", &["a", "b"]),
        failed("shapes.failure", &["b"]),
        check("shapes.dates", Verdict::Blocked, "x"),
        failed("shapes.success", &["c"]),
    ]);
    let checks = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
    assert_eq!(
        causes(&report),
        [
            // This finding blocks another check, so it comes first.
            ("shapes.union".to_owned(), 3, Vec::new()),
            ("shapes.union".to_owned(), 3, checks(&["shapes.failure"])),
            ("shapes.success".to_owned(), 3, Vec::new()),
            ("shapes.meta".to_owned(), 3, Vec::new()),
        ]
    );
    let text = report.text(false);
    assert!(text.contains("1 check could not be tested because of this"), "{text}");
    assert!(text.contains("also found by shapes.failure (3 cases)"), "{text}");
    assert!(!text.contains("FAIL  shapes.failure"), "{text}");
    // The page links to each cause, even from the other checks that share it.
    let page = report.html();
    assert!(page.contains("id=\"check-shapes.failure\""), "{page}");
    assert_eq!(page.matches("<a href=\"#finding-2\">finding 2</a>").count(), 2);
}

#[test]
fn links_of_the_page_lead_to_anchors() {
    let page = report("get_bed").html();
    let ids: Vec<_> =
        page.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let links: Vec<_> =
        page.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(links.len() > 10, "{links:?}");
    for link in links {
        assert!(ids.contains(&link), "{link} of {ids:?}");
    }
    assert!(page.contains("/docs/versions/v1.0.0-draft.md#51-discriminated-union"), "{page}");
}

#[test]
fn other_cases_of_a_cause_are_counted() {
    let of = |count, alike: &[&str]| Finding {
        count,
        alike: alike.iter().map(|it| (*it).to_owned()).collect(),
        modes: vec!["semantic".to_owned(), "single".to_owned()],
        ..finding("x")
    };
    assert_eq!(of(2, &[]).others(), None);
    assert_eq!(of(1, &[]).others(), None);
    assert_eq!(of(3, &[]).others().as_deref(), Some("and 2 more cases alike"));
    assert_eq!(of(4, &["y"]).others().as_deref(), Some("and 3 more cases alike: y"));
    let many = of(76, &["a", "b", "c", "d", "e", "f"]).others();
    assert_eq!(many.as_deref(), Some("and 75 more cases alike: a, b, c, d, e, …"));
}

#[test]
fn accepted_findings_do_not_decide_the_exit_code() {
    // REQ-CNF-12
    let mut report = with_checks(vec![
        failed("shapes.union", &["a", "b"]),
        check("shapes.meta", Verdict::Warn, "x"),
        check("shapes.failure", Verdict::Skip, "x"),
    ]);
    report.categories[0].checks[1].found = 3;
    report.obstacles = vec![
        "level 1: shapes.union failed".to_owned(),
        "level 1: shapes.failure was not tested: left out: x".to_owned(),
    ];
    assert_eq!(report.exit_code(), 1);
    let baseline = Baseline::of(&report);
    assert_eq!(baseline.findings.len(), 3);
    assert_eq!(baseline.obstacles, ["shapes.failure was not tested"]);
    let saved = serde_json::to_string(&baseline).unwrap();
    assert_eq!(Baseline::from_json(&saved).unwrap(), baseline);

    let mut accepted = report.clone();
    accepted.accept(&baseline);
    assert_eq!(accepted.exit_code(), 0);
    let text = accepted.text(false);
    assert!(text.contains("Accepted by the baseline\n  shapes.union  get_bed (3 cases)"), "{text}");
    assert!(!text.contains("FAIL"), "{text}");
    assert!(accepted.junit().contains(" failures=\"0\" errors=\"0\""), "{}", accepted.junit());

    // More cases of an accepted cause are not accepted.
    let mut more = report.clone();
    more.categories[0].checks[0].findings[0].count += 1;
    more.accept(&baseline);
    assert_eq!(more.exit_code(), 1);
    // Obstacles outside the baseline are not accepted.
    let mut other = report.clone();
    other.obstacles.push("level 1: shapes.success was not tested: y".to_owned());
    other.accept(&baseline);
    assert_eq!(other.exit_code(), 2);
    // A report with a baseline lists accepted findings that no longer occur.
    let mut fixed = report.clone();
    fixed.categories[0].checks[0].findings.remove(1);
    fixed.categories[0].checks[0].found = 3;
    fixed.accept(&baseline);
    let gone: Vec<_> = fixed.no_longer_found.iter().map(|it| it.cause.as_str()).collect();
    assert_eq!(gone, ["b"]);
    for text in [r#"{"baselineVersion":2,"findings":[]}"#, "{}", r#"{"findings":1}"#] {
        assert!(Baseline::from_json(text).is_err(), "{text}");
    }
}

#[test]
fn comparison_lists_new_fixed_and_unchanged_findings() {
    let old = with_checks(vec![
        failed("shapes.union", &["a", "b"]),
        check("shapes.success", Verdict::Pass, "x"),
    ]);
    let new = with_checks(vec![
        failed("shapes.union", &["b", "c"]),
        CheckReport { passed: 0, ..check("shapes.success", Verdict::Skip, "x") },
    ]);
    let causes =
        |entries: &[DiffEntry]| entries.iter().map(|entry| entry.cause.clone()).collect::<Vec<_>>();
    let diff = Diff::of(&old, &new);
    assert_eq!(
        (causes(&diff.new), causes(&diff.fixed), causes(&diff.unchanged)),
        (vec!["c".to_owned()], vec!["a".to_owned()], vec!["b".to_owned()])
    );
    assert_eq!(diff.no_longer_exercised, ["shapes.success"]);
    assert!(diff.is_worse());
    let text = diff.text();
    assert!(text.contains("New: 1 finding\n  FAIL  shapes.union  get_bed: expected"), "{text}");
    assert!(!Diff::of(&old, &old).is_worse());
    let better = with_checks(vec![
        failed("shapes.union", &["b"]),
        check("shapes.success", Verdict::Pass, "x"),
    ]);
    assert!(!Diff::of(&old, &better).is_worse());
    // More cases of a known cause count as new.
    let mut more = old.clone();
    more.categories[0].checks[0].findings[0].count += 1;
    assert_eq!(causes(&Diff::of(&old, &more).more_cases), ["a"]);
    // A lower level is worse. A run of selected checks has no level, so it is not compared.
    let lower = Report { conformance_level: 1, ..faultless(2) };
    assert!(Diff::of(&faultless(2), &lower).is_worse());
    let subset =
        Report { selection: vec!["shapes".to_owned()], conformance_level: 0, ..faultless(2) };
    assert!(!Diff::of(&faultless(2), &subset).is_worse());
    for text in HOSTILE {
        assert_eq!(obeyed(&Diff::of(&faultless(1), &self::report(text)).text()), None, "{text:?}");
    }
}

#[test]
fn levels_are_compared_up_to_the_level_that_both_runs_requested() {
    let of = |requested_level, conformance_level| Report {
        requested_level,
        conformance_level,
        ..faultless(2)
    };
    let subset = Report { selection: vec!["shapes".to_owned()], ..of(2, 0) };
    let interrupted = Report { interrupted: true, ..of(2, 0) };
    for (old, new, is_worse, said) in [
        (of(2, 2), of(2, 1), true, "Level: 2 before, 1 now (lower)"),
        (of(2, 1), of(2, 2), false, "Level: 1 before, 2 now (higher)"),
        (of(2, 2), of(2, 2), false, "Level: 2 before, 2 now (unchanged)"),
        (of(2, 2), of(1, 1), false, "Level: 2 before, 1 now (unchanged up to level 1, which both"),
        (of(1, 1), of(2, 2), false, "Level: 1 before, 2 now (unchanged up to level 1, which both"),
        (of(2, 2), of(1, 0), true, "Level: 2 before, 0 now (lower)"),
        (of(2, 2), subset, false, "Level: 2 before, none now (not compared: "),
        (interrupted, of(2, 2), false, "Level: none before, 2 now (not compared: "),
    ] {
        let diff = Diff::of(&old, &new);
        assert_eq!(diff.is_worse(), is_worse, "{said}");
        assert!(diff.text().starts_with(said), "{said}: {}", diff.text());
    }
}

#[test]
fn only_exclusions_limit_the_granted_level() {
    let of = |left_out: &[&str], outside_run: &[&str], sampled| Report {
        left_out: left_out.iter().map(ToString::to_string).collect(),
        outside_run: outside_run.iter().map(ToString::to_string).collect(),
        sampled,
        ..faultless(2)
    };
    for (report, said) in [
        (of(&[], &[], false), "Level 2 granted, "),
        (of(&[], &["another adapter"], false), "Level 2 granted, "),
        (of(&[], &["200 of 300"], true), "Level 2 granted for a sample of the operations, "),
        (of(&["a"], &[], false), "Level 2 granted, except for what was left out, "),
    ] {
        for text in [report.text(false), report.html()] {
            assert!(text.contains(said), "{said}: {text}");
            for (list, heading) in [
                (&report.left_out, "Excluded by the configuration"),
                (&report.outside_run, "Not part of the run"),
            ] {
                assert_eq!(text.contains(heading), !list.is_empty(), "{heading}: {text}");
            }
        }
    }
}

#[test]
fn sarif_has_a_result_for_each_cause() {
    for text in HOSTILE {
        let report = report(text);
        let sarif: Value = serde_json::from_str(&report.sarif()).unwrap();
        let run = &sarif["runs"][0];
        let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
        assert_eq!(rules.len(), report.checks().count());
        let results = run["results"].as_array().unwrap();
        let levels: Vec<_> = results.iter().map(|result| result["level"].clone()).collect();
        assert_eq!(levels, ["error", "warning"]);
        for result in results {
            let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
            assert_eq!(rules[index]["id"], result["ruleId"]);
            let uri = result.pointer("/locations/0/physicalLocation/artifactLocation/uri");
            let uri = uri.and_then(Value::as_str).unwrap();
            let is_plain = |each: char| each.is_ascii_alphanumeric() || "-_.".contains(each);
            assert!(!uri.is_empty() && uri.chars().all(is_plain), "{uri}");
            assert_eq!(obeyed(result["message"]["text"].as_str().unwrap()), None, "{text:?}");
        }
    }
    let sarif: Value = serde_json::from_str(&unreached("it is not there").sarif()).unwrap();
    let invocation = &sarif["runs"][0]["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], Value::from(false));
    assert_eq!(sarif["runs"][0]["results"], json!([]));
}

#[test]
fn junit_has_failures_exactly_if_the_exit_code_is_not_0() {
    let warned = with_checks(vec![check("shapes.meta", Verdict::Warn, "x")]);
    let warned = Report { conformance_level: 2, ..warned };
    let subset =
        Report { selection: vec!["shapes".to_owned()], conformance_level: 0, ..faultless(2) };
    let untested = with_checks(vec![check("shapes.failure", Verdict::Skip, "x")]);
    let untested = Report {
        obstacles: vec!["level 1: shapes.failure was not tested: x".to_owned()],
        ..untested
    };
    let unexercised =
        with_checks(vec![CheckReport { passed: 0, ..check("shapes.failure", Verdict::Skip, "x") }]);
    let unexercised = Report { selection: vec!["shapes".to_owned()], ..unexercised };
    for (report, code) in [
        (faultless(2), 0),
        (report("x"), 1),
        (unreached("x"), 1),
        (warned, 2),
        (subset, 0),
        (untested, 2),
        (unexercised, 2),
    ] {
        assert_eq!(report.exit_code(), code, "{report:#?}");
        let junit = report.junit();
        let head = junit.lines().nth(1).unwrap();
        let is_green = head.contains(" failures=\"0\" errors=\"0\"");
        assert_eq!(is_green, code == 0, "{junit}");
        let count = |tag: &str| junit.matches(tag).count();
        for (attribute, tag) in
            [("failures", "<failure "), ("skipped", "<skipped "), ("tests", "<testcase ")]
        {
            assert!(head.contains(&format!(" {attribute}=\"{}\"", count(tag))), "{tag}: {junit}");
        }
    }
}

#[test]
fn coverage_is_the_share_of_exercised_checks() {
    let checks = [
        check("shapes.success", Verdict::Pass, "x"),
        CheckReport { passed: 0, ..check("shapes.failure", Verdict::Skip, "x") },
        CheckReport { passed: 0, ..check("shapes.dates", Verdict::Blocked, "x") },
        CheckReport { passed: 0, ..check("shapes.warnings", Verdict::NotApplicable, "x") },
    ];
    let coverage = Coverage::of_checks(checks.iter());
    assert_eq!((coverage.exercised, coverage.applicable, coverage.percent), (1, 3, 33));
    assert_eq!(Coverage::of_checks([].iter()), Coverage::default());
    let report = report("x");
    let remark = "3 of 5 applicable checks exercised; 4 of 9 operations called successfully";
    for shown in [report.text(false), report.html()] {
        assert!(shown.contains(remark) && shown.contains("60 % exercised"), "{shown}");
    }
}

#[test]
fn stated_version_of_the_protocol_is_compared() {
    // REQ-CNF-03
    let of = |stated: &str| Report { spec_version: stated.to_owned(), ..faultless(2) }.text(false);
    assert!(!of("1.0.0-draft").contains("The adapter"), "{}", of("1.0.0-draft"));
    assert!(of("0.9.0").contains("states version 0.9.0 of the protocol, but was tested against"));
    assert!(of("unknown").contains("does not state a version of the protocol"));
}

#[test]
fn verdict_is_one_line() {
    // Take the line after the heading, because the name of an unreached adapter is unknown.
    let second = |report: &Report| {
        let text = report.text(false);
        text.split("\n\n").nth(1)?.lines().next().map(str::to_owned)
    };
    assert_eq!(
        second(&report("x")).as_deref(),
        Some(
            "No level granted, 60 % exercised. Of 6 checks: 1 failed, 1 with warnings, 1 passed, \
             1 not exercised, 1 blocked by other findings, 1 not applicable"
        )
    );
    assert_eq!(
        second(&faultless(2)).as_deref(),
        Some("Level 2 granted, 100 % exercised. Of 1 check: 1 passed")
    );
    assert_eq!(
        second(&unreached("not an MCP-AQL adapter: it has no tools")).as_deref(),
        Some("Nothing could be tested: not an MCP-AQL adapter: it has no tools")
    );
    assert!(!faultless(2).text(false).contains("What blocks"));
}

#[test]
fn unreached_adapter_is_not_a_success() {
    let report = unreached("the adapter cannot be reached: <b>");
    assert_eq!(report.exit_code(), 1);
    let junit = report.junit();
    assert!(junit.contains("errors=\"1\"") && junit.contains("reached: &lt;b&gt;"), "{junit}");
    assert!(report.html().contains("cannot be reached: &lt;b&gt;"));
    // The reason is reported once, and no check is listed.
    for shown in [report.text(false), report.html(), junit] {
        assert!(!shown.contains("shapes"), "{shown}");
        assert_eq!(shown.matches("cannot be reached").count(), 1, "{shown}");
    }
}

#[test]
fn the_exit_code_tells_the_verdict() {
    // REQ-CNF-12
    assert_eq!(faultless(2).exit_code(), 0);
    assert_eq!(report("x").exit_code(), 1);
    assert_eq!(unreached("it is not there").exit_code(), 1);
    let warned = with_checks(vec![check("shapes.meta", Verdict::Warn, "x")]);
    assert_eq!(Report { conformance_level: 2, ..warned }.exit_code(), 2);
    // The run has no findings, but some checks were not tested.
    let untried = Report {
        requested_level: 2,
        obstacles: vec!["level 2: shapes.meta was not tested: x".to_owned()],
        ..faultless(1)
    };
    assert_eq!(untried.exit_code(), 2);
}

#[test]
fn a_report_survives_json() {
    // REQ-CNF-03, REQ-CNF-14
    for text in HOSTILE {
        let report = report(text);
        let json = serde_json::to_string(&report).unwrap();
        assert_eq!(Report::from_json(&json).unwrap(), report);
    }
    let mut value = serde_json::to_value(faultless(2)).unwrap();
    for member in [
        "implementation",
        "version",
        "specVersion",
        "requestedLevel",
        "conformanceLevel",
        "summary",
        "categories",
    ] {
        assert_ne!(value.get(member), None, "{member}");
    }
    assert_eq!(
        value["summary"],
        json!({
            "total": 1, "passed": 1, "failed": 0, "warnings": 0, "skipped": 0, "blocked": 0,
            "notApplicable": 0,
        })
    );
    assert_eq!(value["categories"][0]["checks"][0]["verdict"], Value::from("pass"));
    value["schemaVersion"] = json!(SCHEMA_VERSION + 1);
    let error = Report::from_json(&value.to_string()).unwrap_err();
    assert!(error.to_string().contains("this version of the runner reads 1"), "{error}");
}

#[test]
fn page_has_no_external_resources() {
    let page = report("x").html();
    for part in ["<script", "<link", "<img", "<iframe", "@import", "url(", "src="] {
        assert!(!page.contains(part), "{part}");
    }
    assert!(page.contains("default-src 'none'"));
    // Links lead only to the page itself and to the specification.
    for link in page.split("href=\"").skip(1) {
        let known = link.starts_with('#') || link.starts_with("https://github.com/MCPAQL/spec/");
        assert!(known, "{link}");
    }
    // Each checkbox of the filter has its CSS rule.
    let ids: Vec<_> =
        page.split("id=\"show-").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(ids.len(), 6);
    for id in ids {
        let id = format!("show-{id}");
        assert!(page.contains(&format!("#{id}:not(:checked)")), "{id}");
    }
}
