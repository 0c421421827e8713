//! Compares the book's page on spec coverage with the tests.
//!
//! For each requirement marked as met on the page, a test must cite it. The page must list all requirements of the
//! areas in [`AREAS`]. The risks in `SECURITY.md` are compared with their tests, too.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The requirement areas that the page lists completely.
const AREAS: [&str; 30] = [
    "RQ", "RSP", "UPD", "UNK", "ENC", "EPT", "INT", "CLS", "ERR", "MCP", "COL", "AGG", "FLD",
    "CMP", "PAG", "REL", "WRN", "BAT", "CON", "SES", "DNG", "GATE", "TOK", "RATE", "LIF", "LOOP",
    "AUT", "OOB", "CNF", "AGR",
];

/// The directories to search for tests.
const SOURCES: [&str; 5] = ["crates", "tests", "mcp-aql/tests", "mcp-aql-derive", "examples"];

/// Number of requirements.
const TOTAL: usize = 404;

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Parses the list of requirements: the level of each id.
fn requirements(text: &str) -> BTreeMap<String, String> {
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(' '))
        .map(|(id, level)| (id.to_owned(), level.to_owned()))
        .collect()
}

/// Returns the ids in a string, single ones and ranges such as `REQ-RQ-01 to REQ-RQ-04`.
fn citations(text: &str) -> Vec<String> {
    let mut found: Vec<(usize, usize, &str, u32)> = Vec::new();
    for (start, _) in text.match_indices("REQ-") {
        let rest = &text[start + 4..];
        let area_len = rest.bytes().take_while(u8::is_ascii_uppercase).count();
        let Some(rest) = rest[area_len..].strip_prefix('-') else { continue };
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if area_len == 0 || digits != 2 {
            continue;
        }
        let end = start + 4 + area_len + 1 + digits;
        let number = rest[..digits].parse().expect("two digits are a number");
        found.push((start, end, &text[start + 4..start + 4 + area_len], number));
    }
    let mut ids = Vec::new();
    for (place, (start, _, area, number)) in found.iter().enumerate() {
        let before = place.checked_sub(1).and_then(|place| found.get(place));
        let first = match before {
            Some((_, end, of, from)) if of == area && text[*end..*start].trim() == "to" => from + 1,
            _ => *number,
        };
        ids.extend((first..=*number).map(|number| format!("REQ-{area}-{number:02}")));
    }
    ids
}

/// A test and its citations.
#[derive(Debug)]
struct Test {
    /// The path from the workspace root and the function, for example `tests/it/ui.rs::compile_errors`.
    name: String,
    cites: Vec<String>,
}

/// Joins all comments to one line, because a list of citations may span several lines.
fn comments(lines: &[&str]) -> String {
    let comment = |line: &&str| {
        line.split_once("//").map(|(_, text)| text.trim_start_matches(['/', '!']).to_owned())
    };
    lines.iter().filter_map(comment).collect::<Vec<_>>().join(" ")
}

/// Returns the tests in a file. Requires rustfmt's format: a test ends with a brace at the indentation of its
/// attribute.
fn tests_in(path: &str, text: &str) -> Vec<Test> {
    let lines: Vec<&str> = text.lines().collect();
    let mut tests = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let attribute = line.trim_start();
        if !attribute.starts_with("#[test]") && !attribute.starts_with("#[tokio::test") {
            continue;
        }
        let rest = &lines[number..];
        let Some(head) = rest.iter().position(|line| line.contains("fn ")) else { continue };
        let function = rest[head].split("fn ").nth(1).unwrap_or_default();
        let function: String =
            function.chars().take_while(|each| each.is_alphanumeric() || *each == '_').collect();
        let depth = line.len() - attribute.len();
        let end = format!("{}}}", " ".repeat(depth));
        let body = rest.iter().position(|line| *line == end).unwrap_or(rest.len());
        tests.push(Test {
            name: format!("{path}::{function}"),
            cites: citations(&comments(&rest[..body])),
        });
    }
    tests
}

pub(crate) fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "target") {
                rust_files(&path, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Reads all source files, by path from the workspace root.
fn sources() -> BTreeMap<String, String> {
    let mut files = Vec::new();
    for folder in SOURCES {
        rust_files(&root().join(folder), &mut files);
    }
    let this = Path::new(file!()).file_name().expect("this file has a name");
    files
        .into_iter()
        .filter(|file| file.file_name() != Some(this))
        .map(|file| {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            let path = file.strip_prefix(root()).expect("it lies below the root");
            (path.to_string_lossy().replace('\\', "/"), text)
        })
        .collect()
}

/// A row of the page.
#[derive(Debug)]
struct Row {
    id: String,
    level: String,
    status: String,
    note: String,
    tests: Vec<String>,
}

/// Parses the rows of the page's tables. If you add a requirement to the page, write its row in this form:
///
/// ```text
/// | REQ-… | level | status | note | `file.rs::test`, `file.rs::other_test` |
/// ```
fn rows(page: &str) -> Vec<Row> {
    page.lines()
        .filter(|line| line.starts_with("| REQ-"))
        .map(|line| {
            let mut cells = line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned());
            let mut cell = || cells.next().unwrap_or_default();
            let (id, level, status, note, tests) = (cell(), cell(), cell(), cell(), cell());
            let tests = tests.split('`').filter(|part| part.contains("::")).map(str::to_owned);
            Row { id, level, status, note, tests: tests.collect() }
        })
        .collect()
}

/// Finds the test that the page names by the end of its path, for example `protocol/gates.rs::a_test`.
fn find<'t>(name: &str, tests: &'t [Test]) -> Result<&'t Test, String> {
    let ending = format!("/{name}");
    let is_named = |test: &&Test| test.name == *name || test.name.ends_with(&ending);
    let named: Vec<_> = tests.iter().filter(is_named).collect();
    match named.as_slice() {
        [test] => Ok(test),
        [] => Err(format!("there is no test {name}")),
        _ => Err(format!("test {name} is not one test")),
    }
}

/// The risks that `SECURITY.md` must list with their tests.
const RISKS: [&str; 22] = [
    "Confused Deputy Problem",
    "Token Passthrough",
    "Server-Side Request Forgery (SSRF)",
    "State Handle Hijacking",
    "Session Hijacking",
    "Local MCP Server Compromise",
    "OAuth Authorization URL Validation",
    "stdio Transport Security in Proxy Scenarios",
    "Mix-Up Attacks",
    "Localhost Redirect URI Impersonation",
    "CIMD Trust Policies",
    "Scope Minimization",
    "MCP01 Token Mismanagement & Secret Exposure",
    "MCP02 Privilege Escalation via Scope Creep",
    "MCP03 Tool Poisoning",
    "MCP04 Software Supply Chain Attacks & Dependency Tampering",
    "MCP05 Command Injection & Execution",
    "MCP06 Intent Flow Subversion",
    "MCP07 Insufficient Authentication & Authorization",
    "MCP08 Lack of Audit and Telemetry",
    "MCP09 Shadow MCP Servers",
    "MCP10 Context Injection & Over-Sharing",
];

/// How the cell begins for a risk without tests.
const NOT_DEFENDED: &str = "not defended, because ";

/// Compares the tables of risks in `SECURITY.md` with the tests. Returns one message per mismatch.
fn problems_of_risks(page: &str, tests: &[Test]) -> Vec<String> {
    let mut problems = Vec::new();
    for risk in RISKS {
        let start = format!("| {risk} |");
        let rows: Vec<_> = page.lines().filter_map(|line| line.strip_prefix(&*start)).collect();
        let [row] = rows.as_slice() else {
            problems.push(format!("{risk}: {} rows, not one", rows.len()));
            continue;
        };
        let Some((what, cell)) = row.trim_end_matches('|').split_once('|') else {
            problems.push(format!("{risk}: a cell is missing"));
            continue;
        };
        let (what, cell) = (what.trim(), cell.trim());
        let named: Vec<_> = cell.split('`').filter(|part| part.contains("::")).collect();
        let reason = cell.strip_prefix(NOT_DEFENDED);
        match (reason, named.is_empty(), what.is_empty()) {
            (Some(reason), true, true) if !reason.is_empty() => {}
            (None, false, false) => {}
            _ => problems.push(format!(
                "{risk}: a point has a description and tests, or says that it is {NOT_DEFENDED}…"
            )),
        }
        let faults = named.iter().filter_map(|name| find(name, tests).err());
        problems.extend(faults.map(|fault| format!("{risk}: {fault}")));
    }
    problems
}

/// Compares the page with the tests. Returns one message per mismatch.
fn problems(
    page: &str,
    requirements: &BTreeMap<String, String>,
    tests: &[Test],
    sources: &BTreeMap<String, String>,
) -> Vec<String> {
    let mut problems = Vec::new();
    let mut seen = BTreeSet::new();
    for row in rows(page) {
        let id = &row.id;
        if !seen.insert(id.clone()) {
            problems.push(format!("{id} is on the page twice"));
        }
        if requirements.get(id) != Some(&row.level) {
            problems.push(format!("{id}: no such requirement of level {}", row.level));
        }
        let cited = tests.iter().any(|test| test.cites.contains(id));
        match row.status.as_str() {
            "met" if !cited => problems.push(format!("{id} is said to be met and has no test")),
            "met" if row.tests.is_empty() => problems.push(format!("{id} names no test")),
            "met" | "by documentation" => {}
            "not offered" if row.level == "MAY" => {}
            "later" | "not met" => {}
            other => problems.push(format!("{id}: status {other:?} is not known")),
        }
        if row.note.is_empty() {
            problems.push(format!("{id} has no note"));
        }
        for name in &row.tests {
            match find(name, tests) {
                Ok(test) if test.cites.contains(id) => {}
                Ok(_) => problems.push(format!("{id}: test {name} does not cite it")),
                Err(problem) => problems.push(format!("{id}: {problem}")),
            }
        }
    }
    for id in requirements.keys() {
        let covered = AREAS.iter().any(|area| id.starts_with(&format!("REQ-{area}-")));
        if covered && !seen.contains(id) {
            problems.push(format!("{id} is missing on the page"));
        }
    }
    for (path, text) in sources {
        // The conformance checks cite their requirements in code, not in comments.
        let cited = match path.starts_with("crates/mcp-aql-conformance/") {
            true => citations(text),
            false => citations(&comments(&text.lines().collect::<Vec<_>>())),
        };
        for id in cited {
            if !requirements.contains_key(&id) {
                problems.push(format!("{path} cites {id}, which does not exist"));
            }
        }
    }
    problems
}

#[test]
fn the_page_matches_the_tests() {
    let requirements = requirements(&read("tests/requirements.txt"));
    assert_eq!(requirements.len(), TOTAL);
    let sources = sources();
    let tests: Vec<_> = sources.iter().flat_map(|(path, text)| tests_in(path, text)).collect();
    assert!(tests.len() > 200, "only {} tests were found", tests.len());
    let problems = problems(&read("book/src/spec-coverage.md"), &requirements, &tests, &sources);
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

#[test]
fn the_risks_are_mapped_to_tests() {
    let sources = sources();
    let tests: Vec<_> = sources.iter().flat_map(|(path, text)| tests_in(path, text)).collect();
    let problems = problems_of_risks(&read("SECURITY.md"), &tests);
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

#[test]
fn every_rule_of_the_risks_is_checked() {
    let tests = [
        Test { name: "tests/a.rs::b".to_owned(), cites: Vec::new() },
        Test { name: "tests/c/a.rs::b".to_owned(), cites: Vec::new() },
        Test { name: "tests/d.rs::e".to_owned(), cites: Vec::new() },
    ];
    let row = |risk: &str, rest: &str| format!("| {risk} | {rest} |\n");
    let others: String =
        RISKS[1..].iter().map(|risk| row(risk, " | not defended, because it is not")).collect();
    let check = |rest: &str| problems_of_risks(&(row(RISKS[0], rest) + &others), &tests);
    assert_eq!(check("It is refused. | `d.rs::e`"), Vec::<String>::new());
    for (rest, said) in [
        ("It is refused. |", "has a description and tests"),
        ("| `d.rs::e`", "has a description and tests"),
        ("It is refused. | not defended, because `d.rs::e`", "has a description and tests"),
        ("| not defended, because ", "has a description and tests"),
        ("| not defended", "has a description and tests"),
        ("It is refused. | `d.rs::z`", "there is no test d.rs::z"),
        ("It is refused. | `a.rs::b`", "is not one test"),
    ] {
        let found = check(rest);
        assert!(found.iter().any(|problem| problem.contains(said)), "{rest}: {found:?}");
    }
    let twice = problems_of_risks(&others.repeat(2), &tests);
    assert_eq!(twice.len(), RISKS.len(), "{twice:?}");
}

#[test]
fn every_area_has_its_requirements() {
    let requirements = requirements(&read("tests/requirements.txt"));
    for area in AREAS {
        let prefix = format!("REQ-{area}-");
        assert!(requirements.keys().any(|id| id.starts_with(&prefix)), "{area}");
    }
    for (id, level) in &requirements {
        assert!(["MUST", "SHOULD", "MAY"].contains(&level.as_str()), "{id} {level}");
    }
}

#[test]
fn lists_and_ranges_are_citations() {
    let cited = |text: &str| citations(text).join(" ");
    assert_eq!(cited("REQ-RQ-01, REQ-UNK-02"), "REQ-RQ-01 REQ-UNK-02");
    assert_eq!(cited("REQ-RQ-01 to REQ-RQ-03"), "REQ-RQ-01 REQ-RQ-02 REQ-RQ-03");
    assert_eq!(cited("REQ-RQ-09 to REQ-RSP-02"), "REQ-RQ-09 REQ-RSP-02");
    assert_eq!(cited("(REQ-RQ-01). REQ-, REQ-RQ-1, REQ-rq-01"), "REQ-RQ-01");
    let file = "#[test]\nfn a() {\n    // REQ-RQ-01,\n    // REQ-RQ-02\n}\n\nfn b() {\n    // REQ-RQ-03\n}\n";
    let tests = tests_in("x.rs", file);
    assert_eq!(tests.len(), 1);
    assert_eq!(
        (tests[0].name.as_str(), tests[0].cites.join(" ").as_str()),
        ("x.rs::a", "REQ-RQ-01 REQ-RQ-02")
    );
}

#[test]
fn every_rule_of_the_page_is_checked() {
    let all: String = AREAS.iter().map(|area| format!("REQ-{area}-01 MUST\n")).collect();
    let requirements = requirements(&all);
    let tests = || {
        let cites = vec!["REQ-RQ-01".to_owned()];
        [
            Test { name: "tests/a.rs::b".to_owned(), cites },
            Test { name: "tests/a.rs::c".to_owned(), cites: Vec::new() },
        ]
    };
    let row = |id: &str, rest: &str| format!("| {id} | {rest} |\n");
    let others: String = AREAS[1..]
        .iter()
        .map(|area| {
            row(&format!("REQ-{area}-01"), "MUST | by documentation | As the book says. | |")
        })
        .collect();
    let check = |first: &str, others: &str, source: &str| {
        let sources = BTreeMap::from([("a.rs".to_owned(), source.to_owned())]);
        problems(&format!("{}{others}", row("REQ-RQ-01", first)), &requirements, &tests(), &sources)
    };
    assert_eq!(check("MUST | met | Yes. | `a.rs::b`", &others, ""), Vec::<String>::new());
    for (first, others, source, said) in [
        ("MUST | met | Yes. |", others.as_str(), "", "names no test"),
        ("MUST | met | Yes. | `a.rs::z`", &others, "", "there is no test a.rs::z"),
        ("MUST | met | Yes. | `a.rs::c`", &others, "", "does not cite it"),
        ("MUST | met | | `a.rs::b`", &others, "", "has no note"),
        ("MAY | met | Yes. | `a.rs::b`", &others, "", "no such requirement of level MAY"),
        ("MUST | not offered | No. |", &others, "", "is not known"),
        ("MUST | perhaps | No. |", &others, "", "is not known"),
        ("MUST | met | Yes. | `a.rs::b`", "", "", "REQ-SES-01 is missing"),
        ("MUST | met | Yes. | `a.rs::b`", &others, "// REQ-RQ-99", "which does not exist"),
    ] {
        let found = check(first, others, source);
        assert!(found.iter().any(|problem| problem.contains(said)), "{said}: {found:?}");
    }
    let sources = BTreeMap::from([(
        "crates/mcp-aql-conformance/src/checks/a.rs".to_owned(),
        "requirements: &[\"REQ-RQ-98\"]".to_owned(),
    )]);
    let found = problems("", &requirements, &tests(), &sources);
    assert!(found.iter().any(|problem| problem.contains("cites REQ-RQ-98")), "{found:?}");
    let twice = format!("{others}{}", row("REQ-SES-01", "MUST | met | Yes. | `a.rs::b`"));
    let found = check("MUST | met | Yes. | `a.rs::b`", &twice, "");
    for said in ["on the page twice", "REQ-SES-01 is said to be met and has no test"] {
        assert!(found.iter().any(|problem| problem.contains(said)), "{said}: {found:?}");
    }
}
