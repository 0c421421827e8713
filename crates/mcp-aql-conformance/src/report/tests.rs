//! Tests of reports.

use serde_json::{Value, json};

use super::*;

/// Texts that look like markup or commands.
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
        mode: Some(text.to_owned()),
        subject: text.to_owned(),
        sent: json!({ "tool": text, "arguments": { text: [text] } }),
        received: json!({ "success": false, "error": { "message": text } }),
        expected: format!("`{text}` or else"),
        mend: text.to_owned(),
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
        verdict,
        passed: 3,
        found: if has_findings { 12 } else { 0 },
        findings: if has_findings { vec![finding(text)] } else { Vec::new() },
        skipped: match verdict {
            Verdict::Skip => BTreeMap::from([(format!("left out: {text}"), 4)]),
            _ => BTreeMap::new(),
        },
        blocked_by: match verdict {
            Verdict::Blocked => vec![Obstruction {
                check: "shapes.union".to_owned(),
                why: text.to_owned(),
                cases: 2,
            }],
            _ => Vec::new(),
        },
        blocks: usize::from(id == "shapes.union"),
        not_applicable: (verdict == Verdict::NotApplicable).then(|| text.to_owned()),
        partial: false,
        cut_short: false,
    }
}

/// A report with a check of each verdict, in which every text of the adapter is this one.
fn report(text: &str) -> Report {
    let checks = vec![
        check("shapes.union", Verdict::Fail, text),
        check("shapes.meta", Verdict::Warn, text),
        check("shapes.success", Verdict::Pass, text),
        check("shapes.failure", Verdict::Skip, text),
        check("shapes.warnings", Verdict::NotApplicable, text),
        check("shapes.dates", Verdict::Blocked, text),
    ];
    Report {
        implementation: text.to_owned(),
        version: text.to_owned(),
        spec_version: text.to_owned(),
        target: text.to_owned(),
        runner: "0.1.0".to_owned(),
        requested_level: 2,
        conformance_level: 0,
        left_out: vec![format!("the operation `x`: {text}")],
        obstacles: vec![
            "level 1: shapes.union failed".to_owned(),
            format!("level 1: shapes.failure was not tested: left out: {text}"),
            "level 2: only one endpoint mode could be looked at".to_owned(),
        ],
        modes: vec![Mode::Semantic, Mode::Single],
        left_behind: vec![format!("semantic mode: {text}")],
        duration_ms: 1234,
        summary: Summary::of(&checks),
        categories: vec![CategoryReport { name: "shapes".to_owned(), checks }],
    }
}

/// A report of a level without findings.
fn faultless(level: u8) -> Report {
    let checks = vec![check("shapes.success", Verdict::Pass, "")];
    Report {
        conformance_level: level,
        requested_level: level,
        left_out: Vec::new(),
        obstacles: Vec::new(),
        summary: Summary::of(&checks),
        categories: vec![CategoryReport { name: "shapes".to_owned(), checks }],
        ..report("tasks")
    }
}

fn unreached(why: &str) -> Report {
    let checks = vec![check("shapes.union", Verdict::Skip, "")];
    Report {
        obstacles: vec![why.to_owned()],
        modes: Vec::new(),
        left_behind: Vec::new(),
        summary: Summary::of(&checks),
        categories: vec![CategoryReport { name: "shapes".to_owned(), checks }],
        ..report("unknown")
    }
}

/// All tags of a markup text.
fn tags(markup: &str) -> Vec<&str> {
    markup.split('<').skip(1).map(|rest| rest.split_once('>').expect("a tag ends").0).collect()
}

/// The first character that a terminal or a parser would interpret.
fn obeyed(text: &str) -> Option<char> {
    text.chars().find(|each| mcp_aql_text::is_hidden(*each) && *each != '\n')
}

/// A harmless text of the same structure.
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
                // The number of code spans depends on the sentence.
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
        for (form, shown) in [("text", report.text(false)), ("markdown", report.markdown())] {
            assert_eq!(obeyed(&shown), None, "{form} of {text:?}");
        }
        // With colors, only the report's own escape sequences are allowed.
        let ours =
            ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[32m", "\x1b[1;31m", "\x1b[33m", "\x1b[36m"];
        let coloured = ours.iter().fold(report.text(true), |text, ours| text.replace(ours, ""));
        assert_eq!(coloured, report.text(false), "{text:?}");
    }
}

#[test]
fn markdown_escapes_texts() {
    let shown = report(HOSTILE[10]).markdown();
    let headings = shown.lines().filter(|line| line.starts_with("# ")).count();
    assert_eq!(headings, 1, "{shown}");
    for (text, reported) in [
        ("@everyone", "@<!-- -->everyone"),
        ("http://evil.example", "http:<!-- -->//evil.example"),
        ("www.evil.example", "www<!-- -->.evil.example"),
        ("[a](b) ![c](d)", "\\[a\\](b) \\!\\[c\\](d)"),
        ("<b>&amp; *x* _y_ #1 |", "&lt;b&gt;&amp;amp; \\*x\\* \\_y\\_ \\#1 \\|"),
        ("a\nb", "a b"),
    ] {
        assert_eq!(markdown::plain(text), reported);
    }
    for (text, reported) in [
        ("a", "`a`"),
        ("a`b", "``a`b``"),
        ("`", "`` ` ``"),
        ("a```b", "````a```b````"),
        ("", "`  `"),
    ] {
        assert_eq!(markdown::code(text), reported);
    }
    assert_eq!(markdown::prose("is `a_b` or a_b"), "is `a_b` or a\\_b");
    // The fence of a block is longer than any run of backticks inside.
    let shown = Report {
        categories: vec![CategoryReport {
            name: "shapes".to_owned(),
            checks: vec![CheckReport {
                findings: vec![Finding {
                    received: json!(format!("````{}", "\n````\n".repeat(60))),
                    ..finding("x")
                }],
                ..check("shapes.union", Verdict::Fail, "x")
            }],
        }],
        ..report("x")
    }
    .markdown();
    assert!(shown.contains("`````json\n"), "{shown}");
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
    for shown in [report.text(false), report.markdown(), report.html(), report.junit()] {
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
    for shown in [report.text(false), report.markdown(), report.html(), report.junit()] {
        for part in [
            "shapes.union",
            "REQ-RSP-01",
            "REQ-RSP-04",
            "MUST",
            "level 1",
            "12 of 15 cases",
            "11 more findings",
            "create_task",
            "or else",
            "received",
            "sent",
            "mend",
            "left out: create",
            "not applicable",
        ] {
            let shown = shown.replace("\\_", "_").replace("do not apply", "not applicable");
            assert!(shown.contains(part), "{part} in {shown}");
        }
    }
    for shown in [report.text(false), report.markdown(), report.html()] {
        assert!(shown.contains("What keeps level 1 away"), "{shown}");
        assert!(shown.replace("\\_", "_").contains("semantic mode: create_task"), "{shown}");
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
            "Not tested\n  left out: x (6 cases)\n    shapes.failure\n    and 1 check in part\n"
        ),
        "{text}"
    );
}

#[test]
fn merges_equal_findings_of_both_modes() {
    let in_mode = |mode: &str, sent: &str| Finding {
        mode: Some(mode.to_owned()),
        sent: json!({ "tool": sent }),
        ..finding("get_task")
    };
    let check = CheckReport {
        found: 3,
        findings: vec![
            in_mode("semantic", "mcp_aql_read"),
            in_mode("single", "mcp_aql"),
            Finding { mode: Some("single".to_owned()), ..finding("list_tasks") },
        ],
        ..check("shapes.union", Verdict::Fail, "x")
    };
    let reported = check.merged_findings();
    let reported: Vec<_> =
        reported.iter().map(|(it, modes)| (it.subject.as_str(), modes.as_str())).collect();
    assert_eq!(
        reported,
        [("get_task", " (semantic and single mode)"), ("list_tasks", " (single mode)")]
    );
    assert_eq!(check.omitted_note(), None);
}

#[test]
fn verdict_is_one_line() {
    // After the heading: the name of an unreached adapter is unknown.
    let second = |report: &Report| {
        let text = report.text(false);
        text.split("\n\n").nth(1)?.lines().next().map(str::to_owned)
    };
    assert_eq!(
        second(&report("x")).as_deref(),
        Some(
            "No level is shown. Of 6 checks: 1 failed, 1 with warnings, 1 passed, 1 not tested, 1 blocked, \
             1 not applicable"
        )
    );
    assert_eq!(second(&faultless(2)).as_deref(), Some("Level 2 is shown. Of 1 check: 1 passed"));
    assert_eq!(
        second(&unreached("not an MCP-AQL adapter: it has no tools")).as_deref(),
        Some("Nothing could be tested: not an MCP-AQL adapter: it has no tools")
    );
    assert!(!faultless(2).text(false).contains("What keeps"));
}

#[test]
fn unreached_adapter_is_not_a_success() {
    let report = unreached("the adapter cannot be reached: <b>");
    assert_eq!(report.exit_code(), 1);
    let junit = report.junit();
    assert!(junit.contains("errors=\"1\"") && junit.contains("reached: &lt;b&gt;"), "{junit}");
    assert!(report.html().contains("cannot be reached: &lt;b&gt;"));
    assert!(report.markdown().contains("cannot be reached: &lt;b&gt;"));
    assert!(report.badge().contains("untested"));
    // The reason is reported once, and no check is listed.
    for shown in [report.text(false), report.markdown(), report.html(), junit] {
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
    let warned =
        Report { summary: Summary { warnings: 1, ..faultless(2).summary }, ..faultless(2) };
    assert_eq!(warned.exit_code(), 2);
    // The run has no findings, but some checks were not tested.
    let untried = Report { requested_level: 2, ..faultless(1) };
    assert_eq!(untried.exit_code(), 2);
}

#[test]
fn a_report_survives_json() {
    // REQ-CNF-03, REQ-CNF-14
    for text in HOSTILE {
        let report = report(text);
        let json = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<Report>(&json).unwrap(), report);
    }
    let value = serde_json::to_value(faultless(2)).unwrap();
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
}

#[test]
fn badge_states_the_level_without_texts_of_the_adapter() {
    for (report, said) in
        [(faultless(2), "level 2"), (faultless(1), "level 1"), (report("<script>"), "no level")]
    {
        let badge = report.badge();
        assert!(badge.contains(&format!("aria-label=\"MCP-AQL {said}\"")), "{badge}");
        assert!(
            !badge.contains("script") && badge.starts_with("<svg ") && badge.ends_with("</svg>\n")
        );
    }
}

#[test]
fn page_has_no_external_resources() {
    let page = report("x").html();
    for part in ["<script", "<link", "<img", "<iframe", "@import", "url(", "src=", "href="] {
        assert!(!page.contains(part), "{part}");
    }
    assert!(page.contains("default-src 'none'"));
    // Each checkbox of the filter has its CSS rule.
    let ids: Vec<_> =
        page.split("id=\"show-").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(ids.len(), 6);
    for id in ids {
        let id = format!("show-{id}");
        assert!(page.contains(&format!("#{id}:not(:checked)")), "{id}");
    }
}
